// Revoked certificates in the gRPC transport: refused when a connection is made and at each call of one that
// there is. Calls in progress end. A server judges its callers so, and a client its servers.
//
// gRPC can read revocation lists itself (grpc_tls_credentials_options_set_crl_directory), but OpenSSL keeps
// what it has read there for as long as the credentials live, and connections are never looked at again.
#ifndef BD_CLUSTER_GRPC_REVOCATION_H
#define BD_CLUSTER_GRPC_REVOCATION_H

#include "base/status.h"
#include <grpc/grpc_security.h>
#include <stdbool.h>

typedef struct bd_grpc_revocations bd_grpc_revocations;

// Reads crl.pem in `dir`, where there is one, and again every few seconds. One that cannot be used then, or
// is gone, is a warning, and the earlier one stays. NULL and an error, that of bd_crl_read or of a thread.
bd_grpc_revocations *bd_grpc_revocations_new(const char *dir, braid_status *st);
// It is read no more. Verifiers may live on. NULL is accepted.
void bd_grpc_revocations_free(bd_grpc_revocations *r);

// Calls fn(arg) on a thread of its own whenever another list is taken, until the end of
// bd_grpc_revocations_free.
void bd_grpc_revocations_on_change(bd_grpc_revocations *r, void (*fn)(void *arg), void *arg);

// Whether a certificate in PEM form is revoked. Cheap: what was found out is kept until the list changes.
bool bd_grpc_revocations_have(bd_grpc_revocations *r, const char *pem, size_t len);

// The certificates that servers have shown over the connections of a channel: the newest few. Counted.
typedef struct bd_grpc_shown bd_grpc_shown;
bd_grpc_shown *bd_grpc_shown_new(void);
void bd_grpc_shown_unref(bd_grpc_shown *s); // NULL is accepted
// Whether one of them is revoked. Called after another list was taken, it misses no connection: a handshake
// that has not noted its certificate yet finds the new list.
bool bd_grpc_shown_is_revoked(bd_grpc_shown *s, bd_grpc_revocations *r);

// Refuses peers whose certificate is revoked. With `servers`, peers are servers: those that have not the role
// task are refused, too, and the certificates of the others are noted there. NULL: peers are callers. The
// caller's to release.
grpc_tls_certificate_verifier *bd_grpc_revocations_verifier(bd_grpc_revocations *r, bd_grpc_shown *servers);

#endif

// TLS of the gRPC transport: credentials from the directory of a certificate (braid/keys.h), and what the
// certificate of a caller allows.
//
// Both ends show a certificate that the authority has signed; a connection without one ends in the handshake,
// before gRPC reads anything. Files that have changed are read again within ten seconds, for connections made
// from then on. Calls with a certificate that was revoked are refused on all connections (grpc_revocation.h).
#ifndef BD_CLUSTER_GRPC_TLS_H
#define BD_CLUSTER_GRPC_TLS_H

#include "base/status.h"
#include "cluster/transport/connection.h"
#include "cluster/transport/grpc_revocation.h"
#include "cluster/transport/transport.h"
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

typedef struct bd_grpc_tls bd_grpc_tls;

// *out is NULL without an error when `dir` is NULL and BRAID_TLS_DIR is not set. Errors are those of
// bd_tls_dir_check. revoked(arg) is called whenever certificates are revoked from then on, until the end of
// bd_grpc_tls_free.
braid_code bd_grpc_tls_new(const char *dir, void (*revoked)(void *arg), void *arg, bd_grpc_tls **out,
                           braid_status *st);
void bd_grpc_tls_free(bd_grpc_tls *tls); // NULL is accepted
braid_role bd_grpc_tls_role(const bd_grpc_tls *tls);

// The caller's to release. `shown` notes the certificates of the servers.
grpc_channel_credentials *bd_grpc_tls_channel_credentials(const bd_grpc_tls *tls, bd_grpc_shown *shown);
grpc_server_credentials *bd_grpc_tls_server_credentials(const bd_grpc_tls *tls);

// PermissionDenied, with the remedy, when the certificate of the connection, whose caller is known, does not
// have the role or more; Unauthenticated when it was revoked, as bd_grpc_tls_check_revoked says. For each
// call: cheap.
braid_code bd_grpc_tls_admit(const bd_grpc_tls *tls, grpc_call *call, bd_connection *c, const char *method,
                             braid_role needed, braid_status *st);

// Whether the certificate of a server was revoked since it was shown.
bool bd_grpc_tls_is_revoked(const bd_grpc_tls *tls, bd_grpc_shown *shown);

// Unauthenticated when the certificate of the connection was revoked, perhaps since it was made.
braid_code bd_grpc_tls_check_revoked(const bd_grpc_tls *tls, grpc_call *call, bd_connection *c,
                                     braid_status *st);

// The name of the certificate of the caller, as "certificate 'alice'", and its role.
void bd_grpc_tls_caller(grpc_call *call, bd_caller *out);

// A server takes connections that were accepted elsewhere and speak TLS at this port, a pseudo-address; the
// argument of that name in its arguments is set to a handler when the port is added.
#define BD_GRPC_EXTERNAL_PORT "external:braid"
// Gives a connection to the handler, which owns the socket from then on. grpc_external.cc.
void bd_grpc_hand_over(void *handler, int fd);

#endif

// One TLS connection to a server of a cluster, over a socket that does not block, for tunnels.
#ifndef BD_CLUSTER_TUNNEL_TLS_H
#define BD_CLUSTER_TUNNEL_TLS_H

#include "cluster/transport/grpc_revocation.h"
#include <stddef.h>

typedef struct bd_tunnel_tls bd_tunnel_tls;

// What a call on a socket that does not block has done.
typedef enum bd_tunnel_io {
    BD_TUNNEL_DONE,  // all of it, or a part
    BD_TUNNEL_AGAIN, // nothing yet: again when the socket can be read or written
    BD_TUNNEL_END,   // nothing: the other end sends no more
    BD_TUNNEL_FAILED // the connection is of no use any more; the status says why
} bd_tunnel_io;

// Reads the certificates and the revocation list that are in `dir` now. `server` is the name of the server in
// errors; both are copied. `revocations` is borrowed: what is revoked while the connection lasts. NULL and an
// error: those of bd_tls_dir_check.
bd_tunnel_tls *bd_tunnel_tls_new(const char *dir, const char *server, bd_grpc_revocations *revocations,
                                 braid_status *st);
void bd_tunnel_tls_free(bd_tunnel_tls *tls); // leaves the socket open; NULL is accepted
void bd_tunnel_tls_use(bd_tunnel_tls *tls, int socket);

// DONE: the server has the certificate of a task, and HTTP/2 is agreed on. Errors say what is wrong with
// which certificate, and the remedy.
bd_tunnel_io bd_tunnel_tls_shake(bd_tunnel_tls *tls, braid_status *st);
// Fails when the certificate that the server has shown, if it has, is revoked by now.
braid_code bd_tunnel_tls_check_revoked(const bd_tunnel_tls *tls, braid_status *st);
bd_tunnel_io bd_tunnel_tls_read(bd_tunnel_tls *tls, void *out, size_t size, size_t *got, braid_status *st);
bd_tunnel_io bd_tunnel_tls_write(bd_tunnel_tls *tls, const void *data, size_t len, size_t *put,
                                 braid_status *st);
// Says that nothing more is written. DONE: the server can learn it.
bd_tunnel_io bd_tunnel_tls_end(bd_tunnel_tls *tls, braid_status *st);

#endif

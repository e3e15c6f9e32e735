// The sockets on which a gRPC server listens, and its connections.
//
// gRPC gets sockets that are connected already: so the server knows its connections and who has made them,
// limits their number, and goes on when there are no more file descriptors.
#ifndef BD_CLUSTER_GRPC_ACCEPT_H
#define BD_CLUSTER_GRPC_ACCEPT_H

#include "cluster/transport/transport.h"

typedef struct bd_acceptor bd_acceptor;

// Called on the thread of the acceptor with a connected socket, which it takes over.
typedef void (*bd_accepted_fn)(void *arg, int fd);

// Listens on all addresses of `host`: "0.0.0.0" and "::" are those of all interfaces. `*port` is 0 for a free
// one, which is stored there. `users` may call, NULL: anyone; it outlives the acceptor. InvalidArgument for a
// host that is unknown or not this one, AlreadyExists for an address in use, Unavailable for other failures.
braid_code bd_acceptor_new(const char *host, int *port, const bd_users *users, bd_acceptor **out,
                           braid_status *st);
// Listens on a socket in the file system, which the users may open and whose file is removed with the
// acceptor. It takes the place of one that no process listens on any more.
braid_code bd_acceptor_new_unix(const char *path, const bd_users *users, bd_acceptor **out, braid_status *st);
// Passes connections on from now on. ResourceExhausted when there are no more threads.
braid_code bd_acceptor_start(bd_acceptor *a, bd_accepted_fn accepted, void *arg, braid_status *st);
// Refuses connections from now on; those that were passed on stay open.
void bd_acceptor_stop(bd_acceptor *a);
void bd_acceptor_free(bd_acceptor *a); // after stop; NULL is accepted

// Whether the process at the other end of the connection that was passed on as `fd` may call:
// PermissionDenied says which user it is of, and the remedy; Unavailable when the connection is closed or the
// acceptor stopped.
braid_code bd_acceptor_admit(bd_acceptor *a, int fd, braid_status *st);
// The user of that process. False when it is not known, or the connection is closed.
bool bd_acceptor_user(bd_acceptor *a, int fd, uid_t *user);
// The other end of the connection that was passed on as `fd` (bd_free): "ipv4:127.0.0.1:4321"; NULL: it is
// closed. Each connection of a socket in the file system has a name of its own.
char *bd_acceptor_peer(bd_acceptor *a, int fd);
bool bd_acceptor_is_connected(bd_acceptor *a, const char *peer);

#endif

// Accepts the connections of a gRPC server.
//
// gRPC gets sockets that are connected already: so the server knows its connections and which processes have
// made them, limits their number, ends those that flood it, and goes on when there are no more file
// descriptors. gRPC gets nothing of a process that may not call (refusal.h).
#ifndef BD_CLUSTER_GRPC_ACCEPT_H
#define BD_CLUSTER_GRPC_ACCEPT_H

#include "cluster/transport/connection.h"
#include "cluster/transport/transport.h"

typedef struct bd_acceptor bd_acceptor;

// Called on the thread of the acceptor with a connected socket, which it takes over.
typedef void (*bd_accepted_fn)(void *arg, int fd);

// Listens as bd_listen_on_host. `users` may call, NULL: anyone; it outlives the acceptor.
braid_code bd_acceptor_new(const char *host, int *port, const bd_users *users, bd_acceptor **out,
                           braid_status *st);
// Listens as bd_listen_on_path, on a socket that the users may open.
braid_code bd_acceptor_new_unix(const char *path, const bd_users *users, bd_acceptor **out, braid_status *st);
// Called on the thread of the acceptor, with the argument of `accepted`.
typedef struct bd_acceptor_events {
    void (*starved)(void *arg);                         // what has arrived at a connection is not read
    int64_t (*open_calls)(void *arg, bd_connection *c); // returns how many gRPC has of it
} bd_acceptor_events;

// Before the start, for a server of gRPC: connections that flood the server end, as do those over which
// nothing is called in time.
void bd_acceptor_watch(bd_acceptor *a, const bd_transport_limits *limits, const bd_acceptor_events *events);
// Passes connections on from now on. ResourceExhausted when there are no more threads.
braid_code bd_acceptor_start(bd_acceptor *a, bd_accepted_fn accepted, void *arg, braid_status *st);
// Refuses connections from now on: none is passed on after the return. Those that were stay open, and are
// watched. Any number of times.
void bd_acceptor_close(bd_acceptor *a);
// When no reference to a connection is left; NULL is accepted.
void bd_acceptor_free(bd_acceptor *a);

// The connection that was passed on as `fd`, with a reference. NULL: it is closed. The user of the process at
// its other end is known where there are `users`.
bd_connection *bd_acceptor_find(bd_acceptor *a, int fd);
// The same by the name of the other end, as "ipv4:127.0.0.1:4321". Each connection of a socket in the file
// system has a name of its own.
bd_connection *bd_acceptor_find_peer(bd_acceptor *a, const char *peer);
// Ends a connection, unless it has ended, and says why in the log.
void bd_acceptor_end(bd_acceptor *a, bd_connection *c, const char *why);

#endif

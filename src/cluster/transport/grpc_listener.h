// A listener of the gRPC transport, as its two files see it: grpc_server.c opens and closes it, and
// grpc_incoming.c has its calls.
#ifndef BD_CLUSTER_GRPC_LISTENER_H
#define BD_CLUSTER_GRPC_LISTENER_H

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cluster/transport/grpc_internal.h"
#include "cluster/transport/grpc_statistics.h"

struct bd_listener {
    bd_grpc *transport; // not owned
    grpc_server *server;
    grpc_server_credentials *credentials;
    void *external; // gRPC's handler for connections that speak TLS; NULL: they do not
    bd_acceptor *acceptor;
    bd_grpc_counts counts;
    bd_listener *next, **at; // of the transport; guarded by its mutex
    bd_handler_fn handler;
    void *arg;
    bd_grpc_tag shut_down;
    bd_thread_pool *connecting; // gives connections to gRPC
    bd_timers *timers;
    bd_mutex mu;
    bd_cond changed;
    int handovers;             // of connections, and one until the listener is closed; guarded by mu
    int live;                  // struct incoming in existence, also those posted, and timers; guarded by mu
    struct incoming *admitted; // calls over TLS; guarded by mu
    bool is_closed;            // guarded by mu
    bool is_shut_down;         // gRPC has no more calls; guarded by mu
};

// Posts the request of one more call. The calls that arrive go to the handler.
void bd_grpc_listener_post(bd_listener *l);
// Ends the calls over TLS whose certificates are revoked.
void bd_grpc_listener_end_revoked(bd_listener *l);
// gRPC's name of a connection that speaks TLS, as the acceptor has it: "ipv6:%5B::1%5D:80" is "ipv6:[::1]:80".
// The caller's to free.
char *bd_grpc_decode_peer(const char *name);

#endif

// A task in two processes: one serves, the other, its standby, holds a copy of the variables and serves when
// the first is lost.
#ifndef BD_CLUSTER_REPLICATION_REPLICATION_H
#define BD_CLUSTER_REPLICATION_REPLICATION_H

#include "cluster/replication/transfer.h"
#include "cluster/transport/transport.h"
#include "op/cancellation.h"

typedef struct bd_replication bd_replication;

typedef struct bd_replication_env {
    const char *label;   // of the task, for messages
    int replica;         // of this process: 0 or 1
    const char *partner; // the address of the other one
    bd_transport *transport;
    bd_replicated replicated;
    bd_cancellation *cancellation; // of the server
    uint64_t incarnation;          // of this process, not 0
    int64_t grace_ms;              // how long the partner may be silent
    // Called once, on the thread of the replication, when this process begins to serve.
    void (*serve)(void *arg);
    // Called once when the process has no task any more: OK when the partner has ended because the work is
    // done, else an error that names the partner. A process that has served does not serve any more.
    void (*ended)(void *arg, const braid_status *st);
    void *arg;
} bd_replication_env;

// The objects that `env` points to must outlive the replication.
bd_replication *bd_replication_new(const bd_replication_env *env);
// Finds out which process serves. Call it after the server listens, because the partner may ask at once.
// ResourceExhausted when there are no more threads.
braid_code bd_replication_start(bd_replication *r, braid_status *st);
// Ends the waits for acknowledgements with `why`, and notifies the standby: it serves from now on unless the
// work is done. Waits for the thread. Commits made later fail with `why`.
void bd_replication_close(bd_replication *r, bool is_done, const braid_status *why);
// Waits until the partner can be told that the work is done: it follows, or is known to be dead. A partner
// that has not started yet may take the grace time to come. Ends at once when this process does not serve, or
// when the replication is closed.
void bd_replication_await_partner(bd_replication *r);
void bd_replication_free(bd_replication *r); // after close, and after the last call; NULL is accepted

// Whether this process has all that the serving one has acknowledged, and serves when that is lost.
bool bd_replication_is_standby(bd_replication *r);

// Calls fn(arg, st) when the standby has all changes that have been made to variables up to now: at once when
// there are none, or no standby. Unavailable when this process does not serve any more.
typedef void (*bd_committed_fn)(void *arg, const braid_status *st);
void bd_replication_commit(bd_replication *r, bd_committed_fn fn, void *arg);

// Serve the calls of the partner; see cluster.proto. `parent` is the server's token.
void bd_replication_serve_hello(bd_replication *r, bd_incoming *call);
void bd_replication_serve_follow(bd_replication *r, bd_incoming *call);
void bd_replication_serve_transfer(bd_replication *r, bd_incoming *call);

#endif

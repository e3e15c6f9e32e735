// Who of the cluster is there, done or gone: what the end of a parameter server depends on.
#ifndef BD_CLUSTER_MEMBERSHIP_MEMBERSHIP_H
#define BD_CLUSTER_MEMBERSHIP_MEMBERSHIP_H

#include "base/timer.h"
#include "cluster/rpc/peers.h"
#include "op/cancellation.h"

typedef struct bd_membership bd_membership;

// How long a task that ends waits for the membership servers to learn that it is done. A healthy server answers sooner; a
// stopped one must not keep the task from ending.
#define BD_NOTIFY_DONE_TIMEOUT_MS 1000

typedef struct bd_membership_env {
    const bd_peers *peers;
    bd_timers *timers;
    bd_cancellation *cancellation; // of the server
    uint64_t incarnation;          // of the server's device
    int64_t gone_timeout_ms;       // a task whose connection is lost this long is gone for good
    // Called without a lock after anything has changed that the functions below tell.
    void (*changed)(void *arg);
    void *arg;
} bd_membership_env;

// What `env` points to outlives it.
bd_membership *bd_membership_new(const bd_membership_env *env);
// Begins to attend: after the server listens, since it may be asked who it is at once.
void bd_membership_start(bd_membership *a);
// Answers those who attend here with `reason`. What attends elsewhere ends with the server's token.
void bd_membership_close(bd_membership *a, const char *reason);
// When no call and no timer can come any more: after the listener, the peers and the timers.
void bd_membership_free(bd_membership *a);

// A call of Liveness: it is answered when this server ends. InvalidArgument at once for a task that is not
// expected here.
void bd_membership_serve_liveness(bd_membership *a, bd_incoming *call, const char *job, int task,
                                  uint64_t incarnation);

// A task says that it is done. This server's own: it tells the others. InvalidArgument for a task the cluster
// does not have.
braid_code bd_membership_done(bd_membership *a, const char *job, int task, braid_status *st);
// This server's task is done. Again has no effect.
void bd_membership_notify_done(bd_membership *a);
// Waits until the others have heard that this one is done, or the deadline.
void bd_membership_wait_notified(bd_membership *a, int64_t deadline_ns);

// True when there is nothing left for this server to be there for: see membership.c.
bool bd_membership_is_over(bd_membership *a);

// Whether a task that attends here is done or gone for good.
bool bd_membership_has_left(bd_membership *a, const bd_peer *peer, bool *is_done);

// The tasks that others attend to: the parameter servers; without any the first task of the first job.
bool bd_membership_is_server(const bd_peers *peers, const bd_peer *peer);
// The first of them.
const bd_peer *bd_membership_first_server(const bd_peers *peers);

#endif

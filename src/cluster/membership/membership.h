// Who of the cluster is there, done or gone: what the end of a parameter server depends on.
#ifndef BD_CLUSTER_MEMBERSHIP_MEMBERSHIP_H
#define BD_CLUSTER_MEMBERSHIP_MEMBERSHIP_H

#include "base/timer.h"
#include "cluster/rpc/peers.h"
#include "op/cancellation.h"

typedef struct bd_attendance bd_attendance;

typedef struct bd_attendance_env {
    const bd_peers *peers;
    bd_timers *timers;
    bd_cancellation *cancellation; // of the server
    uint64_t incarnation;          // of the server's device
    int64_t gone_timeout_ms;       // a task whose connection is lost this long is gone for good
    // Called without a lock after anything has changed that the functions below tell.
    void (*changed)(void *arg);
    void *arg;
} bd_attendance_env;

// What `env` points to outlives it.
bd_attendance *bd_attendance_new(const bd_attendance_env *env);
// Begins to attend: after the server listens, since it may be asked who it is at once.
void bd_attendance_start(bd_attendance *a);
// Answers those who attend here with `reason`. What attends elsewhere ends with the server's token.
void bd_attendance_close(bd_attendance *a, const char *reason);
// When no call and no timer can come any more: after the listener, the peers and the timers.
void bd_attendance_free(bd_attendance *a);

// A call of Attend: it is answered when this server ends. InvalidArgument at once for a task that is not
// expected here.
void bd_attendance_attend(bd_attendance *a, bd_incoming *call, const char *job, int task,
                          uint64_t incarnation);

// A task says that it is done. This server's own: it tells the others. InvalidArgument for a task the cluster
// does not have.
braid_code bd_attendance_done(bd_attendance *a, const char *job, int task, braid_status *st);
// This server's task is done. Again has no effect.
void bd_attendance_say_done(bd_attendance *a);
// Waits until the others have heard that this one is done, or the deadline.
void bd_attendance_wait_said(bd_attendance *a, int64_t deadline_ns);

// True when there is nothing left for this server to be there for: see membership.c.
bool bd_attendance_is_over(bd_attendance *a);

// Whether a task that attends here is done or gone for good.
bool bd_attendance_has_left(bd_attendance *a, const bd_peer *peer, bool *is_done);

// The tasks that others attend to: the parameter servers; without any the first task of the first job.
bool bd_attendance_is_anchor(const bd_peers *peers, const bd_peer *peer);
// The first of them.
const bd_peer *bd_attendance_first_anchor(const bd_peers *peers);

#endif

// Tracks which tasks of the cluster are alive, finished or lost. The end of a parameter server depends on it.
#ifndef BD_CLUSTER_MEMBERSHIP_MEMBERSHIP_H
#define BD_CLUSTER_MEMBERSHIP_MEMBERSHIP_H

#include "base/timer.h"
#include "cluster/membership/spec_check.h"
#include "cluster/rpc/peers.h"
#include "op/cancellation.h"

typedef struct bd_membership bd_membership;

typedef struct bd_membership_env {
    const bd_peers *peers;
    bd_timers *timers;
    bd_cancellation *cancellation; // of the server
    bd_spec_check *spec_check;
    uint64_t incarnation;     // of the server's device
    int64_t gone_timeout_ms;  // a task whose connection is lost this long is gone for good
    int64_t start_timeout_ms; // and one that has not connected this long after the start
    // Called without a lock after a change of the state that the functions below report.
    void (*changed)(void *arg);
    void *arg;
} bd_membership_env;

// The objects that `env` points to must outlive the membership.
bd_membership *bd_membership_new(const bd_membership_env *env);
// Starts the liveness calls to the membership servers. Call it after the server listens, because they may ask
// for the task's incarnation at once.
void bd_membership_start(bd_membership *m);
// Answers the liveness calls that other tasks hold here with `reason`. This task's own liveness calls end
// with the server's token.
void bd_membership_close(bd_membership *m, const char *reason);
// Call it when no call and no timer can arrive any more: after the listener, the peers and the timers are
// freed.
void bd_membership_free(bd_membership *m);

// Serves a liveness call: it is answered when this server ends. InvalidArgument at once for an unexpected
// task.
void bd_membership_serve_liveness(bd_membership *m, bd_incoming *call, const char *job, int task,
                                  uint64_t incarnation);

// Record the sessions that masters have at this task: TensorFlow's own tasks do not say when they are done,
// see foreign.c. `master` is the name of the task; "": not known.
void bd_membership_session_opened(bd_membership *m, const char *handle, const char *master,
                                  uint64_t incarnation);
void bd_membership_session_closed(bd_membership *m, const char *handle);

// A task that is done: it has ended its work, or has none and only serves.
typedef struct bd_done_notice {
    const char *job;
    int task;
    uint64_t incarnation; // that is done; 0: not known
    bool only_serves;
} bd_done_notice;

// Records that a task is done. For this server's own task it also notifies the membership servers. No effect
// when the task has restarted since. InvalidArgument for a task that the cluster does not have.
braid_code bd_membership_done(bd_membership *m, const bd_done_notice *notice, braid_status *st);
// Records that this server's own task is done, and notifies the membership servers; one that is a membership
// server itself, and works, tells those who hold no liveness call. A task that only serves may say later that
// it has done work; other repeated calls have no effect.
void bd_membership_notify_done(bd_membership *m, bool only_serves);
// Waits until those who are notified know that this task is done, have ended or are not there. A server that
// is silent is waited for until it takes this task for gone (gone_timeout_ms).
void bd_membership_wait_notified(bd_membership *m);

// Returns whether this server has no reason left to serve: see membership.c.
bool bd_membership_is_over(bd_membership *m);

// Unavailable, naming them, when expected tasks are gone for good without having notified that they are done.
braid_code bd_membership_check_done(bd_membership *m, braid_status *st);

// Returns whether a task that is expected at this membership server is done or gone for good; *is_done says
// which.
bool bd_membership_has_left(bd_membership *m, const bd_peer *peer, bool *is_done);

// What this task knows of another one: a membership server of those that are expected, another task of the
// membership servers.
typedef enum bd_peer_state {
    BD_PEER_UNKNOWN, // no liveness call runs between the two
    BD_PEER_UNSEEN,
    BD_PEER_CONNECTED,
    BD_PEER_LOST, // and may come back
    BD_PEER_GONE,
    BD_PEER_DONE
} bd_peer_state;
bd_peer_state bd_membership_state(bd_membership *m, const bd_peer *peer);

// The tasks that are expected at this membership server and done; *out is the caller's (bd_free), the names
// in it are not.
int bd_membership_done_tasks(bd_membership *m, bd_done_notice **out);

// Returns whether the task works: it is no parameter server and no evaluator.
bool bd_membership_works(const bd_peer *peer);

// Returns whether the task is among those, and has ended its work.
bool bd_done_notices_have(const bd_done_notice *tasks, int count, const bd_peer *peer);

typedef void (*bd_done_tasks_fn)(void *arg, const bd_done_notice *tasks, int count);
// Gives the tasks that are done, as the first membership server knows them; none when it does not answer.
// Calls back once, on any thread, perhaps before it returns.
void bd_membership_ask_done(bd_membership *m, bd_cancellation *cancellation, bd_done_tasks_fn fn, void *arg);

// The tasks of the cluster that work, as a membership server sees them.
typedef struct bd_workforce {
    int total, gone, done;
    char *left; // the labels of those that are gone or done (bd_free)
} bd_workforce;
bd_workforce bd_membership_workforce(bd_membership *m);

// Returns whether `peer` is a membership server, to which the others hold liveness calls: each parameter
// server; without parameter servers the first task of the first job.
bool bd_membership_is_server(const bd_peers *peers, const bd_peer *peer);
// Returns the task that initializes the variables, by its name: the first task of job chief or master, or
// else the first worker. NULL: the cluster has none of these.
const bd_peer *bd_membership_chief(const bd_peers *peers);
// Returns the first membership server.
const bd_peer *bd_membership_first_server(const bd_peers *peers);

#endif

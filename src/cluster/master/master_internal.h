// Declarations shared by the files of the master.
#ifndef BD_CLUSTER_MASTER_MASTER_INTERNAL_H
#define BD_CLUSTER_MASTER_MASTER_INTERNAL_H

#include "base/map.h"
#include "base/random.h"
#include "base/thread.h"
#include "cluster/master/master.h"
#include "cluster/membership/device_finder.h"
#include "runtime/debug_nodes.h"
#include "runtime/plan_cache.h"

typedef struct bd_trace bd_trace; // master_trace.c

struct bd_master {
    bd_master_env env;
    bd_mutex mu;
    bd_cond changed;
    bd_map sessions;  // handle -> bd_master_session, one reference each; guarded by mu
    int closing;      // sessions that are being closed; guarded by mu
    bd_trace *traces; // that wait for a step; guarded by mu
    atomic_bool wants_trace;
    // Of the steps that have ended: as bd_step_counts.
    _Atomic uint64_t step_classes[BD_STEP_CLASSES], steps_failed;
    _Atomic int64_t steps_ns;
};

// A step in progress, on the list of its session.
typedef struct bd_listed_step {
    bd_watched_step step;
    bool is_counted; // a call of a partial run that does not end it, and the making of a plan, are not
    struct bd_listed_step *next, *prev; // guarded by the session's mu
} bd_listed_step;

struct bd_master_session {
    bd_master *master; // not owned
    char *handle;
    bd_caller owner;
    bd_session_cluster *cluster; // a reference; NULL: that of the server
    const bd_peers *peers;       // the tasks of its cluster
    bool allow_soft_placement, log_device_placement, place_pruned_graph, sends_bfloat16;
    int64_t operation_timeout_ms;
    unsigned disabled_rewrites; // BRAID_REWRITE_...
    int64_t cost_model_every, cost_model_after;
    const bd_peer *leader; // of collectives, when the session has named one; NULL
    bd_found_tasks tasks;
    bd_device_info *devices; // of all tasks, the own task's first [device_count]
    int device_count;
    // the device that represents the client in keys: the first one of the master's own task
    const bd_device_info *client;
    bd_cancellation *cancellation;
    bd_plan_cache *plans;
    atomic_int refs;

    bd_mutex graph_mu; // held while the graph grows and while a plan's graph is made from it
    braid_graph graph; // guarded by graph_mu
    bd_charge charge;  // for the graph; guarded by graph_mu
    int64_t version;   // guarded by graph_mu

    bd_mutex mu;
    bd_rng rng;           // guarded by mu; step ids
    int running;          // steps; guarded by mu
    bd_listed_step steps; // its `next` is the oldest step in progress, `prev` the newest; guarded by mu
    uint64_t steps_done, steps_failed; // guarded by mu
    int64_t created_ns;
    bool is_closing;             // guarded by mu
    bd_master_done_fn closed_fn; // guarded by mu; the callback of the call that closes the session
    void *closed_arg;
    bd_imap callables;     // by handle -> bd_callable, one reference each; guarded by mu
    int64_t next_callable; // guarded by mu
    bd_map partial_runs;   // by handle -> partial_run of master_partial.c, one reference each; guarded by mu
    int64_t next_partial;  // guarded by mu

    // client_liveness.c
    int holders;                 // guarded by mu
    bool was_held;               // guarded by mu
    bd_timer_id client_timer;    // guarded by mu; 0: none
    _Atomic int64_t last_use_ns; // time of the last lookup by handle, release, or end of a step
    char *caller;                // the connection that used it last, if it was never held; guarded by mu
    int64_t lost_ns;             // since when that is known to be gone; 0: not known; guarded by mu
};

// The partition of a plan that one task executes.
typedef struct bd_master_partition {
    const bd_peer *peer;
    char *graph_handle;
    const char **send_keys; // values that the client feeds [send_count]
    int *send_feeds;        // and which ones
    int send_count;
    const char **recv_keys; // values that the client fetches [recv_count]
    int *recv_fetches;
    int recv_count;
} bd_master_partition;

// A run signature, registered on the tasks that take part.
typedef struct bd_master_plan {
    bd_master_session *session;      // not owned: outlives its plans
    bd_master_partition *partitions; // the own task's is the last
    int partition_count;
    int64_t collective_graph_key; // of its collective instances, when the session names a leader; 0: none
    atomic_llong runs;            // counted where the session builds cost models
    atomic_llong debug_steps;     // steps with watches
    bd_arena arena;
    atomic_int refs;
} bd_master_plan;

// A plan that is kept with the signature it was made for: that of a callable or a partial run. It belongs to
// the session, which outlives it.
struct bd_pinned_plan {
    bd_run_signature signature; // as it was asked for; a copy
    bd_master_plan *plan;       // a reference
    int *order;                 // feed i is the plan's order[i]; fetches behind them
    bd_arena arena;
    bd_proto_arena debug_arena; // of signature.debug
    atomic_int refs;
};
// With count 1; takes one more reference to `plan`.
bd_pinned_plan *bd_pinned_plan_new(const bd_run_signature *signature, bd_master_plan *plan, const int *order);
bd_pinned_plan *bd_pinned_plan_ref(bd_pinned_plan *k);
void bd_pinned_plan_unref(bd_pinned_plan *k); // NULL is accepted

// master_callable.c: when the session is gone.
void bd_master_drop_callables(bd_master_session *s);

// master_partial.c: when the session's steps have ended.
void bd_master_drop_partial_runs(bd_master_session *s);

// The client that what its sessions make belongs to: the caller's name; "" for callers of the role task.
static inline const char *bd_caller_client(const bd_caller *c)
{
    return c->role < BRAID_ROLE_TASK ? c->name : "";
}

// As messages name it.
static inline const char *bd_caller_name(const bd_caller *c)
{
    return c->name[0] ? c->name : "the server's process";
}

// worker_fanout.c
typedef struct bd_fanout_options {
    bd_timers *timers;
    const char *what;            // "CreateSession", for error messages
    const bd_found_tasks *tasks; // at least one; read only before the function returns
    int64_t deadline_ns;         // BD_FOREVER: no deadline
    bd_cancellation *cancellation;
    void (*send)(void *arg, bd_worker *w, bd_cancellation *cancellation, bd_worker_done_fn done,
                 void *done_arg);
} bd_fanout_options;

// Calls send(arg, ...) for each task, and fn(arg, status) with the first error when all have answered.
// DeadlineExceeded names the tasks that have not answered; cancelling ends the fanout with the reason of the
// cancellation.
void bd_master_fanout(const bd_fanout_options *o, bd_master_done_fn fn, void *arg);

// master_session.c
// Makes a session of the tasks found (taken over), without a graph.
bd_master_session *bd_master_session_new(bd_master *m, bd_found_tasks *tasks,
                                         const bd_session_config *config);
// Leaves out the tasks whose flag [tasks.count] is set; not this server's own.
void bd_master_session_leave_out(bd_master_session *s, const bool *flags);
// Places the first graph of a session (taken over), which counts in the account of this thread.
braid_code bd_master_session_place(bd_master_session *s, braid_graph *graph, braid_status *st);
// The tasks of the cluster that a session has.
const bd_peers *bd_master_peers(const bd_master *m, const bd_session_cluster *cluster);
// The task that leads the session's collectives; NULL when the session names none, or, with an error, when
// the cluster does not have the task.
const bd_peer *bd_master_leader(const bd_master *m, const bd_session_config *config, braid_status *st);
void bd_master_session_ref(bd_master_session *s);

// master_plan.c: the functions of the plan cache; `arg` is the session.
extern const bd_plan_cache_ops bd_master_plan_ops;
void *bd_master_plan_ref(void *plan);
void bd_master_plan_unref(void *plan);

// client_liveness.c: whether the client is still there.
// The session is in the table: begins to watch it. Not for one that is held.
void bd_master_watch_client(bd_master_session *s);
// Ends that for a session that is closing.
void bd_master_unwatch_client(bd_master_session *s);

// master_run.c: a number for a step; the second with the session's mu held.
int64_t bd_master_draw_step_id(bd_master_session *s);
int64_t bd_master_draw_step_id_locked(bd_master_session *s);

// master_watch.c, with the session's mu held: lists a step that begins now. Draws its number if it has none
// (0).
void bd_master_list_step_locked(bd_master_session *s, bd_listed_step *step);
// Takes it off the list and counts it as ended; the session still counts it in.
void bd_master_unlist_step(bd_master_session *s, bd_listed_step *step, bool has_failed);

// Counts a step of the session in, and lists it; false when the session is closing.
bool bd_master_session_enter(bd_master_session *s, bd_listed_step *step, braid_status *st);
void bd_master_session_leave(bd_master_session *s);

// master_trace.c: a trace that waits for a step; NULL: there is none. The step ends it.
bd_trace *bd_master_take_trace(bd_master *m);
// With a RunMetadata message, which may be taken, or NULL: the trace waits for another step.
void bd_master_end_trace(bd_trace *t, bd_message *metadata);

#endif

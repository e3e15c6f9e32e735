// The master: sessions of clients on the tasks of a cluster, and their steps. MasterService
// (master_service.c) and sessions on a server of this process (server_session.c) call these functions.
#ifndef BD_CLUSTER_MASTER_MASTER_H
#define BD_CLUSTER_MASTER_MASTER_H

#include "base/account.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "cluster/membership/membership.h"
#include "cluster/membership/spec_check.h"
#include "cluster/rpc/peers.h"
#include "cluster/worker/collectives.h"
#include "cluster/worker/session_cluster.h"
#include "op/cancellation.h"
#include "runtime/client_graph.h"

typedef struct bd_master bd_master;
typedef struct bd_master_session bd_master_session;
typedef struct bd_pinned_plan bd_pinned_plan; // master_internal.h
typedef struct bd_callable bd_callable;

// The options of ConfigProto that a session uses.
typedef struct bd_session_config {
    const char *const *device_filters;
    int device_filter_count;
    bool allow_soft_placement, log_device_placement;
    bool place_pruned_graph; // only the nodes of a run must be where they ask to be
    bool sends_bfloat16;     // floats go between tasks as bfloat16
    bool is_isolated;        // the session has its own variables and other resources, freed with it
    int64_t operation_timeout_ms;
    unsigned disabled_rewrites; // BRAID_REWRITE_...: of graph_options
    // Run number `after` of a signature and every `every`-th run after it have a cost model in their
    // metadata; 0: no run has.
    int64_t cost_model_every, cost_model_after;
    bd_caller owner;               // the process that opens it; all zero: this one
    bd_session_cluster *cluster;   // the session's own; not owned; NULL: that of the server
    const char *collective_leader; // the task that leads groups of collectives; NULL or "": the master's own
} bd_session_config;

typedef struct bd_master_env {
    const bd_peers *peers;
    bd_timers *timers;
    bd_thread_pool *pool;          // for work that may wait for other tasks
    bd_cancellation *cancellation; // of the server: ends everything
    bd_task_collectives *collectives;
    bd_spec_check *spec_check;
    bd_membership *membership;    // NULL: tasks that are done are waited for as others
    bd_accounts *accounts;        // of clients; NULL: they have no limits
    int64_t session_timeout_ms;   // 0: no timeout
    int64_t client_gone_ms;       // a client that released a session this long ago is gone
    int64_t session_idle_ms;      // for sessions that were never held; 0: no timeout
    int64_t caller_lost_ms;       // the same, when the connection they were used by is gone
    int sessions_max;             // that one caller has open; 0: no limit. This process has none
    int64_t operation_timeout_ms; // of a run for which neither it nor its session names a time; 0: none
    bd_session_config defaults;   // of all sessions: what they have besides what they ask for
    int64_t step_ms_max;          // the longest time of a step; 0: no limit
    const bd_fs *fs;              // for the files of the debugger
} bd_master_env;

// The objects that `env` points to must outlive the master, but for what `defaults` names.
bd_master *bd_master_new(const bd_master_env *env);
// Closes all sessions and waits until their steps have ended. The server's token is cancelled before.
void bd_master_stop(bd_master *m);
// Call it after the transport is freed, when no operation is in progress.
void bd_master_free(bd_master *m);

// The account of a client; NULL: nothing limits it. For code that reads the client's graphs.
bd_account *bd_master_account(bd_master *m, const bd_caller *client);

// `session` is a reference for the callback; NULL on an error.
typedef void (*bd_master_created_fn)(void *arg, bd_master_session *session, const braid_status *st);

// Makes a session on all tasks that the filters admit. ResourceExhausted when its owner has too many, or its
// graph takes more memory than the server or its owner may have. Waits
// for missing tasks until the deadline, the operation timeout or the server's session timeout. `graph` is
// taken over (left empty), `config` is copied. Calls back once.
void bd_master_create_session(bd_master *m, braid_graph *graph, const bd_session_config *config,
                              int64_t deadline_ns, bd_cancellation *cancellation, bd_master_created_fn fn,
                              void *arg);

// The session with a reference; NULL and Aborted "Session HANDLE is not found". A session belongs to the
// caller that has opened it: others, but callers of the role task, get PermissionDenied. `caller` NULL: this
// process.
bd_master_session *bd_master_find_session(bd_master *m, const char *handle, const bd_caller *caller,
                                          braid_status *st);
void bd_master_session_unref(bd_master_session *s);
const char *bd_master_session_handle(const bd_master_session *s);
// The session's token: the parent of the tokens that bd_master_run gets.
bd_cancellation *bd_master_session_cancellation(bd_master_session *s);

// Holding a session keeps it open. It is closed when its last holder has been gone for a while, or, if it was
// never held, when it is idle for a while (see bd_master_env). Returns false, without holding it, when the
// session is closing.
bool bd_master_hold(bd_master_session *s);
// `call`, not replied to yet, uses the session: as long as its connection exists, the client counts as alive.
void bd_master_called_by(bd_master_session *s, const bd_incoming *call);
void bd_master_let_go(bd_master_session *s);

// Adds all nodes, or none on an error. `version` is the graph version that the caller expects (-1: any) and
// receives the new one. Aborted "Current version is ..."; errors of import and placement; ResourceExhausted
// when the graph would take more memory than the server or its owner may have.
braid_code bd_master_extend(bd_master_session *s, const bd_message *graph_def, int64_t *version,
                            braid_status *st);

typedef void (*bd_master_done_fn)(void *arg, const braid_status *st);

// Which part of a step this is: all of it, or one call of a partial run.
typedef enum bd_run_phase {
    BD_RUN_WHOLE,
    BD_RUN_PARTIAL,
    BD_RUN_PARTIAL_LAST
} bd_run_phase;

typedef struct bd_master_run_args {
    const bd_run_signature *signature;
    const braid_tensor *const *feeds; // [feeds of the signature]
    braid_tensor *fetches;            // [fetches] "no tensor" before; set on success, the caller's
    int64_t timeout_ms;               // 0: the session's timeout
    int64_t collective_graph_key;     // the same for all masters that run parts of one step; 0: none
    bool wants_stats, wants_partition_graphs;
    // Receives a RunMetadata message when the caller wants statistics or graphs, or the session builds a cost
    // model in this run; empty before. NULL: not wanted.
    bd_message *metadata;
    // The calling thread waits for the step anyway, and for other tasks when its plan is to be made. Else the
    // master's pool makes the plan.
    bool may_wait;
    // ---- Of the master itself; zero for others ----
    bd_pinned_plan **keeps; // the plan is made and stored here; no node runs
    bd_pinned_plan *kept;   // the plan to be run
    const int *kept_order;  // feed i of `signature` is the plan's kept_order[i]; fetches behind them
    bd_run_phase phase;
    int64_t step_id; // of a partial run
} bd_master_run_args;

// Runs a step. The objects that `args` points to must stay valid until the callback. `cancellation` and the
// timeout end the step, also while its plan is made.
void bd_master_run(bd_master_session *s, const bd_master_run_args *args, bd_cancellation *cancellation,
                   bd_master_done_fn fn, void *arg);

// `metadata` is a RunMetadata message, which may be taken (bd_message_move); NULL on an error.
typedef void (*bd_master_traced_fn)(void *arg, bd_message *metadata, const braid_status *st);
// Waits for the next step that begins, of any session and not a partial run, and traces it; when it fails,
// the one after it. Calls back once; when the token is cancelled, with its status.
void bd_master_trace(bd_master *m, bd_cancellation *cancellation, bd_master_traced_fn fn, void *arg);

// ---- Callables: a signature that is planned once and run by number ----

// `args` holds the signature and options of the runs and must stay valid until fn. Errors are those of making
// a plan.
void bd_master_make_callable(bd_master_session *s, const bd_master_run_args *args,
                             bd_cancellation *cancellation,
                             void (*fn)(void *arg, int64_t handle, const braid_status *st), void *arg);
// Returns a reference; NULL and InvalidArgument "No such callable handle" or "... after handle was released".
// Drop it before the reference to the session.
bd_callable *bd_master_find_callable(bd_master_session *s, int64_t handle, braid_status *st);
void bd_callable_unref(bd_callable *c); // NULL is accepted
// The arguments for bd_master_run, without feeds, fetches and metadata.
bd_master_run_args bd_callable_args(const bd_callable *c);
// Runs in progress continue. An unknown handle is ignored: it is released already.
void bd_master_release_callable(bd_master_session *s, int64_t handle);

// ---- Partial runs: one step in several calls ----

// Plans a step whose values are fed and fetched in several calls. `handle` is borrowed for the call; NULL on
// an error. `signature` must stay valid until fn.
void bd_master_setup_partial_run(bd_master_session *s, const bd_run_signature *signature,
                                 bd_cancellation *cancellation,
                                 void (*fn)(void *arg, const char *handle, const braid_status *st),
                                 void *arg);
// One call of a partial run: feeds and fetches the values in `args`, as bd_master_run. The call after which
// all is fed and fetched ends the step when all its nodes have run; an error of the step ends it, too. These
// errors do not: InvalidArgument "Must run PartialRunSetup before performing partial runs"; a value that was
// not set up, occurs again, or depends on missing feeds.
void bd_master_run_partial(bd_master_session *s, const char *handle, const bd_master_run_args *args,
                           bd_cancellation *cancellation, bd_master_done_fn fn, void *arg);
// Abandons the partial run: its tasks end the step. An unknown handle is ignored: the run has ended already.
void bd_master_end_partial(bd_master_session *s, const char *handle);

// Cancels the session's steps and calls back when they have ended and the session is freed; its tasks free
// their parts meanwhile. A second close ends with Aborted "Session HANDLE is not found".
void bd_master_close_session(bd_master *m, const char *handle, bd_master_done_fn fn, void *arg);

// ---- What the master does, for those who watch it ----

// The bounds of the classes of durations, in ns; the last class has no bound.
#define BD_STEP_CLASSES 14
extern const int64_t bd_step_class_bounds_ns[BD_STEP_CLASSES - 1];

// Of the steps that have ended, from the start on.
typedef struct bd_step_counts {
    uint64_t classes[BD_STEP_CLASSES]; // by duration; their sum is the number of steps
    uint64_t failed;
    int64_t total_ns; // all durations
} bd_step_counts;
bd_step_counts bd_master_step_counts(const bd_master *m);

typedef struct bd_watched_step {
    int64_t id, begin_ns; // the time of bd_now_ns
} bd_watched_step;

// A session; valid in the callback only.
typedef struct bd_watched_session {
    const char *handle, *owner; // the caller that has opened it
    int64_t created_ns;
    uint64_t steps, failed;        // that have ended
    int running;                   // all of them
    const bd_watched_step *oldest; // of these, the first first
    int oldest_count;              // BD_WATCHED_STEPS_MAX at most
} bd_watched_session;
#define BD_WATCHED_STEPS_MAX 32

// Calls fn for each open session, with the lock of the master held: fn must not call the master.
void bd_master_watch_sessions(bd_master *m, void (*fn)(void *arg, const bd_watched_session *s), void *arg);

// The devices of the session's tasks in the order of tasks, the own task's first; handle NULL: of all tasks
// of the cluster. An unknown handle is InvalidArgument, as in TensorFlow.
typedef void (*bd_master_devices_fn)(void *arg, const bd_device_info *devices, int count,
                                     const braid_status *st);
void bd_master_list_devices(bd_master *m, const char *handle, bd_cancellation *cancellation,
                            bd_master_devices_fn fn, void *arg);

// Clears containers (an empty list: the default one) on all tasks that the filters admit, and closes all
// sessions: of a caller that has not the role task, its own sessions and what they have made.
void bd_master_reset(bd_master *m, const bd_caller *caller, const char *const *containers,
                     int container_count, const char *const *filters, int filter_count,
                     bd_cancellation *cancellation, bd_master_done_fn fn, void *arg);

#endif

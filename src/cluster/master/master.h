// The master: sessions of clients on the tasks of a cluster, and their steps. What MasterService says on the
// wire (master_service.c) and what sessions on a server of this process call directly (server_session.c).
#ifndef BD_CLUSTER_MASTER_MASTER_H
#define BD_CLUSTER_MASTER_MASTER_H

#include "base/thread_pool.h"
#include "base/timer.h"
#include "cluster/rpc/peers.h"
#include "cluster/worker/collectives.h"
#include "op/cancellation.h"
#include "runtime/client_graph.h"

typedef struct bd_master bd_master;
typedef struct bd_master_session bd_master_session;
typedef struct bd_pinned_plan bd_pinned_plan; // master_internal.h
typedef struct bd_callable bd_callable;

typedef struct bd_master_env {
    const bd_peers *peers;
    bd_timers *timers;
    bd_thread_pool *pool;          // for what may wait for other tasks
    bd_cancellation *cancellation; // of the server: ends everything
    bd_task_collectives *collectives;
    int64_t session_timeout_ms; // 0: none
    int64_t client_gone_ms;     // a client that has let go of a session for so long is gone
    int64_t session_idle_ms;    // for sessions that nobody has ever held; 0: none
    int64_t caller_lost_ms;     // the same, when the connection they were used by is gone
} bd_master_env;

// What `env` points to outlives it.
bd_master *bd_master_new(const bd_master_env *env);
// Closes all sessions and waits until their steps have ended. The server's token is cancelled before.
void bd_master_stop(bd_master *m);
// After the transport is gone: nothing is in progress any more.
void bd_master_free(bd_master *m);

// What of ConfigProto a session heeds.
typedef struct bd_session_config {
    const char *const *device_filters;
    int device_filter_count;
    bool allow_soft_placement, log_device_placement;
    bool place_pruned_graph; // only the nodes of a run must be where they ask to be
    bool is_isolated;        // variables and other resources of its own, which go with it
    int64_t operation_timeout_ms;
    unsigned disabled_rewrites; // BRAID_REWRITE_...: of graph_options
    // Run number `after` of a signature has a cost model in its metadata, and so has each that is a multiple
    // of `every` from it; 0: none.
    int64_t cost_model_every, cost_model_after;
    const char *collective_leader; // the task that leads groups of collectives; NULL or "": the master's own
} bd_session_config;

// `session` is a reference for the callback; NULL on an error.
typedef void (*bd_master_created_fn)(void *arg, bd_master_session *session, const braid_status *st);

// Makes a session on all tasks that the filters do not exclude, waiting for those that are not there until
// the deadline, the operation timeout or the server's session timeout. `graph` is taken over (left empty),
// `config` copied. Calls back once.
void bd_master_create_session(bd_master *m, braid_graph *graph, const bd_session_config *config,
                              int64_t deadline_ns, bd_cancellation *cancellation, bd_master_created_fn fn,
                              void *arg);

// The session with a reference; NULL and Aborted "Session HANDLE is not found".
bd_master_session *bd_master_find_session(bd_master *m, const char *handle, braid_status *st);
void bd_master_session_unref(bd_master_session *s);
const char *bd_master_session_handle(const bd_master_session *s);
// The token of all its steps: parent of those that bd_master_run gets.
bd_cancellation *bd_master_session_cancellation(bd_master_session *s);

// Who holds a session wants it to be there: it is closed when nobody has held it for a while, or, if nobody
// ever did, when it is idle for a while (see bd_master_env). False when it is closing: then it is not held.
bool bd_master_hold(bd_master_session *s);
// The session is used by this call, which is not replied to yet: while its connection is there, so is the
// client.
void bd_master_called_by(bd_master_session *s, const bd_incoming *call);
void bd_master_let_go(bd_master_session *s);

// Adds nodes, all or none. `version` is the one the caller knows (-1: whichever it is) and becomes the new
// one. Aborted "Current version is ..."; errors of import and placing.
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
    int64_t timeout_ms;               // 0: none but the session's
    int64_t collective_graph_key;     // masters that run parts of one step say the same; 0: none
    bool wants_stats, wants_partition_graphs;
    // Receives a RunMetadata message when one of them is wanted, or the session builds a cost model of this
    // run; empty before. NULL: nobody looks.
    bd_message *metadata;
    // The calling thread waits for the step anyway, and for other tasks when its plan is to be made. Else the
    // master's pool makes the plan.
    bool may_wait;
    // ---- Of the master itself; zero for others ----
    bd_pinned_plan **keeps; // the plan is made and kept here, and nothing runs
    bd_pinned_plan *kept;   // the plan to be run
    const int *kept_order;  // feed i of `signature` is the plan's kept_order[i]; fetches behind them
    bd_run_phase phase;
    int64_t step_id; // of a partial run
} bd_master_run_args;

// Runs a step. What `args` points to stays until the callback. `cancellation` ends the step, and so does its
// timeout, also while its plan is made.
void bd_master_run(bd_master_session *s, const bd_master_run_args *args, bd_cancellation *cancellation,
                   bd_master_done_fn fn, void *arg);

// ---- Callables: a signature that is planned once and run by number ----

// `args` says what its runs are to be: signature, timeout, what is wanted. Errors as those of a step's plan.
// Valid until fn.
void bd_master_make_callable(bd_master_session *s, const bd_master_run_args *args,
                             bd_cancellation *cancellation,
                             void (*fn)(void *arg, int64_t handle, const braid_status *st), void *arg);
// With a reference; NULL and InvalidArgument "No such callable handle" or "... after handle was released". To
// be dropped before the session's.
bd_callable *bd_master_find_callable(bd_master_session *s, int64_t handle, braid_status *st);
void bd_callable_unref(bd_callable *c); // NULL is accepted
// What bd_master_run is to get, but for feeds, fetches and metadata.
bd_master_run_args bd_callable_args(const bd_callable *c);
// What runs goes on. A handle that is not there is released already.
void bd_master_release_callable(bd_master_session *s, int64_t handle);

// ---- Partial runs: one step in several calls ----

// Plans a step whose values are fed and fetched in several calls. `handle` is borrowed for the call; NULL on
// an error. `signature` is valid until fn.
void bd_master_setup_partial_run(bd_master_session *s, const bd_run_signature *signature,
                                 bd_cancellation *cancellation,
                                 void (*fn)(void *arg, const char *handle, const braid_status *st),
                                 void *arg);
// One call of it: feeds some values and fetches some, which `args` says as for bd_master_run. The call that
// leaves nothing to be fed or fetched ends the step when all of it has run; so does an error of the step.
// InvalidArgument, which does not: "Must run PartialRunSetup before performing partial runs"; what was not
// set up, comes again, or needs what has not been fed.
void bd_master_run_partial(bd_master_session *s, const char *handle, const bd_master_run_args *args,
                           bd_cancellation *cancellation, bd_master_done_fn fn, void *arg);
// It will not go on: its tasks are told to end the step. A handle that is not there is ended already.
void bd_master_end_partial(bd_master_session *s, const char *handle);

// Cancels the session's steps and calls back when they have ended and the session is gone; what its tasks
// hold of it is freed meanwhile. Closing again ends with Aborted "Session HANDLE is not found".
void bd_master_close_session(bd_master *m, const char *handle, bd_master_done_fn fn, void *arg);

// Devices of the session's tasks in the order of tasks, the own task's first; NULL: asks all tasks of the
// cluster. A handle that nobody has is InvalidArgument here, as in TensorFlow.
typedef void (*bd_master_devices_fn)(void *arg, const bd_device_info *devices, int count,
                                     const braid_status *st);
void bd_master_list_devices(bd_master *m, const char *handle, bd_cancellation *cancellation,
                            bd_master_devices_fn fn, void *arg);

// Clears containers (none: the default one) on all tasks that the filters do not exclude, and closes all
// sessions.
void bd_master_reset(bd_master *m, const char *const *containers, int container_count,
                     const char *const *filters, int filter_count, bd_cancellation *cancellation,
                     bd_master_done_fn fn, void *arg);

#endif

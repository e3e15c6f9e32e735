// Declarations shared by the files of the local worker.
#ifndef BD_CLUSTER_WORKER_LOCAL_WORKER_INTERNAL_H
#define BD_CLUSTER_WORKER_LOCAL_WORKER_INTERNAL_H

#include "base/account.h"
#include "base/map.h"
#include "base/thread.h"
#include "cluster/worker/local_worker.h"
#include "runtime/function_runtime.h"
#include "runtime/plan.h"

// A session of a master, held by the table and by its graphs.
typedef struct bd_worker_session {
    char *handle;
    bd_kernel_store *kernels;
    bd_resources *resources; // its own when it is isolated, else a view of the device's
    bool is_isolated;
    bd_session_cluster *cluster;           // a reference; NULL: that of the server
    bd_remote_functions *remote_functions; // for calls from its graphs; a reference
    bd_account *account;                   // of its client, not owned; NULL: it has no limits
    bd_map graphs;    // handle -> bd_worker_graph, one reference each; guarded by the worker's mu
    int registering;  // graphs that are about to be there; guarded by the worker's mu
    bool was_created; // by CreateWorkerSession: stays until DeleteWorkerSession, or while its master does
    bd_session_owner owner; // its task owned; "": not known
    atomic_bool is_dropped; // no step of it begins any more
    atomic_int refs;
} bd_worker_session;

// A registered graph, held by its session and by its executions.
typedef struct bd_worker_graph {
    char *handle;
    bd_worker_session *session; // a reference
    bd_plan *plan;
    bd_function_runtime *functions; // that its nodes call
    bd_charge charge;               // for their library
    atomic_int refs;
    // The time for which the last execution held the thread that began it. A graph that takes long is run on
    // the pool.
    _Atomic int64_t held_ns;
} bd_worker_graph;

struct bd_local_worker {
    bd_worker base;
    const bd_peers *peers;
    bd_local_devices devices; // which share memory, resources and threads, and so their plans
    bd_device *device;        // the first
    bd_step_table *steps;
    bd_chunk_store *chunk_store; // of the steps
    bd_task_collectives *collectives;
    bd_accounts *accounts;         // of clients; not owned; NULL: they have no limits
    bd_session_clusters *clusters; // of sessions; not owned; NULL: they have that of the server
    bd_worker_commit_fn commit;    // NULL: the task is not replicated
    void *commit_arg;
    bd_mutex mu;
    bd_cond idle;
    bd_imap partial_runs; // step id -> partial of worker_partial.c, one reference each; guarded by mu
    bd_map sessions;      // handle -> bd_worker_session, one reference each; guarded by mu
    int running;          // executions, and threads that begin one; guarded by mu
    bool is_closed;       // guarded by mu
    struct bd_worker_step *first, **end;    // executions in progress, the oldest first; guarded by mu
    uint64_t executions, executions_failed; // that have ended; guarded by mu
};

// The tasks of the session's cluster, and the devices of this task by their names there.
static inline const bd_peers *bd_worker_session_peers(const bd_local_worker *w, const bd_worker_session *s)
{
    return s->cluster ? &s->cluster->peers : w->peers;
}
static inline const bd_local_devices *bd_worker_session_devices(const bd_local_worker *w,
                                                                const bd_worker_session *s)
{
    return s->cluster ? &s->cluster->devices : &w->devices;
}

// Returns the graph with a reference. Aborted "Graph handle is not found" when the graph or its session does
// not exist.
braid_code bd_worker_graph_find(bd_local_worker *w, const char *session_handle, const char *graph_handle,
                                bd_worker_graph **out, braid_status *st);
void bd_worker_graph_unref(bd_worker_graph *g);

// worker_commit.c: replaces the callback of an operation that changes variables by one that commits first.
void bd_worker_commit_before(const bd_local_worker *w, bd_worker_done_fn *fn, void **arg);

// The container of a step's own resources.
#define BD_STEP_CONTAINER_MAX 40
const char *bd_step_container(int64_t step_id, char buf[BD_STEP_CONTAINER_MAX]);

// The step of a RunGraph, on this task. Do not move it: `step` points into it.
typedef struct bd_worker_step {
    bd_worker_graph *graph;             // a reference
    bd_rendezvous *rendezvous;          // a reference
    bd_cancellation *step_cancellation; // cancelled when the step is cleaned up; a reference
    bd_cancel_hook hook;                // for the caller, in step_cancellation
    bd_step step;                       // with a token of its own
    char container[BD_STEP_CONTAINER_MAX];
    int64_t begin_ns;
    struct bd_worker_step *next, **link; // in the worker's list; guarded by its mu
} bd_worker_step;

// worker_step.c: finds the graph of `run` and begins its step in the step table. `parent` (NULL: none)
// cancels the step's token. `s` is zeroed. On an error there is nothing to end.
braid_code bd_worker_step_begin(bd_local_worker *w, const bd_run_graph *run, bd_cancellation *parent,
                                bd_worker_step *s, braid_status *st);
// Drops the references. The step is ended in the step table by bd_step_table_end before.
void bd_worker_step_fini(bd_worker_step *s);

// worker_watch.c: lists an execution that begins now, and counts it as running.
void bd_worker_step_list(bd_local_worker *w, bd_worker_step *s);
// Takes it off the list, with the worker's mu held, and counts it as ended; it still counts as running.
void bd_worker_step_unlist_locked(bd_local_worker *w, bd_worker_step *s, bool has_failed);

// worker_run.c
void bd_worker_run_graph(bd_worker *base, bd_run_graph *run, bd_cancellation *cancellation,
                         bd_worker_done_fn fn, void *arg);

// Executions, and threads that begin one: bd_local_worker_stop waits for them.
void bd_worker_count_running(bd_local_worker *w, int change);

// worker_partial.c: a RunGraph with is_partial set.
void bd_worker_run_partial(bd_local_worker *w, bd_run_graph *run, bd_cancellation *cancellation,
                           bd_worker_done_fn fn, void *arg);

#endif

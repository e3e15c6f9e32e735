// The worker of this process: registered graphs, and their execution.
#ifndef BD_CLUSTER_WORKER_LOCAL_WORKER_H
#define BD_CLUSTER_WORKER_LOCAL_WORKER_H

#include "base/account.h"
#include "base/timer.h"
#include "cluster/rpc/peers.h"
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/rpc/worker_interface.h"
#include "cluster/worker/collectives.h"
#include "cluster/worker/session_cluster.h"
#include "cluster/worker/step_table.h"
#include "runtime/plan.h"

struct Tensorflow__DebugOptions; // tensorflow/core/protobuf/debug.pb-c.h

typedef struct bd_local_worker bd_local_worker;

// All must outlive it. `devices` are those of the task, which share their resources.
bd_local_worker *bd_local_worker_new(const bd_peers *peers, const bd_local_devices *devices,
                                     bd_timers *timers, bd_chunk_store *chunk_store,
                                     bd_task_collectives *collectives);
// What the sessions of clients use counts in these accounts, which outlive the worker. Call it before the
// first session.
void bd_local_worker_use_accounts(bd_local_worker *w, bd_accounts *accounts);
// Sessions may have these clusters, which outlive the worker. Call it before the first session.
void bd_local_worker_use_clusters(bd_local_worker *w, bd_session_clusters *clusters);
// The account of the client of a session; NULL: it has no limits, or there is no such session.
bd_account *bd_local_worker_account(bd_local_worker *w, const char *session_handle);
// Aborts all steps and refuses new ones; their callbacks run soon. Registered graphs stay until free.
void bd_local_worker_close(bd_local_worker *w, const braid_status *why);
// Waits until no graph runs any more. After close.
void bd_local_worker_stop(bd_local_worker *w);
void bd_local_worker_free(bd_local_worker *w);

// The master `task` is gone for good: its sessions are deleted.
void bd_local_worker_master_gone(bd_local_worker *w, const char *task);

// Executions, and the clearing of containers, end only when fn of commit(arg, fn, fn_arg) has been called:
// the task is replicated. Call it before the server listens.
typedef void (*bd_worker_commit_fn)(void *arg, bd_worker_done_fn fn, void *fn_arg);
void bd_local_worker_set_commit(bd_local_worker *w, bd_worker_commit_fn commit, void *arg);

// ---- What the worker does, for those who watch it ----

typedef struct bd_execution_counts {
    uint64_t ended, failed; // from the start on
    int running;
} bd_execution_counts;
bd_execution_counts bd_local_worker_execution_counts(bd_local_worker *w);

// Valid in the callback only.
typedef struct bd_watched_execution {
    int64_t step_id, begin_ns; // the time of bd_now_ns
    const char *session;
    const char *waits_for; // the nodes that have not ended, a few at most; "": it computes
} bd_watched_execution;

// Calls fn for the oldest executions in progress, `max` at most, the oldest first. They go on meanwhile.
void bd_local_worker_watch(bd_local_worker *w, int max, void (*fn)(void *arg, const bd_watched_execution *e),
                           void *arg);

// Calls fn for each table of resources: that of the task, and those of isolated sessions.
void bd_local_worker_each_resources(bd_local_worker *w, void (*fn)(void *arg, bd_resources *rs), void *arg);

bd_worker *bd_local_worker_base(bd_local_worker *w);
bd_local_worker *bd_local_worker_of(bd_worker *base); // the inverse

// The same as the functions of bd_worker, for sessions that the master did not create: TensorFlow masters
// register graphs under any session handle. Such a session lives as long as it has graphs.
void bd_local_worker_register_graph(bd_local_worker *w, const char *session_handle, bool was_created,
                                    braid_graph *graph, unsigned disabled_rewrites,
                                    const struct Tensorflow__DebugOptions *debug, bd_worker_graph_fn fn,
                                    void *arg);

// Another task asks for a tensor by key, which names this task as the sender. Aborted naming both
// incarnations when the key is of an earlier life of this task.
void bd_local_worker_recv_tensor(bd_local_worker *w, int64_t step_id, const char *key, bd_recv_fn fn,
                                 void *arg);

// Around the tensors of one push: steps that wait for them go on in the second call, or after it.
void bd_local_worker_begin_pushed(bd_local_worker *w, bd_continuations *c);
void bd_local_worker_end_pushed(bd_local_worker *w, bd_continuations *c);
// Takes a tensor that another task pushes: `pushed` is a PushedTensor. *is_refused: see bd_step_table_push.
// *read_from is set to the sender when the tensor came whole, and is large enough to be read from its memory.
// Both may be NULL.
// InvalidArgument when its key does not name this task as the receiver and another task as the sender.
braid_code bd_local_worker_take_pushed(bd_local_worker *w, int64_t step_id, bd_wire_reader pushed,
                                       bool *is_refused, const bd_peer **read_from, braid_status *st);

#endif

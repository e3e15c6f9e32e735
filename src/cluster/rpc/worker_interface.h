// A worker: what a master asks of one task, whether that is in this process (local_worker.c) or behind a
// channel (remote_worker.c).
//
// All functions return at once (the local one may do the work before it returns) and call back exactly once,
// on any thread, with no lock held. What a call takes by pointer stays valid until the callback, unless it
// says that it is taken over.
#ifndef BD_CLUSTER_RPC_WORKER_INTERFACE_H
#define BD_CLUSTER_RPC_WORKER_INTERFACE_H

#include "base/wire.h"
#include "graph/graph.h"
#include "op/cancellation.h"
#include "runtime/device.h"
#include "tensor/tensor.h"

typedef struct bd_worker bd_worker;

typedef void (*bd_worker_done_fn)(void *arg, const braid_status *st);
// `devices` [count] are borrowed for the call.
typedef void (*bd_worker_devices_fn)(void *arg, const bd_device_info *devices, int count,
                                     const braid_status *st);
// `graph_handle` is borrowed for the call; NULL on an error.
typedef void (*bd_worker_graph_fn)(void *arg, const char *graph_handle, const braid_status *st);

typedef struct bd_run_graph_send {
    const char *key;
    const braid_tensor *tensor;
} bd_run_graph_send;

// One execution of a registered graph.
typedef struct bd_run_graph {
    const char *session_handle, *graph_handle;
    int64_t step_id;
    const bd_run_graph_send *sends; // values by rendezvous key, before the graph runs
    int send_count;
    const char *const *recv_keys; // asked for when it has run
    braid_tensor *recvs;          // [recv_count] "no tensor" before; set on success, the caller's
    int recv_count;
    bool wants_stats, wants_partition_graphs;
    // Receive, when wanted, a StepStats message and `repeated GraphDef = 3` as RunMetadata has it. Empty
    // before.
    bd_message *stats, *partition_graphs;
    // Set when the step ends by itself on the task unless it fails elsewhere: then it needs no cleanup_graph.
    bool ends_by_itself;
    // The calling thread waits for the step anyway: a local worker runs on it. Else it is one that must not
    // be held.
    bool may_wait;
    // One call of a partial run: the first of its step begins it, and what is not fed yet is waited for; the
    // last is over when all of it has run.
    bool is_partial, is_last_partial;
    // All tasks of the step take tensors that are pushed to them (bd_worker.takes_pushes): push what goes to
    // them.
    bool pushes;
    // Receives PushedTensors as BD_RUN_GRAPH_RESPONSE_PUSHED: what the part has sent to its master's task
    // when it has run. Empty before; NULL: they are pushed, too.
    bd_message *returned;
    // The master's own worker, for what a remote one returns; NULL when `pushes` is not set.
    struct bd_local_worker *home;
} bd_run_graph;

// The master of a session.
typedef struct bd_session_owner {
    const char *task;     // "/job:worker/replica:0/task:1"; "": not known
    uint64_t incarnation; // of its device
    // the task that leads the session's groups of collectives; "": the master's own
    const char *collective_leader;
} bd_session_owner;

typedef struct bd_worker_ops {
    // Asks for the devices of the task; `wait` for one that is not there yet.
    void (*get_status)(bd_worker *w, bool wait, bd_cancellation *cancellation, bd_worker_devices_fn fn,
                       void *arg);
    // `cancellation` (here and below NULL: none): cancelling ends the call with why it was cancelled. `owner`
    // says whose session it is: those of its earlier incarnations are deleted. An isolated session has
    // variables and other resources of its own, which go with it.
    void (*create_session)(bd_worker *w, const char *session_handle, const bd_session_owner *owner,
                           bool is_isolated, bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg);
    // fn may be NULL for these: then nobody wants to know.
    void (*delete_session)(bd_worker *w, const char *session_handle, bd_worker_done_fn fn, void *arg);
    void (*deregister_graph)(bd_worker *w, const char *session_handle, const char *graph_handle,
                             bd_worker_done_fn fn, void *arg);
    void (*cleanup_graph)(bd_worker *w, int64_t step_id, bd_worker_done_fn fn, void *arg);
    // `graph` is taken over (left empty); all its nodes are placed on devices of the task. Cancelling ends it
    // with why it was cancelled; what the task has registered nevertheless goes with its session.
    // `disabled_rewrites`: BRAID_REWRITE_...
    void (*register_graph)(bd_worker *w, const char *session_handle, braid_graph *graph,
                           unsigned disabled_rewrites, bd_cancellation *cancellation, bd_worker_graph_fn fn,
                           void *arg);
    // Cancelling ends it with why it was cancelled. Aborted "Graph handle is not found" when the task does
    // not know the graph.
    void (*run_graph)(bd_worker *w, bd_run_graph *run, bd_cancellation *cancellation, bd_worker_done_fn fn,
                      void *arg);
    // Clears containers (none: the default one).
    void (*cleanup_all)(bd_worker *w, const char *const *containers, int count, bd_cancellation *cancellation,
                        bd_worker_done_fn fn, void *arg);
} bd_worker_ops;

struct bd_worker {
    const bd_worker_ops *ops;
    atomic_bool takes_pushes; // a task of Braid's; known when get_status has been answered
};

#endif

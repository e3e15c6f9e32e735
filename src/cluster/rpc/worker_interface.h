// The interface of a worker, one task as a master sees it: in this process (local_worker.c) or behind a
// channel (remote_worker.c).
//
// All functions return at once (the local worker may do the work before it returns) and call back exactly
// once, on any thread, with no lock held. Arguments passed by pointer must stay valid until the callback,
// unless they are taken over.
#ifndef BD_CLUSTER_RPC_WORKER_INTERFACE_H
#define BD_CLUSTER_RPC_WORKER_INTERFACE_H

#include "base/wire.h"
#include "graph/graph.h"
#include "op/cancellation.h"
#include "runtime/device.h"
#include "tensor/tensor.h"

struct Tensorflow__DebugOptions; // tensorflow/core/protobuf/debug.pb-c.h

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
    // Set when the step ends on the task without cleanup_graph, unless it fails on another task.
    bool ends_by_itself;
    // The calling thread waits for the step anyway, so a local worker executes on it. False: the thread must
    // not be held.
    bool may_wait;
    // One call of a partial run. The first call of a step begins it; feeds that are missing are waited for.
    // The last call ends when all of the step has run.
    bool is_partial, is_last_partial;
    // All tasks of the step take pushes (bd_worker.takes_pushes): push the tensors for them.
    bool pushes;
    int call_depth; // bd_step.call_depth: of a function that another task calls
    // Receives the tensors for the master's task when the partition has run, as PushedTensors in
    // BD_RUN_GRAPH_RESPONSE_PUSHED. Empty before; NULL: they are pushed, too.
    bd_message *returned;
    // The master's own worker, which takes the tensors that a remote worker returns; NULL without `pushes`.
    struct bd_local_worker *home;
} bd_run_graph;

// The master of a session.
typedef struct bd_session_owner {
    const char *task;     // "/job:worker/replica:0/task:1"; "": not known
    uint64_t incarnation; // of its device
    // the task that leads the session's groups of collectives; "": the master's own
    const char *collective_leader;
    // The client that alone may use what the steps of the session make; "": it is the tasks'.
    const char *client;
    // The cluster of the session, which has the worker's task; NULL: the one that the servers were started
    // with.
    struct bd_session_cluster *cluster;
} bd_session_owner;

typedef struct bd_worker_ops {
    // Asks for the devices of the task; `wait` for one that is not there yet.
    void (*get_status)(bd_worker *w, bool wait, bd_cancellation *cancellation, bd_worker_devices_fn fn,
                       void *arg);
    // `cancellation` (here and below NULL: none): cancelling ends the call with the reason of the
    // cancellation. `owner` is the master of the session: sessions of its earlier incarnations are deleted.
    // An isolated session has variables and other resources of its own, freed with it.
    void (*create_session)(bd_worker *w, const char *session_handle, const bd_session_owner *owner,
                           bool is_isolated, bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg);
    // fn may be NULL for these; the result is then ignored.
    void (*delete_session)(bd_worker *w, const char *session_handle, bd_worker_done_fn fn, void *arg);
    void (*deregister_graph)(bd_worker *w, const char *session_handle, const char *graph_handle,
                             bd_worker_done_fn fn, void *arg);
    void (*cleanup_graph)(bd_worker *w, int64_t step_id, bd_worker_done_fn fn, void *arg);
    // `graph` is taken over (left empty); all its nodes are placed on devices of the task. Cancelling ends
    // the call with the reason of the cancellation; a graph that the task registers nevertheless is freed
    // with its session. `disabled_rewrites`: BRAID_REWRITE_... `debug`: what is watched; NULL: nothing.
    void (*register_graph)(bd_worker *w, const char *session_handle, braid_graph *graph,
                           unsigned disabled_rewrites, const struct Tensorflow__DebugOptions *debug,
                           bd_cancellation *cancellation, bd_worker_graph_fn fn, void *arg);
    // Cancelling ends it with the reason of the cancellation. Aborted "Graph handle is not found" when the
    // task does not know the graph.
    void (*run_graph)(bd_worker *w, bd_run_graph *run, bd_cancellation *cancellation, bd_worker_done_fn fn,
                      void *arg);
    // Clears containers (an empty list: the default one) of what belongs to `client`; "": of everything.
    void (*cleanup_all)(bd_worker *w, const char *const *containers, int count, const char *client,
                        bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg);
} bd_worker_ops;

struct bd_worker {
    const bd_worker_ops *ops;
    // Known when get_status has been answered.
    atomic_bool takes_pushes;               // a task of Braid's
    atomic_uint_least64_t spec_fingerprint; // of its cluster specification; 0: it tells none
};

#endif

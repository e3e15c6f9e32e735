// Sessions: run parts of a graph, in this process or on a cluster.
#ifndef BRAID_SESSION_H
#define BRAID_SESSION_H

#include <braid/cluster.h>
#include <braid/graph.h>
#include <braid/run_metadata.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_session braid_session;
typedef struct braid_server braid_server;

/// Ends calls of a session while others go on: the program gives it to a call, and cancels it from another
/// thread. See braid_cancellation_new.
typedef struct braid_cancellation braid_cancellation;

/// Rewrites of a task's part of a graph before its first run. The results are those of the original graph
/// (with BRAID_REWRITE_REMAPPING up to rounding), and errors name the original nodes.
enum {
    /// Computes constant subgraphs once (OptimizerOptions.do_constant_folding).
    BRAID_REWRITE_CONSTANT_FOLDING = 1,
    /// Of several nodes that compute the same, one runs (do_common_subexpression_elimination).
    BRAID_REWRITE_COMMON_SUBEXPRESSIONS = 2,
    /// Products and convolutions with bias and activation are one node (RewriterConfig.remapping).
    BRAID_REWRITE_REMAPPING = 4,
    /// Element-wise nodes that follow each other are one pass over memory
    /// (RewriterConfig.arithmetic_optimization).
    BRAID_REWRITE_ELEMENTWISE = 8,
    /// Updates by one optimizer are one node (RewriterConfig.remapping).
    BRAID_REWRITE_UPDATES = 16,
    /// Removes nodes whose outputs have no consumer, and bypasses nodes that only pass a tensor on
    /// (RewriterConfig.dependency_optimization).
    BRAID_REWRITE_DEPENDENCIES = 32,
    BRAID_REWRITE_ALL = 63
};

/// Options of a session (ConfigProto). All zero: the defaults.
typedef struct braid_session_options {
    /// "" or NULL: in this process. "grpc://host:port": the master in that server. Ignored when `server` is
    /// given.
    const char *target;
    /// The master of a server in this process, called directly. Not owned; must outlive the session.
    braid_server *server;
    int inter_op_threads; ///< threads that run nodes; 0: one a core
    int intra_op_threads; ///< threads within a node; 0: one a core
    /// Replaces a device that does not exist by one of the same task that exists, and logs it: number k of a
    /// missing type ("/gpu:k") by CPU device k, modulo their number.
    bool allow_soft_placement;
    bool log_device_placement; ///< one line a node with its device
    /// Only the nodes that a run needs must be on a device that exists (place_pruned_graph of GraphOptions):
    /// the run fails, and not the session that gets the graph.
    bool place_pruned_graph;
    /// On a cluster: float tensors go from task to task as bfloat16, of half the bytes: the first 8 bits of
    /// the significand remain, the others are cut off (enable_bfloat16_sendrecv of GraphOptions). Feeds,
    /// fetches, other types, and tensors between devices of one task stay as they are.
    bool enable_bfloat16_sendrecv;
    /// On a cluster: the session gets variables and other resources of its own, which other sessions do not
    /// see and which are freed with it. In this process every session is isolated.
    bool isolate_session_state;
    /// tasks to use ("/job:ps"); the session does not wait for other tasks
    const char *const *device_filters;
    int device_filter_count;
    /// The timeout of every blocking call without a timeout of its own, which then ends with
    /// DeadlineExceeded; 0: none.
    int64_t operation_timeout_ms;
    /// braid_session_open waits at most this long for the session's tasks and then fails with
    /// DeadlineExceeded; 0: as operation_timeout_ms, or else without a limit. A session in this process waits
    /// for none.
    int64_t open_timeout_ms;
    int cpu_devices; ///< CPU devices of an in-process session (device_count of ConfigProto); 0: one
    /// To a "grpc://" target: the directory of the client's certificate (braid/keys.h). NULL: what the
    /// environment variable BRAID_TLS_DIR says; without it, or with "", there is no TLS. Borrowed.
    const char *tls_dir;
    /// The task that leads the collectives of this session ("/job:worker/task:0"), where several sessions
    /// take part in one collective: the same for all of them (collective_group_leader of
    /// ConfigProto.experimental). NULL: each step's members are in one session. InvalidArgument when the
    /// cluster has no such task. Borrowed. A session in this process ignores it.
    const char *collective_leader;
    unsigned disabled_rewrites; ///< BRAID_REWRITE_...: rewrites to switch off, on all devices of the session
    /// Ends braid_session_open with Cancelled while it waits for tasks; of no session. NULL: none. Borrowed
    /// for the call.
    braid_cancellation *cancellation;
    /// The tasks of this session (ConfigProto.cluster_def), which are servers that were started with other
    /// clusters; the server that the session is opened on is one of them. Devices have the names of these
    /// tasks. The session has variables and other resources of its own, unless it shares_session_state. NULL:
    /// the cluster that the server was started with. A session in this process ignores it. Borrowed for the
    /// call. Errors: InvalidArgument when the server is not among the tasks or is there twice,
    /// PermissionDenied for an address that the server may not call for this caller
    /// (braid_server_options.session_hosts); those of braid_session_open for tasks that do not answer.
    const braid_cluster *cluster;
    /// With `cluster`: the session has the variables of the servers, which other sessions have too
    /// (share_session_state_in_clusterspec_propagation of ConfigProto.experimental).
    bool shares_session_state;
} braid_session_options;

typedef struct braid_feed {
    braid_out out;
    const braid_tensor *value; ///< borrowed for the call
} braid_feed;

/// A fetch: the session stores a tensor that the caller frees. A reference variable that the step updates has
/// its value after the update in a local session; on servers it has the one or the other.
typedef struct braid_fetch {
    braid_out out;
    braid_tensor **value;
} braid_fetch;

typedef struct braid_run_args {
    const braid_feed *feeds;
    int feed_count;
    const braid_fetch *fetches;
    int fetch_count;
    braid_op *const *targets; ///< nodes to run without a value
    int target_count;
    int64_t timeout_ms; ///< DeadlineExceeded after this; 0: after the session's
    /// Not NULL: this receives the record of a run that succeeds.
    braid_run_metadata *metadata;
    /// What the record has, BRAID_RECORD_...; 0: BRAID_RECORD_STATS (RunOptions.FULL_TRACE).
    unsigned records;
    /// Ends this run with Cancelled; of the same session. NULL: none. Borrowed for the call. It costs the run
    /// nothing.
    braid_cancellation *cancellation;
    /// What the run writes to files for TensorFlow's debugger: a serialized tensorflow.DebugOptions of
    /// `debug_options_len` bytes (RunOptions.debug_options). NULL: nothing. Borrowed for the call. URLs are
    /// directories, file://DIR, on the hosts of the tasks. Such a run is planned by itself, without rewrites.
    const void *debug_options;
    size_t debug_options_len;
} braid_run_args;

/// Opens a session on `graph`, which stays the caller's and may grow later: the next run sends the new nodes.
/// NULL on an error: the graph's own, Unavailable or DeadlineExceeded naming the tasks that did not answer,
/// NotFound for a target of another scheme than grpc, InvalidArgument for a malformed address.
BRAID_API braid_session *braid_session_open(braid_graph *graph, const braid_session_options *options,
                                            braid_status *status);

/// Runs the nodes that fetches and targets need, and blocks until they have run. On an error no fetch is
/// stored. A fetch that is also fed returns the fed value. Several threads may run steps of one session at
/// once, also while another thread builds (graph.h).
BRAID_API braid_code braid_session_run(braid_session *session, const braid_run_args *args,
                                       braid_status *status);

/// Makes an object that ends runs of `session`, any number at a time, when it is cancelled; NULL: that ends
/// opening a session. Freed in any order with the session, when no call uses it any more.
BRAID_API braid_cancellation *braid_cancellation_new(braid_session *session);
/// Ends the calls that have it, and those that will get it, with Cancelled, as soon as their nodes can be
/// interrupted; the session goes on. Does not wait for them. Any thread, but not in a signal handler. Again
/// has no effect.
BRAID_API void braid_cancellation_cancel(braid_cancellation *cancellation);
BRAID_API void braid_cancellation_free(braid_cancellation *cancellation); ///< NULL is accepted

/// The feeds, fetches and targets that several runs have in common. The arrays are borrowed for the call.
typedef struct braid_signature {
    const braid_out *feeds;
    int feed_count;
    const braid_out *fetches;
    int fetch_count;
    braid_op *const *targets;
    int target_count;
} braid_signature;

// ---- Callables: what is asked for is said once, and run many times ----

/// A signature that a session has planned (tf.Session.make_callable). Several threads may run it at once.
typedef struct braid_callable braid_callable;

/// In the runs of a callable, the consumers of `to` get `from` instead.
typedef struct braid_connection {
    braid_out from, to;
} braid_connection;

typedef struct braid_callable_options {
    const braid_connection *connections; ///< borrowed for the call
    int connection_count;
    int64_t timeout_ms; ///< of each run: DeadlineExceeded after this; 0: after the session's
    bool is_traced;     ///< the runs can return their records
    unsigned records;   ///< what these have, BRAID_RECORD_...; 0: BRAID_RECORD_STATS, which makes runs slower
    const void *debug_options; ///< what each run writes, as in braid_run_args; NULL: nothing
    size_t debug_options_len;
} braid_callable_options;

/// Plans the runs of `signature`. `options` NULL: the defaults. NULL on an error: those of a run, or
/// ResourceExhausted when the session has too many callables. The graph may grow later without an effect on
/// the callable. The caller frees it, before or after the session is closed.
BRAID_API braid_callable *braid_callable_new(braid_session *session, const braid_signature *signature,
                                             const braid_callable_options *options, braid_status *status);

/// Runs a callable and blocks until it is done. `feeds` [feeds of the signature] are borrowed for the call.
/// On success `fetches` [fetches] receives tensors that the caller frees; on an error it is unchanged.
/// `metadata`, if not NULL, receives the record of a traced run that succeeds. Cancelled when the session is
/// closed.
BRAID_API braid_code braid_callable_run(braid_callable *callable, const braid_tensor *const *feeds,
                                        braid_tensor **fetches, braid_run_metadata *metadata,
                                        braid_status *status);

/// The same, and `cancellation`, if not NULL, ends this run with Cancelled, as in braid_run_args.
BRAID_API braid_code braid_callable_run_with(braid_callable *callable, const braid_tensor *const *feeds,
                                             braid_tensor **fetches, braid_run_metadata *metadata,
                                             braid_cancellation *cancellation, braid_status *status);

/// Releases it; NULL is accepted. No run may be in progress.
BRAID_API void braid_callable_free(braid_callable *callable);

// ---- Partial runs: one step in several calls ----

/// One step whose values are fed and fetched by several calls (tf.Session.partial_run).
typedef struct braid_partial_run braid_partial_run;

/// Sets up a step that runs the targets of `signature`; its calls feed and fetch each tensor of the signature
/// once. NULL on an error, as for braid_callable_new. The caller frees it, before or after the session is
/// closed.
BRAID_API braid_partial_run *braid_partial_run_new(braid_session *session, const braid_signature *signature,
                                                   braid_status *status);

/// Feeds `args->feeds` to the step and blocks until `args->fetches` are computed; every node whose inputs are
/// complete runs, fetched or not. The call after which all is fed and fetched waits for the whole step.
/// Targets and metadata of `args` must be empty. InvalidArgument, after which the step can go on: a tensor
/// that is not in the signature, a tensor for the second time, or a fetch that depends on missing feeds. Any
/// other error, also Cancelled by `args->cancellation`, ends the step.
BRAID_API braid_code braid_partial_run_call(braid_partial_run *run, const braid_run_args *args,
                                            braid_status *status);

/// Cancels the step unless it has ended, and frees it; NULL is accepted. No call may be in progress. Nodes of
/// the step that wait in a server of another process wait until the session is closed.
BRAID_API void braid_partial_run_free(braid_partial_run *run);

// ---- The session again ----

/// Ends calls in progress with Cancelled, waits until they have returned, closes and frees the session; NULL
/// is accepted. The session is freed whatever code is returned. A session that was opened before this process
/// was forked is left as it is; its other functions fail with FailedPrecondition.
BRAID_API braid_code braid_session_close(braid_session *session, braid_status *status);

/// A device that a session may use.
typedef struct braid_device_attributes {
    const char *name;
    const char *type;
    int64_t memory_limit;
    uint64_t incarnation;
} braid_device_attributes;

/// Lists the devices; `*devices` is owned by the session and valid until the next call.
BRAID_API braid_code braid_session_list_devices(braid_session *session,
                                                const braid_device_attributes **devices, int *count,
                                                braid_status *status);

/// Notifies every process that waits for `key` (braid_session_wait_notification): the chief does so when the
/// variables are initialized. One task of the cluster, a parameter server where there is one, stores the
/// notification for as long as that task lives.
BRAID_API braid_code braid_session_notify(braid_session *session, const char *key, braid_status *status);

typedef struct braid_notification_wait {
    const char *key;
    int64_t seen;       ///< an earlier generation; 0: wait for any notification; -1: return at once
    int64_t timeout_ms; ///< 0: no limit
    /// The wait also ends when fewer tasks than this can still work: those that are done or gone for good
    /// cannot. Parameter servers and evaluators do not count. 0: it does not end then.
    int min_tasks;
    /// Another task may take the place of a chief that is gone for good: of the tasks that are not gone, the
    /// first leads (the chief, then workers by index). Being gone then ends the wait only if all are. `leads`
    /// is what the session's task holds itself to be; when it is otherwise, the wait ends without an error
    /// and with *generation == seen.
    bool successors, leads;
    /// Ends the wait with Cancelled; of the same session. NULL: none. Borrowed for the call. Of no effect on
    /// a session in this process.
    braid_cancellation *cancellation;
} braid_notification_wait;

/// Waits until `wait->key` is notified after generation `wait->seen`, and stores the new generation to
/// `*generation`. The generation of a key grows with each notification. The wait may also end without a
/// notification, when the task that stores notifications has restarted since `seen`: check the awaited
/// condition again. Errors: DeadlineExceeded; Unavailable when that task or the chief is gone for good, or
/// too few tasks are left; FailedPrecondition when the chief is done, or too few tasks are left because
/// others are done.
BRAID_API braid_code braid_session_wait_notification(braid_session *session,
                                                     const braid_notification_wait *wait, int64_t *generation,
                                                     braid_status *status);

/// Ends all calls of the session that are in progress, and later ones, with Cancelled. Any thread. The
/// session is then still to be closed.
BRAID_API void braid_session_cancel(braid_session *session);

/// Clears the containers that `containers` [count] names (none: the default container), with the variables
/// and other resources in them, on the tasks of a cluster, and closes the sessions of its masters, of which
/// another user's stay (tf.Session.reset). `options` has the target, or the server, and the device filters.
/// InvalidArgument for a target in this process, whose sessions share no containers.
BRAID_API braid_code braid_session_reset(const braid_session_options *options, const char *const *containers,
                                         int count, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

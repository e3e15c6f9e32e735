// Sessions: run parts of a graph, in this process or on a cluster.
#ifndef BRAID_SESSION_H
#define BRAID_SESSION_H

#include <braid/graph.h>
#include <braid/run_metadata.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_session braid_session;
typedef struct braid_server braid_server;

/// What a device does to its part of a graph before it runs it the first time. The results are those of the
/// graph as it was built (of BRAID_REWRITE_REMAPPING up to rounding), and errors name its nodes.
enum {
    /// What follows from constants is computed once (OptimizerOptions.do_constant_folding).
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
    /// What nobody takes a value from is not computed, and what only hands on is left out
    /// (RewriterConfig.dependency_optimization).
    BRAID_REWRITE_DEPENDENCIES = 32,
    BRAID_REWRITE_ALL = 63
};

/// What ConfigProto says of a session. All zero is the default of each.
typedef struct braid_session_options {
    /// "" or NULL: in this process. "grpc://host:port": the master in that server. Ignored when `server` is
    /// given.
    const char *target;
    /// The master of a server in this process, called directly. Not owned; must outlive the session.
    braid_server *server;
    int inter_op_threads;      ///< threads that run nodes; 0: one a core
    int intra_op_threads;      ///< threads within a node; 0: one a core
    bool allow_soft_placement; ///< a device nobody has is replaced by one that is there
    bool log_device_placement; ///< one line a node with its device
    /// On a cluster: variables and other resources of its own, which nobody shares and which go with it. In
    /// this process: always so.
    bool isolate_session_state;
    const char *const *device_filters; ///< tasks to use ("/job:ps"); others are not waited for
    int device_filter_count;
    /// Every blocking call that has no timeout of its own ends with DeadlineExceeded after this; 0: never.
    int64_t operation_timeout_ms;
    int cpu_devices; ///< CPU devices of an in-process session (device_count of ConfigProto); 0: one
    unsigned disabled_rewrites; ///< BRAID_REWRITE_...: those not wanted, on any device of the session
} braid_session_options;

typedef struct braid_feed {
    braid_out out;
    const braid_tensor *value; ///< borrowed for the call
} braid_feed;

/// A fetch: the session stores a tensor that the caller frees.
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
    /// Not NULL: the run is traced (RunOptions.FULL_TRACE), which makes it slower, and this holds what it did
    /// when it succeeded.
    braid_run_metadata *metadata;
} braid_run_args;

/// Opens a session on `graph`, which stays the caller's and may grow later: nodes added are seen by the next
/// run. NULL on an error: the graph's own, Unavailable or DeadlineExceeded naming the tasks that did not
/// answer, InvalidArgument for a target that is none.
BRAID_API braid_session *braid_session_open(braid_graph *graph, const braid_session_options *options,
                                            braid_status *status);

/// Runs what fetches and targets need, blocks until done. On an error no fetch is stored. A fetch that is fed
/// gives what was fed. Several threads may run at once on one session (while the graph does not change).
BRAID_API braid_code braid_session_run(braid_session *session, const braid_run_args *args,
                                       braid_status *status);

/// What several runs ask for alike. The arrays are borrowed for the call.
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

/// Within the runs of a callable, who takes `to` takes `from` instead.
typedef struct braid_connection {
    braid_out from, to;
} braid_connection;

typedef struct braid_callable_options {
    const braid_connection *connections; ///< borrowed for the call
    int connection_count;
    int64_t timeout_ms; ///< of each run: DeadlineExceeded after this; 0: after the session's
    bool is_traced;     ///< runs are traced, which makes them slower, and may ask for what they did
} braid_callable_options;

/// Plans what runs of `signature` do. `options` NULL: none. NULL on an error, which is that of a run, or
/// ResourceExhausted when the session has too many of them. The graph may grow later: the callable stays as
/// it is. To be freed, before or after the session is closed.
BRAID_API braid_callable *braid_callable_new(braid_session *session, const braid_signature *signature,
                                             const braid_callable_options *options, braid_status *status);

/// Runs it, blocks until done. `feeds` [feeds of the signature] are borrowed for the call; to `fetches`
/// [fetches] tensors are stored that the caller frees; on an error none is. `metadata`, if not NULL, holds
/// what a traced run did when it succeeded. Cancelled when the session is closed.
BRAID_API braid_code braid_callable_run(braid_callable *callable, const braid_tensor *const *feeds,
                                        braid_tensor **fetches, braid_run_metadata *metadata,
                                        braid_status *status);

/// Releases it; NULL is accepted. No run may be in progress.
BRAID_API void braid_callable_free(braid_callable *callable);

// ---- Partial runs: one step in several calls ----

/// One step whose values are fed and fetched little by little (tf.Session.partial_run).
typedef struct braid_partial_run braid_partial_run;

/// Plans a step that runs the targets of `signature` and whose calls will feed and fetch what it names, each
/// once. NULL on an error, as for braid_callable_new. To be freed, before or after the session is closed.
BRAID_API braid_partial_run *braid_partial_run_new(braid_session *session, const braid_signature *signature,
                                                   braid_status *status);

/// One call of it: gives the step the feeds of `args` and blocks until its fetches are there; nodes that have
/// all they need run whether or not they are asked for. The call that leaves nothing to be fed or fetched
/// waits for the whole step. Targets and metadata of `args` must be empty. InvalidArgument, after which the
/// step can go on: what the signature does not name, what comes a second time, or a fetch that needs what has
/// not been fed. Any other error is the step's, and ends it.
BRAID_API braid_code braid_partial_run_call(braid_partial_run *run, const braid_run_args *args,
                                            braid_status *status);

/// Ends the step, if it has not come to its end, and frees it; NULL is accepted. No call may be in progress.
/// What waits in a server of another process does so until the session is closed.
BRAID_API void braid_partial_run_free(braid_partial_run *run);

// ---- The session again ----

/// Ends calls in progress with Cancelled, waits until they have returned, closes and frees the session; NULL
/// is accepted. The session is gone whatever is returned.
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

/// Tells every process that waits for `key` (braid_session_wait_notification) that it has come: the chief
/// says so when the variables are initialized. Kept by one task of the cluster for as long as that lives,
/// beside the variables.
BRAID_API braid_code braid_session_notify(braid_session *session, const char *key, braid_status *status);

/// Waits until `key` is announced after generation `seen`, and stores its generation then, which grows with
/// each notification, to `*generation`. `seen` is an earlier generation, or 0 for any notification; -1
/// returns at once. May also end without an notification when the task that keeps it has restarted since
/// `seen`: look again at what you wait for. `timeout_ms` 0: for ever, but Unavailable when the task that
/// keeps it, or the chief, is gone for good.
BRAID_API braid_code braid_session_wait_notification(braid_session *session, const char *key, int64_t seen,
                                                     int64_t timeout_ms, int64_t *generation,
                                                     braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

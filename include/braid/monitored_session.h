// Monitored sessions: a session that initializes or restores the variables, or waits for the chief to do so,
// calls hooks around each step, saves checkpoints, goes on after a task was lost and restarted, and reports
// when training is over.
//
//     braid_monitored_session *s = braid_monitored_session_open(graph, &(braid_session_config){
//         .session.server = server, .is_chief = chief, .hooks = BRAID_HOOKS(braid_stop_at_step(1000))});
//     while (!braid_should_stop(s))
//         braid_run(s, BRAID_FEED({x, images}, {y, labels}), NULL, train);
//     return braid_exit_code(braid_monitored_session_close(s));
//
// The first error is kept: later runs return it at once, braid_should_stop is true, and close reports it.
// OutOfRange from a run means the end of the input and is no error: the run returns it, and braid_should_stop
// is true. A monitored session is used by one thread at a time.
//
// Recovery: when a run ends with Aborted or Unavailable, because a task of the cluster is lost or was
// restarted, the monitored session opens another session and runs the step again. It waits for missing tasks
// for the grace time, a minute unless the environment variable BRAID_GRACE_SECONDS gives another number. Its
// chief restores the newest checkpoint when variables have lost their values. Each recovery is logged with
// its reason.
#ifndef BRAID_MONITORED_SESSION_H
#define BRAID_MONITORED_SESSION_H

#include <braid/checkpoint.h>
#include <braid/cluster.h>
#include <braid/coordinator.h>
#include <braid/run_metadata.h>
#include <braid/scaffold.h>
#include <braid/session.h>
#include <braid/session_creator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_monitored_session braid_monitored_session;
typedef struct braid_hook braid_hook;

/// All zero is the default of each.
typedef struct braid_session_config {
    braid_session_options session; ///< where and how; no target and no server: in this process
    /// Set for the process that initializes the variables. The other processes wait until the variables are
    /// initialized. A session in this process is always its own chief. A session on the server of the task
    /// that braid_is_chief names fails with FailedPrecondition, instead of waiting, when it is not set and
    /// the variables have no values.
    bool is_chief;
    braid_scaffold scaffold; ///< finalized by the session; its saver an asynchronous one, if it is given
    /// BRAID_HOOKS, or a list that ends with NULL; the session takes and frees them, also when it cannot be
    /// opened.
    braid_hook *const *hooks;
    braid_hook *const *chief_only_hooks; ///< the same, for the chief; other processes free them
    /// How sessions are made, in place of is_chief, `session`, `scaffold` and `wait_timeout_ms`
    /// (tf.train.MonitoredSession); the session takes and frees it. `session.server` is told of an error
    /// nevertheless, and checkpoints are saved by the scaffold's saver to `checkpoint_dir`, from which they
    /// are for the creator to restore. NULL: the creator of the chief or of another worker
    /// (tf.train.MonitoredTrainingSession).
    braid_session_creator *creator;
    /// The maximum time to wait for the chief to initialize the variables (max_wait_secs); 0: two hours, or
    /// what the environment variable BRAID_START_TIMEOUT_SECONDS says. The wait ends at once when the chief
    /// is gone for good. For tasks that are missing at the start, session.open_timeout_ms is the limit; 0:
    /// the same.
    int64_t wait_timeout_ms;
    /// Where the chief saves checkpoints, with graph.pbtxt, and restores the newest one when variables have
    /// no value; NULL: no checkpoints. All tasks with variables must see the directory under this path.
    const char *checkpoint_dir;
    braid_checkpoint_policy keep;   ///< of the saver that is made when the scaffold has none
    double save_checkpoint_seconds; ///< 0: 600, unless `save_checkpoint_steps` is given; negative: never
    int64_t save_checkpoint_steps;  ///< saves after so many steps, not by time; 0: by time
    /// Where the chief writes summaries and steps per second to an event file, also without
    /// `checkpoint_dir`; NULL: in `checkpoint_dir`.
    const char *summary_dir;
    /// The chief writes the scaffold's summaries after so many steps; 0: 100; negative: never.
    int64_t save_summaries_steps;
    double save_summaries_seconds; ///< by time instead, when positive
    /// The chief logs the steps per second and writes them after so many steps; 0: 100; negative: never.
    int64_t log_step_count_steps;
    /// How many times in a row, without a step in between, another session is opened after a task was lost;
    /// 0: 10, after pauses that grow to 1.3 s; negative: never, as a tf.train.SingularMonitoredSession.
    int max_recoveries;
    /// How long threads of the coordinator may take to end before a session is closed without them; 0: two
    /// minutes. Calls of the session have been cancelled by then.
    int64_t stop_grace_period_ms;
} braid_session_config;

/// Returns whether a task is the chief, which initializes the variables: task 0 of job "chief" or "master",
/// or worker 0 in a cluster without these jobs. True in a cluster without jobs.
BRAID_API bool braid_is_chief(const braid_cluster *cluster, const char *job, int index);

/// Adds the nodes that initialization needs (init, report_uninitialized_variables, ...) to the graph, opens
/// the session, and initializes the variables or waits for them. Blocks, and logs once which event it waits
/// for. Never returns NULL: an error is kept.
BRAID_API braid_monitored_session *braid_monitored_session_open(braid_graph *graph,
                                                                const braid_session_config *config);

/// Ends the hooks, or tells them of the error, closes and frees. Returns the first error's code, after
/// logging it. After an error the server of `session.server` is told so (braid_server_failed).
BRAID_API braid_code braid_monitored_session_close(braid_monitored_session *session);

/// True when a hook has asked to stop, when the input is used up, or after an error.
BRAID_API bool braid_should_stop(const braid_monitored_session *session);
/// Makes braid_should_stop true; the run in progress ends as usual.
BRAID_API void braid_request_stop(braid_monitored_session *session);
/// Makes an error of the program's own the session's, unless it has one already. OutOfRange only asks to
/// stop.
BRAID_API void braid_monitored_session_fail(braid_monitored_session *session, const braid_status *status);
/// Whether this process does the chief's work: as the chief, or in the place of a chief that is gone for good
/// (see sync_replicas.h). It can change with each run.
BRAID_API bool braid_monitored_session_is_chief(const braid_monitored_session *session);
/// The error so far: its code, and a copy in `status` (may be NULL).
BRAID_API braid_code braid_monitored_session_status(const braid_monitored_session *session,
                                                    braid_status *status);

#ifndef __cplusplus
/// Feeds, {placeholder, tensor}, and fetches, {output, &tensor}, for braid_run; the caller frees fetched
/// tensors.
#define BRAID_FEED(...) ((const braid_feed[]){__VA_ARGS__, {{NULL, 0}, NULL}})
#define BRAID_FETCH(...) ((const braid_fetch[]){__VA_ARGS__, {{NULL, 0}, NULL}})
/// Hooks for braid_session_config. A NULL among them is no hook: `chief ? hook : NULL`.
#define BRAID_HOOKS(...) ((braid_hook *const[]){&braid_hook_list, __VA_ARGS__, &braid_hook_list})
#endif

/// Runs one step with the hooks around it. `feeds` and `fetches` end with an entry that is all NULL; an entry
/// of which only the op is NULL is skipped. Each may be NULL, and so may `target`. On an error no fetch is
/// stored.
BRAID_API braid_code braid_run(braid_monitored_session *session, const braid_feed *feeds,
                               const braid_fetch *fetches, braid_op *target);

/// Options of one step (RunOptions). All zero is the default of each.
typedef struct braid_run_options {
    /// DeadlineExceeded after this, which ends training as any error of a run; 0: none. When the program and
    /// hooks give several, the longest counts, as in TensorFlow. Without any: the session's.
    int64_t timeout_ms;
    /// Not NULL: the step is traced (FULL_TRACE), which makes it slower, and this receives the record of a
    /// step that succeeds.
    braid_run_metadata *metadata;
} braid_run_options;

/// braid_run with options for this step, to which hooks may add theirs; NULL: none.
BRAID_API braid_code braid_run_with_options(braid_monitored_session *session, const braid_feed *feeds,
                                            const braid_fetch *fetches, braid_op *target,
                                            const braid_run_options *options);

/// A step of a program's own, in C: it may run several things in one session, some with the hooks around
/// them and some without (tf.train.MonitoredSession.StepContext). Valid during the call.
typedef struct braid_step_context braid_step_context;
/// Returns BRAID_OK, or an error that `status` describes.
typedef braid_code (*braid_step_fn)(braid_step_context *context, void *arg, braid_status *status);

/// Calls `fn` once, and again in another session when that may help against its error (see above), as
/// braid_run repeats a step (run_step_fn). OutOfRange asks to stop and is no error of the session's; any
/// other error is. Returns the code of the last call, or that of the session's first error without a call.
///
///     static braid_code step(braid_step_context *c, void *arg, braid_status *st)
///     {
///         model *m = arg;
///         if (fill(m, braid_step_session(c), st)) return braid_status_code(st); // without hooks
///         return braid_step_run(c, NULL, NULL, m->train, NULL, st);             // with hooks
///     }
BRAID_API braid_code braid_run_step_fn(braid_monitored_session *session, braid_step_fn fn, void *arg);
/// The session underneath, whose runs call no hooks. Not the caller's.
BRAID_API braid_session *braid_step_session(const braid_step_context *context);
/// braid_run_with_options within a step function. It does not recover: an error is returned and described in
/// `status`, for the step function to return it or to deal with it.
BRAID_API braid_code braid_step_run(braid_step_context *context, const braid_feed *feeds,
                                    const braid_fetch *fetches, braid_op *target,
                                    const braid_run_options *options, braid_status *status);
/// Makes braid_should_stop true; the step function goes on, and should return soon.
BRAID_API void braid_step_request_stop(braid_step_context *context);

/// braid_run without the hooks and without counting as a step, also after braid_should_stop: to evaluate.
BRAID_API braid_code braid_evaluate(braid_monitored_session *session, const braid_feed *feeds,
                                    const braid_fetch *fetches);

/// The session underneath, until the next run, which may replace it; NULL when it could not be opened. Not
/// the caller's.
BRAID_API braid_session *braid_monitored_session_raw(braid_monitored_session *session);
/// The global step as the last run saw it: in a local session after its own update. -1 before the first run
/// and in a graph without one. Other workers count it up meanwhile.
BRAID_API int64_t braid_monitored_session_global_step(const braid_monitored_session *session);

/// The coordinator of the threads that work beside training: those of queue runners, and the program's or its
/// hooks' own. An error of a thread ends training with that error, or leads to a recovery as an error of a
/// run does. It stops, and waits for the threads, before a session is closed, and starts anew with the next
/// one (after_create_session is the moment to start threads). Not the caller's.
BRAID_API braid_coordinator *braid_monitored_session_coordinator(braid_monitored_session *session);

/// Returns the exit code of a program: 0 for BRAID_OK, else 1.
BRAID_API int braid_exit_code(braid_code code);

// ---- Hooks; those of the library are in hooks.h ----

/// What a hook adds to a step.
typedef struct braid_hook_request braid_hook_request;
/// Fetches an output with the step; after_run gets the values in the order of these calls.
BRAID_API void braid_hook_fetch(braid_hook_request *request, braid_out out);
/// Feeds a tensor, which must live until after_run. The step fails when it is fed twice.
BRAID_API void braid_hook_feed(braid_hook_request *request, braid_out out, const braid_tensor *value);
/// Runs a node with the step.
BRAID_API void braid_hook_target(braid_hook_request *request, braid_op *op);
/// Traces the step, which makes it slower, and stores its record before after_run. The program and several
/// hooks may trace the same step.
BRAID_API void braid_hook_trace(braid_hook_request *request, braid_run_metadata *metadata);
/// Gives the step a timeout, unless the program or another hook gives it a longer one
/// (braid_run_options.timeout_ms).
BRAID_API void braid_hook_timeout(braid_hook_request *request, int64_t timeout_ms);

/// Marks beginning and end of a list that BRAID_HOOKS makes.
BRAID_API extern braid_hook braid_hook_list;

/// Callbacks around the steps of a monitored session. Embed it as the first member of a struct; members may
/// be NULL. An error that a member returns (and describes in `status`) becomes the error of the session.
struct braid_hook {
    /// Before the session is opened: the last moment to add nodes. Errors are the graph's.
    void (*begin)(braid_hook *hook, braid_graph *graph);
    /// The session is open and every variable has a value. Called again for the session of a recovery.
    braid_code (*after_create_session)(braid_hook *hook, braid_monitored_session *session,
                                       braid_status *status);
    /// Before a step.
    braid_code (*before_run)(braid_hook *hook, braid_monitored_session *session, braid_hook_request *request,
                             braid_status *status);
    /// After a step without an error, with the values that before_run asked for (lent for the call).
    braid_code (*after_run)(braid_hook *hook, braid_monitored_session *session, braid_tensor *const *values,
                            braid_status *status);
    /// The session has been cancelled and is about to be closed, at the end or by a recovery: end the threads
    /// of the hook that use it.
    void (*before_close_session)(braid_hook *hook, braid_monitored_session *session);
    /// Training has ended without an error; hooks are called in the order of the list. If the session is lost
    /// meanwhile (`end` returns Aborted or Unavailable), another one takes its place as in training: all
    /// hooks get before_close_session and after_create_session, also those that have ended. Then `end` of
    /// this hook is called again, in the new session, and begins from the start: what it did in the lost
    /// session may be gone. A hook whose `end` has succeeded is not ended again. No step is run in between,
    /// and the global step is not lower than before: training that has gone back fails instead. After an
    /// error, the hooks that have not ended yet get `failed`; the hook that returned it gets neither.
    braid_code (*end)(braid_hook *hook, braid_monitored_session *session, braid_status *status);
    /// In place of `end`, when there was an error. The session may be NULL inside.
    void (*failed)(braid_hook *hook, braid_monitored_session *session, const braid_status *error);
    /// Frees the hook. Called once, last.
    void (*free)(braid_hook *hook);
    /// The input of a step has ended (OutOfRange). A hook that has more of it sets `*more`, and the step is
    /// run again, with before_run of all hooks; when none has, training ends.
    braid_code (*input_ended)(braid_hook *hook, braid_monitored_session *session, bool *more,
                              braid_status *status);
};

#ifdef __cplusplus
}
#endif
#endif

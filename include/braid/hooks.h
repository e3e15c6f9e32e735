// Hooks of monitored sessions: TensorFlow's, and a line that shows the progress. A program can add its own
// (struct braid_hook in monitored_session.h). The session frees its hooks.
//
// Where both numbers of steps and of seconds may be given, steps have precedence; all zero is the default.
#ifndef BRAID_HOOKS_H
#define BRAID_HOOKS_H

#include <braid/event_writer.h>
#include <braid/monitored_session.h>
#include <braid/saver.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Requests a stop when the global step has reached `last_step`, counted by any process (StopAtStepHook).
BRAID_API braid_hook *braid_stop_at_step(int64_t last_step);

/// The same after `num_steps` steps from the global step at which the process began.
BRAID_API braid_hook *braid_stop_after_steps(int64_t num_steps);

/// Shows the global step, `loss` (a scalar; op NULL: none), steps per second and the time left until
/// `last_step` (0: unknown) on stderr: a live line on a terminal, else a plain line every few seconds and at
/// the end.
BRAID_API braid_hook *braid_progress(braid_out loss, int64_t last_step);

/// Called around each save of a checkpoint saver, by the thread that trains (CheckpointSaverListener).
/// Members may be NULL. An error that a member returns ends training.
typedef struct braid_checkpoint_listener {
    /// Before the first session is opened; nodes may be added to the graph. Errors are the graph's.
    void (*begin)(void *arg, braid_graph *graph);
    braid_code (*before_save)(void *arg, braid_session *session, int64_t step, braid_status *status);
    /// The checkpoint of the step is complete and on the disk. OutOfRange asks to stop training and is no
    /// error.
    braid_code (*after_save)(void *arg, braid_session *session, int64_t step, braid_status *status);
    /// Training has ended without an error, and the last checkpoint, of `step`, is on the disk. Called again
    /// if the session is lost meanwhile (see `end` of struct braid_hook).
    braid_code (*end)(void *arg, braid_session *session, int64_t step, braid_status *status);
    void *arg;
} braid_checkpoint_listener;

typedef struct braid_checkpoint_saver_options {
    const char *dir;      ///< made when it does not exist
    const char *name;     ///< of the files, before the step; NULL: "model.ckpt"
    braid_saver *saver;   ///< an asynchronous one; NULL: of all global variables, sharded
    double every_seconds; ///< 0: 600, unless `every_steps` is given
    int64_t every_steps;
    const braid_checkpoint_listener *listeners; ///< [listener_count] copied
    int listener_count;
} braid_checkpoint_saver_options;

/// Saves checkpoints: at the start, then regularly, in the background, and at the end (CheckpointSaverHook).
/// Writes graph.pbtxt too, and the graph and its saves to the event file of the directory. For the chief
/// only; braid_session_config.checkpoint_dir adds it.
BRAID_API braid_hook *braid_checkpoint_saver(const braid_checkpoint_saver_options *options);

typedef struct braid_summary_saver_options {
    const char *dir;   ///< of the event file
    braid_out summary; ///< op NULL: all of the collection "summaries"
    int64_t every_steps;
    double every_seconds; ///< neither given: 100 steps
} braid_summary_saver_options;

/// Writes summaries to an event file, at the first step and then regularly (SummarySaverHook). For the chief
/// only; braid_session_config.checkpoint_dir adds it. When the file cannot be written, training goes on and a
/// warning says so.
BRAID_API braid_hook *braid_summary_saver(const braid_summary_saver_options *options);

typedef struct braid_step_counter_options {
    const char *dir; ///< of the event file; NULL: only logged
    int64_t every_steps;
    double every_seconds; ///< neither given: 100 steps
} braid_step_counter_options;

/// Logs the steps per second of all workers and writes them under the tag "global_step/sec"
/// (StepCounterHook). Warns once when steps of this process do not count the global step up.
BRAID_API braid_hook *braid_step_counter(const braid_step_counter_options *options);

typedef struct braid_logging_tensor_options {
    const braid_out *tensors; ///< [count]
    const char *const *tags;  ///< [count]; NULL: the names of the nodes
    int count;
    int64_t every_steps;
    double every_seconds; ///< neither given: 100 steps, or only at the end
    bool at_end;          ///< logs when training has ended, too
    /// Makes the line from the values [count], which are lent for the call; memory of malloc, which the hook
    /// frees; NULL: no line. Without a formatter lines are as below.
    char *(*formatter)(void *arg, braid_tensor *const *values);
    void *formatter_arg;
} braid_logging_tensor_options;

/// Logs the values of tensors: "loss = 0.25, accuracy = 0.9 (0.512 s)" (LoggingTensorHook).
BRAID_API braid_hook *braid_logging_tensor(const braid_logging_tensor_options *options);

/// Looks at a loss (a float or double scalar) after each step. When it is not a number, training fails with
/// FailedPrecondition, or, with `only_stop`, it ends with a warning (NanTensorHook).
BRAID_API braid_hook *braid_nan_tensor(braid_out loss, bool only_stop);

/// Fetches outputs when training has ended without an error; the caller frees the tensors (FinalOpsHook).
/// `fetches` ends with an entry whose op is NULL (BRAID_FETCH), and so does `feeds` (BRAID_FEED; NULL: no
/// feeds), whose tensors live until the session is closed.
BRAID_API braid_hook *braid_final_ops(const braid_fetch *fetches, const braid_feed *feeds);

/// Feeds each step what `fn` adds to the request by braid_hook_feed (FeedFnHook).
BRAID_API braid_hook *
braid_feed_fn(braid_code (*fn)(braid_hook_request *request, void *arg, braid_status *status), void *arg);

/// Holds back the first step of this process until others have counted the global step up to `step`
/// (GlobalStepWaiterHook); up to 0: it does not wait. The task that holds the global step, which must be one
/// of Braid's, tells of it. The wait outlives a restart of that task. It ends with Unavailable when the chief
/// is gone for good, and with FailedPrecondition when the chief is done: the step might never be reached.
BRAID_API braid_hook *braid_global_step_waiter(int64_t step);

typedef struct braid_profiler_options {
    const char *dir; ///< where timeline-STEP.json is written, and the event file
    int64_t every_steps;
    double every_seconds;            ///< neither given: 600
    braid_timeline_options timeline; ///< what is shown: arrows, unless hidden, and memory, if asked for
} braid_profiler_options;

/// Traces a step now and then: writes its timeline for chrome://tracing or Perfetto, and its record to the
/// event file under the tag "step_STEP" (ProfilerHook).
BRAID_API braid_hook *braid_profiler(const braid_profiler_options *options);

// ---- For one's own hooks ----

/// Tells when a hook that acts every so many steps, or seconds, is due (SecondOrStepTimer).
typedef struct braid_step_timer {
    int64_t every_steps, every_ns; ///< one of them is 0
    int64_t last_step, last_ns;    ///< of the last time; last_step -1: there was none
} braid_step_timer;

/// Every `every_steps` steps; if that is 0, every `every_seconds` seconds.
BRAID_API braid_step_timer braid_step_timer_make(int64_t every_steps, double every_seconds);
/// Whether it is due at a step: the first time, and when steps or time have passed since it was marked.
BRAID_API bool braid_step_timer_is_due(const braid_step_timer *timer, int64_t step);
BRAID_API void braid_step_timer_mark(braid_step_timer *timer, int64_t step);

#ifdef __cplusplus
}
#endif
#endif

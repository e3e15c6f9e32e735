// Supervisors: a session with services beside it, for programs written for tf.train.Supervisor.
//
//     braid_supervisor *sv = braid_supervisor_new(graph, &(braid_supervisor_options){
//         .session.server = server, .is_chief = chief, .logdir = "/tmp/model", .scaffold.init_op = init});
//     braid_session *s = braid_supervisor_managed_session(sv, status);
//     while (s && !braid_supervisor_should_stop(sv) && step < last) ... braid_session_run(s, ...) ...
//     code = braid_supervisor_close(sv, status); // stops the services, closes the session, frees
//
// A new program is better off with a monitored session, which also recovers from lost tasks. The parts are
// the same: session manager, saver, coordinator, loops and queue runners.
#ifndef BRAID_SUPERVISOR_H
#define BRAID_SUPERVISOR_H

#include <braid/coordinator.h>
#include <braid/event_writer.h>
#include <braid/scaffold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_supervisor braid_supervisor;

/// All zero is the default of each. Strings are copied.
typedef struct braid_supervisor_options {
    braid_session_options session;   ///< where and how; its strings are borrowed for the supervisor's life
    bool is_chief;                   ///< initializes or restores the variables, and runs the services
    braid_scaffold scaffold;         ///< init_op, init_fn, ready, local_init_op, summary; saver: not sharded
    const char *logdir;              ///< of checkpoints, graph.pbtxt and events; NULL: no services
    const char *checkpoint_basename; ///< NULL: "model.ckpt"
    /// Writes no event file to `logdir` (summary_writer=None): the chief only saves checkpoints and the
    /// graph.
    bool no_event_file;
    braid_out global_step;        ///< op NULL: braid_find_global_step
    double save_model_secs;       ///< 0: 600; negative: no checkpoints
    double save_summaries_secs;   ///< also of the rate of steps; 0: 120; negative: none
    int64_t wait_timeout_ms;      ///< for the chief; 0: two hours
    int64_t stop_grace_period_ms; ///< for threads to end; 0: two minutes
} braid_supervisor_options;

/// Adds the nodes of the scaffold's empty members to the graph; errors are the graph's. Never NULL.
BRAID_API braid_supervisor *braid_supervisor_new(braid_graph *graph, const braid_supervisor_options *options);

/// Opens the session: the chief initializes or restores the variables, other processes wait for it. Writes
/// the graph, and starts the services (braid_supervisor_start_standard_services) and the queue runners. The
/// session is the supervisor's. NULL on an error.
BRAID_API braid_session *braid_supervisor_managed_session(braid_supervisor *supervisor, braid_status *status);

/// The same without services and queue runners (prepare_or_wait_for_session).
BRAID_API braid_session *braid_supervisor_prepare_or_wait_for_session(braid_supervisor *supervisor,
                                                                      braid_status *status);
/// Starts the threads that save checkpoints, write summaries, and write the steps per second
/// ("global_step/sec"); without an event file, only the one that saves. FailedPrecondition without a session
/// or a logdir, or when this is not the chief.
BRAID_API braid_code braid_supervisor_start_standard_services(braid_supervisor *supervisor,
                                                              braid_status *status);

/// Calls `fn` every so many seconds in a thread, until the supervisor stops (Supervisor.loop).
BRAID_API braid_code braid_supervisor_loop(braid_supervisor *supervisor, const braid_looper *looper,
                                           braid_status *status);
/// Writes a serialized Summary of the program's own to the event file, of step `step`, or of the global step
/// now if that is negative. FailedPrecondition when there is no event file.
BRAID_API braid_code braid_supervisor_summary_computed(braid_supervisor *supervisor, const char *summary,
                                                       size_t len, int64_t step, braid_status *status);

BRAID_API bool braid_supervisor_should_stop(const braid_supervisor *supervisor);
/// Asks all threads to end; `why` as for braid_coordinator_request_stop.
BRAID_API void braid_supervisor_request_stop(braid_supervisor *supervisor, const braid_status *why);
/// Waits until a stop is requested, at most `timeout_ms` (negative: without a limit). Returns whether it is.
BRAID_API bool braid_supervisor_wait_for_stop(braid_supervisor *supervisor, int64_t timeout_ms);
/// The coordinator of the threads. The supervisor's.
BRAID_API braid_coordinator *braid_supervisor_coordinator(braid_supervisor *supervisor);
/// The chief's event file while there is a session; NULL: none. The supervisor's.
BRAID_API braid_event_writer *braid_supervisor_summary_writer(braid_supervisor *supervisor);

/// Stops the threads, and closes the event file and the session. Another session may be opened then. Returns
/// the first error of a thread, or DeadlineExceeded naming the threads that did not end in time. After an
/// error the server of `session.server` is told so.
BRAID_API braid_code braid_supervisor_stop(braid_supervisor *supervisor, braid_status *status);

/// The same, and frees the supervisor; NULL is accepted.
BRAID_API braid_code braid_supervisor_close(braid_supervisor *supervisor, braid_status *status);

/// Opens a managed session, calls `train_step` until the supervisor stops, and stops
/// (tf.train.basic_train_loop). `train_step` asks for the stop by braid_supervisor_request_stop, or ends the
/// loop by an error; OutOfRange, the end of the input, is none.
BRAID_API braid_code braid_basic_train_loop(braid_supervisor *supervisor,
                                            braid_code (*train_step)(braid_session *session, void *arg,
                                                                     braid_status *status),
                                            void *arg, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

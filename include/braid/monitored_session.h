// Monitored sessions: a session that initializes the variables or waits for the chief to do so, calls hooks
// around each step, and reports when training is over.
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
#ifndef BRAID_MONITORED_SESSION_H
#define BRAID_MONITORED_SESSION_H

#include <braid/cluster.h>
#include <braid/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_monitored_session braid_monitored_session;
typedef struct braid_hook braid_hook;

/// All zero is the default of each.
typedef struct braid_session_config {
    braid_session_options session; ///< where and how; no target and no server: in this process
    /// Set for the process that initializes the variables, and when there is only one process. The other
    /// processes wait until the variables are initialized.
    bool is_chief;
    /// Run by the chief unless the variables have values already. NULL: all global variables' initializers.
    braid_op *init_op;
    /// NULL-terminated (BRAID_HOOKS); the session takes and frees them, also when it cannot be opened.
    braid_hook *const *hooks;
    /// The maximum time to wait for the chief; 0: until the chief has initialized the variables or is gone
    /// for good.
    int64_t wait_timeout_ms;
} braid_session_config;

/// Returns whether a task is the chief, which initializes the variables: task 0 of job "chief" or "master",
/// or worker 0 in a cluster without these jobs. True in a cluster without jobs.
BRAID_API bool braid_is_chief(const braid_cluster *cluster, const char *job, int index);

/// Adds the nodes that initialization needs (init, report_uninitialized_variables, ...) to the graph, opens
/// the session, and initializes the variables or waits for them. Blocks, and logs once which event it waits
/// for. Never returns NULL: an error is kept.
BRAID_API braid_monitored_session *braid_monitored_session_open(braid_graph *graph,
                                                                const braid_session_config *config);

/// Ends the hooks (unless there was an error), closes and frees. Returns the first error's code, after
/// logging it.
BRAID_API braid_code braid_monitored_session_close(braid_monitored_session *session);

/// True when a hook has asked to stop, when the input is used up, or after an error.
BRAID_API bool braid_should_stop(const braid_monitored_session *session);
/// Makes braid_should_stop true; the run in progress ends as usual.
BRAID_API void braid_request_stop(braid_monitored_session *session);
/// Makes an error of the program's own the session's, unless it has one already. OutOfRange only asks to
/// stop.
BRAID_API void braid_monitored_session_fail(braid_monitored_session *session, const braid_status *status);
/// The error so far: its code, and a copy in `status` (may be NULL).
BRAID_API braid_code braid_monitored_session_status(const braid_monitored_session *session,
                                                    braid_status *status);

#ifndef __cplusplus
/// Feeds, {placeholder, tensor}, and fetches, {output, &tensor}, for braid_run; the caller frees fetched
/// tensors.
#define BRAID_FEED(...) ((const braid_feed[]){__VA_ARGS__, {{NULL, 0}, NULL}})
#define BRAID_FETCH(...) ((const braid_fetch[]){__VA_ARGS__, {{NULL, 0}, NULL}})
#define BRAID_HOOKS(...) ((braid_hook *const[]){__VA_ARGS__, NULL})
#endif

/// Runs one step with the hooks around it. `feeds` and `fetches` end with an entry whose op is NULL; each may
/// be NULL, and so may `target`. On an error no fetch is stored.
BRAID_API braid_code braid_run(braid_monitored_session *session, const braid_feed *feeds,
                               const braid_fetch *fetches, braid_op *target);
/// The same without the hooks and without counting as a step, also after braid_should_stop: to evaluate.
BRAID_API braid_code braid_evaluate(braid_monitored_session *session, const braid_feed *feeds,
                                    const braid_fetch *fetches);

/// The session underneath; NULL when it could not be opened. Not the caller's.
BRAID_API braid_session *braid_monitored_session_raw(braid_monitored_session *session);
/// The global step as the last run saw it; -1 before and in a graph without one. Other workers count it up
/// meanwhile.
BRAID_API int64_t braid_monitored_session_global_step(const braid_monitored_session *session);

/// Returns the exit code of a program: 0 for BRAID_OK, else 1.
BRAID_API int braid_exit_code(braid_code code);

// ---- Hooks ----

/// How many outputs one hook may have fetched with a step.
#define BRAID_HOOK_FETCH_MAX 8

/// Callbacks around the steps of a monitored session. Embed it as the first member of a struct; members may
/// be NULL. An error that a member returns (and describes in `status`) becomes the error of the session.
struct braid_hook {
    /// Before the session is opened: the last moment to add nodes. Errors are the graph's.
    void (*begin)(braid_hook *hook, braid_graph *graph);
    /// The session is open and every variable has a value.
    braid_code (*after_create_session)(braid_hook *hook, braid_monitored_session *session,
                                       braid_status *status);
    /// Before a step: stores additional fetches and returns their number.
    int (*before_run)(braid_hook *hook, braid_monitored_session *session,
                      braid_out fetches[BRAID_HOOK_FETCH_MAX]);
    /// After a step without an error, with the values of these fetches (lent for the call).
    braid_code (*after_run)(braid_hook *hook, braid_monitored_session *session, braid_tensor *const *values,
                            braid_status *status);
    /// Before a session that had no error is closed.
    void (*end)(braid_hook *hook, braid_monitored_session *session);
    /// Frees the hook. Called once, last.
    void (*free)(braid_hook *hook);
};

/// Requests a stop when the global step has reached `last_step`, counted by any process.
BRAID_API braid_hook *braid_stop_at_step(int64_t last_step);

/// Shows the global step, `loss` (a scalar; op NULL: none), steps per second and the time left until
/// `last_step` (0: unknown) on stderr: a live line on a terminal, else a plain line every few seconds and at
/// the end.
BRAID_API braid_hook *braid_progress(braid_out loss, int64_t last_step);

#ifdef __cplusplus
}
#endif
#endif

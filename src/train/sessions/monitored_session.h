// A monitored session, as its parts and the hooks of this module see it.
#ifndef BD_TRAIN_MONITORED_SESSION_H
#define BD_TRAIN_MONITORED_SESSION_H

#include "base/array.h"
#include "base/status.h"
#include "base/thread.h"
#include "train/sessions/session_creator.h"
#include <braid/monitored_session.h>

// The lists of one step. Empty at the start, except for their memory.
typedef struct train_step_lists {
    BD_ARRAY(braid_out) outs;               // the fetched outputs, each once
    BD_ARRAY(braid_tensor *) values;        // [outs]
    BD_ARRAY(braid_fetch) fetches;          // [outs]
    BD_ARRAY(braid_feed) feeds;             // the program's and the hooks'
    BD_ARRAY(braid_op *) targets;           // the same
    BD_ARRAY(braid_run_metadata *) records; // of the program and of hooks that trace the step
    int64_t timeout_ms;                     // the longest of the program's and the hooks'; 0: the session's
    BD_ARRAY(int) hook_fetches;             // indices into outs; those of the first hook are first
    BD_ARRAY(int) hook_counts;              // [hooks]
    BD_ARRAY(braid_tensor *) borrowed;      // values of one hook's fetches
} train_step_lists;

struct braid_monitored_session {
    braid_session *session; // NULL when it could not be opened
    braid_graph *graph;
    braid_server *server;           // told of an error; NULL: none
    braid_session_creator *creator; // owned
    braid_session_request request;
    BD_ARRAY(braid_hook *) hooks;
    braid_out global_step; // op NULL: the graph has none
    int64_t global_step_value;
    bool stop;
    braid_status status; // the first error
    int runs;            // in progress: hooks may run steps while a step is in progress
    int recoveries;      // since the last step that succeeded
    int max_recoveries;
    braid_coordinator *coordinator;
    int64_t stop_grace_ms;
    train_step_lists spare; // memory for the next step
    bd_mutex mu;
    braid_status lost;  // why `session` is lost, although its calls say Cancelled; guarded by mu
    bool lost_for_good; // no other session can help; guarded by mu
    bool leads_next;    // role.is_chief of the next session; guarded by mu
};

// Takes the hooks and the creator of a configuration, or makes those that it asks for.
void train_session_configure(braid_monitored_session *s, const braid_session_config *config);

// ---- Sessions, and their losses ----

// Makes a session, with variables that have values, and calls the hooks. Waits for missing tasks.
braid_code train_session_open(braid_monitored_session *s, int64_t timeout_ms, braid_status *st);
// Cancels and closes it, after the threads that use it have ended. No effect without a session.
void train_session_close(braid_monitored_session *s, braid_status *st);

// Replaces the error of a call by the reason why the session is lost, if it is. Returns whether another
// session may help.
bool train_session_explain(braid_monitored_session *s, braid_status *st);
// Replaces the session that has failed with `lost`. Returns whether there is another; else *lost is the error
// that ends training.
bool train_session_recover(braid_monitored_session *s, braid_status *lost);
// Whether another session may help against an error.
bool train_is_recoverable(braid_code code);
// A thread of the coordinator has asked to stop: its error is the session's.
void train_session_thread_stopped(void *session, const braid_status *why);

// Tells, from a thread of a hook, that the session is lost, and ends its calls. The training thread opens
// another one, unless `for_good` or the code says that it cannot help. The first loss counts.
void train_session_lost(braid_monitored_session *s, const braid_status *why, bool for_good);

// The same when this process is to take the place of the chief, or to give it back: the next session does so.
void train_session_lead(braid_monitored_session *s, bool leads);

// Wraps a hook of the chief for a process that may take the chief's place: it is called while the process is
// in that place. Takes the hook.
braid_hook *train_hook_of_leader(braid_hook *hook);

// Reads the global step now, in a run of its own, for braid_monitored_session_global_step. No effect without
// a global step.
braid_code train_read_global_step(braid_monitored_session *s, braid_status *st);

// The integer of a global step's value.
int64_t train_step_of(const braid_tensor *value);

// Runs one step on the session as it is, with the hooks around it or without.
typedef struct train_step {
    const braid_feed *feeds; // both end with an op that is NULL
    const braid_fetch *fetches;
    braid_op *target;
    bool with_hooks;
    const braid_run_options *options; // NULL: none
} train_step;
braid_code train_step_run(braid_monitored_session *s, const train_step *step, braid_status *st);
void train_step_lists_free(train_step_lists *lists);

#endif

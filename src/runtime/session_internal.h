// Declarations shared by the files of the public session.
#ifndef BD_RUNTIME_SESSION_INTERNAL_H
#define BD_RUNTIME_SESSION_INTERNAL_H

#include "base/thread.h"
#include "runtime/session.h"

struct braid_session {
    braid_graph *graph;               // not owned
    bd_session *impl;                 // owned; unused after closing
    bd_mutex mu;                      // held while nodes are sent
    atomic_size_t sent;               // nodes of the graph that the implementation has; written under mu
    braid_device_attributes *devices; // of the last braid_session_list_devices
    bd_device_info *device_infos;
    bd_mutex calls_mu;
    bd_cond all_left; // `inside` has become 0 while closing
    bool is_closing;  // guarded by calls_mu: no call begins
    int inside;       // calls in progress; guarded by calls_mu
    unsigned forks;   // bd_fork_count of the process that has opened it
    atomic_int refs;  // the caller's until it is closed, and one for each callable and partial run
};

// Every function but close is between enter and leave. False, and an error: the session is closing or closed
// (Cancelled), or this process is a child of the one that has opened it (FailedPrecondition).
bool bd_session_enter(braid_session *s, braid_status *st);
// The session may be closed after this. An error (`st` NULL: none) gets the lines that built the nodes it
// names.
void bd_session_leave(braid_session *s, braid_status *st);
braid_session *bd_session_ref(braid_session *s);
void bd_session_unref(braid_session *s);

// Hands `from` to the caller's status, which may be NULL.
braid_code bd_session_report(braid_status *to, braid_status *from);

// What a run records, of what the caller says.
static inline unsigned bd_records(bool is_recorded, unsigned records)
{
    return !is_recorded ? 0 : records ? records : BRAID_RECORD_STATS;
}

// The error of the graph, if it has one.
braid_code bd_session_check_graph(const braid_session *s, braid_status *st);
// The token of a call's cancellation. InvalidArgument when that is of another session.
braid_code bd_session_check_cancellation(const braid_session *s, const braid_cancellation *c,
                                         bd_cancellation **token, braid_status *st);
// Sends the nodes that the implementation does not have yet.
braid_code bd_session_send_new_nodes(braid_session *s, braid_status *st);

// ---- Requests: feeds and fetches of a call (session_request.c) ----

// InvalidArgument unless `value` has a type and a shape that the fed output can have. `i`: the number of the
// feed, for messages.
braid_code bd_session_check_feed(int i, braid_out out, const braid_tensor *value, braid_status *st);
// InvalidArgument when `out`, number `i` of the list `what`, is not an output of the session's graph.
braid_code bd_session_check_output(const braid_session *s, const char *what, int i, braid_out out,
                                   braid_status *st);
braid_code bd_session_check_args(const braid_session *s, const braid_run_args *args, braid_status *st);

enum {
    BD_REQUEST_BYTES = 1024,
    BD_REQUEST_NAMES = 16
};

// The signature of a run and the values that its implementation stores, in the struct itself when they are
// few.
typedef struct bd_session_request {
    bd_run_signature signature;
    const char **names; // feeds, fetches, targets
    char *text;
    const braid_tensor **feed_values;
    braid_tensor *fetch_values;
    char *next; // in text
    char inline_text[BD_REQUEST_BYTES];
    const char *inline_names[BD_REQUEST_NAMES];
    const braid_tensor *inline_feeds[BD_REQUEST_NAMES];
    braid_tensor inline_fetches[BD_REQUEST_NAMES];
} bd_session_request;

// Fills `q` with the names of the feeds, fetches and targets of `args`, which are checked.
void bd_session_request_open(bd_session_request *q, const braid_run_args *args);
void bd_session_request_close(bd_session_request *q);

// Returns a tensor for the caller with the content of `value`, which becomes empty.
braid_tensor *bd_session_box(braid_tensor *value);
// Stores the fetched values to the caller's variables.
void bd_session_store_fetches(const braid_run_args *args, braid_tensor *values);

#endif

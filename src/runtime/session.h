// The implementation behind a braid_session: in-process, the server's own master, or a gRPC client.
#ifndef BD_RUNTIME_SESSION_H
#define BD_RUNTIME_SESSION_H

#include "base/wire.h"
#include "op/cancellation.h"
#include "runtime/client_graph.h"
#include <braid/session.h>

typedef struct bd_session bd_session;

// The error of a step that ends with its session, in words that clients match.
#define BD_SESSION_CLOSED                                                                                    \
    "Session has been closed. Step was cancelled by an explicit call to `Session::Close()`."

// How a callable runs.
typedef struct bd_callable_options {
    int64_t timeout_ms; // 0: the session's timeout
    unsigned records;   // of its runs, BRAID_RECORD_...; 0: none
} bd_callable_options;

// One run of a session.
typedef struct bd_session_run {
    const bd_run_signature *signature;
    const braid_tensor *const *feeds; // [signature->feed_count] borrowed
    braid_tensor *fetches;            // [signature->fetch_count] "no tensor" before, set on success
    int64_t timeout_ms;               // 0: the session's own
    bd_message *metadata;             // receives the RunMetadata message (empty before); NULL: no record
    unsigned records;                 // what it has, BRAID_RECORD_...; 0 without metadata
    bd_cancellation *cancellation;    // below the session's; NULL: the session's
} bd_session_run;

// Each call blocks; several threads may be in calls at once, but only one in `extend`.
typedef struct bd_session_ops {
    // Nodes [from, count) of `graph` are new. This thread has the turn at the graph (graph/turns.h), which
    // `extend` gives up as soon as it has read them.
    braid_code (*extend)(bd_session *s, const braid_graph *graph, int from, braid_status *st);
    braid_code (*run)(bd_session *s, const bd_session_run *run, braid_status *st);
    // Plans a signature (valid for the call) and gives it a number.
    braid_code (*make_callable)(bd_session *s, const bd_run_signature *signature,
                                const bd_callable_options *options, int64_t *handle, braid_status *st);
    // As `run`, for the callable with that handle; run->timeout_ms is not used.
    braid_code (*run_callable)(bd_session *s, int64_t handle, const bd_session_run *run, braid_status *st);
    void (*release_callable)(bd_session *s, int64_t handle); // call it when no run of it is in progress
    // Plans a partial run and gives it a name (bd_free).
    braid_code (*setup_partial_run)(bd_session *s, const bd_run_signature *signature, char **handle,
                                    braid_status *st);
    // One call of a partial run: run->signature names its feeds and fetches; run->metadata is not used.
    braid_code (*run_partial)(bd_session *s, const char *handle, const bd_session_run *run, braid_status *st);
    void (*end_partial_run)(bd_session *s, const char *handle); // call it when no call of it is in progress
    braid_code (*list_devices)(bd_session *s, bd_device_info **devices, int *count,
                               braid_status *st); // one block, bd_free
    braid_code (*notify)(bd_session *s, const char *key, braid_status *st);
    braid_code (*wait_notification)(bd_session *s, const braid_notification_wait *wait, int64_t *generation,
                                    braid_status *st);
    // The parent of the tokens of runs; borrowed.
    bd_cancellation *(*cancellation)(bd_session *s);
    // Ends calls in progress and later calls with Cancelled. Call it once; it does not wait for them.
    void (*cancel)(bd_session *s);
    // Closes and frees the session, with callables and partial runs that it still keeps. After `cancel`, when
    // no call is in progress any more.
    braid_code (*close)(bd_session *s, braid_status *st);
} bd_session_ops;

struct bd_session {
    const bd_session_ops *ops;
};

// The in-process session (direct_session.c).
braid_code bd_direct_session_new(const braid_session_options *options, bd_session **out, braid_status *st);

// The token of a public object; NULL for NULL.
bd_cancellation *bd_cancellation_of(const braid_cancellation *c);

// Makes the public session over `impl` (taken over). session.c implements the functions of
// include/braid/session.h with it; only braid_session_open, which knows targets and servers, is in
// src/cluster. They send new nodes of the graph before a run.
braid_session *bd_session_wrap(braid_graph *graph, bd_session *impl);

#endif

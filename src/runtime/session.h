// What stands behind a braid_session: in-process, the server's own master, or a gRPC client.
#ifndef BD_RUNTIME_SESSION_H
#define BD_RUNTIME_SESSION_H

#include "base/wire.h"
#include "runtime/prepare.h"
#include <braid/session.h>

typedef struct bd_session bd_session;

// Each call blocks; several threads may be in calls at once, but only one in `extend`.
typedef struct bd_session_ops {
    // Nodes [from, count) of `graph` are new.
    braid_code (*extend)(bd_session *s, const braid_graph *graph, int from, braid_status *st);
    // `feed_values` [feeds of the signature] borrowed; `fetch_values` [fetches] "no tensor" before, set on success. `metadata` (empty)
    // receives a RunMetadata message of a run that succeeds; NULL: it is not traced.
    braid_code (*run)(bd_session *s, const bd_run_signature *signature,
                      const braid_tensor *const *feed_values, braid_tensor *fetch_values, int64_t timeout_ms,
                      bd_message *metadata, braid_status *st);
    braid_code (*list_devices)(bd_session *s, bd_device_info **devices, int *count,
                               braid_status *st); // one block, bd_free
    braid_code (*announce)(bd_session *s, const char *key, braid_status *st);
    braid_code (*await)(bd_session *s, const char *key, int64_t seen, int64_t timeout_ms, int64_t *generation,
                        braid_status *st);
    // Ends calls in progress, and those that begin later, with Cancelled. Once; does not wait for them.
    void (*cancel)(bd_session *s);
    // Closes and frees the session. After `cancel`, when no call is in progress any more.
    braid_code (*close)(bd_session *s, braid_status *st);
} bd_session_ops;

struct bd_session {
    const bd_session_ops *ops;
};

// The in-process session (direct_session.c).
braid_code bd_direct_session_new(const braid_session_options *options, bd_session **out, braid_status *st);

// Makes the public session over `impl` (taken over). The functions of include/braid/session.h but braid_session_open, which
// knows targets and servers and stands in src/cluster, are over this (session.c): they send new nodes of the graph before a run.
braid_session *bd_session_wrap(braid_graph *graph, bd_session *impl);

#endif

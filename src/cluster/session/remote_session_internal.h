// Declarations shared by the files of the session on a server of another process.
#ifndef BD_CLUSTER_SESSION_REMOTE_SESSION_INTERNAL_H
#define BD_CLUSTER_SESSION_REMOTE_SESSION_INTERNAL_H

#include "base/thread.h"
#include "cluster/rpc/rpc.h"
#include "cluster/session/client_session.h"
#include "tensorflow/core/protobuf/config.pb-c.h"

typedef struct bd_remote_session {
    bd_session base;
    char *target;
    bd_transport *transport;
    bool owns_transport;
    bd_channel *channel;
    bd_cancellation *cancellation;
    bd_rpc_count calls;
    char *handle;
    int64_t operation_timeout_ms;
    int64_t version; // of the graph; changed by extend, which one thread at a time calls
    bd_mutex mu;
    bool is_ending; // no call may be begun any more; guarded by mu
} bd_remote_session;

static inline bd_remote_session *bd_remote_of(bd_session *s)
{
    return BD_CONTAINER_OF(s, bd_remote_session, base);
}

// A call of the server with the session's token, and no deadline.
bd_rpc_options bd_remote_rpc(bd_remote_session *s, const char *method);
// Gives a call the deadline of a step with this timeout (0: the session's own): a little after the server's.
void bd_remote_limit(const bd_remote_session *s, int64_t timeout_ms, bd_rpc_options *options);

// Calls and waits. `request` is taken over. Logs the wait once when it takes long, unless `what` is NULL.
braid_code bd_remote_call(const bd_remote_session *s, const bd_rpc_options *options, bd_message *request,
                          const char *what, bd_message *response, braid_status *st);
braid_code bd_remote_call_proto(const bd_remote_session *s, const bd_rpc_options *options,
                                const ProtobufCMessage *request, const char *what, bd_message *response,
                                braid_status *st);

// Runs a step. `partial_run`: the partial run of this call; NULL: none.
braid_code bd_remote_run_step(bd_remote_session *s, const bd_session_run *run, const char *partial_run,
                              braid_status *st);

// Asks for BRAID_RECORD_...
void bd_remote_ask_records(Tensorflow__RunOptions *options, unsigned records);
// Reads the RunMetadata, field 2 of `rest`, a response without its tensors.
braid_code bd_remote_take_metadata(const void *rest, size_t len, bd_message *metadata, braid_status *st);

// ---- Callables and partial runs (remote_handles.c): as in bd_session_ops ----

braid_code bd_remote_make_callable(bd_session *base, const bd_run_signature *signature,
                                   const bd_callable_options *options, int64_t *handle, braid_status *st);
braid_code bd_remote_run_callable(bd_session *base, int64_t handle, const bd_session_run *run,
                                  braid_status *st);
void bd_remote_release_callable(bd_session *base, int64_t handle);
braid_code bd_remote_setup_partial_run(bd_session *base, const bd_run_signature *signature, char **handle,
                                       braid_status *st);
braid_code bd_remote_run_partial(bd_session *base, const char *handle, const bd_session_run *run,
                                 braid_status *st);
void bd_remote_end_partial_run(bd_session *base, const char *handle);

#endif

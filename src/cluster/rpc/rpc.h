// One call to a peer: a transport's call tied to a cancellation token, and protobuf-c messages as requests.
#ifndef BD_CLUSTER_RPC_RPC_H
#define BD_CLUSTER_RPC_RPC_H

#include "base/thread.h"
#include "cluster/transport/transport.h"
#include "op/cancellation.h"
#include "proto/pack.h"

// Counts operations in progress, so that a thread can wait for the last one.
typedef struct bd_rpc_count {
    bd_mutex mu;
    bd_cond none;
    int count; // guarded by mu
    // Calls that are being started: they use the channel, and the transport may not know them yet.
    atomic_int starting;
    atomic_bool is_closed;
} bd_rpc_count;

void bd_rpc_count_init(bd_rpc_count *c);
void bd_rpc_count_fini(bd_rpc_count *c);
void bd_rpc_count_change(bd_rpc_count *c, int change);
int bd_rpc_count_now(bd_rpc_count *c);
// Waits until no operation is in progress. Cancel the operations before.
void bd_rpc_count_wait(bd_rpc_count *c);
// From now on a call that is counted here ends with Cancelled when it is started; its channel is not used.
// Returns when the transport knows all calls that were started before: the channel may be closed.
void bd_rpc_count_close(bd_rpc_count *c);

typedef struct bd_rpc_options {
    bd_transport *transport;
    bd_channel *channel;
    const char *method;            // static
    int64_t deadline_ns;           // BD_FOREVER for none
    bool wait_for_ready, watches;  // as in bd_call_options
    bd_cancellation *cancellation; // NULL: none; cancels the call
    bd_rpc_count *count;           // NULL: not counted; outlives the call
    atomic_bool *is_reached;       // NULL: none; set to false by Unavailable; outlives the call
} bd_rpc_options;

// Starts a call; `done` runs exactly once, see bd_call_done_fn. When the token is cancelled, the status is
// the reason. `request` is taken over.
void bd_rpc_start(const bd_rpc_options *options, bd_message *request, bd_call_done_fn done, void *arg);

// The same with a small message as the request.
void bd_rpc_start_proto(const bd_rpc_options *options, const ProtobufCMessage *request, bd_call_done_fn done,
                        void *arg);

// A wait longer than this is logged, with the name of what it waits for.
#define BD_LOG_WAIT_AFTER_MS 1000

// Starts a call and waits for its end: the response, its deadline, its token, or the end of the connection.
// `request` is taken over; `response` is initialized here and the caller frees it (bd_message_fini). When the
// call takes long, a line "WHO still waits for WHOM" is logged; `who` NULL: never.
braid_code bd_rpc_wait(const bd_rpc_options *options, bd_message *request, const char *who, const char *whom,
                       bd_message *response, braid_status *st);

// ---- Errors on the wire ----

// An error that is a consequence of another one of the same step begins with this on the wire, as in
// TensorFlow.
#define BD_DERIVED_MARKER "[_Derived_]"

// The message of `st` as a peer gets it (bd_free).
char *bd_wire_error_message(const braid_status *st);
// Sets `st` from the code and message of a peer, without the marker.
void bd_wire_error_read(braid_status *st, int code, const char *message);
// Removes the marker from a status that was received with it.
void bd_wire_error_unmark(braid_status *st);

// Answers a call: with a small message, or with an error (`st` not OK).
void bd_incoming_reply_proto(bd_incoming *call, const ProtobufCMessage *response);
void bd_incoming_reply_error(bd_incoming *call, const braid_status *st);
// With an error, or with the message that has no fields set. `call` is a bd_incoming.
void bd_incoming_reply_status(void *call, const braid_status *st);

#endif

// A call that a server handles: it has a token that is cancelled when the client is gone, and owns the state
// of the handler.
#ifndef BD_CLUSTER_RPC_SERVER_CALL_H
#define BD_CLUSTER_RPC_SERVER_CALL_H

#include "cluster/rpc/rpc.h"
#include "cluster/transport/transport.h"
#include "op/cancellation.h"
#include <stdatomic.h>

// The first member of a handler's state. It has two references: the handler's, dropped after the reply, and
// that of the call's end. `destroy` frees it with the last one.
typedef struct bd_server_call {
    bd_incoming *call; // valid until the reply
    bd_cancellation *cancellation;
    const bd_cancellation *server; // of the server; not owned
    void (*destroy)(struct bd_server_call *s);
    atomic_int refs;
} bd_server_call;

// The token is a child of `parent`: that of `server`, the server's own, or one below it.
void bd_server_call_init(bd_server_call *s, bd_incoming *call, bd_cancellation *parent,
                         const bd_cancellation *server, void (*destroy)(bd_server_call *s));
// Whether the client has cancelled or is gone.
static inline bool bd_server_call_is_cancelled(const bd_server_call *s)
{
    return bd_cancellation_is_cancelled(s->cancellation);
}

// The error that the caller gets: Cancelled because the server stops becomes Aborted, so that callers try
// again.
void bd_server_call_error(const bd_server_call *s, const braid_status *from, braid_status *st);

// Answer the call and drop the work's reference.
void bd_server_call_reply(bd_server_call *s, bd_message *response);
void bd_server_call_reply_proto(bd_server_call *s, const ProtobufCMessage *response);
void bd_server_call_reply_error(bd_server_call *s, const braid_status *st);
// With an error, or with the message that has no fields set. `served` is a bd_server_call.
void bd_server_call_reply_status(void *served, const braid_status *st);

#endif

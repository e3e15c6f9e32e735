// The transport interface: calls with messages between tasks, whatever carries them.
//
// A call is one request message and one response message (unary), named by a method path ("/tensorflow.WorkerService/RunGraph").
// States of a call on the client: pending -> done (response, error, deadline or cancel: whichever is first), `done` runs exactly
// once. On the server: received -> replied; a call whose client is gone or has cancelled is told so through `on_cancel`, and its reply
// is then dropped. Nothing blocks but `stop`. Callbacks run on the transport's threads, with no lock of the transport held; a
// callback must not wait: what may wait goes to a pool.
#ifndef BD_CLUSTER_TRANSPORT_H
#define BD_CLUSTER_TRANSPORT_H

#include "base/status.h"
#include "base/wire.h"

typedef struct bd_transport bd_transport;
typedef struct bd_channel bd_channel;     // to one address
typedef struct bd_call bd_call;           // client side
typedef struct bd_listener bd_listener;
typedef struct bd_incoming bd_incoming;   // server side of a call

typedef struct bd_call_options {
    const char *method;   // static
    int64_t deadline_ns;  // bd_now_ns() scale; BD_FOREVER for none
    bool wait_for_ready;  // wait for an address where nobody listens yet instead of failing with Unavailable
} bd_call_options;

// With the response (borrowed; bd_message_move takes it) when st is OK. Unavailable when the peer cannot be reached or is gone,
// DeadlineExceeded, Cancelled, or the code and message the server replied with.
typedef void (*bd_call_done_fn)(void *arg, bd_message *response, const braid_status *st);

// One call that came in. `request` may be taken (bd_message_move). Must be answered by bd_incoming_reply exactly once, from any thread.
typedef void (*bd_handler_fn)(void *arg, bd_incoming *call);

struct bd_incoming {
    const bd_transport *transport;
    const char *method; // valid until the reply
    bd_message request;
    int64_t deadline_ns; // BD_FOREVER for none
    const char *peer;    // address of the caller, for messages; valid until the reply
};

// State of a connection, for those that must notice that the other side is gone.
typedef void (*bd_channel_watch_fn)(void *arg, bool connected);

struct bd_transport {
    const char *name; // "grpc"
    // Listens on `address` ("127.0.0.1:0" picks a port; the actual address is stored to *bound, bd_free) and hands every call to
    // `handler`. AlreadyExists/Unavailable when the address is taken.
    braid_code (*listen)(bd_transport *t, const char *address, bd_handler_fn handler, void *arg, bd_listener **out,
                         char **bound, braid_status *st);
    // Three phases: refuse new calls; wait for those in progress up to the deadline, then cancel them; free.
    void (*listener_close)(bd_listener *l);
    void (*listener_stop)(bd_listener *l, int64_t deadline_ns);
    void (*listener_free)(bd_listener *l);
    // Never blocks; connects when first used and again when lost. Channels to one address may share a connection.
    bd_channel *(*connect)(bd_transport *t, const char *address);
    void (*channel_close)(bd_channel *c); // calls in progress end with Cancelled; the channel is freed when the last has ended
    // Begins a call. `request` is taken over (left empty). The handle lives until `done` has run AND bd_call_release was called.
    bd_call *(*call)(bd_channel *c, const bd_call_options *options, bd_message *request, bd_call_done_fn done, void *arg);
    void (*call_cancel)(bd_call *call); // `done` still runs; any number of times, until release
    void (*call_release)(bd_call *call);
    // Server side. `response` is taken over; on an error it is NULL.
    void (*reply)(bd_incoming *call, bd_message *response, const braid_status *st);
    // fn runs once, when the caller is gone or has cancelled before the reply; false when that is so already (fn is not called).
    bool (*on_cancel)(bd_incoming *call, void (*fn)(void *arg), void *arg);
    void (*free)(bd_transport *t); // after its listeners and channels are gone
};

static inline void bd_incoming_reply(bd_incoming *call, bd_message *response, const braid_status *st)
{
    call->transport->reply(call, response, st);
}

// The gRPC transport (grpc.c).
bd_transport *bd_grpc_transport_new(void);

// The in-process transport (inprocess.c): all listeners of one `bd_inprocess` network see each other by address. Clock, randomness
// and faults come from outside.
typedef struct bd_inprocess_faults {
    uint64_t seed;
    double lose;             // probability that a message (request or response) is lost: the call then ends by its deadline, or
                             // with Unavailable when it has none
    double duplicate;        // probability that a request is delivered twice (the second response is dropped)
    double cut;              // probability that the connection is cut at a message: Unavailable for all its calls
    int64_t delay_min_ns, delay_max_ns; // each message; different delays reorder
} bd_inprocess_faults;
struct bd_inprocess_clock; // how it reads the clock and is called back at a time: defaults to base/clock.h and base/timer.h
bd_transport *bd_inprocess_transport_new(const bd_inprocess_faults *faults, const struct bd_inprocess_clock *clock);

#endif

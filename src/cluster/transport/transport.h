// The transport interface: calls with messages between tasks, whatever carries them.
//
// A call is one request message and one response message (unary), named by a method path
// ("/tensorflow.WorkerService/RunGraph"). States of a call on the client: pending -> done (response, error,
// deadline or cancel: whichever is first), `done` runs exactly once. On the server: received -> replied ->
// ended; a call whose client is gone or has cancelled ends before it is replied to, its handler is told so
// through `on_end`, and the reply is then dropped. Nothing blocks but `listener_stop` and `free`. Callbacks
// run on the transport's threads, with no lock of the transport held; a callback must not wait: what may wait
// goes to a pool.
#ifndef BD_CLUSTER_TRANSPORT_H
#define BD_CLUSTER_TRANSPORT_H

#include "base/status.h"
#include "base/wire.h"
#include "cluster/transport/users.h"
#include <braid/keys.h>
#include <stdbool.h>

typedef struct bd_transport bd_transport;
typedef struct bd_channel bd_channel;   // to one address
typedef struct bd_call bd_call;         // client side
typedef struct bd_listener bd_listener; // server side of an address
typedef struct bd_incoming bd_incoming; // server side of a call
struct bd_callers;                      // connection.h

typedef struct bd_call_options {
    const char *method;  // static
    int64_t deadline_ns; // bd_now_ns() scale; BD_FOREVER: no deadline
    bool wait_for_ready; // waits for an address that has no listener yet, instead of failing with Unavailable
    // A call to a server of Braid that is held open to learn when the server is gone: the connection is
    // tested every few seconds (other servers take that for an attack). When it breaks, all calls of the
    // channel end with Unavailable.
    bool watches;
} bd_call_options;

// `response` (borrowed; bd_message_move takes it) is the response when st is OK, else empty. Errors:
// Unavailable when the peer cannot be reached or is gone, DeadlineExceeded, Cancelled, or the code and
// message of the server's reply.
typedef void (*bd_call_done_fn)(void *arg, bd_message *response, const braid_status *st);

// An incoming call. `request` may be taken (bd_message_move). The handler must answer by bd_incoming_reply
// exactly once, from any thread.
typedef void (*bd_handler_fn)(void *arg, bd_incoming *call);

struct bd_incoming {
    const bd_transport *transport;
    const char *method; // valid until the reply
    bd_message request;
    int64_t deadline_ns; // BD_FOREVER: no deadline
};

// The process that makes a call, as far as the transport knows it.
#define BD_CALLER_NAME_MAX 96
typedef struct bd_caller {
    char name[BD_CALLER_NAME_MAX]; // "user 1000" or "certificate 'trainer'"; "": not known
    // That of the certificate. Without certificates: TASK for the server's own user and where every process
    // may call, CLIENT for other users.
    braid_role role;
} bd_caller;

// `cancelled`: the caller cancelled, is gone or ran into its deadline before the reply.
typedef void (*bd_call_end_fn)(void *arg, bool cancelled);

struct bd_transport {
    const char *name; // "grpc"
    // Listens on `address` ("127.0.0.1:0" picks a port; the actual address is stored to *bound, bd_free; gRPC
    // also takes "unix:/path") and passes every call to `handler`. AlreadyExists when the address is taken,
    // InvalidArgument when it is malformed, Unavailable for other failures.
    braid_code (*listen)(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                         bd_listener **out, char **bound, braid_status *st);
    // The end has three phases: close refuses new calls; stop waits for the calls in progress up to the
    // deadline, then ends them (callers get Unavailable, handlers' on_end gets `cancelled`) and waits until
    // every handler has replied; free is called after stop.
    void (*listener_close)(bd_listener *l);
    void (*listener_stop)(bd_listener *l, int64_t deadline_ns);
    void (*listener_free)(bd_listener *l);
    // Connects when first used and again when lost. Channels to one address may share a connection. The
    // address of a task of two processes, "host:port|host:port", leads to the one that serves (gRPC only; its
    // hosts are looked up here, the only reason to block).
    bd_channel *(*connect)(bd_transport *t, const char *address);
    // Calls in progress end with Cancelled; the channel is freed when the last has ended. No call may be
    // begun on it any more.
    void (*channel_close)(bd_channel *c);
    // Begins a call. `request` is taken over (left empty); memory it only borrows (a slice without `release`)
    // must be static. The handle lives until `done` has run AND bd_call_release was called.
    bd_call *(*call)(bd_channel *c, const bd_call_options *options, bd_message *request, bd_call_done_fn done,
                     void *arg);
    void (*call_cancel)(bd_call *call); // `done` still runs; any number of times, until release
    void (*call_release)(bd_call *call);
    // Server side. `response` is taken over (left empty); on an error it may be NULL. `call` is not the
    // handler's any more.
    void (*reply)(bd_incoming *call, bd_message *response, const braid_status *st);
    // fn(arg, cancelled) runs exactly once when the call has ended, perhaps before on_end returns, perhaps
    // while or after the reply is made. At most once a call, before the reply.
    void (*on_end)(bd_incoming *call, bd_call_end_fn fn, void *arg);
    // The connection that carries the call, before the reply (bd_free): "ipv4:127.0.0.1:4321".
    char *(*peer)(const bd_incoming *call);
    // Who calls, before the reply.
    void (*caller)(const bd_incoming *call, bd_caller *out);
    // Returns whether that connection exists, or did a moment ago. True when the transport has no
    // connections.
    bool (*is_connected)(bd_transport *t, const char *peer);
    // Where a call counts that is in progress; lives as long as the listener. NULL: calls do not count.
    struct bd_callers *(*callers)(const bd_incoming *call);
    // For streaming methods; NULL: the transport has unary calls only. `send` sends one message ahead of the
    // reply (which then has none): `sent` runs once, when the next message may be sent or the call be replied
    // to, also when the caller is gone. `receive` asks for the next message after the request: `received`
    // runs once, with the message (borrowed), or with NULL at the end of the stream. Not while an earlier one
    // is in progress.
    void (*send)(bd_incoming *call, bd_message *message, void (*sent)(void *arg), void *arg);
    void (*receive)(bd_incoming *call, void (*received)(void *arg, bd_message *message), void *arg);
    // After its listeners are freed and its channels closed; waits for the callbacks that are still to run.
    // Not from a callback.
    void (*free)(bd_transport *t);
};

static inline void bd_incoming_reply(bd_incoming *call, bd_message *response, const braid_status *st)
{
    call->transport->reply(call, response, st);
}

// The gRPC transport (grpc.c). NULL and an error when the system gives no more threads.
bd_transport *bd_grpc_transport_new(braid_status *st);
// Listeners made from now on serve only processes of this host that run as one of these users, and over TLS
// (TCP only) only certificates of the role that needed(method) gives, or more; other calls get
// PermissionDenied before their messages are received. `users` outlives the transport; NULL: every process.
void bd_grpc_transport_admit(bd_transport *t, const bd_users *users,
                             braid_role (*needed)(const char *method));
// What the processes that call a listener may use.
typedef struct bd_transport_limits {
    int connections;       // in all; 0: what the limit of open files allows
    int calls;             // in progress, of one caller
    int64_t message_bytes; // of messages whose calls are in progress, of one caller
} bd_transport_limits;
// Of listeners made from now on. A call beyond them gets ResourceExhausted; a connection that floods the
// server by other means ends (connection.h). Without it: 20,000 calls and 8 GB.
void bd_grpc_transport_limit(bd_transport *t, const bd_transport_limits *limits);
// Listeners and channels of TCP made from now on speak TLS with the certificate in `dir`; NULL: that of the
// environment variable BRAID_TLS_DIR, and no TLS when it is not set. Stores the role of the certificate;
// NONE: no TLS. Errors, with the remedy, when the directory cannot be used.
braid_code bd_grpc_transport_use_tls(bd_transport *t, const char *dir, braid_role *role, braid_status *st);

// The in-process transport (inprocess.c): a network of its own, whose listeners and channels find each other
// by address. Clock, timers, randomness and faults are given by the caller. The timers deliver all messages,
// one at a time: the same seed, calls and clock give the same history.
typedef struct bd_inprocess_faults {
    uint64_t seed;
    // The probability that a message (request or response) is lost: the call then ends at its deadline, or
    // with Unavailable after a while when it has none or a late one.
    double lose;
    // The probability that a request is delivered twice. The time of the copy is independent: before the
    // original, with it, or after the call has ended. The response of the copy is dropped, and its handler
    // soon learns that the caller is gone.
    double duplicate;
    double cut; // probability that the connection is cut at a message: Unavailable for all its calls
    int64_t delay_min_ns, delay_max_ns; // each message; different delays reorder
} bd_inprocess_faults;

typedef struct bd_inprocess_clock {
    void *arg;
    int64_t (*now_ns)(void *arg);
    uint64_t (*add)(void *arg, int64_t at_ns, void (*fn)(void *fn_arg), void *fn_arg); // as bd_timer_add
    bool (*cancel)(void *arg, uint64_t id);                                            // as bd_timer_cancel
} bd_inprocess_clock;

// `faults` NULL: none. `clock` NULL: base/clock.h and timers of its own; else the clock must outlive the
// transport. NULL and an error when no more threads can be started.
bd_transport *bd_inprocess_transport_new(const bd_inprocess_faults *faults, const bd_inprocess_clock *clock,
                                         braid_status *st);

// Cuts every connection to `address` as the fault does; while `down`, the address cannot be reached. For
// tests.
void bd_inprocess_set_down(bd_transport *t, const char *address, bool down);

// ---- Hosts of an in-process network, for simulations ----
//
// A host is a transport of its own, which listens at one address. A thread that its caller's process starts
// runs its callbacks. Links are from clients to servers: a link carries the requests of calls to its second
// address, their responses, and the news that a call is cancelled.

typedef enum bd_link_state {
    BD_LINK_UP,
    BD_LINK_SILENT, // messages wait until the link is up; nothing says so
    BD_LINK_BROKEN  // calls in progress have ended for both ends; no call can begin
} bd_link_state;

// NULL and an error when no more threads can be started. Its `free` ends it.
bd_transport *bd_inprocess_host_new(bd_transport *network, const char *address, braid_status *st);
// The process of the host at an address is killed, if there is one: none of its callbacks runs any more, no
// thread may use it, and it is never freed. The connections of the others to it are cut, or, if it is
// `silent`, lead nowhere until the links are broken or another host has the address.
void bd_inprocess_host_crash(bd_transport *network, const char *address, bool silent);
void bd_inprocess_set_link(bd_transport *network, const char *from, const char *to, bd_link_state state);

#endif

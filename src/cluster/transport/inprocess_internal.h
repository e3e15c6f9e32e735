// Declarations shared by the files of the in-process transport: its structures, and events.
#ifndef BD_CLUSTER_INPROCESS_INTERNAL_H
#define BD_CLUSTER_INPROCESS_INTERNAL_H

#include "base/map.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/timer.h"
#include "cluster/transport/transport.h"

typedef struct bd_network bd_network;

// Who calls and listens: the network's own transport, or a host.
typedef struct bd_net_host {
    bd_transport base;
    bd_network *net;
    int pending; // events that have not run yet
    // Of a host alone:
    char *address;               // NULL: the network's own transport, whose events the clock runs
    struct bd_net_event *events; // by time
    bd_cond due;                 // the first event has changed, or is_ending
    bd_thread thread;            // runs the events
    bool is_ending, is_crashed;
    struct bd_net_host *next; // of those that are connected
} bd_net_host;

struct bd_network {
    bd_net_host own;
    bd_inprocess_faults faults;
    bd_inprocess_clock clock;
    bd_timers *timers; // its own; NULL when the clock was given
    bd_mutex mu;
    bd_cond changed;
    bd_rng rng;
    bd_map listeners; // address -> bd_listener, while they accept calls
    bd_map down;      // address -> anything
    bd_net_host *hosts;
    bd_map links;             // "FROM>TO" -> bd_link_state (as a pointer); absent: up
    struct bd_net_held *held; // in the order in which they were sent
    bd_call *calls;           // begun, `done` still to run
    int next_port;
};

struct bd_listener {
    bd_net_host *host; // not owned
    bd_network *net;   // not owned
    char *address;
    bd_handler_fn handler;
    void *arg;
    struct bd_net_incoming *incomings; // live ones
    bool is_closed;
};

struct bd_channel {
    bd_net_host *host; // not owned; may be freed before a repeated message of an ended call arrives
    bd_network *net;   // not owned
    char *from;        // the address of the host; NULL: it has none
    char *address;
    int refs; // the owner's and one a call
};

typedef struct bd_net_incoming bd_net_incoming;

struct bd_call {
    bd_network *net;
    bd_channel *channel;
    const char *method;
    int64_t deadline_ns;
    bool wait_for_ready, is_waiting, is_finishing;
    bd_message message;        // the request until delivered, then the response
    bd_net_incoming *incoming; // not owned; NULL before delivery and after its reply
    bd_call_done_fn done;
    void *arg;
    braid_status status; // when finishing
    uint64_t deadline_timer;
    struct bd_net_event *deadline_event;
    bd_call *next, **link; // in net->calls
    int refs;              // the handle's, `done`'s, and one an event
};

struct bd_net_incoming {
    bd_incoming base;
    bd_listener *listener;
    bd_call *call; // a reference; NULL for a duplicate and when ending
    bool is_duplicate, is_replied, is_ending, is_ended, was_cancelled;
    bd_call_end_fn end_fn;
    void *end_arg;
    bd_net_incoming *next, **link; // in listener->incomings
    int refs;                      // until replied, and until ended
};

// ---- inprocess.c: events ----

typedef struct bd_net_event {
    bd_net_host *host;
    void (*run)(struct bd_net_event *e); // without the lock
    bd_call *call;
    bd_net_incoming *in;
    bd_message copy; // of the request, for a duplicate
    // Of a host's event:
    int64_t at_ns;
    uint64_t id; // grows
    struct bd_net_event *next;
} bd_net_event;

// Adds an event of a host: `run` at `at_ns`, without the lock. It holds a reference to `call` and `in` (NULL:
// none), which `run` drops. *out (may be NULL) is freed when the event is cancelled. A host that has crashed
// runs no event.
uint64_t bd_net_add_event_locked(bd_net_host *host, int64_t at_ns, void (*run)(bd_net_event *), bd_call *call,
                                 bd_net_incoming *in, bd_net_event **out);
// Returns false when it has run or is running.
bool bd_net_cancel_event_locked(bd_net_host *host, uint64_t id, bd_net_event *e);
// The host at an address; the network's own where there is none.
bd_net_host *bd_net_host_at_locked(bd_network *net, const char *address);

// ---- inprocess_hosts.c: hosts, and the links between them ----

// A message that a link holds.
typedef struct bd_net_held {
    bd_call *call;    // a reference; a request, or with `is_response` its response; NULL for `end`
    bool is_response; // the message and the status are here
    bd_message response;
    braid_status status;
    bd_net_incoming *end; // a reference; its client is gone or has cancelled
    char *from, *to;      // addresses of the client and the server
    struct bd_net_held *next;
} bd_net_held;

bd_link_state bd_net_link_locked(bd_network *net, const bd_channel *c);
// Adds an empty record for the link of a channel.
bd_net_held *bd_net_hold_locked(bd_network *net, const bd_channel *c);
void bd_net_host_run(void *host); // the thread of a host
extern const bd_transport bd_net_functions;

int64_t bd_net_now(const bd_network *net);
// When a message that is sent now arrives.
int64_t bd_net_arrival_locked(bd_network *net);
bool bd_net_happens_locked(bd_network *net, double probability);

// ---- inprocess_call.c: calls on both sides ----

void bd_net_send_locked(bd_call *call);
void bd_net_respond_locked(bd_call *call, bd_message *response, const braid_status *st);
void bd_net_cut_call_locked(bd_call *call);
void bd_net_tell_end_locked(bd_net_incoming *in, int64_t at_ns);
void bd_net_call_unref_locked(bd_call *call);
void bd_net_incoming_unref_locked(bd_net_incoming *in);

bd_channel *bd_net_connect(bd_transport *t, const char *address);
void bd_net_channel_close(bd_channel *c);
bd_call *bd_net_call(bd_channel *c, const bd_call_options *options, bd_message *request, bd_call_done_fn done,
                     void *arg);
void bd_net_call_cancel(bd_call *call);
void bd_net_call_release(bd_call *call);
void bd_net_reply(bd_incoming *base, bd_message *response, const braid_status *st);
void bd_net_on_end(bd_incoming *base, bd_call_end_fn fn, void *arg);

// Ends the call for the client; the first call of this function decides the result. `code` OK: the response
// is in call->message.
void bd_net_finish_locked(bd_call *call, int64_t at_ns, braid_code code, const char *text);
// The call is over for the server, at most once.
void bd_net_end_incoming_locked(bd_net_incoming *in, int64_t at_ns, bool cancelled);
// Cuts the connections to an address.
void bd_net_cut_locked(bd_network *net, const char *address);
// Sends the calls that wait for an address and can reach it now.
void bd_net_wake_locked(bd_network *net, const char *address);

#endif

// Declarations shared by the files of the in-process transport: its structures, and events.
#ifndef BD_CLUSTER_INPROCESS_INTERNAL_H
#define BD_CLUSTER_INPROCESS_INTERNAL_H

#include "base/map.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/timer.h"
#include "cluster/transport/transport.h"

typedef struct bd_network {
    bd_transport base;
    bd_inprocess_faults faults;
    bd_inprocess_clock clock;
    bd_timers *timers; // its own; NULL when the clock was given
    bd_mutex mu;
    bd_cond changed;
    bd_rng rng;
    bd_map listeners; // address -> bd_listener, while they accept calls
    bd_map down;      // address -> anything
    bd_call *calls;   // begun, `done` still to run
    int pending;      // events that have not run yet
    int next_port;
} bd_network;

struct bd_listener {
    bd_network *net; // not owned
    char *address;
    bd_handler_fn handler;
    void *arg;
    struct bd_net_incoming *incomings; // live ones
    bool is_closed;
};

struct bd_channel {
    bd_network *net; // not owned
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
    bd_network *net;
    void (*run)(struct bd_net_event *e); // without the lock
    bd_call *call;
    bd_net_incoming *in;
    bd_message copy; // of the request, for a duplicate
} bd_net_event;

// Adds an event: `run` at `at_ns`, without the lock. It holds a reference to `call` and `in` (NULL: none),
// which `run` drops. *out (may be NULL) is freed when the event is cancelled.
uint64_t bd_net_add_event_locked(bd_network *net, int64_t at_ns, void (*run)(bd_net_event *), bd_call *call,
                                 bd_net_incoming *in, bd_net_event **out);
int64_t bd_net_now(const bd_network *net);
// When a message that is sent now arrives.
int64_t bd_net_arrival_locked(bd_network *net);
bool bd_net_happens_locked(bd_network *net, double probability);

// ---- inprocess_call.c: calls on both sides ----

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
// Sends the calls that wait for an address, if it can be reached now.
void bd_net_wake_locked(bd_network *net, const char *address);

#endif

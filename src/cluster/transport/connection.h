// A connection of a gRPC server: which process has made it, what it has in progress, and whether it floods
// the server.
//
// gRPC keeps what it has parsed of headers that never end, of calls that are cancelled at once and the like,
// without a limit. From outside this shows as bytes that arrive while no call begins, gets its message or is
// answered: a connection that sends too many of them is to be ended, as is one that cancels calls faster than
// any program does.
#ifndef BD_CLUSTER_CONNECTION_H
#define BD_CLUSTER_CONNECTION_H

#include "base/map.h"
#include "base/thread.h"
#include "cluster/transport/transport.h"
#include "cluster/transport/turns.h"
#include <stdatomic.h>
#include <sys/types.h>

extern const bd_transport_limits bd_transport_limits_default;

// What a call has at least of headers and frames, in bytes.
#define BD_LOAD_OF_A_CALL 29.0

// An allowance that is used up and comes back with time. All zero: unused.
typedef struct bd_allowance {
    double used;
    int64_t at_ns;
} bd_allowance;

// What the connections of one caller have in progress.
typedef struct bd_caller_usage bd_caller_usage;

// The callers of a server.
typedef struct bd_callers {
    bd_mutex mu;
    bd_map by_name; // guarded by mu
} bd_callers;

typedef struct bd_connection {
    atomic_int refs;
    bd_callers *callers; // outlives it
    char *peer;          // "ipv4:127.0.0.1:4321"
    int fd;              // gRPC's, which closes it
    int watch;           // a duplicate; the acceptor's
    bool has_user;
    uid_t user;

    atomic_bool has_called;  // a call that was allowed
    atomic_bool has_refused; // a call: more of its message may arrive
    atomic_bool is_ended;    // by the server, which may still have calls of it
    atomic_uint progress;    // counts calls, messages and answers
    atomic_uint arrived;     // counts calls, also those that are refused
    atomic_int receiving;    // calls whose message has not arrived
    bd_turns turns;
    bd_mutex mu;
    bd_allowance cancelled; // calls; guarded by mu
    bool is_known;          // guarded by mu, as what follows, which is constant once it is true
    bd_caller caller;
    bd_caller_usage *usage;

    // Of the acceptor's thread.
    unsigned progress_seen;
    uint64_t bytes_seen, bytes_looked_at;
    uint64_t message_bytes; // without progress, while a message is expected
    bd_allowance control;   // bytes without progress when none is
    int64_t control_ns;     // since when
    int64_t accepted_ns;
    unsigned arrived_seen;
    double load;      // the calls that it may have begun since gRPC's count was asked for, in bytes
    int64_t count_id; // of gRPC's count; 0: not known
    int count_searches;
    bool is_active, is_waiting; // in these lists
    struct bd_connection *next_active, *next_waiting, *previous_waiting;
} bd_connection;

// `peer` is taken over; the rest is 0. One reference.
bd_connection *bd_connection_new(bd_callers *callers, char *peer);
void bd_connection_ref(bd_connection *c);
void bd_connection_unref(bd_connection *c); // NULL is accepted

// Who has made the connection; the first call counts. A caller without a name is known by its host.
void bd_connection_set_caller(bd_connection *c, const bd_caller *caller);
// False: not known yet.
bool bd_connection_caller(bd_connection *c, bd_caller *out);

// ---- Calls; of a connection whose caller is known ----

// A call begins. ResourceExhausted when its caller has too many in progress: it does not count then.
braid_code bd_connection_begin_call(bd_connection *c, const bd_transport_limits *limits, braid_status *st);
// Its message has arrived. ResourceExhausted when its caller has too many bytes in progress; they count all
// the same until the call ends.
braid_code bd_connection_hold(bd_connection *c, size_t bytes, const bd_transport_limits *limits,
                              braid_status *st);
void bd_connection_end_call(bd_connection *c, size_t bytes);
// A call was cancelled before it was answered. False when there are too many: the connection is to be ended.
bool bd_connection_cancelled(bd_connection *c);

static inline void bd_connection_progress(bd_connection *c)
{
    atomic_fetch_add_explicit(&c->progress, 1, memory_order_relaxed);
}

static inline void bd_connection_arrived(bd_connection *c)
{
    atomic_fetch_add_explicit(&c->arrived, 1, memory_order_relaxed);
}

// Something has arrived. One thread at a time for these three.
void bd_connection_look(bd_connection *c);
// Whether nothing was read since that, and more is there.
bool bd_connection_is_starved(const bd_connection *c);
// Looks at the bytes that have arrived since the last look. Returns why the connection is to be ended;
// NULL: it is not.
const char *bd_connection_check(bd_connection *c, const bd_transport_limits *limits);

#endif

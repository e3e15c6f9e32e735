// The membership of a cluster, as its files see it.
#ifndef BD_CLUSTER_MEMBERSHIP_INTERNAL_H
#define BD_CLUSTER_MEMBERSHIP_INTERNAL_H

#include "base/map.h"
#include "base/thread.h"
#include "cluster/membership/membership.h"

typedef struct expected {
    bd_membership *m;
    const bd_peer *peer;
    int open_calls; // liveness calls
    bool is_done, is_gone;
    bool only_serves; // it is done, and has no work of its own
    bool was_seen;
    uint64_t incarnation;      // of the last liveness call
    uint64_t previous;         // the incarnation before it; 0: none
    uint64_t done_incarnation; // that is done; 0: not known
    bd_timer_id gone_timer;    // 0: none
    int64_t gone_at_ns;        // of the last loss
    // Of a task that holds no liveness call: foreign.c.
    bool is_foreign;      // it has opened a session or answered, or may be a master without a name
    bool is_looked_for;   // a call to it is open
    bool answered;        // the last one
    int looks;            // in a row, after which it may be over
    uint64_t sessions_of; // the incarnation of the master of its sessions
} expected;

// A liveness call that another task holds at this membership server. Two references: the transport's, until
// the call has ended, and the one of hold_call.
typedef struct liveness_call {
    expected *task;
    uint64_t incarnation;
    int refs;                           // guarded by mu
    bool has_ended;                     // guarded by mu
    bd_incoming *call;                  // guarded by mu; NULL once a thread has taken it to answer it
    struct liveness_call *next, **link; // in `open` while `call` is set
} liveness_call;

// A membership server that this task holds a liveness call to.
typedef struct membership_server {
    bd_membership *m;
    const bd_peer *peer;
    int64_t pause_ms;
    bool is_held;         // the liveness call; guarded by mu
    bool has_left;        // it has ended or is lost; guarded by mu
    bool has_ended;       // it has said so; guarded by mu
    uint64_t incarnation; // 0: it has never answered
    // Of NotifyDone; guarded by mu.
    int64_t notify_deadline_ns; // no call begins after it
    int refusals;               // calls that ended because there was no connection
    bool was_silent;            // a call was not answered in time
} membership_server;

struct bd_membership {
    bd_membership_env env;
    bool is_membership_server;
    bd_mutex mu;
    bd_cond notified;
    expected *expected; // [expected_count] guarded by mu
    int expected_count;
    membership_server *membership_servers; // [membership_server_count] guarded by mu
    int membership_server_count;
    liveness_call *open;            // guarded by mu
    char *reason;                   // why this server has ended; NULL while it runs; guarded by mu
    bool is_done;                   // this task is done; guarded by mu
    bool only_serves;               // it is, and has no work of its own; guarded by mu
    int notifying;                  // NotifyDone calls in progress; guarded by mu
    int64_t start_ns, log_after_ms; // of the timer that logs unseen tasks
    bool has_nameless;              // a session of a master that did not name itself was here; guarded by mu
    bd_map sessions; // of masters, by handle: the expected task; NULL: one of those; guarded by mu
};

static inline void membership_report_change(const bd_membership *m)
{
    m->env.changed(m->env.arg);
}

// Holds a liveness call to the membership server, from when it is reachable on, again and again until this
// server ends.
void membership_hold_liveness(membership_server *s);

void membership_log_idle(bd_membership *m);

// Looks after a while, again and again while there are any, for the expected tasks that hold no liveness
// call.
void membership_look_for_foreign(bd_membership *m);

#endif

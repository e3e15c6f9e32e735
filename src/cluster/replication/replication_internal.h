// The state of the replication, shared by its files.
#ifndef BD_CLUSTER_REPLICATION_REPLICATION_INTERNAL_H
#define BD_CLUSTER_REPLICATION_REPLICATION_INTERNAL_H

#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/replication/replication.h"
#include "cluster/rpc/rpc.h"
#include "cluster/rpc/server_call.h"

#define BD_PARTNER_TIMEOUT_MS 1000 // of a Hello, and of a connection
#define BD_PAUSE_MIN_MS 20
#define BD_PAUSE_MAX_MS 500

// What the serving process knows of its standby.
typedef enum bd_standby {
    BD_STANDBY_NONE,    // there is none, or its process is dead
    BD_STANDBY_COPYING, // it gets its first copy; commits do not wait for it
    BD_STANDBY_FOLLOWS, // commits wait for it
    BD_STANDBY_SILENT   // it had followed, and may serve soon: commits wait until it follows or is dead
} bd_standby;

typedef struct bd_commit {
    uint64_t changes; // that must have been acknowledged
    bd_committed_fn fn;
    void *arg;
} bd_commit;

// A Follow call that the serving process holds open.
typedef struct bd_follow_call {
    bd_server_call base;
    bd_cancel_hook hook;
    bd_replication *r;
} bd_follow_call;

struct bd_replication {
    bd_replication_env env;
    bd_channel *channel; // to the partner
    bd_rpc_count calls;
    bd_cancellation *cancellation; // of the calls to the partner
    bd_thread thread;
    bool is_started;

    bd_mutex mu;
    bd_cond changed;
    // The rest is guarded by mu, but the last group.
    Braid__ReplicaState state;
    uint64_t term;
    bool is_closed, has_ended;
    braid_status end; // why commits fail: closed, or ended; OK before
    uint64_t hellos;  // of the partner, so far
    bool is_deposed;  // the partner serves since a later time
    uint64_t number;  // of the last transfer sent or applied

    // Of a process that does not serve.
    bd_cancellation *following; // of this process's Follow call; NULL: none is open
    uint64_t followed;          // the incarnation of the process followed; 0: none
    uint64_t call;              // numbers the Follow calls, also between processes: from the incarnation on
    uint64_t arriving; // the last transfer of the process followed of which a piece has arrived; 0: none
    bd_message pieces; // of it, borrowed from `requests`
    BD_ARRAY(bd_message *) requests; // a message does not move in memory
    bool is_applying;

    // Of the serving process.
    bd_standby standby;
    uint64_t standby_incarnation;
    uint64_t standby_call;       // the number of its Follow call
    bd_follow_call *follow;      // the standby's; NULL: it holds none
    bd_cancellation *sending;    // of the transfer in progress; NULL: none. It ends with the Follow call
    bool is_complete;            // the standby has all that has been acknowledged
    int64_t silent_ns;           // since when it acknowledges nothing that was sent; 0: it does
    uint64_t acknowledged;       // changes that the standby has
    BD_ARRAY(bd_commit) commits; // that wait

    // Of the thread.
    size_t copied;              // see bd_transfer_build
    bool owes_full;             // the last transfer was full and has not been acknowledged
    int64_t pause_ms;           // the last pause; 0: none
    struct addrinfo *addresses; // of the partner; NULL: its host is not known yet
};

// partner.c: what is known of the partner's process.
typedef enum bd_partner {
    BD_PARTNER_ANSWERS, // `answer` is set
    BD_PARTNER_DEAD,    // its port refuses connections
    BD_PARTNER_SILENT   // stopped, cut off, or not ready to answer
} bd_partner;
bd_partner bd_replication_ask(bd_replication *r, Braid__ReplicaHello *answer);
// Looks up the addresses of the partner's host, which may block, unless they are known.
void bd_replication_look_up_partner(bd_replication *r);
// Returns whether connections to the partner's port are refused at all addresses: its process is dead.
bool bd_replication_is_partner_dead(bd_replication *r);
bd_rpc_options bd_replication_rpc(bd_replication *r, const char *method, int64_t deadline_ns);
// Fills the Hello of this process.
Braid__ReplicaHello bd_replication_hello(bd_replication *r);
// Tells a partner that may still believe that it serves that this process does, as soon as it is reached.
void bd_replication_depose_partner(bd_replication *r);

// serving.c: the serving process, until the end.
void bd_replication_send(bd_replication *r);
void bd_replication_release(bd_replication *r); // calls the commits that need not wait any more
void bd_replication_answer_follow(bd_follow_call *f, const char *reason); // taken out of the replication
// standby.c: the process that does not serve. Returns when it serves, has to begin anew, or has ended.
void bd_replication_find_partner(bd_replication *r);
// Drops the pieces of the transfer that arrives. With the lock, unless no call is left.
void bd_replication_drop_pieces(bd_replication *r);

// replication.c
// Serves from now on. Returns false when the replication is over, or when the partner has said Hello since
// there were *hellos (NULL: it does not matter): it knows this process as one that does not serve.
bool bd_replication_begin_to_serve(bd_replication *r, const uint64_t *hellos);
// Ends with `st`, which may be OK.
void bd_replication_end(bd_replication *r, const braid_status *st);
// Pauses longer each time, until the state changes or a call of the partner wakes it.
void bd_replication_pause(bd_replication *r);
bool bd_replication_is_over(bd_replication *r); // closed or ended

#endif

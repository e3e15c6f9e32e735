// One member of a collective while its node runs: it joins its group, sends and receives tensors, and ends.
#ifndef BD_OPS_CONTROL_FLOW_COLLECTIVE_MEMBER_H
#define BD_OPS_CONTROL_FLOW_COLLECTIVE_MEMBER_H

#include "base/thread.h"
#include "ops/control_flow/collective.h"

typedef struct bd_member bd_member;

// What a kind of exchange adds to a member. All but `destroy` run while the node is not done.
typedef struct bd_member_type {
    // The group is complete (`group` is borrowed for the call): starts all sends and receives. An error ends
    // the node.
    void (*joined)(bd_member *m, const bd_collective_group *group, braid_status *st);
    // All receives have ended without an error: sets the output of m->c, or fails.
    void (*finish)(bd_member *m);
    void (*destroy)(bd_member *m); // frees what the type has added
} bd_member_type;

// The first member of a struct of the type's.
struct bd_member {
    const bd_member_type *type;
    bd_op_ctx *c;              // the execution's, until the end
    bd_rendezvous *rendezvous; // a reference
    bd_collectives *collectives;
    int32_t group_key;
    bd_collective_type kind;
    braid_tensor own;   // "no tensor" when this member sends none
    const char *device; // of the node
    char edge[96];      // begins the edge names of this execution
    int size, rank;     // known once the group is
    bd_mutex mu;
    int pending;  // receives, plus one of the thread that starts them; guarded by mu
    bool is_over; // guarded by mu
    atomic_int refs;
};

typedef struct bd_member_options {
    const bd_collective_state *group;
    bd_collective_type kind;
    bool is_source;          // of a broadcast
    const braid_tensor *own; // NULL: it sends no tensor
} bd_member_options;

// The last call of `start`: `m` is zeroed memory of bd_calloc, which is the member's from here on. Ends the
// execution once, after `finish` or with the first error.
void bd_member_start(bd_op_ctx *c, bd_member *m, const bd_member_type *type, const bd_member_options *o);

// The key under which `from` sends to `to` (new memory; free key.text).
bd_rendezvous_key bd_member_key(const bd_member *m, const bd_collective_group *group, int from, int to,
                                const char *suffix);

// Sends a tensor to member `to`, under the edge name that begins with m->edge and ends with `suffix`.
braid_code bd_member_send(const bd_member *m, const bd_collective_group *group, int to, const char *suffix,
                          const braid_tensor *tensor, braid_status *st);

// What a receive gives: the tensor may be moved. `what` is the caller's. An error that is set ends the node.
// May run after the node has ended, on any thread.
typedef void (*bd_member_fn)(bd_member *m, int from, int what, braid_tensor *tensor, braid_status *st);

// Asks for the tensor of member `from`. The node is not finished before `fn` has returned.
void bd_member_receive(bd_member *m, const bd_collective_group *group, int from, const char *suffix, int what,
                       bd_member_fn fn);

#endif

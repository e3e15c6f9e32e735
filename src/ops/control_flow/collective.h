// Shared by collective ops: finding the group and exchanging tensors with its members.
#ifndef BD_OPS_CONTROL_FLOW_COLLECTIVE_H
#define BD_OPS_CONTROL_FLOW_COLLECTIVE_H

#include "op/collective.h"
#include "op/kernel.h"

#define COLLECTIVE_DEVIATION                                                                                             \
    "Members send tensors to each other directly, not in a ring, so they are tasks of Braid; subdiv_offsets, wait_for, " \
    "communication_hint and timeout_seconds have no effect."

// The attributes that identify a node's group.
typedef struct bd_collective_state {
    int32_t group_key, group_size, instance_key;
} bd_collective_state;
// InvalidArgument when group_size is not positive or a number is out of range.
braid_code bd_collective_state_read(const braid_op *node, bd_collective_state *s, braid_status *st);

// The result of an exchange.
typedef struct bd_exchanged {
    const braid_tensor *values; // [size] by rank; "no tensor" for members that sent no tensor to this one
    int size, rank;             // of the group, of this member
} bd_exchanged;

typedef struct bd_exchange_options {
    const bd_collective_state *group;
    bd_collective_type type;
    bool is_source; // of a broadcast
    // the tensor of this member; NULL: it sends no tensor
    const braid_tensor *own;
    void (*done)(bd_op_ctx *c, const bd_exchanged *result); // sets the output, or fails
} bd_exchange_options;

// The last call of `start`. Each member sends its tensor to every other member; in a broadcast the source
// sends to all others. Ends the execution after `done`, or with the first error, regardless of the other
// members.
void bd_collective_exchange(bd_op_ctx *c, const bd_exchange_options *options);

// Checks that the tensor of member `rank` has the type and shape of `own`; otherwise InvalidArgument names
// the member.
braid_code bd_collective_compare(const braid_tensor *own, const braid_tensor *other, int rank,
                                 braid_status *st);
// False: the kernel has failed with that error.
bool bd_collective_check_alike(bd_op_ctx *c, const braid_tensor *own, const braid_tensor *other, int rank);

#endif

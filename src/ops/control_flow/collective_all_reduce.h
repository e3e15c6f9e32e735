// All-reduce of large tensors: each member reduces its own part of the elements and sends it to the others.
#ifndef BD_OPS_CONTROL_FLOW_COLLECTIVE_ALL_REDUCE_H
#define BD_OPS_CONTROL_FLOW_COLLECTIVE_ALL_REDUCE_H

#include "ops/control_flow/collective.h"
#include "ops/control_flow/collective_merge.h"

// Tensors of which a member would receive fewer bytes in all go whole (collective_reduce.c): that takes fewer
// messages.
#define BD_ALL_REDUCE_MIN_BYTES (1024 * 1024)

typedef struct bd_all_reduce_options {
    const bd_collective_state *group;
    bd_merge merge;
    bool divides; // by the size of the group
} bd_all_reduce_options;

// The last call of `start`: output 0 becomes what the members' inputs 0 are together.
void bd_collective_all_reduce(bd_op_ctx *c, const bd_all_reduce_options *options);

// The same, of small tensors among three members or more.
void bd_collective_reduce_at_root(bd_op_ctx *c, const bd_all_reduce_options *options);

// Compares `own` with what member `rank` has sent under the edge's own name: a tensor, or the announcement of
// an all-reduce of a large one.
braid_code bd_collective_compare_announced(const braid_tensor *own, const braid_tensor *sent, int rank,
                                           braid_status *st);

#endif

// What the leaves of a tree have counted: the resource of the ops that grow the tree.
#ifndef BD_OPS_TENSOR_FOREST_STATS_H
#define BD_OPS_TENSOR_FOREST_STATS_H

#include "base/map.h"
#include "ops/tensor_forest/slot.h"

typedef struct bd_rf_stats {
    bd_resource base;
    bd_rf_params params; // does not change
    bd_mutex mu;         // taken before a tree's
    bd_imap slots;       // guarded by mu; of bd_rf_slot, by the node's index
} bd_rf_stats;

extern const bd_resource_type bd_rf_stats_type;

// The statistics in input `i`; the caller drops the reference. NULL: the kernel has failed.
bd_rf_stats *bd_rf_input_stats(bd_op_ctx *c, int i);

void bd_rf_slots_free(bd_imap *slots);
// Reads a serialized FertileStats into `slots`, which is empty before, and on an error after. Without any
// slot, node 0 gets one. InvalidArgument: malformed.
braid_code bd_rf_slots_read(bd_imap *slots, const bd_rf_params *p, const void *data, size_t len,
                            braid_status *st);
// Makes a new slot for a node, in place of what it had.
braid_code bd_rf_slots_reset(bd_imap *slots, const bd_rf_params *p, int32_t node, int32_t depth,
                             braid_status *st);
// Makes element 0 of string output 0 the serialized FertileStats.
void bd_rf_slots_write(bd_op_ctx *c, const bd_imap *slots);

#endif

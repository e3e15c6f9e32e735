// Inputs and shapes that the ops of boosted trees have in common.
#ifndef BD_OPS_BOOSTED_TREES_INPUTS_H
#define BD_OPS_BOOSTED_TREES_INPUTS_H

#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/boosted_trees/ensemble.h"

// The container and the name in the handle of input 0, which the caller frees. False: the kernel has failed.
bool bd_boosted_trees_handle(bd_op_ctx *c, const bd_resource_type *type, char **container, char **name);

// Makes output 0 whether the resource of the handle in input 0 exists.
void bd_boosted_trees_is_initialized(bd_op_ctx *c, const bd_resource_type *type);

// Checks the rank of input `i`, which messages call `what`. False: the kernel has failed.
bool bd_input_has_rank(bd_op_ctx *c, int i, int rank, const char *what);
// Reads a scalar of floats. False: the kernel has failed.
bool bd_input_float(bd_op_ctx *c, int i, const char *what, float *value);
// Reads [first, last) of input `i`, a vector of two. False: the kernel has failed, also where the range is
// not within [0, count]. An empty range begins at 0.
bool bd_input_node_range(bd_op_ctx *c, int i, int64_t count, int32_t *first, int32_t *last);

// Reads inputs [from, from + count) as features of as many rows: vectors, or matrices. `features` is
// [count]. False: the kernel has failed.
bool bd_input_features(bd_op_ctx *c, int from, int count, bd_tree_feature *features, int64_t *rows);

// Checks the ranks of inputs [from, to), where they are known.
braid_code bd_shape_ctx_ranks(bd_shape_ctx *c, int from, int to, int rank, braid_status *st);
// Merges dimension 0 of inputs [from, to) into *rows, which is -1 where it is not known. Inputs have at least
// one dimension, and at most `rank_max`.
braid_code bd_shape_ctx_rows(bd_shape_ctx *c, int from, int to, int rank_max, int64_t *rows,
                             braid_status *st);

// The size of dimension `k` of input `i`; -1: it is not known.
static inline int64_t bd_shape_ctx_dim(const bd_shape_ctx *c, int i, int k)
{
    return c->inputs[i].rank > k ? c->inputs[i].dims[k] : -1;
}

#endif

// Updates of slices of a tensor selected by indices, for Scatter and ScatterNd ops.
//
// Each index of Scatter selects a row (a slice along dimension 0); each index vector of ScatterNd selects a
// slice by as many numbers as the last dimension of the indices has.
#ifndef BD_OPS_STATE_SCATTER_H
#define BD_OPS_STATE_SCATTER_H

#include "graph/grad.h"
#include "ops/state/variable.h"

// How indices name slices of a tensor.
typedef struct bd_slices {
    int depth;              // how many leading dimensions the indices go through
    int64_t count;          // slices named
    int64_t len;            // elements of a slice
    bool is_nd;             // ScatterNd's form
    const char *shape_name; // the name of the tensor's shape in messages
    bool ignores;           // ignores indices out of range (attr bad_indices_policy)
} bd_slices;

// Reads the form of `indices` for slices of a tensor of shape `of`. False: the kernel has failed.
bool bd_slices_init(bd_op_ctx *c, bd_slices *s, bool is_nd, const braid_shape *of,
                    const braid_tensor *indices);
// The shape of all selected slices, one after the other: the shape of updates, or of GatherNd's output.
bool bd_slices_shape(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_shape *indices,
                     braid_shape *out);
// Returns the first element of slice `i`; -1: the index is out of range, and the kernel has failed unless
// such indices are ignored. Indices in a variable's memory may change between two reads.
int64_t bd_slices_at(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_tensor *indices,
                     int64_t i);

// Whether `updates` fit the slices of a tensor of shape `of` that `indices` name. False: the kernel has
// failed.
bool bd_scatter_fits(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_tensor *indices,
                     const braid_tensor *updates);
// Updates the slices of `to`, one after the other; without `update` they are replaced, for any type.
// `updates` may be a scalar for all elements. False: the kernel has failed; slices before a bad index have
// been updated.
bool bd_scatter(bd_op_ctx *c, const braid_tensor *to, const bd_slices *s, const braid_tensor *indices,
                const braid_tensor *updates, bd_update_fn update);

// The shape of the slices that `indices` select, as far as shape functions know it. False for shapes that
// cannot match.
bool bd_slices_known_shape(bool is_nd, const braid_shape *of, const braid_shape *indices, braid_shape *out);

// Checks inputs `indices` (of ScatterNd's form) and `updates` for a tensor of shape `of`.
braid_code bd_shape_ctx_updates(bd_shape_ctx *c, const braid_shape *of, int indices, int updates,
                                braid_status *st);

// The attributes of ops of ScatterNd's form besides their types; and the GatherNd or scattering op `op` of a
// gradient, with the policy of the differentiated op.
#define BD_BAD_INDICES_ATTR "; +bad_indices_policy:string=''"
braid_out bd_grad_by_slices(bd_grad_ctx *c, const char *op, braid_out first, braid_out second,
                            const braid_out *third);

#endif

// What begin, end, strides and masks of StridedSlice mean for a tensor of a given shape.
#ifndef BD_OPS_ARRAY_STRIDED_SLICE_H
#define BD_OPS_ARRAY_STRIDED_SLICE_H

#include "op/kernel.h"

// Most entries of a specification: one a dimension, new axes and an ellipsis.
#define BD_STRIDED_SPEC_MAX (2 * BRAID_RANK_MAX + 1)

// As given: one entry a bracketed item, x[a:b:c, ..., None, i].
typedef struct bd_strided_spec {
    int count;
    bool values_known; // begin and end; else only masks and strides say something
    int64_t begin[BD_STRIDED_SPEC_MAX], end[BD_STRIDED_SPEC_MAX], strides[BD_STRIDED_SPEC_MAX];
    unsigned begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
} bd_strided_spec;

// Reads the masks from a node's attrs.
void bd_strided_spec_masks(bd_strided_spec *spec, const braid_op *node);

// What it selects: from `begin` on, each `stride` on, `block` elements along each input dimension (-1:
// unknown), which are put out in shape `out` (dimensions shrunk away and new ones of size 1 put in).
typedef struct bd_strided_selection {
    int64_t begin[BRAID_RANK_MAX], strides[BRAID_RANK_MAX];
    braid_shape block, out;
} bd_strided_selection;

// `shape` has a known rank; unknown dimensions are allowed. InvalidArgument: an index out of bounds, a stride
// of 0, too many items, several ellipses.
braid_code bd_strided_select(const bd_strided_spec *spec, const braid_shape *shape, bd_strided_selection *out,
                             braid_status *st);

// Reads a kernel's inputs `first` (begin), first + 1 (end) and first + 2 (strides), and works out what they
// select of `shape`. False: the kernel has failed.
bool bd_strided_read(bd_op_ctx *c, int first, const braid_shape *shape, bd_strided_selection *sel);

#endif

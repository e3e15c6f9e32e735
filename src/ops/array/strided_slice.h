// Selections of StridedSlice: what begin, end, strides and masks select from a tensor of a given shape.
#ifndef BD_OPS_ARRAY_STRIDED_SLICE_H
#define BD_OPS_ARRAY_STRIDED_SLICE_H

#include "op/kernel.h"

// The maximum number of entries: one for each dimension, new axes and an ellipsis.
#define BD_STRIDED_SPEC_MAX (2 * BRAID_RANK_MAX + 1)

// A selection as the node's inputs and attrs give it: one entry for each bracketed item of x[a:b:c, ...,
// None, i].
typedef struct bd_strided_spec {
    int count;
    // whether begin and end are known; if not, the result follows from masks and strides alone
    bool values_known;
    int64_t begin[BD_STRIDED_SPEC_MAX], end[BD_STRIDED_SPEC_MAX], strides[BD_STRIDED_SPEC_MAX];
    unsigned begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
} bd_strided_spec;

// Reads the masks from the node's attrs.
void bd_strided_spec_masks(bd_strided_spec *spec, const braid_op *node);

// The selected elements: along each input dimension `block` elements (-1: unknown), from `begin` on, `stride`
// apart. `out` is the output's shape, without shrunk dimensions and with new ones of size 1.
typedef struct bd_strided_selection {
    int64_t begin[BRAID_RANK_MAX], strides[BRAID_RANK_MAX];
    braid_shape block, out;
} bd_strided_selection;

// Resolves `spec` for a tensor of shape `shape`, whose rank must be known; dimensions may be -1.
// InvalidArgument: an index out of bounds, a stride of 0, too many items, several ellipses.
braid_code bd_strided_select(const bd_strided_spec *spec, const braid_shape *shape, bd_strided_selection *out,
                             braid_status *st);

// Reads the inputs `first` (begin), first + 1 (end) and first + 2 (strides) of a kernel and sets *sel to the
// elements they select from `shape`. False: the kernel has failed.
bool bd_strided_read(bd_op_ctx *c, int first, const braid_shape *shape, bd_strided_selection *sel);

#endif

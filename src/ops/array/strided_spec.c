// Resolves the bracketed items of StridedSlice to a range along each dimension.
//
// First the items, with ellipsis and new axes, are assigned to the input's dimensions; then the range of each
// dimension is computed like a Python slice.
#include "ops/array/strided_slice.h"

void bd_strided_spec_masks(bd_strided_spec *spec, const braid_op *node)
{
    spec->begin_mask = (unsigned)bd_node_attr_int(node, "begin_mask");
    spec->end_mask = (unsigned)bd_node_attr_int(node, "end_mask");
    spec->ellipsis_mask = (unsigned)bd_node_attr_int(node, "ellipsis_mask");
    spec->new_axis_mask = (unsigned)bd_node_attr_int(node, "new_axis_mask");
    spec->shrink_axis_mask = (unsigned)bd_node_attr_int(node, "shrink_axis_mask");
}

// The items assigned to the input's dimensions, and the source of each output dimension.
typedef struct dense_spec {
    int64_t begin[BRAID_RANK_MAX], end[BRAID_RANK_MAX], strides[BRAID_RANK_MAX];
    bool begin_open[BRAID_RANK_MAX], end_open[BRAID_RANK_MAX], shrink[BRAID_RANK_MAX];
    int out_count;
    int out[BD_STRIDED_SPEC_MAX + BRAID_RANK_MAX]; // an input dimension, or NEW_AXIS
} dense_spec;

enum {
    NEW_AXIS = -1
};

static void fill_open(dense_spec *d, int *dim, int to)
{
    for (; *dim < to; (*dim)++) {
        d->begin[*dim] = d->end[*dim] = 0;
        d->strides[*dim] = 1;
        d->begin_open[*dim] = d->end_open[*dim] = true;
        d->shrink[*dim] = false;
        d->out[d->out_count++] = *dim;
    }
}

static void put_item(dense_spec *d, int dim, const bd_strided_spec *spec, int i)
{
    unsigned bit = 1u << i;
    d->begin[dim] = spec->begin[i];
    d->end[dim] = spec->end[i];
    d->strides[dim] = spec->strides[i];
    d->begin_open[dim] = spec->begin_mask & bit;
    d->end_open[dim] = spec->end_mask & bit;
    d->shrink[dim] = spec->shrink_axis_mask & bit;
    if (!d->shrink[dim]) d->out[d->out_count++] = dim;
}

static braid_code spread(const bd_strided_spec *spec, int rank, dense_spec *d, braid_status *st)
{
    int ellipsis = -1, new_axes_after = 0;
    for (int i = 0; i < spec->count; i++) {
        if (spec->ellipsis_mask >> i & 1) {
            if (ellipsis >= 0)
                return bd_fail(st, BRAID_INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed");
            ellipsis = i;
        } else if (ellipsis >= 0 && spec->new_axis_mask >> i & 1) {
            new_axes_after++;
        }
    }
    int dim = 0;
    d->out_count = 0;
    for (int i = 0; i < spec->count; i++) {
        if (i == ellipsis) {
            int items_after = spec->count - 1 - i - new_axes_after;
            fill_open(d, &dim, rank - items_after < rank ? rank - items_after : rank);
        } else if (spec->new_axis_mask >> i & 1) {
            d->out[d->out_count++] = NEW_AXIS;
        } else if (dim == rank) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Index out of range using input dim %d; input has only %d dims", dim, rank);
        } else {
            put_item(d, dim++, spec, i);
        }
    }
    fill_open(d, &dim, rank);
    return BRAID_OK;
}

// Resolves a bound that counts from the end, and clamps it to the range that the stride can reach.
static int64_t clamp_bound(int64_t x, int64_t dim, int64_t stride)
{
    int64_t least = stride > 0 ? 0 : -1, most = stride > 0 ? dim : dim - 1;
    if (x < 0) x += dim;
    return x < least ? least : x > most ? most : x;
}

// Computes the start and the number of elements of dimension `i`.
static braid_code select_dim(const dense_spec *d, bool values_known, int i, int64_t dim,
                             bd_strided_selection *out, braid_status *st)
{
    int64_t stride = d->strides[i];
    if (stride == 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "strides[%d] must be non-zero", i);
    if (d->shrink[i] && stride < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing.");
    out->strides[i] = stride;
    out->begin[i] = 0;
    if (d->shrink[i]) {
        out->block.dims[i] = 1;
        if (dim < 0 || !values_known) return BRAID_OK;
        int64_t at = d->begin[i] < 0 ? d->begin[i] + dim : d->begin[i];
        if (at < 0 || at >= dim) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "slice index %lld of dimension %d out of bounds.",
                           (long long)d->begin[i], i);
        }
        out->begin[i] = at;
        return BRAID_OK;
    }
    out->block.dims[i] = -1;
    if (dim < 0 || (!values_known && !(d->begin_open[i] && d->end_open[i]))) return BRAID_OK;
    int64_t begin = d->begin_open[i] ? (stride > 0 ? 0 : dim - 1) : clamp_bound(d->begin[i], dim, stride);
    int64_t end = d->end_open[i] ? (stride > 0 ? dim : -1) : clamp_bound(d->end[i], dim, stride);
    int64_t length = end - begin;
    out->begin[i] = begin;
    if (length == 0 || (length < 0) != (stride < 0))
        out->block.dims[i] = 0;
    else
        out->block.dims[i] = length / stride + (length % stride != 0);
    return BRAID_OK;
}

braid_code bd_strided_select(const bd_strided_spec *spec, const braid_shape *shape, bd_strided_selection *out,
                             braid_status *st)
{
    dense_spec d;
    braid_code code = spread(spec, shape->rank, &d, st);
    if (code) return code;
    out->block.rank = shape->rank;
    for (int i = 0; i < shape->rank; i++) {
        code = select_dim(&d, spec->values_known, i, shape->dims[i], out, st);
        if (code) return code;
    }
    if (d.out_count > BRAID_RANK_MAX) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The slice has %d dimensions, at most %d are possible",
                       d.out_count, BRAID_RANK_MAX);
    }
    out->out.rank = d.out_count;
    for (int i = 0; i < d.out_count; i++)
        out->out.dims[i] = d.out[i] == NEW_AXIS ? 1 : out->block.dims[d.out[i]];
    return BRAID_OK;
}

// ReduceSliceX: joins slices of a tensor along an axis, each into one row.
//
// Slice i is [start, end) by row i of the indices, or [indices[i], indices[i + 1]) of a vector. An end beyond
// the tensor is its end.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/math/segment.h"

#define REDUCE_SLICE_CREATE(NAME, OP)                                                                        \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bd_segment_bind(node, OP, state);                                                                    \
        return BRAID_OK;                                                                                     \
    }
REDUCE_SLICE_CREATE(sum, BD_SEGMENT_SUM)
REDUCE_SLICE_CREATE(prod, BD_SEGMENT_PROD)
REDUCE_SLICE_CREATE(min, BD_SEGMENT_MIN)
REDUCE_SLICE_CREATE(max, BD_SEGMENT_MAX)

// How many slices indices of this shape make; -1: not known.
static int64_t slices_of(const braid_shape *indices)
{
    if (indices->rank < 0 || indices->dims[0] < 0) return -1;
    const bool is_pairs = indices->rank == 2 && indices->dims[1] != 1;
    return is_pairs || indices->dims[0] == 0 ? indices->dims[0] : indices->dims[0] - 1;
}

static braid_code reduce_slice_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0], *indices = &c->inputs[1];
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (code) return code;
    if (data->rank == 0 || indices->rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (indices->rank > 2)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 2 but is rank %d", indices->rank);
    if (indices->rank == 2 && indices->dims[1] >= 0 && indices->dims[1] != 2)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and 2",
                                 (long long)indices->dims[1]);
    int64_t axis;
    c->outputs[0] = *data;
    if (data->rank < 0) return BRAID_OK;
    if (bd_shape_ctx_constant_int(c, 2, &axis)) {
        if (axis < 0 || axis >= data->rank)
            return bd_shape_ctx_fail(c, st, "Out of range dim_index %lld for shape with %d dimensions",
                                     (long long)axis, data->rank);
        // A second dimension that is not known may be 1.
        c->outputs[0].dims[axis] = indices->rank == 2 && indices->dims[1] < 0 ? -1 : slices_of(indices);
    } else {
        for (int d = 0; d < data->rank; d++)
            c->outputs[0].dims[d] = -1;
    }
    return BRAID_OK;
}

typedef struct reduction {
    const bd_segment_state *state;
    const braid_tensor *data, *indices, *out;
    int64_t step;          // from one slice to the next in the indices
    int64_t bound, slices; // sizes of the axis in the data and in the output
    int64_t inner;         // elements of a row
} reduction;

// Rows [from, to) of the output.
static void reduce_rows(void *arg, int64_t from, int64_t to)
{
    const reduction *r = arg;
    const size_t row = (size_t)r->inner * braid_dtype_size(r->out->dtype);
    for (int64_t n = from; n < to && !bd_interrupted(); n++) {
        char *out = (char *)r->out->data + (size_t)n * row;
        const char *data = (const char *)r->data->data + (size_t)(n / r->slices * r->bound) * row;
        const int64_t at = n % r->slices * r->step;
        // They were checked, but those of a variable may change.
        const int64_t start = bd_max(bd_tensor_index(r->indices, at), (int64_t)0),
                      end = bd_min(bd_tensor_index(r->indices, at + 1), r->bound);
        bd_segment_fill_empty(r->state->op, r->out->dtype, out, r->inner);
        for (int64_t i = start; i < end && !bd_interrupted_at(i); i++)
            r->state->join(data + (size_t)i * row, out, out, r->inner, BD_SINGLE_NONE);
    }
}

static bool check_inputs(bd_op_ctx *c, int64_t *axis)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *indices = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (!bd_input_scalar_index(c, 2, "axis", axis)) return false;
    if (*axis < 0 || *axis >= data->rank)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis must be in [0, %d), but is %lld", data->rank,
                   (long long)*axis);
    else if (indices->rank < 1 || indices->rank > 2 || (indices->rank == 2 && indices->dims[1] > 2) ||
             (indices->rank == 2 && indices->dims[1] == 0))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices must have the shape [n] or [n,2], not %s",
                   bd_shape_str(indices, text));
    return !bd_op_failed(c);
}

static void reduce_slice_run(bd_op_ctx *c)
{
    int64_t axis;
    if (!check_inputs(c, &axis)) return;
    reduction r = {.state = c->state, .data = bd_input(c, 0), .indices = bd_input(c, 1)};
    const braid_shape *indices = &r.indices->shape;
    braid_shape shape = r.data->shape;
    r.slices = shape.dims[axis] = slices_of(indices);
    r.step = indices->rank == 2 && indices->dims[1] == 2 ? 2 : 1;
    for (int64_t i = 0; i < r.slices && !bd_interrupted_at(i); i++) {
        const int64_t start = bd_tensor_index(r.indices, i * r.step);
        if (start >= 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the start of slice %lld is %lld, below 0", (long long)i,
                   (long long)start);
        return;
    }
    if (bd_op_interrupted(c)) return;
    int64_t count;
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    r.out = bd_output(c, 0, r.data->dtype, &shape);
    if (!r.out || count == 0) return;
    r.bound = r.data->shape.dims[axis];
    r.inner = bd_shape_count_range(&shape, (int)axis + 1, shape.rank);
    const int64_t rows = bd_shape_count_range(&shape, 0, (int)axis + 1);
    const int64_t cost =
        bd_max(r.inner * bd_max(r.bound / bd_max(r.slices, (int64_t)1), (int64_t)1), (int64_t)1);
    bd_parallel_for(c, rows, bd_max((int64_t)16384 / cost, (int64_t)1), reduce_rows, &r);
}

#define REDUCE_SLICE_SIGNATURE "(data: T, indices: Tindices, axis: int64) -> (output: T)"
#define REDUCE_SLICE_KERNELS(NAME, TYPES, FLAGS)                                                             \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS | (FLAGS),                                   \
                .state_size = sizeof(bd_segment_state),                                                      \
                .create = create_##NAME,                                                                     \
                .run = reduce_slice_run})
#define REDUCE_SLICE_DEVIATION                                                                               \
    "A start below 0 is refused, where TensorFlow reads before the data; inferred shapes are the output's, " \
    "where TensorFlow takes the indices' for the data's."
#define REDUCE_SLICE_DOC                                                                                     \
    " of slices along `axis`: from start to end by the rows of `indices`, or from each element to the next " \
    "one of a vector. "

BD_OP(ReduceSliceSum) = {
    .signature = REDUCE_SLICE_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = reduce_slice_shape,
    .kernels = REDUCE_SLICE_KERNELS(sum, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Sums" REDUCE_SLICE_DOC "That of an empty slice is 0.",
    .deviation = REDUCE_SLICE_DEVIATION,
};

BD_OP(ReduceSliceProd) = {
    .signature = REDUCE_SLICE_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = reduce_slice_shape,
    .kernels = REDUCE_SLICE_KERNELS(prod, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Products" REDUCE_SLICE_DOC "That of an empty slice is 1.",
    .deviation = REDUCE_SLICE_DEVIATION,
};

BD_OP(ReduceSliceMax) = {
    .signature = REDUCE_SLICE_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = reduce_slice_shape,
    .kernels = REDUCE_SLICE_KERNELS(max, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc = "Maxima" REDUCE_SLICE_DOC "That of an empty slice is the least value of the type.",
    .deviation = REDUCE_SLICE_DEVIATION,
};

BD_OP(ReduceSliceMin) = {
    .signature = REDUCE_SLICE_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = reduce_slice_shape,
    .kernels = REDUCE_SLICE_KERNELS(min, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc = "Minima" REDUCE_SLICE_DOC "That of an empty slice is the greatest value of the type.",
    .deviation = REDUCE_SLICE_DEVIATION,
};

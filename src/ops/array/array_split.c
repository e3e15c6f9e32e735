// Split and SplitV: cut a tensor along an axis into pieces of equal size, or of given sizes.
#include "graph/grad.h"
#include "ops/common/element.h"

// Reads the axis from input `i`, for a tensor of rank `rank`; -1: the kernel has failed.
static int read_axis(bd_op_ctx *c, int i, int rank)
{
    int64_t axis;
    if (!bd_input_int(c, i, "split_dim", &axis)) return -1;
    if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "-input rank(-%d) <= split_dim < input rank (%d), but got %lld",
               rank, rank, (long long)axis);
    return -1;
}

// ---- Split ----

static braid_code split_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape piece = c->inputs[1];
    int64_t axis;
    if (piece.rank < 0) return BRAID_OK;
    if (bd_shape_ctx_constant_int(c, 0, &axis)) {
        braid_code code = bd_shape_ctx_axis(c, piece.rank, &axis, st);
        if (code) return code;
        if (piece.dims[axis] >= 0 && piece.dims[axis] % c->output_count) {
            return bd_shape_ctx_fail(c, st,
                                     "Dimension size must be evenly divisible by %d but is %lld\n\tNumber of "
                                     "ways to split should evenly divide the split dimension",
                                     c->output_count, (long long)piece.dims[axis]);
        }
        if (piece.dims[axis] >= 0) piece.dims[axis] /= c->output_count;
    } else {
        for (int d = 0; d < piece.rank; d++)
            piece.dims[d] = -1;
    }
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = piece;
    return BRAID_OK;
}

static void split_run(bd_op_ctx *c)
{
    const braid_tensor *value = bd_input(c, 1);
    if (bd_input(c, 0)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "split_dim must be a scalar but has rank %d",
                   bd_input(c, 0)->shape.rank);
        return;
    }
    int axis = read_axis(c, 0, value->shape.rank);
    if (axis < 0) return;
    int64_t dim = value->shape.dims[axis];
    if (dim % c->output_count) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Number of ways to split should evenly divide the split dimension, but got split_dim %d (size = "
            "%lld) and num_split %d",
            axis, (long long)dim, c->output_count);
        return;
    }
    int64_t size = dim / c->output_count;
    for (int i = 0; i < c->output_count; i++) {
        if (!bd_output_piece(c, i, value, axis, i * size, size)) return;
    }
}

// tf.concat(grads, axis)
static braid_out concat_grads(bd_grad_ctx *c, braid_out axis)
{
    if (braid_op_num_outputs(c->op) == 1) return c->output_grads[0]; // ConcatV2 takes two or more
    braid_op_desc *d = braid_op_begin(c->graph, "ConcatV2", "concat");
    braid_op_input_list(d, c->output_grads, braid_op_num_outputs(c->op));
    braid_op_input(d, axis);
    return braid_op_end_out(d);
}

static void split_gradient(bd_grad_ctx *c)
{
    c->input_grads[1] = concat_grads(c, braid_op_get_input(c->op, 0));
}

BD_OP(Split) = {
    .signature = "(split_dim: int32, value: T) -> (output: num_split*T)",
    .attrs = "num_split:int>=1; T:type",
    .shape = split_shape,
    .gradient = split_gradient,
    .kernels = BD_KERNELS({.run = split_run}),
    .doc = "Splits a tensor into num_split equal pieces along an axis.",
};

// ---- SplitV ----

// Sets the sizes of the outputs along the axis, whose length is `dim` (-1: unknown), from vector `sizes`. One
// size may be -1: the remaining length.
static braid_code set_sizes(bd_shape_ctx *c, const braid_tensor *sizes, int64_t axis, int64_t length,
                            braid_status *st)
{
    int64_t sum = 0;
    int rest = -1;
    for (int i = 0; i < c->output_count; i++) {
        int64_t size = bd_tensor_index(sizes, i);
        if (size == -1 && rest >= 0) return bd_shape_ctx_fail(c, st, "size_splits can only have one -1");
        if (size < -1 || (size >= 0 && __builtin_add_overflow(sum, size, &sum)))
            return bd_shape_ctx_fail(c, st, "Split size at index %d must be >= 0. Got: %lld", i,
                                     (long long)size);
        if (size == -1) rest = i;
        c->outputs[i].dims[axis] = size;
    }
    if (length >= 0 && (rest < 0 ? sum != length : sum > length))
        return bd_shape_ctx_fail(c, st, "can't split axis of size %lld into pieces of size %lld in all",
                                 (long long)length, (long long)sum);
    if (rest >= 0) c->outputs[rest].dims[axis] = length < 0 ? -1 : length - sum;
    return BRAID_OK;
}

static braid_code split_v_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape piece = c->inputs[0];
    int64_t axis;
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    const braid_tensor *sizes = bd_shape_ctx_constant(c, 1);
    int64_t given = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (!code && given >= 0 && given != c->output_count)
        code = bd_shape_ctx_fail(c, st, "Length of size_splits should be equal to num_outputs: %lld and %d",
                                 (long long)given, c->output_count);
    if (code || piece.rank < 0) return code;
    bool axis_known = bd_shape_ctx_constant_int(c, 2, &axis);
    if (axis_known) code = bd_shape_ctx_axis(c, piece.rank, &axis, st);
    if (code) return code;
    int64_t length = axis_known ? piece.dims[axis] : -1;
    for (int d = 0; d < piece.rank; d++)
        if (!axis_known || d == axis) piece.dims[d] = -1;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = piece;
    return axis_known && sizes ? set_sizes(c, sizes, axis, length, st) : BRAID_OK;
}

// Reads the sizes from input 1 and replaces a -1 by the remaining length; false: the kernel has failed.
static bool read_sizes(bd_op_ctx *c, int64_t dim, int64_t *sizes)
{
    const braid_tensor *t = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 1 || t->shape.dims[0] != c->output_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "size of the split_tensor must be 1-D and have %d elements, but got shape %s",
                   c->output_count, bd_shape_str(&t->shape, text));
        return false;
    }
    int64_t sum = 0;
    int rest = -1;
    for (int i = 0; i < c->output_count; i++) {
        sizes[i] = bd_tensor_index(t, i);
        if (sizes[i] == -1 && rest < 0) {
            rest = i;
        } else if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Split size at index %d must be >= 0. Got: %lld%s", i,
                       (long long)sizes[i], sizes[i] == -1 ? ", which another size is, too" : "");
            return false;
        }
    }
    if (rest >= 0 ? sum > dim : sum != dim) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be "
            "less than the size of the input along split_dim if not fully specified. Got: %lld of %lld",
            (long long)sum, (long long)dim);
        return false;
    }
    if (rest >= 0) sizes[rest] = dim - sum;
    return true;
}

static void split_v_run(bd_op_ctx *c)
{
    const braid_tensor *value = bd_input(c, 0);
    int axis = read_axis(c, 2, value->shape.rank);
    if (axis < 0) return;
    int64_t *sizes = bd_calloc((size_t)c->output_count, sizeof *sizes);
    bool ok = read_sizes(c, value->shape.dims[axis], sizes);
    int64_t at = 0;
    for (int i = 0; ok && i < c->output_count; i++) {
        ok = bd_output_piece(c, i, value, axis, at, sizes[i]);
        at += sizes[i];
    }
    bd_free(sizes);
}

static void split_v_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = concat_grads(c, braid_op_get_input(c->op, 2));
}

BD_OP(SplitV) = {
    .signature = "(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split*T)",
    .attrs = "num_split:int>=1; T:type; Tlen:type{int32,int64}=int64",
    .shape = split_v_shape,
    .gradient = split_v_gradient,
    .kernels = BD_KERNELS({.run = split_v_run}),
    .doc =
        "Splits a tensor into pieces of the given sizes along an axis; one size may be -1, the remaining length.",
};

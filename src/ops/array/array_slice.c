// Slice: copies a block of a tensor.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

// ---- Slice ----

static braid_code slice_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_tensor *begin = bd_shape_ctx_constant(c, 1), *size = bd_shape_ctx_constant(c, 2);
    braid_shape in = c->inputs[0], out = {.rank = in.rank};
    for (int i = 1; i <= 2; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 1, st);
        if (code) return code;
        int64_t count = c->inputs[i].rank == 1 ? c->inputs[i].dims[0] : -1;
        if (count < 0) continue;
        if (count > BRAID_RANK_MAX || (out.rank >= 0 && count != out.rank)) {
            return bd_shape_ctx_fail(
                c, st, "Slice: begin and size need one element a dimension, but have %lld", (long long)count);
        }
        out.rank = (int)count;
    }
    if (out.rank < 0) return BRAID_OK;
    for (int d = 0; d < out.rank; d++) {
        int64_t b = begin ? bd_tensor_index(begin, d) : -1, n = size ? bd_tensor_index(size, d) : -2;
        int64_t dim = in.rank >= 0 ? in.dims[d] : -1;
        out.dims[d] = n >= 0 ? n : -1;
        if (n == -1 && b >= 0 && dim >= 0) out.dims[d] = dim - b;
        if (dim >= 0 && ((n >= 0 && bd_max(b, 0) > dim - n) || b > dim)) {
            return bd_shape_ctx_fail(c, st, "Expected begin[%d] + size[%d] <= %lld, but got %lld and %lld", d,
                                     d, (long long)dim, (long long)b, (long long)n);
        }
    }
    c->outputs[0] = out;
    return BRAID_OK;
}

// Checks begin and size of one dimension. A size of -1 is replaced by the remaining size.
static bool check_range(bd_op_ctx *c, int d, int64_t dim, int64_t begin, int64_t *size)
{
    if (*size == -1) *size = dim - begin;
    if (begin < 0 || begin > dim) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected begin[%d] in [0, %lld], but got %lld", d,
                   (long long)dim, (long long)begin);
        return false;
    }
    if (*size < 0 || *size > dim - begin) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected size[%d] in [0, %lld], but got %lld", d,
                   (long long)(dim - begin), (long long)*size);
        return false;
    }
    return true;
}

static void slice_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    int64_t begin[BRAID_RANK_MAX], size[BRAID_RANK_MAX];
    const braid_shape *begins = &bd_input(c, 1)->shape, *sizes = &bd_input(c, 2)->shape;
    if (begins->rank != 1 || sizes->rank != 1 || begins->dims[0] != rank || sizes->dims[0] != rank) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes %s and %s "
                   "instead.",
                   rank, bd_shape_str(begins, a), bd_shape_str(sizes, b));
        return;
    }
    for (int d = 0; d < rank; d++) {
        begin[d] = bd_tensor_index(bd_input(c, 1), d);
        size[d] = bd_tensor_index(bd_input(c, 2), d);
    }
    braid_shape out = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        if (!check_range(c, d, x->shape.dims[d], begin[d], &size[d])) return;
        out.dims[d] = size[d];
    }
    bd_output_block(c, 0, x, begin, NULL, &out, &out);
}

// tf.pad(grad, [[begin, shape(x) - shape(y) - begin]]) for each dimension
static void slice_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = braid_op_get_input(c->op, 0), begin = braid_op_get_input(c->op, 1);
    braid_dtype index = braid_out_dtype(begin);
    braid_out rank = bd_grad_rank(g, x);
    braid_out size = bd_grad_shape(g, braid_output(c->op, 0), index);
    braid_out column = bd_grad_stack_with(g, "stack", rank, 1);
    braid_out pads[2];
    pads[0] = bd_b2(g, "Reshape", "Reshape", begin, column);
    braid_out rest = bd_b2(g, "Sub", "sub", bd_grad_shape(g, x, index), size);
    rest = bd_b2(g, "Sub", "sub", rest, begin);
    pads[1] = bd_b2(g, "Reshape", "Reshape", rest, column);
    c->input_grads[0] = bd_b2(g, "Pad", "Pad", c->output_grads[0], bd_grad_concat(g, pads, 2, 1));
}

BD_OP(Slice) = {
    .signature = "(input: T, begin: Index, size: Index) -> (output: T)",
    .attrs = "T:type; Index:type{int32,int64}",
    .shape = slice_shape,
    .gradient = slice_gradient,
    .kernels = BD_KERNELS({.run = slice_run}),
    .doc = "The block of `size` elements that starts at `begin`; a size of -1 means all remaining elements.",
};

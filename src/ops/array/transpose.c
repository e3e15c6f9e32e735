// Transpose, ConjugateTranspose and InvertPermutation.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/math/complex_ops.h"

// ---- Transpose ----

static braid_code transpose_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    braid_shape in = c->inputs[0];
    int64_t length = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (in.rank >= 0 && length >= 0 && length != in.rank)
        return bd_shape_ctx_fail(c, st, "Dimension must be %d but is %lld", in.rank, (long long)length);
    int64_t rank = in.rank >= 0 ? in.rank : length;
    if (rank < 0 || rank > BRAID_RANK_MAX) return BRAID_OK;
    if (in.rank < 0 && rank < 2) return BRAID_OK; // for scalars, too, TensorFlow's Python writes [0]
    c->outputs[0].rank = (int)rank;
    for (int d = 0; d < rank; d++)
        c->outputs[0].dims[d] = -1;
    const braid_tensor *perm = bd_shape_ctx_constant(c, 1);
    for (int d = 0; perm && in.rank >= 0 && d < rank; d++) {
        int64_t from = bd_tensor_index(perm, d);
        if (from < 0 || from >= rank)
            return bd_shape_ctx_fail(c, st, "perm dim %lld is out of range of input rank %d", (long long)from,
                                     in.rank);
        c->outputs[0].dims[d] = in.dims[from];
    }
    return BRAID_OK;
}

static bool read_permutation(bd_op_ctx *c, int rank, int *perm)
{
    const braid_tensor *t = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "perm must be a vector, not %s", bd_shape_str(&t->shape, text));
        return false;
    }
    if (t->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "transpose expects a vector of size %d. But input(1) is a tensor of shape %s", rank,
                   bd_shape_str(&t->shape, text));
        return false;
    }
    unsigned seen = 0;
    for (int d = 0; d < rank; d++) {
        int64_t from = bd_tensor_index(t, d);
        if (from < 0 || from >= rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld is out of range [0 .. %d)", (long long)from, rank);
            return false;
        }
        perm[d] = (int)from;
        seen |= 1u << from;
    }
    for (int d = 0; d < rank; d++) {
        if (seen >> d & 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%d is missing from the permutation", d);
        return false;
    }
    return true;
}

// Returns whether only dimensions of size 1 move, so that the order of elements is unchanged.
static bool keeps_order(const braid_shape *in, const int *perm)
{
    int last = -1;
    for (int d = 0; d < in->rank; d++) {
        if (in->dims[perm[d]] == 1) continue;
        if (perm[d] < last) return false;
        last = perm[d];
    }
    return true;
}

static void transpose_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int perm[BRAID_RANK_MAX] = {0};
    if (!read_permutation(c, x->shape.rank, perm)) return;
    braid_shape out = {.rank = x->shape.rank};
    for (int d = 0; d < out.rank; d++)
        out.dims[d] = x->shape.dims[perm[d]];
    if (keeps_order(&x->shape, perm)) {
        braid_tensor same;
        bd_tensor_reshape(&same, x, &out);
        bd_output_set(c, 0, &same);
        bd_tensor_fini(&same);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &out);
    if (!y) return;
    bd_strided block = bd_strided_of(&out);
    int64_t from[BRAID_RANK_MAX];
    bd_row_strides(&x->shape, from);
    for (int d = 0; d < out.rank; d++)
        block.from_strides[d] = from[perm[d]];
    bd_elements_copy_block(y, 0, x, 0, &block);
}

static void transpose_gradient(bd_grad_ctx *c)
{
    braid_out inverse =
        bd_b1(c->graph, "InvertPermutation", "InvertPermutation", braid_op_get_input(c->op, 1));
    c->input_grads[0] = bd_b2(c->graph, "Transpose", "transpose", c->output_grads[0], inverse);
}

BD_OP(Transpose) = {
    .signature = "(x: T, perm: Tperm) -> (y: T)",
    .attrs = "T:type; Tperm:type{int32,int64}=int32",
    .shape = transpose_shape,
    .gradient = transpose_gradient,
    .kernels = BD_KERNELS({.run = transpose_run}),
    .doc = "Reorders dimensions: dimension d of the output is dimension perm[d] of the input.",
};

// ---- ConjugateTranspose ----

static void conjugate_transpose_run(bd_op_ctx *c)
{
    transpose_run(c);
    if (bd_op_failed(c) || !bd_dtype_is_complex(bd_input(c, 0)->dtype)) return;
    braid_tensor x;
    bd_tensor_ref(&x, &c->outputs[0].tensor);
    braid_tensor *y = bd_output(c, 0, x.dtype, &x.shape);
    if (y) bd_conjugate(&x, y);
    bd_tensor_fini(&x);
}

static void conjugate_transpose_gradient(bd_grad_ctx *c)
{
    braid_out inverse =
        bd_b1(c->graph, "InvertPermutation", "InvertPermutation", braid_op_get_input(c->op, 1));
    c->input_grads[0] = bd_b2(c->graph, "ConjugateTranspose", "transpose", c->output_grads[0], inverse);
}

BD_OP(ConjugateTranspose) = {
    .signature = "(x: T, perm: Tperm) -> (y: T)",
    .attrs = "T:type; Tperm:type{int32,int64}=int32",
    .shape = transpose_shape,
    .gradient = conjugate_transpose_gradient,
    .kernels = BD_KERNELS({.run = conjugate_transpose_run}),
    .doc = "Transpose that also conjugates complex numbers.",
};

// ---- InvertPermutation ----

static braid_code invert_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_rank(c, 0, 1, st);
}

static void invert_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (x->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "invert_permutation expects a 1D vector.");
        return;
    }
    int64_t n = x->shape.dims[0];
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y) return;
    bool wide = x->dtype == BRAID_INT64;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        if (wide)
            bd_tensor_i64(y)[i] = -1;
        else
            bd_tensor_i32(y)[i] = -1;
    }
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        int64_t at = bd_tensor_index(x, i);
        if (at < 0 || at >= n) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld is not between 0 and %lld", (long long)at,
                       (long long)n);
            return;
        }
        if (bd_tensor_index(y, at) != -1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld is duplicated in the input.", (long long)at);
            return;
        }
        if (wide)
            bd_tensor_i64(y)[at] = i;
        else
            bd_tensor_i32(y)[at] = (int32_t)i;
    }
}

BD_OP(InvertPermutation) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = invert_shape,
    .kernels = BD_KERNELS({.run = invert_run}),
    .doc = "The inverse of permutation `x`.",
};

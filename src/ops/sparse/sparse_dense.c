// SparseDenseCwiseAdd, SparseDenseCwiseMul and SparseDenseCwiseDiv: combine the entries of a sparse tensor
// with elements of a dense one that is broadcast to its shape.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/sparse/sparse.h"
#include "ops/state/variable.h"

#include <string.h>

static braid_code entries_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(bd_shape_dim(&c->inputs[0], 0));
    return bd_shape_ctx_rank(c, 0, 2, st);
}

// The strides of the dense tensor for the dimensions of the sparse one: 0 where it is broadcast.
static bool dense_strides(bd_op_ctx *c, const braid_shape *sparse, const braid_shape *dense, int64_t *strides)
{
    int64_t own[BRAID_RANK_MAX];
    int missing = sparse->rank - dense->rank;
    bool fits = missing >= 0;
    for (int d = 0; fits && d < dense->rank; d++)
        fits = dense->dims[d] == 1 || dense->dims[d] == sparse->dims[missing + d];
    if (!fits) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: %s "
                   "vs. %s",
                   bd_shape_str(sparse, a), bd_shape_str(dense, b));
        return false;
    }
    bd_row_strides(dense, own);
    for (int d = 0; d < sparse->rank; d++)
        strides[d] = d < missing || dense->dims[d - missing] == 1 ? 0 : own[d - missing];
    return true;
}

// The element of the dense tensor beside entry `i`. -1: the kernel has failed.
static int64_t dense_at(bd_op_ctx *c, const bd_sparse *s, const int64_t *strides, int64_t i)
{
    int64_t at = 0;
    for (int d = 0; d < s->shape.rank; d++) {
        int64_t index = bd_sparse_row(s, i)[d];
        if (index < 0 || index >= s->shape.dims[d]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape: "
                       "indices[%lld,%d] = %lld",
                       (long long)i, d, (long long)index);
            return -1;
        }
        at += index * strides[d];
    }
    return at;
}

// Of either sign, where the type has two.
static bool is_zero(const char *value, braid_dtype dtype)
{
    size_t size = braid_dtype_size(dtype);
    bool is_complex = dtype == BRAID_COMPLEX64 || dtype == BRAID_COMPLEX128;
    bool is_integer = (BD_DTYPE_BIT(dtype) & bd_dtypes_integer) != 0;
    size_t part = is_complex ? size / 2 : size;
    for (size_t i = 0; i < size; i++) {
        bool has_sign = !is_integer && i % part == part - 1;
        if (value[i] & (has_sign ? 0x7f : 0xff)) return false;
    }
    return true;
}

static void combine(bd_op_ctx *c, const bd_sparse *s, const int64_t *strides, bd_update_op op)
{
    const braid_tensor *dense = bd_input(c, 3);
    size_t size = braid_dtype_size(dense->dtype);
    bd_update_fn update = bd_update_function(dense->dtype, op);
    braid_tensor *y = bd_output_sparse_values(c, 0, dense->dtype, s->count);
    if (!y) return;
    bd_elements_copy(y, 0, s->values, 0, s->count);
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        int64_t at = dense_at(c, s, strides, i);
        if (at < 0) return;
        const char *other = (const char *)dense->data + (size_t)at * size;
        if (op == BD_UPDATE_DIV && is_zero(other, dense->dtype)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "SparseDenseCwiseDiv cannot divide by zero,but input dense tensor contains zero");
            return;
        }
        update((char *)y->data + (size_t)i * size, other, 1);
    }
}

static void entries_run(bd_op_ctx *c, bd_update_op op)
{
    BD_SPARSE(s);
    int64_t strides[BRAID_RANK_MAX];
    if (bd_sparse_input(c, 0, 1, 2, &s) && dense_strides(c, &s.shape, &bd_input(c, 3)->shape, strides))
        combine(c, &s, strides, op);
}

static void add_run(bd_op_ctx *c)
{
    entries_run(c, BD_UPDATE_ADD);
}

static void mul_run(bd_op_ctx *c)
{
    entries_run(c, BD_UPDATE_MUL);
}

static void div_run(bd_op_ctx *c)
{
    entries_run(c, BD_UPDATE_DIV);
}

// ---- Gradients ----

static braid_out int64_of(braid_graph *g, braid_out x)
{
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, x);
    braid_op_attr_type(d, "DstT", BRAID_INT64);
    return braid_op_end_out(d);
}

static braid_out ints(braid_graph *g, const int32_t *values, int count)
{
    return bd_b_const_i32_vector(g, "Const", values, count);
}

// How many dimensions the dense tensor lacks, as a vector of one.
static braid_out dims_missing(braid_graph *g, braid_out x_shape, braid_out y_shape)
{
    braid_out missing = bd_b2(g, "Sub", "sub", bd_grad_size(g, x_shape), bd_grad_size(g, y_shape));
    return bd_b2(g, "ExpandDims", NULL, missing, bd_b_const_i32(g, "ExpandDims/dim", 0));
}

// The indices of the dense tensor's elements for the entries: the entries' indices divided by the repetitions
// of each dimension, without the dimensions that it lacks.
static braid_out dense_indices(braid_graph *g, braid_out x_indices, braid_out x_shape, braid_out y_shape)
{
    braid_out missing = dims_missing(g, x_shape, y_shape);
    braid_out one = int64_of(g, bd_b_const_i32(g, "ones/Const", 1));
    braid_out ones = bd_b2(g, "Fill", "ones", missing, one);
    braid_out whole = bd_grad_concat(g, (braid_out[]){ones, y_shape}, 2, 0);
    braid_out scale = bd_b2(g, "FloorDiv", "floordiv", x_shape, whole);
    braid_out scaled = bd_b2(g, "FloorDiv", "floordiv", x_indices, scale);
    braid_out begin = bd_grad_concat(g, (braid_out[]){ints(g, (int32_t[]){0}, 1), missing}, 2, 0);
    return bd_b3(g, "Slice", NULL, scaled, begin, ints(g, (int32_t[]){-1, -1}, 2));
}

static void entries_gradient(bd_grad_ctx *c, bool is_mul)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], x = braid_op_get_input(c->op, 1), y = braid_op_get_input(c->op, 3);
    braid_out y_shape = int64_of(g, bd_b_shape(g, "Shape", y));
    braid_out indices = dense_indices(g, braid_op_get_input(c->op, 0), braid_op_get_input(c->op, 2), y_shape);
    braid_out dense = bd_b2(g, "GatherNd", NULL, y, indices), for_dense;
    if (is_mul) {
        c->input_grads[1] = bd_grad_mul(g, grad, dense);
        for_dense = bd_grad_mul(g, grad, x);
    } else {
        c->input_grads[1] = bd_b2(g, "RealDiv", "truediv", grad, dense);
        braid_out square = bd_b1(g, "Square", NULL, dense);
        for_dense = bd_grad_mul(g, grad, bd_b2(g, "RealDiv", "truediv", bd_b1(g, "Neg", NULL, x), square));
    }
    // Indices repeat where the dense tensor is broadcast: gradients are added up.
    braid_op_desc *d = braid_op_begin(g, "SparseTensorDenseAdd", NULL);
    braid_op_input(d, indices);
    braid_op_input(d, for_dense);
    braid_op_input(d, y_shape);
    braid_op_input(d, bd_grad_zeros_like(g, y));
    c->input_grads[3] = braid_op_end_out(d);
}

static void mul_gradient(bd_grad_ctx *c)
{
    entries_gradient(c, true);
}

static void div_gradient(bd_grad_ctx *c)
{
    entries_gradient(c, false);
}

#define SIGNATURE "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> (output: T)"

// TensorFlow registers a gradient that raises NotImplementedError.
BD_OP(SparseDenseCwiseAdd) = {
    .signature = SIGNATURE,
    .attrs = "T:type{number}",
    .shape = entries_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = add_run}),
    .doc = "The entries of a sparse tensor plus the elements of a dense one, broadcast to its shape, beside "
           "them.",
};

BD_OP(SparseDenseCwiseMul) = {
    .signature = SIGNATURE,
    .attrs = "T:type{number}",
    .shape = entries_shape,
    .gradient = mul_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = mul_run}),
    .doc = "The entries of a sparse tensor times the elements of a dense one, broadcast to its shape, beside "
           "them.",
};

BD_OP(SparseDenseCwiseDiv) = {
    .signature = SIGNATURE,
    .attrs = "T:type{number}",
    .shape = entries_shape,
    .gradient = div_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = div_run}),
    .doc = "The entries of a sparse tensor divided by the elements of a dense one, broadcast to its shape, "
           "beside them.",
};

// SparseTensorDenseMatMul: a sparse matrix times a dense one.
#include "base/half.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/sparse/sparse.h"

#include <complex.h>
#include <string.h>

static braid_code product_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape a = BD_SHAPE_UNKNOWN, b = c->inputs[3];
    bool adjoint_a = bd_node_attr_bool(c->node, "adjoint_a"),
         adjoint_b = bd_node_attr_bool(c->node, "adjoint_b");
    braid_code code = bd_shape_ctx_sparse(c, 0, 1, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 3, 2, st);
    if (code) return code;
    if (bd_shape_ctx_constant_shape(c, 2, &a) && a.rank >= 0 && a.rank != 2)
        return bd_shape_ctx_fail(c, st, "Shape must be rank 2 but is rank %d", a.rank);
    int64_t inner_a = bd_shape_dim(&a, adjoint_a ? 0 : 1), inner_b = bd_shape_dim(&b, adjoint_b ? 1 : 0);
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)inner_a,
                                 (long long)inner_b);
    c->outputs[0] = bd_shape2(bd_shape_dim(&a, adjoint_a ? 1 : 0), bd_shape_dim(&b, adjoint_b ? 0 : 1));
    return BRAID_OK;
}

// ---- The product ----

// out[m, :] += a b[k, :]; integers wrap around.
#define DEFINE_ADD_ROW(SUFFIX, TYPE, WIDE)                                                                   \
    static void add_row_##SUFFIX(void *out, const void *b, const void *a, int64_t columns)                   \
    {                                                                                                        \
        TYPE *y = out;                                                                                       \
        const TYPE *x = b, factor = *(const TYPE *)a;                                                        \
        for (int64_t n = 0; n < columns; n++)                                                                \
            y[n] = (TYPE)((WIDE)y[n] + (WIDE)factor * (WIDE)x[n]);                                           \
    }

DEFINE_ADD_ROW(f32, float, float)
DEFINE_ADD_ROW(f64, double, double)
DEFINE_ADD_ROW(i32, int32_t, uint32_t)
DEFINE_ADD_ROW(i64, int64_t, uint64_t)
DEFINE_ADD_ROW(c64, float _Complex, float _Complex)
DEFINE_ADD_ROW(c128, double _Complex, double _Complex)

// The same of numbers of 16 bits, of which each product and each sum is rounded.
#define DEFINE_ADD_ROW_16(SUFFIX, TO_FLOAT, OF_FLOAT)                                                        \
    static void add_row_##SUFFIX(void *out, const void *b, const void *a, int64_t columns)                   \
    {                                                                                                        \
        uint16_t *y = out;                                                                                   \
        const uint16_t *x = b;                                                                               \
        const float factor = TO_FLOAT(*(const uint16_t *)a);                                                 \
        for (int64_t n = 0; n < columns; n++)                                                                \
            y[n] = OF_FLOAT(TO_FLOAT(y[n]) + TO_FLOAT(OF_FLOAT(factor * TO_FLOAT(x[n]))));                   \
    }

DEFINE_ADD_ROW_16(half, bd_float_of_half, bd_half_of_float)
DEFINE_ADD_ROW_16(bfloat16, bd_float_of_bfloat16, bd_bfloat16_of_float)

typedef void (*add_row_fn)(void *out, const void *b, const void *a, int64_t columns);

static add_row_fn add_row_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_HALF: return add_row_half;
    case BRAID_BFLOAT16: return add_row_bfloat16;
    case BRAID_FLOAT: return add_row_f32;
    case BRAID_DOUBLE: return add_row_f64;
    case BRAID_INT32: return add_row_i32;
    case BRAID_COMPLEX64: return add_row_c64;
    case BRAID_COMPLEX128: return add_row_c128;
    default: return add_row_i64;
    }
}

// Conjugates complex numbers in place; other types are unchanged.
static void conjugate(void *values, braid_dtype dtype, int64_t count)
{
    float *f32 = values;
    double *f64 = values;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        if (dtype == BRAID_COMPLEX64) f32[2 * i + 1] = -f32[2 * i + 1];
        if (dtype == BRAID_COMPLEX128) f64[2 * i + 1] = -f64[2 * i + 1];
    }
}

static bool check_index(bd_op_ctx *c, const char *name, int64_t index, int64_t entry, int column,
                        int64_t limit)
{
    if (index >= 0 && index < limit) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s (%lld) from index[%lld,%d] out of bounds (>=%lld)", name,
               (long long)index, (long long)entry, column, (long long)limit);
    return false;
}

// `b` is [inner, columns].
static void multiply(bd_op_ctx *c, const bd_sparse *a, bool adjoint_a, const braid_tensor *b,
                     const braid_tensor *y)
{
    int left = adjoint_a ? 1 : 0;
    int64_t columns = b->shape.dims[1];
    size_t size = braid_dtype_size(y->dtype), row = (size_t)columns * size;
    add_row_fn add_row = add_row_of(y->dtype);
    for (int64_t i = 0; i < a->count && !bd_interrupted_at(i); i++) {
        int64_t m = bd_sparse_row(a, i)[left], k = bd_sparse_row(a, i)[1 - left];
        if (!check_index(c, "k", k, i, 1 - left, b->shape.dims[0]) ||
            !check_index(c, "m", m, i, left, y->shape.dims[0]))
            return;
        double factor[2]; // room for any number
        memcpy(factor, (const char *)a->values->data + (size_t)i * size, size);
        if (adjoint_a) conjugate(factor, y->dtype, 1);
        add_row((char *)y->data + (size_t)m * row, (const char *)b->data + (size_t)k * row, factor, columns);
    }
}

// The adjoint of b.
static bool transposed(bd_op_ctx *c, const braid_tensor *b, braid_tensor *t)
{
    braid_shape shape = bd_shape2(b->shape.dims[1], b->shape.dims[0]);
    if (!bd_tensor_alloc(t, b->dtype, &shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when transposing b");
        return false;
    }
    bd_strided block = bd_strided_of(&b->shape);
    block.to_strides[0] = 1;
    block.to_strides[1] = b->shape.dims[0];
    if (bd_tensor_count(b) > 0) bd_elements_copy_block(t, 0, b, 0, &block);
    if (t->dtype == BRAID_COMPLEX64 || t->dtype == BRAID_COMPLEX128)
        conjugate(t->data, t->dtype, bd_tensor_count(t));
    return true;
}

static bool check_operands(bd_op_ctx *c, const bd_sparse *a, bool adjoint_a, const braid_tensor *b,
                           bool adjoint_b, braid_shape *out)
{
    char text[BD_SHAPE_STR_MAX];
    if (a->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor 'a_shape' must have 2 elements");
        return false;
    }
    int64_t inner = a->shape.dims[adjoint_a ? 0 : 1], inner_b = b->shape.dims[adjoint_b ? 1 : 0];
    *out = bd_shape2(a->shape.dims[adjoint_a ? 1 : 0], b->shape.dims[adjoint_b ? 0 : 1]);
    if (inner == inner_b) return bd_sparse_check_size(c, out);
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "Cannot multiply A and B because inner dimension does not match: %lld vs. %lld. Did you forget "
        "a transpose? Dimensions of A: [%lld, %lld). Dimensions of B: %s",
        (long long)inner, (long long)inner_b, (long long)a->shape.dims[0], (long long)a->shape.dims[1],
        bd_shape_str(&b->shape, text));
    return false;
}

static void product_run(bd_op_ctx *c)
{
    const braid_tensor *b = bd_input(c, 3);
    bool adjoint_a = bd_node_attr_bool(c->node, "adjoint_a"),
         adjoint_b = bd_node_attr_bool(c->node, "adjoint_b");
    BD_SPARSE(a);
    braid_shape out;
    braid_tensor *y, turned = {0};
    if (b->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor 'b' is not a matrix");
        return;
    }
    if (!bd_sparse_input(c, 0, 1, 2, &a) || !check_operands(c, &a, adjoint_a, b, adjoint_b, &out) ||
        !(y = bd_output(c, 0, b->dtype, &out)))
        return;
    if (bd_tensor_count(y) > 0) memset(y->data, 0, (size_t)bd_tensor_count(y) * braid_dtype_size(y->dtype));
    if (bd_tensor_count(y) == 0 || (adjoint_b && !transposed(c, b, &turned))) return;
    multiply(c, &a, adjoint_a, adjoint_b ? &turned : b, y);
    bd_tensor_fini(&turned);
}

// ---- The gradient ----

// Column `i` of the indices.
static braid_out column(braid_graph *g, braid_out indices, int32_t i)
{
    return bd_grad_slice(g, indices,
                         &(bd_grad_index){.count = 2,
                                          .begin = {0, i},
                                          .end = {0, i + 1},
                                          .begin_mask = 1,
                                          .end_mask = 1,
                                          .shrink_axis_mask = 2});
}

static braid_out transpose(braid_graph *g, braid_out x)
{
    const char *scope = braid_push_name_scope(g, "transpose");
    braid_out out = bd_b2(g, "Transpose", scope, x, bd_b_const_i32_vector(g, "perm", (int32_t[]){1, 0}, 2));
    braid_pop_name_scope(g);
    return out;
}

static braid_out gather(braid_graph *g, braid_out params, braid_out rows)
{
    return bd_b3(g, "GatherV2", NULL, params, rows, bd_b_const_i32(g, "GatherV2/axis", 0));
}

// For b: the sparse matrix, the other way round, times the gradient. For each value of a: the product of the
// row of the gradient and that of b that it connects.
static void product_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out indices = braid_op_get_input(c->op, 0), b = braid_op_get_input(c->op, 3),
              grad = c->output_grads[0];
    bool adjoint_a = bd_node_attr_bool(c->op, "adjoint_a"), adjoint_b = bd_node_attr_bool(c->op, "adjoint_b");
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(b));
    if (dtype == BRAID_COMPLEX64 || dtype == BRAID_COMPLEX128) {
        braid_graph_fail(g, BRAID_UNIMPLEMENTED,
                         "SparseTensorDenseMatMul '%s' does not support complex gradients", c->op->name);
        return;
    }
    braid_op_desc *d = braid_op_begin(g, "SparseTensorDenseMatMul", NULL);
    for (int i = 0; i < 3; i++)
        braid_op_input(d, braid_op_get_input(c->op, i));
    braid_op_input(d, grad);
    braid_op_attr_bool(d, "adjoint_a", !adjoint_a);
    c->input_grads[3] = braid_op_end_out(d);
    if (adjoint_b) c->input_grads[3] = transpose(g, c->input_grads[3]);
    braid_out rows = column(g, indices, 0), columns = column(g, indices, 1);
    braid_out of_grad = gather(g, grad, adjoint_a ? columns : rows),
              of_b = gather(g, adjoint_b ? transpose(g, b) : b, adjoint_a ? rows : columns);
    c->input_grads[1] =
        bd_b2(g, "Sum", NULL, bd_grad_mul(g, of_grad, of_b), bd_b_const_i32(g, "Sum/reduction_indices", 1));
}

BD_OP(SparseTensorDenseMatMul) = {
    .signature = "(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> (product: T)",
    .attrs = "T:type; Tindices:type{int32,int64}=int64; adjoint_a:bool=false; adjoint_b:bool=false",
    .shape = product_shape,
    .gradient = product_gradient,
    .kernels = BD_KERNELS({.types = "T=half|bfloat16|float|double|int32|int64|complex64|complex128",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .run = product_run}),
    .doc = "The product of a sparse and a dense matrix, each first adjoined if its attr is set.",
};

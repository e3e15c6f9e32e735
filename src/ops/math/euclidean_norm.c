// EuclideanNorm: the square root of the sum of squares over axes.
#include "base/complex.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"

#include <math.h>
#include <string.h>

typedef struct adding {
    const braid_tensor *x;
    double *sums;
} adding;

// SQUARE is the square of `value`; for a complex number, of its absolute value.
#define ADD_SQUARES(NAME, T, WIDE, SQUARE)                                                                   \
    static void NAME(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at, int64_t from_stride,      \
                     int64_t n)                                                                              \
    {                                                                                                        \
        const adding *a = arg;                                                                               \
        const T *x = a->x->data;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            WIDE value = (WIDE)x[from_at + i * from_stride];                                                 \
            a->sums[to_at + i * to_stride] += (SQUARE);                                                      \
        }                                                                                                    \
    }
#define OF_COMPLEX creal(value) * creal(value) + cimag(value) * cimag(value)
ADD_SQUARES(add_f32, float, double, value *value)
ADD_SQUARES(add_f64, double, double, value *value)
ADD_SQUARES(add_i32, int32_t, double, value *value)
ADD_SQUARES(add_i64, int64_t, double, value *value)
ADD_SQUARES(add_c64, float complex, double complex, OF_COMPLEX)
ADD_SQUARES(add_c128, double complex, double complex, OF_COMPLEX)

typedef void (*add_fn)(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at, int64_t from_stride,
                       int64_t n);

static add_fn add_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return add_f32;
    case BRAID_DOUBLE: return add_f64;
    case BRAID_INT32: return add_i32;
    case BRAID_COMPLEX64: return add_c64;
    case BRAID_COMPLEX128: return add_c128;
    default: return add_i64;
    }
}

// Prepares a walk over the input in which the output's stride is 0 along reduced axes, and computes the
// output's shape. False: the kernel has failed.
static bool plan(bd_op_ctx *c, bd_strided *walk, braid_shape *out)
{
    const braid_tensor *x = bd_input(c, 0), *axes = bd_input(c, 1);
    int rank = x->shape.rank;
    bool reduced[BRAID_RANK_MAX] = {0}, keeps = bd_node_attr_bool(c->node, "keep_dims");
    for (int64_t i = 0; i < bd_tensor_count(axes); i++) {
        int64_t axis = bd_tensor_index(axes, i);
        if (axis < -rank || axis >= rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Invalid reduction dimension (%lld for input with %d dimension(s))", (long long)axis,
                       rank);
            return false;
        }
        reduced[axis < 0 ? axis + rank : axis] = true; // an axis may be named twice
    }
    *walk = bd_strided_of(&x->shape);
    *out = BD_SCALAR;
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        walk->to_strides[d] = reduced[d] ? 0 : stride;
        if (!reduced[d]) stride *= x->shape.dims[d];
    }
    for (int d = 0; d < rank; d++) {
        if (!reduced[d] || keeps) out->dims[out->rank++] = reduced[d] ? 1 : x->shape.dims[d];
    }
    return true;
}

static void put_roots(const double *sums, const braid_tensor *y)
{
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++) {
        double root = sqrt(sums[i]);
        switch (y->dtype) {
        case BRAID_FLOAT: bd_tensor_f32(y)[i] = (float)root; break;
        case BRAID_DOUBLE: bd_tensor_f64(y)[i] = root; break;
        case BRAID_COMPLEX64: ((float complex *)y->data)[i] = (float)root; break;
        case BRAID_COMPLEX128: ((double complex *)y->data)[i] = root; break;
        case BRAID_INT32: bd_tensor_i32(y)[i] = root < INT32_MAX ? (int32_t)root : INT32_MAX; break;
        default: bd_tensor_i64(y)[i] = root < 0x1p63 ? (int64_t)root : INT64_MAX; break;
        }
    }
}

static void norm_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_strided walk;
    braid_shape shape;
    if (!plan(c, &walk, &shape)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape), sums;
    if (!y) return;
    if (!bd_tensor_alloc(&sums, BRAID_DOUBLE, &shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when reducing a tensor");
        return;
    }
    memset(sums.data, 0, (size_t)bd_tensor_count(&sums) * sizeof(double));
    adding a = {.x = x, .sums = bd_tensor_f64(&sums)};
    if (bd_tensor_count(x) > 0) bd_strided_walk(&walk, add_of(x->dtype), &a);
    put_roots(a.sums, y);
    bd_tensor_fini(&sums);
}

// grad * x / norm, where grad and norm keep the rank of the input.
static void norm_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], axes = c->op->inputs[1], norm = braid_output(c->op, 0),
              grad = c->output_grads[0];
    if (!bd_node_attr_bool(c->op, "keep_dims")) {
        braid_op_desc *d = braid_op_begin(g, "Sum", NULL); // only its shape is used
        braid_op_input(d, x);
        braid_op_input(d, axes);
        braid_op_attr_bool(d, "keep_dims", true);
        braid_out kept = bd_b_shape(g, "Shape", braid_op_end_out(d));
        norm = bd_b2(g, "Reshape", NULL, norm, kept);
        grad = bd_b2(g, "Reshape", NULL, grad, kept);
    }
    c->input_grads[0] = bd_b2(g, "RealDiv", "truediv", x, bd_b2(g, "RealDiv", "truediv", norm, grad));
}

BD_OP(EuclideanNorm) = {
    .signature = "(input: T, reduction_indices: Tidx) -> (output: T)",
    .attrs = "keep_dims:bool=false; T:type{number}; Tidx:type{int32,int64}=int32",
    .shape = bd_shape_fn_reduction,
    .gradient = norm_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = norm_run}),
    .doc = "The square root of the sum of squares over the given axes.",
};

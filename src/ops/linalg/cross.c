// Cross: cross products of vectors of three elements.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"

static braid_code cross_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 2; i++) {
        const braid_shape *s = &c->inputs[i];
        if (s->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
        int64_t last = s->rank > 0 ? s->dims[s->rank - 1] : -1;
        if (last >= 0 && last != 3)
            return bd_shape_ctx_fail(c, st, "Dimension must be 3 but is %lld", (long long)last);
    }
    return bd_shape_fn_merged(c, st);
}

#define CROSS(NAME, T, WIDE)                                                                                 \
    static void NAME(const T *a, const T *b, T *y, int64_t count)                                            \
    {                                                                                                        \
        for (int64_t n = 0; n < count && !bd_interrupted_at(n); n++, a += 3, b += 3, y += 3) {               \
            for (int i = 0; i < 3; i++) {                                                                    \
                int j = (i + 1) % 3, k = (i + 2) % 3;                                                        \
                y[i] = (T)((WIDE)a[j] * (WIDE)b[k] - (WIDE)a[k] * (WIDE)b[j]);                               \
            }                                                                                                \
        }                                                                                                    \
    }
CROSS(cross_f32, float, float)
CROSS(cross_f64, double, double)
CROSS(cross_i32, int32_t, uint32_t)
CROSS(cross_i64, int64_t, uint64_t)

static void cross_run(bd_op_ctx *c)
{
    const braid_tensor *a = bd_input(c, 0), *b = bd_input(c, 1);
    int rank = a->shape.rank;
    char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX];
    if (!bd_shape_equal(&a->shape, &b->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Both inputs must be of same shape: %s vs. %s",
                   bd_shape_str(&a->shape, s), bd_shape_str(&b->shape, t));
        return;
    }
    if (rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must be at least 1D[]");
        return;
    }
    if (a->shape.dims[rank - 1] != 3) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Cross-products are only defined for 3-element vectors.");
        return;
    }
    braid_tensor *y = bd_output(c, 0, a->dtype, &a->shape);
    int64_t count = bd_tensor_count(a) / 3;
    if (!y) return;
    switch (a->dtype) {
    case BRAID_FLOAT: cross_f32(a->data, b->data, y->data, count); break;
    case BRAID_DOUBLE: cross_f64(a->data, b->data, y->data, count); break;
    case BRAID_INT32: cross_i32(a->data, b->data, y->data, count); break;
    default: cross_i64(a->data, b->data, y->data, count); break;
    }
}

static void cross_gradient(bd_grad_ctx *c)
{
    braid_out u = c->op->inputs[0], v = c->op->inputs[1], grad = c->output_grads[0];
    c->input_grads[0] = bd_b2(c->graph, "Cross", NULL, v, grad);
    c->input_grads[1] = bd_b2(c->graph, "Cross", NULL, grad, u);
}

BD_OP(Cross) = {
    .signature = "(a: T, b: T) -> (product: T)",
    .attrs = "T:type{realnumber}",
    .shape = cross_shape,
    .gradient = cross_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = cross_run}),
    .doc = "The cross products of the vectors of three elements along the last dimension.",
};

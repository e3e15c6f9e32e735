// CumulativeLogsumexp: running logarithms of sums of exponentials along an axis.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"

#include <float.h>
#include <math.h>

// log(e^a + e^b) without overflow.
static double add_exponentials(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    if (isnan(a) || isnan(b)) return NAN;
    if (isinf(high)) return high;
    return high + log1p(exp(low - high));
}

// Scans one row: n elements, `step` apart. Sums are doubles and start, as in TensorFlow, with the least
// finite number of the type.
#define SCAN_ROW(NAME, T, LOWEST)                                                                            \
    static void NAME(const T *x, T *y, int64_t n, int64_t step, bool exclusive)                              \
    {                                                                                                        \
        double sum = (double)(LOWEST);                                                                       \
        for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++, x += step, y += step) {                     \
            double before = sum;                                                                             \
            sum = add_exponentials(sum, (double)*x);                                                         \
            *y = (T)(exclusive ? before : sum);                                                              \
        }                                                                                                    \
    }
SCAN_ROW(scan_f32, float, -FLT_MAX)
SCAN_ROW(scan_f64, double, -DBL_MAX)

static void logsumexp_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    int64_t axis;
    if (bd_input(c, 1)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s: axis must be a scalar", c->node->op_type);
        return;
    }
    if (!bd_input_int(c, 1, "axis", &axis)) return;
    if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s: Expected scan axis in the range [%d, %d), but got %lld",
                   c->node->op_type, -rank, rank, (long long)axis);
        return;
    }
    if (axis < 0) axis += rank;
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    bool exclusive = bd_node_attr_bool(c->node, "exclusive"), reverse = bd_node_attr_bool(c->node, "reverse");
    int64_t n = x->shape.dims[axis], inner = bd_shape_count_range(&x->shape, (int)axis + 1, rank);
    for (int64_t i = 0; i < bd_tensor_count(x) / n && !bd_interrupted_at(i); i++) {
        int64_t at = i / inner * n * inner + i % inner + (reverse ? (n - 1) * inner : 0);
        int64_t step = reverse ? -inner : inner;
        if (x->dtype == BRAID_FLOAT) {
            scan_f32(bd_tensor_f32(x) + at, bd_tensor_f32(y) + at, n, step, exclusive);
        } else {
            scan_f64(bd_tensor_f64(x) + at, bd_tensor_f64(y) + at, n, step, exclusive);
        }
    }
}

// ---- The gradient: of its positive and its negative part in logarithms ----

static braid_out lowest(braid_graph *g, braid_dtype dtype)
{
    return bd_b_const_f(g, "lowest", dtype, dtype == BRAID_DOUBLE ? -DBL_MAX : -(double)FLT_MAX);
}

static braid_out scan_back(bd_grad_ctx *c, braid_out log_grad)
{
    braid_graph *g = c->graph;
    braid_op_desc *d = braid_op_begin(g, "CumulativeLogsumexp", NULL);
    braid_op_input(d, bd_b2(g, "Sub", "sub", log_grad, braid_output(c->op, 0)));
    braid_op_input(d, c->op->inputs[1]);
    braid_op_attr_bool(d, "exclusive", bd_node_attr_bool(c->op, "exclusive"));
    braid_op_attr_bool(d, "reverse", !bd_node_attr_bool(c->op, "reverse"));
    return bd_b1(g, "Exp", NULL, bd_b2(g, "Add", "add", braid_op_end_out(d), c->op->inputs[0]));
}

static void logsumexp_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0];
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(grad));
    braid_out is_above = bd_grad_number_right(g, "Greater", "Greater", grad, 0),
              is_below = bd_grad_number_right(g, "Less", "Less", grad, 0);
    braid_out above = bd_b3(g, "SelectV2", NULL, is_above, bd_b1(g, "Log", NULL, grad), lowest(g, dtype));
    braid_out below = bd_b3(g, "SelectV2", NULL, is_below, bd_b1(g, "Log", NULL, bd_b1(g, "Neg", NULL, grad)),
                            lowest(g, dtype));
    c->input_grads[0] = bd_b2(g, "Sub", "sub", scan_back(c, above), scan_back(c, below));
}

BD_OP(CumulativeLogsumexp) = {
    .signature = "(x: T, axis: Tidx) -> (out: T)",
    .attrs =
        "exclusive:bool=false; reverse:bool=false; T:type{double,float,half}; Tidx:type{int32,int64}=int32",
    .shape = bd_shape_fn_unchanged,
    .gradient = logsumexp_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = logsumexp_run}),
    .doc = "Cumulative log-sum-exp along an axis; exclusive values do not include the element itself.",
};

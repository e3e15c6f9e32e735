// Cumsum and Cumprod: running sums and products along an axis.
#include "graph/grad.h"
#include "kernels/scan.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"

static void run_cumulative(bd_op_ctx *c, bool product)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t axis;
    int rank = x->shape.rank;
    if (bd_input(c, 1)->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "ScanOp: axis must be a scalar, not %s",
                   bd_shape_str(&bd_input(c, 1)->shape, text));
        return;
    }
    if (!bd_input_int(c, 1, "axis", &axis)) return;
    if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "ScanOp: Expected scan axis in the range [%d, %d), but got %lld", -rank, rank,
                   (long long)axis);
        return;
    }
    if (axis < 0) axis += rank;
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    bd_scan s = {.product = product,
                 .exclusive = bd_node_attr_bool(c->node, "exclusive"),
                 .reverse = bd_node_attr_bool(c->node, "reverse"),
                 .outer = bd_shape_count_range(&x->shape, 0, (int)axis),
                 .count = x->shape.dims[axis],
                 .inner = bd_shape_count_range(&x->shape, (int)axis + 1, rank)};
    bd_scan_run(&s, bd_number_of(x->dtype), x->data, y->data);
}

static void cumsum_run(bd_op_ctx *c)
{
    run_cumulative(c, false);
}

static void cumprod_run(bd_op_ctx *c)
{
    run_cumulative(c, true);
}

// ---- Gradients ----

// The gradient of a running sum: the running sum of the gradient in the other direction.
static braid_out sum_from_other_end(bd_grad_ctx *c, braid_out x)
{
    braid_op_desc *d = braid_op_begin(c->graph, "Cumsum", NULL);
    braid_op_input(d, x);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_attr_bool(d, "exclusive", bd_node_attr_bool(c->op, "exclusive"));
    braid_op_attr_bool(d, "reverse", !bd_node_attr_bool(c->op, "reverse"));
    return braid_op_end_out(d);
}

static void cumsum_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = sum_from_other_end(c, c->output_grads[0]);
}

// TensorFlow's formula, which is wrong where an element is 0.
static void cumprod_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_op_desc *d = braid_op_begin(g, "Cumprod", NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_attr_bool(d, "exclusive", bd_node_attr_bool(c->op, "exclusive"));
    braid_op_attr_bool(d, "reverse", bd_node_attr_bool(c->op, "reverse"));
    braid_out weighted = bd_grad_mul(g, braid_op_end_out(d), c->output_grads[0]);
    c->input_grads[0] = bd_b2(g, "RealDiv", "truediv", sum_from_other_end(c, weighted), c->op->inputs[0]);
}

BD_OP(Cumsum) = {
    .signature = "(x: T, axis: Tidx) -> (out: T)",
    .attrs = "exclusive:bool=false; reverse:bool=false; T:type{number}; Tidx:type{int32,int64}=int32",
    .shape = bd_shape_fn_unchanged,
    .gradient = cumsum_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = cumsum_run}),
    .doc = "Cumulative sums along an axis; exclusive sums do not include the element itself.",
};

BD_OP(Cumprod) = {
    .signature = "(x: T, axis: Tidx) -> (out: T)",
    .attrs = "exclusive:bool=false; reverse:bool=false; T:type{number}; Tidx:type{int32,int64}=int32",
    .shape = bd_shape_fn_unchanged,
    .gradient = cumprod_gradient,
    .kernels =
        BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = cumprod_run}),
    .doc = "Cumulative products along an axis; exclusive products do not include the element itself.",
};

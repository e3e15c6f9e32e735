// SelectV2, the op of TensorFlow 2's tf.where: selects between two tensors; all operands are broadcast.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/loops.h"
#include "ops/common/element.h"
#include "ops/common/grad_math.h"
#include "ops/math/broadcast_to.h"

static braid_code select_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape value;
    if (bd_shape_broadcast(&c->inputs[1], &c->inputs[2], &value) &&
        bd_shape_broadcast(&c->inputs[0], &value, &c->outputs[0]))
        return BRAID_OK;
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_fail(c, st, "condition, then and else must be broadcastable");
}

static void choose(const braid_tensor *condition, const braid_tensor *t, const braid_tensor *e,
                   const braid_tensor *out)
{
    int64_t n = bd_tensor_count(out);
    size_t size = braid_dtype_size(out->dtype);
    if (size > 0 && size <= 8) {
        bd_select_blocks(bd_tensor_bool(condition), t->data, e->data, out->data, n, size);
        return;
    }
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++)
        bd_elements_copy(out, i, bd_tensor_bool(condition)[i] ? t : e, i, 1);
}

static void select_run(bd_op_ctx *c)
{
    const braid_tensor *condition = bd_input(c, 0), *t = bd_input(c, 1), *e = bd_input(c, 2);
    braid_shape value, shape;
    if (!bd_shape_broadcast(&t->shape, &e->shape, &value) ||
        !bd_shape_broadcast(&condition->shape, &value, &shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX], d[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "condition %s, then %s, and else %s must be broadcastable",
                   bd_shape_str(&condition->shape, a), bd_shape_str(&t->shape, b),
                   bd_shape_str(&e->shape, d));
        return;
    }
    if (condition->shape.rank == 0) {
        const braid_tensor *chosen = *bd_tensor_bool(condition) ? t : e;
        braid_tensor whole;
        if (bd_broadcast_copy(chosen, &shape, &whole)) {
            bd_output_set(c, 0, &whole);
            bd_tensor_fini(&whole);
        } else {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when broadcasting an operand");
        }
        return;
    }
    braid_tensor parts[3] = {0};
    bool ok = true;
    for (int i = 0; ok && i < 3; i++)
        ok = bd_broadcast_copy(bd_input(c, i), &shape, &parts[i]);
    if (!ok) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when broadcasting an operand");
    braid_tensor *out = ok ? bd_output(c, 0, t->dtype, &shape) : NULL;
    if (out) choose(&parts[0], &parts[1], &parts[2], out);
    for (int i = 0; i < 3; i++)
        bd_tensor_fini(&parts[i]);
}

// The gradient of operand `i`: `grad` summed over the axes along which the operand was broadcast.
static braid_out sum_like(bd_grad_ctx *c, int i, braid_out grad)
{
    braid_graph *g = c->graph;
    braid_out shape = bd_b_shape(g, "Shape", c->op->inputs[i]);
    braid_out whole = bd_b_shape(g, "Shape", braid_output(c->op, 0));
    braid_out axes = bd_b2(g, "BroadcastGradientArgs", NULL, shape, whole);
    braid_op_desc *d = braid_op_begin(g, "Sum", NULL);
    braid_op_input(d, grad);
    braid_op_input(d, axes);
    braid_op_attr_bool(d, "keep_dims", true);
    return bd_b2(g, "Reshape", NULL, braid_op_end_out(d), shape);
}

static void select_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out condition = c->op->inputs[0], grad = c->output_grads[0];
    braid_out zero = bd_b_const_f(g, "zeros", bd_dtype_base(braid_out_dtype(grad)), 0);
    c->input_grads[1] = sum_like(c, 1, bd_b3(g, "SelectV2", NULL, condition, grad, zero));
    c->input_grads[2] = sum_like(c, 2, bd_b3(g, "SelectV2", NULL, condition, zero, grad));
}

BD_OP(SelectV2) = {
    .signature = "(condition: bool, t: T, e: T) -> (output: T)",
    .attrs = "T:type",
    .shape = select_shape,
    .gradient = select_gradient,
    .kernels = BD_KERNELS({.run = select_run}),
    .doc = "Selects elements of t where the condition is true, else elements of e; all three are broadcast.",
};

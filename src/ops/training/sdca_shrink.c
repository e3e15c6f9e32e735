// What stands around SdcaOptimizer: the proximal step of L1 regularization on the weights, and the keys under
// which examples have their dual variables in a table.
#include "base/fingerprint.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <math.h>

// ---- SdcaShrinkL1 ----

static braid_code create_shrink(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(float *)state =
        (float)((double)bd_node_attr_float(node, "l1") / (double)bd_node_attr_float(node, "l2"));
    return BRAID_OK;
}

BD_HOGWILD static void shrink(float *to, const float *from, int64_t n, float by)
{
    for (int64_t i = 0; i < n; i++) {
        float rest = fabsf(from[i]) - by;
        to[i] = rest > 0 ? copysignf(rest, from[i]) : 0 * from[i];
    }
}

static void shrink_variable(bd_op_ctx *c, int i, float by)
{
    BD_STATUS(st);
    bd_variable_change change;
    bool is_made = false;
    if (bd_variable_begin_change(&change, bd_input_ref(c, i), BD_VARIABLE_WHOLE, false, st)) {
        bd_op_fail_status(c, st);
    } else if (!bd_tensor_is_set(&change.value)) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->input_count > i ? c->node->inputs[i].op->name : c->node->name);
    } else {
        shrink(change.value.data, change.before.data, bd_tensor_count(&change.value), by);
        is_made = true;
    }
    bd_variable_end_change(&change, is_made);
}

static void shrink_run(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count && !bd_op_failed(c); i++)
        shrink_variable(c, i, *(const float *)c->state);
}

BD_OP(SdcaShrinkL1) = {
    .signature = "(weights: Ref(num_features*float)) -> ()",
    .attrs = "num_features:int>=0; l1:float; l2:float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.state_size = sizeof(float), .create = create_shrink, .run = shrink_run}),
    .doc = "Moves the weights of variables towards 0 by l1 / l2; those that are nearer become 0.",
};

// ---- SdcaFprint ----

static braid_code fprint_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    c->outputs[0] = bd_shape2(c->inputs[0].rank == 1 ? c->inputs[0].dims[0] : -1, 2);
    return code;
}

static void fprint_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    if (x->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must be a vector, got shape %s",
                   bd_shape_str(&x->shape, text));
        return;
    }
    const int64_t n = x->shape.dims[0];
    const braid_shape shape = bd_shape2(n, 2);
    const braid_tensor *y = bd_output(c, 0, BRAID_INT64, &shape);
    for (int64_t i = 0; y && i < n && !bd_interrupted_at(i); i++) {
        const bd_string *s = bd_tensor_str(x) + i;
        uint64_t halves[2];
        bd_fingerprint128(s->data, s->len, halves);
        // Keys that begin with 0 and 1 stand for free and removed places of a table.
        if (halves[0] < 2) halves[0] += ~UINT64_C(1);
        bd_tensor_i64(y)[2 * i] = (int64_t)halves[0];
        bd_tensor_i64(y)[2 * i + 1] = (int64_t)halves[1];
    }
}

BD_OP(SdcaFprint) = {
    .signature = "(input: string) -> (output: int64)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = fprint_shape,
    .kernels = BD_KERNELS({.run = fprint_run}),
    .doc =
        "The 128 bits of FarmHash's Fingerprint128 of each string, as two numbers; the first is neither 0 nor 1.",
};

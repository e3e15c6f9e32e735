// Ops that forward their input or report on it, for debugging and for other devices: GuaranteeConst, Copy,
// RefSelect, Timestamp.
#include "base/clock.h"
#include "base/hogwild.h"
#include "graph/shape_fn.h"
#include "ops/state/variable.h"

static void forward_run(bd_op_ctx *c)
{
    bd_output_set(c, 0, bd_input(c, 0));
}

static void guarantee_run(bd_op_ctx *c)
{
    if (bd_input(c, 0)->dtype == BRAID_RESOURCE) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input tensor cannot be a resource variable handle.");
    } else {
        forward_run(c);
    }
}

BD_OP(GuaranteeConst) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = guarantee_run}),
    .doc = "Forwards its input, which the program declares as constant; Braid does not use that.",
};

// ---- Copy, CopyHost: also of a variable nobody assigned, which gives a tensor without elements ----

// The copy of a variable's memory stays as it is when the variable changes.
static void copy_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape nothing = bd_shape1(0);
    if (!bd_tensor_is_set(x)) {
        bd_output(c, 0, c->node->output_types[0], &nothing);
    } else if (x->buffer && x->buffer->is_variable && braid_dtype_size(x->dtype) > 0) {
        braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
        if (y) bd_copy_racing(y->data, x->data, bd_tensor_bytes(x));
    } else {
        forward_run(c);
    }
}

BD_OP(Copy) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; tensor_name:string=''; debug_ops_spec:list(string)=[]",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE | BD_OP_TAKES_SNAPSHOT,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = copy_run}),
    .doc = "Forwards its input (of a variable: its content).",
    .deviation = "Attr debug_ops_spec is not looked at.",
};

BD_OP(CopyHost) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; tensor_name:string=''; debug_ops_spec:list(string)=[]",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE | BD_OP_TAKES_SNAPSHOT,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = copy_run}),
    .doc = "Forwards its input (of a variable: its content).",
    .deviation = "Attr debug_ops_spec is not looked at.",
};

// ---- RefSelect ----

static braid_code ref_select_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    c->outputs[0] = c->inputs[1];
    for (int i = 2; i < c->input_count; i++) {
        if (!bd_shape_equal(&c->outputs[0], &c->inputs[i])) c->outputs[0] = BD_SHAPE_UNKNOWN;
    }
    return code;
}

static void ref_select_run(bd_op_ctx *c)
{
    const braid_tensor *index = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    int count = c->input_count - 1;
    if (index->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index must be a scalar, but it has shape %s",
                   bd_shape_str(&index->shape, text));
        return;
    }
    int64_t at = bd_tensor_index(index, 0);
    if (at < 0 || at >= count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index must be in the range [0, %d) but got %lld", count,
                   (long long)at);
        return;
    }
    bd_output_ref(c, 0, bd_input_ref(c, (int)at + 1));
}

BD_OP(RefSelect) = {
    .signature = "(index: int32, inputs: Ref(N*T)) -> (output: Ref(T))",
    .attrs = "T:type; N:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = ref_select_shape,
    .kernels = BD_KERNELS({.run = ref_select_run}),
    .doc = "Forwards one of several references to variables.",
};

// ---- Timestamp ----

static void timestamp_run(bd_op_ctx *c)
{
    braid_tensor *y = bd_output(c, 0, BRAID_DOUBLE, &BD_SCALAR);
    if (y) bd_tensor_f64(y)[0] = (double)bd_wall_micros() / 1e6;
}

BD_OP(Timestamp) = {
    .signature = "() -> (ts: double)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = timestamp_run}),
    .doc = "Seconds since 1970, when the node runs.",
};

// Identity and similar ops, which forward their input, and NoOp.
#include "graph/grad.h"
#include "ops/common/element.h"

static void forward_run(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count; i++)
        bd_output_set(c, i, bd_input(c, i));
}

static void forward_ref_run(bd_op_ctx *c)
{
    bd_output_ref(c, 0, bd_input_ref(c, 0));
}

static void no_run(bd_op_ctx *c)
{
    (void)c;
}

static void pass_gradient(bd_grad_ctx *c)
{
    for (int i = 0; i < braid_op_num_inputs(c->op); i++)
        bd_grad_pass(c, i, i);
}

static braid_code all_unchanged(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 0; i < c->input_count; i++)
        c->outputs[i] = c->inputs[i];
    return BRAID_OK;
}

BD_OP(Identity) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_IDENTITY | BD_OP_SPARSE_GRAD,
    .shape = bd_shape_fn_unchanged,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = forward_run}),
    .doc = "Forwards its input; of a variable it gives the content.",
};

BD_OP(IdentityN) = {
    .signature = "(input: T...) -> (output: T...)",
    .attrs = "T:list(type)>=1",
    .flags = BD_OP_SPREADS_HANDLES | BD_OP_SPARSE_GRAD,
    .shape = all_unchanged,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = forward_run}),
    .doc = "Forwards a list of tensors.",
};

BD_OP(RefIdentity) = {
    .signature = "(input: Ref(T)) -> (output: Ref(T))",
    .attrs = "T:type",
    .flags = BD_OP_SPARSE_GRAD | BD_OP_ALLOWS_UNINITIALIZED,
    .shape = bd_shape_fn_unchanged,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = forward_ref_run}),
    .doc = "Forwards a reference to a variable.",
};

// The executor takes the snapshot of a variable itself. What an op has forwarded from one is copied.
static void snapshot_run(bd_op_ctx *c)
{
    braid_tensor value = {0};
    if (bd_tensor_keep(&value, bd_input(c, 0)))
        bd_output_set(c, 0, &value);
    else
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the variable");
    bd_tensor_fini(&value);
}

BD_OP(Snapshot) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_TAKES_SNAPSHOT | BD_OP_SPARSE_GRAD,
    .shape = bd_shape_fn_unchanged,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = snapshot_run}),
    .doc =
        "The present value of its input, which later changes of a variable leave as it is; it is not copied.",
};

BD_OP(StopGradient) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_SAME_VALUE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = forward_run}),
    .doc = "Forwards its input; gradients treat it as a constant.",
};

static void prevent_gradient(bd_grad_ctx *c)
{
    braid_graph_fail(c->graph, BRAID_NOT_FOUND, "Gradient of '%s' explicitly disabled. Reason: %s",
                     braid_op_name(c->op), bd_node_attr_string(c->op, "message"));
}

BD_OP(PreventGradient) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; message:string=''",
    .flags = BD_OP_SAME_VALUE,
    .shape = bd_shape_fn_unchanged,
    .gradient = prevent_gradient,
    .kernels = BD_KERNELS({.run = forward_run}),
    .doc = "Forwards its input; a gradient through it is an error with attr `message`.",
};

BD_OP(NoOp) = {
    .signature = "() -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.run = no_run}),
    .doc = "Has no effect; it joins control edges.",
};

// Kernels of a CPU have computed their outputs when they end, so there is nothing to wait for.
BD_OP(SyncDevice) = {
    .signature = "() -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.run = no_run}),
    .doc = "Waits for the device's work, of which a CPU has none beside its nodes.",
};

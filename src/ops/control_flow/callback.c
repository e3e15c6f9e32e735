// PyFunc and PyFuncStateless: nodes that call a function of the program (braid/callback.h).
#include "op/callback.h"

#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

// Takes the outputs of a call that has succeeded.
static void take_outputs(bd_op_ctx *c, const braid_callback_call *call)
{
    for (int i = 0; i < call->output_count && !bd_op_failed(c); i++) {
        const braid_tensor *t = call->outputs[i];
        if (!t)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s returned no value %d of %d", call->token, i,
                       call->output_count);
        else if (t->dtype != call->output_dtypes[i])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%d-th value returned by %s is %s, but expects %s", i,
                       call->token, braid_dtype_name(t->dtype), braid_dtype_name(call->output_dtypes[i]));
        else
            bd_output_set(c, i, t);
    }
}

static void call_function(bd_op_ctx *c, bd_callback *function, const char *token)
{
    BD_STATUS(st);
    const braid_tensor **inputs = bd_calloc((size_t)c->input_count + 1, sizeof *inputs);
    braid_tensor **outputs = bd_calloc((size_t)c->output_count + 1, sizeof *outputs);
    for (int i = 0; i < c->input_count; i++)
        inputs[i] = bd_input(c, i);
    const braid_callback_call call = {.token = token,
                                      .inputs = inputs,
                                      .input_count = c->input_count,
                                      .outputs = outputs,
                                      .output_dtypes = c->node->output_types,
                                      .output_count = c->output_count};
    const braid_code code = bd_callback_run(function, &call, st);
    if (code && !st->code) bd_fail(st, code, "%s has failed", token);
    if (code)
        bd_op_fail_status(c, st);
    else
        take_outputs(c, &call);
    for (int i = 0; i < c->output_count; i++)
        braid_tensor_free(outputs[i]);
    bd_free(inputs);
    bd_free(outputs);
}

static void callback_run(bd_op_ctx *c)
{
    const char *token = bd_node_attr_string(c->node, "token");
    bd_callback *function = bd_callback_find(token);
    if (!function) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "callback %s is not found: a function of a program can only be called in the program's own "
            "process, so place the node on the program's task, and keep the function",
            token);
        return;
    }
    call_function(c, function, token);
    bd_callback_unref(function);
}

BD_OP(PyFunc) = {
    .signature = "(input: Tin...) -> (output: Tout...)",
    .attrs = "token:string; Tin:list(type)>=0; Tout:list(type)>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS, .run = callback_run}),
    .doc = "Calls the function of the program that is registered under attr `token` "
           "(braid_callback_register), in the process that runs the node.",
};

BD_OP(PyFuncStateless) = {
    .signature = "(input: Tin...) -> (output: Tout...)",
    .attrs = "token:string; Tin:list(type)>=0; Tout:list(type)>=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS, .run = callback_run}),
    .doc = "PyFunc of a function that always returns the same for the same inputs, and has no effect.",
};

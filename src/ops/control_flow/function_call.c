// Ops that call one function: PartitionedCall and its kin, functions called by their name, gradients of
// functions.
#include "ops/control_flow/function_ops.h"

#include "base/slab.h"
#include "graph/grad.h"
#include <string.h>

typedef struct call_state {
    bd_func_ref f;
    bd_callee_kind kind;
} call_state;

static void call_destroy(void *state)
{
    bd_func_ref_fini(&((call_state *)state)->f);
}

// ---- The end of a call ----

void bd_function_outputs(bd_op_ctx *c, braid_tensor *rets, int count, const braid_status *st)
{
    if (st->code) {
        bd_op_fail_status(c, st);
        return;
    }
    if (count != c->output_count) {
        const bool is_gradient = strcmp(c->node->op_type, "SymbolicGradient") == 0; // TensorFlow's words
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s expects to return %d tensor(s), but get %d tensor(s) instead",
                   is_gradient ? "SymGrad" : c->node->op_type, c->output_count, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        const braid_dtype expected = c->node->output_types[i];
        if (rets[i].dtype != expected) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s' gives %s at output %d, but its function gives %s",
                       c->node->op_type, c->node->name, braid_dtype_name(expected), i,
                       braid_dtype_name(rets[i].dtype));
            return;
        }
        bd_output_set(c, i, &rets[i]);
        bd_tensor_fini(&rets[i]);
    }
}

static void call_done(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    bd_op_ctx *c = arg;
    bd_function_outputs(c, rets, ret_count, st);
    bd_op_done(c);
}

// Inputs from `from` on, borrowed; freed with bd_slab_free.
static braid_tensor *borrow_inputs(const bd_op_ctx *c, int from)
{
    const int count = c->input_count - from;
    braid_tensor *args = bd_slab_alloc((size_t)count * sizeof *args + 1);
    for (int i = 0; i < count; i++)
        args[i] = *bd_input(c, from + i);
    return args;
}

void bd_function_call_with_inputs(bd_op_ctx *c, const bd_func_ref *f, bd_callee_kind kind, int from)
{
    braid_tensor *args = borrow_inputs(c, from);
    bd_step_call(c->step, f, kind, args, c->input_count - from, call_done,
                 c); // `c` may be gone when this returns
    bd_slab_free(args);
}

static void call_start(bd_op_ctx *c)
{
    const call_state *s = c->state;
    bd_function_call_with_inputs(c, &s->f, s->kind, 0);
}

// ---- PartitionedCall, StatefulPartitionedCall ----

static braid_code partitioned_create(const braid_op *node, void *state, braid_status *st)
{
    call_state *s = state;
    const char *executor = bd_node_attr_string(node, "executor_type");
    if (executor[0] && strcmp(executor, "DEFAULT") != 0 && strcmp(executor, "SINGLE_THREADED_EXECUTOR") != 0)
        return bd_fail(
            st, BRAID_NOT_FOUND,
            "No executor factory registered for the given executor type: %s (attr executor_type of %s '%s')",
            executor, node->op_type, node->name);
    s->kind = BD_CALLEE_PLACED;
    return bd_func_ref_read(node, "f", -1, &s->f, st);
}

// Of a call that is not lowered: it calls itself, or the library has its gradient.
static void partitioned_gradient(bd_grad_ctx *c)
{
    bd_grad_call(c, bd_node_attr(c->op, "f"));
}

#define CALL_KERNELS(CREATE)                                                                                 \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,                                              \
                .state_size = sizeof(call_state),                                                            \
                .create = CREATE,                                                                            \
                .destroy = call_destroy,                                                                     \
                .start = call_start})

BD_OP(PartitionedCall) = {
    .signature = "(args: Tin...) -> (output: Tout...)",
    .attrs = "Tin:list(type)>=0; Tout:list(type)>=0; f:func; config:string=''; config_proto:string=''; "
             "executor_type:string=''",
    .shape = bd_shape_fn_none,
    .gradient = partitioned_gradient,
    .kernels = CALL_KERNELS(partitioned_create),
    .doc = "Calls a function without effects; its nodes run on the devices of this task that they ask for.",
};

BD_OP(StatefulPartitionedCall) = {
    .signature = "(args: Tin...) -> (output: Tout...)",
    .attrs = "Tin:list(type)>=0; Tout:list(type)>=0; f:func; config:string=''; config_proto:string=''; "
             "executor_type:string=''",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_none,
    .gradient = partitioned_gradient,
    .kernels = CALL_KERNELS(partitioned_create),
    .doc = "PartitionedCall of a function with effects.",
};

// ---- A function called by its name ----

static braid_code named_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_func_ref_of_node(node, &((call_state *)state)->f);
    return BRAID_OK;
}

// The kernel of nodes whose op is a function of the graph's library (graph/function.h).
BD_OP(_FunctionCall) = {
    .signature = "(args: Tin...) -> (output: Tout...)",
    .attrs = "Tin:list(type)>=0; Tout:list(type)>=0",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_none,
    .kernels = CALL_KERNELS(named_create),
    .doc = "The op of nodes that call a function by its name: the name is the node's op.",
};

// ---- SymbolicGradient ----

static braid_code gradient_create(const braid_op *node, void *state, braid_status *st)
{
    call_state *s = state;
    s->kind = BD_CALLEE_GRADIENT;
    return bd_func_ref_read(node, "f", -1, &s->f, st);
}

// A gradient has the shape of the input that it belongs to.
static braid_code gradient_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->input_count < c->output_count) return bd_shape_ctx_fail(c, st, "len(inputs) < len(outputs)");
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = c->inputs[i];
    return BRAID_OK;
}

BD_OP(SymbolicGradient) = {
    .signature = "(input: Tin...) -> (output: Tout...)",
    .attrs = "Tin:list(type)>=1; Tout:list(type)>=1; f:func",
    .shape = gradient_shape,
    .kernels = CALL_KERNELS(gradient_create),
    .doc = "The gradients of a function's arguments, given the arguments and the gradients of the results.",
};

// ---- RemoteCall ----

static braid_code remote_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_func_ref_read(node, "f", -1, &((call_state *)state)->f, st);
}

// The device of `target`; parts that it omits are those of the device of the node. Returns NULL when the node
// has failed.
static const char *target_device(bd_op_ctx *c, const char *here, char buf[BD_DEVICE_NAME_MAX])
{
    const braid_tensor *target = bd_input(c, 0);
    BD_STATUS(st);
    bd_device_name name, own;
    if (bd_tensor_count(target) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "RemoteCall '%s': target must be a scalar", c->node->name);
        return NULL;
    }
    char *text = bd_strndup(bd_tensor_str(target)->data ? bd_tensor_str(target)->data : "",
                            bd_tensor_str(target)->len);
    braid_code code = bd_device_name_parse(text, &name, st);
    bd_free(text);
    if (!code) code = bd_device_name_parse(here, &own, st);
    if (code) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    bd_device_name_merge(&own, &name);
    return bd_device_name_print(&own, buf);
}

static void remote_start(bd_op_ctx *c)
{
    const call_state *s = c->state;
    bd_function_runtime *fs = c->step->functions;
    char buf[BD_DEVICE_NAME_MAX];
    if (!fs) bd_op_fail(c, BRAID_NOT_FOUND, "Function %s is not defined.", s->f.name);
    const char *device = fs ? target_device(c, fs->device, buf) : NULL;
    if (!device) {
        bd_op_done(c);
        return;
    }
    braid_tensor *args = borrow_inputs(c, 1);
    const bd_invocation call = {
        .args = args, .arg_count = c->input_count - 1, .step = c->step, .done = call_done, .arg = c};
    bd_function_call_on(fs, &s->f, device, &call); // `c` may be gone when this returns
    bd_slab_free(args);
}

BD_OP(RemoteCall) = {
    .signature = "(target: string, args: Tin...) -> (output: Tout...)",
    .attrs = "Tin:list(type)>=1; Tout:list(type)>=1; f:func",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,
                           .state_size = sizeof(call_state),
                           .create = remote_create,
                           .destroy = call_destroy,
                           .start = remote_start}),
    .doc = "Calls a function on the device that `target` names, also of another task of the cluster. What "
           "the name leaves out is as in the name of the node's device.",
    .deviation =
        "On another task the function runs in a step of its own: collectives in it do not meet those of the "
        "calling step.",
};

// Conditionals and loops on dataflow graphs (Yu et al., Dynamic Control Flow in Large-Scale Machine Learning,
// EuroSys 2018).
//
// The kernels only move values. The executor decides which nodes run, in which frame and iteration, and which
// are dead; it knows these ops by their roles. An output that Switch leaves empty is dead.
#include "graph/grad.h"
#include "ops/common/element.h"

// Hands value or reference input `from` on as output `to`.
static void passthrough(bd_op_ctx *c, int to, int from)
{
    if (bd_input_ref(c, from)) {
        bd_output_ref(c, to, bd_input_ref(c, from));
    } else {
        bd_output_set(c, to, bd_input(c, from));
    }
}

static void passthrough_run(bd_op_ctx *c)
{
    passthrough(c, 0, 0);
}

// ---- Switch ----

static braid_code switch_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->outputs[1] = c->inputs[0];
    return bd_shape_ctx_rank(c, 1, 0, st);
}

static void switch_run(bd_op_ctx *c)
{
    const braid_tensor *pred = bd_input(c, 1);
    if (pred->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The second input must be a scalar, but it has shape %s",
                   bd_shape_str(&pred->shape, text));
        return;
    }
    passthrough(c, bd_tensor_bool(pred)[0] ? 1 : 0, 0);
}

static braid_out switch_branch(braid_graph *g, braid_out data, braid_out pred, int branch)
{
    braid_op_desc *d = braid_op_begin(g, "Switch", NULL);
    braid_op_input(d, data);
    braid_op_input(d, pred);
    return braid_output(braid_op_end(d), branch);
}

// The gradient of a variable's handle, or of a list of tensors, that a branch does not use, where the other
// has one of type `dtype`.
static braid_out zeros_of_unused(braid_graph *g, braid_out value, braid_dtype dtype)
{
    if (braid_out_dtype(value) == BRAID_VARIANT) return bd_b1(g, "ZerosLike", "zeros_like", value);
    const braid_out shape = bd_b1(g, "VariableShape", NULL, value);
    return bd_b2(g, "Fill", "zeros", shape, bd_b_const_f(g, NULL, dtype, 0));
}

// Outside loops: the gradient of the taken branch. Each gradient passes a Switch of its own, because a
// constant gradient exists also when its branch was not taken.
static void switch_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out pred = c->op->inputs[1], branches[2];
    for (int i = 0; i < 2; i++) {
        braid_out grad = c->output_grads[i];
        if (!grad.op) grad = zeros_of_unused(g, braid_output(c->op, i), braid_out_dtype(c->output_grads[!i]));
        branches[i] = switch_branch(g, grad, pred, i);
    }
    braid_op_desc *d = braid_op_begin(g, "Merge", "cond_grad");
    braid_op_input_list(d, branches, 2);
    c->input_grads[0] = braid_output(braid_op_end(d), 0);
}

// The gradient of the forwarded input.
static void merge_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    for (int i = 0; i < c->op->input_count; i++) {
        const char *scope = braid_push_name_scope(g, "Equal");
        braid_out number = bd_b_const_i32(g, "y", i);
        braid_out taken = bd_b2(g, "Equal", scope, braid_output(c->op, 1), number);
        braid_pop_name_scope(g);
        c->input_grads[i] = switch_branch(g, c->output_grads[0], taken, 1);
    }
}

BD_OP(Switch) = {
    .signature = "(data: T, pred: bool) -> (output_false: T, output_true: T)",
    .attrs = "T:type",
    .role = BD_ROLE_SWITCH,
    .shape = switch_shape,
    .gradient = switch_gradient,
    .kernels = BD_KERNELS({.run = switch_run}),
    .doc = "Forwards `data` to output 1 if `pred` is true, else to output 0; the other output is dead.",
};

BD_OP(RefSwitch) = {
    .signature = "(data: Ref(T), pred: bool) -> (output_false: Ref(T), output_true: Ref(T))",
    .attrs = "T:type",
    .role = BD_ROLE_SWITCH,
    .flags = BD_OP_ALLOWS_UNINITIALIZED,
    .shape = switch_shape,
    .gradient = switch_gradient,
    .kernels = BD_KERNELS({.run = switch_run}),
    .doc = "Switch of a reference to a variable.",
};

// ---- Merge ----

static braid_code merge_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    // The forwarded input is not known in advance: the shape is the common part of all inputs.
    braid_shape out = c->inputs[0];
    for (int i = 1; i < c->input_count && out.rank >= 0; i++) {
        const braid_shape *in = &c->inputs[i];
        if (in->rank != out.rank) {
            out = BD_SHAPE_UNKNOWN;
            break;
        }
        for (int d = 0; d < out.rank; d++) {
            if (in->dims[d] != out.dims[d]) out.dims[d] = -1;
        }
    }
    c->outputs[0] = out;
    c->outputs[1] = BD_SCALAR;
    return BRAID_OK;
}

static void merge_run(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count; i++) {
        if (!bd_input_ref(c, i) && !bd_tensor_is_set(bd_input(c, i))) continue;
        passthrough(c, 0, i);
        braid_tensor *index = bd_output(c, 1, BRAID_INT32, &BD_SCALAR);
        if (index) bd_tensor_i32(index)[0] = i;
        return;
    }
    bd_op_fail(c, BRAID_INTERNAL, "Merge '%s' was run without a live input", c->node->name);
}

BD_OP(Merge) = {
    .signature = "(inputs: N*T) -> (output: T, value_index: int32)",
    .attrs = "T:type; N:int>=1",
    .role = BD_ROLE_MERGE,
    .shape = merge_shape,
    .gradient = merge_gradient,
    .kernels = BD_KERNELS({.run = merge_run}),
    .doc = "Forwards the input that is not dead, and its index.",
};

BD_OP(RefMerge) = {
    .signature = "(inputs: Ref(N*T)) -> (output: Ref(T), value_index: int32)",
    .attrs = "T:type; N:int>=1",
    .role = BD_ROLE_MERGE,
    .shape = merge_shape,
    .gradient = merge_gradient,
    .kernels = BD_KERNELS({.run = merge_run}),
    .doc = "Merge of references to variables.",
};

// ---- Loops ----

// A loop variable may change its shape from one iteration to the next: only a constant of the loop keeps it.
static braid_code enter_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    if (bd_node_attr_bool(c->node, "is_constant")) c->outputs[0] = c->inputs[0];
    return BRAID_OK;
}

BD_OP(Enter) = {
    .signature = "(data: T) -> (output: T)",
    .attrs = "T:type; frame_name:string; is_constant:bool=false; parallel_iterations:int=10",
    .role = BD_ROLE_ENTER,
    .shape = enter_shape,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "Brings a tensor into the loop of attr `frame_name`; a constant is there in every iteration.",
};

BD_OP(RefEnter) = {
    .signature = "(data: Ref(T)) -> (output: Ref(T))",
    .attrs = "T:type; frame_name:string; is_constant:bool=false; parallel_iterations:int=10",
    .role = BD_ROLE_ENTER,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "Enter of a reference to a variable.",
};

BD_OP(Exit) = {
    .signature = "(data: T) -> (output: T)",
    .attrs = "T:type",
    .role = BD_ROLE_EXIT,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "Takes a tensor out of a loop.",
};

BD_OP(RefExit) = {
    .signature = "(data: Ref(T)) -> (output: Ref(T))",
    .attrs = "T:type",
    .role = BD_ROLE_EXIT,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "Exit of a reference to a variable.",
};

BD_OP(NextIteration) = {
    .signature = "(data: T) -> (output: T)",
    .attrs = "T:type",
    .role = BD_ROLE_NEXT_ITERATION,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "Takes a tensor to the next iteration of its loop.",
};

BD_OP(RefNextIteration) = {
    .signature = "(data: Ref(T)) -> (output: Ref(T))",
    .attrs = "T:type",
    .role = BD_ROLE_NEXT_ITERATION,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "NextIteration of a reference to a variable.",
};

static braid_code scalar_input(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_rank(c, 0, 0, st);
}

BD_OP(LoopCond) = {
    .signature = "(input: bool) -> (output: bool)",
    .role = BD_ROLE_LOOP_COND,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_input,
    .kernels = BD_KERNELS({.run = passthrough_run}),
    .doc = "Forwards the condition of a loop; each Switch of the loop takes it.",
};

static void no_run(bd_op_ctx *c)
{
    (void)c;
}

BD_OP(ControlTrigger) = {
    .signature = "() -> ()",
    .role = BD_ROLE_CONTROL_TRIGGER,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.run = no_run}),
    .doc = "Has no effect; it runs also when some of its control inputs are dead.",
};

static void abort_run(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_ABORTED, "Abort: %s", bd_node_attr_string(c->node, "error_msg"));
}

BD_OP(Abort) = {
    .signature = "() -> ()",
    .attrs = "error_msg:string=''; exit_without_error:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.run = abort_run}),
    .doc = "Ends the step with Aborted and attr `error_msg`. The process goes on.",
};

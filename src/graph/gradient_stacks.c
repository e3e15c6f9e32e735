// Stacks from forward loops to gradient loops: the forward loop pushes values that the gradient loop pops.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "graph/grad.h"

static braid_op *trigger(bd_gradient_loop *l, bd_region *r, const char *name, braid_op *goes_on)
{
    braid_graph *g = l->all->g;
    bd_region *before = bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    braid_op *n = braid_op_end(braid_op_begin(g, "ControlTrigger", name));
    braid_pop_control(g);
    bd_region_swap(g, before);
    bd_region_add(r, n, false);
    if (n) bd_node_add_control(goes_on, n);
    return n;
}

void bd_gradient_add_to_trigger(bd_gradient_loop *l, bd_region *r, braid_op **sync, const char *name,
                                braid_op *goes_on, braid_op *n)
{
    if (bd_gradient_has_failed(l->all)) return;
    if (!*sync) *sync = trigger(l, r, name, goes_on);
    if (*sync) bd_node_add_control(*sync, n);
}

static braid_out stack_node(braid_graph *g, const char *op, const char *name, braid_out a, const braid_out *b,
                            braid_dtype type, braid_op *after)
{
    braid_push_control(g, NULL, 0);
    braid_op_desc *d = braid_op_begin(g, op, name);
    braid_op_input(d, a);
    if (b) braid_op_input(d, *b);
    if (after) braid_op_control(d, after);
    braid_op_attr_type(d, b ? "T" : "elem_type", type);
    braid_out out = braid_op_end_out(d);
    braid_pop_control(g);
    return out;
}

// Brings a value into a loop, which may be nested.
static braid_out enter_all(bd_gradient_loop *l, braid_out from)
{
    if (l->outer) from = enter_all(l->outer, from);
    return bd_region_enter(&l->forward, from, "f_acc", true);
}

braid_out bd_gradient_push(bd_gradient_loop *l, braid_out value, const bd_branch *within)
{
    braid_graph *g = l->all->g;
    const braid_dtype type = bd_dtype_base(braid_out_dtype(value));
    bd_region *before = bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    braid_out any = bd_b_const_i32(g, "Const", -1);
    braid_pop_control(g);
    braid_push_colocate(g, value.op); // and so are all that share the stack
    const braid_out stack = stack_node(g, "StackV2", "f_acc", any, NULL, type, NULL);
    const braid_out pushed =
        stack_node(g, "StackPushV2", NULL, enter_all(l, stack), &value, type, l->counted);
    braid_pop_colocate(g);
    bd_region_swap(g, before);
    if (bd_gradient_has_failed(l->all)) return stack;
    bd_region_add(&l->forward, pushed.op, false);
    if (!within) {
        bd_node_add_control(l->count_on, pushed.op);
        return stack;
    }
    bd_gradient_add_to_trigger(l, &l->forward, &l->push_sync, "f_sync", l->count_on, pushed.op);
    return stack;
}

// The stack where the branches of its value are taken, within the gradient loop.
static braid_out guard(bd_gradient_loop *l, braid_out stack, const bd_branch *within)
{
    if (!within || bd_gradient_frame_of(l->all, within->pred.op) != l->frame) return stack;
    stack = guard(l, stack, within->outer);
    const braid_out pred = bd_region_bring(&l->back, within->pred);
    return bd_gradient_has_failed(l->all)
               ? stack
               : braid_output(bd_region_switch(&l->back, stack, pred, NULL), within->taken);
}

braid_out bd_gradient_pop(bd_gradient_loop *l, braid_out stack, braid_out value, const bd_branch *within)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back;
    braid_push_colocate(g, value.op);
    braid_out here = guard(l, bd_region_bring(r, stack), within);
    bd_region *before = bd_region_swap(g, NULL);
    const braid_out popped =
        stack_node(g, "StackPopV2", NULL, here, NULL, bd_dtype_base(braid_out_dtype(value)), r->pivot);
    bd_region_swap(g, before);
    braid_pop_colocate(g);
    if (bd_gradient_has_failed(l->all)) return popped;
    popped.op->output_shapes[0] = braid_out_shape(value);
    bd_region_add(r, popped.op, false);
    bd_gradient_add_to_trigger(l, r, &l->pop_sync, "b_sync", l->back_on, popped.op);
    return popped;
}

braid_out bd_gradient_push_back(bd_gradient_loop *l, braid_out value)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back;
    value = bd_region_bring(r, value);
    const braid_dtype type = bd_dtype_base(braid_out_dtype(value));
    bd_region *before = bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    braid_out any = bd_b_const_i32(g, "Const", -1);
    braid_pop_control(g);
    braid_push_colocate(g, value.op);
    const braid_out stack = stack_node(g, "StackV2", "b_acc", any, NULL, type, NULL);
    const braid_out here = bd_region_bring(r, stack);
    const braid_out pushed = stack_node(g, "StackPushV2", NULL, here, &value, type, r->pivot);
    braid_pop_colocate(g);
    bd_region_swap(g, before);
    if (bd_gradient_has_failed(l->all)) return stack;
    bd_region_add(r, pushed.op, false);
    bd_gradient_add_to_trigger(l, r, &l->pop_sync, "b_sync", l->back_on, pushed.op);
    return stack;
}

bool bd_gradient_real_value(bd_region *r, braid_out from, braid_out *here)
{
    bd_gradient_loop *l = r->arg;
    bd_gradient_loops *all = l->all;
    if (from.op->id >= all->count || bd_gradient_frame_of(all, from.op) != l->frame) return false;
    bd_op_role role = bd_node_role(from.op);
    if (role == BD_ROLE_ENTER && bd_node_attr_bool(from.op, "is_constant")) {
        *here = bd_region_bring(r, from.op->inputs[0]);
    } else if (role == BD_ROLE_CONST) {
        bd_region *before = bd_region_swap(all->g, r);
        *here = bd_b_const(all->g, NULL, bd_node_attr_tensor(from.op, "value"));
        bd_region_swap(all->g, before);
    } else {
        const bd_branch *within = bd_branch_of_output(all, from);
        while (within && bd_gradient_frame_of(all, within->pred.op) != l->frame)
            within = within->outer;
        const braid_out stack = bd_gradient_push(l, from, within);
        *here = bd_gradient_pop(l, stack, from, within);
    }
    return true;
}

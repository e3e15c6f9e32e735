// Stacks from forward loops to gradient loops: the forward loop pushes values that the gradient loop pops.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "graph/builder.h"
#include "graph/grad.h"
#include <string.h>

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

braid_out bd_gradient_switch(bd_region *r, braid_out data, braid_out pred, const char *name, int taken)
{
    braid_graph *g = r ? r->graph : data.op->graph;
    bd_builder_push_colocate_only(g, data.op);
    bd_region *before = bd_region_swap(g, r);
    const braid_out inputs[2] = {data, pred};
    braid_op *n = braid_op_add(g, "Switch", name, inputs, 2);
    bd_region_swap(g, before);
    braid_pop_colocate(g);
    return braid_output(n, taken);
}

// Brings a value into a loop, which may be nested.
static braid_out enter_all(bd_gradient_loop *l, braid_out from)
{
    from = l->outer ? enter_all(l->outer, from) : bd_region_bring(l->forward.outer, from);
    return bd_region_enter(&l->forward, from, NULL, true);
}

// A stack is where its values are.
static braid_out new_stack(braid_graph *g, braid_out value, const char *name)
{
    bd_region *before = bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    braid_push_colocate(g, value.op);
    const braid_out any = bd_b_const_i32(g, "Const", -1);
    const braid_out stack =
        stack_node(g, "StackV2", name, any, NULL, bd_dtype_base(braid_out_dtype(value)), NULL);
    braid_pop_colocate(g);
    braid_pop_control(g);
    bd_region_swap(g, before);
    return stack;
}

// A node that pushes within these branches of the forward loop: the stack gets there through their Switches.
static braid_out push_within(bd_gradient_loop *l, braid_out stack, braid_out value, const bd_branch *within)
{
    braid_graph *g = l->all->g;
    int count = 0;
    for (const bd_branch *b = within; b; b = bd_gradient_branch_within(l, b->outer))
        count++;
    bd_region *branches = bd_calloc((size_t)count + 1, sizeof *branches);
    const bd_branch *b = within;
    for (int i = count - 1; i >= 0; i--, b = bd_gradient_branch_within(l, b->outer))
        bd_region_init_branch(&branches[i], g, i > 0 ? &branches[i - 1] : NULL, b->pred, b->taken);
    for (int i = 1; i < count; i++)
        bd_region_add(&branches[i - 1], branches[i].pred.op, false);
    if (count) bd_region_add(&branches[count - 1], value.op, false);
    bd_region *before = bd_region_swap(g, count ? &branches[count - 1] : NULL);
    const braid_out pushed =
        stack_node(g, "StackPushV2", NULL, stack, &value, bd_dtype_base(braid_out_dtype(value)), NULL);
    bd_region_swap(g, before);
    for (int i = 0; i < count; i++)
        bd_region_fini(&branches[i]);
    bd_free(branches);
    return pushed;
}

braid_out bd_gradient_push(bd_gradient_loop *l, braid_out value, const bd_branch *within, bool is_dead)
{
    braid_graph *g = l->all->g;
    const braid_out stack = new_stack(g, value, "f_acc");
    const bd_branch *pushed_in = is_dead && within ? bd_gradient_branch_within(l, within->outer) : within;
    const braid_out pushed = push_within(l, enter_all(l, stack), value, pushed_in);
    if (!bd_gradient_has_failed(l->all)) bd_node_add_control(pushed.op, l->counted);
    if (bd_gradient_has_failed(l->all)) return stack;
    bd_region_add(&l->forward, pushed.op, false);
    if (within)
        bd_gradient_add_to_trigger(l, &l->forward, &l->push_sync, "f_sync", l->count_on, pushed.op);
    else
        bd_node_add_control(l->count_on, pushed.op);
    return stack;
}

braid_out bd_gradient_condition(bd_gradient_loop *l, braid_out pred)
{
    braid_out here;
    if (bd_gradient_frame_of(l->all, pred.op) != l->frame) return pred;
    if (bd_region_knows(&l->back, pred, &here)) return here;
    const bd_branch *within = bd_gradient_branch_within(l, bd_branch_of_output(l->all, pred));
    here = bd_gradient_pop(l, bd_gradient_push(l, pred, within, false), pred, within);
    bd_region_set(&l->back, pred, here);
    return here;
}

braid_out bd_gradient_pop(bd_gradient_loop *l, braid_out stack, braid_out value, const bd_branch *within)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back;
    if (bd_gradient_has_failed(l->all)) return stack;
    braid_push_control(g, NULL, 0);
    // The value is there where its branch is taken, and the condition is where the branches around it are.
    const bd_branch *b = within ? within : l->around;
    if (b) stack = bd_gradient_switch(r, stack, bd_gradient_condition(l, b->pred), NULL, b->taken);
    bd_region *before = bd_region_swap(g, r);
    const braid_out popped =
        stack_node(g, "StackPopV2", NULL, stack, NULL, bd_dtype_base(braid_out_dtype(value)), NULL);
    bd_region_swap(g, before);
    braid_pop_control(g);
    if (bd_gradient_has_failed(l->all)) return popped;
    popped.op->output_shapes[0] = braid_out_shape(value);
    // Where one iteration runs at a time, it is over before the next one begins.
    if (r->parallel_iterations > 1)
        bd_gradient_add_to_trigger(l, r, &l->pop_sync, "b_sync", l->back_on, popped.op);
    return popped;
}

braid_out bd_gradient_push_back(bd_gradient_loop *l, braid_out value)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back;
    value = bd_region_bring(r, value);
    const braid_out stack = new_stack(g, value, "b_acc");
    bd_region *before = bd_region_swap(g, NULL);
    const braid_out here = bd_region_bring(r, stack);
    const braid_out pushed =
        stack_node(g, "StackPushV2", NULL, here, &value, bd_dtype_base(braid_out_dtype(value)), r->pivot);
    bd_region_swap(g, before);
    if (bd_gradient_has_failed(l->all)) return stack;
    bd_region_add(r, pushed.op, false);
    bd_gradient_add_to_trigger(l, r, &l->pop_sync, "b_sync", l->back_on, pushed.op);
    return stack;
}

const bd_branch *bd_gradient_branch_within(bd_gradient_loop *l, const bd_branch *b)
{
    while (b && bd_gradient_frame_of(l->all, b->pred.op) != l->frame)
        b = b->outer;
    return b;
}

// The Enter that brings a constant of the loop in, of which `from` is the value; NULL: it is not one.
static const braid_op *constant_enter(braid_out from)
{
    const braid_op *n = from.op;
    while (bd_node_role(n) == BD_ROLE_SWITCH || strcmp(n->op_type, "Identity") == 0 ||
           strcmp(n->op_type, "RefIdentity") == 0)
        n = n->inputs[0].op;
    return bd_node_role(n) == BD_ROLE_ENTER && bd_node_attr_bool(n, "is_constant") ? n : NULL;
}

bool bd_gradient_real_value(bd_region *r, braid_out from, braid_out *here)
{
    bd_gradient_loop *l = r->arg;
    bd_gradient_loops *all = l->all;
    if (bd_gradient_frame_of(all, from.op) != l->frame) return false;
    const braid_op *enter = constant_enter(from);
    if (enter) {
        *here = bd_region_bring(r, enter->inputs[0]);
    } else if (bd_node_role(from.op) == BD_ROLE_CONST) {
        bd_region *before = bd_region_swap(all->g, r);
        *here = bd_b_const(all->g, NULL, bd_node_attr_tensor(from.op, "value"));
        bd_region_swap(all->g, before);
    } else {
        const bd_branch *within = bd_gradient_branch_within(l, bd_branch_of_output(all, from));
        const braid_out stack = bd_gradient_push(l, from, within, false);
        *here = bd_gradient_pop(l, stack, from, within);
    }
    return true;
}

// What is asked of a value's shape is asked in the forward loop: the answer is smaller than the value, on a
// stack.
bool bd_gradient_asks_forward(bd_region *r, braid_op *n)
{
    bd_gradient_loop *l = r->arg;
    if (strcmp(n->op_type, "Shape") != 0 && strcmp(n->op_type, "Size") != 0 &&
        strcmp(n->op_type, "Rank") != 0)
        return false;
    // The results of a loop within that one are not asked, as in TensorFlow.
    if (bd_gradient_frame_of(l->all, n->inputs[0].op) != l->frame ||
        bd_node_role(n->inputs[0].op) == BD_ROLE_EXIT)
        return false;
    bd_gradient_add_forward(l, n, bd_branch_of_output(l->all, n->inputs[0]));
    return true;
}

void bd_gradient_add_forward(bd_gradient_loop *l, braid_op *n, const bd_branch *within)
{
    const bd_added_node added = {.frame = l->frame, .within = within};
    const braid_op *in = n->input_count ? n->inputs[0].op : NULL;
    if (in && bd_node_role(in) == BD_ROLE_ENTER && bd_node_attr_bool(in, "is_constant") && l->forward.pivot)
        bd_node_add_control(n, l->forward.pivot);
    bd_region_add(&l->forward, n, false);
    bd_imap_put(&l->all->added, (uint64_t)n->id, bd_arena_memdup(&l->all->arena, &added, sizeof added));
}

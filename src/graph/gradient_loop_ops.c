// The gradients of the ops that steer a loop: Exit, Switch, Merge, NextIteration, Enter.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "graph/grad.h"
#include "graph/turns.h"

// This gradient is visited twice: first for the value that leaves the loop, then for the value of the body,
// which goes to the previous iteration.
static void switch_gradient(bd_gradient_loop *l, const braid_op *n, const braid_out *grads, braid_out *inputs)
{
    braid_op *merge = bd_imap_get(&l->switches, (uint64_t)n->id);
    if (merge) {
        if (!grads[1].op) return;
        bd_region_next(&l->back, braid_output(merge, 0), bd_b1(l->all->g, "NextIteration", NULL, grads[1]));
    } else if (grads[0].op) {
        inputs[0] = bd_region_merge(&l->back, grads[0], "b_switch");
        if (!inputs[0].op) return;
        bd_imap_put(&l->switches, (uint64_t)n->id, inputs[0].op);
        bd_array_push(&l->merges, inputs[0].op);
    }
}

// The gradient of a constant of the loop: the sum over its iterations.
static braid_out sum_gradients(bd_gradient_loop *l, const braid_op *enter, braid_out grad)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back;
    const braid_shape shape = braid_out_shape(grad);
    braid_out zeros;
    if (bd_shape_is_known(&shape)) {
        bd_region *before = bd_region_swap(g, r->outer);
        zeros = bd_b_const_zeros(g, "b_acc", braid_out_dtype(grad), &shape);
        bd_region_swap(g, before);
    } else {
        zeros = bd_gradient_zeros_around(l, enter->inputs[0], braid_out_dtype(grad));
    }
    const braid_out begin = bd_region_enter(r, zeros, "b_acc", false);
    if (begin.op) bd_node_refine_shape(begin.op, 0, &shape);
    const braid_out merge = bd_region_merge(r, begin, "b_acc");
    braid_op *chosen = bd_region_switch(r, merge, l->goes_on, "Switch");
    const braid_out sum = bd_b2(g, "Add", "Add", braid_output(chosen, 1), grad);
    bd_region_next(r, merge, bd_b1(g, "NextIteration", NULL, sum));
    return bd_region_exit(r, braid_output(chosen, 0), "b_acc");
}

static void enter_gradient(bd_gradient_loop *l, const braid_op *n, braid_out grad, braid_out *input)
{
    if (!grad.op) return;
    *input = bd_node_attr_bool(n, "is_constant") ? sum_gradients(l, n, grad)
                                                 : bd_region_exit(&l->back, grad, "Exit");
}

// The part of a gradient's shape that the loop's variable has in every iteration.
static braid_shape shape_in_loop(braid_out grad, const braid_op *exit)
{
    braid_shape shape = braid_out_shape(grad);
    const braid_shape *variable = &exit->output_shapes[0];
    if (variable->rank != shape.rank) return BD_SHAPE_UNKNOWN;
    for (int d = 0; d < shape.rank; d++)
        if (variable->dims[d] != shape.dims[d]) shape.dims[d] = -1;
    return shape;
}

static braid_out exit_gradient(bd_gradient_loop *l, const braid_op *n, braid_out grad)
{
    const braid_out begin = bd_region_enter(&l->back, grad, "b_exit", false);
    const braid_shape shape = shape_in_loop(grad, n);
    if (begin.op) bd_node_refine_shape(begin.op, 0, &shape);
    return begin;
}

bool bd_gradient_of_loop_op(bd_gradient_loops *all, const braid_op *n, const braid_out *output_grads,
                            braid_out *input_grads)
{
    bd_gradient_loop *l = bd_gradient_loop_of(all, n);
    if (!l) return false;
    switch (bd_node_role(n)) {
    case BD_ROLE_SWITCH:
        if (!bd_gradient_is_loop_switch(all, n)) return false;
        switch_gradient(l, n, output_grads, input_grads);
        return true;
    case BD_ROLE_MERGE:
        if (!bd_gradient_is_loop_merge(n)) return false;
        if (!output_grads[0].op) return true;
        input_grads[0] = bd_gradient_switch(&l->back, output_grads[0], l->goes_on, NULL, 0);
        input_grads[1] = braid_output(input_grads[0].op, 1);
        return true;
    case BD_ROLE_NEXT_ITERATION: input_grads[0] = output_grads[0]; return true;
    case BD_ROLE_ENTER: enter_gradient(l, n, output_grads[0], &input_grads[0]); return true;
    case BD_ROLE_EXIT:
        if (output_grads[0].op) input_grads[0] = exit_gradient(l, n, output_grads[0]);
        return true;
    default: return false;
    }
}

// Finishes a variable whose next value does not depend on it: the body has no gradient for it.
static void finish_switch(bd_gradient_loop *l, braid_op *merge)
{
    braid_graph *g = l->all->g;
    if (merge->inputs[0].op != merge->inputs[1].op) return;
    const braid_op *begin = merge->inputs[0].op;
    const braid_shape shape = begin->output_shapes[0];
    const bool is_known = bd_shape_is_known(&shape);
    bd_region *before = bd_region_swap(g, is_known ? &l->back : l->back.outer);
    const braid_out zeros =
        is_known ? bd_b_const_zeros(g, "Const", begin->output_types[0], &shape)
                 : bd_b_zeros(g, bd_b1(g, "Shape", NULL, begin->inputs[0]), begin->output_types[0]);
    bd_region_swap(g, &l->back);
    bd_region_next(&l->back, braid_output(merge, 0), bd_b1(g, "NextIteration", NULL, zeros));
    bd_region_swap(g, before);
}

void bd_gradient_loops_finish(bd_gradient_loops *all)
{
    for (int i = 0; i < all->frames.count && !bd_gradient_has_failed(all); i++)
        for (size_t k = 0; all->loops[i] && k < all->loops[i]->merges.len; k++)
            finish_switch(all->loops[i], all->loops[i]->merges.items[k]);
}

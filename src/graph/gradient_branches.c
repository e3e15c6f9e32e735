// Finds the branches of conditionals that a node is in, from its inputs.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"

const bd_branch *bd_branch_of_output(bd_gradient_loops *all, braid_out in)
{
    const bd_branch *b = bd_branch_of(all, in.op);
    if (bd_node_role(in.op) != BD_ROLE_SWITCH || bd_node_role(in.op->inputs[1].op) == BD_ROLE_LOOP_COND)
        return b;
    bd_branch *inner = BD_ARENA_ARRAY(&all->arena, bd_branch, 1);
    *inner =
        (bd_branch){.pred = in.op->inputs[1], .taken = in.index, .depth = b ? b->depth + 1 : 1, .outer = b};
    return inner;
}

static const bd_branch *deeper(const bd_branch *a, const bd_branch *b)
{
    return !a || (b && b->depth > a->depth) ? b : a;
}

static const bd_branch *in_common(const bd_branch *a, const bd_branch *b)
{
    while (a && b) {
        if (a->depth > b->depth) {
            a = a->outer;
        } else if (b->depth > a->depth) {
            b = b->outer;
        } else if (a->pred.op == b->pred.op && a->pred.index == b->pred.index && a->taken == b->taken) {
            return a;
        } else {
            a = a->outer;
            b = b->outer;
        }
    }
    return NULL;
}

static const bd_branch *find_branch(bd_gradient_loops *all, const braid_op *n)
{
    if (bd_gradient_is_loop_merge(n)) return bd_branch_of_output(all, n->inputs[0]);
    const bd_branch *b = NULL;
    for (int i = 0; i < n->input_count; i++) {
        const bd_branch *of = bd_branch_of_output(all, n->inputs[i]);
        b = bd_node_role(n) == BD_ROLE_MERGE && i > 0 ? in_common(b, of) : deeper(b, of);
    }
    for (int i = 0; i < n->control_count; i++)
        b = deeper(b, bd_branch_of(all, n->controls[i]));
    return b;
}

// Inputs first, so that no stack grows with the graph.
const bd_branch *bd_branch_of(bd_gradient_loops *all, const braid_op *n)
{
    bd_op_list open = {0};
    if (n->id >= all->count) return NULL;
    bd_array_push(&open, (braid_op *)n);
    while (open.len) {
        const braid_op *top = open.items[open.len - 1];
        const size_t before = open.len;
        const int count = bd_gradient_is_loop_merge(top) ? 1 : top->input_count;
        for (int i = 0; i < count && !all->has_branch[top->id]; i++)
            if (!all->has_branch[top->inputs[i].op->id]) bd_array_push(&open, top->inputs[i].op);
        for (int i = 0; i < top->control_count && !all->has_branch[top->id]; i++)
            if (!all->has_branch[top->controls[i]->id]) bd_array_push(&open, top->controls[i]);
        if (open.len > before) continue;
        open.len--;
        if (all->has_branch[top->id]) continue;
        all->branches[top->id] = find_branch(all, top);
        all->has_branch[top->id] = true;
    }
    bd_array_free(&open);
    return all->branches[n->id];
}

// The gradients of conditionals: the Switches that bring values into a branch, and the Merges that end it.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "graph/builder.h"
#include "graph/grad.h"
#include "graph/gradients_internal.h"

static uint64_t key_of(const bd_branch *b)
{
    return (uint64_t)b->key.op->id << 16 | (uint64_t)(b->key.index & 0xffff);
}

// The branch that ends with input 0 of a Merge, whose other input ends the other branch; NULL: no conditional
// is known to end here.
static const bd_branch *ended_branch(bd_gradient_loops *all, const braid_op *merge)
{
    if (merge->input_count != 2 || bd_gradient_is_loop_merge(merge)) return NULL;
    const bd_branch *a = bd_branch_ending(all, merge, 0), *b = bd_branch_ending(all, merge, 1);
    return a && b && key_of(a) == key_of(b) && a->key_taken != b->key_taken ? a : NULL;
}

static bool merge_gradient(bd_gradient_loops *all, const braid_op *n, braid_out grad, braid_out *inputs)
{
    const bd_branch *b = ended_branch(all, n);
    if (!b) return false;
    bd_gradient_loop *l = bd_gradient_loop_of(all, n);
    bd_imap_put(&all->ended, key_of(b), all);
    if (!grad.op) return true;
    bd_region *here = l ? &l->back : bd_graph_builder(all->g)->region;
    inputs[0] = bd_gradient_switch(here, grad, l ? bd_gradient_condition(l, b->pred) : b->pred, "cond_grad",
                                   b->taken);
    inputs[1] = braid_output(inputs[0].op, !b->taken);
    return true;
}

void bd_gradient_within_branch(bd_gradient_loops *all, braid_out condition)
{
    bd_branch b = {.pred = condition, .taken = 1};
    bd_branch_find_key(all, &b);
    bd_imap_put(&all->ended, key_of(&b), all);
}

bool bd_gradient_switch_rows(bd_gradient_loops *all, bd_gradient_turn *t)
{
    const bd_branch *b = ended_branch(all, t->op);
    if (!b) return false;
    braid_graph *g = all->g;
    bd_gradient_loop *l = bd_gradient_loop_of(all, t->op);
    bd_imap_put(&all->ended, key_of(b), all);
    const braid_out pred = l ? bd_gradient_condition(l, b->pred) : b->pred;
    const braid_out parts[] = {t->output_grads[0], t->output_rows[0].indices, t->output_rows[0].dense_shape};
    braid_op *chosen[3];
    bd_builder_push_colocate_only(g, parts[0].op);
    braid_push_name_scope(g, "cond_grad");
    for (int i = 0; i < 3; i++)
        chosen[i] = braid_op_add(g, "Switch", NULL, (braid_out[]){parts[i], pred}, 2);
    braid_pop_name_scope(g);
    braid_pop_colocate(g);
    for (int i = 0; i < 2; i++) {
        const int taken = i == 0 ? b->taken : !b->taken;
        t->input_grads[i] = braid_output(chosen[0], taken);
        t->input_rows[i] =
            (bd_indexed_slices){braid_output(chosen[1], taken), braid_output(chosen[2], taken)};
    }
    return true;
}

bool bd_gradient_enters_branch(bd_gradient_loops *all, const braid_op *n, int output)
{
    if (bd_node_role(n) != BD_ROLE_SWITCH || bd_gradient_is_loop_switch(all, n) || n->id >= all->count)
        return false;
    const bd_branch *b = bd_branch_of_output(all, braid_output((braid_op *)n, output));
    return b && bd_imap_get(&all->ended, key_of(b));
}

braid_out bd_gradient_zeros_of_branch(bd_gradient_loops *all, const braid_op *n, int output,
                                      braid_dtype dtype)
{
    braid_graph *g = all->g;
    const bool is_handle = bd_dtype_base(n->output_types[output]) == BRAID_RESOURCE;
    const braid_out value = braid_output(braid_op_add(g, "Switch", NULL, n->inputs, 2), output);
    braid_out pivot = bd_b1(g, "Identity", NULL, value), shape = {0};
    if (!is_handle) shape = bd_b1(g, "Shape", NULL, value);
    if (bd_gradient_has_failed(all)) return value;
    // They are dead when the branch is taken that has a gradient.
    braid_push_control(g, &pivot.op, 1);
    if (is_handle) shape = bd_b1(g, "VariableShape", NULL, value);
    const braid_out zeros = bd_b_zeros(g, shape, dtype);
    braid_pop_control(g);
    return zeros;
}

bool bd_gradient_is_in_branch(bd_gradient_loops *all, const braid_op *n, int output)
{
    return bd_gradient_loop_of(all, n) && !bd_gradient_is_loop_switch(all, n) &&
           bd_branch_of_output(all, braid_output((braid_op *)n, output)) == bd_branch_of(all, n);
}

static bool switch_gradient(bd_gradient_loops *all, const braid_op *n, const braid_out *grads,
                            braid_out *inputs)
{
    for (int i = 0; i < 2; i++) {
        if (!grads[i].op || grads[!i].op || !bd_gradient_is_in_branch(all, n, i)) continue;
        inputs[0] = grads[i]; // the data is in that branch already
        return true;
    }
    if (!grads[0].op || !grads[1].op || !bd_gradient_enters_branch(all, n, 0)) return false;
    braid_op_desc *d = braid_op_begin(all->g, "Merge", "cond_grad");
    braid_op_input_list(d, grads, 2);
    inputs[0] = braid_op_end_out(d);
    return true;
}

bool bd_gradient_of_cond_op(bd_gradient_loops *all, const braid_op *n, const braid_out *output_grads,
                            braid_out *input_grads)
{
    if (n->id >= all->count) return false;
    switch (bd_node_role(n)) {
    case BD_ROLE_SWITCH: return switch_gradient(all, n, output_grads, input_grads);
    case BD_ROLE_MERGE: return merge_gradient(all, n, output_grads[0], input_grads);
    default: return false;
    }
}

// ---- Values that a branch takes without a Switch ----

bool bd_branch_is_within(const bd_branch *b, const bd_branch *around)
{
    while (b && !bd_branch_is_same(b, around))
        b = b->outer;
    return b != NULL;
}

braid_out bd_gradient_leave_branches(bd_gradient_loops *all, const braid_op *n, int input, braid_out grad)
{
    const braid_out value = n->inputs[input];
    const int32_t frame = bd_gradient_frame_of(all, value.op);
    bd_gradient_loop *l = frame > 0 ? all->loops[frame] : NULL;
    if (!l || n->id >= all->count) return grad;
    const bd_gradient_loop *entered = bd_node_role(n) == BD_ROLE_ENTER ? bd_gradient_loop_of(all, n) : NULL;
    const bd_branch *b = bd_branch_of(all, entered ? entered->exits.all.items[0] : n);
    const bd_branch *around = bd_branch_of_output(all, value);
    for (b = bd_gradient_branch_within(l, b); b && !bd_branch_is_within(around, b);
         b = bd_gradient_branch_within(l, b->outer)) {
        bd_region *before = bd_region_swap(all->g, &l->back);
        braid_out either[2] = {grad, bd_b1(all->g, "ZerosLike", "zeros_like", value)};
        if (!bd_gradient_has_failed(all))
            either[1] =
                bd_gradient_switch(&l->back, either[1], bd_gradient_condition(l, b->pred), NULL, !b->taken);
        braid_op_desc *d = braid_op_begin(all->g, "Merge", "cond_grad");
        braid_op_input_list(d, either, 2);
        grad = braid_op_end_out(d);
        bd_region_swap(all->g, before);
    }
    return grad;
}

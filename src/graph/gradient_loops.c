// The loops that gradients go through: finding them, and their counters.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "base/check.h"
#include "graph/builder.h"
#include "graph/grad.h"
#include "graph/turns.h"
#include <string.h>

static bd_gradient_loops *loops_new(braid_graph *g, const bd_returns *returns, braid_status *st)
{
    bd_gradient_loops *all = bd_calloc(1, sizeof *all);
    all->g = g;
    all->returns = returns;
    all->count = (int)g->nodes.len;
    bd_graph_consumers(g, &all->consumers);
    bd_frames_find(g, &all->consumers, &all->frames, st);
    if (st->code) {
        bd_gradient_loops_free(all);
        return NULL;
    }
    all->loops = bd_calloc((size_t)all->frames.count, sizeof *all->loops);
    all->branches = bd_calloc((size_t)all->count, sizeof *all->branches);
    all->has_branch = bd_calloc((size_t)all->count, sizeof *all->has_branch);
    bd_imap_init(&all->added);
    bd_imap_init(&all->ended);
    return all;
}

bd_gradient_loops *bd_gradient_loops_new(braid_graph *g, const bd_returns *returns)
{
    BD_STATUS(st);
    bd_gradient_loops *all = loops_new(g, returns, st);
    if (!all) braid_graph_fail(g, st->code, "Gradients: %s", st->message);
    return all;
}

bd_gradient_loops *bd_gradient_conditionals_new(braid_graph *g, const bd_returns *returns)
{
    BD_STATUS(st);
    return loops_new(g, returns, st);
}

static void loop_free(bd_gradient_loop *l)
{
    if (!l) return;
    bd_region_fini(&l->forward);
    bd_region_fini(&l->back);
    bd_array_free(&l->exits.all);
    bd_array_free(&l->exits.ready);
    bd_imap_fini(&l->switches);
    bd_array_free(&l->merges);
    bd_free(l);
}

void bd_gradient_loops_free(bd_gradient_loops *all)
{
    if (!all) return;
    for (int i = 0; all->loops && i < all->frames.count; i++)
        loop_free(all->loops[i]);
    bd_gradient_around_free(all);
    bd_consumers_fini(&all->consumers);
    bd_frames_fini(&all->frames);
    bd_free(all->loops);
    bd_free(all->branches);
    bd_free(all->has_branch);
    bd_imap_fini(&all->added);
    bd_imap_fini(&all->ended);
    bd_arena_fini(&all->arena);
    bd_free(all);
}

// ---- Where nodes and values are ----

int32_t bd_gradient_frame_of(const bd_gradient_loops *all, const braid_op *n)
{
    if (n->id >= all->count) {
        const bd_added_node *added = bd_imap_get(&all->added, (uint64_t)n->id);
        return added ? added->frame : -1;
    }
    if (bd_node_role(n) == BD_ROLE_ENTER) return all->frames.entered[n->id];
    const int32_t runs_in = all->frames.of[n->id];
    return bd_node_role(n) == BD_ROLE_EXIT ? all->frames.items[runs_in].parent : runs_in;
}

bd_gradient_loop *bd_gradient_loop_of(const bd_gradient_loops *all, const braid_op *n)
{
    if (!all || n->id >= all->count) return NULL;
    const bool enters = bd_node_role(n) == BD_ROLE_ENTER;
    return all->loops[enters ? all->frames.entered[n->id] : all->frames.of[n->id]];
}

bd_region *bd_gradient_region(const bd_gradient_loops *all, const braid_op *n, bool receives)
{
    bd_gradient_loop *l = bd_gradient_loop_of(all, n);
    if (l && receives && bd_node_role(n) == BD_ROLE_EXIT) l = l->outer;
    return l ? &l->back : NULL;
}

bool bd_gradient_is_loop_switch(const bd_gradient_loops *all, const braid_op *n)
{
    return all && bd_node_role(n) == BD_ROLE_SWITCH && bd_gradient_loop_of(all, n) &&
           bd_node_role(n->inputs[1].op) == BD_ROLE_LOOP_COND;
}

bool bd_gradient_is_loop_merge(const braid_op *n)
{
    if (bd_node_role(n) != BD_ROLE_MERGE) return false;
    for (int i = 0; i < n->input_count; i++)
        if (bd_node_role(n->inputs[i].op) == BD_ROLE_NEXT_ITERATION) return true;
    return false;
}

// ---- Counters ----

// A node of the forward loop that runs in each iteration of its body: the one that takes the first variable,
// as a rule.
static braid_op *pivot_of_body(bd_gradient_loop *l)
{
    const bd_gradient_loops *all = l->all;
    const bd_consumers *c = &all->consumers;
    braid_op *chosen = NULL;
    for (int e = c->offsets[l->condition->id]; e < c->offsets[l->condition->id + 1]; e++) {
        braid_op *n = c->items[e].node;
        if (bd_node_role(n) == BD_ROLE_SWITCH && (!chosen || n->id < chosen->id)) chosen = n;
    }
    BD_ASSERT(chosen); // the condition was found at a Switch
    braid_op *pivot = NULL;
    for (int e = c->offsets[chosen->id]; e < c->offsets[chosen->id + 1]; e++) {
        braid_op *n = c->items[e].node;
        if (c->items[e].output == 1 && c->items[e].input >= 0 && bd_node_role(n) == BD_ROLE_PLAIN &&
            (!pivot || n->id < pivot->id))
            pivot = n;
    }
    if (pivot) return pivot;
    bd_region *before = bd_region_swap(all->g, NULL);
    const braid_out value = bd_b1(all->g, "Identity", NULL, braid_output(chosen, 1));
    bd_region_swap(all->g, before);
    if (value.op) bd_gradient_add_forward(l, value.op, NULL);
    return value.op;
}

static void set_shape(braid_out out, braid_shape shape)
{
    if (out.op) bd_node_refine_shape(out.op, out.index, &shape);
}

// Counts the iterations of the forward loop; returns their number, in the loop around it.
static braid_out count_forward(bd_gradient_loop *l)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->forward, *before = bd_region_swap(g, l->forward.outer);
    const braid_out from = bd_b_const_i32(g, "f_count", 0);
    bd_region_swap(g, NULL);
    if (l->outer && from.op) bd_node_add_control(from.op, l->outer->counted);
    const braid_out begin = bd_region_enter(r, from, "f_count", false);
    set_shape(begin, BRAID_SCALAR);
    const braid_out merge = bd_region_merge(r, begin, "Merge");
    bd_region_add(r, l->condition, false);
    braid_op *chosen = bd_region_switch(r, merge, braid_output((braid_op *)l->condition, 0), "Switch");
    bd_region_swap(g, r);
    const char *scope = braid_push_name_scope(g, "Add");
    const braid_out one = bd_b_const_i32(g, "y", 1);
    const braid_out sum = bd_b2(g, "Add", scope, braid_output(chosen, 1), one);
    braid_pop_name_scope(g);
    const braid_out next = bd_b1(g, "NextIteration", NULL, sum);
    bd_region_swap(g, before);
    bd_region_next(r, merge, next);
    l->counted = sum.op;
    l->count_on = next.op;
    return bd_region_exit(r, braid_output(chosen, 0), "f_count");
}

static void count_back(bd_gradient_loop *l, braid_out count)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back, *before = bd_region_swap(g, l->back.outer);
    const braid_out one = bd_b_const_i32(g, "b_count", 1);
    bd_region_swap(g, NULL);
    const braid_out begin = bd_region_enter(r, count, "b_count", false);
    set_shape(begin, BRAID_SCALAR);
    const braid_out merge = bd_region_merge(r, begin, "Merge");
    r->pivot = merge.op;
    bd_region_swap(g, r);
    const braid_out more = bd_b2(g, "GreaterEqual", NULL, merge, one);
    l->goes_on = bd_b1(g, "LoopCond", "b_count", more);
    braid_op *chosen = bd_region_switch(r, merge, l->goes_on, "Switch");
    const braid_out left = bd_b2(g, "Sub", NULL, braid_output(chosen, 1), one);
    r->pivot = left.op;
    const braid_out next = bd_b1(g, "NextIteration", NULL, left);
    bd_region_swap(g, before);
    bd_region_next(r, merge, next);
    l->back_on = next.op;
    l->back_begin = begin.op;
    const braid_out end = bd_region_exit(r, braid_output(chosen, 0), "b_count");
    l->back_end = end.op;
    // It ends before the outer loop continues, if it runs at all.
    if (l->outer)
        bd_gradient_add_to_trigger(l->outer, &l->outer->back, &l->outer->pop_sync, "b_sync",
                                   l->outer->back_on, end.op);
}

// ---- Loops ----

static void unsupported(bd_gradient_loops *all, const braid_op *exit, const char *why)
{
    braid_graph_fail(all->g, BRAID_UNIMPLEMENTED, "No gradient through the loop that '%s' leaves: %s",
                     exit->name, why);
}

static bool find_condition(bd_gradient_loop *l, const braid_op *exit)
{
    const braid_op *chosen = exit->inputs[0].op;
    while (strcmp(chosen->op_type, "Identity") == 0) // of a tuple of gradients
        chosen = chosen->inputs[0].op;
    if (bd_node_role(chosen) != BD_ROLE_SWITCH || bd_node_role(chosen->inputs[1].op) != BD_ROLE_LOOP_COND) {
        unsupported(l->all, exit, "it does not take a Switch by a LoopCond");
        return false;
    }
    l->condition = chosen->inputs[1].op;
    return true;
}

static void list_exits(bd_gradient_loop *l)
{
    const bd_gradient_loops *all = l->all;
    for (int id = 0; id < all->count; id++) {
        braid_op *n = all->g->nodes.items[id];
        if (bd_node_role(n) == BD_ROLE_EXIT && all->frames.of[id] == l->frame)
            bd_array_push(&l->exits.all, n);
    }
}

static void build_counters(bd_gradient_loop *l, const braid_op *exit)
{
    l->forward.pivot = pivot_of_body(l);
    braid_out count = count_forward(l);
    if (l->outer && !bd_gradient_has_failed(l->all)) {
        const bd_branch *within = bd_gradient_branch_within(l->outer, bd_branch_of(l->all, exit));
        bd_gradient_add_forward(l->outer, count.op, within);
        count = bd_gradient_pop(l->outer, bd_gradient_push(l->outer, count, within, false), count, within);
    }
    count_back(l, count);
}

static bd_gradient_loop *loop_new(bd_gradient_loops *all, int32_t frame, bd_gradient_loop *outer)
{
    bd_gradient_loop *l = bd_calloc(1, sizeof *l);
    const bd_graph_frame *f = &all->frames.items[frame];
    l->all = all;
    l->outer = outer;
    l->frame = frame;
    l->around = bd_gradient_branch_around(all, frame);
    bd_region *around = bd_gradient_region_of_branch(all, outer ? NULL : l->around);
    bd_region_init_loop(&l->forward, all->g, outer ? &outer->forward : around, f->name,
                        f->parallel_iterations);
    bd_region_init_loop(&l->back, all->g, outer ? &outer->back : around,
                        bd_builder_unique_name(all->g, f->name), f->parallel_iterations);
    l->back.bring = bd_gradient_real_value;
    l->back.moves = bd_gradient_asks_forward;
    l->back.arg = l;
    all->loops[frame] = l;
    return l;
}

static bd_gradient_loop *add_loop(bd_gradient_loops *all, int32_t frame, const braid_op *exit)
{
    if (frame == 0 || bd_gradient_has_failed(all)) return NULL;
    if (all->loops[frame]) return all->loops[frame];
    bd_gradient_loop *outer = NULL;
    const int32_t parent = all->frames.items[frame].parent;
    if (parent > 0) {
        const braid_op *outer_exit = NULL;
        for (int id = 0; id < all->count && !outer_exit; id++) {
            const braid_op *n = all->g->nodes.items[id];
            if (bd_node_role(n) == BD_ROLE_EXIT && all->frames.of[id] == parent) outer_exit = n;
        }
        // A loop without an Exit is being built, and the gradients are part of its body: a front end that
        // builds without regions takes them in (`adopt` in control_flow_contexts.py).
        if (outer_exit) {
            outer = add_loop(all, parent, outer_exit);
        } else if (bd_graph_builder(all->g)->region) {
            unsupported(all, exit, "the loop around it has no Exit");
            return NULL;
        }
    }
    if (bd_gradient_has_failed(all)) return NULL;
    bd_gradient_loop *l = loop_new(all, frame, outer);
    list_exits(l);
    if (find_condition(l, exit)) build_counters(l, exit);
    return l;
}

void bd_gradient_loops_add(bd_gradient_loops *all, const braid_op *exit)
{
    add_loop(all, all->frames.of[exit->id], exit);
}

int bd_gradient_loop_count(const bd_gradient_loops *all)
{
    return all ? all->frames.count : 0;
}

bd_gradient_exits *bd_gradient_exits_at(bd_gradient_loops *all, int i)
{
    return all->loops[i] ? &all->loops[i]->exits : NULL;
}

bd_gradient_exits *bd_gradient_exits_of(bd_gradient_loops *all, const braid_op *exit)
{
    return &bd_gradient_loop_of(all, exit)->exits;
}

bd_gradient_exits *bd_gradient_exits_around(const bd_gradient_exits *exits)
{
    bd_gradient_loop *l = BD_CONTAINER_OF(exits, bd_gradient_loop, exits);
    return l->outer ? &l->outer->exits : NULL;
}

bd_gradient_exits *bd_gradient_loop_exits(bd_gradient_loop *l)
{
    return &l->exits;
}

// A handle's is that of the variable.
static braid_out shape_of(braid_graph *g, braid_out value)
{
    const bool is_handle = bd_dtype_base(braid_out_dtype(value)) == BRAID_RESOURCE;
    return bd_b1(g, is_handle ? "VariableShape" : "Shape", NULL, value);
}

// The shape of a value of the forward loop in the iteration for which the gradient loop runs.
static braid_out shape_back(bd_gradient_loop *l, braid_out value, const bd_branch *within, bool is_dead)
{
    braid_graph *g = l->all->g;
    bd_region *before = bd_region_swap(g, NULL);
    const braid_out shape = shape_of(g, value);
    bd_region_swap(g, before);
    if (bd_gradient_has_failed(l->all)) return shape;
    within = bd_gradient_branch_within(l, within);
    bd_gradient_add_forward(l, shape.op, within);
    return bd_gradient_pop(l, bd_gradient_push(l, shape, within, is_dead), shape, within);
}

braid_out bd_gradient_shape_around(bd_gradient_loop *l, braid_out value)
{
    braid_graph *g = l->all->g;
    bd_gradient_loop *outer = l->outer;
    if (outer && bd_gradient_frame_of(l->all, value.op) == outer->frame)
        return shape_back(outer, value, bd_branch_of_output(l->all, value), false);
    bd_region *before = bd_region_swap(g, l->back.outer);
    const braid_out shape = shape_of(g, value);
    bd_region_swap(g, before);
    return shape;
}

braid_out bd_gradient_zeros_around(bd_gradient_loop *l, braid_out value, braid_dtype dtype)
{
    const braid_out shape = bd_gradient_shape_around(l, value);
    bd_region *before = bd_region_swap(l->all->g, l->back.outer);
    const braid_out zeros = bd_b_zeros(l->all->g, shape, dtype);
    bd_region_swap(l->all->g, before);
    return zeros;
}

braid_out bd_gradient_zeros_for_exit(bd_gradient_loops *all, braid_op *exit)
{
    bd_gradient_loop *l = bd_gradient_loop_of(all, exit);
    const braid_out value = braid_output(exit, 0);
    const braid_shape shape = braid_out_shape(value);
    const braid_dtype dtype = bd_dtype_base(braid_out_dtype(value));
    if (!bd_shape_is_known(&shape) && l->outer) return bd_gradient_zeros_around(l, value, dtype);
    bd_region *before = bd_region_swap(all->g, bd_gradient_region(all, exit, true));
    const braid_out zeros = bd_shape_is_known(&shape) ? bd_b_zeros_of(all->g, &shape, dtype)
                                                      : bd_b1(all->g, "ZerosLike", "zeros_like", value);
    bd_region_swap(all->g, before);
    return zeros;
}

braid_out bd_gradient_zeros_in_loop(bd_gradient_loops *all, braid_op *n, int output)
{
    bd_gradient_loop *l = bd_gradient_loop_of(all, n);
    braid_graph *g = all->g;
    const braid_out value = braid_output(n, output);
    const braid_shape shape = braid_out_shape(value);
    const braid_dtype dtype = bd_dtype_base(braid_out_dtype(value));
    const bool is_switch = bd_node_role(n) == BD_ROLE_SWITCH;
    // The data is in the other branch already: it never comes out here.
    if (is_switch && bd_branch_of_output(all, braid_output(n, !output)) == bd_branch_of(all, n))
        return (braid_out){0};
    if (!bd_shape_is_known(&shape)) {
        // Of a branch that is not taken there is no value that could be asked: another Switch has its data.
        braid_out of = value;
        if (is_switch) {
            bd_region *before = bd_region_swap(g, NULL);
            of = bd_gradient_switch(NULL, n->inputs[0], n->inputs[1], NULL, output);
            bd_region_swap(g, before);
        }
        return bd_b_zeros(g, shape_back(l, of, bd_branch_of_output(all, value), is_switch), dtype);
    }
    const braid_out zeros = bd_b_const_zeros(g, "Const", dtype, &shape);
    return is_switch ? bd_gradient_switch(&l->back, zeros, n->inputs[1], NULL, output) : zeros;
}

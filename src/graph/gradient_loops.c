// The loops that gradients go through: finding them, and their counters.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "base/check.h"
#include "graph/builder.h"
#include "graph/grad.h"

bd_gradient_loops *bd_gradient_loops_new(braid_graph *g, const bd_returns *returns)
{
    bd_gradient_loops *all = bd_calloc(1, sizeof *all);
    BD_STATUS(st);
    all->g = g;
    all->returns = returns;
    all->count = (int)g->nodes.len;
    bd_graph_consumers(g, &all->consumers);
    bd_frames_find(g, &all->consumers, &all->frames, st);
    if (st->code) {
        braid_graph_fail(g, st->code, "Gradients: %s", st->message);
        bd_gradient_loops_free(all);
        return NULL;
    }
    all->loops = bd_calloc((size_t)all->frames.count, sizeof *all->loops);
    all->branches = bd_calloc((size_t)all->count, sizeof *all->branches);
    all->has_branch = bd_calloc((size_t)all->count, sizeof *all->has_branch);
    return all;
}

static void loop_free(bd_gradient_loop *l)
{
    if (!l) return;
    bd_region_fini(&l->forward);
    bd_region_fini(&l->back);
    bd_array_free(&l->exits.all);
    bd_array_free(&l->exits.ready);
    bd_imap_fini(&l->switches);
    bd_free(l);
}

void bd_gradient_loops_free(bd_gradient_loops *all)
{
    if (!all) return;
    for (int i = 0; all->loops && i < all->frames.count; i++)
        loop_free(all->loops[i]);
    bd_consumers_fini(&all->consumers);
    bd_frames_fini(&all->frames);
    bd_free(all->loops);
    bd_free(all->branches);
    bd_free(all->has_branch);
    bd_arena_fini(&all->arena);
    bd_free(all);
}

// ---- Where nodes and values are ----

int32_t bd_gradient_frame_of(const bd_gradient_loops *all, const braid_op *n)
{
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

// A number that loop `outer` (NULL: no loop) has in each iteration, after its counter's addition.
static braid_out number_in(bd_gradient_loops *all, bd_gradient_loop *outer, const char *name, int32_t value)
{
    bd_region *before = bd_region_swap(all->g, NULL);
    braid_push_control(all->g, NULL, 0);
    if (outer) braid_push_control(all->g, &outer->counted, 1);
    braid_out out = bd_b_const_i32(all->g, name, value);
    if (outer) braid_pop_control(all->g);
    braid_pop_control(all->g);
    bd_region_swap(all->g, before);
    if (outer) bd_region_add(&outer->forward, out.op, false);
    return out;
}

// Counts the iterations of the forward loop; returns their number, in the loop around it.
static braid_out count_forward(bd_gradient_loop *l)
{
    braid_graph *g = l->all->g;
    const braid_out from = number_in(l->all, l->outer, "f_count", 0),
                    one = number_in(l->all, l->outer, "one", 1);
    bd_region *r = &l->forward, *before = bd_region_swap(g, NULL);
    const braid_out merge = bd_region_merge(r, bd_region_enter(r, from, "f_count", false), "Merge");
    const braid_out condition = braid_output((braid_op *)l->condition, 0);
    bd_region_add(r, l->condition, false);
    braid_op *chosen = bd_region_switch(r, merge, condition, "Switch");
    const braid_out step = bd_region_enter(r, one, "one", true);
    bd_region_swap(g, r);
    const braid_out sum = bd_b2(g, "Add", "Add", braid_output(chosen, 1), step);
    const braid_out next = bd_b1(g, "NextIteration", NULL, sum);
    bd_region_swap(g, before);
    bd_region_next(r, merge, next);
    l->counted = sum.op;
    l->count_on = next.op;
    return bd_region_exit(r, braid_output(chosen, 0), "f_count");
}

static void count_back(bd_gradient_loop *l, braid_out count, braid_out one)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back, *before = bd_region_swap(g, NULL);
    const braid_out begin = bd_region_enter(r, count, "b_count", false);
    const braid_out merge = bd_region_merge(r, begin, "Merge");
    const braid_out step = bd_region_enter(r, one, "one", true);
    bd_region_swap(g, r);
    const braid_out more = bd_b2(g, "GreaterEqual", NULL, merge, step);
    braid_op_desc *d = braid_op_begin(g, "LoopCond", "b_count");
    braid_op_input(d, more);
    l->goes_on = braid_op_end_out(d);
    braid_op *chosen = bd_region_switch(r, merge, l->goes_on, "Switch");
    const braid_out left = bd_b2(g, "Sub", "Sub", braid_output(chosen, 1), step);
    const braid_out next = bd_b1(g, "NextIteration", NULL, left);
    bd_region_swap(g, before);
    bd_region_next(r, merge, next);
    r->pivot = left.op;
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

static const char *back_frame(bd_gradient_loops *all, const char *forward)
{
    const char *scope = braid_push_name_scope(all->g, "while_grad");
    braid_pop_name_scope(all->g);
    return bd_arena_asprintf(&all->g->arena, "%s%s", scope, forward);
}

static void build_counters(bd_gradient_loop *l, const braid_op *exit)
{
    const braid_out count = count_forward(l);
    braid_out real = count, one = number_in(l->all, NULL, "b_count", 1);
    if (l->outer && !bd_gradient_has_failed(l->all)) {
        const bd_branch *within = bd_branch_of(l->all, exit);
        while (within && bd_gradient_frame_of(l->all, within->pred.op) != l->outer->frame)
            within = within->outer;
        real = bd_gradient_pop(l->outer, bd_gradient_push(l->outer, count, within), count, within);
        one = bd_region_bring(&l->outer->back, one);
    }
    count_back(l, real, one);
}

static bd_gradient_loop *loop_new(bd_gradient_loops *all, int32_t frame, bd_gradient_loop *outer)
{
    bd_gradient_loop *l = bd_calloc(1, sizeof *l);
    const bd_graph_frame *f = &all->frames.items[frame];
    l->all = all;
    l->outer = outer;
    l->frame = frame;
    bd_region_init_loop(&l->forward, all->g, outer ? &outer->forward : NULL, f->name, f->parallel_iterations);
    bd_region_init_loop(&l->back, all->g, outer ? &outer->back : NULL, back_frame(all, f->name),
                        f->parallel_iterations);
    l->back.bring = bd_gradient_real_value;
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

braid_out bd_gradient_zeros_for_exit(bd_gradient_loops *all, braid_op *exit)
{
    bd_region *before = bd_region_swap(all->g, bd_gradient_region(all, exit, true));
    const braid_out zeros = bd_b1(all->g, "ZerosLike", "zeros_like", braid_output(exit, 0));
    bd_region_swap(all->g, before);
    return zeros;
}

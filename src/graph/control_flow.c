// Conditionals and loops, built from functions that build their bodies.
#include <braid/control.h>

#include "base/alloc.h"
#include "graph/builder.h"
#include "graph/function_build.h"
#include "graph/region.h"
#include "graph/turns.h"
#include "tensor/shape.h"
#include <string.h>

static braid_out node1(braid_graph *g, const char *op, const char *name, braid_out a)
{
    return braid_output(braid_op_add(g, op, name, &a, 1), 0);
}

// Returns whether all values are there; those from outside of a function's body are captured.
static bool all_given(braid_graph *g, const char *what, braid_out *outs, int count)
{
    for (int i = 0; i < count; i++) {
        outs[i] = bd_function_capture(g, outs[i]);
        if (outs[i].op && outs[i].op->graph == g) continue;
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s %d is %s", what, i,
                         outs[i].op ? "of another graph" : "nothing");
    }
    return g->status.code == BRAID_OK;
}

// ---- Loops ----

typedef struct loop_vars {
    int count;
    braid_out *merges, *values, *next; // at the start of an iteration; in the body; for the next iteration
    braid_op **switches;
} loop_vars;

static void vars_init(loop_vars *v, int count)
{
    v->count = count;
    v->merges = bd_calloc((size_t)count, sizeof *v->merges);
    v->values = bd_calloc((size_t)count, sizeof *v->values);
    v->next = bd_calloc((size_t)count, sizeof *v->next);
    v->switches = bd_calloc((size_t)count, sizeof *v->switches);
}

static void vars_fini(loop_vars *v)
{
    bd_free(v->merges);
    bd_free(v->values);
    bd_free(v->next);
    bd_free(v->switches);
}

// Returns whether every tensor of shape `a` has shape `b` too.
static bool is_within(const braid_shape *a, const braid_shape *b)
{
    if (b->rank < 0) return true;
    bool within = a->rank == b->rank;
    for (int i = 0; within && i < b->rank; i++)
        within = b->dims[i] < 0 || a->dims[i] == b->dims[i];
    return within;
}

// The shape that variable `i` has in each iteration: the one that the caller allows, else the initial one.
static braid_shape invariant(braid_graph *g, const braid_loop *loop, int i, braid_out init)
{
    const braid_shape first = braid_out_shape(init);
    if (!loop->shape_invariants) return first;
    const braid_shape *allowed = &loop->shape_invariants[i];
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!is_within(&first, allowed))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "The loop's variable %d, '%s', begins with shape %s, which is not within its shape "
                         "invariant %s",
                         i, init.op->name, bd_shape_str(&first, a), bd_shape_str(allowed, b));
    return *allowed;
}

static void build_head(braid_graph *g, bd_region *r, const braid_loop *loop, loop_vars *v,
                       const braid_out *init)
{
    for (int i = 0; i < v->count; i++) {
        const braid_shape shape = invariant(g, loop, i, init[i]);
        v->values[i] = bd_region_enter(r, bd_region_bring(r->outer, init[i]), "Enter", false);
        // The op cannot know it, for other loops are built otherwise: build_back_edges checks it.
        if (v->values[i].op) v->values[i].op->output_shapes[0] = shape;
    }
    for (int i = 0; i < v->count; i++)
        v->merges[i] = bd_region_merge(r, v->values[i], "Merge");
    r->pivot = v->merges[0].op;
    bd_region_swap(g, r);
}

// The variables of iterations that take place.
static void build_switches(braid_graph *g, bd_region *r, loop_vars *v, braid_out condition)
{
    const braid_out goes_on = node1(g, "LoopCond", "LoopCond", condition);
    for (int i = 0; i < v->count; i++)
        v->switches[i] = bd_region_switch(r, v->merges[i], goes_on, "Switch");
    for (int i = 0; i < v->count; i++)
        v->values[i] = node1(g, bd_dtype_is_ref(braid_out_dtype(v->merges[i])) ? "RefIdentity" : "Identity",
                             "Identity", braid_output(v->switches[i], 1));
    r->pivot = v->values[0].op;
}

static void check_invariant(braid_graph *g, int i, const braid_out *merge, const braid_out *next)
{
    const braid_shape was = braid_out_shape(*merge), is = braid_out_shape(*next);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!is_within(&is, &was))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "The loop's variable %d has shape %s, but its next value '%s' has shape %s; give a "
                         "shape invariant that allows both",
                         i, bd_shape_str(&was, a), next->op->name, bd_shape_str(&is, b));
}

static void build_back_edges(braid_graph *g, bd_region *r, const loop_vars *v)
{
    for (int i = 0; i < v->count; i++) {
        const braid_dtype is = bd_dtype_base(braid_out_dtype(v->next[i])),
                          was = bd_dtype_base(braid_out_dtype(v->merges[i]));
        if (is != was)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "The loop's variable %d is %s, but %s in the next iteration", i,
                             braid_dtype_name(was), braid_dtype_name(is));
        check_invariant(g, i, &v->merges[i], &v->next[i]);
        const bool by_ref = bd_dtype_is_ref(braid_out_dtype(v->next[i]));
        bd_region_next(r, v->merges[i],
                       node1(g, by_ref ? "RefNextIteration" : "NextIteration", "NextIteration", v->next[i]));
    }
}

static void build_loop(braid_graph *g, bd_region *r, const braid_loop *loop, loop_vars *v,
                       const braid_out *init, braid_out *results)
{
    build_head(g, r, loop, v, init);
    braid_out condition = loop->condition(loop->arg, g, v->merges);
    if (!all_given(g, "The loop's condition", &condition, 1)) return;
    build_switches(g, r, v, condition);
    loop->body(loop->arg, g, v->values, v->next);
    if (!all_given(g, "The loop's next value", v->next, v->count)) return;
    build_back_edges(g, r, v);
    for (int i = 0; i < v->count; i++)
        results[i] = bd_region_exit(r, braid_output(v->switches[i], 0), "Exit");
}

void braid_while(braid_graph *g, const braid_loop *loop, const braid_out *init, int count, braid_out *results)
{
    BD_GRAPH_TURN(g);
    if (!g || g->status.code) return;
    if (count < 1) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A loop without variables");
    braid_out *first = count < 1 ? NULL : bd_memdup(init, (size_t)count * sizeof *init);
    if (!all_given(g, "The loop's variable", first, count)) {
        bd_free(first);
        return;
    }
    const char *scope = braid_push_name_scope(g, loop->name ? loop->name : "while");
    const char *frame = bd_arena_asprintf(&g->arena, "%swhile_context", scope);
    bd_region r;
    bd_region *outer = bd_region_swap(g, NULL);
    loop_vars v;
    vars_init(&v, count);
    bd_region_init_loop(&r, g, outer, frame, loop->parallel_iterations ? loop->parallel_iterations : 10);
    build_loop(g, &r, loop, &v, first, results);
    if (g->status.code) memset(results, 0, (size_t)count * sizeof *results);
    bd_region_swap(g, outer);
    bd_region_fini(&r);
    vars_fini(&v);
    braid_pop_name_scope(g);
    bd_free(first);
}

// ---- Conditionals ----

typedef struct branches {
    braid_out pred, switched[2], *results[2];
    int count;
} branches;

static void build_branch(braid_graph *g, bd_region *outer, const branches *b, int which,
                         braid_branch_fn build, void *arg)
{
    bd_region r;
    bd_region_init_branch(&r, g, outer, b->pred, which);
    bd_region_add(&r, b->switched[which].op, false);
    r.pivot = b->switched[which].op;
    bd_region_swap(g, &r);
    build(arg, g, b->results[which]);
    all_given(g, "The branch's value", b->results[which], b->count);
    for (int i = 0; i < b->count; i++)
        b->results[which][i] = bd_region_bring(&r, b->results[which][i]);
    bd_region_swap(g, outer);
    bd_region_fini(&r);
}

static void merge_branches(braid_graph *g, bd_region *outer, const branches *b, braid_out *results)
{
    bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    for (int i = 0; i < b->count && !g->status.code; i++) {
        const braid_out both[2] = {b->results[0][i], b->results[1][i]};
        braid_op_desc *d = braid_op_begin(g, "Merge", "Merge");
        braid_op_input_list(d, both, 2);
        results[i] = braid_op_end_out(d);
        bd_region_add(outer, results[i].op, false);
    }
    braid_pop_control(g);
    bd_region_swap(g, outer);
}

void braid_cond(braid_graph *g, const char *name, braid_out pred, braid_branch_fn then,
                braid_branch_fn otherwise, void *arg, int count, braid_out *results)
{
    BD_GRAPH_TURN(g);
    if (!g || !all_given(g, "The condition", &pred, 1)) return;
    (void)braid_push_name_scope(g, name ? name : "cond");
    bd_region *outer = bd_region_swap(g, NULL);
    bd_region_swap(g, outer);
    branches b = {.pred = bd_region_bring(outer, pred), .count = count};
    braid_op *chosen = braid_op_add(g, "Switch", "Switch", (braid_out[]){b.pred, b.pred}, 2);
    for (int i = 0; i < 2; i++) {
        b.switched[i] = node1(g, "Identity", i ? "switch_t" : "switch_f", braid_output(chosen, i));
        b.results[i] = bd_calloc((size_t)count, sizeof *b.results[i]);
    }
    build_branch(g, outer, &b, 1, then, arg);
    build_branch(g, outer, &b, 0, otherwise, arg);
    merge_branches(g, outer, &b, results);
    if (g->status.code) memset(results, 0, (size_t)count * sizeof *results);
    bd_free(b.results[0]);
    bd_free(b.results[1]);
    braid_pop_name_scope(g);
}

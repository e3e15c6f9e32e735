// Lowering functional conditionals, loops and calls: see lower.h.
//
//     If: each argument goes through a Switch by the condition to the two bodies, each result through a Merge out of them; what
//         has no inputs waits for the pivot of its side, a Switch of the condition itself.
//     While: each value goes Enter, Merge, [cond, LoopCond], Switch, then either Exit or [body], NextIteration, back to Merge.
//     PartitionedCall: arguments go through Identity nodes, which wait for what the call waits for.
// Effects of a side are over before the node hands on values or lets run what waits for it, those of a turn of a loop before the next.
#include "graph/lower_internal.h"

#include "base/check.h"
#include "graph/graph_internal.h"
#include <string.h>

#define LOWER_ATTR "_lower_using_switch_merge"
// So much memory the nodes of functions may take: those that call another twice, which does the same, double it each time.
#define INLINED_BYTES_MAX ((int64_t)1 << 28)

// ---- What can be lowered ----

static bool is_asked_for(const braid_op *n)
{
    const bd_attr *a = bd_node_attr(n, LOWER_ATTR);
    return a && a->kind == BD_ATTR_BOOL && a->b;
}

// Inputs [from, input_count) go in, and the node's outputs come out.
static bool fits_types(const braid_op *n, int from, const bd_function_body *f)
{
    bool fits = f->arg_count == n->input_count - from && f->ret_count == n->output_count;
    for (int i = 0; fits && i < f->arg_count; i++)
        fits = bd_dtype_base(f->arg_types[i]) == bd_dtype_base(braid_out_dtype(n->inputs[from + i]));
    for (int i = 0; fits && i < f->ret_count; i++)
        fits = bd_dtype_base(f->ret_types[i]) == n->output_types[i];
    return fits;
}

static bool may_be_true(braid_out out)
{
    return braid_out_dtype(out) == BRAID_BOOL && braid_out_shape(out).rank <= 0;
}

// ---- What takes the node's place ----

static void wait_for(braid_op *n, const bd_op_list *before)
{
    for (size_t i = 0; i < before->len; i++)
        bd_node_add_control(n, before->items[i]);
}

static void copy_controls(const braid_op *from, braid_op *to)
{
    for (int i = 0; i < from->control_count; i++)
        bd_node_add_control(to, from->controls[i]);
}

static braid_out first(braid_op *n)
{
    return (braid_out){.op = n};
}

// Who takes a value lets all effects happen, though nothing else needs them.
static void let_values_wait(bd_lowering *l, const braid_op *n, braid_out *values, braid_op *last)
{
    for (int i = 0; i < n->output_count; i++) {
        values[i] = first(bd_lower_add(l, n, "output", "Identity", &values[i], 1, NULL, 0));
        bd_node_add_control(values[i].op, last);
    }
}

// The node becomes an IdentityN of the values (a NoOp of none), which are there after `last` (NULL: as soon as they are).
static void become(bd_lowering *l, braid_op *n, braid_out *values, braid_op *last)
{
    if (last) let_values_wait(l, n, values, last);
    BD_STATUS(st);
    braid_graph *g = l->g;
    const int count = n->output_count;
    braid_out *none = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)count);
    bd_named_attr types = {.name = "T", .value = {.kind = BD_ATTR_LIST, .item_kind = BD_ATTR_TYPE}};
    types.value.list.count = count;
    types.value.list.type = n->output_types;
    const bd_node_spec spec = {.name = n->name,
                               .op_type = count ? "IdentityN" : "NoOp",
                               .device = n->device,
                               .inputs = none,
                               .input_count = count,
                               .attrs = &types,
                               .attr_count = count > 0};
    braid_op *made;
    if (count) bd_imap_put(&l->values, (uintptr_t)n, values);
    bd_map_remove(&g->by_name, n->name);
    const braid_code code = bd_graph_make_node(g, &spec, &made, st);
    BD_ASSERT(!code);
    bd_map_put(&g->by_name, n->name, n);
    made->id = n->id;
    made->name = n->name;
    if (count) made->output_shapes = n->output_shapes;
    *n = *made;
    for (int i = 0; i < count; i++)
        bd_node_set_input(n, i, values[i]);
    if (last && count == 0) bd_node_add_control(n, last);
}

// ---- If ----

// Attrs of nodes that join two values.
static const bd_named_attr two = {.name = "N", .value = {.kind = BD_ATTR_INT, .i = 2}};

typedef struct side {
    bd_inline f;
    braid_out *args, *rets;
    braid_op *pivot;
} side;

static void add_side(bd_lowering *l, const braid_op *n, side *s, const char *name)
{
    s->rets = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)n->output_count);
    bd_inline_add(l, &s->f, n, bd_arena_asprintf(&l->arena, "%s/%s", n->name, name), s->args, s->pivot,
                  s->rets);
}

static void add_switches(bd_lowering *l, const braid_op *n, side sides[2], braid_op *control)
{
    static const char *const pivots[2] = {"pivot_f", "pivot_t"};
    const braid_out pred = n->inputs[0];
    const int args = n->input_count - 1;
    braid_op *s = bd_lower_add(l, n, "switch_pred", "Switch", (braid_out[]){pred, pred}, 2, NULL, 0);
    if (control) bd_node_add_control(s, control);
    for (int k = 0; k < 2; k++) {
        const braid_out from = {.op = s, .index = k};
        sides[k].pivot = bd_lower_add(l, n, pivots[k], "Identity", &from, 1, NULL, 0);
        sides[k].args = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)args);
    }
    for (int i = 0; i < args; i++) {
        s = bd_lower_add(l, n, "switch", "Switch", (braid_out[]){n->inputs[i + 1], pred}, 2, NULL, 0);
        if (control) bd_node_add_control(s, control);
        for (int k = 0; k < 2; k++)
            sides[k].args[i] = (braid_out){.op = s, .index = k};
    }
}

// What runs when the side that was taken is over with its effects; NULL: there are none, and the results say it.
static braid_op *join_sides(bd_lowering *l, const braid_op *n, side sides[2])
{
    braid_out over[2];
    if (n->output_count && !sides[0].f.effects.len && !sides[1].f.effects.len) return NULL;
    for (int k = 0; k < 2; k++) {
        const braid_out pivot = first(sides[k].pivot);
        over[k] = first(bd_lower_add(l, n, "branch_executed", "Identity", &pivot, 1, NULL, 0));
        wait_for(over[k].op, &sides[k].f.effects);
    }
    return bd_lower_add(l, n, "executed", "Merge", over, 2, &two, 1);
}

static void lower_if(bd_lowering *l, braid_op *n)
{
    side sides[2] = {0};
    const int args = n->input_count - 1;
    const bool ok = may_be_true(n->inputs[0]) && bd_inline_begin(l, n, "else_branch", args, &sides[0].f) &&
                    fits_types(n, 1, &sides[0].f.body) &&
                    bd_inline_begin(l, n, "then_branch", args, &sides[1].f) &&
                    fits_types(n, 1, &sides[1].f.body);
    if (ok) {
        braid_op *control = n->control_count ? bd_lower_add(l, n, "control", "NoOp", NULL, 0, NULL, 0) : NULL;
        if (control) copy_controls(n, control);
        add_switches(l, n, sides, control);
        add_side(l, n, &sides[0], "else");
        add_side(l, n, &sides[1], "then");
        braid_out *values = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)n->output_count);
        for (int i = 0; i < n->output_count; i++)
            values[i] = first(bd_lower_add(l, n, "merge", "Merge",
                                           (braid_out[]){sides[0].rets[i], sides[1].rets[i]}, 2, &two, 1));
        become(l, n, values, join_sides(l, n, sides));
    }
    bd_inline_fini(&sides[0].f);
    bd_inline_fini(&sides[1].f);
}

// ---- While ----

typedef struct turn {
    int count;
    braid_out *merged, *going_on, *leaving, *next; // values [count]
} turn;

static void enter(bd_lowering *l, const braid_op *n, turn *t)
{
    const bd_attr *parallel = bd_node_attr(n, "parallel_iterations");
    const bd_named_attr attrs[] = {
        {.name = "frame_name",
         .value = {.kind = BD_ATTR_STRING, .s = {.data = n->name, .len = strlen(n->name)}}},
        {.name = "parallel_iterations", .value = *parallel},
    };
    for (int i = 0; i < t->count; i++) {
        braid_op *e = bd_lower_add(l, n, "enter", "Enter", &n->inputs[i], 1, attrs, 2);
        copy_controls(n, e);
        t->merged[i] = first(bd_lower_add(l, n, "merge", "Merge", (braid_out[]){first(e), {0}}, 2, &two, 1));
    }
}

static void ask(bd_lowering *l, const braid_op *n, turn *t, bd_inline *cond)
{
    braid_out truth;
    bd_inline_add(l, cond, n, bd_arena_asprintf(&l->arena, "%s/cond", n->name), t->merged, t->merged[0].op,
                  &truth);
    braid_op *loop_cond = bd_lower_add(l, n, "loop_cond", "LoopCond", &truth, 1, NULL, 0);
    wait_for(loop_cond, &cond->effects);
    for (int i = 0; i < t->count; i++) {
        braid_op *s =
            bd_lower_add(l, n, "switch", "Switch", (braid_out[]){t->merged[i], first(loop_cond)}, 2, NULL, 0);
        t->leaving[i] = (braid_out){.op = s, .index = 0};
        t->going_on[i] = (braid_out){.op = s, .index = 1};
    }
}

static void go_on(bd_lowering *l, const braid_op *n, turn *t, bd_inline *body)
{
    braid_op *pivot = bd_lower_add(l, n, "pivot", "Identity", &t->going_on[0], 1, NULL, 0);
    bd_inline_add(l, body, n, bd_arena_asprintf(&l->arena, "%s/body", n->name), t->going_on, pivot, t->next);
    for (int i = 0; i < t->count; i++) {
        braid_op *next = bd_lower_add(l, n, "next_iteration", "NextIteration", &t->next[i], 1, NULL, 0);
        wait_for(next, &body->effects);
        bd_node_set_input(t->merged[i].op, 1, first(next));
    }
}

static void lower_while(bd_lowering *l, braid_op *n)
{
    bd_inline cond = {0}, body = {0};
    const bool ok = n->input_count > 0 && bd_inline_begin(l, n, "cond", n->input_count, &cond) &&
                    cond.body.ret_count == 1 && cond.body.ret_types[0] == BRAID_BOOL &&
                    bd_inline_begin(l, n, "body", n->input_count, &body) && fits_types(n, 0, &body.body);
    if (ok) {
        const size_t count = (size_t)n->input_count;
        braid_out *values = BD_ARENA_ARRAY(&l->arena, braid_out, 4 * count);
        turn t = {.count = n->input_count,
                  .merged = values,
                  .going_on = values + count,
                  .leaving = values + 2 * count,
                  .next = values + 3 * count};
        enter(l, n, &t);
        ask(l, n, &t, &cond);
        go_on(l, n, &t, &body);
        for (int i = 0; i < t.count; i++)
            t.leaving[i] = first(bd_lower_add(l, n, "exit", "Exit", &t.leaving[i], 1, NULL, 0));
        become(l, n, t.leaving, NULL);
    }
    bd_inline_fini(&cond);
    bd_inline_fini(&body);
}

// ---- Calls ----

// Its kernel runs it, or says that there is none.
static bool has_own_executor(const braid_op *n)
{
    const char *executor = bd_node_attr_string(n, "executor_type");
    return executor[0] && strcmp(executor, "DEFAULT") != 0;
}

static void lower_call(bd_lowering *l, braid_op *n)
{
    bd_inline f;
    if (has_own_executor(n)) return;
    if (bd_inline_begin(l, n, "f", n->input_count, &f) && fits_types(n, 0, &f.body)) {
        braid_out *args = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)n->input_count);
        braid_out *rets = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)n->output_count);
        braid_op *pivot = NULL, *over = NULL;
        for (int i = 0; i < n->input_count; i++) {
            args[i] = first(bd_lower_add(l, n, "input", "Identity", &n->inputs[i], 1, NULL, 0));
            copy_controls(n, args[i].op);
        }
        if (n->input_count || n->control_count) pivot = bd_lower_add(l, n, "begin", "NoOp", NULL, 0, NULL, 0);
        if (pivot) copy_controls(n, pivot);
        for (int i = 0; i < n->input_count; i++)
            bd_node_add_control(pivot, args[i].op);
        bd_inline_add(l, &f, n, n->name, args, pivot, rets);
        if (f.effects.len || n->output_count == 0) over = bd_lower_add(l, n, "end", "NoOp", NULL, 0, NULL, 0);
        if (over) wait_for(over, &f.effects);
        if (over && pivot) bd_node_add_control(over, pivot);
        become(l, n, rets, over);
    }
    bd_inline_fini(&f);
}

// ---- The whole ----

static const struct {
    const char *op;
    void (*lower)(bd_lowering *l, braid_op *n);
    bool only_if_asked;
} kinds[] = {
    {"If", lower_if, true},
    {"StatelessIf", lower_if, true},
    {"While", lower_while, true},
    {"StatelessWhile", lower_while, true},
    {"PartitionedCall", lower_call, false},
    {"StatefulPartitionedCall", lower_call, false},
};

static void lower_node(bd_lowering *l, braid_op *n)
{
    for (size_t i = 0; i < BD_COUNTOF(kinds); i++) {
        if (strcmp(n->op_type, kinds[i].op) != 0) continue;
        if (!kinds[i].only_if_asked || is_asked_for(n)) kinds[i].lower(l, n);
        return;
    }
}

// Consumers that are there take the values themselves, so that handles of several tasks need not come together in one node.
static void move_consumers(bd_lowering *l)
{
    for (size_t i = (size_t)l->first; i < l->g->nodes.len; i++) {
        braid_op *n = l->g->nodes.items[i];
        for (int k = 0; k < n->input_count; k++) {
            // Ends: functions are nested so deep at most.
            for (const braid_out *v; (v = bd_imap_get(&l->values, (uintptr_t)n->inputs[k].op));)
                bd_node_set_input(n, k, v[n->inputs[k].index]);
        }
    }
}

void bd_graph_lower(braid_graph *g, int from)
{
    if (!g->library) return;
    bd_lowering l = {.g = g, .first = from, .bytes_left = INLINED_BYTES_MAX};
    for (int i = from; i < (int)g->nodes.len; i++)
        bd_array_push(&l.from, NULL);
    for (int i = from; i < (int)g->nodes.len; i++) // what is added is looked at, too
        lower_node(&l, g->nodes.items[i]);
    move_consumers(&l);
    bd_array_free(&l.from);
    bd_imap_fini(&l.values);
    bd_arena_fini(&l.arena);
}

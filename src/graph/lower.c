// Lowering functional conditionals, loops and calls: see lower.h.
//
//   If               each argument goes through a Switch by the condition to the two bodies, each result
//                    through a Merge; nodes without inputs wait for the pivot of their branch, a Switch of
//                    the condition itself
//   Case             the same with a condition and a Switch for each branch
//   While            each value goes through Enter, Merge, [cond, LoopCond], Switch, then either Exit or
//                    [body], NextIteration, back to Merge; a value that the body does not change goes through
//                    a constant Enter
//   PartitionedCall  arguments go through Identity nodes, which wait for the control inputs of the call
//
// Effects of a branch are over before the node passes on values or its control successors run; effects of an
// iteration before the next iteration begins.
#include "graph/lower_internal.h"

#include "base/check.h"
#include "graph/builder.h"
#include "graph/graph_internal.h"
#include "graph/region.h"
#include <string.h>

#define LOWER_ATTR "_lower_using_switch_merge"
// The limit of memory for inlined nodes: a function that calls another twice, which does the same, doubles it
// at each level.
#define INLINED_BYTES_MAX ((int64_t)1 << 28)

// ---- What can be lowered ----

static bool is_asked_for(const braid_op *n)
{
    const bd_attr *a = bd_node_attr(n, LOWER_ATTR);
    return a && a->kind == BD_ATTR_BOOL && a->b;
}

bool bd_lower_fits(const braid_op *n, int from, const bd_function_body *f)
{
    bool fits = f->arg_count == n->input_count - from && f->ret_count == n->output_count;
    for (int i = 0; fits && i < f->arg_count; i++)
        fits = bd_dtype_base(f->arg_types[i]) == bd_dtype_base(braid_out_dtype(n->inputs[from + i]));
    for (int i = 0; fits && i < f->ret_count; i++)
        fits = bd_dtype_base(f->ret_types[i]) == n->output_types[i];
    return fits;
}

// ---- What takes the node's place ----

void bd_lower_wait_for(braid_op *n, const bd_op_list *before)
{
    for (size_t i = 0; i < before->len; i++)
        bd_node_add_control(n, before->items[i]);
}

void bd_lower_copy_controls(const braid_op *from, braid_op *to)
{
    for (int i = 0; i < from->control_count; i++)
        bd_node_add_control(to, from->controls[i]);
}

static braid_out first(braid_op *n)
{
    return (braid_out){.op = n};
}

// Consumers of a value wait for all effects, although no other node needs these.
static void let_values_wait(bd_lowering *l, const braid_op *n, braid_out *values, braid_op *last)
{
    for (int i = 0; i < n->output_count; i++) {
        values[i] = first(bd_lower_add(l, n, "output", "Identity", &values[i], 1, NULL, 0));
        bd_node_add_control(values[i].op, last);
    }
}

void bd_lower_become(bd_lowering *l, braid_op *n, braid_out *values, braid_op *last)
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

// ---- While ----

// Attrs of nodes that join two values.
static const bd_named_attr two = {.name = "N", .value = {.kind = BD_ATTR_INT, .i = 2}};

typedef struct turn {
    int count, lead;                               // `lead`: a variable that changes
    bool *stays;                                   // [count] the body returns it unchanged
    braid_out *merged, *going_on, *leaving, *next; // values [count]
} turn;

static void turn_init(bd_lowering *l, const braid_op *n, const bd_inline *body, turn *t)
{
    const int count = n->input_count;
    braid_out *values = BD_ARENA_ARRAY(&l->arena, braid_out, 4 * (size_t)count);
    *t = (turn){.count = count,
                .stays = BD_ARENA_ARRAY(&l->arena, bool, (size_t)count),
                .merged = values,
                .going_on = values + count,
                .leaving = values + 2 * (size_t)count,
                .next = values + 3 * (size_t)count};
    for (int i = count - 1; i >= 0; i--) {
        t->stays[i] = bd_inline_returns_argument(body, i);
        if (!t->stays[i]) t->lead = i;
    }
    t->stays[t->lead] = false;
}

static void enter(bd_lowering *l, const braid_op *n, turn *t)
{
    const char *frame = bd_lower_scope(l, n);
    bd_named_attr attrs[] = {
        {.name = "frame_name", .value = {.kind = BD_ATTR_STRING, .s = {.data = frame, .len = strlen(frame)}}},
        {.name = "is_constant", .value = {.kind = BD_ATTR_BOOL}},
        {.name = "parallel_iterations", .value = *bd_node_attr(n, "parallel_iterations")},
    };
    for (int i = 0; i < t->count; i++) {
        attrs[1].value.b = t->stays[i];
        braid_op *e = bd_lower_add(l, n, "enter", "Enter", &n->inputs[i], 1, attrs, 3);
        bd_lower_copy_controls(n, e);
        t->merged[i] = first(e);
        if (!t->stays[i])
            t->merged[i] =
                first(bd_lower_add(l, n, "merge", "Merge", (braid_out[]){first(e), {0}}, 2, &two, 1));
    }
}

static void ask(bd_lowering *l, const braid_op *n, turn *t, bd_inline *cond)
{
    braid_out truth;
    bd_inline_add(l, cond, n, bd_arena_asprintf(&l->arena, "%s/cond", bd_lower_scope(l, n)), t->merged,
                  t->merged[t->lead].op, &truth);
    if (cond->body.ret_types[0] != BRAID_BOOL)
        truth = first(bd_lower_add(l, n, "pred", "ToBool", &truth, 1, NULL, 0));
    braid_op *loop_cond = bd_lower_add(l, n, "loop_cond", "LoopCond", &truth, 1, NULL, 0);
    bd_lower_wait_for(loop_cond, &cond->effects);
    for (int i = 0; i < t->count; i++) {
        if (t->stays[i]) continue;
        braid_op *s =
            bd_lower_add(l, n, "switch", "Switch", (braid_out[]){t->merged[i], first(loop_cond)}, 2, NULL, 0);
        t->leaving[i] = (braid_out){.op = s, .index = 0};
        t->going_on[i] = (braid_out){.op = s, .index = 1};
    }
}

static void go_on(bd_lowering *l, const braid_op *n, turn *t, bd_inline *body)
{
    braid_op *pivot = bd_lower_add(l, n, "pivot", "Identity", &t->going_on[t->lead], 1, NULL, 0);
    for (int i = 0; i < t->count; i++) {
        if (!t->stays[i]) continue;
        t->going_on[i] = first(bd_lower_add(l, n, "constant", "Identity", &t->merged[i], 1, NULL, 0));
        bd_node_add_control(t->going_on[i].op, pivot); // the body runs only when the condition holds
    }
    bd_inline_add(l, body, n, bd_arena_asprintf(&l->arena, "%s/body", bd_lower_scope(l, n)), t->going_on,
                  pivot, t->next);
    for (int i = 0; i < t->count; i++) {
        if (t->stays[i]) continue;
        braid_op *next = bd_lower_add(l, n, "next_iteration", "NextIteration", &t->next[i], 1, NULL, 0);
        bd_lower_wait_for(next, &body->effects);
        bd_node_set_input(t->merged[i].op, 1, first(next));
    }
}

static void leave(bd_lowering *l, const braid_op *n, turn *t)
{
    for (int i = 0; i < t->count; i++)
        if (!t->stays[i])
            t->leaving[i] = first(bd_lower_add(l, n, "exit", "Exit", &t->leaving[i], 1, NULL, 0));
    for (int i = 0; i < t->count; i++) {
        if (!t->stays[i]) continue;
        t->leaving[i] = first(bd_lower_add(l, n, "exit", "Identity", &n->inputs[i], 1, NULL, 0));
        bd_node_add_control(t->leaving[i].op, t->leaving[t->lead].op); // its consumers wait for the loop
    }
}

static void lower_while(bd_lowering *l, braid_op *n)
{
    bd_inline cond = {0}, body = {0};
    const bool ok = n->input_count > 0 && bd_inline_begin(l, n, "cond", -1, n->input_count, &cond) &&
                    cond.body.ret_count == 1 && (cond.body.ret_types[0] == BRAID_BOOL || l->for_gradients) &&
                    bd_inline_begin(l, n, "body", -1, n->input_count, &body) &&
                    bd_lower_fits(n, 0, &body.body);
    if (ok) {
        turn t;
        turn_init(l, n, &body, &t);
        enter(l, n, &t);
        ask(l, n, &t, &cond);
        go_on(l, n, &t, &body);
        leave(l, n, &t);
        bd_lower_become(l, n, t.leaving, NULL);
    }
    bd_inline_fini(&cond);
    bd_inline_fini(&body);
}

// ---- Calls ----

// Its kernel runs it, or reports that there is none.
static bool has_own_executor(const braid_op *n)
{
    const char *executor = bd_node_attr_string(n, "executor_type");
    return executor[0] && strcmp(executor, "DEFAULT") != 0;
}

static void lower_call(bd_lowering *l, braid_op *n)
{
    bd_inline f;
    if (has_own_executor(n)) return;
    if (bd_inline_begin(l, n, "f", -1, n->input_count, &f) && bd_lower_fits(n, 0, &f.body)) {
        braid_out *args = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)n->input_count);
        braid_out *rets = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)n->output_count);
        braid_op *pivot = NULL, *over = NULL;
        for (int i = 0; i < n->input_count; i++) {
            args[i] = first(bd_lower_add(l, n, "input", "Identity", &n->inputs[i], 1, NULL, 0));
            bd_lower_copy_controls(n, args[i].op);
        }
        if (n->input_count || n->control_count) pivot = bd_lower_add(l, n, "begin", "NoOp", NULL, 0, NULL, 0);
        if (pivot) bd_lower_copy_controls(n, pivot);
        for (int i = 0; i < n->input_count; i++)
            bd_node_add_control(pivot, args[i].op);
        bd_inline_add(l, &f, n, bd_lower_scope(l, n), args, pivot, rets);
        if (f.effects.len || n->output_count == 0) over = bd_lower_add(l, n, "end", "NoOp", NULL, 0, NULL, 0);
        if (over) bd_lower_wait_for(over, &f.effects);
        if (over && pivot) bd_node_add_control(over, pivot);
        bd_lower_become(l, n, rets, over);
    }
    bd_inline_fini(&f);
}

// ---- The whole ----

static const struct {
    const char *op;
    void (*lower)(bd_lowering *l, braid_op *n);
    bool only_if_asked;
} kinds[] = {
    {"If", bd_lower_if, true},
    {"StatelessIf", bd_lower_if, true},
    {"Case", bd_lower_case, true},
    {"StatelessCase", bd_lower_case, true},
    {"While", lower_while, true},
    {"StatelessWhile", lower_while, true},
    {"PartitionedCall", lower_call, false},
    {"StatefulPartitionedCall", lower_call, false},
};

static int kind_of(const char *op_type)
{
    int i = (int)BD_COUNTOF(kinds) - 1;
    while (i >= 0 && strcmp(op_type, kinds[i].op) != 0)
        i--;
    return i;
}

bool bd_op_can_be_lowered(const char *op_type)
{
    return kind_of(op_type) >= 0;
}

static void lower_node(bd_lowering *l, braid_op *n)
{
    const int i = kind_of(n->op_type);
    if (i >= 0 && (!kinds[i].only_if_asked || l->for_gradients || is_asked_for(n))) kinds[i].lower(l, n);
}

// Existing consumers take the values themselves, so that handles of several tasks need not meet in one node.
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

static void lowering_fini(bd_lowering *l)
{
    bd_array_free(&l->from);
    bd_imap_fini(&l->values);
    bd_arena_fini(&l->arena);
}

void bd_graph_lower(braid_graph *g, int from)
{
    if (!g->library) return;
    bd_lowering l = {.g = g, .first = from, .bytes_left = INLINED_BYTES_MAX};
    for (int i = from; i < (int)g->nodes.len; i++)
        bd_array_push(&l.from, NULL);
    for (int i = from; i < (int)g->nodes.len; i++) // new nodes are visited too
        lower_node(&l, g->nodes.items[i]);
    move_consumers(&l);
    lowering_fini(&l);
}

// The replacement of a node is in the region of the node.
static void add_to_region(braid_graph *g, const braid_op *n, int from)
{
    bd_region *r = bd_graph_builder(g)->region;
    for (int i = from; r && bd_region_has(r, n) && i < (int)g->nodes.len; i++)
        bd_region_add(r, g->nodes.items[i], false);
}

bool bd_graph_lower_for_gradients(braid_graph *g, const bool *marked, int count)
{
    if (!g->library) return false;
    bd_lowering l = {.g = g, .first = count, .bytes_left = INLINED_BYTES_MAX, .for_gradients = true};
    for (int i = 0, next = count; i < count; i++) {
        if (!marked[i]) continue;
        lower_node(&l, g->nodes.items[i]);
        const int first = next;
        for (; next < (int)g->nodes.len; next++)
            lower_node(&l, g->nodes.items[next]);
        add_to_region(g, g->nodes.items[i], first);
    }
    const bool any = (int)g->nodes.len > count;
    bd_builder_note_foreign(g, count, (int)g->nodes.len);
    lowering_fini(&l);
    return any;
}

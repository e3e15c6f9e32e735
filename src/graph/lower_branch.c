// Lowering conditionals: If and Case become their branches between Switch and Merge. See lower.c.
#include "graph/lower_internal.h"

typedef struct side {
    bd_inline f;
    braid_out *args, *rets;
    braid_op *pivot; // runs when the branch is taken
} side;

// A conditional that is being lowered: input 0 chooses, the other inputs are arguments.
typedef struct choice {
    braid_op *n;
    side *sides;
    int count;
    braid_op *control; // the control input of the node; NULL: none
} choice;

static bool may_be_scalar(braid_out out)
{
    return braid_out_shape(out).rank <= 0;
}

static bool begin_side(bd_lowering *l, choice *c, const char *attr, int index)
{
    side *s = &c->sides[c->count++];
    const int args = c->n->input_count - 1;
    s->args = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)args);
    s->rets = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)c->n->output_count);
    return bd_inline_begin(l, c->n, attr, index, args, &s->f) && bd_lower_fits(c->n, 1, &s->f.body);
}

static void end_sides(choice *c)
{
    for (int i = 0; i < c->count; i++)
        bd_inline_fini(&c->sides[i].f);
}

static void find_control(bd_lowering *l, choice *c)
{
    if (!c->n->control_count) return;
    c->control = bd_lower_add(l, c->n, "control", "NoOp", NULL, 0, NULL, 0);
    bd_lower_copy_controls(c->n, c->control);
}

static braid_op *add_switch(bd_lowering *l, const choice *c, const char *name, braid_out data, braid_out pred)
{
    braid_op *s = bd_lower_add(l, c->n, name, "Switch", (braid_out[]){data, pred}, 2, NULL, 0);
    if (c->control) bd_node_add_control(s, c->control);
    return s;
}

static braid_op *add_pivot(bd_lowering *l, const choice *c, const char *name, braid_out from)
{
    return bd_lower_add(l, c->n, name, "Identity", &from, 1, NULL, 0);
}

static braid_op *merge(bd_lowering *l, const choice *c, const char *name, const braid_out *from)
{
    const bd_named_attr number = {.name = "N", .value = {.kind = BD_ATTR_INT, .i = c->count}};
    return bd_lower_add(l, c->n, name, "Merge", from, c->count, &number, 1);
}

// Returns a node that runs after the taken branch with its effects; NULL: the branch has none, so the results
// suffice.
static braid_op *join_effects(bd_lowering *l, const choice *c)
{
    bool any = c->n->output_count == 0;
    for (int k = 0; k < c->count; k++)
        any = any || c->sides[k].f.effects.len;
    if (!any) return NULL;
    braid_out *over = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)c->count);
    for (int k = 0; k < c->count; k++) {
        over[k].op = add_pivot(l, c, "branch_executed", (braid_out){.op = c->sides[k].pivot});
        bd_lower_wait_for(over[k].op, &c->sides[k].f.effects);
    }
    return merge(l, c, "executed", over);
}

static void join(bd_lowering *l, const choice *c)
{
    braid_out *values = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)c->n->output_count);
    braid_out *from = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)c->count);
    for (int i = 0; i < c->n->output_count; i++) {
        for (int k = 0; k < c->count; k++)
            from[k] = c->sides[k].rets[i];
        values[i] = (braid_out){.op = merge(l, c, "merge", from)};
    }
    bd_lower_become(l, c->n, values, join_effects(l, c));
}

static void add_side(bd_lowering *l, const choice *c, int k, const char *name)
{
    side *s = &c->sides[k];
    const char *prefix = bd_arena_asprintf(&l->arena, "%s/%s", bd_lower_scope(l, c->n), name);
    bd_inline_add(l, &s->f, c->n, prefix, s->args, s->pivot, s->rets);
}

// ---- If ----

static void add_switches(bd_lowering *l, const choice *c, braid_out pred)
{
    static const char *const pivots[2] = {"pivot_f", "pivot_t"};
    braid_op *s = add_switch(l, c, "switch_pred", pred, pred);
    for (int k = 0; k < 2; k++)
        c->sides[k].pivot = add_pivot(l, c, pivots[k], (braid_out){.op = s, .index = k});
    for (int i = 1; i < c->n->input_count; i++) {
        s = add_switch(l, c, "switch", c->n->inputs[i], pred);
        for (int k = 0; k < 2; k++)
            c->sides[k].args[i - 1] = (braid_out){.op = s, .index = k};
    }
}

void bd_lower_if(bd_lowering *l, braid_op *n)
{
    side sides[2] = {0};
    choice c = {.n = n, .sides = sides};
    braid_out pred = n->inputs[0];
    const bool is_bool = braid_out_dtype(pred) == BRAID_BOOL && may_be_scalar(pred);
    if ((is_bool || l->for_gradients) && begin_side(l, &c, "else_branch", -1) &&
        begin_side(l, &c, "then_branch", -1)) {
        if (!is_bool) pred = (braid_out){.op = bd_lower_add(l, n, "pred", "ToBool", &pred, 1, NULL, 0)};
        find_control(l, &c);
        add_switches(l, &c, pred);
        add_side(l, &c, 0, "else");
        add_side(l, &c, 1, "then");
        join(l, &c);
    }
    end_sides(&c);
}

// ---- Case ----

static braid_out number(bd_lowering *l, const choice *c, int32_t value)
{
    braid_tensor *t = braid_tensor_int32(value);
    const bd_named_attr attrs[] = {
        {.name = "dtype", .value = {.kind = BD_ATTR_TYPE, .type = BRAID_INT32}},
        {.name = "value", .value = {.kind = BD_ATTR_TENSOR, .tensor = t}},
    };
    braid_op *k = bd_lower_add(l, c->n, "branch", "Const", NULL, 0, attrs, 2);
    bd_node_add_control(k, c->n->inputs[0].op); // in the loop that the node is in
    braid_tensor_free(t);
    return (braid_out){.op = k};
}

static braid_out compare(bd_lowering *l, const choice *c, const char *op, braid_out with)
{
    const braid_out inputs[] = {c->n->inputs[0], with};
    return (braid_out){.op = bd_lower_add(l, c->n, "is_branch", op, inputs, 2, NULL, 0)};
}

// Whether branch `k` is taken. The last branch takes all other indices.
static braid_out is_taken(bd_lowering *l, const choice *c, int k)
{
    if (k < c->count - 1) return compare(l, c, "Equal", number(l, c, k));
    const braid_out outside[] = {compare(l, c, "Less", number(l, c, 0)),
                                 compare(l, c, "GreaterEqual", number(l, c, k))};
    return (braid_out){.op = bd_lower_add(l, c->n, "is_branch", "LogicalOr", outside, 2, NULL, 0)};
}

static void add_branch(bd_lowering *l, const choice *c, int k)
{
    side *s = &c->sides[k];
    const braid_out pred = is_taken(l, c, k);
    const braid_out taken = {.op = add_switch(l, c, "switch_pred", pred, pred), .index = 1};
    s->pivot = add_pivot(l, c, "pivot", taken);
    for (int i = 1; i < c->n->input_count; i++)
        s->args[i - 1] = (braid_out){.op = add_switch(l, c, "switch", c->n->inputs[i], pred), .index = 1};
    add_side(l, c, k, bd_arena_asprintf(&l->arena, "branch%d", k));
}

void bd_lower_case(bd_lowering *l, braid_op *n)
{
    const int count = bd_node_attr(n, "branches")->list.count;
    choice c = {.n = n, .sides = BD_ARENA_ARRAY(&l->arena, side, (size_t)count)};
    bool ok = may_be_scalar(n->inputs[0]);
    for (int k = 0; k < count && ok; k++)
        ok = begin_side(l, &c, "branches", k);
    if (ok) {
        find_control(l, &c);
        for (int k = 0; k < count; k++)
            add_branch(l, &c, k);
        join(l, &c);
    }
    end_sides(&c);
}

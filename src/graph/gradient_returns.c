// Gradients of what gradient loops pop, as gradients of what the forward loops have pushed.
#include "graph/gradient_returns.h"

#include "base/alloc.h"
#include "graph/grad.h"
#include "graph/gradient_loops_internal.h"
#include "graph/gradients_internal.h"
#include <string.h>

// ---- Finding ----

static bool is(const braid_op *n, const char *op)
{
    return strcmp(n->op_type, op) == 0 && n->input_count > 0;
}

// The node that makes a stack, from where it is used; NULL: it is not known.
static const braid_op *maker_of(braid_out stack)
{
    const braid_op *n = stack.op;
    for (bd_op_role role; (role = bd_node_role(n)) == BD_ROLE_ENTER || role == BD_ROLE_SWITCH;)
        n = n->inputs[0].op;
    return strcmp(n->op_type, "StackV2") == 0 ? n : NULL;
}

// A value of the condition is one of the body where it is pushed.
static braid_out in_body(const bd_consumers *consumers, braid_out value)
{
    if (!bd_gradient_is_loop_merge(value.op)) return value;
    for (int i = consumers->offsets[value.op->id]; i < consumers->offsets[value.op->id + 1]; i++) {
        braid_op *n = consumers->items[i].node;
        if (consumers->items[i].input == 0 && bd_node_role(n) == BD_ROLE_SWITCH &&
            bd_node_role(n->inputs[1].op) == BD_ROLE_LOOP_COND)
            return braid_output(n, 1);
    }
    return value;
}

// Stack -> the node that pushes on it; the stack itself where several do.
static void find_pushes(const braid_graph *g, int count, bd_imap *pushes)
{
    for (int id = 0; id < count; id++) {
        braid_op *n = g->nodes.items[id];
        if (!is(n, "StackPushV2")) continue;
        const braid_op *stack = maker_of(n->inputs[0]);
        if (!stack) continue;
        const bool has_other = bd_imap_get(pushes, (uint64_t)stack->id) != NULL;
        bd_imap_put(pushes, (uint64_t)stack->id, has_other ? (braid_op *)stack : n);
    }
}

static void add(bd_returns *r, braid_op *pop, braid_out value)
{
    const int number = (int)r->items.len;
    const uintptr_t first = (uintptr_t)bd_imap_get(&r->of_value, (uint64_t)value.op->id);
    bd_array_push(&r->items, ((bd_return){.pop = pop, .value = value, .next = (int)first - 1}));
    bd_imap_put(&r->of_pop, (uint64_t)pop->id, (void *)((uintptr_t)number + 1));
    bd_imap_put(&r->of_value, (uint64_t)value.op->id, (void *)((uintptr_t)number + 1));
}

void bd_returns_find(const braid_graph *g, int count, bd_returns *out)
{
    *out = (bd_returns){0};
    bd_imap pushes = {0};
    find_pushes(g, count, &pushes);
    if (bd_imap_count(&pushes) > 0) {
        bd_consumers consumers;
        bd_graph_consumers(g, &consumers);
        for (int id = 0; id < count; id++) {
            braid_op *n = g->nodes.items[id];
            if (!is(n, "StackPopV2")) continue;
            const braid_op *stack = maker_of(n->inputs[0]);
            braid_op *push = stack ? bd_imap_get(&pushes, (uint64_t)stack->id) : NULL;
            if (!push || push == stack) continue;
            bd_imap_put(&out->pushes, (uint64_t)id, push);
            if (bd_dtype_is_trainable(n->output_types[0])) add(out, n, in_body(&consumers, push->inputs[1]));
        }
        bd_consumers_fini(&consumers);
    }
    bd_imap_fini(&pushes);
}

void bd_returns_fini(bd_returns *r)
{
    bd_array_free(&r->items);
    bd_imap_fini(&r->of_pop);
    bd_imap_fini(&r->of_value);
    bd_imap_fini(&r->pushes);
}

braid_out bd_returns_pushed(const bd_returns *r, braid_out out)
{
    const braid_op *push = bd_imap_get(&r->pushes, (uint64_t)out.op->id);
    return push ? push->inputs[1] : out;
}

bd_return *bd_returns_of_pop(const bd_returns *r, const braid_op *n)
{
    const uintptr_t number = (uintptr_t)bd_imap_get(&r->of_pop, (uint64_t)n->id);
    return number ? &r->items.items[number - 1] : NULL;
}

int bd_returns_of_value(const bd_returns *r, const braid_op *n)
{
    return (int)(uintptr_t)bd_imap_get(&r->of_value, (uint64_t)n->id) - 1;
}

// ---- The loops ----

static void refuse(const bd_gradient_loops *all, const bd_return *r, const char *why)
{
    braid_graph_fail(
        all->g, BRAID_UNIMPLEMENTED,
        "Second-order gradient for while loops not supported here: '%s' pops a value of '%s', %s",
        r->pop->name, r->value.op->name, why);
}

void bd_return_add_loop(bd_gradient_loops *all, const bd_return *r)
{
    const int32_t frame = bd_gradient_frame_of(all, r->value.op);
    if (frame == 0 || all->loops[frame]) return;
    for (int id = 0; id < all->count; id++) {
        const braid_op *n = all->g->nodes.items[id];
        if (bd_node_role(n) != BD_ROLE_EXIT || all->frames.of[id] != frame) continue;
        bd_gradient_loops_add(all, n);
        return;
    }
    refuse(all, r, "whose loop has no Exit");
}

static int depth_of(const bd_gradient_loop *l)
{
    int depth = 0;
    for (; l; l = l->outer)
        depth++;
    return depth;
}

static bool are_same(const bd_branch *a, const bd_branch *b)
{
    for (; a && b; a = a->outer, b = b->outer)
        if (!bd_branch_is_same(a, b)) return false;
    return !a && !b;
}

// Whether all Exits of the loop are in the branch.
static bool is_within(bd_gradient_loops *all, const bd_gradient_loop *l, const bd_branch *b)
{
    for (size_t i = 0; i < l->exits.all.len; i++)
        if (!are_same(bd_branch_of(all, l->exits.all.items[i]), b)) return false;
    return true;
}

bool bd_return_connect(bd_gradient_loops *all, bd_return *r)
{
    bd_gradient_loop *p = all->loops[bd_gradient_frame_of(all, r->value.op)];
    bd_gradient_loop *q = all->loops[bd_gradient_frame_of(all, r->pop)];
    if (bd_gradient_frame_of(all, r->value.op) == 0 || bd_gradient_frame_of(all, r->pop) == 0) return false;
    if (!p || !q || depth_of(p) != depth_of(q)) {
        refuse(all, r, "which is in no loop that has that one as its gradient loop");
        return false;
    }
    while (p && p->outer != q->outer) {
        p = p->outer;
        q = q->outer;
    }
    if (!p || p == q) {
        refuse(all, r, "and both are in the same loop");
        return false;
    }
    r->pushed = all->loops[bd_gradient_frame_of(all, r->value.op)];
    r->pops = all->loops[bd_gradient_frame_of(all, r->pop)];
    r->pushed_top = p;
    r->pops_top = q;
    const bd_branch *within = bd_branch_of(all, p->exits.all.items[0]);
    if (is_within(all, p, within) && is_within(all, q, within)) return true;
    refuse(all, r, "and one of their loops is in a branch of a conditional without the other");
    return false;
}

// ---- Gradients ----

static void begin_after(bd_gradient_loop *l, const bd_gradient_loop *other)
{
    braid_op *begin = l->back_begin, *end = other->back_end;
    for (int i = 0; i < begin->control_count; i++)
        if (begin->controls[i] == end) return;
    bd_node_add_control(begin, end);
}

braid_out bd_return_gradient(bd_gradient_loops *all, const bd_return *r, braid_out grad)
{
    const bd_branch *within = bd_gradient_branch_within(r->pushed, bd_branch_of_output(all, r->value));
    const braid_out stack = bd_gradient_push_back(r->pops, grad);
    if (bd_gradient_has_failed(all)) return grad;
    begin_after(r->pushed_top, r->pops_top);
    return bd_gradient_pop(r->pushed, stack, r->value, within);
}

// Finds the branches of conditionals that a node is in, from its inputs.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include "graph/gradient_returns.h"
#include <string.h>

bool bd_branch_is_same(const bd_branch *a, const bd_branch *b)
{
    return a->key.op == b->key.op && a->key.index == b->key.index && a->key_taken == b->key_taken;
}

static const bd_branch *in_common(const bd_branch *a, const bd_branch *b)
{
    while (a && b) {
        if (a->depth > b->depth) {
            a = a->outer;
        } else if (b->depth > a->depth) {
            b = b->outer;
        } else if (bd_branch_is_same(a, b)) {
            return a;
        } else {
            a = a->outer;
            b = b->outer;
        }
    }
    return NULL;
}

// ---- Keys ----

// Where a condition is from: the value that was pushed, of what is popped, and the data of a Switch. A
// program may push what it has popped: the way has as many steps as there are nodes at most.
static braid_out origin_of(const bd_gradient_loops *all, braid_out pred)
{
    for (int left = all->count; left > 0; left--) {
        const bd_op_role role = bd_node_role(pred.op);
        const bool is_passed = role == BD_ROLE_SWITCH ||
                               (role == BD_ROLE_ENTER && bd_node_attr_bool(pred.op, "is_constant")) ||
                               strcmp(pred.op->op_type, "Identity") == 0;
        const braid_out from = is_passed ? pred.op->inputs[0] : bd_returns_pushed(all->returns, pred);
        if (from.op == pred.op) return pred;
        pred = from;
    }
    return pred;
}

// The input of a Merge whose number `pred` compares with that of the forwarded one, as the gradient of a
// Merge does (control_flow.c); false: it is another condition.
static bool compares_inputs(const bd_gradient_loops *all, braid_out pred, const braid_op **merge, int *input)
{
    if (strcmp(pred.op->op_type, "Equal") != 0) return false;
    const braid_out number = origin_of(all, pred.op->inputs[0]), of = origin_of(all, pred.op->inputs[1]);
    if (bd_node_role(number.op) != BD_ROLE_MERGE || number.index != 1 ||
        bd_gradient_is_loop_merge(number.op) || bd_node_role(of.op) != BD_ROLE_CONST ||
        of.op->output_types[0] != BRAID_INT32)
        return false;
    const braid_tensor *value = bd_node_attr_tensor(of.op, "value");
    if (!value || value->shape.rank != 0) return false;
    *merge = number.op;
    *input = bd_tensor_i32(value)[0];
    return *input >= 0 && *input < number.op->input_count && number.op->input_count == 2;
}

const bd_branch *bd_branch_ending(bd_gradient_loops *all, const braid_op *merge, int input)
{
    const bd_branch *b = bd_branch_of_output(all, merge->inputs[input]);
    const bd_branch *around = in_common(b, bd_branch_of_output(all, merge->inputs[1 - input]));
    while (b && b->outer && !(around && bd_branch_is_same(b->outer, around)))
        b = b->outer;
    return b && b != around ? b : NULL;
}

// Two conditions of one iteration have the same key where one is known to follow from the other: the
// gradient of a Merge has a condition of its own, and values that are popped have those of the forward loop.
void bd_branch_find_key(bd_gradient_loops *all, bd_branch *b)
{
    const braid_out from = origin_of(all, b->pred);
    const braid_op *merge;
    int input;
    const bd_branch *ending =
        compares_inputs(all, from, &merge, &input) ? bd_branch_ending(all, merge, input) : NULL;
    b->key = ending ? ending->key : from;
    b->key_taken = !ending ? b->taken : b->taken ? ending->key_taken : !ending->key_taken;
}

// ---- Branches ----

// The condition by which a Switch chooses. A conditional begins with a Switch of the condition by itself,
// soon followed by the Identity of it that chooses for all other values.
braid_out bd_branch_condition(const bd_gradient_loops *all, const braid_op *chosen)
{
    const braid_out data = chosen->inputs[0], pred = chosen->inputs[1];
    if (data.op != pred.op || data.index != pred.index) return pred;
    for (int id = chosen->id + 1; id <= chosen->id + 8 && id < all->count; id++) {
        braid_op *n = all->g->nodes.items[id];
        if (strcmp(n->op_type, "Identity") == 0 && n->inputs[0].op == pred.op &&
            n->inputs[0].index == pred.index)
            return braid_output(n, 0);
    }
    return pred;
}

const bd_branch *bd_branch_of_output(bd_gradient_loops *all, braid_out in)
{
    const bd_branch *b = bd_branch_of(all, in.op);
    if (bd_node_role(in.op) != BD_ROLE_SWITCH || bd_node_role(in.op->inputs[1].op) == BD_ROLE_LOOP_COND)
        return b;
    bd_branch inner = {.pred = bd_branch_condition(all, in.op),
                       .taken = in.index,
                       .depth = b ? b->depth + 1 : 1,
                       .outer = b};
    bd_branch_find_key(all, &inner);
    for (const bd_branch *around = b; around; around = around->outer)
        if (bd_branch_is_same(around, &inner)) return b; // it is in that branch already
    return bd_arena_memdup(&all->arena, &inner, sizeof inner);
}

static const bd_branch *deeper(const bd_branch *a, const bd_branch *b)
{
    return !a || (b && b->depth > a->depth) ? b : a;
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
    if (n->id >= all->count) {
        const bd_added_node *added = bd_imap_get(&all->added, (uint64_t)n->id);
        return added ? added->within : NULL;
    }
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

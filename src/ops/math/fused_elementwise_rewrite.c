// Finds groups of element-wise nodes that can run in one pass over memory.
//
// The result of a group is the output of one node, its root; the other members have consumers within the
// group only. So no input of a member depends on the group's result, and the group can run where its root
// ran.
#include "ops/math/fused_elementwise.h"

#include "base/check.h"
#include "ops/common/elementwise.h"
#include <string.h>

typedef struct group {
    braid_op *members[BD_PROGRAM_OPS_MAX]; // the root first; each member follows its consumers
    int count;
    braid_out inputs[BD_PROGRAM_INPUTS_MAX];
    int input_count;
} group;

// ---- Which nodes ----

// Returns whether two shapes may be equal, or one of them scalar, as far as the graph knows.
static bool may_agree(const braid_shape *a, const braid_shape *b)
{
    if (a->rank <= 0 || b->rank <= 0) return true; // unknown, or a scalar
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i]) return false;
    }
    return true;
}

static bool is_candidate(const bd_rewriter *r, const braid_op *n)
{
    if (bd_rewriter_is_removed(r, n) || !bd_rewriter_is_pure(n) || !bd_elementwise_kernel(n->def))
        return false;
    if (n->output_types[0] != BRAID_FLOAT && n->output_types[0] != BRAID_DOUBLE) return false;
    for (int i = 0; i < n->input_count; i++) {
        braid_shape in = braid_out_shape(n->inputs[i]);
        if (!may_agree(&in, &n->output_shapes[0])) return false;
    }
    return true;
}

static int find_member(const group *g, const braid_op *n)
{
    for (int i = 0; i < g->count; i++) {
        if (g->members[i] == n) return i;
    }
    return -1;
}

// All consumers of the node are members of the group, and no node outside has a control edge from it.
static bool is_taken_within(bd_rewriter *r, const group *g, const braid_op *n)
{
    int count;
    if (bd_rewriter_has_many_consumers(r, n)) return false;
    const bd_consumer *consumers = bd_rewriter_consumers(r, n, &count);
    for (int i = 0; i < count; i++) {
        if (consumers[i].input < 0 || find_member(g, consumers[i].node) < 0) return false;
    }
    return count > 0;
}

static bool joins(bd_rewriter *r, const group *g, const braid_op *n)
{
    const braid_op *root = g->members[0];
    return find_member(g, n) < 0 && is_candidate(r, n) && n->output_types[0] == root->output_types[0] &&
           may_agree(&n->output_shapes[0], &root->output_shapes[0]) && is_taken_within(r, g, n);
}

// A node joins when all its consumers are members; the loop repeats until no node joins.
static void grow(bd_rewriter *r, group *g)
{
    for (int before = 0; before < g->count;) {
        before = g->count;
        for (int i = 0; i < g->count; i++) {
            const braid_op *n = g->members[i];
            for (int k = 0; k < n->input_count && g->count < BD_PROGRAM_OPS_MAX; k++) {
                if (joins(r, g, n->inputs[k].op)) g->members[g->count++] = n->inputs[k].op;
            }
        }
    }
}

static int find_input(const group *g, braid_out out)
{
    for (int i = 0; i < g->input_count; i++) {
        if (g->inputs[i].op == out.op && g->inputs[i].index == out.index) return i;
    }
    return -1;
}

static bool take_inputs(group *g)
{
    g->input_count = 0;
    for (int i = 0; i < g->count; i++) {
        const braid_op *n = g->members[i];
        for (int k = 0; k < n->input_count; k++) {
            if (find_member(g, n->inputs[k].op) >= 0 || find_input(g, n->inputs[k]) >= 0) continue;
            if (g->input_count == BD_PROGRAM_INPUTS_MAX) return false;
            g->inputs[g->input_count++] = n->inputs[k];
        }
    }
    return true;
}

// ---- Nodes that must not wait ----

#define LOOKED_AT_MAX 64 // limit of the search through nodes that may forward their input's memory

// The kernel returns new memory, or memory of an operand without other owners.
static bool makes_a_result(const braid_op *n)
{
    if (bd_elementwise_kernel(n->def)) return true;
    for (int i = 0; i < n->def->op->kernel_count; i++) {
        if (n->def->op->kernels[i].flags & BD_KERNEL_EXPENSIVE) return true;
    }
    return false;
}

// The output may be the memory of a variable, which an update can change.
static bool may_change(braid_out out, int *left)
{
    const braid_op *n = out.op;
    if (bd_dtype_is_ref(n->output_types[out.index]) || bd_node_role(n) == BD_ROLE_RECV || (*left)-- == 0)
        return true;
    if (bd_node_role(n) == BD_ROLE_CONST || makes_a_result(n)) return false;
    for (int i = 0; i < n->input_count; i++) {
        if (may_change(n->inputs[i], left)) return true;
    }
    return false;
}

// A fused member that reads a variable would wait for the inputs of the other members, for example for the
// variable's update.
static bool would_read_later(const bd_rewriter *r, const group *g)
{
    bool waits = false;
    int left = LOOKED_AT_MAX;
    for (int i = 0; i < g->count; i++)
        waits |= g->members[i]->control_count > 0;
    for (int i = 0; i < g->input_count; i++)
        waits |= bd_rewriter_follows_update(r, g->inputs[i].op);
    for (int i = 0; waits && i < g->input_count; i++) {
        if (may_change(g->inputs[i], &left)) return true;
    }
    return false;
}

// ---- Replacing ----

// The attrs of the program: members in execution order, the root last.
typedef struct listing {
    bd_bytes ops[BD_PROGRAM_OPS_MAX], parts[2 * BD_PROGRAM_OPS_MAX];
    int64_t operands[2 * BD_PROGRAM_OPS_MAX];
    int operand_count;
} listing;

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

static void list(const group *g, listing *l)
{
    l->operand_count = 0;
    for (int i = 0; i < g->count; i++) {
        const braid_op *n = g->members[g->count - 1 - i];
        l->ops[i] = l->parts[2 * i + 1] = bytes_of(n->op_type);
        l->parts[2 * i] = bytes_of(n->name);
        for (int k = 0; k < n->input_count; k++) {
            int member = find_member(g, n->inputs[k].op);
            l->operands[l->operand_count++] =
                member >= 0 ? g->input_count + (g->count - 1 - member) : find_input(g, n->inputs[k]);
        }
    }
}

static bd_named_attr strings(const char *name, bd_bytes *s, int count)
{
    return (bd_named_attr){
        .name = name,
        .value = {.kind = BD_ATTR_LIST, .item_kind = BD_ATTR_STRING, .list = {.count = count, .s = s}}};
}

static braid_code replace(bd_rewriter *r, const group *g, braid_status *st)
{
    listing l;
    list(g, &l);
    bd_named_attr attrs[] = {
        {.name = "N", .value = {.kind = BD_ATTR_INT, .i = g->input_count}},
        {.name = "T", .value = {.kind = BD_ATTR_TYPE, .type = g->members[0]->output_types[0]}},
        strings(BD_FUSED_NODES_ATTR, l.parts, 2 * g->count),
        {.name = "operands",
         .value = {.kind = BD_ATTR_LIST,
                   .item_kind = BD_ATTR_INT,
                   .list = {.count = l.operand_count, .i = l.operands}}},
        strings("ops", l.ops, g->count)};
    bd_op_list controls = {0};
    for (int i = 0; i < g->count; i++) {
        for (int k = 0; k < g->members[i]->control_count; k++)
            bd_array_push(&controls, g->members[i]->controls[k]);
    }
    const bd_node_spec spec = {.op_type = "_FusedElementwise",
                               .inputs = g->inputs,
                               .input_count = g->input_count,
                               .controls = controls.items,
                               .control_count = (int)controls.len,
                               .attrs = attrs,
                               .attr_count = (int)BD_COUNTOF(attrs)};
    braid_code code = bd_rewriter_become(r, g->members[0], &spec, st);
    for (int i = 1; !code && i < g->count; i++)
        bd_rewriter_remove(r, g->members[i]);
    bd_array_free(&controls);
    return code;
}

braid_code bd_fuse_elementwise(bd_rewriter *r, braid_status *st)
{
    const bd_op_list *order = bd_rewriter_order(r);
    braid_code code = BRAID_OK;
    for (size_t i = order->len; !code && i-- > 0;) {
        if (!is_candidate(r, order->items[i])) continue;
        group g = {.members = {order->items[i]}, .count = 1};
        grow(r, &g);
        if (g.count > 1 && take_inputs(&g) && !would_read_later(r, &g)) code = replace(r, &g, st);
    }
    return code;
}

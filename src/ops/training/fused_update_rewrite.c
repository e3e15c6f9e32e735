// Fuses updates of small variables by one optimizer into one node.
//
// Only variables of few elements are fused, where a node costs more than its arithmetic: a large gradient is
// better used while it is in the cache, and freed before the next one is computed.
//
// The fused node waits for all inputs of its updates, and the successors of one update wait for all of them.
// This must not cause a deadlock or change a value, so:
//
// 1. No update of a group follows another one by edges. (An update is an effect, so rule 2 implies this.)
// 2. The same *effects* precede each update of a group. An effect is a node with a dependence that no edge
//    shows: its kernel waits (for a queue, an accumulator, another device or task, a file), or it changes a
//    variable, whose memory may be another update's gradient. An effect before one update may wait for a
//    successor of another update; with both in one node it would wait for ever. But a node that precedes
//    every update of a group cannot wait for a successor of one, or the original graph would never end; and a
//    node that precedes none of them is not delayed. So the fused graph ends if the original one does.
// 3. A received tensor is used when it arrives, so updates with received gradients (all of them on a
//    parameter server) are not fused. Each has a Recv of its own before it, so rule 2 implies this. They may
//    also be dead (bd_rewriter_may_be_dead), each by itself, which one node cannot be.
#include "ops/training/fused_update.h"

#include "base/alloc.h"
#include "base/check.h"

#include <string.h>

#define ELEMENTS_MAX 4096 // of a variable: its update takes less than a microsecond
#define UPDATES_MAX 256   // in one node
#define COLLECTED_MAX 256 // the number of times that one graph is searched for similar updates

// ---- Effects ----

// A set of effects: a bit for each of the first effects of the graph; the last bit is for all others.
typedef uint64_t effects;
#define OTHERS ((effects)1 << 63)

static bool is_effect(const braid_op *n)
{
    for (int i = 0; i < n->def->input_count; i++) {
        if (n->def->inputs[i].is_ref) return true;
    }
    for (int i = 0; i < n->def->op->kernel_count; i++) {
        if (n->def->op->kernels[i].start) return true;
    }
    return false;
}

// `upto` [nodes]: the effects before each node, with the node itself.
static effects effects_before(const braid_op *n, const effects *upto)
{
    effects before = 0;
    for (int i = 0; i < n->input_count; i++)
        before |= upto[n->inputs[i].op->id];
    for (int i = 0; i < n->control_count; i++)
        before |= upto[n->controls[i]->id];
    return before;
}

static void find_effects(bd_rewriter *r, effects *upto)
{
    const bd_op_list *order = bd_rewriter_order(r);
    effects next = 1;
    for (size_t i = 0; i < order->len; i++) {
        const braid_op *n = order->items[i];
        upto[n->id] = effects_before(n, upto);
        if (!is_effect(n)) continue;
        upto[n->id] |= next;
        if (next != OTHERS) next <<= 1;
    }
}

// ---- Groups ----

typedef struct group {
    braid_op *members[UPDATES_MAX];
    int count;
} group;

typedef struct search {
    bd_rewriter *r;
    int count;     // of searches, in all
    effects *upto; // [nodes]
} search;

static bool is_small(const braid_shape *s)
{
    return bd_shape_is_known(s) && bd_shape_count(s) <= ELEMENTS_MAX;
}

// An update of variables of this graph that runs whenever the graph runs.
static bool is_candidate(const bd_rewriter *r, const braid_op *n)
{
    if (bd_rewriter_is_removed(r, n) || !bd_update_kernel(n->def) || bd_rewriter_may_be_dead(r, n) ||
        !is_small(&n->output_shapes[0]))
        return false;
    for (int i = 0; i < n->input_count; i++) {
        const braid_op *from = n->inputs[i].op;
        bool is_ref = bd_dtype_is_ref(from->output_types[n->inputs[i].index]);
        if (is_ref != n->def->inputs[i].is_ref) return false; // a value read when the update runs
        if (is_ref && (bd_node_role(from) != BD_ROLE_VARIABLE || from->control_count > 0)) return false;
    }
    return true;
}

static bool is_same_output(braid_out a, braid_out b)
{
    return a.op == b.op && a.index == b.index;
}

static bool shares_a_variable(const braid_op *a, const braid_op *b)
{
    int vars = bd_update_count_vars(a->def);
    for (int i = 0; i < vars * vars; i++) {
        if (is_same_output(a->inputs[i / vars], b->inputs[i % vars])) return true;
    }
    return false;
}

static bool is_alike(const braid_op *a, const braid_op *b)
{
    if (a->def != b->def) return false;
    for (int i = bd_update_count_vars(a->def); i < a->input_count; i++) {
        if (!bd_update_is_gradient(&a->def->inputs[i]) && !is_same_output(a->inputs[i], b->inputs[i]))
            return false;
    }
    for (int i = 0; i < a->def->attr_count; i++) {
        const char *name = a->def->attrs[i].name;
        if (!bd_attr_equal(bd_node_attr(a, name), bd_node_attr(b, name))) return false;
    }
    return true;
}

static bool joins(const search *s, const group *g, const braid_op *n)
{
    const braid_op *first = g->members[0];
    if (g->count == UPDATES_MAX || !is_alike(first, n) || !is_candidate(s->r, n)) return false;
    effects before = effects_before(n, s->upto);
    if (before != effects_before(first, s->upto) || (before & OTHERS)) return false;
    for (int i = 0; i < g->count; i++) {
        if (shares_a_variable(g->members[i], n)) return false;
    }
    return true;
}

// Collects updates that are like the first one and may be fused with it.
static void collect(search *s, size_t first, group *g)
{
    const bd_op_list *order = bd_rewriter_order(s->r);
    *g = (group){.members = {order->items[first]}, .count = 1};
    for (size_t i = first + 1; i < order->len; i++) {
        if (joins(s, g, order->items[i])) g->members[g->count++] = order->items[i];
    }
}

// ---- Replacing ----

typedef struct listing {
    BD_ARRAY(braid_out) inputs;
    BD_ARRAY(bd_bytes) parts;
    BD_ARRAY(bd_named_attr) attrs;
    bd_op_list controls;
} listing;

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

static void list_inputs(const group *g, listing *l)
{
    const bd_op_def *def = g->members[0]->def;
    int vars = bd_update_count_vars(def);
    for (int i = 0; i < g->count * vars; i++)
        bd_array_push(&l->inputs, g->members[i / vars]->inputs[i % vars]);
    for (int i = vars; i < def->input_count; i++) {
        if (!bd_update_is_gradient(&def->inputs[i])) bd_array_push(&l->inputs, g->members[0]->inputs[i]);
    }
    for (int i = 0; i < g->count; i++) {
        for (int k = vars; k < def->input_count; k++) {
            if (bd_update_is_gradient(&def->inputs[k])) bd_array_push(&l->inputs, g->members[i]->inputs[k]);
        }
    }
}

static void list_attrs(const group *g, listing *l)
{
    const braid_op *first = g->members[0];
    int vars = g->count * bd_update_count_vars(first->def);
    for (int i = 0; i < g->count; i++) {
        bd_array_push(&l->parts, bytes_of(g->members[i]->name));
        bd_array_push(&l->parts, bytes_of(first->op_type));
        for (int k = 0; k < g->members[i]->control_count; k++)
            bd_array_push(&l->controls, g->members[i]->controls[k]);
    }
    const bd_named_attr own[] = {
        {.name = "M", .value = {.kind = BD_ATTR_INT, .i = g->count}},
        {.name = "N", .value = {.kind = BD_ATTR_INT, .i = (int64_t)l->inputs.len - vars}},
        {.name = "V", .value = {.kind = BD_ATTR_INT, .i = vars}},
        {.name = BD_FUSED_NODES_ATTR,
         .value = {.kind = BD_ATTR_LIST,
                   .item_kind = BD_ATTR_STRING,
                   .list = {.count = (int)l->parts.len, .s = l->parts.items}}},
        {.name = "op", .value = {.kind = BD_ATTR_STRING, .s = bytes_of(first->op_type)}},
    };
    for (size_t i = 0; i < BD_COUNTOF(own); i++)
        bd_array_push(&l->attrs, own[i]);
    for (int i = 0; i < first->def->attr_count; i++) { // T, use_locking and the other attrs of the op
        const char *name = first->def->attrs[i].name;
        const bd_named_attr attr = {.name = name, .value = *bd_node_attr(first, name)};
        bd_array_push(&l->attrs, attr);
    }
}

static braid_code replace(bd_rewriter *r, const group *g, braid_status *st)
{
    const braid_op *first = g->members[0];
    listing l = {0};
    list_inputs(g, &l);
    list_attrs(g, &l);
    const bd_node_spec spec = {.name = bd_graph_unique_name(bd_rewriter_graph(r), first->name),
                               .op_type = "_FusedUpdate",
                               .device = first->device,
                               .assigned_device = first->assigned_device,
                               .inputs = l.inputs.items,
                               .input_count = (int)l.inputs.len,
                               .controls = l.controls.items,
                               .control_count = (int)l.controls.len,
                               .attrs = l.attrs.items,
                               .attr_count = (int)l.attrs.len};
    braid_op *node;
    braid_code code = bd_rewriter_add(r, &spec, &node, st);
    for (int i = 0; !code && i < g->count; i++) {
        bd_rewriter_move_output(r, (braid_out){g->members[i], 0}, (braid_out){node, i});
        bd_rewriter_move_controls(r, g->members[i], node);
        bd_rewriter_remove(r, g->members[i]);
    }
    bd_array_free(&l.inputs);
    bd_array_free(&l.parts);
    bd_array_free(&l.attrs);
    bd_array_free(&l.controls);
    return code;
}

// Finds the first group of two or more. Returns false when there is none, or the graph has been searched
// often enough.
static bool find_group(search *s, group *g)
{
    const bd_op_list *order = bd_rewriter_order(s->r);
    s->upto = bd_calloc(order->len + 1, sizeof *s->upto);
    find_effects(s->r, s->upto);
    g->count = 0;
    for (size_t i = 0; g->count < 2 && i < order->len; i++) {
        if (!is_candidate(s->r, order->items[i])) continue;
        if (s->count++ >= COLLECTED_MAX) break;
        collect(s, i, g);
    }
    bd_free(s->upto);
    return g->count > 1;
}

// The order is computed anew for each group, because the successors of one group may exclude the next.
braid_code bd_fuse_updates(bd_rewriter *r, braid_status *st)
{
    group *g = bd_malloc(sizeof *g);
    search s = {.r = r};
    braid_code code = BRAID_OK;
    while (!code && find_group(&s, g)) {
        code = replace(r, g, st);
        if (!code) code = bd_rewriter_sort(r, st);
    }
    bd_free(g);
    return code;
}

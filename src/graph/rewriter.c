// Changes a graph while its edges are known in both directions.
//
// The consumers of a node are a list that edges are added to when they are made and removed from when the
// list is read: an entry is valid while its consumer exists and has that input. So an edge that was removed
// and added again may be listed twice, which at most costs an opportunity.
#include "graph/rewrite_internal.h"

#include "base/check.h"
#include "graph/graph_internal.h"
#include <string.h>

static bd_rewrite_info *info_of(const bd_rewriter *r, const braid_op *n)
{
    return &r->info.items[n->id];
}

static void note_edges(bd_rewriter *r, braid_op *n)
{
    for (int i = 0; i < n->input_count; i++) {
        const bd_consumer edge = {.node = n, .input = i, .output = n->inputs[i].index};
        bd_array_push(&info_of(r, n->inputs[i].op)->consumers, edge);
    }
    for (int i = 0; i < n->control_count; i++) {
        const bd_consumer edge = {.node = n, .input = -1, .output = -1};
        bd_array_push(&info_of(r, n->controls[i])->consumers, edge);
    }
}

// ---- What is known of nodes ----

bool bd_rewriter_brings_death(const braid_op *n)
{
    switch (bd_node_role(n)) {
    case BD_ROLE_SWITCH:
    case BD_ROLE_MERGE:
    case BD_ROLE_ENTER:
    case BD_ROLE_EXIT:
    case BD_ROLE_NEXT_ITERATION:
    case BD_ROLE_CONTROL_TRIGGER:
    case BD_ROLE_RECV: return true;
    default: return n->def == NULL;
    }
}

static bool comes_dead(const bd_rewriter *r, const braid_op *n)
{
    if (bd_rewriter_brings_death(n)) return true;
    for (int i = 0; i < n->input_count; i++) {
        if (info_of(r, n->inputs[i].op)->may_be_dead) return true;
    }
    for (int i = 0; i < n->control_count; i++) {
        if (info_of(r, n->controls[i])->may_be_dead) return true;
    }
    return false;
}

static bool comes_ordered(const bd_rewriter *r, const braid_op *n)
{
    if (!bd_rewriter_is_pure(n)) return bd_node_role(n) != BD_ROLE_ARG;
    for (int i = 0; i < n->input_count; i++) {
        if (info_of(r, n->inputs[i].op)->is_ordered) return true;
    }
    for (int i = 0; i < n->control_count; i++) {
        if (info_of(r, n->controls[i])->is_ordered) return true;
    }
    return false;
}

static bool comes_after_update(const bd_rewriter *r, const braid_op *n)
{
    for (int i = 0; i < n->def->input_count; i++) {
        if (n->def->inputs[i].is_ref) return true;
    }
    for (int i = 0; i < n->input_count; i++) {
        if (info_of(r, n->inputs[i].op)->follows_update) return true;
    }
    for (int i = 0; i < n->control_count; i++) {
        if (info_of(r, n->controls[i])->follows_update) return true;
    }
    return false;
}

static void learn(bd_rewriter *r, const braid_op *n)
{
    bd_rewrite_info *info = info_of(r, n);
    info->may_be_dead = comes_dead(r, n);
    info->is_ordered = comes_ordered(r, n);
    info->follows_update = comes_after_update(r, n);
}

static bool inputs_are_there(const braid_op *n)
{
    for (int i = 0; i < n->input_count; i++) {
        const braid_op *from = n->inputs[i].op;
        if (!n->def || !from->def || n->inputs[i].index >= from->output_count) return false;
    }
    return n->def != NULL;
}

braid_code bd_rewriter_init(bd_rewriter *r, braid_graph *g, const bd_rewrite_options *options,
                            braid_status *st)
{
    *r = (bd_rewriter){.graph = g, .options = options};
    size_t count = g->nodes.len;
    for (size_t i = 0; i < count; i++) {
        if (!inputs_are_there(g->nodes.items[i]))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' cannot be run", g->nodes.items[i]->name);
    }
    bd_array_reserve(&r->info, count);
    r->info.len = count;
    if (count > 0) memset(r->info.items, 0, count * sizeof *r->info.items); // NULL when there are no nodes
    braid_code code = bd_graph_topological(g, &r->order, st);
    if (code) return code;
    for (size_t i = 0; i < count; i++)
        note_edges(r, g->nodes.items[i]);
    for (size_t i = 0; i < count; i++) {
        const braid_op *n = r->order.items[i];
        learn(r, n);
        info_of(r, n)->is_root = info_of(r, n)->consumers.len == 0;
    }
    return BRAID_OK;
}

void bd_rewriter_fini(bd_rewriter *r)
{
    for (size_t i = 0; i < r->info.len; i++)
        bd_array_free(&r->info.items[i].consumers);
    bd_array_free(&r->info);
    bd_array_free(&r->order);
}

const bd_rewrite_options *bd_rewriter_options(const bd_rewriter *r)
{
    return r->options;
}

braid_graph *bd_rewriter_graph(bd_rewriter *r)
{
    return r->graph;
}

const bd_op_list *bd_rewriter_order(const bd_rewriter *r)
{
    return &r->order;
}

bool bd_rewriter_is_removed(const bd_rewriter *r, const braid_op *n)
{
    return n->id < 0 || info_of(r, n)->is_removed;
}

bool bd_rewriter_may_be_dead(const bd_rewriter *r, const braid_op *n)
{
    return info_of(r, n)->may_be_dead;
}

bool bd_rewriter_follows_update(const bd_rewriter *r, const braid_op *n)
{
    return info_of(r, n)->follows_update;
}

bool bd_rewriter_is_ordered(const bd_rewriter *r, const braid_op *n)
{
    return info_of(r, n)->is_ordered;
}

static bool is_plain_type(braid_dtype type)
{
    return !bd_dtype_is_ref(type) && type != BRAID_RESOURCE && type != BRAID_VARIANT;
}

bool bd_rewriter_is_pure(const braid_op *n)
{
    bd_op_role role = bd_node_role(n);
    if (role != BD_ROLE_PLAIN && role != BD_ROLE_CONST && role != BD_ROLE_METADATA) return false;
    if (bd_node_is_stateful(n) || n->output_count == 0) return false;
    for (int i = 0; i < n->input_count; i++) {
        if (!is_plain_type(n->inputs[i].op->output_types[n->inputs[i].index])) return false;
    }
    for (int i = 0; i < n->output_count; i++) {
        if (!is_plain_type(n->output_types[i])) return false;
    }
    return true;
}

// ---- Edges ----

static bool is_current(const bd_rewriter *r, const braid_op *producer, const bd_consumer *edge)
{
    const braid_op *n = edge->node;
    if (bd_rewriter_is_removed(r, n)) return false;
    if (edge->input >= 0)
        return edge->input < n->input_count && n->inputs[edge->input].op == producer &&
               n->inputs[edge->input].index == edge->output;
    for (int i = 0; i < n->control_count; i++) {
        if (n->controls[i] == producer) return true;
    }
    return false;
}

const bd_consumer *bd_rewriter_consumers(bd_rewriter *r, const braid_op *n, int *count)
{
    bd_rewrite_info *info = info_of(r, n);
    size_t kept = 0;
    for (size_t i = 0; i < info->consumers.len; i++) {
        if (is_current(r, n, &info->consumers.items[i]))
            info->consumers.items[kept++] = info->consumers.items[i];
    }
    info->consumers.len = kept;
    *count = (int)kept;
    return info->consumers.items;
}

bool bd_rewriter_has_many_consumers(const bd_rewriter *r, const braid_op *n)
{
    enum {
        MANY = 256
    };
    return info_of(r, n)->consumers.len > MANY;
}

braid_op *bd_rewriter_only_consumer(bd_rewriter *r, const braid_op *n)
{
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(r, n, &count);
    return count == 1 && consumers[0].input >= 0 && !info_of(r, n)->is_root ? consumers[0].node : NULL;
}

void bd_rewriter_move_output(bd_rewriter *r, braid_out from, braid_out to)
{
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(r, from.op, &count);
    for (int i = 0; i < count; i++) {
        bd_consumer edge = consumers[i];
        if (edge.input < 0 || edge.output != from.index || edge.node == to.op) continue;
        bd_node_set_input(edge.node, edge.input, to);
        edge.output = to.index;
        bd_array_push(&info_of(r, to.op)->consumers, edge);
    }
}

// In place: the list may be long, and be changed once for each node in it.
static void replace_control(braid_op *n, const braid_op *from, braid_op *to)
{
    int at = -1;
    bool has_to = false;
    for (int i = 0; i < n->control_count; i++) {
        if (n->controls[i] == from) at = i;
        has_to |= n->controls[i] == to;
    }
    if (at < 0) return;
    n->controls[at] = has_to ? n->controls[n->control_count - 1] : to;
    n->control_count -= has_to;
}

void bd_rewriter_move_controls(bd_rewriter *r, const braid_op *from, braid_op *to)
{
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(r, from, &count);
    for (int i = 0; i < count; i++) {
        const bd_consumer edge = consumers[i];
        if (edge.input >= 0 || edge.node == to) continue;
        replace_control(edge.node, from, to);
        bd_array_push(&info_of(r, to)->consumers, edge);
    }
}

void bd_rewriter_add_control(bd_rewriter *r, braid_op *n, braid_op *control)
{
    int before = n->control_count;
    bd_node_add_control(n, control);
    const bd_consumer edge = {.node = n, .input = -1, .output = -1};
    if (n->control_count > before) bd_array_push(&info_of(r, control)->consumers, edge);
}

// ---- Nodes ----

void bd_rewriter_remove(bd_rewriter *r, braid_op *n)
{
    info_of(r, n)->is_removed = true;
    bd_map_remove(&r->graph->by_name, n->name);
}

braid_code bd_rewriter_add(bd_rewriter *r, const bd_node_spec *spec, braid_op **node, braid_status *st)
{
    braid_code code = bd_graph_add(r->graph, spec, node, st);
    if (code) return code;
    bd_rewrite_info info = {0};
    bd_array_push(&r->info, info);
    note_edges(r, *node);
    learn(r, *node);
    return BRAID_OK;
}

braid_code bd_rewriter_become(bd_rewriter *r, braid_op *n, const bd_node_spec *spec, braid_status *st)
{
    bd_node_spec other = *spec;
    other.name = n->name;
    other.device = n->device;
    other.assigned_device = n->assigned_device;
    bd_map_remove(&r->graph->by_name, n->name);
    braid_op *made;
    braid_code code = bd_graph_make_node(r->graph, &other, &made, st);
    bd_map_put(&r->graph->by_name, n->name, n);
    if (code) return code;
    BD_ASSERT(made->output_count == n->output_count);
    made->id = n->id;
    made->name = n->name;
    made->output_shapes = n->output_shapes;
    *n = *made;
    note_edges(r, n);
    return BRAID_OK;
}

// ---- The end of a pass, and of all ----

// Removes removed nodes from the table, to which lists of consumers may still point, and renumbers the
// others.
static void compact(bd_rewriter *r)
{
    bd_op_list *nodes = &r->graph->nodes;
    size_t kept = 0;
    for (size_t i = 0; i < nodes->len; i++) {
        bd_rewrite_info info = r->info.items[i];
        if (info.is_removed) {
            bd_array_free(&info.consumers);
            nodes->items[i]->id = -1;
            continue;
        }
        nodes->items[i]->id = (int)kept;
        r->info.items[kept] = info;
        nodes->items[kept++] = nodes->items[i];
    }
    nodes->len = kept;
    r->info.len = kept;
}

braid_code bd_rewriter_sort(bd_rewriter *r, braid_status *st)
{
    compact(r);
    return bd_graph_topological(r->graph, &r->order, st);
}

static int *count_consumers(const bd_rewriter *r)
{
    int *counts = bd_calloc(r->info.len + 1, sizeof *counts);
    for (size_t i = 0; i < r->info.len; i++) {
        const braid_op *n = r->graph->nodes.items[i];
        if (r->info.items[i].is_removed) continue;
        for (int k = 0; k < n->input_count; k++)
            counts[n->inputs[k].op->id]++;
        for (int k = 0; k < n->control_count; k++)
            counts[n->controls[k]->id]++;
    }
    return counts;
}

static void sweep_node(bd_rewriter *r, braid_op *n, const int *counts, bd_op_list *open)
{
    const bd_rewrite_info *info = info_of(r, n);
    if (counts[n->id] > 0 || info->is_root || info->is_removed || !bd_rewriter_is_pure(n)) return;
    bd_rewriter_remove(r, n);
    bd_array_push(open, n);
}

void bd_rewriter_sweep(bd_rewriter *r)
{
    int *counts = count_consumers(r);
    bd_op_list open = {0};
    for (size_t i = 0; i < r->info.len; i++)
        sweep_node(r, r->graph->nodes.items[i], counts, &open);
    while (open.len) {
        const braid_op *n = open.items[--open.len];
        for (int k = 0; k < n->input_count; k++) {
            counts[n->inputs[k].op->id]--;
            sweep_node(r, n->inputs[k].op, counts, &open);
        }
        for (int k = 0; k < n->control_count; k++) {
            counts[n->controls[k]->id]--;
            sweep_node(r, n->controls[k], counts, &open);
        }
    }
    bd_free(counts);
    bd_array_free(&open);
    compact(r);
}

// Copies a part of a graph: marks the nodes that the roots need, copies them in order, then connects them.
#include "graph/subgraph.h"

#include "base/check.h"
#include "graph/graph_internal.h"
#include <string.h>

typedef struct copier {
    const braid_graph *from;
    const bd_subgraph_spec *spec;
    braid_graph *to;
    braid_op **map;
    bool *needed;    // [nodes of `from`]
    int *first_repl; // [nodes of `from`] first replacement of an output of the node, -1: none
    int *next_repl;  // [replacements] the next one of the same node
} copier;

static const bd_replacement *find_replacement(const copier *c, const braid_op *op, int index)
{
    for (int r = c->first_repl[op->id]; r >= 0; r = c->next_repl[r]) {
        if (c->spec->replacements[r].from.index == index) return &c->spec->replacements[r];
    }
    return NULL;
}

static void index_replacements(copier *c)
{
    for (size_t i = 0; i < c->from->nodes.len; i++)
        c->first_repl[i] = -1;
    for (int r = c->spec->replacement_count - 1; r >= 0; r--) {
        int id = c->spec->replacements[r].from.op->id;
        c->next_repl[r] = c->first_repl[id];
        c->first_repl[id] = r;
    }
}

static void need(copier *c, braid_op *op, bd_op_list *open)
{
    BD_ASSERT(op->graph == c->from);
    if (c->needed[op->id]) return;
    c->needed[op->id] = true;
    bd_array_push(open, op);
}

// The node that an edge from `op` needs instead; NULL: no node of the source graph.
static braid_op *source_of(const copier *c, braid_op *op, int index)
{
    const bd_replacement *r = find_replacement(c, op, index);
    return r ? r->source.op : op;
}

static void mark_needed(copier *c)
{
    bd_op_list open = {0};
    for (int i = 0; i < c->spec->root_count; i++)
        need(c, c->spec->roots[i], &open);
    while (open.len) {
        const braid_op *n = open.items[--open.len];
        for (int i = 0; i < n->input_count; i++) {
            braid_op *source = source_of(c, n->inputs[i].op, n->inputs[i].index);
            if (source) need(c, source, &open);
        }
        for (int i = 0; i < n->control_count; i++) {
            braid_op *source = source_of(c, n->controls[i], -1);
            if (source) need(c, source, &open);
        }
    }
    bd_array_free(&open);
}

// Copies without edges: edges of a loop lead to nodes that are copied later.
static braid_code copy_nodes(copier *c, braid_status *st)
{
    for (size_t i = 0; i < c->from->nodes.len; i++) {
        const braid_op *n = c->from->nodes.items[i];
        c->map[i] = NULL;
        if (!c->needed[i]) continue;
        if (bd_map_has(&c->to->by_name, n->name))
            return bd_fail(st, BRAID_ALREADY_EXISTS,
                           "Node '%s' (op: '%s'): the graph has a node of this name already", n->name,
                           n->op_type);
        c->map[i] = bd_graph_copy_node(c->to, n, n->inputs, n->input_count, NULL, 0);
    }
    return BRAID_OK;
}

// The source of an edge from output `index` of `op` in the new graph.
static braid_out edge_of(const copier *c, const braid_op *op, int index)
{
    const bd_replacement *r = find_replacement(c, op, index);
    if (r && !r->source.op) return r->to;
    const braid_out source = r ? r->source : (braid_out){.op = (braid_op *)op, .index = index};
    return (braid_out){.op = c->map[source.op->id], .index = source.index};
}

static void connect(const copier *c, const braid_op *from, braid_op *to, bd_op_list *controls)
{
    for (int i = 0; i < from->input_count; i++)
        bd_node_set_input(to, i, edge_of(c, from->inputs[i].op, from->inputs[i].index));
    controls->len = 0;
    for (int i = 0; i < from->control_count; i++) {
        braid_op *control = edge_of(c, from->controls[i], -1).op;
        if (control) bd_array_push(controls, control);
    }
    bd_node_set_controls(to, controls->items, (int)controls->len);
}

braid_code bd_subgraph(const braid_graph *from, const bd_subgraph_spec *spec, braid_graph *to, braid_op **map,
                       braid_status *st)
{
    size_t count = from->nodes.len;
    copier c = {.from = from, .spec = spec, .to = to, .map = map};
    c.needed = bd_calloc(count + 1, sizeof *c.needed);
    c.first_repl = bd_calloc(count + 1, sizeof *c.first_repl);
    c.next_repl = bd_calloc((size_t)spec->replacement_count + 1, sizeof *c.next_repl);
    index_replacements(&c);
    mark_needed(&c);
    bd_op_list controls = {0};
    braid_code code = copy_nodes(&c, st);
    for (size_t i = 0; i < count && !code; i++) {
        if (map[i]) connect(&c, from->nodes.items[i], map[i], &controls);
    }
    bd_array_free(&controls);
    if (!code) {
        to->producer = from->producer;
        to->min_consumer = from->min_consumer;
        bd_graph_share_library(to, from);
    }
    bd_free(c.needed);
    bd_free(c.first_repl);
    bd_free(c.next_repl);
    return code;
}

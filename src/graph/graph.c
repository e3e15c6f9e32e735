// Graphs: adding, finding and copying nodes, the edges out of nodes, topological order.
#include "graph/graph.h"

#include "base/check.h"
#include "base/strbuf.h"
#include "graph/builder.h"
#include "graph/graph_internal.h"
#include "graph/node_resolve.h"
#include "graph/turns.h"
#include <stdio.h>
#include <string.h>

void bd_graph_init(braid_graph *g)
{
    memset(g, 0, sizeof *g);
    bd_arena_init(&g->arena);
    bd_map_init(&g->by_name);
    bd_map_init(&g->name_numbers);
    g->producer = BD_GRAPH_DEF_VERSION;
}

void bd_graph_fini(braid_graph *g)
{
    bd_builder_free(g->builder);
    g->builder = NULL;
    for (size_t i = 0; i < g->tensors.len; i++)
        braid_tensor_free(g->tensors.items[i]);
    bd_array_free(&g->tensors);
    bd_array_free(&g->nodes);
    bd_library_unref(g->library);
    g->library = NULL;
    bd_map_fini(&g->by_name);
    bd_map_fini(&g->name_numbers);
    bd_status_fini(&g->status);
    bd_arena_fini(&g->arena);
}

braid_graph *braid_graph_new(void)
{
    braid_graph *g = bd_malloc(sizeof *g);
    bd_graph_init(g);
    g->turns = bd_graph_turns_new();
    return g;
}

void braid_graph_free(braid_graph *g)
{
    if (!g) return;
    bd_graph_fini(g);
    bd_graph_turns_free(g->turns);
    bd_free(g);
}

// ---- Finding ----

braid_op *braid_graph_find(const braid_graph *g, const char *name)
{
    return g && name ? bd_map_get(&g->by_name, name) : NULL;
}

braid_out braid_graph_find_out(const braid_graph *g, const char *name)
{
    if (!g || !name) return (braid_out){0};
    const char *colon = strrchr(name, ':');
    int64_t index = 0;
    size_t len = colon ? (size_t)(colon - name) : strlen(name);
    if (colon && (!bd_parse_int64(colon + 1, &index) || index < 0 || index > BD_NODE_OUTPUTS_MAX))
        return (braid_out){0};
    braid_op *op = bd_map_get_n(&g->by_name, name, len);
    if (!op || (op->def && index >= op->output_count)) return (braid_out){0};
    return (braid_out){.op = op, .index = (int)index};
}

int braid_graph_num_ops(const braid_graph *g)
{
    return g ? (int)g->nodes.len : 0;
}

braid_op *braid_graph_op(const braid_graph *g, int index)
{
    return g && index >= 0 && (size_t)index < g->nodes.len ? g->nodes.items[index] : NULL;
}

const char *bd_graph_unique_name(braid_graph *g, const char *base)
{
    if (!bd_map_has(&g->by_name, base)) return bd_arena_strdup(&g->arena, base);
    uintptr_t number = (uintptr_t)bd_map_get(&g->name_numbers, base);
    bd_strbuf name = {0};
    do {
        bd_strbuf_clear(&name);
        bd_strbuf_appendf(&name, "%s_%zu", base, (size_t)++number);
    } while (bd_map_has(&g->by_name, bd_strbuf_str(&name)));
    bd_map_put(&g->name_numbers, base, (void *)number);
    const char *result = bd_arena_strdup(&g->arena, bd_strbuf_str(&name));
    bd_strbuf_fini(&name);
    return result;
}

// ---- Adding ----

void bd_node_set_controls(braid_op *n, braid_op *const *controls, int count)
{
    enum {
        MANY = 16
    };
    bd_imap seen = {0}; // for many
    n->control_count = 0;
    if (count == 0) return;
    size_t cap = 1; // see bd_node_add_control
    while (cap < (size_t)count)
        cap *= 2;
    n->controls = BD_ARENA_ARRAY(&n->graph->arena, braid_op *, cap);
    for (int i = 0; i < count; i++) {
        BD_ASSERT(controls[i]->graph == n->graph);
        bool is_there = false;
        if (count > MANY) is_there = bd_imap_put(&seen, (uintptr_t)controls[i], controls[i]) != NULL;
        for (int k = 0; count <= MANY && k < n->control_count; k++)
            is_there |= n->controls[k] == controls[i];
        if (!is_there) n->controls[n->control_count++] = controls[i];
    }
    bd_imap_fini(&seen);
}

const bd_op_def *bd_graph_find_def(const braid_graph *g, const char *op_type)
{
    const bd_op_def *def = bd_op_lookup(op_type);
    const bd_function *f = def ? NULL : bd_library_find(g->library, op_type);
    return f ? &f->def : def;
}

// A node with its name, type, device and edges, not in the graph's tables yet.
static braid_op *new_node(braid_graph *g, const bd_node_spec *spec)
{
    braid_op *n = BD_ARENA_NEW(&g->arena, braid_op);
    n->graph = g;
    n->def = bd_graph_find_def(g, spec->op_type);
    n->name = bd_arena_strdup(&g->arena, spec->name);
    n->op_type = n->def ? n->def->name : bd_arena_strdup(&g->arena, spec->op_type);
    n->device = spec->device && *spec->device ? bd_arena_strdup(&g->arena, spec->device) : "";
    if (spec->assigned_device) n->assigned_device = bd_arena_strdup(&g->arena, spec->assigned_device);
    n->input_count = spec->input_count;
    if (spec->input_count)
        n->inputs = bd_arena_memdup(&g->arena, spec->inputs, (size_t)spec->input_count * sizeof *n->inputs);
    bd_node_set_controls(n, spec->controls, spec->control_count);
    return n;
}

braid_code bd_graph_make_node(braid_graph *g, const bd_node_spec *spec, braid_op **node, braid_status *st)
{
    *node = NULL;
    if (bd_map_has(&g->by_name, spec->name))
        return bd_fail(st, BRAID_ALREADY_EXISTS,
                       "Node '%s' (op: '%s'): the graph has a node of this name already", spec->name,
                       spec->op_type);
    size_t tensors = g->tensors.len;
    braid_op *n = new_node(g, spec);
    braid_code code = bd_node_resolve(g, n, spec->attrs, spec->attr_count, st);
    if (!code) code = bd_node_infer_shapes(n, st);
    if (code) {
        bd_graph_drop_tensors(g, tensors);
        return code;
    }
    *node = n;
    return BRAID_OK;
}

void bd_graph_drop_tensors(braid_graph *g, size_t keep)
{
    while (g->tensors.len > keep)
        braid_tensor_free(g->tensors.items[--g->tensors.len]);
}

size_t bd_graph_bytes(const braid_graph *g)
{
    return g->arena.held + g->nodes.cap * sizeof *g->nodes.items + g->tensors.cap * sizeof *g->tensors.items +
           g->tensors.len * sizeof *g->tensors.items[0] + bd_map_bytes(&g->by_name) +
           bd_map_bytes(&g->name_numbers);
}

bd_graph_mark bd_graph_get_mark(const braid_graph *g)
{
    return (bd_graph_mark){g->nodes.len, g->tensors.len, bd_arena_get_mark(&g->arena)};
}

void bd_graph_rewind(braid_graph *g, const bd_graph_mark *mark)
{
    BD_ASSERT(!g->builder);
    for (size_t i = mark->nodes; i < g->nodes.len; i++)
        bd_map_remove(&g->by_name, g->nodes.items[i]->name);
    g->nodes.len = mark->nodes;
    bd_graph_drop_tensors(g, mark->tensors);
    bd_arena_rewind(&g->arena, mark->arena);
}

braid_op *bd_graph_append(braid_graph *g, braid_op *n)
{
    BD_GRAPH_TURN(g);
    n->id = (int)g->nodes.len;
    bd_array_push(&g->nodes, n);
    bd_map_put(&g->by_name, n->name, n);
    return n;
}

braid_code bd_graph_add(braid_graph *g, const bd_node_spec *spec, braid_op **node, braid_status *st)
{
    braid_op *n;
    if (node) *node = NULL;
    braid_code code = bd_graph_make_node(g, spec, &n, st);
    if (code) return code;
    bd_graph_append(g, n);
    if (node) *node = n;
    return BRAID_OK;
}

// ---- Copying ----

void bd_graph_share_library(braid_graph *g, const braid_graph *from)
{
    if (g->library == from->library) return;
    bd_library *before = g->library;
    g->library = bd_library_ref(from->library);
    bd_library_unref(before);
}

// Within one graph's life its strings may be shared; another graph's must be copied.
static const char *own_string(braid_graph *g, const char *text)
{
    return *text ? bd_arena_strdup(&g->arena, text) : "";
}

static void copy_attrs(braid_graph *g, braid_op *to, const braid_op *from)
{
    to->attr_count = from->attr_count;
    to->attrs = BD_ARENA_ARRAY(&g->arena, bd_named_attr, (size_t)from->attr_count);
    for (int i = 0; i < from->attr_count; i++) {
        const bd_named_attr *attr = &from->attrs[i];
        const bd_attr_def *def = from->def ? bd_op_def_attr(from->def, attr->name) : NULL;
        to->attrs[i].name = def ? def->name : own_string(g, attr->name);
        to->attrs[i].is_default = attr->is_default;
        bd_attr_copy(&to->attrs[i].value, &attr->value, &g->arena, &g->tensors);
    }
}

braid_op *bd_graph_copy_node(braid_graph *g, const braid_op *from, const braid_out *inputs, int input_count,
                             braid_op *const *controls, int control_count)
{
    BD_ASSERT(!bd_map_has(&g->by_name, from->name));
    BD_ASSERT(input_count == from->input_count);
    braid_op *n = BD_ARENA_NEW(&g->arena, braid_op);
    n->graph = g;
    n->def = from->def;
    if (from->graph->library) bd_graph_share_library(g, from->graph);
    n->name = own_string(g, from->name);
    n->op_type = from->def ? from->def->name : own_string(g, from->op_type);
    n->device = own_string(g, from->device);
    n->assigned_device = from->assigned_device ? own_string(g, from->assigned_device) : NULL;
    copy_attrs(g, n, from);
    n->input_count = input_count;
    n->inputs = bd_arena_memdup(&g->arena, inputs, (size_t)input_count * sizeof *inputs);
    n->input_types =
        bd_arena_memdup(&g->arena, from->input_types, (size_t)input_count * sizeof *n->input_types);
    bd_node_set_controls(n, controls, control_count);
    size_t outputs = (size_t)from->output_count;
    n->output_count = from->output_count;
    n->output_types = bd_arena_memdup(&g->arena, from->output_types, outputs * sizeof *n->output_types);
    n->output_shapes = bd_arena_memdup(&g->arena, from->output_shapes, outputs * sizeof *n->output_shapes);
    return bd_graph_append(g, n);
}

// ---- Edges ----

void bd_graph_consumers(const braid_graph *g, bd_consumers *out)
{
    size_t count = g->nodes.len;
    out->offsets = bd_calloc(count + 2, sizeof *out->offsets);
    int *next = out->offsets + 1; // next[i] becomes the end of node i, which is the offset of node i + 1
    for (size_t i = 0; i < count; i++) {
        const braid_op *n = g->nodes.items[i];
        for (int k = 0; k < n->input_count; k++)
            next[n->inputs[k].op->id + 1]++;
        for (int k = 0; k < n->control_count; k++)
            next[n->controls[k]->id + 1]++;
    }
    for (size_t i = 1; i <= count; i++)
        next[i] += next[i - 1];
    out->items = bd_calloc((size_t)next[count] + 1, sizeof *out->items);
    for (size_t i = 0; i < count; i++) {
        braid_op *n = g->nodes.items[i];
        for (int k = 0; k < n->input_count; k++)
            out->items[next[n->inputs[k].op->id]++] =
                (bd_consumer){.node = n, .input = k, .output = n->inputs[k].index};
        for (int k = 0; k < n->control_count; k++)
            out->items[next[n->controls[k]->id]++] = (bd_consumer){.node = n, .input = -1, .output = -1};
    }
}

void bd_consumers_fini(bd_consumers *c)
{
    bd_free(c->offsets);
    bd_free(c->items);
    c->offsets = NULL;
    c->items = NULL;
}

// The edge that closes a loop does not count for the order.
static bool is_back_edge(const braid_op *from, const braid_op *to)
{
    return bd_node_role(to) == BD_ROLE_MERGE && bd_node_role(from) == BD_ROLE_NEXT_ITERATION;
}

static int count_pending(const braid_op *n)
{
    int pending = n->control_count;
    for (int k = 0; k < n->input_count; k++)
        pending += !is_back_edge(n->inputs[k].op, n);
    return pending;
}

// Drops node `n` and those before it from the nodes in a cycle when no consumer of theirs is left there.
static void leave_cycle(const bd_consumers *consumers, int *pending, braid_op *n)
{
    bd_op_list open = {0};
    bd_array_push(&open, n);
    while (open.len > 0) {
        const braid_op *last = open.items[--open.len];
        bool is_used = pending[last->id] <= 0;
        for (int e = consumers->offsets[last->id]; e < consumers->offsets[last->id + 1] && !is_used; e++)
            is_used = pending[consumers->items[e].node->id] > 0;
        if (is_used) continue;
        pending[last->id] = 0;
        for (int k = 0; k < last->input_count; k++)
            bd_array_push(&open, last->inputs[k].op);
        for (int k = 0; k < last->control_count; k++)
            bd_array_push(&open, last->controls[k]);
    }
    bd_array_free(&open);
}

enum {
    CYCLE_NODES_NAMED = 5 // in a message
};

// `pending`: how many inputs of each node the order has not reached.
static braid_code fail_cycle(const braid_graph *g, const bd_consumers *consumers, int *pending,
                             braid_status *st)
{
    for (size_t i = 0; i < g->nodes.len; i++)
        leave_cycle(consumers, pending, g->nodes.items[i]);
    bd_strbuf names = {0};
    int count = 0;
    for (size_t i = 0; i < g->nodes.len; i++) {
        if (pending[i] <= 0 || count++ >= CYCLE_NODES_NAMED) continue;
        bd_strbuf_appendf(&names, "%s%s", count > 1 ? ", " : "", g->nodes.items[i]->name);
    }
    bd_fail(st, BRAID_INVALID_ARGUMENT, "Graph is invalid, contains a cycle with %d nodes, including: %s",
            count, bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
    return st->code;
}

braid_code bd_graph_topological(const braid_graph *g, bd_op_list *order, braid_status *st)
{
    size_t count = g->nodes.len;
    int *pending = bd_calloc(count + 1, sizeof *pending);
    bd_consumers consumers;
    bd_graph_consumers(g, &consumers);
    order->len = 0;
    bd_array_reserve(order, count);
    for (size_t i = 0; i < count; i++) {
        pending[i] = count_pending(g->nodes.items[i]);
        if (pending[i] == 0) bd_array_push(order, g->nodes.items[i]);
    }
    for (size_t done = 0; done < order->len; done++) {
        const braid_op *n = order->items[done];
        for (int e = consumers.offsets[n->id]; e < consumers.offsets[n->id + 1]; e++) {
            braid_op *to = consumers.items[e].node;
            if (consumers.items[e].input >= 0 && is_back_edge(n, to)) continue;
            if (--pending[to->id] == 0) bd_array_push(order, to);
        }
    }
    const braid_code code = order->len < count ? fail_cycle(g, &consumers, pending, st) : BRAID_OK;
    bd_consumers_fini(&consumers);
    bd_free(pending);
    return code;
}

// GraphDef import: resolves inputs of parsed nodes and adds the nodes; all of them or none.
//
// Nodes may refer to later nodes. They are parsed first, then made in topological order (except for the back
// edges of loops, from NextIteration into Merge, which are set at the end), and keep the ids of their place
// in the message.
#include "graph/graph_def_internal.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "graph/builder.h"
#include "graph/graph_internal.h"
#include "graph/node_resolve.h"
#include "graph/turns.h"
#include <string.h>

// ---- Inputs ----

bool bd_import_split_input(const bd_bytes *text, size_t *name_len, int *index)
{
    const char *colon = memrchr(text->data, ':', text->len);
    *name_len = colon ? (size_t)(colon - text->data) : text->len;
    *index = 0;
    int64_t value;
    if (!colon) return true;
    if (!bd_parse_int64(colon + 1, &value) || value < 0 || value >= BD_NODE_OUTPUTS_MAX || colon[1] == '+')
        return false;
    *index = (int)value;
    return true;
}

static bd_op_role role_of(const char *op)
{
    const bd_op_def *def = bd_op_lookup(op);
    return def ? def->op->role : BD_ROLE_PLAIN;
}

static braid_code resolve_input(bd_import *im, bd_parsed_node *n, const bd_bytes *text, bd_input_ref *ref)
{
    bool is_control = text->len && text->data[0] == '^';
    bd_bytes rest = {.data = text->data + is_control, .len = text->len - is_control};
    size_t name_len = rest.len;
    if (!is_control && !bd_import_split_input(&rest, &name_len, &ref->index))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s': Unknown input node '%.200s'", n->name,
                       text->data);
    if (is_control) ref->index = -1;
    if (im->with && bd_import_map_input(im, rest.data, name_len, ref)) return BRAID_OK;
    uintptr_t number = (uintptr_t)bd_map_get_n(&im->by_name, rest.data, name_len);
    ref->new_node = (int)number - 1;
    ref->old = number || im->with ? NULL : bd_map_get_n(&im->g->by_name, rest.data, name_len);
    if (!number && !ref->old)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s': Unknown input node '%.200s'", n->name,
                       text->data);
    if (!number) return BRAID_OK;
    ref->is_back_edge = !is_control && role_of(n->op) == BD_ROLE_MERGE &&
                        role_of(im->nodes.items[ref->new_node].op) == BD_ROLE_NEXT_ITERATION;
    n->pending += !ref->is_back_edge;
    return BRAID_OK;
}

static braid_code resolve_inputs(bd_import *im, bd_parsed_node *n)
{
    n->refs = BD_ARENA_ARRAY(&im->arena, bd_input_ref, n->inputs.len);
    for (size_t i = 0; i < n->inputs.len; i++) {
        braid_code code = resolve_input(im, n, &n->inputs.items[i], &n->refs[i]);
        if (code) return code;
        if (i && n->refs[i - 1].index < 0 && n->refs[i].index >= 0)
            return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                           "Node '%s': Control dependencies must come after regular dependencies", n->name);
    }
    return BRAID_OK;
}

// ---- Making nodes ----

static braid_op *ref_node(const bd_import *im, const bd_input_ref *ref)
{
    return ref->new_node >= 0 ? im->nodes.items[ref->new_node].node : ref->old;
}

typedef struct edge_lists {
    BD_ARRAY(braid_out) inputs;
    bd_op_list controls;
} edge_lists;

static braid_code make_node(bd_import *im, bd_parsed_node *n, edge_lists *edges)
{
    edges->inputs.len = edges->controls.len = 0;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const bd_input_ref *ref = &n->refs[i];
        if (ref->index < 0)
            bd_array_push(&edges->controls, ref_node(im, ref));
        else
            bd_array_push(&edges->inputs, (braid_out){.op = ref->is_back_edge ? NULL : ref_node(im, ref),
                                                      .index = ref->index});
    }
    if (im->with) bd_import_push_controls(im, n, &edges->controls);
    bd_node_spec spec = {.name = n->name,
                         .op_type = n->op,
                         .device = n->device,
                         .inputs = edges->inputs.items,
                         .input_count = (int)edges->inputs.len,
                         .controls = edges->controls.items,
                         .control_count = (int)edges->controls.len,
                         .attrs = n->attrs.items,
                         .attr_count = (int)n->attrs.len};
    return bd_graph_make_node(im->g, &spec, &n->node, im->st);
}

// For each new node, the new nodes that wait for it: users[offsets[i] .. offsets[i+1]).
static void list_users(const bd_import *im, int **offsets, int **users)
{
    size_t count = im->nodes.len;
    int *next = bd_calloc(count + 2, sizeof *next);
    for (size_t i = 0; i < count; i++) {
        const bd_parsed_node *n = &im->nodes.items[i];
        for (size_t k = 0; k < n->inputs.len; k++) {
            if (n->refs[k].new_node >= 0 && !n->refs[k].is_back_edge) next[n->refs[k].new_node + 2]++;
        }
    }
    for (size_t i = 2; i < count + 2; i++)
        next[i] += next[i - 1];
    *users = bd_calloc((size_t)next[count + 1] + 1, sizeof **users);
    for (size_t i = 0; i < count; i++) {
        const bd_parsed_node *n = &im->nodes.items[i];
        for (size_t k = 0; k < n->inputs.len; k++) {
            if (n->refs[k].new_node >= 0 && !n->refs[k].is_back_edge)
                (*users)[next[n->refs[k].new_node + 1]++] = (int)i;
        }
    }
    *offsets = next;
}

// Adds `by` to the counts of the nodes that node `n` waits for; those whose count becomes 0 go to `free`.
static void count_waiting(const bd_import *im, const bd_parsed_node *n, int by, int *counts, int *free,
                          int *len)
{
    for (size_t k = 0; k < n->inputs.len; k++) {
        const int before = n->refs[k].is_back_edge ? -1 : n->refs[k].new_node;
        if (before < 0 || im->nodes.items[before].pending <= 0) continue;
        counts[before] += by;
        if (counts[before] == 0) free[(*len)++] = before;
    }
}

// Nodes that only come after a cycle, for which no node of it waits, are not counted.
static braid_code fail_cycle(bd_import *im)
{
    const int count = (int)im->nodes.len;
    int *counts = bd_calloc((size_t)count, sizeof *counts), *free = bd_calloc((size_t)count, sizeof *free);
    int len = 0, in_cycle = 0;
    for (int i = 0; i < count; i++) {
        if (im->nodes.items[i].pending > 0) count_waiting(im, &im->nodes.items[i], 1, counts, free, &len);
    }
    for (int i = 0; i < count; i++) {
        if (im->nodes.items[i].pending > 0 && counts[i] == 0) free[len++] = i;
    }
    while (len > 0) {
        bd_parsed_node *last = &im->nodes.items[free[--len]];
        last->pending = 0;
        count_waiting(im, last, -1, counts, free, &len);
    }
    const char *first = NULL;
    for (int i = count - 1; i >= 0; i--) {
        if (im->nodes.items[i].pending <= 0) continue;
        in_cycle++;
        first = im->nodes.items[i].name;
    }
    bd_free(counts);
    bd_free(free);
    return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "%d nodes in a cycle, through node '%s'", in_cycle, first);
}

static braid_code make_nodes(bd_import *im)
{
    int *offsets, *users;
    size_t count = im->nodes.len, queued = 0, made = 0;
    int *queue = bd_calloc(count + 1, sizeof *queue);
    edge_lists edges = {0};
    braid_code code = BRAID_OK;
    list_users(im, &offsets, &users);
    for (size_t i = 0; i < count; i++) {
        if (im->nodes.items[i].pending == 0) queue[queued++] = (int)i;
    }
    for (; made < queued && !code; made++) {
        int n = queue[made];
        code = make_node(im, &im->nodes.items[n], &edges);
        for (int u = offsets[n]; u < offsets[n + 1]; u++) {
            if (--im->nodes.items[users[u]].pending == 0) queue[queued++] = users[u];
        }
    }
    if (made < count && !code) code = fail_cycle(im);
    bd_array_free(&edges.inputs);
    bd_array_free(&edges.controls);
    bd_free(queue);
    bd_free(offsets);
    bd_free(users);
    return code;
}

static braid_code close_loops(bd_import *im)
{
    for (size_t i = 0; i < im->nodes.len; i++) {
        bd_parsed_node *n = &im->nodes.items[i];
        for (size_t k = 0; k < n->inputs.len; k++) {
            if (!n->refs[k].is_back_edge) continue;
            n->node->inputs[k] = (braid_out){.op = ref_node(im, &n->refs[k]), .index = n->refs[k].index};
            braid_code code = bd_node_check_input(n->node, (int)k, im->st);
            if (code) return code;
        }
    }
    return BRAID_OK;
}

// ---- The whole ----

static void publish(bd_import *im)
{
    braid_graph *g = im->g;
    int from = (int)g->nodes.len;
    bd_array_reserve(&g->nodes, g->nodes.len + im->nodes.len);
    for (size_t i = 0; i < im->nodes.len; i++)
        bd_graph_append(g, im->nodes.items[i].node);
    if (im->min_consumer > g->min_consumer) g->min_consumer = im->min_consumer;
    bd_builder_note_foreign(g, from, (int)g->nodes.len);
    if (im->unknown_attrs)
        bd_info("GraphDef: %d attrs that their ops do not have are ignored (the first: '%s' of node '%s')",
                im->unknown_attrs, im->unknown_attr, im->unknown_attr_node);
}

void bd_import_fini(bd_import *im)
{
    for (size_t i = 0; i < im->tensors.len; i++)
        braid_tensor_free(im->tensors.items[i]);
    for (size_t i = 0; i < im->nodes.len; i++) {
        bd_array_free(&im->nodes.items[i].inputs);
        bd_array_free(&im->nodes.items[i].attrs);
    }
    bd_array_free(&im->tensors);
    bd_array_free(&im->nodes);
    bd_array_free(&im->libraries);
    bd_map_fini(&im->by_name);
    bd_arena_fini(&im->arena);
}

braid_code bd_import_make(bd_import *im)
{
    size_t tensors = im->g->tensors.len;
    braid_code code = BRAID_OK;
    for (size_t i = 0; i < im->nodes.len && !code; i++)
        code = resolve_inputs(im, &im->nodes.items[i]);
    if (!code) code = make_nodes(im);
    if (!code) code = close_loops(im);
    if (!code && im->with) code = bd_import_find_results(im);
    if (!code)
        publish(im);
    else
        bd_graph_drop_tensors(im->g, tensors);
    return code;
}

// Nodes may call the functions of the same message: the graph gets these first, and keeps them if it gets the
// nodes.
static braid_code make_with_library(bd_import *im)
{
    braid_graph *g = im->g;
    bd_library *before = g->library, *after = NULL;
    braid_code code = bd_library_extend(before, im->libraries.items, (int)im->libraries.len, &after, im->st);
    if (code) return code;
    g->library = after;
    code = bd_import_make(im);
    if (code) g->library = before;
    bd_library_unref(code ? after : before);
    return code;
}

// Before nodes are made: their shape functions ask which version they are of.
static void note_producer(bd_import *im)
{
    braid_graph *g = im->g;
    if (im->producer > 0 && (g->nodes.len == 0 || im->producer < g->producer)) g->producer = im->producer;
}

braid_code bd_import_run(bd_import *im, bd_wire_reader *in)
{
    const int producer = im->g->producer;
    braid_code code = bd_import_parse(im, in);
    if (!code && im->with) code = bd_import_rename(im);
    note_producer(im);
    if (!code) code = im->libraries.len ? make_with_library(im) : bd_import_make(im);
    if (code) im->g->producer = producer;
    return code;
}

static braid_code import_graph(braid_graph *g, bd_wire_reader *in, braid_status *st)
{
    bd_import im = {.g = g, .st = st};
    const braid_code code = bd_import_run(&im, in);
    bd_import_fini(&im);
    return code;
}

braid_code bd_graph_import_message(braid_graph *g, const bd_message *graph_def, braid_status *st)
{
    BD_GRAPH_TURN(g);
    bd_wire_reader in = bd_wire_reader_of(graph_def);
    return import_graph(g, &in, st);
}

braid_code braid_graph_import(braid_graph *g, const void *data, size_t len, braid_status *status)
{
    BD_GRAPH_TURN(g);
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!g || (!data && len))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no %s", g ? "GraphDef" : "graph");
    if (g->status.code) return bd_status_copy(st, &g->status);
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    return import_graph(g, &in, st);
}

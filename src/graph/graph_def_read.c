// GraphDef import: parsing the message, checking names, resolving inputs, adding the nodes; all of them or none.
//
// Nodes may refer to nodes that come later. They are parsed first, then made in an order in which inputs come first (but for
// the back edges of loops, from NextIteration into Merge, which are set at the end), and keep the ids of their place in the message.
#include "graph/graph.h"

#include "base/check.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/wire.h"
#include "graph/attr_wire.h"
#include "graph/builder.h"
#include "graph/graph_internal.h"
#include "graph/node_resolve.h"
#include <limits.h>
#include <string.h>

enum {
    GRAPH_NODE = 1,
    GRAPH_LIBRARY = 2,
    GRAPH_VERSION = 3,
    GRAPH_VERSIONS = 4
};
enum {
    NODE_NAME = 1,
    NODE_OP = 2,
    NODE_INPUT = 3,
    NODE_DEVICE = 4,
    NODE_ATTR = 5
};
enum {
    VERSION_PRODUCER = 1,
    VERSION_MIN_CONSUMER = 2,
    VERSION_BAD_CONSUMERS = 3
};
enum {
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2
};

// An input as it was written: a new node of this import (by number) or one that the graph has.
typedef struct input_ref {
    int new_node; // -1: `old`
    braid_op *old;
    int index; // -1: a control input
    bool is_back_edge;
} input_ref;

typedef struct parsed_node {
    const char *name, *op, *device; // in the import's arena
    BD_ARRAY(bd_bytes) inputs;
    BD_ARRAY(bd_named_attr) attrs;
    input_ref *refs; // [inputs.len], in the import's arena
    int pending;     // new nodes it waits for
    braid_op *node;  // when it is made
} parsed_node;

typedef struct import {
    braid_graph *g;
    braid_status *st;
    bd_arena arena;
    bd_attr_tensors tensors; // of parsed attrs, one reference each
    BD_ARRAY(parsed_node) nodes;
    BD_ARRAY(bd_bytes) libraries; // in the import's arena
    bd_map by_name;               // -> number of a new node + 1
    int producer, min_consumer;
    int unknown_attrs; // attrs that definitions do not have
    const char *unknown_attr, *unknown_attr_node;
} import;

static braid_code malformed(import *im, const char *what)
{
    return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Malformed GraphDef: %s (node %zu)", what, im->nodes.len);
}

// ---- Parsing ----

static braid_code parse_versions(import *im, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t value;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader packed;
        if (type == BD_WIRE_VARINT && field <= VERSION_BAD_CONSUMERS) {
            if (!bd_wire_get_varint(in, &value)) break;
            if (field == VERSION_PRODUCER) im->producer = (int)value;
            if (field == VERSION_MIN_CONSUMER) im->min_consumer = (int)value;
            if (field == VERSION_BAD_CONSUMERS && value == BD_GRAPH_DEF_VERSION) goto bad_consumer;
        } else if (type == BD_WIRE_BYTES && field == VERSION_BAD_CONSUMERS) {
            if (!bd_wire_get_sub(in, &packed)) break;
            while (bd_wire_get_varint(&packed, &value)) {
                if (value == BD_GRAPH_DEF_VERSION) goto bad_consumer;
            }
        } else {
            bd_wire_skip(in, type);
        }
    }
    return in->failed ? malformed(im, "versions") : BRAID_OK;
bad_consumer:
    return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "GraphDef disallows consumer version %d",
                   BD_GRAPH_DEF_VERSION);
}

static braid_code parse_attr(import *im, bd_wire_reader *in, parsed_node *n)
{
    bd_bytes key = {.data = "", .len = 0};
    bd_attr value = {.kind = BD_ATTR_NONE};
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        if (field == ENTRY_KEY && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_bytes(in, &key, &im->arena)) break;
        } else if (field == ENTRY_VALUE && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(in, &sub)) break;
            if (bd_attr_read(&sub, &value, &im->arena, &im->tensors, im->st))
                return bd_status_prefix(im->st, "Attr '%.100s': ", key.data);
        } else {
            bd_wire_skip(in, type);
        }
    }
    if (in->failed) return malformed(im, "attr");
    bd_array_push(&n->attrs, (bd_named_attr){.name = key.data, .value = value});
    return BRAID_OK;
}

static braid_code parse_node_fields(import *im, bd_wire_reader *in, parsed_node *n)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        bd_bytes text;
        bd_wire_reader sub;
        if (type != BD_WIRE_BYTES || field > NODE_ATTR) {
            bd_wire_skip(in, type);
        } else if (field == NODE_ATTR) {
            if (!bd_wire_get_sub(in, &sub)) break;
            braid_code code = parse_attr(im, &sub, n);
            if (code) return code;
        } else if (bd_wire_get_bytes(in, &text, &im->arena)) {
            if (memchr(text.data, 0, text.len)) return malformed(im, "a name with a zero byte");
            if (field == NODE_NAME) n->name = text.data;
            if (field == NODE_OP) n->op = text.data;
            if (field == NODE_DEVICE) n->device = text.data;
            if (field == NODE_INPUT) bd_array_push(&n->inputs, text);
        }
    }
    return in->failed ? malformed(im, "truncated node") : BRAID_OK;
}

// Map entries may repeat: the last counts.
static void drop_repeated_attrs(parsed_node *n)
{
    bd_map seen = {0}; // -> place among those kept + 1
    size_t kept = 0;
    for (size_t i = 0; i < n->attrs.len; i++) {
        const bd_named_attr attr = n->attrs.items[i];
        uintptr_t place = (uintptr_t)bd_map_get(&seen, attr.name);
        if (place == 0) bd_map_put(&seen, attr.name, (void *)(place = ++kept));
        n->attrs.items[place - 1] = attr;
    }
    n->attrs.len = kept;
    bd_map_fini(&seen);
}

// Counts the attrs that a definition does not have, for one line of the log.
static void note_unknown_attrs(import *im, const parsed_node *n)
{
    const bd_op_def *def = bd_op_lookup(n->op);
    for (size_t i = 0; def && i < n->attrs.len; i++) {
        const char *name = n->attrs.items[i].name;
        if (*name == '_' || bd_op_def_attr(def, name)) continue;
        if (im->unknown_attrs++ == 0) {
            im->unknown_attr = name;
            im->unknown_attr_node = n->name;
        }
    }
}

static braid_code parse_node(import *im, bd_wire_reader *in)
{
    parsed_node n = {.name = "", .op = "", .device = ""};
    braid_code code = parse_node_fields(im, in, &n);
    bd_array_push(&im->nodes, n); // freed with the import, whatever comes
    if (code)
        return *n.name ? bd_status_prefix(im->st, "Node '%.200s' (op: '%.100s'): ", n.name, n.op) : code;
    if (!bd_node_name_is_valid(n.name))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%.200s': Node name contains invalid characters",
                       n.name);
    if (!*n.op) return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s': has no op", n.name);
    if (bd_map_put(&im->by_name, n.name, (void *)(uintptr_t)im->nodes.len))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s' is not unique", n.name);
    if (bd_map_has(&im->g->by_name, n.name))
        return bd_fail(
            im->st, BRAID_INVALID_ARGUMENT,
            "GraphDef argument to Extend includes node '%s', which was created by a previous call to Create or "
            "Extend in this session",
            n.name);
    drop_repeated_attrs(&im->nodes.items[im->nodes.len - 1]);
    note_unknown_attrs(im, &im->nodes.items[im->nodes.len - 1]);
    return BRAID_OK;
}

static braid_code parse_library(import *im, bd_wire_reader *in)
{
    bd_bytes library;
    if (!bd_wire_get_bytes(in, &library, &im->arena)) return malformed(im, "library");
    if (library.len) bd_array_push(&im->libraries, library);
    return BRAID_OK;
}

static braid_code parse_graph(import *im, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t value;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        braid_code code = BRAID_OK;
        if (field == GRAPH_LIBRARY && type == BD_WIRE_BYTES)
            code = parse_library(im, in);
        else if ((field == GRAPH_NODE || field == GRAPH_VERSIONS) && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(in, &sub)) break;
            code = field == GRAPH_NODE ? parse_node(im, &sub) : parse_versions(im, &sub);
        } else if (field == GRAPH_VERSION && type == BD_WIRE_VARINT) {
            if (bd_wire_get_varint(in, &value) && im->producer == 0) im->producer = (int)value;
        } else if (field <= GRAPH_VERSIONS) {
            code = malformed(im, "a field of the wrong type");
        } else {
            bd_wire_skip(in, type);
        }
        if (code) return code;
    }
    if (in->failed) return malformed(im, "truncated message");
    if (im->nodes.len + im->g->nodes.len > INT_MAX / 2) return malformed(im, "too many nodes");
    if (im->min_consumer > BD_GRAPH_DEF_VERSION)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                       "GraphDef min consumer version %d above current version %d", im->min_consumer,
                       BD_GRAPH_DEF_VERSION);
    return BRAID_OK;
}

// ---- Inputs ----

// Splits "name:3" into the length of the name and 3; a name without a number is output 0.
static bool split_input(const bd_bytes *text, size_t *name_len, int *index)
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

static braid_code resolve_input(import *im, parsed_node *n, const bd_bytes *text, input_ref *ref)
{
    bool is_control = text->len && text->data[0] == '^';
    bd_bytes rest = {.data = text->data + is_control, .len = text->len - is_control};
    size_t name_len = rest.len;
    if (!is_control && !split_input(&rest, &name_len, &ref->index))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s': input '%.200s' is malformed", n->name,
                       text->data);
    if (is_control) ref->index = -1;
    uintptr_t number = (uintptr_t)bd_map_get_n(&im->by_name, rest.data, name_len);
    ref->new_node = (int)number - 1;
    ref->old = number ? NULL : bd_map_get_n(&im->g->by_name, rest.data, name_len);
    if (!number && !ref->old)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s': Unknown input node '%.200s'", n->name,
                       text->data);
    if (!number) return BRAID_OK;
    ref->is_back_edge = !is_control && role_of(n->op) == BD_ROLE_MERGE &&
                        role_of(im->nodes.items[ref->new_node].op) == BD_ROLE_NEXT_ITERATION;
    n->pending += !ref->is_back_edge;
    return BRAID_OK;
}

static braid_code resolve_inputs(import *im, parsed_node *n)
{
    n->refs = BD_ARENA_ARRAY(&im->arena, input_ref, n->inputs.len);
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

static braid_op *ref_node(const import *im, const input_ref *ref)
{
    return ref->new_node >= 0 ? im->nodes.items[ref->new_node].node : ref->old;
}

typedef struct edge_lists {
    BD_ARRAY(braid_out) inputs;
    bd_op_list controls;
} edge_lists;

static braid_code make_node(import *im, parsed_node *n, edge_lists *edges)
{
    edges->inputs.len = edges->controls.len = 0;
    for (size_t i = 0; i < n->inputs.len; i++) {
        const input_ref *ref = &n->refs[i];
        if (ref->index < 0)
            bd_array_push(&edges->controls, ref_node(im, ref));
        else
            bd_array_push(&edges->inputs, (braid_out){.op = ref->is_back_edge ? NULL : ref_node(im, ref),
                                                      .index = ref->index});
    }
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
static void list_users(const import *im, int **offsets, int **users)
{
    size_t count = im->nodes.len;
    int *next = bd_calloc(count + 2, sizeof *next);
    for (size_t i = 0; i < count; i++) {
        const parsed_node *n = &im->nodes.items[i];
        for (size_t k = 0; k < n->inputs.len; k++) {
            if (n->refs[k].new_node >= 0 && !n->refs[k].is_back_edge) next[n->refs[k].new_node + 2]++;
        }
    }
    for (size_t i = 2; i < count + 2; i++)
        next[i] += next[i - 1];
    *users = bd_calloc((size_t)next[count + 1] + 1, sizeof **users);
    for (size_t i = 0; i < count; i++) {
        const parsed_node *n = &im->nodes.items[i];
        for (size_t k = 0; k < n->inputs.len; k++) {
            if (n->refs[k].new_node >= 0 && !n->refs[k].is_back_edge)
                (*users)[next[n->refs[k].new_node + 1]++] = (int)i;
        }
    }
    *offsets = next;
}

static braid_code make_nodes(import *im)
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
    for (size_t i = 0; i < count && made < count && !code; i++) {
        if (im->nodes.items[i].pending > 0)
            code = bd_fail(im->st, BRAID_INVALID_ARGUMENT, "%zu nodes in a cycle, through node '%s'",
                           count - made, im->nodes.items[i].name);
    }
    bd_array_free(&edges.inputs);
    bd_array_free(&edges.controls);
    bd_free(queue);
    bd_free(offsets);
    bd_free(users);
    return code;
}

static braid_code close_loops(import *im)
{
    for (size_t i = 0; i < im->nodes.len; i++) {
        parsed_node *n = &im->nodes.items[i];
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

static void publish(import *im)
{
    braid_graph *g = im->g;
    int from = (int)g->nodes.len;
    bd_array_reserve(&g->nodes, g->nodes.len + im->nodes.len);
    for (size_t i = 0; i < im->nodes.len; i++)
        bd_graph_append(g, im->nodes.items[i].node);
    for (size_t i = 0; i < im->libraries.len; i++) {
        const bd_bytes *library = &im->libraries.items[i];
        bd_array_push(&g->libraries,
                      (bd_bytes){.data = bd_arena_strndup(&g->arena, library->data, library->len),
                                 .len = library->len});
    }
    if (im->producer > 0 && (from == 0 || im->producer < g->producer)) g->producer = im->producer;
    if (im->min_consumer > g->min_consumer) g->min_consumer = im->min_consumer;
    bd_builder_note_foreign(g, from, (int)g->nodes.len);
    if (im->unknown_attrs)
        bd_info("GraphDef: %d attrs that their ops do not have are ignored (the first: '%s' of node '%s')",
                im->unknown_attrs, im->unknown_attr, im->unknown_attr_node);
}

static void import_fini(import *im)
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

static braid_code import_graph(braid_graph *g, bd_wire_reader *in, braid_status *st)
{
import im = {.g = g, .st = st };
    size_t tensors = g->tensors.len;
    braid_code code = parse_graph(&im, in);
    for (size_t i = 0; i < im.nodes.len && !code; i++)
        code = resolve_inputs(&im, &im.nodes.items[i]);
    if (!code) code = make_nodes(&im);
    if (!code) code = close_loops(&im);
    if (!code)
        publish(&im);
    else
        bd_graph_drop_tensors(g, tensors);
    import_fini(&im);
    return code;
}

braid_code bd_graph_import_message(braid_graph *g, const bd_message *graph_def, braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(graph_def);
    return import_graph(g, &in, st);
}

braid_code braid_graph_import(braid_graph *g, const void *data, size_t len, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!g || (!data && len))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no %s", g ? "GraphDef" : "graph");
    if (g->status.code) return bd_status_copy(st, &g->status);
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    return import_graph(g, &in, st);
}

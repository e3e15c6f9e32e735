// The first half of GraphDef import: parsing the message and checking versions and names.
#include "graph/graph_def_internal.h"

#include "graph/attr_wire.h"
#include "graph/graph_internal.h"
#include "graph/node_resolve.h"
#include <limits.h>
#include <string.h>

static braid_code malformed(bd_import *im, const char *what)
{
    return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Malformed GraphDef: %s (node %zu)", what, im->nodes.len);
}

static braid_code parse_versions(bd_import *im, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t value;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader packed;
        if (type == BD_WIRE_VARINT && field <= BD_VERSION_DEF_BAD_CONSUMERS) {
            if (!bd_wire_get_varint(in, &value)) break;
            if (field == BD_VERSION_DEF_PRODUCER) im->producer = (int)value;
            if (field == BD_VERSION_DEF_MIN_CONSUMER) im->min_consumer = (int)value;
            if (field == BD_VERSION_DEF_BAD_CONSUMERS && value == BD_GRAPH_DEF_VERSION) goto bad_consumer;
        } else if (type == BD_WIRE_BYTES && field == BD_VERSION_DEF_BAD_CONSUMERS) {
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

// TensorFlow's rewrites of graphs note shapes for themselves in attributes like _input_shapes. Their unknown
// sizes are numbers below -1, which the attributes of ops may not have.
static bool is_note_of_shapes(const char *attr)
{
    return attr[0] == '_' && strstr(attr, "_shapes");
}

static braid_code parse_attr(bd_import *im, bd_wire_reader *in, bd_parsed_node *n)
{
    bd_bytes key = {.data = "", .len = 0};
    bd_attr value = {.kind = BD_ATTR_NONE};
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        if (field == BD_MAP_ENTRY_KEY && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_bytes(in, &key, &im->arena)) break;
        } else if (field == BD_MAP_ENTRY_VALUE && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(in, &sub)) break;
            if (!bd_attr_read(&sub, &value, &im->arena, &im->tensors, im->st)) continue;
            if (!is_note_of_shapes(key.data)) return bd_status_prefix(im->st, "Attr '%.100s': ", key.data);
            braid_status_clear(im->st);
            return BRAID_OK;
        } else {
            bd_wire_skip(in, type);
        }
    }
    if (in->failed) return malformed(im, "attr");
    bd_array_push(&n->attrs, (bd_named_attr){.name = key.data, .value = value});
    return BRAID_OK;
}

static braid_code parse_node_fields(bd_import *im, bd_wire_reader *in, bd_parsed_node *n)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        bd_bytes text;
        bd_wire_reader sub;
        if (type != BD_WIRE_BYTES || field > BD_NODE_DEF_ATTR) {
            bd_wire_skip(in, type);
        } else if (field == BD_NODE_DEF_ATTR) {
            if (!bd_wire_get_sub(in, &sub)) break;
            braid_code code = parse_attr(im, &sub, n);
            if (code) return code;
        } else if (bd_wire_get_bytes(in, &text, &im->arena)) {
            if (memchr(text.data, 0, text.len)) return malformed(im, "a name with a zero byte");
            if (field == BD_NODE_DEF_NAME) n->name = text.data;
            if (field == BD_NODE_DEF_OP) n->op = text.data;
            if (field == BD_NODE_DEF_DEVICE) n->device = text.data;
            if (field == BD_NODE_DEF_INPUT) bd_array_push(&n->inputs, text);
        }
    }
    return in->failed ? malformed(im, "truncated node") : BRAID_OK;
}

// Map entries may repeat: the last counts.
static void drop_repeated_attrs(bd_parsed_node *n)
{
    bd_map seen = {0}; // -> index among the kept ones + 1
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

braid_code bd_import_parse_node(bd_import *im, bd_wire_reader *in, bd_parsed_node *n)
{
    braid_code code = parse_node_fields(im, in, n);
    if (!code) drop_repeated_attrs(n);
    return code && *n->name ? bd_status_prefix(im->st, "Node '%.200s' (op: '%.100s'): ", n->name, n->op)
                            : code;
}

// Counts the attrs that a definition does not have, for one line of the log.
static void note_unknown_attrs(bd_import *im, const bd_parsed_node *n)
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

static braid_code parse_node(bd_import *im, bd_wire_reader *in)
{
    bd_parsed_node n = {.name = "", .op = "", .device = ""};
    braid_code code = bd_import_parse_node(im, in, &n);
    bd_array_push(&im->nodes, n); // freed with the import in any case
    if (code) return code;
    if (!bd_node_name_is_valid(n.name))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%.200s': Node name contains invalid characters",
                       n.name);
    if (!*n.op)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s' does not specify an operation", n.name);
    if (bd_map_put(&im->by_name, n.name, (void *)(uintptr_t)im->nodes.len))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%s' is not unique", n.name);
    if (!im->with && bd_map_has(&im->g->by_name, n.name))
        return bd_fail(
            im->st, BRAID_INVALID_ARGUMENT,
            "GraphDef argument to Extend includes node '%s', which was created by a previous call to Create or "
            "Extend in this session",
            n.name);
    note_unknown_attrs(im, &im->nodes.items[im->nodes.len - 1]);
    return BRAID_OK;
}

static braid_code parse_library(bd_import *im, bd_wire_reader *in)
{
    bd_bytes library;
    if (!bd_wire_get_bytes(in, &library, &im->arena)) return malformed(im, "library");
    if (library.len) bd_array_push(&im->libraries, library);
    return BRAID_OK;
}

braid_code bd_import_parse(bd_import *im, bd_wire_reader *in)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t value;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        braid_code code = BRAID_OK;
        if (field == BD_GRAPH_DEF_LIBRARY && type == BD_WIRE_BYTES)
            code = parse_library(im, in);
        else if ((field == BD_GRAPH_DEF_NODE || field == BD_GRAPH_DEF_VERSIONS) && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(in, &sub)) break;
            code = field == BD_GRAPH_DEF_NODE ? parse_node(im, &sub) : parse_versions(im, &sub);
        } else if (field == BD_GRAPH_DEF_VERSION && type == BD_WIRE_VARINT) {
            if (bd_wire_get_varint(in, &value) && im->producer == 0) im->producer = (int)value;
        } else if (field <= BD_GRAPH_DEF_VERSIONS) {
            code = malformed(im, "a field of the wrong type");
        } else {
            bd_wire_skip(in, type);
        }
        if (code) return code;
    }
    if (in->failed) return malformed(im, "truncated message");
    if (im->nodes.len + im->g->nodes.len > INT_MAX / 2) return malformed(im, "too many nodes");
    if (im->producer < 0)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "GraphDef producer version %d below min producer 0",
                       im->producer);
    if (im->min_consumer > BD_GRAPH_DEF_VERSION)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                       "GraphDef min consumer version %d above current version %d", im->min_consumer,
                       BD_GRAPH_DEF_VERSION);
    return BRAID_OK;
}

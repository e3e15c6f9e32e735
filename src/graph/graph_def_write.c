// GraphDef export: nodes as messages, in order.
#include "graph/graph_def_internal.h"

#include "base/check.h"
#include "graph/attr_wire.h"
#include "graph/given.h"
#include <string.h>

static const char *device_of(const braid_op *n, unsigned what)
{
    return what & BD_GRAPH_PLACED && n->assigned_device ? n->assigned_device : n->device;
}

static bool is_written(const braid_op *n, const bd_named_attr *attr, unsigned what)
{
    if (!attr->is_default) return true;
    const bd_attr_def *def = what & BD_GRAPH_DEFAULTS && n->def ? bd_op_def_attr(n->def, attr->name) : NULL;
    return def && !def->is_later;
}

// ---- Sizes ----

static int digits(int value)
{
    int n = 1;
    for (; value >= 10; value /= 10)
        n++;
    return n;
}

// "name", "name:3".
static size_t input_len(const braid_out *in)
{
    return strlen(in->op->name) + (in->index ? 1 + (size_t)digits(in->index) : 0);
}

static size_t entry_size(const bd_named_attr *attr)
{
    return bd_wire_bytes_size(strlen(attr->name)) + bd_wire_bytes_size(bd_attr_size(&attr->value));
}

static size_t text_size(const char *text)
{
    return *text ? bd_wire_bytes_size(strlen(text)) : 0;
}

static size_t node_size(const braid_op *n, unsigned what)
{
    size_t size = text_size(n->name) + text_size(n->op_type) + text_size(device_of(n, what));
    for (int i = 0; i < n->input_count; i++)
        size += bd_wire_bytes_size(input_len(&n->inputs[i]));
    for (int i = 0; i < n->control_count; i++)
        size += bd_wire_bytes_size(1 + strlen(n->controls[i]->name));
    for (int i = 0; i < n->attr_count; i++) {
        if (is_written(n, &n->attrs[i], what)) size += bd_wire_bytes_size(entry_size(&n->attrs[i]));
    }
    return size;
}

static size_t versions_size(const braid_graph *g)
{
    return (g->producer ? 1 + bd_wire_varint_size((uint64_t)g->producer) : 0) +
           (g->min_consumer ? 1 + bd_wire_varint_size((uint64_t)g->min_consumer) : 0);
}

static size_t graph_size(const braid_graph *g, int from, unsigned what)
{
    size_t size = bd_wire_bytes_size(versions_size(g));
    for (size_t i = (size_t)from; i < g->nodes.len; i++)
        size += bd_wire_bytes_size(node_size(g->nodes.items[i], what));
    if (g->library) size += bd_wire_bytes_size(bd_library_size(g->library));
    return size;
}

size_t bd_graph_write_size(const braid_graph *g, int from, unsigned what)
{
    return graph_size(g, from, what);
}

// ---- Writing ----

static void put_message(bd_wire_writer *out, uint32_t field, size_t size)
{
    bd_wire_put_tag(out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(out, size);
}

static void put_text(bd_wire_writer *out, uint32_t field, const char *text)
{
    if (*text) bd_wire_put_bytes(out, field, text, strlen(text));
}

static void put_input(bd_wire_writer *out, const braid_out *in)
{
    size_t name = strlen(in->op->name);
    put_message(out, BD_NODE_DEF_INPUT, input_len(in));
    bd_wire_put_raw(out, in->op->name, name);
    if (!in->index) return;
    char number[12];
    size_t n = sizeof number;
    for (int value = in->index; value; value /= 10)
        number[--n] = (char)('0' + value % 10);
    number[--n] = ':';
    bd_wire_put_raw(out, number + n, sizeof number - n);
}

static void put_control(bd_wire_writer *out, const braid_op *control)
{
    size_t name = strlen(control->name);
    put_message(out, BD_NODE_DEF_INPUT, 1 + name);
    bd_wire_put_raw(out, "^", 1);
    bd_wire_put_raw(out, control->name, name);
}

void bd_node_def_put_attr(bd_wire_writer *out, const bd_named_attr *attr)
{
    put_message(out, BD_NODE_DEF_ATTR, entry_size(attr));
    bd_wire_put_bytes(out, BD_MAP_ENTRY_KEY, attr->name, strlen(attr->name));
    put_message(out, BD_MAP_ENTRY_VALUE, bd_attr_size(&attr->value));
    bd_attr_write(&attr->value, out);
}

// The content of a NodeDef.
static void put_node(bd_wire_writer *out, const braid_op *n, unsigned what)
{
    put_text(out, BD_NODE_DEF_NAME, n->name);
    put_text(out, BD_NODE_DEF_OP, n->op_type);
    for (int i = 0; i < n->input_count; i++)
        put_input(out, &n->inputs[i]);
    for (int i = 0; i < n->control_count; i++)
        put_control(out, n->controls[i]);
    put_text(out, BD_NODE_DEF_DEVICE, device_of(n, what));
    for (int i = 0; i < n->attr_count; i++) {
        if (is_written(n, &n->attrs[i], what)) bd_node_def_put_attr(out, &n->attrs[i]);
    }
}

static void put_graph(bd_wire_writer *out, const braid_graph *g, int from, unsigned what)
{
    for (size_t i = (size_t)from; i < g->nodes.len; i++) {
        put_message(out, BD_GRAPH_DEF_NODE, node_size(g->nodes.items[i], what));
        put_node(out, g->nodes.items[i], what);
    }
    if (g->library) {
        put_message(out, BD_GRAPH_DEF_LIBRARY, bd_library_size(g->library));
        bd_library_write(g->library, out);
    }
    put_message(out, BD_GRAPH_DEF_VERSIONS, versions_size(g));
    if (g->producer) bd_wire_put_uint(out, BD_VERSION_DEF_PRODUCER, (uint64_t)g->producer);
    if (g->min_consumer) bd_wire_put_uint(out, BD_VERSION_DEF_MIN_CONSUMER, (uint64_t)g->min_consumer);
}

void bd_graph_write(const braid_graph *g, int from, unsigned what, bd_wire_writer *out)
{
    put_graph(out, g, from, what);
}

static void *export(const braid_graph *g, int from, unsigned what, size_t *len, braid_status *st)
{
    *len = 0;
    if (braid_graph_status(g, st)) return NULL;
    bd_given m;
    put_graph(bd_given_begin(&m), g, from, what);
    return bd_given_end(&m, "a GraphDef", len, st);
}

void *braid_graph_export(const braid_graph *g, size_t *len, braid_status *status)
{
    BD_STATUS(own);
    return export(g, 0, 0, len, status ? status : own);
}

void *braid_graph_export_from(const braid_graph *g, int first_op, bool with_defaults, size_t *len,
                              braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    *len = 0;
    if (first_op < 0 || first_op > braid_graph_num_ops(g)) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "The graph has %d nodes, and none number %d",
                braid_graph_num_ops(g), first_op);
        return NULL;
    }
    return export(g, first_op, with_defaults ? BD_GRAPH_DEFAULTS : 0, len, st);
}

void *braid_op_node_def(const braid_op *op, bool with_defaults, size_t *len, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    *len = 0;
    if (!op) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no node");
        return NULL;
    }
    bd_given m;
    put_node(bd_given_begin(&m), op, with_defaults ? BD_GRAPH_DEFAULTS : 0);
    return bd_given_end(&m, "a NodeDef", len, st);
}

// Cuts a graph at the borders of tasks or devices.
//
// A node belongs to the partition of its assigned device. Where an edge crosses, the producer's partition
// gets a _Send and the consumer's a _Recv of the same key, one pair for each output and consumer device. A
// control edge crosses as an empty Const that runs after the producer; on the other side an Identity of the
// received tensor takes the place of the producer, so that it is dead when the producer is. Floats that are
// to be sent as bfloat16 are truncated by a Cast before the _Send; a Cast after the _Recv widens them. Loops
// whose bodies span devices were given control loops before (control_loop.c): the _Recv of a loop waits for
// the Merge of its device's control loop and so runs once in each iteration.
#include "runtime/partition.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/device_name.h"
#include "op/kernel.h"
#include "runtime/control_loop.h"
#include <string.h>

// A received output in the consumer's partition.
typedef struct crossing {
    braid_op *recv; // waits for the control loop
    braid_op
        *received; // the input of consumers: the _Recv, the Identity of a control edge, or a Cast to float
} crossing;

typedef struct partitioner {
    const braid_graph *source;
    const bd_partition_options *options;
    bd_partitions *out;
    int *part_of;      // by node id
    braid_op **copies; // by node id
    bd_map parts;      // location -> index + 1
    bd_map by_device;  // assigned device -> index + 1
    bd_map crossings;  // "node:output>device" -> crossing
    bd_arena arena;    // of the crossings
    int edge_count;    // numbers edges: part of their names
    int node_count;    // numbers the nodes of their ends: the same
} partitioner;

// ---- Parts ----

static braid_code location_of(const partitioner *p, const char *device, char buf[BD_DEVICE_NAME_MAX],
                              braid_status *st)
{
    bd_device_name name;
    braid_code code = bd_device_name_parse(device, &name, st);
    if (code) return code;
    if (p->options->by_device)
        bd_device_name_print(&name, buf);
    else
        bd_device_name_print_task(&name, buf);
    return BRAID_OK;
}

static int add_part(partitioner *p, const char *location)
{
    int index = p->out->count++;
    p->out->items = bd_realloc(p->out->items, (size_t)p->out->count * sizeof *p->out->items);
    bd_partition *part = &p->out->items[index];
    part->location = bd_strdup(location);
    bd_graph_init(&part->graph);
    part->graph.producer = p->source->producer;
    part->graph.min_consumer = p->source->min_consumer;
    bd_map_put(&p->parts, location, (void *)(uintptr_t)(index + 1));
    return index;
}

static braid_code find_part(partitioner *p, const braid_op *n, int *index, braid_status *st)
{
    if (!n->assigned_device)
        return bd_fail(st, BRAID_INTERNAL, "node '%s' was not placed before partitioning", n->name);
    uintptr_t known = (uintptr_t)bd_map_get(&p->by_device, n->assigned_device);
    if (!known) {
        char location[BD_DEVICE_NAME_MAX];
        braid_code code = location_of(p, n->assigned_device, location, st);
        if (code) return code;
        known = (uintptr_t)bd_map_get(&p->parts, location);
        if (!known) known = (uintptr_t)add_part(p, location) + 1;
        bd_map_put(&p->by_device, n->assigned_device, (void *)known);
    }
    *index = (int)known - 1;
    return BRAID_OK;
}

static braid_code find_parts(partitioner *p, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < p->source->nodes.len; i++)
        code = find_part(p, p->source->nodes.items[i], &p->part_of[i], st);
    return code;
}

static braid_graph *graph_of(const partitioner *p, const braid_op *n)
{
    return &p->out->items[p->part_of[n->id]].graph;
}

static braid_code incarnation_of(const partitioner *p, const char *device, uint64_t *incarnation,
                                 braid_status *st)
{
    for (int i = 0; i < p->options->device_count; i++) {
        if (strcmp(p->options->devices[i].name, device) != 0) continue;
        *incarnation = p->options->devices[i].incarnation;
        return BRAID_OK;
    }
    return bd_fail(st, BRAID_INTERNAL, "device %s is not among those of the session", device);
}

// The keys of a client's feeds and fetches contain the incarnation of their device.
static braid_code complete_endpoint(const partitioner *p, braid_op *copy, braid_status *st)
{
    const bd_attr *to_client = bd_node_attr(copy, "client_terminated");
    if (!to_client || to_client->kind != BD_ATTR_BOOL || !to_client->b) return BRAID_OK;
    for (int i = 0; i < copy->attr_count; i++) {
        bd_named_attr *a = &copy->attrs[i];
        if (strcmp(a->name, "send_device_incarnation") != 0 || a->value.kind != BD_ATTR_INT ||
            a->value.i != 0)
            continue;
        uint64_t incarnation;
        braid_code code = incarnation_of(p, copy->assigned_device, &incarnation, st);
        if (code) return code;
        a->value.i = (int64_t)incarnation;
    }
    return BRAID_OK;
}

// Copies the nodes; their inputs follow, since loops point forward.
static braid_code copy_nodes(partitioner *p, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < p->source->nodes.len; i++) {
        const braid_op *n = p->source->nodes.items[i];
        braid_out *none = bd_calloc((size_t)n->input_count + 1, sizeof *none);
        p->copies[i] = bd_graph_copy_node(graph_of(p, n), n, none, n->input_count, NULL, 0);
        bd_free(none);
        const bd_op_role role = bd_node_role(n);
        if (role == BD_ROLE_SEND || role == BD_ROLE_RECV) code = complete_endpoint(p, p->copies[i], st);
    }
    return code;
}

// ---- Attributes and small nodes ----

static bd_named_attr type_attr(const char *name, braid_dtype value)
{
    return (bd_named_attr){.name = name, .value = {.kind = BD_ATTR_TYPE, .type = value}};
}

static bd_named_attr string_attr(const char *name, const char *value)
{
    return (bd_named_attr){
        .name = name, .value = {.kind = BD_ATTR_STRING, .s = {.data = (char *)value, .len = strlen(value)}}};
}

// Adds the node of `spec` under a name made from `base`, which no node of another part gets, so that a
// debugger can tell the ends of an edge apart. Its assigned device is spec.device.
static braid_code add_on(partitioner *p, braid_graph *g, const char *base, bd_node_spec spec, braid_op **node,
                         braid_status *st)
{
    char *suffixed = bd_asprintf("%s_S%d", base, p->node_count++);
    spec.name = bd_graph_unique_name(g, suffixed);
    spec.assigned_device = spec.device;
    bd_free(suffixed);
    return bd_graph_add(g, &spec, node, st);
}

// An edge that is cut.
typedef struct cut {
    const braid_op *from; // of the source graph
    int output;           // -1: a control edge
    const braid_op *to;
    braid_dtype dtype, wire; // of the output, and of what is sent
    char *edge_name;         // owned by the partitioner's arena
} cut;

// The attrs of both ends, but for the type.
static braid_code fill_attrs(const partitioner *p, const cut *c, bd_named_attr attrs[5], braid_status *st)
{
    uint64_t incarnation;
    braid_code code = incarnation_of(p, c->from->assigned_device, &incarnation, st);
    if (code) return code;
    attrs[0] = string_attr("tensor_name", c->edge_name);
    attrs[1] = string_attr("send_device", c->from->assigned_device);
    attrs[2] = (bd_named_attr){.name = "send_device_incarnation",
                               .value = {.kind = BD_ATTR_INT, .i = (int64_t)incarnation}};
    attrs[3] = string_attr("recv_device", c->to->assigned_device);
    attrs[4] = (bd_named_attr){.name = "client_terminated", .value = {.kind = BD_ATTR_BOOL, .b = false}};
    return BRAID_OK;
}

// Adds the node that carries a control edge: an empty Const that runs after the producer.
static braid_code add_dummy(partitioner *p, const cut *c, braid_op **dummy, braid_status *st)
{
    braid_tensor empty = {0};
    braid_shape shape = bd_shape1(0);
    braid_code code = bd_tensor_init(&empty, c->dtype, &shape, st);
    if (code) return code;
    bd_named_attr attrs[] = {type_attr("dtype", c->dtype),
                             {.name = "value", .value = {.kind = BD_ATTR_TENSOR, .tensor = &empty}}};
    const bd_node_spec spec = {
        .op_type = "Const", .device = c->from->assigned_device, .attrs = attrs, .attr_count = 2};
    code = add_on(p, graph_of(p, c->from), c->from->name, spec, dummy, st);
    bd_tensor_fini(&empty);
    if (!code) bd_node_add_control(*dummy, p->copies[c->from->id]);
    return code;
}

// Adds the Cast of `input` between the two types of the edge, on the device of `at`. TensorFlow truncates
// floats to bfloat16 here and does not round them.
static braid_code add_cast(partitioner *p, const cut *c, const braid_op *at, braid_out input, bool to_wire,
                           braid_op **cast, braid_status *st)
{
    const bd_named_attr attrs[] = {type_attr("SrcT", to_wire ? c->dtype : c->wire),
                                   type_attr("DstT", to_wire ? c->wire : c->dtype),
                                   {.name = "Truncate", .value = {.kind = BD_ATTR_BOOL, .b = to_wire}}};
    const bd_node_spec spec = {.op_type = "Cast",
                               .device = at->assigned_device,
                               .inputs = &input,
                               .input_count = 1,
                               .attrs = attrs,
                               .attr_count = 3};
    return add_on(p, graph_of(p, at), c->from->name, spec, cast, st);
}

static braid_code add_send(partitioner *p, const cut *c, braid_status *st)
{
    bd_named_attr attrs[6];
    braid_out input = {.op = p->copies[c->from->id], .index = c->output};
    braid_code code = fill_attrs(p, c, attrs, st);
    if (!code && c->output < 0) {
        input.index = 0;
        code = add_dummy(p, c, &input.op, st);
    } else if (!code && c->wire != c->dtype) {
        code = add_cast(p, c, c->from, input, true, &input.op, st);
        input.index = 0;
    }
    if (code) return code;
    attrs[5] = type_attr("T", c->wire);
    braid_op *send;
    const bd_node_spec spec = {.op_type = "_Send",
                               .device = c->from->assigned_device,
                               .inputs = &input,
                               .input_count = 1,
                               .attrs = attrs,
                               .attr_count = 6};
    return add_on(p, graph_of(p, c->from), c->from->name, spec, &send, st);
}

static braid_code add_recv(partitioner *p, const cut *c, crossing *x, braid_status *st)
{
    bd_named_attr attrs[6];
    braid_graph *g = graph_of(p, c->to);
    const char *device = c->to->assigned_device;
    braid_code code = fill_attrs(p, c, attrs, st);
    if (code) return code;
    attrs[5] = type_attr("tensor_type", c->wire);
    const bd_node_spec recv = {.op_type = "_Recv", .device = device, .attrs = attrs, .attr_count = 6};
    code = add_on(p, g, c->from->name, recv, &x->recv, st);
    x->received = x->recv;
    if (code || (c->output >= 0 && c->wire == c->dtype)) return code;
    braid_out input = {.op = x->recv};
    if (c->output >= 0) return add_cast(p, c, c->to, input, false, &x->received, st);
    bd_named_attr type = type_attr("T", c->dtype);
    const bd_node_spec identity = {.op_type = "Identity",
                                   .device = device,
                                   .inputs = &input,
                                   .input_count = 1,
                                   .attrs = &type,
                                   .attr_count = 1};
    return add_on(p, g, c->from->name, identity, &x->received, st);
}

// ---- Edges ----

static const char *crossing_key(partitioner *p, const cut *c, bd_strbuf *buf)
{
    // A value read through a reference edge may differ from one consumer to the next: these edges are not
    // shared.
    bool is_reference = c->output >= 0 && bd_dtype_is_ref(c->from->output_types[c->output]);
    bd_strbuf_appendf(buf, "%d:%d>%s", c->from->id, c->output, c->to->assigned_device);
    if (is_reference) bd_strbuf_appendf(buf, "#%d", p->edge_count);
    return bd_strbuf_str(buf);
}

static braid_code cross(partitioner *p, cut *c, const crossing **out, braid_status *st)
{
    bd_strbuf buf = {0};
    const char *key = crossing_key(p, c, &buf);
    crossing *x = bd_map_get(&p->crossings, key);
    braid_code code = BRAID_OK;
    if (!x) {
        x = BD_ARENA_NEW(&p->arena, crossing);
        c->edge_name = bd_arena_asprintf(&p->arena, "edge_%d_%s", p->edge_count++, c->from->name);
        code = add_send(p, c, st);
        if (!code) code = add_recv(p, c, x, st);
        if (!code) bd_map_put(&p->crossings, key, x);
    }
    bd_strbuf_fini(&buf);
    *out = x;
    return code;
}

static bool is_local(const partitioner *p, const braid_op *from, const braid_op *to)
{
    return p->part_of[from->id] == p->part_of[to->id];
}

// The op's outputs are unknown, and the run would reach it.
static braid_code fail_unknown_op(const braid_op *n, braid_status *st)
{
    const bd_kernel *none;
    bd_kernel_find(n, "CPU", &none, st);
    return bd_status_suffix(st, " [[{{node %s}}]]", n->name);
}

static braid_code connect_data(partitioner *p, const braid_op *n, int i, const braid_op *loop,
                               braid_status *st)
{
    braid_out from = n->inputs[i];
    if (is_local(p, from.op, n)) {
        bd_node_set_input(p->copies[n->id], i,
                          (braid_out){.op = p->copies[from.op->id], .index = from.index});
        return BRAID_OK;
    }
    if (!from.op->def) return fail_unknown_op(from.op, st);
    if (from.index >= from.op->output_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "node '%s' has no output %d", from.op->name, from.index);
    const braid_dtype dtype = bd_dtype_base(from.op->output_types[from.index]);
    cut c = {.from = from.op,
             .output = from.index,
             .to = n,
             .dtype = dtype,
             .wire = dtype == BRAID_FLOAT && p->options->sends_bfloat16 ? BRAID_BFLOAT16 : dtype};
    const crossing *x;
    braid_code code = cross(p, &c, &x, st);
    if (code) return code;
    bd_node_set_input(p->copies[n->id], i, (braid_out){.op = x->received});
    if (loop) bd_node_add_control(x->recv, p->copies[loop->id]);
    return BRAID_OK;
}

static braid_code connect_control(partitioner *p, const braid_op *n, const braid_op *from,
                                  const braid_op *loop, braid_status *st)
{
    if (is_local(p, from, n)) {
        bd_node_add_control(p->copies[n->id], p->copies[from->id]);
        return BRAID_OK;
    }
    cut c = {.from = from, .output = -1, .to = n, .dtype = BRAID_FLOAT, .wire = BRAID_FLOAT};
    const crossing *x;
    braid_code code = cross(p, &c, &x, st);
    if (code) return code;
    bd_node_add_control(p->copies[n->id], x->received);
    if (loop) bd_node_add_control(x->recv, p->copies[loop->id]);
    return BRAID_OK;
}

static braid_code connect_node(partitioner *p, const braid_op *n, braid_status *st)
{
    const braid_op *loop = bd_control_loop_of(n);
    braid_code code = BRAID_OK;
    for (int i = 0; !code && i < n->input_count; i++)
        code = connect_data(p, n, i, loop, st);
    for (int i = 0; !code && i < n->control_count; i++)
        code = connect_control(p, n, n->controls[i], loop, st);
    return code;
}

static braid_code cut_graph(partitioner *p, braid_status *st)
{
    braid_code code = find_parts(p, st);
    if (!code) code = copy_nodes(p, st);
    for (size_t i = 0; !code && i < p->source->nodes.len; i++)
        code = connect_node(p, p->source->nodes.items[i], st);
    return code;
}

// A partition is sent to its task with the functions that its nodes call, and no others.
static void keep_called(braid_graph *partition)
{
    bd_library *all = partition->library;
    partition->library = bd_library_reachable(all, partition);
    bd_library_unref(all);
}

static braid_code partition(const braid_graph *g, const bd_partition_options *options, bd_partitions *out,
                            braid_status *st)
{
    size_t n = g->nodes.len;
    partitioner p = {.source = g, .options = options, .out = out};
    p.part_of = bd_calloc(n + 1, sizeof *p.part_of);
    p.copies = bd_calloc(n + 1, sizeof(braid_op *));
    braid_code code = cut_graph(&p, st);
    for (int i = 0; !code && i < out->count; i++)
        keep_called(&out->items[i].graph);
    bd_free(p.part_of);
    bd_free(p.copies);
    bd_map_fini(&p.parts);
    bd_map_fini(&p.by_device);
    bd_map_fini(&p.crossings);
    bd_arena_fini(&p.arena);
    if (code) bd_partitions_fini(out);
    return code;
}

braid_code bd_partition_graph(const braid_graph *g, const bd_partition_options *options, bd_partitions *out,
                              braid_status *st)
{
    *out = (bd_partitions){0};
    braid_graph with_loops;
    bool has_loops;
    braid_code code = bd_control_loops_add(g, &with_loops, &has_loops, st);
    if (code) return code;
    code = partition(has_loops ? &with_loops : g, options, out, st);
    if (has_loops) bd_graph_fini(&with_loops);
    return code;
}

void bd_partitions_fini(bd_partitions *p)
{
    for (int i = 0; i < p->count; i++) {
        bd_graph_fini(&p->items[i].graph);
        bd_free((char *)p->items[i].location);
    }
    bd_free(p->items);
    *p = (bd_partitions){0};
}

// From a session's graph to the graph of one run signature.
//
// Each output that is fed gets a node of its own in the new graph (_Arg, or _Recv from
// the client), from which its consumers are fed instead; then everything that fetches
// and targets need is copied, and each fetch gets a _Retval or a _Send to the client.
#include "runtime/client_graph.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "graph/subgraph.h"
#include "op/rendezvous.h"
#include <string.h>

typedef struct preparer {
    const braid_graph *source;
    const bd_run_signature *signature;
    bd_feed_style style;
    const bd_device_info *client;
    bd_client_graph *out;
    braid_out *feeds;      // outputs of the source graph [feed_count]
    braid_out *fetches;    // the same [fetch_count]
    braid_out *from, *to;  // of connections, outputs of the source graph [connection_count]
    braid_out *feed_nodes; // the nodes of the new graph that replace the feeds [feed_count]
    bd_op_list roots;      // of the source graph
    BD_ARRAY(bd_replacement) replacements;
    braid_op **map; // [node count of the source]
} preparer;

// ---- Names ----

static size_t node_part(const char *name)
{
    const char *colon = strrchr(name, ':');
    int64_t index;
    return colon && bd_parse_int64(colon + 1, &index) && index >= 0 ? (size_t)(colon - name) : strlen(name);
}

static braid_op *find_node(const braid_graph *g, const char *name)
{
    return bd_map_get_n(&g->by_name, name, node_part(name));
}

static bool same_out(braid_out a, braid_out b)
{
    return a.op == b.op && a.index == b.index;
}

static braid_code find_feed(const preparer *p, const char *name, braid_out *out, braid_status *st)
{
    *out = braid_graph_find_out(p->source, name);
    if (out->op) return BRAID_OK;
    const braid_op *node = find_node(p->source, name);
    if (!node) return bd_fail(st, BRAID_NOT_FOUND, "FeedInputs: unable to find feed output %s", name);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "FeedInputs: %s should have output index < %d", name,
                   node->output_count);
}

static braid_code find_feeds(preparer *p, braid_status *st)
{
    for (int i = 0; i < p->signature->feed_count; i++) {
        const char *name = p->signature->feeds[i];
        if (find_feed(p, name, &p->feeds[i], st)) return st->code;
        for (int k = 0; k < i; k++) {
            if (same_out(p->feeds[k], p->feeds[i]))
                return bd_fail(st, BRAID_INVALID_ARGUMENT,
                               "Duplicated feeds: Endpoint \"%s\" fed more than once.", name);
        }
    }
    return BRAID_OK;
}

// The output that replaces `out` after the first `count` connections: another output, or itself.
static braid_out connected_by(const preparer *p, int count, braid_out out)
{
    for (int i = 0; i < count; i++)
        if (same_out(p->to[i], out)) return p->from[i];
    return out;
}

// Returns whether `op` depends on `of` by any path; the first `count` connections are made.
static bool depends_on(const preparer *p, int count, const braid_op *op, const braid_op *of)
{
    bool *seen = bd_calloc(p->source->nodes.len + 1, sizeof *seen);
    BD_ARRAY(const braid_op *) open = {0};
    bd_array_push(&open, op);
    seen[op->id] = true;
    while (open.len && !seen[of->id]) {
        const braid_op *n = open.items[--open.len];
        for (int i = 0; i < n->input_count + n->control_count; i++) {
            const braid_op *before = i < n->input_count ? connected_by(p, count, n->inputs[i]).op
                                                        : n->controls[i - n->input_count];
            if (seen[before->id]) continue;
            seen[before->id] = true;
            bd_array_push(&open, before);
        }
    }
    const bool depends = seen[of->id];
    bd_array_free(&open);
    bd_free(seen);
    return depends;
}

static braid_code check_connection(const preparer *p, int i, braid_status *st)
{
    const braid_out from = p->from[i], to = p->to[i];
    for (int k = 0; k < p->signature->feed_count; k++)
        if (same_out(p->feeds[k], to))
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "Duplicated feeds: Endpoint \"%s\" fed more than once: by a feed and by a connection",
                p->signature->connect_to[i]);
    for (int k = 0; k < i; k++)
        if (same_out(p->to[k], to))
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Duplicated feeds: Endpoint \"%s\" fed more than once: by two connections",
                           p->signature->connect_to[i]);
    if (depends_on(p, i, from.op, to.op))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Requested Tensor connection between nodes \"%s\" and \"%s\" would create a cycle.",
                       to.op->name, from.op->name);
    const braid_dtype is = bd_dtype_base(braid_out_dtype(from)), wanted = bd_dtype_base(braid_out_dtype(to));
    if (is != wanted && is != BRAID_INVALID && wanted != BRAID_INVALID)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Requested tensor connection from %s (%s) to %s (%s)",
                       p->signature->connect_from[i], braid_dtype_name(is), p->signature->connect_to[i],
                       braid_dtype_name(wanted));
    return BRAID_OK;
}

static braid_code find_connections(preparer *p, braid_status *st)
{
    for (int i = 0; i < p->signature->connection_count; i++) {
        const char *from = p->signature->connect_from[i], *to = p->signature->connect_to[i];
        if (find_feed(p, to, &p->to[i], st)) return st->code;
        p->from[i] = braid_graph_find_out(p->source, from);
        const braid_op *node = find_node(p->source, from);
        if (!p->from[i].op && node)
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "Requested tensor connection from unknown edge: \"%s\" (actual number of outputs = %d).",
                from, node->output_count);
        if (!p->from[i].op)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Requested tensor connection from unknown node: \"%s\".", from);
        if (check_connection(p, i, st)) return st->code;
    }
    return BRAID_OK;
}

static bool is_fed(const preparer *p, braid_out out)
{
    for (int i = 0; i < p->signature->feed_count; i++)
        if (same_out(p->feeds[i], out)) return true;
    for (int i = 0; i < p->signature->connection_count; i++)
        if (same_out(p->to[i], out)) return true;
    return false;
}

static braid_code no_such_fetch(const preparer *p, const char *name, braid_status *st)
{
    const braid_op *node = find_node(p->source, name);
    if (!node) return bd_fail(st, BRAID_NOT_FOUND, "FetchOutputs node %s: not found", name);
    if (node->output_count == 0)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Tried to fetch data for '%s', which produces no output. To run '%s' alone, make it a target",
            name, node->name);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "FetchOutputs %s: output index too large, must be < %d", name,
                   node->output_count);
}

// Feeds and connections are known.
static braid_code find_fetches(preparer *p, braid_status *st)
{
    for (int i = 0; i < p->signature->fetch_count; i++) {
        const char *name = p->signature->fetches[i];
        p->fetches[i] = braid_graph_find_out(p->source, name);
        if (!p->fetches[i].op) return no_such_fetch(p, name, st);
        if (is_fed(p, p->fetches[i]))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is both fed and fetched.", name);
    }
    return BRAID_OK;
}

// A fed placeholder as a target has nothing to run.
static bool is_fed_placeholder(const preparer *p, const braid_op *n)
{
    if (bd_node_role(n) != BD_ROLE_PLACEHOLDER) return false;
    for (int i = 0; i < p->signature->feed_count; i++) {
        if (p->feeds[i].op == n) return true;
    }
    for (int i = 0; i < p->signature->connection_count; i++) {
        if (p->to[i].op == n) return true;
    }
    return false;
}

static braid_code find_targets(preparer *p, braid_status *st)
{
    bd_strbuf missing = {0};
    int missing_count = 0;
    for (int i = 0; i < p->signature->target_count; i++) {
        const char *name = p->signature->targets[i];
        braid_op *n = find_node(p->source, name);
        if (!n) {
            bd_strbuf_appendf(&missing, "%s%s", missing_count++ ? " " : "", name);
        } else if (!is_fed_placeholder(p, n)) {
            bd_array_push(&p->roots, n);
        }
    }
    braid_code code = BRAID_OK;
    if (missing_count) {
        code = bd_fail(st, BRAID_NOT_FOUND, "PruneForTargets: Some target nodes not found: %s",
                       bd_strbuf_str(&missing));
    }
    bd_strbuf_fini(&missing);
    return code;
}

// ---- Types and places of endpoints ----

// The type that a consumer expects, for an output of an op that Braid does not know.
static braid_dtype consumed_dtype(const braid_graph *g, braid_out out)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        for (int k = 0; k < n->input_count; k++) {
            bool is_it = n->inputs[k].op == out.op && n->inputs[k].index == out.index;
            if (is_it && n->def) return bd_dtype_base(n->input_types[k]);
        }
    }
    return BRAID_FLOAT; // it has no consumer
}

static braid_dtype out_dtype(const preparer *p, braid_out out)
{
    braid_dtype dtype = braid_out_dtype(out);
    return dtype == BRAID_INVALID ? consumed_dtype(p->source, out) : bd_dtype_base(dtype);
}

static void set_endpoint(preparer *p, bd_endpoint *e, braid_out out)
{
    bd_arena *arena = &p->out->graph.arena;
    const char *device = out.op->assigned_device ? out.op->assigned_device : p->client ? p->client->name : "";
    e->device = bd_arena_strdup(arena, device);
    e->tensor = bd_arena_asprintf(arena, "%s:%d", out.op->name, out.index);
    e->dtype = out_dtype(p, out);
}

// ---- The nodes of feeds and fetches ----

static bd_named_attr string_attr(const char *name, const char *value)
{
    return (bd_named_attr){
        .name = name, .value = {.kind = BD_ATTR_STRING, .s = {.data = (char *)value, .len = strlen(value)}}};
}

static bd_named_attr type_attr(const char *name, braid_dtype value)
{
    return (bd_named_attr){.name = name, .value = {.kind = BD_ATTR_TYPE, .type = value}};
}

static bd_named_attr int_attr(const char *name, int64_t value)
{
    return (bd_named_attr){.name = name, .value = {.kind = BD_ATTR_INT, .i = value}};
}

static bd_named_attr bool_attr(const char *name, bool value)
{
    return (bd_named_attr){.name = name, .value = {.kind = BD_ATTR_BOOL, .b = value}};
}

// Adds a node on the device of the feed or fetch `e`. `spec` has its op, inputs and attrs. The name
// of the node begins with `prefix` and the name of the tensor `of`.
static braid_code add_node(preparer *p, const char *prefix, braid_out of, const bd_endpoint *e,
                           bd_node_spec spec, braid_op **node, braid_status *st)
{
    braid_graph *g = &p->out->graph;
    char *base = bd_asprintf("%s_%s_%d", prefix, of.op->name, of.index);
    // Names of the source graph will be copied: avoid them too.
    while (bd_map_has(&p->source->by_name, base) || bd_map_has(&g->by_name, base)) {
        char *longer = bd_asprintf("%s_", base);
        bd_free(base);
        base = longer;
    }
    spec.name = base;
    spec.device = spec.assigned_device = e->device;
    braid_code code = bd_graph_add(g, &spec, node, st);
    bd_free(base);
    return code;
}

static braid_code add_feed(preparer *p, int i, braid_status *st)
{
    const bd_endpoint *e = &p->out->feeds[i];
    braid_op *node;
    braid_code code;
    if (p->style == BD_FEED_BY_CALL_FRAME) {
        bd_named_attr attrs[] = {type_attr("T", e->dtype), int_attr("index", i)};
        code = add_node(p, "_arg", p->feeds[i], e,
                        (bd_node_spec){.op_type = "_Arg", .attrs = attrs, .attr_count = BD_COUNTOF(attrs)},
                        &node, st);
    } else {
        bd_named_attr attrs[] = {type_attr("tensor_type", e->dtype),
                                 string_attr("tensor_name", e->tensor),
                                 string_attr("send_device", e->device),
                                 int_attr("send_device_incarnation", 0), // the partitioner knows it
                                 string_attr("recv_device", e->device),
                                 bool_attr("client_terminated", true)};
        code = add_node(p, "_recv", p->feeds[i], e,
                        (bd_node_spec){.op_type = "_Recv", .attrs = attrs, .attr_count = BD_COUNTOF(attrs)},
                        &node, st);
    }
    if (code) return code;
    p->feed_nodes[i] = (braid_out){.op = node};
    bd_replacement data = {.from = p->feeds[i], .to = p->feed_nodes[i]};
    bd_array_push(&p->replacements, data);
    if (bd_node_role(p->feeds[i].op) != BD_ROLE_PLACEHOLDER) return BRAID_OK;
    bd_replacement control = {.from = {.op = p->feeds[i].op, .index = -1}, .to = p->feed_nodes[i]};
    bd_array_push(&p->replacements, control);
    return BRAID_OK;
}

static void add_connections(preparer *p)
{
    for (int i = 0; i < p->signature->connection_count; i++) {
        const bd_replacement data = {.from = p->to[i], .source = p->from[i]};
        bd_array_push(&p->replacements, data);
        if (bd_node_role(p->to[i].op) != BD_ROLE_PLACEHOLDER) continue;
        const bd_replacement control = {.from = {.op = p->to[i].op, .index = -1},
                                        .source = {.op = p->from[i].op, .index = -1}};
        bd_array_push(&p->replacements, control);
    }
}

static braid_code add_fetch(preparer *p, int i, braid_status *st)
{
    const bd_endpoint *e = &p->out->fetches[i];
    const braid_out input = {.op = p->map[p->fetches[i].op->id], .index = p->fetches[i].index};
    braid_op *node;
    if (p->style == BD_FEED_BY_CALL_FRAME) {
        bd_named_attr attrs[] = {type_attr("T", e->dtype), int_attr("index", i)};
        return add_node(p, "_retval", p->fetches[i], e,
                        (bd_node_spec){.op_type = "_Retval",
                                       .inputs = &input,
                                       .input_count = 1,
                                       .attrs = attrs,
                                       .attr_count = BD_COUNTOF(attrs)},
                        &node, st);
    }
    bd_named_attr attrs[] = {type_attr("T", e->dtype),
                             string_attr("tensor_name", e->tensor),
                             string_attr("send_device", e->device),
                             int_attr("send_device_incarnation", 0),
                             string_attr("recv_device", e->device),
                             bool_attr("client_terminated", true)};
    return add_node(p, "_send", p->fetches[i], e,
                    (bd_node_spec){.op_type = "_Send",
                                   .inputs = &input,
                                   .input_count = 1,
                                   .attrs = attrs,
                                   .attr_count = BD_COUNTOF(attrs)},
                    &node, st);
}

// ---- Client graphs ----

static braid_code find_all(preparer *p, braid_status *st)
{
    if (p->signature->fetch_count == 0 && p->signature->target_count == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Must specify at least one target to fetch or execute.");
    braid_code code = find_feeds(p, st);
    if (!code) code = find_connections(p, st);
    if (!code) code = find_fetches(p, st);
    if (!code) code = find_targets(p, st);
    for (int i = 0; !code && i < p->signature->fetch_count; i++)
        bd_array_push(&p->roots, p->fetches[i].op);
    return code;
}

static braid_code build(preparer *p, braid_status *st)
{
    braid_code code = find_all(p, st);
    if (code) return code;
    bd_client_graph *out = p->out;
    for (int i = 0; i < out->feed_count; i++)
        set_endpoint(p, &out->feeds[i], p->feeds[i]);
    for (int i = 0; i < out->fetch_count; i++)
        set_endpoint(p, &out->fetches[i], p->fetches[i]);
    for (int i = 0; !code && i < out->feed_count; i++)
        code = add_feed(p, i, st);
    if (code) return code;
    add_connections(p);
    bd_subgraph_spec spec = {.roots = p->roots.items,
                             .root_count = (int)p->roots.len,
                             .replacements = p->replacements.items,
                             .replacement_count = (int)p->replacements.len};
    code = bd_subgraph(p->source, &spec, &out->graph, p->map, st);
    for (int i = 0; !code && i < out->fetch_count; i++)
        code = add_fetch(p, i, st);
    return code;
}

braid_code bd_client_graph_build(const braid_graph *g, const bd_run_signature *signature, bd_feed_style style,
                                 const bd_device_info *client_device, bd_client_graph *out, braid_status *st)
{
    BD_ASSERT(style == BD_FEED_BY_CALL_FRAME || client_device);
    size_t feed_count = (size_t)signature->feed_count, fetch_count = (size_t)signature->fetch_count;
    *out = (bd_client_graph){.feed_count = signature->feed_count, .fetch_count = signature->fetch_count};
    bd_graph_init(&out->graph);
    out->graph.producer = g->producer;
    out->graph.min_consumer = g->min_consumer;
    out->feeds = bd_calloc(feed_count + 1, sizeof *out->feeds);
    out->fetches = bd_calloc(fetch_count + 1, sizeof *out->fetches);
    preparer p = {.source = g, .signature = signature, .style = style, .client = client_device, .out = out};
    p.feeds = bd_calloc(feed_count + 1, sizeof *p.feeds);
    p.fetches = bd_calloc(fetch_count + 1, sizeof *p.fetches);
    p.feed_nodes = bd_calloc(feed_count + 1, sizeof *p.feed_nodes);
    p.from = bd_calloc((size_t)signature->connection_count + 1, sizeof *p.from);
    p.to = bd_calloc((size_t)signature->connection_count + 1, sizeof *p.to);
    p.map = bd_calloc(g->nodes.len + 1, sizeof(braid_op *));
    braid_code code = build(&p, st);
    bd_op_list order = {0};
    if (!code) code = bd_graph_topological(&out->graph, &order, st); // nodes in a cycle would never run
    bd_array_free(&order);
    bd_free(p.feeds);
    bd_free(p.fetches);
    bd_free(p.feed_nodes);
    bd_free(p.from);
    bd_free(p.to);
    bd_free(p.map);
    bd_array_free(&p.roots);
    bd_array_free(&p.replacements);
    if (code) bd_client_graph_fini(out);
    return code;
}

void bd_client_graph_fini(bd_client_graph *p)
{
    bd_graph_fini(&p->graph);
    bd_free(p->feeds);
    bd_free(p->fetches);
    *p = (bd_client_graph){0};
}

char *bd_endpoint_key(const bd_endpoint *e, uint64_t device_incarnation)
{
    return bd_rendezvous_key_format(e->device, device_incarnation, e->device, e->tensor, 0, 0);
}

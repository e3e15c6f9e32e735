// Debug nodes: parsing what is watched, and putting the nodes into a graph.
#include "runtime/debug_nodes.h"

#include "base/alloc.h"
#include "base/log.h"
#include "graph/node_resolve.h"
#include "io/debug_dump.h"
#include "tensor/charge.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- Options ----

static bool is_text(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ') return false;
    return true;
}

static const char *bad_text(const Tensorflow__DebugTensorWatch *w)
{
    if (!is_text(w->node_name)) return w->node_name;
    for (size_t i = 0; i < w->n_debug_ops; i++)
        if (!is_text(w->debug_ops[i])) return w->debug_ops[i];
    for (size_t i = 0; i < w->n_debug_urls; i++)
        if (!is_text(w->debug_urls[i])) return w->debug_urls[i];
    return NULL;
}

const Tensorflow__DebugOptions *bd_debug_watches(const Tensorflow__DebugOptions *o, braid_status *st)
{
    for (size_t i = 0; o && i < o->n_debug_tensor_watch_opts; i++) {
        const char *bad = bad_text(o->debug_tensor_watch_opts[i]);
        if (!bad) continue;
        bd_fail(st, BRAID_INVALID_ARGUMENT, "RunOptions.debug_options: '%.200s' holds a control character",
                bad);
        return NULL;
    }
    return o && o->n_debug_tensor_watch_opts > 0 ? o : NULL;
}

const Tensorflow__DebugOptions *bd_debug_parse(const void *data, size_t len, bd_proto_arena *arena,
                                               braid_status *st)
{
    const Tensorflow__DebugOptions *o =
        bd_proto_unpack(&tensorflow__debug_options__descriptor, data, len, arena, st);
    return o ? bd_debug_watches(o, st) : NULL;
}

const Tensorflow__DebugOptions *bd_debug_copy(const Tensorflow__DebugOptions *o, bd_proto_arena *arena)
{
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(&o->base, &m);
    BD_STATUS(st);
    const Tensorflow__DebugOptions *copy =
        bd_proto_unpack_message(&tensorflow__debug_options__descriptor, &m, arena, st);
    bd_message_fini(&m);
    return copy;
}

// Control characters, which are in no text, end the parts.
void bd_debug_describe(const Tensorflow__DebugOptions *o, bd_strbuf *out)
{
    for (size_t i = 0; i < o->n_debug_tensor_watch_opts; i++) {
        const Tensorflow__DebugTensorWatch *w = o->debug_tensor_watch_opts[i];
        bd_strbuf_appendf(out, "%s:%d%c", w->node_name, w->output_slot,
                          w->tolerate_debug_op_creation_failures ? '?' : '=');
        for (size_t k = 0; k < w->n_debug_ops; k++)
            bd_strbuf_appendf(out, "%s\1", w->debug_ops[k]);
        for (size_t k = 0; k < w->n_debug_urls; k++)
            bd_strbuf_appendf(out, "%s\2", w->debug_urls[k]);
        bd_strbuf_append_char(out, '\t');
    }
}

// Calls fn for each URL once; an error ends it.
static braid_code each_url(const Tensorflow__DebugOptions *o,
                           braid_code (*fn)(const char *url, void *arg, braid_status *st), void *arg,
                           braid_status *st)
{
    bd_map seen = {0};
    for (size_t i = 0; i < o->n_debug_tensor_watch_opts && !st->code; i++) {
        const Tensorflow__DebugTensorWatch *w = o->debug_tensor_watch_opts[i];
        for (size_t k = 0; k < w->n_debug_urls && !st->code; k++) {
            if (bd_map_has(&seen, w->debug_urls[k])) continue;
            bd_map_put(&seen, w->debug_urls[k], w->debug_urls[k]);
            fn(w->debug_urls[k], arg, st);
        }
    }
    bd_map_fini(&seen);
    return st->code;
}

// ---- Debug ops: "Name" or "Name(attr=value; attr=value)" ----

#define DEBUG_ATTRS_MAX 16

typedef struct debug_op {
    char *text; // owned; the others lie in it
    const char *name;
    const char *keys[DEBUG_ATTRS_MAX], *values[DEBUG_ATTRS_MAX];
    int count;
} debug_op;

static char *trim(char *s)
{
    while (*s == ' ')
        s++;
    char *end = s + strlen(s);
    while (end > s && end[-1] == ' ')
        *--end = 0;
    return s;
}

static braid_code malformed(const char *text, braid_status *st)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Malformed attributes in debug op name \"%s\"", text);
}

static braid_code parse_attr(debug_op *op, char *item, const char *text, braid_status *st)
{
    char *equal = strchr(item, '=');
    if (!equal || strchr(equal + 1, '=') || op->count == DEBUG_ATTRS_MAX) return malformed(text, st);
    *equal = 0;
    op->keys[op->count] = trim(item);
    op->values[op->count] = trim(equal + 1);
    if (!*op->keys[op->count] || !*op->values[op->count]) return malformed(text, st);
    for (int i = 0; i < op->count; i++)
        if (strcmp(op->keys[i], op->keys[op->count]) == 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Duplicate attribute name \"%s\" found in the debug op: \"%s\"", op->keys[i],
                           text);
    op->count++;
    return BRAID_OK;
}

static braid_code debug_op_parse(debug_op *op, const char *text, braid_status *st)
{
    *op = (debug_op){.text = bd_strdup(text)};
    op->name = op->text;
    char *open = strchr(op->text, '(');
    if (!open) return BRAID_OK;
    char *close = strrchr(op->text, ')');
    if (open == op->text || !close || close[1] || strchr(open + 1, '(')) return malformed(text, st);
    *open = *close = 0;
    char *rest = open + 1, *item;
    while (!st->code && (item = strsep(&rest, ";")) != NULL)
        if (*trim(item)) parse_attr(op, item, text, st);
    return st->code;
}

static bool read_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "t", "1", "yes", "y"}, *const no[] = {"false", "f", "0", "no",
                                                                                    "n"};
    for (size_t i = 0; i < BD_COUNTOF(yes); i++) {
        *value = strcasecmp(text, yes[i]) == 0;
        if (*value || strcasecmp(text, no[i]) == 0) return true;
    }
    return false;
}

// The value of an attr that is written as text.
static bool read_value(const bd_attr_def *def, const char *text, bd_attr *value)
{
    char *end;
    *value = (bd_attr){.kind = def->kind};
    switch (def->kind) {
    case BD_ATTR_STRING: value->s = (bd_bytes){.data = (char *)text, .len = strlen(text)}; return true;
    case BD_ATTR_FLOAT: value->f = strtof(text, &end); return !*end;
    case BD_ATTR_INT: value->i = strtoll(text, &end, 10); return !*end;
    case BD_ATTR_BOOL: return read_bool(text, &value->b);
    default: return false;
    }
}

static bool is_set_true(const debug_op *op, const char *key)
{
    bool value = false;
    for (int i = 0; i < op->count; i++)
        if (strcmp(op->keys[i], key) == 0 && read_bool(op->values[i], &value)) return value;
    return false;
}

// ---- Nodes ----

typedef struct inserter {
    braid_graph *g;
    const Tensorflow__DebugOptions *options;
    int count; // nodes of the graph as it was
    bd_consumers consumers;
    bd_map watches;                          // by the name of the tensor
    const Tensorflow__DebugTensorWatch *all; // of the tensors without a watch of their own; NULL: none
    bd_map devices;                          // of watched nodes
    bd_charge charge;                        // for the graph, which grows by more than the options' size
} inserter;

static braid_code charge(inserter *in, size_t more, braid_status *st)
{
    return bd_charge_set(&in->charge, bd_graph_bytes(in->g) + more, "The graph with its debug nodes", st);
}

static bd_named_attr string_attr(const char *name, const char *value)
{
    return (bd_named_attr){
        .name = name, .value = {.kind = BD_ATTR_STRING, .s = {.data = (char *)value, .len = strlen(value)}}};
}

static bd_named_attr list_attr(const char *name, bd_bytes *items, int count)
{
    return (bd_named_attr){
        .name = name,
        .value = {.kind = BD_ATTR_LIST, .item_kind = BD_ATTR_STRING, .list = {.count = count, .s = items}}};
}

static bd_bytes bytes_of(char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

static braid_code list_watches(inserter *in, braid_status *st)
{
    for (size_t i = 0; i < in->options->n_debug_tensor_watch_opts; i++) {
        Tensorflow__DebugTensorWatch *w = in->options->debug_tensor_watch_opts[i];
        const bool is_wild = strcmp(w->node_name, "*") == 0;
        if (is_wild && w->output_slot != -1)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "output_slot is expected to be -1 for wildcard node name (*), but got %d",
                           w->output_slot);
        if (!is_wild && w->output_slot < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "A negative output_slot in DebugTensorWatch is valid only for the wildcard node "
                           "name (*), but got node name %s",
                           w->node_name);
        if (is_wild) in->all = w->n_debug_ops > 0 ? w : in->all;
        if (is_wild || w->n_debug_ops == 0) continue;
        char *name = bd_asprintf("%s:%d", w->node_name, w->output_slot);
        bd_map_put(&in->watches, name, w); // the last one counts
        bd_free(name);
    }
    return BRAID_OK;
}

// What add_copy makes of a watch: each debug op with each URL.
static size_t specs_bytes(const Tensorflow__DebugTensorWatch *w)
{
    size_t bytes = sizeof(bd_bytes) * w->n_debug_ops * w->n_debug_urls;
    for (size_t i = 0; i < w->n_debug_ops; i++)
        bytes += strlen(w->debug_ops[i]) * w->n_debug_urls;
    for (size_t k = 0; k < w->n_debug_urls; k++)
        bytes += strlen(w->debug_urls[k]) * w->n_debug_ops;
    return bytes;
}

// The specification of each debug op for each URL: "Op;URL;1" where the op is gated.
static braid_code add_copy(inserter *in, braid_out from, const Tensorflow__DebugTensorWatch *w,
                           const char *tensor_name, braid_op **copy, braid_status *st)
{
    BD_ARRAY(bd_bytes) specs = {0};
    for (size_t i = 0; i < w->n_debug_ops && !st->code; i++) {
        debug_op op;
        debug_op_parse(&op, w->debug_ops[i], st);
        for (size_t k = 0; k < w->n_debug_urls && !st->code; k++) {
            const bd_bytes spec =
                bytes_of(bd_asprintf("%s;%s;%d", op.name, w->debug_urls[k], is_set_true(&op, "gated_grpc")));
            bd_array_push(&specs, spec);
        }
        bd_free(op.text);
    }
    char *name = bd_asprintf("__copy_%s_%d", from.op->name, from.index);
    bd_named_attr attrs[] = {
        string_attr("tensor_name", tensor_name),
        list_attr("debug_ops_spec", specs.items, (int)specs.len),
    };
    if (!st->code)
        bd_graph_add(in->g,
                     &(bd_node_spec){.name = name,
                                     .op_type = "Copy",
                                     .device = from.op->device,
                                     .assigned_device = from.op->assigned_device,
                                     .inputs = &from,
                                     .input_count = 1,
                                     .attrs = attrs,
                                     .attr_count = BD_COUNTOF(attrs)},
                     copy, st);
    for (size_t i = 0; i < specs.len; i++)
        bd_free((char *)specs.items[i].data);
    bd_array_free(&specs);
    bd_free(name);
    return st->code;
}

// The attrs that the name of the debug op sets.
static braid_code set_attrs(braid_op *n, const debug_op *op, braid_status *st)
{
    int bad = 0;
    bd_strbuf names = {0};
    for (int i = 0; i < op->count; i++) {
        const bd_attr_def *def = bd_op_def_attr(n->def, op->keys[i]);
        if (!def) {
            bd_strbuf_appendf(&names, "%s%s", bad++ ? ", " : "", op->keys[i]);
            continue;
        }
        bd_attr value;
        if (!read_value(def, op->values[i], &value))
            bd_fail(st, BRAID_INVALID_ARGUMENT,
                    "Invalid value string for attribute %s of debug node %s: \"%s\"", op->keys[i], n->name,
                    op->values[i]);
        else
            bd_node_set_attr(n, op->keys[i], &value, st);
        if (st->code) break;
    }
    if (bad && !st->code)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "%d attribute key(s) were not valid for debug node %s: %s", bad,
                n->name, bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
    return st->code;
}

// Adds the node of debug op `number` of a watch. A kernel for its types has to exist.
static braid_code add_debug(inserter *in, braid_out from, braid_out value, const char *tensor_name,
                            const Tensorflow__DebugTensorWatch *w, size_t number, braid_op **node,
                            braid_status *st)
{
    debug_op op;
    BD_ARRAY(bd_bytes) urls = {0};
    for (size_t i = 0; i < w->n_debug_urls; i++)
        bd_array_push(&urls, bytes_of(w->debug_urls[i]));
    char *name = NULL;
    if (!debug_op_parse(&op, w->debug_ops[number], st)) {
        name = bd_asprintf("__dbg_%s_%zu_%s", tensor_name, number, op.name);
        bd_named_attr attrs[] = {
            string_attr("device_name", from.op->assigned_device ? from.op->assigned_device : ""),
            string_attr("tensor_name", tensor_name),
            list_attr("debug_urls", urls.items, (int)urls.len),
        };
        bd_graph_add(in->g,
                     &(bd_node_spec){.name = name,
                                     .op_type = op.name,
                                     .device = from.op->device,
                                     .assigned_device = from.op->assigned_device,
                                     .inputs = &value,
                                     .input_count = 1,
                                     .attrs = attrs,
                                     .attr_count = BD_COUNTOF(attrs)},
                     node, st);
        const bd_kernel *kernel;
        if (!st->code) bd_kernel_find(*node, "CPU", &kernel, st);
        if (!st->code) set_attrs(*node, &op, st);
    }
    bd_array_free(&urls);
    bd_free(name);
    bd_free(op.text);
    return st->code;
}

static braid_code watch_output(inserter *in, braid_out out, const char *tensor_name,
                               const Tensorflow__DebugTensorWatch *w, braid_status *st)
{
    braid_op *copy = NULL;
    bd_op_list debugs = {0};
    const bool is_ref = bd_dtype_is_ref(out.op->output_types[out.index]);
    if (charge(in, 2 * specs_bytes(w), st)) return st->code; // once more in the node
    if (add_copy(in, out, w, tensor_name, &copy, st)) {
        st->code = BRAID_FAILED_PRECONDITION;
        bd_status_prefix(st, "Failed to create Copy/CopyHost node for tensor %s, due to: ", tensor_name);
    }
    for (size_t i = 0; i < w->n_debug_ops && !st->code; i++) {
        // A variable may be uninitialized, which a copy could not pass on.
        const braid_out value = is_ref ? out : (braid_out){.op = copy};
        const bd_graph_mark before = bd_graph_get_mark(in->g);
        braid_op *debug = NULL;
        if (!add_debug(in, out, value, tensor_name, w, i, &debug, st)) {
            bd_array_push(&debugs, debug);
            charge(in, 0, st);
        } else if (w->tolerate_debug_op_creation_failures) {
            bd_info("Tolerating failure to create debug node: tensor name = %s; debug op name = %s",
                    tensor_name, w->debug_ops[i]);
            bd_graph_rewind(in->g, &before);
            braid_status_clear(st);
        } else {
            st->code = BRAID_FAILED_PRECONDITION;
            bd_status_prefix(st, "Failed to create debug node %s for tensor %s, due to: ", w->debug_ops[i],
                             tensor_name);
        }
    }
    // What comes from Enter or NextIteration leads to a Merge, which would wait for the debug nodes in each
    // iteration, and which knows by a dead Enter that its loop does not run: these edges stay.
    const bd_op_role role = bd_node_role(out.op);
    const bool stays = role == BD_ROLE_ENTER || role == BD_ROLE_NEXT_ITERATION;
    const int end = stays ? 0 : in->consumers.offsets[out.op->id + 1];
    for (int i = in->consumers.offsets[out.op->id]; i < end && !st->code; i++) {
        const bd_consumer *c = &in->consumers.items[i];
        if (c->output != out.index || c->input < 0) continue;
        if (!is_ref) bd_node_set_input(c->node, c->input, (braid_out){.op = copy});
        for (size_t k = 0; k < debugs.len; k++)
            bd_node_add_control(c->node, debugs.items[k]);
    }
    if (out.op->assigned_device) bd_map_put(&in->devices, out.op->assigned_device, out.op);
    bd_array_free(&debugs);
    return st->code;
}

// One iteration at a time, so that values are written in the order of the iterations.
static braid_code deparallelize(braid_graph *g, braid_status *st)
{
    const bd_attr one = {.kind = BD_ATTR_INT, .i = 1};
    for (size_t i = 0; i < g->nodes.len && !st->code; i++) {
        braid_op *n = g->nodes.items[i];
        if (bd_node_role(n) != BD_ROLE_ENTER || bd_node_attr_int(n, "parallel_iterations") == 1) continue;
        bd_node_set_attr(n, "parallel_iterations", &one, st);
    }
    return st->code;
}

// ---- Writing the graph ----

typedef struct graph_dump {
    const bd_fs *fs;
    const char *device;
    bd_message graph_def;
} graph_dump;

static braid_code dump_graph(const char *url, void *arg, braid_status *st)
{
    const graph_dump *d = arg;
    return bd_debug_dump_graph(d->fs, url, d->device, &d->graph_def, st);
}

static braid_code publish(const inserter *in, const bd_fs *fs, braid_status *st)
{
    graph_dump d = {.fs = fs};
    bd_wire_writer w;
    bd_message_init(&d.graph_def);
    bd_wire_writer_init(&w, &d.graph_def);
    bd_graph_write(in->g, 0, BD_GRAPH_PLACED, &w);
    bd_wire_writer_finish(&w);
    size_t pos = 0;
    while (!st->code && bd_map_next(&in->devices, &pos, &d.device, NULL))
        each_url(in->options, dump_graph, &d, st);
    bd_message_fini(&d.graph_def);
    return st->code;
}

braid_code bd_debug_add_nodes(braid_graph *g, const Tensorflow__DebugOptions *o, const bd_fs *fs,
                              braid_status *st)
{
    inserter in = {.g = g, .options = o, .count = (int)g->nodes.len};
    bd_graph_consumers(g, &in.consumers);
    if (!list_watches(&in, st)) deparallelize(g, st);
    for (int i = 0; i < in.count && !st->code; i++) {
        braid_op *n = g->nodes.items[i];
        for (int slot = 0; slot < n->output_count && !st->code; slot++) {
            char *name = bd_asprintf("%s:%d", n->name, slot);
            const Tensorflow__DebugTensorWatch *w = bd_map_get(&in.watches, name);
            if (!w) w = in.all;
            if (w) watch_output(&in, (braid_out){.op = n, .index = slot}, name, w, st);
            bd_free(name);
        }
    }
    if (!st->code) publish(&in, fs, st);
    bd_consumers_fini(&in.consumers);
    bd_map_fini(&in.watches);
    bd_map_fini(&in.devices);
    bd_charge_fini(&in.charge);
    return st->code;
}

// ---- Before a step ----

static void put_names(bd_strbuf *json, const char *key, const char *const *names, int count)
{
    bd_strbuf_appendf(json, "\"%s\":[", key);
    for (int i = 0; i < count; i++)
        bd_strbuf_appendf(json, "%s\"%s\"", i ? "," : "", names[i]);
    bd_strbuf_append_char(json, ']');
}

typedef struct run_dump {
    const bd_fs *fs;
    int64_t run_index;
    const char *json;
} run_dump;

static braid_code dump_run(const char *url, void *arg, braid_status *st)
{
    const run_dump *d = arg;
    return bd_debug_dump_run(d->fs, url, d->run_index, d->json, st);
}

braid_code bd_debug_begin_step(const bd_run_signature *s, const bd_fs *fs, int64_t run_index,
                               int64_t step_index, braid_status *st)
{
    bd_strbuf json = {0};
    if (s->debug->reset_disk_byte_usage) bd_debug_reset_bytes();
    bd_strbuf_appendf(&json,
                      "{\"global_step\":%" PRId64 ",\"session_run_index\":%" PRId64
                      ",\"executor_step_index\":%" PRId64 ",",
                      s->debug->global_step, run_index, step_index);
    put_names(&json, "input_names", s->feeds, s->feed_count);
    bd_strbuf_append_char(&json, ',');
    put_names(&json, "output_names", s->fetches, s->fetch_count);
    bd_strbuf_append_char(&json, ',');
    put_names(&json, "target_nodes", s->targets, s->target_count);
    bd_strbuf_append_char(&json, '}');
    run_dump d = {.fs = fs, .run_index = run_index, .json = bd_strbuf_str(&json)};
    each_url(s->debug, dump_run, &d, st);
    bd_strbuf_fini(&json);
    return st->code;
}

// GraphDef import with options (braid/graph_import.h): new names, inputs from the graph, what is to be
// returned.
#include <braid/graph_import.h>

#include "base/strbuf.h"
#include "graph/builder.h"
#include "graph/graph_def_internal.h"
#include "graph/node_resolve.h"
#include "graph/turns.h"
#include <string.h>

struct bd_import_with {
    const braid_import_options *options;
    const braid_import_results *results;
    const char *prefix; // with '/', or ""; in the import's arena
    bd_map mapped;      // "x:0", "^x" -> number in the input map + 1
    bool *is_used;      // [input_map_count]
};

// ---- The input map ----

// Writes "x:1" or "^x" as keys of `mapped`.
static void write_key(bd_strbuf *key, const char *name, size_t len, int index)
{
    bd_strbuf_clear(key);
    if (index < 0)
        bd_strbuf_appendf(key, "^%.*s", (int)len, name);
    else
        bd_strbuf_appendf(key, "%.*s:%d", (int)len, name, index);
}

// Splits "x", "x:1" or "^x" into the length of the node's name, the name and the output; -1: a control input.
static bool split_name(const char *text, const char **name, size_t *len, int *index)
{
    *name = text;
    *index = -1;
    if (text && *text == '^') {
        *name = text + 1;
        *len = strlen(*name);
        return *len > 0;
    }
    const bd_bytes bytes = {.data = text ? text : "", .len = text ? strlen(text) : 0};
    return bd_import_split_input(&bytes, len, index) && *len > 0;
}

static int find_mapping(bd_import *im, const char *name, size_t len, int index)
{
    const struct bd_import_with *with = im->with;
    if (with->options->input_map_count == 0) return -1;
    bd_strbuf key = {0};
    write_key(&key, name, len, index);
    const int found = (int)(uintptr_t)bd_map_get(&with->mapped, bd_strbuf_str(&key)) - 1;
    bd_strbuf_fini(&key);
    return found;
}

bool bd_import_map_input(bd_import *im, const char *name, size_t len, bd_input_ref *ref)
{
    const int found = find_mapping(im, name, len, ref->index);
    if (found < 0) return false;
    const braid_out out = im->with->options->input_map[found].out;
    im->with->is_used[found] = true;
    ref->new_node = -1;
    ref->old = out.op;
    if (ref->index >= 0) ref->index = out.index;
    return true;
}

static braid_code read_mapping(bd_import *im, int i, bd_strbuf *key)
{
    const braid_import_mapping *m = &im->with->options->input_map[i];
    const char *name;
    size_t len;
    int index;
    if (!split_name(m->name, &name, &len, &index))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Input map: '%.200s' is no name of an input",
                       m->name ? m->name : "");
    if (!m->out.op || m->out.op->graph != im->g)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Input map: '%.200s' is mapped to %s", m->name,
                       m->out.op ? "an output of another graph" : "nothing");
    if (index >= 0 && (m->out.index < 0 || (m->out.op->def && m->out.index >= m->out.op->output_count)))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                       "Input map: '%.200s' is mapped to output %d of '%s', which has %d outputs", m->name,
                       m->out.index, m->out.op->name, m->out.op->output_count);
    write_key(key, name, len, index);
    if (bd_map_put(&im->with->mapped, bd_strbuf_str(key), (void *)(uintptr_t)(i + 1)))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Input map: '%.200s' is mapped twice", m->name);
    return BRAID_OK;
}

// ---- Options ----

static braid_code check_lists(bd_import *im)
{
    const braid_import_options *o = im->with->options;
    bd_device_name device;
    if (o->input_map_count < 0 || o->control_count < 0 || o->return_output_count < 0 ||
        o->return_op_count < 0 || (o->input_map_count && !o->input_map) ||
        (o->control_count && !o->controls) || (o->return_output_count && !o->return_outputs) ||
        (o->return_op_count && !o->return_ops))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Options of an import: a list is missing");
    for (int i = 0; i < o->control_count; i++) {
        if (!o->controls[i] || o->controls[i]->graph != im->g)
            return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                           "Options of an import: control dependency %d is %s", i,
                           o->controls[i] ? "of another graph" : "nothing");
    }
    return bd_device_name_parse(o->default_device, &device, im->st);
}

static bool begins_names(const braid_graph *g, const char *prefix)
{
    const size_t len = strlen(prefix);
    for (size_t i = 0; i < g->nodes.len; i++) {
        const char *name = g->nodes.items[i]->name;
        if (strncmp(name, prefix, len) == 0 && (!name[len] || name[len] == '/')) return true;
    }
    return false;
}

static void settle_prefix(bd_import *im)
{
    const braid_import_options *o = im->with->options;
    size_t len = o->prefix ? strlen(o->prefix) : 0;
    if (len && o->prefix[len - 1] == '/') len--;
    const char *base = len ? bd_arena_strndup(&im->arena, o->prefix, len) : "", *prefix = base;
    for (int number = 1; len && o->uniquify_prefix && begins_names(im->g, prefix); number++)
        prefix = bd_arena_asprintf(&im->arena, "%s_%d", base, number);
    im->with->prefix = len ? bd_arena_asprintf(&im->arena, "%s/", prefix) : "";
}

static braid_code begin(bd_import *im)
{
    struct bd_import_with *with = im->with;
    braid_code code = check_lists(im);
    if (code) return code;
    bd_strbuf key = {0};
    with->is_used = bd_arena_calloc(&im->arena, (size_t)with->options->input_map_count + 1, sizeof(bool));
    for (int i = 0; i < with->options->input_map_count && !code; i++)
        code = read_mapping(im, i, &key);
    bd_strbuf_fini(&key);
    settle_prefix(im);
    return code;
}

// ---- Names ----

// Names that are not free, with the scopes of names: "a" and "a/b" of "a/b/c".
typedef struct taken_names {
    bd_map scopes;  // of the graph
    bd_map message; // names and scopes of the message, and names given so far
} taken_names;

static void take_scopes(bd_map *taken, const char *name)
{
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
        bd_map_put_n(taken, name, (size_t)(slash - name), taken);
}

// `is_made`: the name is not the message's own.
static bool is_taken(const bd_import *im, const taken_names *taken, const char *name, bool is_made)
{
    return bd_map_has(&im->g->by_name, name) || bd_map_has(&taken->scopes, name) ||
           (is_made && bd_map_has(&taken->message, name));
}

// A name that neither the graph nor the message has.
static const char *unique_name(bd_import *im, const taken_names *taken, const char *name)
{
    const char *unique = name;
    for (int number = 1; is_taken(im, taken, unique, unique != name); number++)
        unique = bd_arena_asprintf(&im->arena, "%s_%d", name, number);
    return unique;
}

static braid_code rename_node(bd_import *im, bd_parsed_node *n, const taken_names *taken)
{
    const braid_import_options *o = im->with->options;
    if (!bd_node_name_is_valid(n->name))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node '%.200s': Node name contains invalid characters",
                       n->name);
    if (o->uniquify_names)
        n->name = unique_name(im, taken, n->name);
    else if (bd_map_has(&im->g->by_name, n->name))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT, "Node name '%.200s' already exists in the Graph",
                       n->name);
    if (o->default_device && !*n->device) n->device = o->default_device;
    return BRAID_OK;
}

static void rename_groups(bd_import *im, bd_parsed_node *n)
{
    static const char loc[] = "loc:@";
    for (size_t i = 0; i < n->attrs.len; i++) {
        bd_attr *a = &n->attrs.items[i].value;
        if (strcmp(n->attrs.items[i].name, "_class") != 0 || a->kind != BD_ATTR_LIST ||
            a->item_kind != BD_ATTR_STRING)
            continue;
        for (int k = 0; k < a->list.count; k++) {
            if (!bd_str_starts_with(a->list.s[k].data, loc)) continue;
            const uintptr_t number = (uintptr_t)bd_map_get(&im->by_name, a->list.s[k].data + strlen(loc));
            if (!number) continue;
            const char *group = bd_arena_asprintf(&im->arena, "%s%s", loc, im->nodes.items[number - 1].name);
            a->list.s[k] = (bd_bytes){.data = group, .len = strlen(group)};
        }
    }
}

braid_code bd_import_rename(bd_import *im)
{
    const bool is_unique = im->with->options->uniquify_names;
    taken_names taken = {0};
    braid_code code = BRAID_OK;
    for (size_t i = 0; is_unique && i < im->g->nodes.len; i++)
        take_scopes(&taken.scopes, im->g->nodes.items[i]->name);
    for (size_t i = 0; i < im->nodes.len; i++) {
        bd_parsed_node *n = &im->nodes.items[i];
        n->name = bd_arena_asprintf(&im->arena, "%s%s", im->with->prefix, n->name);
        if (is_unique) bd_map_put(&taken.message, n->name, n);
        if (is_unique) take_scopes(&taken.message, n->name);
    }
    for (size_t i = 0; i < im->nodes.len && !code; i++) {
        code = rename_node(im, &im->nodes.items[i], &taken);
        if (is_unique) bd_map_put(&taken.message, im->nodes.items[i].name, &im->nodes.items[i]);
    }
    for (size_t i = 0; i < im->nodes.len && !code; i++)
        rename_groups(im, &im->nodes.items[i]);
    bd_map_fini(&taken.scopes);
    bd_map_fini(&taken.message);
    return code;
}

// ---- Controls ----

void bd_import_push_controls(const bd_import *im, const bd_parsed_node *n, bd_op_list *controls)
{
    for (size_t i = 0; i < n->inputs.len; i++) {
        if (n->refs[i].new_node >= 0 && !n->refs[i].is_back_edge) return; // it waits already
    }
    for (int i = 0; i < im->with->options->control_count; i++)
        bd_array_push(controls, im->with->options->controls[i]);
}

// ---- Results ----

static const bd_parsed_node *new_node(const bd_import *im, const char *name, size_t len)
{
    const uintptr_t number = (uintptr_t)bd_map_get_n(&im->by_name, name, len);
    return number ? &im->nodes.items[number - 1] : NULL;
}

static bool has_output(const bd_parsed_node *n, int index)
{
    return !n->node->def || index < n->node->output_count;
}

static braid_code find_output(bd_import *im, const char *text, braid_out *out)
{
    const char *name;
    size_t len;
    int index;
    if (!split_name(text, &name, &len, &index) || index < 0)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                       "Requested return tensor '%.200s' is no name of an output", text ? text : "");
    const int mapping = find_mapping(im, name, len, index);
    if (mapping >= 0) {
        *out = im->with->options->input_map[mapping].out;
        im->with->is_used[mapping] = true;
        return BRAID_OK;
    }
    const bd_parsed_node *n = new_node(im, name, len);
    if (!n)
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                       "Requested return tensor '%.200s' not found in graph def", text);
    if (!has_output(n, index))
        return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                       "Invalid return output %d of node '%s', which has %d output(s)", index, n->name,
                       n->node->output_count);
    *out = braid_output(n->node, index);
    return BRAID_OK;
}

static bool is_unknown(const bd_import *im, int mapping)
{
    const char *name;
    size_t len;
    int index;
    if (im->with->is_used[mapping]) return false;
    split_name(im->with->options->input_map[mapping].name, &name, &len, &index);
    const bd_parsed_node *n = new_node(im, name, len);
    return !n || !has_output(n, index);
}

static const char *return_op(const braid_import_options *o, int i)
{
    return o->return_ops[i] ? o->return_ops[i] : "";
}

braid_code bd_import_find_results(bd_import *im)
{
    const braid_import_options *o = im->with->options;
    const braid_import_results none = {0}, *r = im->with->results ? im->with->results : &none;
    braid_out *outs = BD_ARENA_ARRAY(&im->arena, braid_out, (size_t)o->return_output_count);
    for (int i = 0; i < o->return_output_count; i++) {
        const braid_code code = find_output(im, o->return_outputs[i], &outs[i]);
        if (code) return code;
    }
    for (int i = 0; i < o->return_op_count; i++) {
        const char *name = return_op(o, i);
        if (!new_node(im, name, strlen(name)))
            return bd_fail(im->st, BRAID_INVALID_ARGUMENT,
                           "Requested return node '%.200s' not found in graph def", name);
    }
    for (int i = 0; r->outputs && i < o->return_output_count; i++)
        r->outputs[i] = outs[i];
    for (int i = 0; r->ops && i < o->return_op_count; i++)
        r->ops[i] = new_node(im, return_op(o, i), strlen(return_op(o, i)))->node;
    for (int i = 0; r->unknown && i < o->input_map_count; i++)
        r->unknown[i] = is_unknown(im, i);
    return BRAID_OK;
}

// ---- The whole ----

braid_code braid_graph_import_with(braid_graph *g, const void *data, size_t len,
                                   const braid_import_options *options, const braid_import_results *results,
                                   braid_status *status)
{
    BD_GRAPH_TURN(g);
    static const braid_import_options none;
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!g || (!data && len))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no %s", g ? "GraphDef" : "graph");
    if (g->status.code) return bd_status_copy(st, &g->status);
    struct bd_import_with with = {.options = options ? options : &none, .results = results};
    bd_import im = {.g = g, .st = st, .with = &with};
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    braid_code code = begin(&im);
    if (!code) code = bd_import_run(&im, &in);
    bd_map_fini(&with.mapped);
    bd_import_fini(&im);
    return code;
}

// Builds nodes through the public interface: descriptions, attributes, and inferred types and shapes.
#include "graph/builder.h"

#include "base/check.h"
#include "graph/function_build.h"
#include "graph/function_internal.h"
#include "graph/graph_internal.h"
#include "graph/location.h"
#include "graph/node_resolve.h"
#include "graph/region.h"
#include "graph/turns.h"
#include <braid/function.h>
#include <stdlib.h>
#include <string.h>

// An argument as it was given: a span of `inputs`.
typedef struct argument {
    int from, count;
} argument;

struct braid_op_desc {
    braid_graph *graph;
    const char *op_type; // in `arena`
    const char *name;    // in the graph's arena, unique
    const char *device;  // in `arena`; NULL
    const bd_op_def *def;
    bd_arena arena;
    bd_attr_tensors tensors; // one reference each
    BD_ARRAY(braid_out) inputs;
    BD_ARRAY(argument) arguments;
    BD_ARRAY(bd_named_attr) attrs;
    bd_op_list controls, colocated;
    struct braid_op_desc *next, **link; // in the graph's descriptions that have not ended
};

// ---- Descriptions ----

void bd_op_desc_fail(braid_op_desc *d, const char *format, ...)
{
    BD_STATUS(st);
    va_list args;
    va_start(args, format);
    bd_vfail(st, BRAID_INVALID_ARGUMENT, format, args);
    va_end(args);
    bd_status_prefix(st, "Node '%s' (op: '%s'): ", d->name, d->op_type);
    bd_graph_fail_status(d->graph, st);
}

static void desc_fail(braid_op_desc *d, const char *what)
{
    braid_graph_fail(d->graph, BRAID_INVALID_ARGUMENT, "Node '%s' (op: '%s'): %s", d->name, d->op_type, what);
}

static void desc_free(braid_op_desc *d)
{
    bd_attr_tensors_free(&d->tensors);
    bd_array_free(&d->inputs);
    bd_array_free(&d->arguments);
    bd_array_free(&d->attrs);
    bd_array_free(&d->controls);
    bd_array_free(&d->colocated);
    bd_arena_fini(&d->arena);
    *d->link = d->next;
    if (d->next) d->next->link = d->link;
    bd_free(d);
}

void bd_op_descs_free(bd_builder *b)
{
    while (b->descs)
        desc_free(b->descs);
}

void braid_op_abandon(braid_op_desc *d)
{
    if (d) desc_free(d);
}

// A name that ends in '/' is a scope: the node gets the scope's name.
static const char *node_name(braid_graph *g, const char *name)
{
    size_t len = strlen(name);
    if (len && name[len - 1] == '/') return bd_arena_strndup(&g->arena, name, len - 1);
    return bd_builder_unique_name(g, name);
}

braid_op_desc *braid_op_begin(braid_graph *g, const char *op_type, const char *name)
{
    if (!g || g->status.code) return NULL;
    if (!op_type) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A node without an op");
        return NULL;
    }
    braid_op_desc *d = bd_calloc(1, sizeof *d);
    d->graph = g;
    bd_builder *b = bd_graph_builder(g);
    d->next = b->descs;
    d->link = &b->descs;
    if (d->next) d->next->link = &d->next;
    b->descs = d;
    d->name = node_name(g, name && *name ? name : op_type);
    d->def = bd_graph_find_def(g, op_type);
    d->op_type = bd_arena_strdup(&d->arena, op_type);
    const char *nearest = d->def ? NULL : bd_op_nearest(op_type);
    if (!d->def)
        braid_graph_fail(g, BRAID_NOT_FOUND, "Op type not registered '%s', which node '%s' wants%s%s%s",
                         op_type, d->name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                         nearest ? "'?" : "");
    else if (!bd_node_name_is_valid(d->name) || *d->name == '_')
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "'%s' is not a valid node name (op: '%s')", d->name,
                         op_type);
    return d;
}

void braid_op_input(braid_op_desc *d, braid_out input)
{
    braid_op_input_list(d, &input, 1);
}

// Returns how many of the values of a list may be read: none of a list that cannot be, which fails.
static int checked_count(braid_op_desc *d, const char *what, const void *values, int count)
{
    if (!d || (count >= 0 && (values || count == 0))) return count;
    braid_graph_fail(d->graph, BRAID_INVALID_ARGUMENT, "Node '%s' (op: '%s'): %s of %d values%s", d->name,
                     d->op_type, what, count, values ? "" : " is NULL");
    return 0;
}

void braid_op_input_list(braid_op_desc *d, const braid_out *inputs, int count)
{
    if (!d) return;
    count = checked_count(d, "an input list", inputs, count);
    bd_array_push(&d->arguments, (argument){.from = (int)d->inputs.len, .count = count});
    for (int i = 0; i < count; i++) {
        const braid_out input = bd_function_capture(d->graph, inputs[i]);
        if (!input.op)
            desc_fail(d, "an input is nothing");
        else if (input.op->graph != d->graph)
            desc_fail(d, "an input is of another graph");
        else
            bd_array_push(&d->inputs, input);
    }
}

void braid_op_control(braid_op_desc *d, braid_op *op)
{
    if (!d) return;
    if (!op || op->graph != d->graph)
        desc_fail(d, op ? "a control input is of another graph" : "a control input is nothing");
    else
        bd_array_push(&d->controls, op);
}

void braid_op_device(braid_op_desc *d, const char *device)
{
    if (d) d->device = device ? bd_arena_strdup(&d->arena, device) : NULL;
}

void braid_op_colocate(braid_op_desc *d, braid_op *op)
{
    if (!d) return;
    if (!op || op->graph != d->graph)
        desc_fail(d, op ? "colocated with a node of another graph" : "colocated with nothing");
    else
        bd_array_push(&d->colocated, op);
}

// ---- Attributes ----

static void fail_unknown_attr(braid_op_desc *d, const char *name)
{
    bd_strbuf known = {0};
    for (int i = 0; i < d->def->attr_count; i++)
        bd_strbuf_appendf(&known, "%s'%s'", i ? ", " : "", d->def->attrs[i].name);
    braid_graph_fail(d->graph, BRAID_INVALID_ARGUMENT,
                     "Node '%s' (op: '%s'): the op has no attr '%s'; its attrs are: %s", d->name, d->op_type,
                     name, known.len ? bd_strbuf_str(&known) : "none");
    bd_strbuf_fini(&known);
}

static void set_attr(braid_op_desc *d, const char *name, const bd_attr *value)
{
    if (!d) return;
    bd_attr copy;
    bd_attr_copy(&copy, value, &d->arena, &d->tensors);
    for (size_t i = 0; i < d->attrs.len; i++) {
        if (strcmp(d->attrs.items[i].name, name) == 0) {
            d->attrs.items[i].value = copy;
            return;
        }
    }
    if (d->def && *name != '_' && !bd_op_def_attr(d->def, name)) fail_unknown_attr(d, name);
    bd_array_push(&d->attrs, (bd_named_attr){.name = bd_arena_strdup(&d->arena, name), .value = copy});
}

void bd_op_desc_attr(braid_op_desc *d, const char *name, const bd_attr *value)
{
    set_attr(d, name, value);
}

static const bd_named_attr *get_attr(const braid_op_desc *d, const char *name)
{
    for (size_t i = 0; i < d->attrs.len; i++) {
        if (strcmp(d->attrs.items[i].name, name) == 0) return &d->attrs.items[i];
    }
    return NULL;
}

void braid_op_attr_int(braid_op_desc *d, const char *name, int64_t value)
{
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_INT, .i = value});
}

void braid_op_attr_float(braid_op_desc *d, const char *name, float value)
{
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_FLOAT, .f = value});
}

void braid_op_attr_bool(braid_op_desc *d, const char *name, bool value)
{
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_BOOL, .b = value});
}

void braid_op_attr_type(braid_op_desc *d, const char *name, braid_dtype value)
{
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_TYPE, .type = value});
}

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text ? text : "", .len = text ? strlen(text) : 0};
}

void braid_op_attr_string(braid_op_desc *d, const char *name, const char *value)
{
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_STRING, .s = bytes_of(value)});
}

static void check_shape(braid_op_desc *d, const braid_shape *s)
{
    if (!bd_shape_can_be(s)) desc_fail(d, "an attr's shape has a rank or a dimension that cannot be");
}

void braid_op_attr_shape(braid_op_desc *d, const char *name, braid_shape value)
{
    if (d) check_shape(d, &value);
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_SHAPE, .shape = value});
}

void braid_op_attr_tensor(braid_op_desc *d, const char *name, const braid_tensor *value)
{
    if (d && !value) desc_fail(d, "an attr's tensor is NULL");
    if (d && value && value->dtype == BRAID_VARIANT)
        desc_fail(d, "an attr's tensor is a variant, which no GraphDef can hold");
    if (value) set_attr(d, name, &(bd_attr){.kind = BD_ATTR_TENSOR, .tensor = (braid_tensor *)value});
}

void braid_op_attr_func(braid_op_desc *d, const char *name, const char *function)
{
    if (!d) return;
    const bd_func func = {.name = function ? function : ""};
    set_attr(d, name, &(bd_attr){.kind = BD_ATTR_FUNC, .s = bd_func_bytes(&func, &d->arena)});
}

static bd_attr list_attr(braid_op_desc *d, bd_attr_kind kind, const void *values, int count)
{
    bd_attr attr = {.kind = BD_ATTR_LIST, .item_kind = kind};
    attr.list.count = checked_count(d, "an attr's list", values, count);
    return attr;
}

void braid_op_attr_int_list(braid_op_desc *d, const char *name, const int64_t *values, int count)
{
    bd_attr attr = list_attr(d, BD_ATTR_INT, values, count);
    attr.list.i = (int64_t *)values;
    set_attr(d, name, &attr);
}

void braid_op_attr_float_list(braid_op_desc *d, const char *name, const float *values, int count)
{
    bd_attr attr = list_attr(d, BD_ATTR_FLOAT, values, count);
    attr.list.f = (float *)values;
    set_attr(d, name, &attr);
}

void braid_op_attr_type_list(braid_op_desc *d, const char *name, const braid_dtype *values, int count)
{
    bd_attr attr = list_attr(d, BD_ATTR_TYPE, values, count);
    attr.list.type = (braid_dtype *)values;
    set_attr(d, name, &attr);
}

void braid_op_attr_shape_list(braid_op_desc *d, const char *name, const braid_shape *values, int count)
{
    bd_attr attr = list_attr(d, BD_ATTR_SHAPE, values, count);
    attr.list.shape = (braid_shape *)values;
    for (int i = 0; d && i < attr.list.count; i++)
        check_shape(d, &values[i]);
    set_attr(d, name, &attr);
}

void braid_op_attr_string_list(braid_op_desc *d, const char *name, const char *const *values, int count)
{
    if (!d) return;
    bd_attr attr = list_attr(d, BD_ATTR_STRING, values, count);
    attr.list.s = BD_ARENA_ARRAY(&d->arena, bd_bytes, (size_t)attr.list.count);
    for (int i = 0; i < attr.list.count; i++)
        attr.list.s[i] = bytes_of(values[i]);
    set_attr(d, name, &attr);
}

void braid_op_attr_func_list(braid_op_desc *d, const char *name, const char *const *functions, int count)
{
    if (!d) return;
    bd_attr attr = list_attr(d, BD_ATTR_FUNC, functions, count);
    attr.list.s = BD_ARENA_ARRAY(&d->arena, bd_bytes, (size_t)attr.list.count);
    for (int i = 0; i < attr.list.count; i++)
        attr.list.s[i] = bd_func_bytes(&(bd_func){.name = functions[i] ? functions[i] : ""}, &d->arena);
    set_attr(d, name, &attr);
}

// ---- Making the node ----

// Attrs for the length and the types of an argument follow from the inputs that were given.
static void settle_argument(braid_op_desc *d, const bd_arg_def *arg, const argument *given)
{
    if (arg->number_attr && !get_attr(d, arg->number_attr))
        braid_op_attr_int(d, arg->number_attr, given->count);
    if (!arg->type_list_attr || get_attr(d, arg->type_list_attr)) return;
    braid_dtype *types = BD_ARENA_ARRAY(&d->arena, braid_dtype, (size_t)given->count);
    for (int i = 0; i < given->count; i++)
        types[i] = bd_dtype_base(braid_out_dtype(d->inputs.items[given->from + i]));
    braid_op_attr_type_list(d, arg->type_list_attr, types, given->count);
}

static void settle_arguments(braid_op_desc *d)
{
    if (d->graph->status.code) return;
    if ((int)d->arguments.len != d->def->input_count) {
        braid_graph_fail(d->graph, BRAID_INVALID_ARGUMENT,
                         "Node '%s' (op: '%s'): takes %d inputs, but got %zu", d->name, d->op_type,
                         d->def->input_count, d->arguments.len);
        return;
    }
    for (int i = 0; i < d->def->input_count; i++) {
        const bd_arg_def *arg = &d->def->inputs[i];
        if (!arg->number_attr && !arg->type_list_attr && d->arguments.items[i].count != 1)
            desc_fail(d, "a list was given for an input that is none");
        else
            settle_argument(d, arg, &d->arguments.items[i]);
    }
}

void braid_get_seed(const braid_graph *g, const int64_t *op_seed, int64_t seeds[2])
{
    const int64_t default_seed = 87654321; // TensorFlow's, of a graph without a seed
    const bd_builder *b = g ? g->builder : NULL;
    const bool has_seed = b && b->has_seed;
    seeds[0] = has_seed ? b->seed : op_seed ? default_seed : 0;
    seeds[1] = op_seed ? *op_seed : has_seed ? (int64_t)g->nodes.len : 0;
    if ((op_seed || has_seed) && seeds[0] == 0 && seeds[1] == 0)
        seeds[1] = INT32_MAX; // both 0 would mean: any
}

// Seeds of an op with a seed of its own (seed2), and of any op in a graph with a seed.
static void settle_seed(braid_op_desc *d)
{
    const bd_named_attr *own = get_attr(d, "seed2");
    if (!bd_op_def_attr(d->def, "seed") || !bd_op_def_attr(d->def, "seed2") || get_attr(d, "seed")) return;
    if (!own && !d->graph->builder->has_seed) return;
    int64_t seeds[2];
    braid_get_seed(d->graph, own ? &own->value.i : NULL, seeds);
    braid_op_attr_int(d, "seed", seeds[0]);
    braid_op_attr_int(d, "seed2", seeds[1]);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef BD_ARRAY(const char *) group_list; // strings in the description's or the graph's arena

// The groups a node belongs to by its own `_class`, else the group that bears its name.
static void add_groups(braid_op_desc *d, const braid_op *op, group_list *groups)
{
    const bd_attr *own = bd_node_attr(op, "_class");
    int count = own && own->kind == BD_ATTR_LIST && own->item_kind == BD_ATTR_STRING ? own->list.count : 0;
    size_t before = groups->len;
    for (int i = 0; i < count; i++) {
        if (bd_str_starts_with(own->list.s[i].data, "loc:@")) bd_array_push(groups, own->list.s[i].data);
    }
    if (groups->len == before) bd_array_push(groups, bd_arena_asprintf(&d->arena, "loc:@%s", op->name));
}

static void set_class(braid_op_desc *d, group_list *groups)
{
    int unique = 0;
    if (groups->len == 0) return;
    qsort(groups->items, groups->len, sizeof *groups->items, compare_strings);
    for (size_t i = 0; i < groups->len; i++) {
        if (i == 0 || strcmp(groups->items[i], groups->items[unique - 1]) != 0)
            groups->items[unique++] = groups->items[i];
    }
    braid_op_attr_string_list(d, "_class", groups->items, unique);
}

// Sets `_class`, sorted, each group once, and lists the nodes the new one is bound to, scopes first.
static void settle_colocation(braid_op_desc *d, bd_op_list *bound)
{
    const bd_builder *b = d->graph->builder;
    group_list groups = {0};
    size_t first = b->colocations.len;
    while (first > 0 && !b->colocations.items[first - 1].clears)
        first--;
    if (first > 0) first--;
    for (size_t i = first; i < b->colocations.len; i++) {
        const bd_colocate_scope *scope = &b->colocations.items[i];
        if (scope->op)
            bd_array_push(bound, scope->op);
        else
            bd_array_push(&groups, bd_arena_asprintf(&d->arena, "loc:@%s", scope->name));
    }
    for (size_t i = 0; i < d->colocated.len; i++)
        bd_array_push(bound, d->colocated.items[i]);
    for (size_t i = 0; i < bound->len; i++)
        add_groups(d, bound->items[i], &groups);
    set_class(d, &groups);
    bd_array_free(&groups);
}

static braid_op *make_node(braid_op_desc *d, const bd_op_list *bound)
{
    braid_graph *g = d->graph;
    BD_STATUS(st);
    braid_op *n;
    bd_op_list controls = {0};
    bd_region *region = g->builder->region;
    bd_builder_controls(g, d->inputs.items, (int)d->inputs.len, &controls);
    for (size_t i = 0; i < d->controls.len; i++)
        bd_array_push(&controls, d->controls.items[i]);
    bd_node_spec spec = {.name = d->name,
                         .op_type = d->op_type,
                         .inputs = d->inputs.items,
                         .input_count = (int)d->inputs.len,
                         .controls = controls.items,
                         .control_count = region ? 0 : (int)controls.len,
                         .attrs = d->attrs.items,
                         .attr_count = (int)d->attrs.len};
    if (bd_graph_make_node(g, &spec, &n, st)) {
        bd_graph_fail_status(g, st);
        bd_array_free(&controls);
        return NULL;
    }
    n->device = bd_builder_device(g, n, d->device, bound, d->colocated.len > 0);
    if (!g->status.code) {
        bd_location_remember(n);
        bd_graph_append(g, n);
        if (region) bd_region_take(region, n, &controls);
    }
    bd_array_free(&controls);
    return g->status.code ? NULL : n;
}

braid_op *braid_op_end(braid_op_desc *d)
{
    if (!d) return NULL;
    BD_GRAPH_TURN(d->graph);
    settle_arguments(d);
    braid_op *n = NULL;
    if (!d->graph->status.code) {
        settle_seed(d);
        bd_op_list bound = {0};
        settle_colocation(d, &bound);
        n = make_node(d, &bound);
        bd_array_free(&bound);
    }
    desc_free(d);
    return n;
}

braid_out braid_op_end_out(braid_op_desc *d)
{
    return braid_output(braid_op_end(d), 0);
}

braid_op *braid_op_add(braid_graph *g, const char *op_type, const char *name, const braid_out *inputs,
                       int count)
{
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    return braid_op_end(d);
}

// Checks a node against its op's definition: attrs, and types of inputs and outputs.
#include "graph/node_resolve.h"

#include "base/check.h"
#include "base/strbuf.h"
#include "graph/graph_internal.h"
#include "graph/shape_fn.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// The state of a resolution. An argument of the definition covers one or more edges.
typedef struct resolver {
    braid_graph *g;
    braid_op *n;
    const bd_op_def *def;
    braid_status *st;
    int *edges; // [def->input_count] edges of each input argument; -1 while unknown
} resolver;

bool bd_node_name_is_valid(const char *name)
{
    if (!isalnum((unsigned char)*name) && *name != '.' && *name != '_') return false;
    for (const char *p = name; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("_./>-\\", *p)) return false;
    }
    return true;
}

static int compare_attrs(const void *a, const void *b)
{
    return strcmp(((const bd_named_attr *)a)->name, ((const bd_named_attr *)b)->name);
}

static braid_code fail(const resolver *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static braid_code fail(const resolver *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bd_vfail(r->st, BRAID_INVALID_ARGUMENT, format, args);
    va_end(args);
    bd_status_prefix(r->st, "Node '%s' (op: '%s'): ", r->n->name, r->n->op_type);
    return BRAID_INVALID_ARGUMENT;
}

// ---- Attrs ----

static bd_attr *find_attr(const braid_op *n, const char *name)
{
    for (int i = 0; i < n->attr_count; i++) {
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i].value;
    }
    return NULL;
}

static bd_attr *add_attr(resolver *r, const char *name, bool is_default)
{
    bd_named_attr *slot = &r->n->attrs[r->n->attr_count++];
    *slot = (bd_named_attr){.name = name, .is_default = is_default};
    return &slot->value;
}

static void copy_attrs(braid_graph *g, braid_op *n, const bd_named_attr *attrs, int count, int extra)
{
    n->attrs = BD_ARENA_ARRAY(&g->arena, bd_named_attr, (size_t)(count + extra));
    for (int i = 0; i < count; i++) {
        const bd_attr_def *attr = n->def ? bd_op_def_attr(n->def, attrs[i].name) : NULL;
        n->attrs[i].name = attr ? attr->name : bd_arena_strdup(&g->arena, attrs[i].name);
        n->attrs[i].is_default = attrs[i].is_default;
        bd_attr_copy(&n->attrs[i].value, &attrs[i].value, &g->arena, &g->tensors);
    }
    n->attr_count = count;
}

static braid_code check_allowed_type(const resolver *r, const bd_attr_def *def, braid_dtype type)
{
    if (bd_dtype_is_ref(type) || !bd_dtype_is_valid(type))
        return fail(r, "attr '%s' must not have type %s", def->name, braid_dtype_name(type));
    if (!def->allowed_types || (def->allowed_types & BD_DTYPE_BIT(type))) return BRAID_OK;
    bd_strbuf names = {0};
    for (int t = 1; t < 32; t++) {
        if (def->allowed_types & BD_DTYPE_BIT(t))
            bd_strbuf_appendf(&names, "%s%s", names.len ? ", " : "", braid_dtype_name((braid_dtype)t));
    }
    fail(r, "Value for attr '%s' of %s is not in the list of allowed values: %s", def->name,
         braid_dtype_name(type), bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
    return BRAID_INVALID_ARGUMENT;
}

static braid_code check_allowed_string(const resolver *r, const bd_attr_def *def, const bd_bytes *value)
{
    if (!def->allowed_strings) return BRAID_OK;
    bd_strbuf names = {0};
    for (int i = 0; i < def->allowed_string_count; i++) {
        if (strlen(def->allowed_strings[i]) == value->len &&
            memcmp(def->allowed_strings[i], value->data, value->len) == 0) {
            bd_strbuf_fini(&names);
            return BRAID_OK;
        }
        bd_strbuf_appendf(&names, "%s\"%s\"", i ? ", " : "", def->allowed_strings[i]);
    }
    fail(r, "Value for attr '%s' of \"%.64s\" is not in the list of allowed values: %s", def->name,
         value->data, bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
    return BRAID_INVALID_ARGUMENT;
}

static braid_code check_list(const resolver *r, const bd_attr_def *def, const bd_attr *value)
{
    if (def->has_minimum && value->list.count < def->minimum)
        return fail(r, "Length for attr '%s' of %d must be at least minimum %lld", def->name,
                    value->list.count, (long long)def->minimum);
    for (int i = 0; i < value->list.count; i++) {
        braid_code code = BRAID_OK;
        if (def->item_kind == BD_ATTR_TYPE) code = check_allowed_type(r, def, value->list.type[i]);
        if (def->item_kind == BD_ATTR_STRING) code = check_allowed_string(r, def, &value->list.s[i]);
        if (code) return code;
    }
    return BRAID_OK;
}

static braid_code check_attr(const resolver *r, const bd_attr_def *def, const bd_attr *value)
{
    bool fits = value->kind == def->kind &&
                (def->kind != BD_ATTR_LIST || value->list.count == 0 || value->item_kind == def->item_kind);
    if (!fits)
        return fail(r, "attr '%s' is of kind %s, expected %s", def->name,
                    bd_attr_type_name(value->kind, value->item_kind, (char[BD_ATTR_TYPE_NAME_MAX]){0}),
                    bd_attr_type_name(def->kind, def->item_kind, (char[BD_ATTR_TYPE_NAME_MAX]){0}));
    switch (def->kind) {
    case BD_ATTR_TYPE: return check_allowed_type(r, def, value->type);
    case BD_ATTR_STRING: return check_allowed_string(r, def, &value->s);
    case BD_ATTR_LIST: return check_list(r, def, value);
    case BD_ATTR_INT:
        if (def->has_minimum && value->i < def->minimum)
            return fail(r, "Value for attr '%s' of %lld must be at least minimum %lld", def->name,
                        (long long)value->i, (long long)def->minimum);
        return BRAID_OK;
    default: return BRAID_OK;
    }
}

// ---- Which edges belong to which argument ----

// The number of edges of an argument as far as attrs give it, else -1; a number that is too large is clipped.
static int64_t arg_edges(const braid_op *n, const bd_arg_def *arg)
{
    const bd_attr *attr = NULL;
    if (arg->number_attr) {
        attr = find_attr(n, arg->number_attr);
        return attr && attr->kind == BD_ATTR_INT ? bd_max(0, attr->i) : -1;
    }
    if (arg->type_list_attr) {
        attr = find_attr(n, arg->type_list_attr);
        return attr && attr->kind == BD_ATTR_LIST ? attr->list.count : -1;
    }
    return 1;
}

int bd_node_arg_length(const braid_op *n, const bd_arg_def *arg)
{
    return (int)bd_max(0, bd_min(arg_edges(n, arg), INT32_MAX));
}

// Fills r->edges. Arguments whose length no attr gives share the remaining inputs, if they have the same
// number attr or if there is only one.
static void divide_inputs(resolver *r)
{
    int64_t left = r->n->input_count;
    int open = 0;
    const char *attr = NULL;
    bool same = true;
    for (int i = 0; i < r->def->input_count; i++) {
        const bd_arg_def *arg = &r->def->inputs[i];
        int64_t edges = arg_edges(r->n, arg);
        r->edges[i] = edges < 0 ? -1 : (int)bd_min(edges, INT32_MAX);
        if (edges >= 0) {
            left -= bd_min(edges, INT32_MAX);
            continue;
        }
        const char *says = arg->number_attr ? arg->number_attr : arg->type_list_attr;
        same = same && (!attr || strcmp(attr, says) == 0);
        attr = says;
        open++;
    }
    if (open == 0 || left < 0 || !same || left % open != 0) return;
    for (int i = 0; i < r->def->input_count; i++) {
        if (r->edges[i] < 0) r->edges[i] = (int)(left / open);
    }
}

static braid_dtype input_dtype(const braid_op *n, int index)
{
    return bd_dtype_base(braid_out_dtype(n->inputs[index]));
}

static bool is_called(const char *name, const bd_attr_def *def)
{
    return name && strcmp(name, def->name) == 0;
}

// Infers attr `def` from the `count` inputs from `edge` on, those of an argument. Returns whether they
// determine it.
static bool infer_from_arg(resolver *r, const bd_attr_def *def, const bd_arg_def *arg, int edge, int count)
{
    if (is_called(arg->number_attr, def)) {
        *add_attr(r, def->name, false) = (bd_attr){.kind = BD_ATTR_INT, .i = count};
        return true;
    }
    if (is_called(arg->type_attr, def) && count > 0 && edge < r->n->input_count) {
        braid_dtype type = input_dtype(r->n, edge);
        if (type == BRAID_INVALID) return false; // of an unknown op
        *add_attr(r, def->name, false) = (bd_attr){.kind = BD_ATTR_TYPE, .type = type};
        return true;
    }
    if (is_called(arg->type_list_attr, def) && count <= r->n->input_count - edge) {
        bd_attr *list = add_attr(r, def->name, false);
        *list = (bd_attr){.kind = BD_ATTR_LIST, .item_kind = BD_ATTR_TYPE};
        list->list.count = count;
        list->list.type = BD_ARENA_ARRAY(&r->g->arena, braid_dtype, (size_t)count);
        for (int k = 0; k < count; k++)
            list->list.type[k] = input_dtype(r->n, edge + k);
        return true;
    }
    return false;
}

static bool infer_from_inputs(resolver *r, const bd_attr_def *def)
{
    int edge = 0;
    for (int i = 0; i < r->def->input_count && r->edges[i] >= 0 && edge <= r->n->input_count; i++) {
        if (infer_from_arg(r, def, &r->def->inputs[i], edge, r->edges[i])) return true;
        edge = (int)bd_min((int64_t)edge + r->edges[i], INT32_MAX);
    }
    return false;
}

static braid_code settle_attrs(resolver *r)
{
    for (int i = 0; i < r->def->attr_count; i++) {
        const bd_attr_def *def = &r->def->attrs[i];
        bd_attr *value = find_attr(r->n, def->name);
        if (!value && !infer_from_inputs(r, def)) {
            if (!def->has_default)
                return fail(r, "NodeDef missing attr '%s' from Op<name=%s>", def->name, r->n->op_type);
            bd_attr_copy(add_attr(r, def->name, true), &def->default_value, &r->g->arena, &r->g->tensors);
        }
        braid_code code = check_attr(r, def, find_attr(r->n, def->name));
        if (code) return code;
    }
    return BRAID_OK;
}

// ---- Types ----

// The type of edge `k` of an argument, from settled attrs.
static braid_dtype arg_type(const braid_op *n, const bd_arg_def *arg, int k)
{
    braid_dtype type = arg->type;
    if (arg->type_attr) type = find_attr(n, arg->type_attr)->type;
    if (arg->type_list_attr) type = find_attr(n, arg->type_list_attr)->list.type[k];
    return arg->is_ref ? bd_dtype_ref(type) : type;
}

static int64_t count_edges(const braid_op *n, const bd_arg_def *args, int count)
{
    int64_t edges = 0;
    for (int i = 0; i < count; i++)
        edges += bd_min(arg_edges(n, &args[i]), INT32_MAX);
    return edges;
}

static braid_dtype *arg_types(resolver *r, const bd_arg_def *args, int count, int64_t edges)
{
    braid_dtype *types = BD_ARENA_ARRAY(&r->g->arena, braid_dtype, (size_t)edges);
    int at = 0;
    for (int i = 0; i < count; i++) {
        int64_t n = arg_edges(r->n, &args[i]);
        for (int64_t k = 0; k < n; k++)
            types[at++] = arg_type(r->n, &args[i], (int)k);
    }
    return types;
}

enum {
    NAMED_TYPES_MAX = 20 // of expected inputs, in a message
};

static braid_code fail_input_count(resolver *r, int64_t expected)
{
    bd_strbuf types = {0};
    int named = 0;
    for (int i = 0; i < r->def->input_count && named < NAMED_TYPES_MAX; i++) {
        const int64_t edges = arg_edges(r->n, &r->def->inputs[i]);
        for (int64_t k = 0; k < edges && named < NAMED_TYPES_MAX; k++)
            bd_strbuf_appendf(&types, "%s%s", named++ ? ", " : "",
                              braid_dtype_name(arg_type(r->n, &r->def->inputs[i], (int)k)));
    }
    if (expected > named) bd_strbuf_appendf(&types, ", and %lld more", (long long)(expected - named));
    const braid_code code = fail(r, "NodeDef expected inputs '%s' do not match %d inputs specified",
                                 bd_strbuf_str(&types), r->n->input_count);
    bd_strbuf_fini(&types);
    return code;
}

static braid_code settle_types(resolver *r)
{
    braid_op *n = r->n;
    int64_t inputs = count_edges(n, r->def->inputs, r->def->input_count);
    if (inputs != n->input_count) return fail_input_count(r, inputs);
    int64_t outputs = count_edges(n, r->def->outputs, r->def->output_count);
    if (outputs > BD_NODE_OUTPUTS_MAX)
        return fail(r, "has %lld outputs, more than %d", (long long)outputs, BD_NODE_OUTPUTS_MAX);
    n->input_types = arg_types(r, r->def->inputs, r->def->input_count, inputs);
    n->output_types = arg_types(r, r->def->outputs, r->def->output_count, outputs);
    n->output_count = (int)outputs;
    n->output_shapes = BD_ARENA_ARRAY(&r->g->arena, braid_shape, (size_t)outputs);
    for (int i = 0; i < n->output_count; i++)
        n->output_shapes[i] = BD_SHAPE_UNKNOWN;
    for (int i = 0; i < n->input_count; i++) {
        braid_code code = n->inputs[i].op ? bd_node_check_input(n, i, r->st) : BRAID_OK;
        if (code) return code;
    }
    return BRAID_OK;
}

static braid_code check_source(const braid_op *n, int index, braid_status *st)
{
    braid_out in = n->inputs[index];
    if (in.index < 0 || (in.op->def && in.index >= in.op->output_count))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Node '%s': Connecting to invalid output %d of source node %s which has %d outputs",
                       n->name, in.index, in.op->name, in.op->output_count);
    return BRAID_OK;
}

braid_code bd_node_check_input(const braid_op *n, int index, braid_status *st)
{
    braid_out in = n->inputs[index];
    braid_code code = check_source(n, index, st);
    if (code) return code;
    braid_dtype got = braid_out_dtype(in), expected = n->input_types[index];
    if (got == BRAID_INVALID || expected == BRAID_INVALID) return BRAID_OK;
    if (expected == got || expected == bd_dtype_base(got)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Input %d of node %s was passed %s from %s:%d incompatible with expected %s.", index,
                   n->name, braid_dtype_name(got), in.op->name, in.index, braid_dtype_name(expected));
}

// An op that Braid does not know: it takes any inputs, and its outputs are unknown.
static braid_code resolve_unknown(braid_graph *g, braid_op *n, const bd_named_attr *attrs, int attr_count)
{
    copy_attrs(g, n, attrs, attr_count, 0);
    n->input_types = BD_ARENA_ARRAY(&g->arena, braid_dtype, (size_t)n->input_count);
    for (int i = 0; i < n->input_count; i++)
        n->input_types[i] = n->inputs[i].op ? input_dtype(n, i) : BRAID_INVALID;
    return BRAID_OK;
}

// TensorFlow 1.15 refuses attrs that it does not know: with their default they are not written to a GraphDef,
// whether they were given, inferred or filled in.
static bool is_later_default(const bd_attr_def *def, const bd_attr *value)
{
    return def->is_later && bd_attr_equal(value, &def->default_value);
}

static void mark_later_defaults(braid_op *n)
{
    for (int i = 0; i < n->def->attr_count; i++) {
        const bd_attr_def *def = &n->def->attrs[i];
        if (!def->is_later) continue;
        for (int a = 0; a < n->attr_count; a++) {
            bd_named_attr *attr = &n->attrs[a];
            if (strcmp(attr->name, def->name) == 0 && is_later_default(def, &attr->value))
                attr->is_default = true;
        }
    }
}

#define SMALL_INPUTS 16

braid_code bd_node_resolve(braid_graph *g, braid_op *n, const bd_named_attr *attrs, int attr_count,
                           braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < n->input_count && !code; i++)
        code = n->inputs[i].op ? check_source(n, i, st) : BRAID_OK;
    if (code) return code;
    if (!n->def) {
        code = resolve_unknown(g, n, attrs, attr_count);
    } else {
        int small[SMALL_INPUTS];
        bool is_small = n->def->input_count <= SMALL_INPUTS;
        int *edges = is_small ? small : bd_malloc((size_t)n->def->input_count * sizeof *edges);
        resolver r = {.g = g, .n = n, .def = n->def, .st = st, .edges = edges};
        copy_attrs(g, n, attrs, attr_count, n->def->attr_count);
        divide_inputs(&r);
        if (!(code = settle_attrs(&r))) code = settle_types(&r);
        if (!is_small) bd_free(edges);
        if (!code) mark_later_defaults(n);
    }
    if (!code) qsort(n->attrs, (size_t)n->attr_count, sizeof *n->attrs, compare_attrs);
    return code;
}

// ---- Shapes ----

braid_code bd_node_infer_shapes(braid_op *n, braid_status *st)
{
    if (!n->def || !n->def->op->shape) return BRAID_OK;
    braid_shape small[SMALL_INPUTS];
    bool is_small = n->input_count <= SMALL_INPUTS;
    braid_shape *inputs = is_small ? small : bd_malloc((size_t)n->input_count * sizeof *inputs);
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = braid_out_shape(n->inputs[i]);
    bd_shape_ctx c = {.node = n,
                      .input_count = n->input_count,
                      .output_count = n->output_count,
                      .inputs = inputs,
                      .outputs = n->output_shapes};
    braid_code code = n->def->op->shape(&c, st);
    if (!is_small) bd_free(inputs);
    return code;
}

// ---- Setting attrs of existing nodes ----

static bool gives_edges(const bd_arg_def *args, int count, const bd_attr_def *attr)
{
    for (int i = 0; i < count; i++) {
        if (is_called(args[i].number_attr, attr) || is_called(args[i].type_attr, attr) ||
            is_called(args[i].type_list_attr, attr))
            return true;
    }
    return false;
}

// Checks that the node's shapes could be inferred with its attrs as they are now.
static braid_code check_shapes(braid_op *n, braid_status *st)
{
    braid_shape *shapes = n->output_shapes, both;
    n->output_shapes = bd_calloc((size_t)n->output_count + 1, sizeof *shapes);
    for (int i = 0; i < n->output_count; i++)
        n->output_shapes[i] = BD_SHAPE_UNKNOWN;
    braid_code code = bd_node_infer_shapes(n, st);
    for (int i = 0; i < n->output_count && !code; i++) {
        if (!bd_shape_merge(&shapes[i], &n->output_shapes[i], &both))
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "Output %d of '%s' has shape %s, not %s", i, n->name,
                           bd_shape_str(&shapes[i], (char[BD_SHAPE_STR_MAX]){0}),
                           bd_shape_str(&n->output_shapes[i], (char[BD_SHAPE_STR_MAX]){0}));
    }
    bd_free(n->output_shapes);
    n->output_shapes = shapes;
    return code;
}

static braid_code set_defined_attr(braid_op *n, const bd_attr_def *def, const bd_attr *value,
                                   braid_status *st)
{
    const resolver r = {.g = n->graph, .n = n, .def = n->def, .st = st};
    bd_attr *slot = find_attr(n, def->name);
    if (!value && !def->has_default) return fail(&r, "attr '%s' has no default", def->name);
    const bd_attr *to = value ? value : &def->default_value;
    braid_code code = check_attr(&r, def, to);
    if (code) return code;
    if (!bd_attr_equal(slot, to) && (gives_edges(n->def->inputs, n->def->input_count, def) ||
                                     gives_edges(n->def->outputs, n->def->output_count, def)))
        return fail(&r, "attr '%s' gives types or numbers of inputs or outputs and stays as it is",
                    def->name);
    const bd_attr before = *slot;
    const size_t tensors = n->graph->tensors.len;
    bd_attr_copy(slot, to, &n->graph->arena, &n->graph->tensors);
    if ((code = check_shapes(n, st))) {
        *slot = before;
        bd_graph_drop_tensors(n->graph, tensors);
        return code;
    }
    for (int i = 0; i < n->attr_count; i++) {
        if (&n->attrs[i].value == slot) n->attrs[i].is_default = !value || is_later_default(def, value);
    }
    return BRAID_OK;
}

// One that the definition does not have.
static void set_free_attr(braid_op *n, const char *name, const bd_attr *value)
{
    braid_graph *g = n->graph;
    bd_attr *slot = bd_node_attr_slot(n, name);
    if (!slot && value) {
        bd_named_attr *attrs = BD_ARENA_ARRAY(&g->arena, bd_named_attr, (size_t)n->attr_count + 1);
        int at = 0;
        for (; at < n->attr_count && strcmp(n->attrs[at].name, name) < 0; at++)
            attrs[at] = n->attrs[at];
        attrs[at] = (bd_named_attr){.name = bd_arena_strdup(&g->arena, name)};
        for (int i = at; i < n->attr_count; i++)
            attrs[i + 1] = n->attrs[i];
        n->attrs = attrs;
        n->attr_count++;
        slot = &attrs[at].value;
    }
    if (value) {
        bd_attr_copy(slot, value, &g->arena, &g->tensors);
    } else if (slot) {
        int at = 0;
        while (&n->attrs[at].value != slot)
            at++;
        memmove(&n->attrs[at], &n->attrs[at + 1], (size_t)(n->attr_count - at - 1) * sizeof *n->attrs);
        n->attr_count--;
    }
}

braid_code bd_node_set_attr(braid_op *n, const char *name, const bd_attr *value, braid_status *st)
{
    const bd_attr_def *def = n->def ? bd_op_def_attr(n->def, name) : NULL;
    if (def) return set_defined_attr(n, def, value, st);
    set_free_attr(n, name, value);
    return BRAID_OK;
}

// Instantiates a FunctionDef with values for its attrs as a graph: arguments and results become _Arg and
// _Retval nodes, placeholders become the values, and names of outputs ("node:sum:0") become numbers
// ("node:0"). The graph is then imported like a GraphDef.
#include "graph/function_items.h"

#include "base/check.h"
#include "base/strbuf.h"
#include "graph/attr_wire.h"
#include "graph/graph_internal.h"
#include "graph/node_resolve.h"
#include "graph/subgraph.h"
#include <string.h>

// Attrs of type func may hold attrs of type func: no deeper than this.
#define NESTED_MAX 16
// The limit of the bytes of values that replace placeholders: each one is a copy.
#define BOUND_BYTES_MAX (1 << 28)

// ---- Nodes ----

static bd_parsed_node *add_node(bd_instantiation *in, const char *name, const char *op)
{
    bd_parsed_node n = {.name = name, .op = op, .device = ""};
    bd_array_push(&in->im.nodes, n);
    return &in->im.nodes.items[in->im.nodes.len - 1];
}

static void add_frame_attrs(bd_parsed_node *n, braid_dtype type, int index)
{
    bd_named_attr t = {.name = "T", .value = {.kind = BD_ATTR_TYPE, .type = bd_dtype_base(type)}};
    bd_named_attr i = {.name = "index", .value = {.kind = BD_ATTR_INT, .i = index}};
    bd_array_push(&n->attrs, t);
    bd_array_push(&n->attrs, i);
}

static braid_code add_argument(bd_instantiation *in, const bd_arg_def *arg)
{
    bd_function_item it = {.node = arg->name, .is_arg = true, .first = in->arg_count};
    braid_code code = bd_item_set_types(in, &in->f->def, in->func->attrs, in->func->attr_count, arg, &it);
    if (!code) code = bd_item_add(in, arg->name, &it);
    for (int i = 0; i < it.count && !code; i++) {
        const char *name = it.count > 1 ? bd_arena_asprintf(&in->im.arena, "%s_%d", arg->name, i) : arg->name;
        add_frame_attrs(add_node(in, name, "_Arg"), it.types[i], in->arg_count++);
        bd_array_push(&in->arg_types, it.types[i]);
    }
    if (code) bd_status_suffix(in->im.st, "\n\t In argument %s of function %s", arg->name, in->f->name);
    return code;
}

static const bd_op_def *definition(const bd_instantiation *in, const char *op)
{
    const bd_op_def *def = bd_op_lookup(op);
    const bd_function *f = def ? NULL : bd_library_find(in->library, op);
    return f ? &f->def : def;
}

static braid_code add_outputs(bd_instantiation *in, const bd_function_node *n, const bd_op_def *def,
                              const bd_parsed_node *made)
{
    int first = 0;
    braid_code code = BRAID_OK;
    if (def->output_count == 0) {
        bd_function_item none = {.node = n->name};
        return bd_item_add(in, n->name, &none);
    }
    for (int i = 0; i < def->output_count && !code; i++) {
        bd_function_item it = {.node = n->name, .first = first};
        code = bd_item_set_types(in, def, made->attrs.items, (int)made->attrs.len, &def->outputs[i], &it);
        if (code) break;
        code = bd_item_add(in, bd_arena_asprintf(&in->im.arena, "%s:%s", n->name, def->outputs[i].name), &it);
        first += it.count;
    }
    return code;
}

// ---- Placeholders ----

static braid_code bind_attr(bd_instantiation *in, const bd_attr *from, bd_attr *to, int depth);

static braid_code bind_func(bd_instantiation *in, const bd_bytes *from, bd_bytes *to, int depth)
{
    bd_func f;
    if (depth >= NESTED_MAX)
        return bd_instantiation_fail(in, "attrs of type func are nested deeper than %d", NESTED_MAX);
    braid_code code = bd_func_parse(from, &in->im.arena, &in->im.tensors, &f, in->im.st);
    bd_named_attr *attrs = BD_ARENA_ARRAY(&in->im.arena, bd_named_attr, code ? 0 : (size_t)f.attr_count);
    for (int i = 0; !code && i < f.attr_count; i++) {
        attrs[i].name = f.attrs[i].name;
        code = bind_attr(in, &f.attrs[i].value, &attrs[i].value, depth + 1);
    }
    if (code) return code;
    f.attrs = attrs;
    *to = bd_func_bytes(&f, &in->im.arena);
    return BRAID_OK;
}

static braid_code bind_attr(bd_instantiation *in, const bd_attr *from, bd_attr *to, int depth)
{
    braid_code code = BRAID_OK;
    *to = *from;
    if (from->kind == BD_ATTR_PLACEHOLDER) {
        const bd_attr *value =
            bd_attr_or_default(&in->f->def, in->func->attrs, in->func->attr_count, from->s.data);
        if (!value || value->kind == BD_ATTR_PLACEHOLDER)
            return bd_instantiation_fail(in, "Failed to bind all placeholders in $%.200s", from->s.data);
        *to = *value;
        if (value->kind != BD_ATTR_TENSOR) in->bound_bytes += bd_attr_size(value); // tensors are shared
        if (in->bound_bytes > BOUND_BYTES_MAX)
            return bd_instantiation_fail(
                in, "the values of attrs of function %s have more than %d bytes in its nodes", in->f->name,
                BOUND_BYTES_MAX);
    } else if (from->kind == BD_ATTR_FUNC) {
        code = bind_func(in, &from->s, &to->s, depth);
    } else if (from->kind == BD_ATTR_LIST && from->item_kind == BD_ATTR_FUNC) {
        to->list.s = BD_ARENA_ARRAY(&in->im.arena, bd_bytes, (size_t)from->list.count);
        for (int i = 0; i < from->list.count && !code; i++)
            code = bind_func(in, &from->list.s[i], &to->list.s[i], depth);
    }
    return code;
}

static braid_code begin_node(bd_instantiation *in, const bd_function_node *n)
{
    const bd_op_def *def = definition(in, n->op);
    if (!def)
        return bd_fail(in->im.st, BRAID_NOT_FOUND, "Op type not registered '%s' in this process (node '%s')",
                       n->op, n->name);
    if (def->op->role == BD_ROLE_ARG || def->op->role == BD_ROLE_RETVAL)
        return bd_instantiation_fail(
            in, "a body has no %s of its own: arguments and results are those of the signature", n->op);
    bd_parsed_node *made = add_node(in, n->name, n->op);
    made->device = n->device;
    for (int i = 0; i < n->attr_count; i++) {
        bd_named_attr attr = {.name = n->attrs[i].name};
        braid_code code = bind_attr(in, &n->attrs[i].value, &attr.value, 0);
        if (code) return code;
        bd_array_push(&made->attrs, attr);
    }
    return add_outputs(in, n, def, made);
}

// ---- Inputs ----

static braid_code check_type(bd_instantiation *in, const bd_arg_def *arg, int j, braid_dtype expected,
                             braid_dtype given, const char *from, int k)
{
    if (expected == given || bd_dtype_base(given) == expected) return BRAID_OK;
    return bd_instantiation_fail(in, "input %s[%d] expected type %s != %s, the type of %s[%d]", arg->name, j,
                                 braid_dtype_name(expected), braid_dtype_name(given), from, k);
}

// The edges of one argument of the node's op, from `*next` input of the node on.
static braid_code connect_argument(bd_instantiation *in, const bd_function_node *n, const bd_arg_def *arg,
                                   const bd_function_item *takes, int *next, bd_parsed_node *made)
{
    for (int j = 0; j < takes->count; (*next)++) {
        bd_function_item it;
        if (*next >= n->input_count)
            return bd_instantiation_fail(in, "Attempt to access beyond input size: %d >= %d", *next,
                                         n->input_count);
        const char *from = n->inputs[*next].data;
        if (!bd_item_find(in, from, &it)) return bd_instantiation_fail(in, "input %.200s is not found", from);
        if (it.count > takes->count - j)
            return bd_instantiation_fail(in, "Input %s too long for %s", from, arg->name);
        for (int k = 0; k < it.count; k++, j++) {
            braid_code code = check_type(in, arg, j, takes->types[j], it.types[k], from, k);
            if (code) return code;
            bd_array_push(&made->inputs, bd_item_edge(in, &it, k));
        }
    }
    return BRAID_OK;
}

static braid_code connect_controls(bd_instantiation *in, const bd_function_node *n, int from,
                                   bd_parsed_node *made)
{
    for (int i = from; i < n->input_count; i++) {
        const bd_bytes *text = &n->inputs[i];
        if (text->data[0] != '^')
            return bd_instantiation_fail(in, "Expected input[%d] == '%.200s' to be a control input.", i,
                                         text->data);
        bd_function_item arg;
        bd_bytes edge = *text;
        if (bd_map_has(&in->im.by_name, text->data + 1)) {
            bd_array_push(&made->inputs, edge);
        } else if (bd_item_find(in, text->data + 1, &arg) && arg.is_arg && arg.count > 0) {
            edge = bd_item_edge(in, &arg, 0);
            edge.data = bd_arena_asprintf(&in->im.arena, "^%s", edge.data);
            edge.len++;
            bd_array_push(&made->inputs, edge);
        } else {
            return bd_instantiation_fail(in, "input[%d] == '%.200s', is not found.", i, text->data);
        }
    }
    return BRAID_OK;
}

static braid_code connect_node(bd_instantiation *in, const bd_function_node *n, bd_parsed_node *made)
{
    const bd_op_def *def = definition(in, n->op);
    int next = 0;
    braid_code code = BRAID_OK;
    for (int i = 0; i < def->input_count && !code; i++) {
        bd_function_item takes = {0};
        code = bd_item_set_types(in, def, made->attrs.items, (int)made->attrs.len, &def->inputs[i], &takes);
        if (!code) code = connect_argument(in, n, &def->inputs[i], &takes, &next, made);
    }
    return code ? code : connect_controls(in, n, next, made);
}

// ---- Results ----

static const char *ret_value(const bd_function *f, const char *name)
{
    for (int i = 0; i < f->ret_count; i++) {
        if (strcmp(f->rets[i].name, name) == 0) return f->rets[i].value;
    }
    return NULL;
}

static bool same_types(const bd_function_item *a, const bd_function_item *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = bd_dtype_base(a->types[i]) == bd_dtype_base(b->types[i]);
    return same;
}

static void append_types(bd_strbuf *text, const bd_function_item *it)
{
    for (int i = 0; i < it->count; i++)
        bd_strbuf_appendf(text, "%s%s", i ? ", " : "", braid_dtype_name(it->types[i]));
}

static braid_code fail_types(bd_instantiation *in, const char *name, const bd_function_item *wants,
                             const bd_function_item *has)
{
    bd_strbuf text = {0};
    append_types(&text, wants);
    bd_strbuf_append(&text, " vs. ");
    append_types(&text, has);
    bd_instantiation_fail(in, "Invalid ret types %s : %s", name, bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return BRAID_INVALID_ARGUMENT;
}

static const char *free_name(bd_instantiation *in, const char *name)
{
    while (bd_map_has(&in->im.by_name, name))
        name = bd_arena_asprintf(&in->im.arena, "%s_", name);
    return name;
}

static braid_code add_result(bd_instantiation *in, const bd_arg_def *ret)
{
    bd_function_item wants = {0}, has;
    const char *value = ret_value(in->f, ret->name);
    if (!value) return bd_instantiation_fail(in, "Return %s missing.", ret->name);
    braid_code code = bd_item_set_types(in, &in->f->def, in->func->attrs, in->func->attr_count, ret, &wants);
    if (code) return code;
    if (!bd_item_find(in, value, &has))
        return bd_instantiation_fail(in, "Return %s -> %s is not found.", ret->name, value);
    if (!same_types(&wants, &has)) return fail_types(in, ret->name, &wants, &has);
    for (int i = 0; i < wants.count; i++) {
        const char *name = wants.count > 1 ? bd_arena_asprintf(&in->im.arena, "%s_RetVal_%d", ret->name, i)
                                           : bd_arena_asprintf(&in->im.arena, "%s_RetVal", ret->name);
        name = free_name(in, name);
        bd_parsed_node *n = add_node(in, name, "_Retval");
        bd_map_put(&in->im.by_name, name, (void *)(uintptr_t)in->im.nodes.len);
        add_frame_attrs(n, wants.types[i], in->ret_count++);
        bd_array_push(&n->inputs, bd_item_edge(in, &has, i));
        bd_array_push(&in->ret_types, wants.types[i]);
    }
    return BRAID_OK;
}

// ---- The whole ----

static braid_code check_signature(bd_instantiation *in)
{
    const bd_op_def *def = &in->f->def;
    for (int i = 0; i < def->attr_count; i++) {
        const bd_attr_def *a = &def->attrs[i];
        const bd_attr *value = bd_attrs_find(in->func->attrs, in->func->attr_count, a->name);
        if (!value && a->has_default) continue;
        if (!value)
            return bd_fail(in->im.st, BRAID_NOT_FOUND, "Attr %s is not found from the call of function %s",
                           a->name, in->f->name);
        bool fits = value->kind == a->kind &&
                    (a->kind != BD_ATTR_LIST || value->list.count == 0 || value->item_kind == a->item_kind);
        if (!fits)
            return bd_instantiation_fail(
                in, "AttrValue had value with type '%s' when '%s' expected for attr '%s' of %s",
                bd_attr_type_name(value->kind, value->item_kind, (char[BD_ATTR_TYPE_NAME_MAX]){0}),
                bd_attr_type_name(a->kind, a->item_kind, (char[BD_ATTR_TYPE_NAME_MAX]){0}), a->name,
                in->f->name);
    }
    return BRAID_OK;
}

static braid_code index_names(bd_instantiation *in)
{
    for (size_t i = 0; i < in->im.nodes.len; i++) {
        const char *name = in->im.nodes.items[i].name;
        if (!bd_node_name_is_valid(name))
            return bd_instantiation_fail(in, "Node '%.200s': Node name contains invalid characters", name);
        if (bd_map_put(&in->im.by_name, name, (void *)(uintptr_t)(i + 1)))
            return bd_instantiation_fail(in, "Duplicated node name: %s", name);
    }
    return BRAID_OK;
}

static braid_code make_nodes(bd_instantiation *in)
{
    const bd_function *f = in->f;
    braid_code code = check_signature(in);
    for (int i = 0; i < f->def.input_count && !code; i++)
        code = add_argument(in, &f->def.inputs[i]);
    for (int i = 0; i < f->node_count && !code; i++) {
        code = begin_node(in, &f->nodes[i]);
        if (code) bd_status_suffix(in->im.st, "\n\t In {{node %s}}", f->nodes[i].name);
    }
    if (!code) code = index_names(in);
    for (int i = 0; i < f->node_count && !code; i++) {
        code = connect_node(in, &f->nodes[i], &in->im.nodes.items[in->arg_count + i]);
        if (code) bd_status_suffix(in->im.st, "\n\t In {{node %s}}", f->nodes[i].name);
    }
    for (int i = 0; i < f->def.output_count && !code; i++) {
        code = add_result(in, &f->def.outputs[i]);
        if (code) bd_status_suffix(in->im.st, "\n\t In function output %s", f->def.outputs[i].name);
    }
    return code;
}

// Nodes with an effect are roots, as are the function's control outputs.
static bool is_root(const bd_instantiation *in, const braid_op *n)
{
    bd_op_role role = bd_node_role(n);
    if (role == BD_ROLE_ARG || role == BD_ROLE_RETVAL || bd_node_is_stateful(n)) return true;
    for (int i = 0; i < in->f->control_ret_count; i++) {
        if (strcmp(in->f->control_rets[i].value, n->name) == 0) return true;
    }
    return false;
}

static braid_code prune(const bd_instantiation *in, const braid_graph *whole, braid_graph *out,
                        braid_status *st)
{
    bd_op_list roots = {0};
    for (size_t i = 0; i < whole->nodes.len; i++) {
        if (is_root(in, whole->nodes.items[i])) bd_array_push(&roots, whole->nodes.items[i]);
    }
    braid_op **map = bd_calloc(whole->nodes.len + 1, sizeof(braid_op *));
    const bd_subgraph_spec spec = {.roots = roots.items, .root_count = (int)roots.len};
    braid_code code = bd_subgraph(whole, &spec, out, map, st);
    bd_free(map);
    bd_array_free(&roots);
    return code;
}

static void take_types(const bd_instantiation *in, bd_function_body *out)
{
    bd_arena *arena = &out->graph->arena;
    out->arg_count = (int)in->arg_types.len;
    out->ret_count = (int)in->ret_types.len;
    out->arg_types =
        bd_arena_memdup(arena, in->arg_types.items, in->arg_types.len * sizeof *in->arg_types.items);
    out->ret_types =
        bd_arena_memdup(arena, in->ret_types.items, in->ret_types.len * sizeof *in->ret_types.items);
}

static braid_code build(bd_instantiation *in, bd_function_body *out)
{
    braid_code code = make_nodes(in);
    braid_graph whole;
    bd_graph_init(&whole);
    whole.library = bd_library_ref(in->library);
    in->im.g = &whole;
    if (!code) code = bd_import_make(&in->im);
    if (!code) {
        out->graph = braid_graph_new();
        out->graph->library = bd_library_ref(in->library);
        code = prune(in, &whole, out->graph, in->im.st);
        take_types(in, out);
    }
    in->im.g = NULL;
    bd_graph_fini(&whole);
    return code;
}

braid_code bd_function_instantiate(bd_library *l, const bd_func *func, bd_function_body *out,
                                   braid_status *st)
{
    *out = (bd_function_body){0};
    const bd_function *f = bd_library_find(l, func->name);
    if (!f) return bd_fail(st, BRAID_NOT_FOUND, "Function %.200s is not defined.", func->name);
    return bd_function_instantiate_as(l, f, func, out, st);
}

braid_code bd_function_instantiate_as(bd_library *l, const bd_function *f, const bd_func *func,
                                      bd_function_body *out, braid_status *st)
{
    *out = (bd_function_body){0};
    bd_instantiation in = {.library = l, .func = func, .f = f, .im = {.st = st}};
    braid_code code = build(&in, out);
    bd_import_fini(&in.im);
    bd_map_fini(&in.items);
    bd_array_free(&in.arg_types);
    bd_array_free(&in.ret_types);
    if (code) bd_function_body_fini(out);
    return code;
}

void bd_function_body_fini(bd_function_body *b)
{
    braid_graph_free(b->graph);
    *b = (bd_function_body){0};
}

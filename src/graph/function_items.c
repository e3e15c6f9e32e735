// Items: arguments of a function and outputs of its nodes, with their types, by the names that FunctionDef
// gives them.
#include "graph/function_items.h"

#include "base/check.h"
#include "base/strbuf.h"
#include "graph/node_resolve.h"
#include <string.h>

// Elements of all arguments of all nodes: a number attr of a few bytes must not make us allocate without
// bound.
#define ELEMENTS_MAX (1 << 22)

braid_code bd_instantiation_fail(bd_instantiation *in, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    braid_code code = bd_vfail(in->im.st, BRAID_INVALID_ARGUMENT, format, args);
    va_end(args);
    return code;
}

// ---- Types of arguments ----

const bd_attr *bd_attr_or_default(const bd_op_def *def, const bd_named_attr *attrs, int count,
                                  const char *name)
{
    const bd_attr *value = bd_attrs_find(attrs, count, name);
    if (value) return value;
    const bd_attr_def *attr = bd_op_def_attr(def, name);
    return attr && attr->has_default ? &attr->default_value : NULL;
}

static braid_code need_attr(bd_instantiation *in, const bd_op_def *def, const bd_named_attr *attrs, int count,
                            const char *name, bd_attr_kind kind, const bd_attr **out)
{
    *out = bd_attr_or_default(def, attrs, count, name);
    if (!*out) return bd_instantiation_fail(in, "type attr not found: %s", name);
    if ((*out)->kind != kind)
        return bd_instantiation_fail(in, "attr '%s' is of kind %s", name, bd_attr_kind_name((*out)->kind));
    return BRAID_OK;
}

braid_code bd_item_set_types(bd_instantiation *in, const bd_op_def *def, const bd_named_attr *attrs,
                             int count, const bd_arg_def *arg, bd_function_item *it)
{
    const bd_attr *attr;
    braid_code code;
    braid_dtype type = arg->type;
    int64_t n = 1;
    const bd_attr *list = NULL;
    if (arg->type_list_attr) {
        code = need_attr(in, def, attrs, count, arg->type_list_attr, BD_ATTR_LIST, &list);
        if (code) return code;
        if (list->list.count && list->item_kind != BD_ATTR_TYPE)
            return bd_instantiation_fail(in, "attr '%s' is no list of types", arg->type_list_attr);
        n = list->list.count;
    } else {
        if (arg->number_attr) {
            code = need_attr(in, def, attrs, count, arg->number_attr, BD_ATTR_INT, &attr);
            if (code) return code;
            n = attr->i;
        }
        if (arg->type_attr) {
            code = need_attr(in, def, attrs, count, arg->type_attr, BD_ATTR_TYPE, &attr);
            if (code) return code;
            type = attr->type;
        }
    }
    if (n < 0 || n > BD_NODE_OUTPUTS_MAX)
        return bd_instantiation_fail(in, "argument '%s' has %lld elements, not between 0 and %d", arg->name,
                                     (long long)n, BD_NODE_OUTPUTS_MAX);
    in->element_count += n;
    if (in->element_count > ELEMENTS_MAX)
        return bd_instantiation_fail(in, "function %s has more than %d edges", in->f->name, ELEMENTS_MAX);
    it->count = (int)n;
    it->types = BD_ARENA_ARRAY(&in->im.arena, braid_dtype, (size_t)n);
    for (int i = 0; i < it->count; i++) {
        braid_dtype t = list ? list->list.type[i] : type;
        it->types[i] = arg->is_ref ? bd_dtype_ref(t) : t;
    }
    return BRAID_OK;
}

// ---- What inputs may name ----

braid_code bd_item_add(bd_instantiation *in, const char *name, const bd_function_item *value)
{
    bd_function_item *kept = bd_arena_memdup(&in->im.arena, value, sizeof *value);
    if (bd_map_put(&in->items, name, kept))
        return bd_instantiation_fail(in, "Duplicated %s name: %s", value->is_arg ? "argument" : "node", name);
    return BRAID_OK;
}

bool bd_item_find(const bd_instantiation *in, const char *name, bd_function_item *out)
{
    const bd_function_item *it = bd_map_get(&in->items, name);
    if (it) {
        *out = *it;
        return true;
    }
    const char *colon = strrchr(name, ':');
    int64_t index;
    if (!colon || !bd_parse_int64(colon + 1, &index)) return false;
    it = bd_map_get_n(&in->items, name, (size_t)(colon - name));
    if (!it || index < 0 || index >= it->count) return false;
    *out = *it;
    out->first += (int)index;
    out->count = 1;
    out->types += index;
    return true;
}

bd_bytes bd_item_edge(bd_instantiation *in, const bd_function_item *it, int k)
{
    const char *text = it->is_arg ? in->im.nodes.items[it->first + k].name
                                  : bd_arena_asprintf(&in->im.arena, "%s:%d", it->node, it->first + k);
    return (bd_bytes){.data = text, .len = strlen(text)};
}

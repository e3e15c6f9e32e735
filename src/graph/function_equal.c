// Compares two FunctionDefs. Their bytes may differ, because the order of attrs in a message has no meaning.
#include "graph/function_internal.h"

#include <string.h>

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

// The order of attrs within a NameAttrList has no meaning.
static bool same_func(const bd_bytes *a, const bd_bytes *b)
{
    if (a->len == b->len && memcmp(a->data, b->data, a->len) == 0) return true;
    BD_STATUS(st);
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    bd_func x, y;
    bool same = false;
    if (!bd_func_parse(a, &arena, &tensors, &x, st) && !bd_func_parse(b, &arena, &tensors, &y, st)) {
        const bd_bytes p = bd_func_bytes(&x, &arena), q = bd_func_bytes(&y, &arena);
        same = p.len == q.len && memcmp(p.data, q.data, p.len) == 0;
    }
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    bd_arena_fini(&arena);
    return same;
}

static bool same_attrs(const bd_named_attr *a, int a_count, const bd_named_attr *b, int b_count)
{
    if (a_count != b_count) return false;
    for (int i = 0; i < a_count; i++) {
        const bd_attr *x = &a[i].value, *y = &b[i].value;
        if (strcmp(a[i].name, b[i].name) != 0) return false;
        bool same = x->kind == BD_ATTR_FUNC && y->kind == BD_ATTR_FUNC ? same_func(&x->s, &y->s)
                                                                       : bd_attr_equal(x, y);
        if (!same) return false;
    }
    return true;
}

static bool same_args(const bd_arg_def *a, int a_count, const bd_arg_def *b, int b_count)
{
    if (a_count != b_count) return false;
    for (int i = 0; i < a_count; i++) {
        if (!same_name(a[i].name, b[i].name) || a[i].type != b[i].type ||
            !same_name(a[i].type_attr, b[i].type_attr) || !same_name(a[i].number_attr, b[i].number_attr) ||
            !same_name(a[i].type_list_attr, b[i].type_list_attr) || a[i].is_ref != b[i].is_ref)
            return false;
    }
    return true;
}

static bool same_attr_defs(const bd_op_def *a, const bd_op_def *b)
{
    if (a->attr_count != b->attr_count) return false;
    for (int i = 0; i < a->attr_count; i++) {
        const bd_attr_def *x = &a->attrs[i], *y = bd_op_def_attr(b, x->name);
        if (!y || x->kind != y->kind || x->item_kind != y->item_kind || x->has_default != y->has_default ||
            x->has_minimum != y->has_minimum || x->minimum != y->minimum ||
            x->allowed_types != y->allowed_types || x->allowed_string_count != y->allowed_string_count)
            return false;
        if (x->has_default && !bd_attr_equal(&x->default_value, &y->default_value)) return false;
        for (int k = 0; k < x->allowed_string_count; k++) {
            if (strcmp(x->allowed_strings[k], y->allowed_strings[k]) != 0) return false;
        }
    }
    return true;
}

static bool same_rets(const bd_function_ret *a, int a_count, const bd_function_ret *b, int b_count)
{
    if (a_count != b_count) return false;
    for (int i = 0; i < a_count; i++) {
        if (strcmp(a[i].name, b[i].name) != 0 || strcmp(a[i].value, b[i].value) != 0) return false;
    }
    return true;
}

static bool same_node(const bd_function_node *a, const bd_function_node *b)
{
    if (strcmp(a->op, b->op) != 0 || strcmp(a->device, b->device) != 0 || a->input_count != b->input_count)
        return false;
    for (int i = 0; i < a->input_count; i++) {
        if (a->inputs[i].len != b->inputs[i].len ||
            memcmp(a->inputs[i].data, b->inputs[i].data, a->inputs[i].len) != 0)
            return false;
    }
    return same_attrs(a->attrs, a->attr_count, b->attrs, b->attr_count);
}

static bool same_nodes(const bd_function *a, const bd_function *b)
{
    if (a->node_count != b->node_count) return false;
    bd_map by_name = {0};
    for (int i = 0; i < a->node_count; i++)
        bd_map_put(&by_name, a->nodes[i].name, &a->nodes[i]);
    bool same = true;
    for (int i = 0; i < b->node_count && same; i++) {
        const bd_function_node *n = bd_map_get(&by_name, b->nodes[i].name);
        same = n && same_node(n, &b->nodes[i]);
    }
    bd_map_fini(&by_name);
    return same;
}

bool bd_function_equal(const bd_function *a, const bd_function *b)
{
    if (a->wire.len == b->wire.len && memcmp(a->wire.data, b->wire.data, a->wire.len) == 0) return true;
    return a->op.flags == b->op.flags &&
           same_args(a->def.inputs, a->def.input_count, b->def.inputs, b->def.input_count) &&
           same_args(a->def.outputs, a->def.output_count, b->def.outputs, b->def.output_count) &&
           same_attr_defs(&a->def, &b->def) && same_attrs(a->attrs, a->attr_count, b->attrs, b->attr_count) &&
           same_nodes(a, b) && same_rets(a->rets, a->ret_count, b->rets, b->ret_count) &&
           same_rets(a->control_rets, a->control_ret_count, b->control_rets, b->control_ret_count);
}

// Definitions of ops as messages: OpDef and OpList.
#include <braid/op_list.h>

#include "base/check.h"
#include "graph/attr_wire.h"
#include "graph/given.h"
#include "graph/op.h"
#include "graph/op_def_fields.h"
#include "tensor/dtype.h"
#include <string.h>

static void put_text(bd_wire_writer *w, uint32_t field, const char *text)
{
    if (text && *text) bd_wire_put_bytes(w, field, text, strlen(text));
}

static void put_flag(bd_wire_writer *w, uint32_t field, bool is_set)
{
    if (is_set) bd_wire_put_uint(w, field, 1);
}

static void put_arg(bd_wire_writer *out, uint32_t field, const bd_arg_def *arg)
{
    bd_given m;
    bd_wire_writer *w = bd_given_begin(&m);
    put_text(w, ARG_NAME, arg->name);
    if (arg->type != BRAID_INVALID) bd_wire_put_uint(w, ARG_TYPE, (uint64_t)arg->type);
    put_text(w, ARG_TYPE_ATTR, arg->type_attr);
    put_text(w, ARG_NUMBER_ATTR, arg->number_attr);
    put_text(w, ARG_TYPE_LIST_ATTR, arg->type_list_attr);
    put_flag(w, ARG_IS_REF, arg->is_ref);
    bd_given_put(&m, out, field);
}

static void put_value(bd_wire_writer *w, uint32_t field, const bd_attr *value)
{
    bd_wire_put_head(w, field, bd_attr_size(value));
    bd_attr_write(value, w);
}

static void put_allowed_values(bd_wire_writer *w, const bd_attr_def *attr)
{
    braid_dtype types[32];
    bd_attr types_value = {.kind = BD_ATTR_LIST, .item_kind = BD_ATTR_TYPE};
    for (int t = 1; t < 32; t++) {
        if ((attr->allowed_types & BD_DTYPE_BIT(t)) && bd_dtype_is_valid(t))
            types[types_value.list.count++] = (braid_dtype)t;
    }
    types_value.list.type = types;
    if (attr->allowed_types) put_value(w, ATTR_ALLOWED_VALUES, &types_value);
    if (!attr->allowed_strings) return;
    bd_attr strings = {.kind = BD_ATTR_LIST, .item_kind = BD_ATTR_STRING};
    strings.list.count = attr->allowed_string_count;
    strings.list.s = bd_calloc((size_t)strings.list.count, sizeof *strings.list.s);
    for (int i = 0; i < strings.list.count; i++)
        strings.list.s[i] =
            (bd_bytes){.data = attr->allowed_strings[i], .len = strlen(attr->allowed_strings[i])};
    put_value(w, ATTR_ALLOWED_VALUES, &strings);
    bd_free(strings.list.s);
}

static void put_attr(bd_wire_writer *out, const bd_attr_def *attr)
{
    bd_given m;
    bd_wire_writer *w = bd_given_begin(&m);
    put_text(w, ATTR_NAME, attr->name);
    put_text(w, ATTR_TYPE, bd_attr_type_name(attr->kind, attr->item_kind, (char[BD_ATTR_TYPE_NAME_MAX]){0}));
    if (attr->has_default) put_value(w, ATTR_DEFAULT_VALUE, &attr->default_value);
    put_flag(w, ATTR_HAS_MINIMUM, attr->has_minimum);
    if (attr->has_minimum && attr->minimum) bd_wire_put_uint(w, ATTR_MINIMUM, (uint64_t)attr->minimum);
    put_allowed_values(w, attr);
    bd_given_put(&m, out, OP_DEF_ATTR);
}

// The content of an OpDef.
static void put_def(bd_wire_writer *w, const bd_op_def *def)
{
    put_text(w, OP_DEF_NAME, def->name);
    for (int i = 0; i < def->input_count; i++)
        put_arg(w, OP_DEF_INPUT_ARG, &def->inputs[i]);
    for (int i = 0; i < def->output_count; i++)
        put_arg(w, OP_DEF_OUTPUT_ARG, &def->outputs[i]);
    for (int i = 0; i < def->attr_count; i++)
        put_attr(w, &def->attrs[i]);
    put_text(w, OP_DEF_SUMMARY, def->op->doc);
    put_text(w, OP_DEF_DESCRIPTION, def->op->deviation);
    put_flag(w, OP_DEF_IS_AGGREGATE, def->op->flags & BD_OP_AGGREGATE);
    put_flag(w, OP_DEF_IS_STATEFUL, def->op->flags & BD_OP_STATEFUL);
    put_flag(w, OP_DEF_IS_COMMUTATIVE, def->op->flags & BD_OP_COMMUTATIVE);
    put_flag(w, OP_DEF_ALLOWS_UNINITIALIZED_INPUT, def->op->flags & BD_OP_ALLOWS_UNINITIALIZED);
}

void *braid_op_def(const char *name, size_t *len, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    const bd_op_def *def = name ? bd_op_lookup(name) : NULL;
    *len = 0;
    if (!def) {
        const char *nearest = name ? bd_op_nearest(name) : NULL;
        bd_fail(st, BRAID_NOT_FOUND, "Op type not registered '%.100s'%s%s%s", name ? name : "",
                nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        return NULL;
    }
    bd_given m;
    put_def(bd_given_begin(&m), def);
    return bd_given_end(&m, "an OpDef", len, st);
}

void *braid_op_def_list(size_t *len, braid_status *status)
{
    BD_STATUS(own);
    bd_given list, m;
    bd_wire_writer *w = bd_given_begin(&list);
    for (size_t i = 0; i < bd_op_table_len; i++) {
        put_def(bd_given_begin(&m), bd_op_lookup(bd_op_table[i].name));
        bd_given_put(&m, w, OP_LIST_OP);
    }
    return bd_given_end(&list, "an OpList", len, status ? status : own);
}

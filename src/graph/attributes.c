// Attributes as front ends read and set them (braid/attributes.h).
#include <braid/attributes.h>

#include "base/check.h"
#include "graph/attr_wire.h"
#include "graph/builder.h"
#include "graph/given.h"
#include "graph/node_resolve.h"
#include "graph/turns.h"

// ---- Reading ----

_Static_assert((int)BRAID_ATTR_PLACEHOLDER == (int)BD_ATTR_PLACEHOLDER &&
                   (int)BRAID_ATTR_FUNC == (int)BD_ATTR_FUNC && (int)BRAID_ATTR_TYPE == (int)BD_ATTR_TYPE &&
                   (int)BRAID_ATTR_STRING == (int)BD_ATTR_STRING,
               "the public kinds have the numbers of ours");

int braid_op_num_attrs(const braid_op *op)
{
    return op ? op->attr_count : 0;
}

const char *braid_op_attr_name(const braid_op *op, int index)
{
    return op && index >= 0 && index < op->attr_count ? op->attrs[index].name : NULL;
}

// The kind of an empty list's items.
static bd_attr_kind defined_item_kind(const braid_op *op, const char *name)
{
    const bd_attr_def *def = op->def ? bd_op_def_attr(op->def, name) : NULL;
    return def ? def->item_kind : BD_ATTR_NONE;
}

bool braid_op_attr(const braid_op *op, const char *name, braid_attr *value)
{
    const bd_attr *a = op && name ? bd_node_attr(op, name) : NULL;
    if (!a) return false;
    *value = (braid_attr){.is_list = a->kind == BD_ATTR_LIST, .is_default = bd_node_attr_is_default(op, a)};
    if (value->is_list) {
        const bd_attr_kind item = a->list.count ? a->item_kind : defined_item_kind(op, name);
        value->kind = (braid_attr_kind)item;
        value->count = a->list.count;
        value->strings = a->list.s; // all members of the list's union are pointers
    } else {
        value->kind = (braid_attr_kind)a->kind;
        value->count = 1;
        value->strings = &a->s; // all members of the attr's union begin at one place
    }
    return true;
}

void *braid_op_attr_proto(const braid_op *op, const char *name, size_t *len, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    *len = 0;
    const bd_attr *a = op && name ? bd_node_attr(op, name) : NULL;
    if (!a) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Operation '%s' has no attr named '%.100s'.", braid_op_name(op),
                name ? name : "");
        return NULL;
    }
    bd_given m;
    bd_attr_write(a, bd_given_begin(&m));
    return bd_given_end(&m, "an AttrValue", len, st);
}

// ---- Setting ----

void braid_op_attr_value(braid_op_desc *d, const char *name, const void *attr_value, size_t len)
{
    if (!d) return;
    BD_STATUS(st);
    bd_attr value;
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    if (bd_attr_parse(attr_value, len, &value, &arena, &tensors, st))
        bd_op_desc_fail(d, "attr '%.100s': %s", name ? name : "", braid_status_message(st));
    else
        bd_op_desc_attr(d, name ? name : "", &value);
    bd_attr_tensors_free(&tensors);
    bd_arena_fini(&arena);
}

braid_code braid_op_set_attr(braid_op *op, const char *name, const void *attr_value, size_t len,
                             braid_status *status)
{
    BD_GRAPH_TURN(op ? op->graph : NULL);
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!op || !name || !*name)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no %s", op ? "name of an attr" : "node");
    if (!attr_value) return bd_node_set_attr(op, name, NULL, st);
    bd_attr value;
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    braid_code code = bd_attr_parse(attr_value, len, &value, &arena, &tensors, st);
    if (code)
        bd_status_prefix(st, "Node '%s' (op: '%s'): attr '%.100s': ", op->name, op->op_type, name);
    else
        code = bd_node_set_attr(op, name, &value, st);
    bd_attr_tensors_free(&tensors);
    bd_arena_fini(&arena);
    return code;
}

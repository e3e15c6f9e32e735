// NameAttrList messages: a function with values for its attrs, as attrs of type func hold it.
#include "graph/function_internal.h"

#include "graph/attr_wire.h"
#include "graph/graph.h"
#include "graph/graph_def_internal.h"
#include <string.h>

enum {
    FUNC_NAME = 1,
    FUNC_ATTR = 2,
};

static braid_code malformed(braid_status *st)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "malformed attr of type func");
}

static braid_code parse_attr(bd_wire_reader *in, bd_named_attr *attr, bd_arena *arena,
                             bd_attr_tensors *tensors, braid_status *st)
{
    uint32_t field;
    bd_wire_type type;
    bd_bytes key = {.data = ""};
    *attr = (bd_named_attr){.name = ""};
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        if (field == BD_MAP_ENTRY_KEY && type == BD_WIRE_BYTES) {
            bd_wire_get_bytes(in, &key, arena);
        } else if (field == BD_MAP_ENTRY_VALUE && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(in, &sub)) break;
            braid_code code = bd_attr_read(&sub, &attr->value, arena, tensors, st);
            if (code) return code;
        } else {
            bd_wire_skip(in, type);
        }
    }
    attr->name = key.data;
    return in->failed ? malformed(st) : BRAID_OK;
}

braid_code bd_func_parse(const bd_bytes *bytes, bd_arena *arena, bd_attr_tensors *tensors, bd_func *out,
                         braid_status *st)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, bytes->data, bytes->len);
    bd_bytes name = {.data = ""};
    BD_ARRAY(bd_named_attr) attrs = {0};
    uint32_t field;
    bd_wire_type type;
    braid_code code = BRAID_OK;
    while (!code && bd_wire_next(&in, &field, &type)) {
        bd_wire_reader sub;
        bd_named_attr attr;
        if (field == FUNC_NAME && type == BD_WIRE_BYTES) {
            bd_wire_get_bytes(&in, &name, arena);
        } else if (field == FUNC_ATTR && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(&in, &sub)) break;
            code = parse_attr(&sub, &attr, arena, tensors, st);
            if (!code) bd_array_push(&attrs, attr);
        } else {
            bd_wire_skip(&in, type);
        }
    }
    if (!code && (in.failed || memchr(name.data, 0, name.len))) code = malformed(st);
    *out = (bd_func){.name = name.data,
                     .attrs = bd_arena_memdup(arena, attrs.items, attrs.len * sizeof *attrs.items),
                     .attr_count = (int)attrs.len};
    bd_attrs_sort((bd_named_attr *)out->attrs, out->attr_count);
    bd_array_free(&attrs);
    return code;
}

bd_func bd_func_of_node(const braid_op *n, bd_arena *arena)
{
    bd_named_attr *attrs = BD_ARENA_ARRAY(arena, bd_named_attr, (size_t)n->attr_count);
    bd_func f = {.name = n->op_type, .attrs = attrs};
    for (int i = 0; i < n->attr_count; i++) {
        if (n->def && bd_op_def_attr(n->def, n->attrs[i].name)) attrs[f.attr_count++] = n->attrs[i];
    }
    return f;
}

static void put_attr(bd_wire_writer *out, const bd_named_attr *a)
{
    size_t value = bd_attr_size(&a->value);
    bd_wire_put_tag(out, FUNC_ATTR, BD_WIRE_BYTES);
    bd_wire_put_varint(out, bd_wire_bytes_size(strlen(a->name)) + bd_wire_bytes_size(value));
    bd_wire_put_bytes(out, BD_MAP_ENTRY_KEY, a->name, strlen(a->name));
    bd_wire_put_tag(out, BD_MAP_ENTRY_VALUE, BD_WIRE_BYTES);
    bd_wire_put_varint(out, value);
    bd_attr_write(&a->value, out);
}

bd_bytes bd_func_bytes(const bd_func *f, bd_arena *arena)
{
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_wire_put_bytes(&w, FUNC_NAME, f->name, strlen(f->name));
    for (int i = 0; i < f->attr_count; i++)
        put_attr(&w, &f->attrs[i]);
    bd_wire_writer_finish(&w);
    char *data = bd_arena_alloc(arena, m.bytes + 1);
    bd_message_gather(&m, data);
    data[m.bytes] = 0;
    bd_bytes bytes = {.data = data, .len = m.bytes};
    bd_message_fini(&m);
    return bytes;
}

const bd_attr *bd_attrs_find(const bd_named_attr *attrs, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(attrs[i].name, name) == 0) return &attrs[i].value;
    }
    return NULL;
}

// Libraries of functions: lookup, extension, reachability, serialization.
#include "graph/function_internal.h"

#include "base/check.h"
#include "graph/attr_wire.h"
#include "graph/graph.h"
#include <string.h>

enum {
    LIBRARY_FUNCTION = 1,
    LIBRARY_GRADIENT = 2,
    GRADIENT_FUNCTION_NAME = 1,
    GRADIENT_GRADIENT_FUNC = 2,
};

static bd_library *new_library(void)
{
    bd_library *l = bd_calloc(1, sizeof *l);
    atomic_init(&l->refs, 1);
    return l;
}

bd_library *bd_library_ref(bd_library *l)
{
    if (l) atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}

void bd_library_unref(bd_library *l)
{
    if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) return;
    size_t pos = 0;
    void *value;
    while (bd_map_next(&l->functions, &pos, NULL, &value))
        bd_function_unref(value);
    pos = 0;
    while (bd_map_next(&l->gradients, &pos, NULL, &value))
        bd_free(value);
    bd_map_fini(&l->functions);
    bd_map_fini(&l->gradients);
    bd_free(l);
}

size_t bd_library_bytes(const bd_library *l)
{
    return l ? sizeof *l + bd_map_bytes(&l->functions) + bd_map_bytes(&l->gradients) : 0;
}

const bd_function *bd_library_find(const bd_library *l, const char *name)
{
    return l ? bd_map_get(&l->functions, name) : NULL;
}

const char *bd_library_gradient(const bd_library *l, const char *function)
{
    return l ? bd_map_get(&l->gradients, function) : NULL;
}

// ---- Extending ----

static void put_function(bd_library *l, bd_function *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    bd_map_put(&l->functions, f->name, f);
}

static bd_library *copy_library(const bd_library *from)
{
    bd_library *l = new_library();
    size_t pos = 0;
    const char *key;
    void *value;
    while (from && bd_map_next(&from->functions, &pos, NULL, &value))
        put_function(l, value);
    pos = 0;
    while (from && bd_map_next(&from->gradients, &pos, &key, &value))
        bd_map_put(&l->gradients, key, bd_strdup(value));
    return l;
}

static braid_code add_function(bd_library *l, const bd_bytes *message, braid_status *st)
{
    bd_function *f;
    braid_code code = bd_function_parse(message, &f, st);
    if (code) return code;
    const bd_function *same = bd_library_find(l, f->name);
    if (bd_op_lookup(f->name))
        code = bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Cannot add function '%s' because an op with the same name already exists.", f->name);
    else if (same && !bd_function_equal(same, f))
        code = bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Cannot add function '%s' because a different function with the same name already exists.",
            f->name);
    else if (!same)
        put_function(l, f);
    bd_function_unref(f);
    return code;
}

static braid_code malformed(braid_status *st, const char *what)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Malformed GraphDef: %s", what);
}

static braid_code add_gradient(bd_library *l, bd_wire_reader *in, bd_arena *arena, braid_status *st)
{
    bd_bytes function = {.data = ""}, gradient = {.data = ""};
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        if (field == GRADIENT_FUNCTION_NAME && type == BD_WIRE_BYTES)
            bd_wire_get_bytes(in, &function, arena);
        else if (field == GRADIENT_GRADIENT_FUNC && type == BD_WIRE_BYTES)
            bd_wire_get_bytes(in, &gradient, arena);
        else
            bd_wire_skip(in, type);
    }
    if (in->failed) return malformed(st, "gradient of the library");
    const char *has = bd_library_gradient(l, function.data);
    if (has && strcmp(has, gradient.data) != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Cannot assign gradient function '%.200s' to '%.200s' because it already has gradient "
                       "function '%.200s'",
                       gradient.data, function.data, has);
    if (!has) bd_map_put(&l->gradients, function.data, bd_strdup(gradient.data));
    return BRAID_OK;
}

static braid_code add_message(bd_library *l, const bd_bytes *message, bd_arena *arena, braid_status *st)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, message->data, message->len), sub;
    uint32_t field;
    bd_wire_type type;
    braid_code code = BRAID_OK;
    while (!code && bd_wire_next(&in, &field, &type)) {
        bd_bytes function;
        if (field == LIBRARY_FUNCTION && type == BD_WIRE_BYTES) {
            if (bd_wire_get_bytes(&in, &function, arena)) code = add_function(l, &function, st);
        } else if (field == LIBRARY_GRADIENT && type == BD_WIRE_BYTES) {
            if (bd_wire_get_sub(&in, &sub)) code = add_gradient(l, &sub, arena, st);
        } else {
            bd_wire_skip(&in, type);
        }
    }
    return !code && in.failed ? malformed(st, "library") : code;
}

braid_code bd_library_extend(const bd_library *base, const bd_bytes *messages, int count, bd_library **out,
                             braid_status *st)
{
    bd_library *l = copy_library(base);
    bd_arena arena = {0};
    braid_code code = BRAID_OK;
    for (int i = 0; i < count && !code; i++)
        code = add_message(l, &messages[i], &arena, st);
    bd_arena_fini(&arena);
    if (code) bd_library_unref(l);
    *out = code ? NULL : l;
    return code;
}

// ---- What is reachable ----

typedef struct reaching {
    const bd_library *from;
    bd_library *to;
    BD_ARRAY(const bd_function *) open;
} reaching;

// Takes a function, the gradient function it has, the gradient function of that, and so on.
static void reach_name(reaching *r, const char *name)
{
    while (name) {
        bd_function *f = r->from ? bd_map_get(&r->from->functions, name) : NULL;
        const char *gradient = bd_library_gradient(r->from, name);
        if (f && !bd_library_find(r->to, name)) {
            put_function(r->to, f);
            bd_array_push(&r->open, f);
        }
        if (!gradient || bd_library_gradient(r->to, name)) return;
        bd_map_put(&r->to->gradients, name, bd_strdup(gradient));
        name = gradient;
    }
}

static void reach_attrs(reaching *r, const bd_named_attr *attrs, int count, int depth);

static void reach_func(reaching *r, const bd_bytes *bytes, int depth)
{
    enum {
        NESTED_MAX = 16
    };
    BD_STATUS(st);
    bd_arena arena = {0};
    bd_attr_tensors tensors = {0};
    bd_func f;
    if (depth < NESTED_MAX && !bd_func_parse(bytes, &arena, &tensors, &f, st)) {
        reach_name(r, f.name);
        reach_attrs(r, f.attrs, f.attr_count, depth + 1);
    }
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    bd_arena_fini(&arena);
}

static void reach_attrs(reaching *r, const bd_named_attr *attrs, int count, int depth)
{
    for (int i = 0; i < count; i++) {
        const bd_attr *a = &attrs[i].value;
        if (a->kind == BD_ATTR_FUNC) reach_func(r, &a->s, depth);
        for (int k = 0; a->kind == BD_ATTR_LIST && a->item_kind == BD_ATTR_FUNC && k < a->list.count; k++)
            reach_func(r, &a->list.s[k], depth);
    }
}

bd_library *bd_library_reachable(bd_library *l, const braid_graph *g)
{
    if (!l) return NULL;
    reaching r = {.from = l, .to = new_library()};
    for (size_t i = 0; i < g->nodes.len; i++) {
        reach_name(&r, g->nodes.items[i]->op_type);
        reach_attrs(&r, g->nodes.items[i]->attrs, g->nodes.items[i]->attr_count, 0);
    }
    while (r.open.len) {
        const bd_function *f = r.open.items[--r.open.len];
        for (int i = 0; i < f->node_count; i++) {
            reach_name(&r, f->nodes[i].op);
            reach_attrs(&r, f->nodes[i].attrs, f->nodes[i].attr_count, 0);
        }
    }
    bd_array_free(&r.open);
    if (bd_map_count(&r.to->functions) > 0 || bd_map_count(&r.to->gradients) > 0) return r.to;
    bd_library_unref(r.to);
    return NULL;
}

// ---- Writing ----

static size_t gradient_size(const char *function, const char *gradient)
{
    return bd_wire_bytes_size(strlen(function)) + bd_wire_bytes_size(strlen(gradient));
}

size_t bd_library_size(const bd_library *l)
{
    size_t size = 0, pos = 0;
    const char *key;
    void *value;
    while (bd_map_next(&l->functions, &pos, NULL, &value))
        size += bd_wire_bytes_size(((const bd_function *)value)->wire.len);
    pos = 0;
    while (bd_map_next(&l->gradients, &pos, &key, &value))
        size += bd_wire_bytes_size(gradient_size(key, value));
    return size;
}

void bd_library_write(const bd_library *l, bd_wire_writer *out)
{
    size_t pos = 0;
    const char *key;
    void *value;
    while (bd_map_next(&l->functions, &pos, NULL, &value)) {
        const bd_bytes *wire = &((const bd_function *)value)->wire;
        bd_wire_put_bytes(out, LIBRARY_FUNCTION, wire->data, wire->len);
    }
    pos = 0;
    while (bd_map_next(&l->gradients, &pos, &key, &value)) {
        bd_wire_put_tag(out, LIBRARY_GRADIENT, BD_WIRE_BYTES);
        bd_wire_put_varint(out, gradient_size(key, value));
        bd_wire_put_bytes(out, GRADIENT_FUNCTION_NAME, key, strlen(key));
        bd_wire_put_bytes(out, GRADIENT_GRADIENT_FUNC, value, strlen(value));
    }
}

// Attribute values: names of their kinds, comparing, copying.
#include "graph/attr.h"

#include "base/check.h"
#include "tensor/tensor_list.h"
#include "tensor/tensor_proto.h"
#include <stdio.h>
#include <string.h>

void bd_attr_tensors_free(bd_attr_tensors *tensors)
{
    for (size_t i = 0; i < tensors->len; i++)
        braid_tensor_free(tensors->items[i]);
    bd_array_free(tensors);
}

const char *bd_attr_kind_name(bd_attr_kind kind)
{
    static const char *const names[] = {
        [BD_ATTR_NONE] = "none",
        [BD_ATTR_STRING] = "string",
        [BD_ATTR_INT] = "int",
        [BD_ATTR_FLOAT] = "float",
        [BD_ATTR_BOOL] = "bool",
        [BD_ATTR_TYPE] = "type",
        [BD_ATTR_SHAPE] = "shape",
        [BD_ATTR_TENSOR] = "tensor",
        [BD_ATTR_FUNC] = "func",
        [BD_ATTR_LIST] = "list",
        [BD_ATTR_PLACEHOLDER] = "placeholder",
    };
    return names[kind];
}

const char *bd_attr_type_name(bd_attr_kind kind, bd_attr_kind item_kind, char buf[BD_ATTR_TYPE_NAME_MAX])
{
    if (kind == BD_ATTR_LIST && item_kind != BD_ATTR_NONE)
        snprintf(buf, BD_ATTR_TYPE_NAME_MAX, "list(%s)", bd_attr_kind_name(item_kind));
    else
        snprintf(buf, BD_ATTR_TYPE_NAME_MAX, "%s", bd_attr_kind_name(kind));
    return buf;
}

static bool bytes_equal(const bd_bytes *a, const bd_bytes *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static char *written(const braid_tensor *t, size_t *len)
{
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_tensor_proto_short_write(t, &w);
    bd_wire_writer_finish(&w);
    char *bytes = bd_malloc(m.bytes);
    bd_message_gather(&m, bytes);
    *len = m.bytes;
    bd_message_fini(&m);
    return bytes;
}

// Handles are the same when they are written the same.
static bool handles_equal(const braid_tensor *a, const braid_tensor *b)
{
    size_t a_len, b_len;
    char *x = written(a, &a_len), *y = written(b, &b_len);
    bool same = a_len == b_len && memcmp(x, y, a_len) == 0;
    bd_free(x);
    bd_free(y);
    return same;
}

// Limits of the nesting of lists and of the number of compared elements, because one list may occur in many
// places. Larger lists count as different.
#define DEPTH_MAX 64
#define VARIANTS_MAX 1000000

typedef struct comparison {
    int depth, left;
} comparison;

static bool tensor_equal(const braid_tensor *a, const braid_tensor *b, comparison *c);

static bool lists_equal(const bd_tensor_list *a, const bd_tensor_list *b, comparison *c)
{
    if (a->count != b->count || a->element_dtype != b->element_dtype || a->max_elements != b->max_elements ||
        !bd_shape_equal(&a->element_shape, &b->element_shape))
        return false;
    for (int64_t i = 0; i < a->count; i++) {
        const braid_tensor *x = &a->items[i], *y = &b->items[i];
        if (--c->left < 0 || bd_tensor_is_set(x) != bd_tensor_is_set(y)) return false;
        if (bd_tensor_is_set(x) && !tensor_equal(x, y, c)) return false;
    }
    return true;
}

// Lists are the same when their elements are, other variants only as themselves.
static bool variant_equal(bd_variant *a, bd_variant *b, comparison *c)
{
    if (a == b) return true;
    const bd_tensor_list *x = bd_tensor_list_of(a), *y = bd_tensor_list_of(b);
    if (!x || !y || --c->left < 0 || c->depth == DEPTH_MAX) return false;
    c->depth++;
    bool same = lists_equal(x, y, c);
    c->depth--;
    return same;
}

static bool tensor_equal(const braid_tensor *a, const braid_tensor *b, comparison *c)
{
    if (a == b) return true;
    if (a->dtype != b->dtype || !bd_shape_equal(&a->shape, &b->shape)) return false;
    if (a->data == b->data) return true;
    if (a->dtype == BRAID_STRING) {
        for (int64_t i = 0; i < bd_tensor_count(a); i++) {
            const bd_string *x = &bd_tensor_str(a)[i], *y = &bd_tensor_str(b)[i];
            if (x->len != y->len || (x->len && memcmp(x->data, y->data, x->len) != 0)) return false;
        }
        return true;
    }
    if (a->dtype == BRAID_RESOURCE) return handles_equal(a, b);
    if (a->dtype == BRAID_VARIANT) {
        for (int64_t i = 0; i < bd_tensor_count(a); i++)
            if (!variant_equal(bd_tensor_variant(a)[i], bd_tensor_variant(b)[i], c)) return false;
        return true;
    }
    if (braid_dtype_size(a->dtype) == 0) return bd_tensor_count(a) == 0;
    size_t bytes = bd_tensor_bytes(a);
    return bytes == 0 || memcmp(a->data, b->data, bytes) == 0;
}

static bool tensors_equal(const braid_tensor *a, const braid_tensor *b)
{
    return tensor_equal(a, b, &(comparison){.left = VARIANTS_MAX});
}

// Floats are compared by their bits: an attr that is NaN equals itself.
static bool float_equal(const float *a, const float *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool list_item_equal(const bd_attr *a, const bd_attr *b, int i)
{
    switch (a->item_kind) {
    case BD_ATTR_STRING:
    case BD_ATTR_FUNC: return bytes_equal(&a->list.s[i], &b->list.s[i]);
    case BD_ATTR_INT: return a->list.i[i] == b->list.i[i];
    case BD_ATTR_FLOAT: return float_equal(&a->list.f[i], &b->list.f[i]);
    case BD_ATTR_BOOL: return a->list.b[i] == b->list.b[i];
    case BD_ATTR_TYPE: return a->list.type[i] == b->list.type[i];
    case BD_ATTR_SHAPE: return bd_shape_equal(&a->list.shape[i], &b->list.shape[i]);
    case BD_ATTR_TENSOR: return tensors_equal(a->list.tensor[i], b->list.tensor[i]);
    default: BD_UNREACHABLE();
    }
}

bool bd_attr_equal(const bd_attr *a, const bd_attr *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case BD_ATTR_NONE: return true;
    case BD_ATTR_STRING:
    case BD_ATTR_FUNC:
    case BD_ATTR_PLACEHOLDER: return bytes_equal(&a->s, &b->s);
    case BD_ATTR_INT: return a->i == b->i;
    case BD_ATTR_FLOAT: return float_equal(&a->f, &b->f);
    case BD_ATTR_BOOL: return a->b == b->b;
    case BD_ATTR_TYPE: return a->type == b->type;
    case BD_ATTR_SHAPE: return bd_shape_equal(&a->shape, &b->shape);
    case BD_ATTR_TENSOR: return tensors_equal(a->tensor, b->tensor);
    case BD_ATTR_LIST: break;
    }
    if (a->list.count != b->list.count) return false;
    if (a->list.count == 0) return true;
    if (a->item_kind != b->item_kind) return false;
    for (int i = 0; i < a->list.count; i++) {
        if (!list_item_equal(a, b, i)) return false;
    }
    return true;
}

static bd_bytes copy_bytes(const bd_bytes *from, bd_arena *arena)
{
    return (bd_bytes){.data = bd_arena_strndup(arena, from->data ? from->data : "", from->len),
                      .len = from->len};
}

static braid_tensor *copy_tensor(const braid_tensor *from, bd_attr_tensors *tensors)
{
    braid_tensor *copy = braid_tensor_copy(from);
    bd_array_push(tensors, copy);
    return copy;
}

static void copy_list(bd_attr *to, const bd_attr *from, bd_arena *arena, bd_attr_tensors *tensors)
{
    size_t n = (size_t)from->list.count;
    if (n == 0) {
        to->list.s = NULL;
        return;
    }
    switch (from->item_kind) {
    case BD_ATTR_STRING:
    case BD_ATTR_FUNC:
        to->list.s = BD_ARENA_ARRAY(arena, bd_bytes, n);
        for (size_t i = 0; i < n; i++)
            to->list.s[i] = copy_bytes(&from->list.s[i], arena);
        break;
    case BD_ATTR_TENSOR:
        to->list.tensor = BD_ARENA_ARRAY(arena, braid_tensor *, n);
        for (size_t i = 0; i < n; i++)
            to->list.tensor[i] = copy_tensor(from->list.tensor[i], tensors);
        break;
    case BD_ATTR_INT: to->list.i = bd_arena_memdup(arena, from->list.i, n * sizeof(int64_t)); break;
    case BD_ATTR_FLOAT: to->list.f = bd_arena_memdup(arena, from->list.f, n * sizeof(float)); break;
    case BD_ATTR_BOOL: to->list.b = bd_arena_memdup(arena, from->list.b, n * sizeof(bool)); break;
    case BD_ATTR_TYPE:
        to->list.type = bd_arena_memdup(arena, from->list.type, n * sizeof(braid_dtype));
        break;
    case BD_ATTR_SHAPE:
        to->list.shape = bd_arena_memdup(arena, from->list.shape, n * sizeof(braid_shape));
        break;
    default: BD_UNREACHABLE();
    }
}

void bd_attr_copy(bd_attr *to, const bd_attr *from, bd_arena *arena, bd_attr_tensors *tensors)
{
    *to = *from;
    switch (from->kind) {
    case BD_ATTR_STRING:
    case BD_ATTR_FUNC:
    case BD_ATTR_PLACEHOLDER: to->s = copy_bytes(&from->s, arena); break;
    case BD_ATTR_TENSOR: to->tensor = copy_tensor(from->tensor, tensors); break;
    case BD_ATTR_LIST: copy_list(to, from, arena, tensors); break;
    default: break;
    }
}

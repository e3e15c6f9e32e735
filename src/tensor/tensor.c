// Tensors: making, copying and reading them, and the content of strings, resource handles and variants.
#include "tensor/tensor.h"

#include "base/alloc.h"
#include "base/check.h"
#include <string.h>

// ---- Content that is no plain bytes ----

static void release_strings(bd_buffer *b)
{
    bd_string *strings = b->data;
    for (size_t i = 0; i < b->size / sizeof *strings; i++)
        bd_free(strings[i].data);
}

static void release_handles(bd_buffer *b)
{
    bd_resource_handle *handles = b->data;
    for (size_t i = 0; i < b->size / sizeof *handles; i++) {
        bd_free(handles[i].device);
        bd_free(handles[i].container);
        bd_free(handles[i].name);
        bd_free(handles[i].type_name);
    }
}

static void release_variants(bd_buffer *b)
{
    bd_variant **variants = b->data;
    for (size_t i = 0; i < b->size / sizeof *variants; i++)
        bd_variant_unref(variants[i]);
}

// The function that frees the content of a buffer of `dtype`; NULL for plain types.
static void (*release_of(braid_dtype dtype))(bd_buffer *)
{
    switch (dtype) {
    case BRAID_STRING: return release_strings;
    case BRAID_RESOURCE: return release_handles;
    case BRAID_VARIANT: return release_variants;
    default: return NULL;
    }
}

// Bytes of an element in the buffer; 0 for types that no tensor can have.
static size_t element_size(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_STRING: return sizeof(bd_string);
    case BRAID_RESOURCE: return sizeof(bd_resource_handle);
    case BRAID_VARIANT: return sizeof(bd_variant *);
    default: return bd_dtype_is_ref(dtype) ? 0 : braid_dtype_size(dtype);
    }
}

static char *copy_text(const char *text)
{
    return text ? bd_strdup(text) : NULL;
}

static void clone_strings(const braid_tensor *to, const braid_tensor *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        bd_tensor_string_try_set(to, i, bd_tensor_str(from)[i].data, bd_tensor_str(from)[i].len);
    bd_tensor_spread_incomplete(to, from);
}

static void clone_handles(const braid_tensor *to, const braid_tensor *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const bd_resource_handle *h = &bd_tensor_handle(from)[i];
        bd_tensor_handle(to)[i] = (bd_resource_handle){
            .device = copy_text(h->device),
            .container = copy_text(h->container),
            .name = copy_text(h->name),
            .type_name = copy_text(h->type_name),
            .hash_code = h->hash_code,
        };
    }
}

static void clone_variants(const braid_tensor *to, const braid_tensor *from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        bd_tensor_variant(to)[i] = bd_variant_ref(bd_tensor_variant(from)[i]);
}

// ---- Making ----

// `bytes` of elements of `dtype`. False when memory is short.
static bool make(braid_tensor *t, braid_dtype dtype, const braid_shape *shape, size_t bytes)
{
    bd_buffer *buffer = bd_buffer_new(bytes);
    if (!buffer) {
        *t = (braid_tensor){0};
        return false;
    }
    buffer->release = release_of(dtype);
    if (buffer->release) memset(buffer->data, 0, bytes);
    *t = (braid_tensor){.dtype = dtype, .shape = *shape, .data = buffer->data, .buffer = buffer};
    return true;
}

// The bytes that elements of `dtype` in `shape` take, both from outside.
static braid_code checked_bytes(braid_dtype dtype, const braid_shape *shape, size_t *bytes, braid_status *st)
{
    size_t size = element_size(dtype);
    if (size == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a tensor cannot have elements of type %s",
                       braid_dtype_name(dtype));
    int64_t count;
    braid_code code = bd_shape_checked_count(shape, &count, st);
    if (code) return code;
    if (__builtin_mul_overflow((size_t)count, size, bytes) || *bytes > INT64_MAX)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "a %s tensor of shape %s is too large",
                       braid_dtype_name(dtype), bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
    return BRAID_OK;
}

braid_code bd_tensor_init(braid_tensor *t, braid_dtype dtype, const braid_shape *shape, braid_status *st)
{
    size_t bytes = 0;
    braid_code code = checked_bytes(dtype, shape, &bytes, st);
    if (code) {
        *t = (braid_tensor){0};
        return code;
    }
    braid_shape wanted = *shape; // may be that of `t`
    if (make(t, dtype, &wanted, bytes)) return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "out of memory for a %s tensor of shape %s (%zu bytes)",
                   braid_dtype_name(dtype), bd_shape_str(&wanted, (char[BD_SHAPE_STR_MAX]){0}), bytes);
}

bool bd_tensor_alloc(braid_tensor *t, braid_dtype dtype, const braid_shape *shape)
{
    BD_STATUS(st); // the caller words it
    size_t bytes;
    BD_ASSERT(element_size(dtype) != 0);
    // Checked here too: a product that overflows would give a buffer that is too small.
    if (checked_bytes(dtype, shape, &bytes, st) == BRAID_OK) return make(t, dtype, shape, bytes);
    *t = (braid_tensor){0};
    return false;
}

braid_code bd_tensor_clone(braid_tensor *to, const braid_tensor *from, braid_status *st)
{
    braid_tensor made;
    braid_code code = bd_tensor_init(&made, from->dtype, &from->shape, st);
    if (code) return code;
    int64_t count = bd_tensor_count(from);
    if (from->dtype == BRAID_STRING)
        clone_strings(&made, from, count);
    else if (from->dtype == BRAID_RESOURCE)
        clone_handles(&made, from, count);
    else if (from->dtype == BRAID_VARIANT)
        clone_variants(&made, from, count);
    else if (count)
        memcpy(made.data, from->data, (size_t)count * braid_dtype_size(from->dtype));
    if (bd_tensor_is_incomplete(&made)) {
        bd_tensor_fini(&made);
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "out of memory for the strings of a tensor of shape %s",
                       bd_shape_str(&from->shape, (char[BD_SHAPE_STR_MAX]){0}));
    }
    *to = made;
    return BRAID_OK;
}

void bd_tensor_reshape(braid_tensor *to, const braid_tensor *from, const braid_shape *shape)
{
    BD_ASSERT(bd_shape_count(shape) == bd_shape_count(&from->shape));
    braid_shape wanted = *shape; // may be that of `to`
    if (to != from) bd_tensor_ref(to, from);
    to->shape = wanted;
}

// ---- Reading and setting ----

size_t bd_tensor_bytes(const braid_tensor *t)
{
    if (t->dtype != BRAID_STRING) return (size_t)bd_tensor_count(t) * braid_dtype_size(t->dtype);
    size_t bytes = 0;
    for (int64_t i = 0, count = bd_tensor_count(t); i < count; i++)
        bytes += bd_tensor_str(t)[i].len;
    return bytes;
}

int64_t bd_tensor_index(const braid_tensor *t, int64_t i)
{
    if (t->dtype == BRAID_INT32) return bd_tensor_i32(t)[i];
    if (t->dtype == BRAID_INT16) return ((const int16_t *)t->data)[i];
    BD_ASSERT(t->dtype == BRAID_INT64);
    return bd_tensor_i64(t)[i];
}

void bd_tensor_string_set(braid_tensor *t, int64_t i, const char *data, size_t len)
{
    bd_string *s = &bd_tensor_str(t)[i];
    char *copy = len ? bd_memdup(data, len) : NULL;
    bd_free(s->data);
    *s = (bd_string){.data = copy, .len = len};
}

bool bd_tensor_string_try_set(const braid_tensor *t, int64_t i, const char *data, size_t len)
{
    bd_string *s = &bd_tensor_str(t)[i];
    char *copy = len ? bd_try_malloc(len) : NULL;
    const bool is_short = len && !copy;
    if (copy) memcpy(copy, data, len);
    if (is_short) atomic_store_explicit(&t->buffer->is_incomplete, true, memory_order_relaxed);
    bd_free(s->data);
    *s = (bd_string){.data = copy, .len = is_short ? 0 : len};
    return !is_short;
}

void bd_tensor_variant_set(braid_tensor *t, int64_t i, bd_variant *v)
{
    bd_variant **element = &bd_tensor_variant(t)[i], *old = *element;
    *element = bd_variant_ref(v);
    bd_variant_unref(old);
}

// Tensors inside Braid: values of struct braid_tensor, passed by pointer, that own one reference to a buffer.
#ifndef BD_TENSOR_TENSOR_H
#define BD_TENSOR_TENSOR_H

#include "base/status.h"
#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/variant.h"

// An all-zero struct is "no tensor" (dtype BRAID_INVALID); bd_tensor_fini accepts it.
struct braid_tensor {
    braid_dtype dtype;
    braid_shape shape;
    void *data;        // first element; inside `buffer`
    bd_buffer *buffer; // one reference owned by this struct
};

// An element of a string tensor. `data` is owned by the buffer, NULL when len is 0.
typedef struct bd_string {
    char *data;
    size_t len;
} bd_string;

// The element of a RESOURCE tensor: the name of a resource of a device. Strings are owned by the buffer.
typedef struct bd_resource_handle {
    char *device, *container, *name, *type_name;
    uint64_t hash_code;
} bd_resource_handle;

// Makes `t` a tensor of a known shape with uninitialized elements (empty strings, zero handles, empty
// variants). On an error `t` is "no tensor". ResourceExhausted, InvalidArgument.
braid_code bd_tensor_init(braid_tensor *t, braid_dtype dtype, const braid_shape *shape, braid_status *st);
// The same when the shape is that of an existing tensor or otherwise trusted; false when memory is short.
bool bd_tensor_alloc(braid_tensor *t, braid_dtype dtype, const braid_shape *shape);

static inline void bd_tensor_fini(braid_tensor *t)
{
    bd_buffer_unref(t->buffer);
    t->buffer = NULL;
    t->data = NULL;
    t->dtype = BRAID_INVALID;
}

// A second reference to the same content.
static inline void bd_tensor_ref(braid_tensor *to, const braid_tensor *from)
{
    *to = *from;
    bd_buffer_ref(to->buffer);
}
static inline void bd_tensor_move(braid_tensor *to, braid_tensor *from)
{
    *to = *from;
    from->buffer = NULL;
    from->data = NULL;
    from->dtype = BRAID_INVALID;
}
static inline bool bd_tensor_is_set(const braid_tensor *t)
{
    return t->dtype != BRAID_INVALID;
}

// A tensor with its own copy of the content.
braid_code bd_tensor_clone(braid_tensor *to, const braid_tensor *from, braid_status *st);

// The same content in another shape of as many elements (asserted).
void bd_tensor_reshape(braid_tensor *to, const braid_tensor *from, const braid_shape *shape);

static inline int64_t bd_tensor_count(const braid_tensor *t)
{
    return bd_shape_count(&t->shape);
}
size_t bd_tensor_bytes(const braid_tensor *t); // of plain data; for strings the sum of lengths

static inline float *bd_tensor_f32(const braid_tensor *t)
{
    return (float *)t->data;
}
static inline double *bd_tensor_f64(const braid_tensor *t)
{
    return (double *)t->data;
}
static inline int32_t *bd_tensor_i32(const braid_tensor *t)
{
    return (int32_t *)t->data;
}
static inline int64_t *bd_tensor_i64(const braid_tensor *t)
{
    return (int64_t *)t->data;
}
static inline bool *bd_tensor_bool(const braid_tensor *t)
{
    return (bool *)t->data;
}
static inline bd_string *bd_tensor_str(const braid_tensor *t)
{
    return (bd_string *)t->data;
}
static inline bd_resource_handle *bd_tensor_handle(const braid_tensor *t)
{
    return (bd_resource_handle *)t->data;
}

// The elements of a VARIANT tensor: references, owned by the buffer; NULL is an empty variant.
static inline bd_variant **bd_tensor_variant(const braid_tensor *t)
{
    return (bd_variant **)t->data;
}

// Element `i` of an int16, int32 or int64 tensor (asserted).
int64_t bd_tensor_index(const braid_tensor *t, int64_t i);

// Sets string element `i` to a copy. For small texts: memory for them is never short.
void bd_tensor_string_set(braid_tensor *t, int64_t i, const char *data, size_t len);
// The same for a length that a peer determines. Returns false when memory is short: the element is empty, and
// the tensor's buffer is marked incomplete, so that an execution with it as an output fails.
bool bd_tensor_string_try_set(const braid_tensor *t, int64_t i, const char *data, size_t len);

// Whether a string is missing because memory was short.
static inline bool bd_tensor_is_incomplete(const braid_tensor *t)
{
    return t->dtype == BRAID_STRING && t->buffer &&
           atomic_load_explicit(&t->buffer->is_incomplete, memory_order_relaxed);
}
// A copy of elements of an incomplete tensor is incomplete, too.
static inline void bd_tensor_spread_incomplete(const braid_tensor *to, const braid_tensor *from)
{
    if (bd_tensor_is_incomplete(from) && to->buffer)
        atomic_store_explicit(&to->buffer->is_incomplete, true, memory_order_relaxed);
}

// Sets variant element `i`, with a reference of its own; NULL empties it.
void bd_tensor_variant_set(braid_tensor *t, int64_t i, bd_variant *v);

// Appends dtype, shape and the first `max_elements` values for messages and text formats: `float[2,3] [1 2
// 3]...`.
void bd_tensor_print(const braid_tensor *t, int max_elements, bd_strbuf *out);
// Appends one element so.
void bd_tensor_print_element(const braid_tensor *t, int64_t i, bd_strbuf *out);

#endif

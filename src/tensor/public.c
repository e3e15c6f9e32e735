// The tensor functions of the C API: tensors on the heap.
#include "base/alloc.h"
#include "base/check.h"
#include "tensor/shared_memory.h"
#include "tensor/tensor.h"
#include <string.h>

// Moves `t` to the heap.
static braid_tensor *boxed(braid_tensor *t)
{
    braid_tensor *box = bd_malloc(sizeof *box);
    *box = *t;
    return box;
}

static void report(braid_status *to, braid_status *from)
{
    if (to) bd_status_move(to, from);
}

braid_tensor *braid_tensor_new(braid_dtype dtype, braid_shape shape, braid_status *status)
{
    BD_STATUS(st);
    braid_tensor t;
    if (dtype == BRAID_VARIANT) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "braid_tensor_new: only ops make tensors of type variant");
        report(status, st);
        return NULL;
    }
    if (bd_tensor_init(&t, dtype, &shape, st)) {
        report(status, st);
        return NULL;
    }
    return boxed(&t);
}

// Returns true for types whose elements a caller can pass as bytes.
static bool check_plain(braid_dtype dtype, const char *function, braid_status *st)
{
    if (bd_dtype_is_valid((int)dtype) && !bd_dtype_is_ref(dtype) && braid_dtype_size(dtype)) return true;
    bd_fail(st, BRAID_INVALID_ARGUMENT, "%s: elements of type %s are no plain bytes", function,
            braid_dtype_name(dtype));
    return false;
}

braid_tensor *braid_tensor_from(braid_dtype dtype, braid_shape shape, const void *data, braid_status *status)
{
    BD_STATUS(st);
    braid_tensor t;
    if (!check_plain(dtype, "braid_tensor_from", st) || bd_tensor_init(&t, dtype, &shape, st)) {
        report(status, st);
        return NULL;
    }
    if (t.buffer->size) memcpy(t.data, data, t.buffer->size);
    return boxed(&t);
}

braid_tensor *braid_tensor_borrow(braid_dtype dtype, braid_shape shape, void *data,
                                  void (*release)(void *arg), void *arg, braid_status *status)
{
    BD_STATUS(st);
    int64_t count;
    size_t bytes;
    if (!check_plain(dtype, "braid_tensor_borrow", st) || bd_shape_checked_count(&shape, &count, st)) {
        report(status, st);
        return NULL;
    }
    if (__builtin_mul_overflow((size_t)count, braid_dtype_size(dtype), &bytes)) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "braid_tensor_borrow: no memory is that large");
        report(status, st);
        return NULL;
    }
    return boxed(&(braid_tensor){
        .dtype = dtype, .shape = shape, .data = data, .buffer = bd_buffer_wrap(data, bytes, release, arg)});
}

static braid_tensor *scalar(braid_dtype dtype, const void *value)
{
    braid_tensor t;
    bool made = bd_tensor_alloc(&t, dtype, &BD_SCALAR);
    BD_ASSERT(made); // 64 bytes: like all small memory, not expected to fail
    if (value) memcpy(t.data, value, braid_dtype_size(dtype));
    return boxed(&t);
}

braid_tensor *braid_tensor_float(float value)
{
    return scalar(BRAID_FLOAT, &value);
}

braid_tensor *braid_tensor_int32(int32_t value)
{
    return scalar(BRAID_INT32, &value);
}

braid_tensor *braid_tensor_int64(int64_t value)
{
    return scalar(BRAID_INT64, &value);
}

braid_tensor *braid_tensor_bool(bool value)
{
    return scalar(BRAID_BOOL, &value);
}

braid_tensor *braid_tensor_string(const char *value)
{
    braid_tensor *t = scalar(BRAID_STRING, NULL);
    bd_tensor_string_set(t, 0, value, strlen(value));
    return t;
}

braid_tensor *braid_tensor_copy(const braid_tensor *tensor)
{
    braid_tensor t;
    bd_tensor_ref(&t, tensor);
    return boxed(&t);
}

void braid_tensor_free(braid_tensor *tensor)
{
    if (!tensor) return;
    bd_tensor_fini(tensor);
    bd_free(tensor);
}

braid_dtype braid_tensor_dtype(const braid_tensor *tensor)
{
    return tensor->dtype;
}

braid_shape braid_tensor_shape(const braid_tensor *tensor)
{
    return tensor->shape;
}

int64_t braid_tensor_num_elements(const braid_tensor *tensor)
{
    return bd_tensor_count(tensor);
}

void *braid_tensor_data(const braid_tensor *tensor)
{
    return tensor->data;
}

bool braid_tensor_is_exclusive(const braid_tensor *tensor)
{
    const bd_buffer *b = tensor->buffer;
    return b && b->size_class != BD_BUFFER_FOREIGN && !b->release && bd_buffer_is_unique(b) &&
           !atomic_load_explicit(&b->is_variable, memory_order_acquire) &&
           bd_tensor_bytes(tensor) >= b->size / 2 && !bd_shared_memory_has(b->data);
}

size_t braid_tensor_bytes(const braid_tensor *tensor)
{
    return tensor->dtype == BRAID_STRING ? 0 : bd_tensor_bytes(tensor);
}

const char *braid_tensor_string_at(const braid_tensor *tensor, int64_t index, size_t *len)
{
    BD_ASSERT(tensor->dtype == BRAID_STRING && index >= 0 && index < bd_tensor_count(tensor));
    const bd_string *s = &bd_tensor_str(tensor)[index];
    if (len) *len = s->len;
    return s->data ? s->data : "";
}

void braid_tensor_set_string(braid_tensor *tensor, int64_t index, const char *data, size_t len)
{
    BD_ASSERT(tensor->dtype == BRAID_STRING && index >= 0 && index < bd_tensor_count(tensor));
    bd_tensor_string_set(tensor, index, data, len);
}

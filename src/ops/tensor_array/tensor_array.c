// Arrays of tensors that live for one step.
#include "ops/tensor_array/tensor_array.h"

#include "base/alloc.h"
#include "base/check.h"
#include "ops/common/element.h"
#include "ops/state/variable.h"

#include <string.h>

#define SIZE_MAX_ELEMENTS (INT64_C(1) << 20) // an element takes some hundred bytes before it is written

typedef struct element {
    braid_tensor tensor; // "no tensor" until written and after it was given away
    braid_shape shape;   // once it counts as written
    bool is_written; // an element of a gradient array whose source element was written: it is zeros at first
    bool is_read;
} element;

struct bd_tensor_array {
    bd_resource base;
    bd_mutex mu;
    braid_dtype dtype;
    braid_shape element_shape;                                                     // guarded by mu
    bool dynamic_size, clear_after_read, identical_shapes, is_gradient, is_closed; // guarded by mu
    // guarded by mu; -1: not marked
    int64_t marked_size;
    BD_ARRAY(element) elements; // guarded by mu
};

bd_resource *bd_tensor_array_resource(bd_tensor_array *a)
{
    return &a->base;
}

bd_tensor_array *bd_tensor_array_of(bd_resource *r)
{
    return BD_CONTAINER_OF(r, bd_tensor_array, base);
}

braid_dtype bd_tensor_array_dtype(const bd_tensor_array *a)
{
    return a->dtype;
}

static void clear_locked(bd_tensor_array *a)
{
    for (size_t i = 0; i < a->elements.len; i++)
        bd_tensor_fini(&a->elements.items[i].tensor);
    bd_array_free(&a->elements);
}

static void array_destroy(bd_resource *r)
{
    bd_tensor_array *a = bd_tensor_array_of(r);
    clear_locked(a);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

const bd_resource_type bd_tensor_array_type = {.name = "TensorArray", .destroy = array_destroy};

static void grow_locked(bd_tensor_array *a, int64_t size)
{
    const element e = {0};
    while ((int64_t)a->elements.len < size)
        bd_array_push(&a->elements, e);
}

static braid_code check_size(int64_t size, braid_status *st)
{
    if (size < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Size should be >= 0, but is %lld", (long long)size);
    if (size > SIZE_MAX_ELEMENTS)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A TensorArray of %lld elements; there may be %lld",
                       (long long)size, (long long)SIZE_MAX_ELEMENTS);
    return BRAID_OK;
}

braid_code bd_tensor_array_new(const bd_tensor_array_options *o, bd_tensor_array **out, braid_status *st)
{
    braid_code code = check_size(o->size, st);
    if (code) return code;
    bd_tensor_array *a = *out = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &bd_tensor_array_type);
    bd_mutex_init(&a->mu);
    a->dtype = o->dtype;
    a->element_shape = o->element_shape;
    a->dynamic_size = o->dynamic_size;
    a->clear_after_read = o->clear_after_read;
    a->identical_shapes = o->identical_shapes;
    a->marked_size = -1;
    grow_locked(a, o->size);
    return BRAID_OK;
}

static braid_code check_open_locked(const bd_tensor_array *a, braid_status *st)
{
    return a->is_closed ? bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorArray has already been closed.")
                        : BRAID_OK;
}

// `shape` behind `prepend`; unknown stays unknown.
static braid_code join_shapes(const braid_shape *prepend, const braid_shape *shape, braid_shape *out,
                              braid_status *st)
{
    *out = *shape;
    if (shape->rank < 0) return BRAID_OK;
    if (prepend->rank + shape->rank > BRAID_RANK_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A gradient would have %d dimensions; there may be %d",
                       prepend->rank + shape->rank, BRAID_RANK_MAX);
    out->rank = prepend->rank + shape->rank;
    memcpy(out->dims, prepend->dims, (size_t)prepend->rank * sizeof *out->dims);
    memcpy(out->dims + prepend->rank, shape->dims, (size_t)shape->rank * sizeof *out->dims);
    return BRAID_OK;
}

static braid_code copy_shapes(bd_tensor_array *of, const braid_shape *prepend, bd_tensor_array *a,
                              braid_status *st)
{
    braid_code code = BRAID_OK;
    for (size_t i = 0; i < of->elements.len && !code; i++) {
        const element *from = &of->elements.items[i];
        element *e = &a->elements.items[i];
        e->is_written = from->is_written;
        if (from->is_written) code = join_shapes(prepend, &from->shape, &e->shape, st);
    }
    return code;
}

static braid_code new_gradient_locked(bd_tensor_array *of, const braid_shape *prepend, bd_tensor_array **a,
                                      braid_status *st)
{
    bd_tensor_array_options o = {.dtype = of->dtype,
                                 .size = (int64_t)of->elements.len,
                                 .clear_after_read = true,
                                 .identical_shapes = of->identical_shapes};
    braid_code code = check_open_locked(of, st);
    if (!code) code = join_shapes(prepend, &of->element_shape, &o.element_shape, st);
    if (!code) code = bd_tensor_array_new(&o, a, st);
    if (code) return code;
    of->dynamic_size = false;
    (*a)->is_gradient = true;
    (*a)->marked_size = of->marked_size;
    code = copy_shapes(of, prepend, *a, st);
    if (code) bd_resource_unref(&(*a)->base);
    return code;
}

braid_code bd_tensor_array_new_gradient(bd_tensor_array *of, const braid_shape *prepend,
                                        bd_tensor_array **out, braid_status *st)
{
    bd_mutex_lock(&of->mu);
    braid_code code = new_gradient_locked(of, prepend, out, st);
    bd_mutex_unlock(&of->mu);
    return code;
}

// ---- What is known of it ----

braid_code bd_tensor_array_size(bd_tensor_array *a, int64_t *size, braid_status *st)
{
    return bd_tensor_array_size_for(a, 0, size, st);
}

braid_code bd_tensor_array_size_for(bd_tensor_array *a, int64_t count, int64_t *size, braid_status *st)
{
    bd_mutex_lock(&a->mu);
    braid_code code = check_open_locked(a, st);
    *size = (int64_t)a->elements.len;
    if (a->dynamic_size && count > *size) *size = count;
    bd_mutex_unlock(&a->mu);
    return code;
}

braid_code bd_tensor_array_whole(bd_tensor_array *a, int64_t *size, braid_status *st)
{
    bd_mutex_lock(&a->mu);
    braid_code code = check_open_locked(a, st);
    *size = a->is_gradient && a->marked_size >= 0 ? a->marked_size : (int64_t)a->elements.len;
    bd_mutex_unlock(&a->mu);
    return code;
}

void bd_tensor_array_mark(bd_tensor_array *a, int64_t size)
{
    bd_mutex_lock(&a->mu);
    if (!a->is_gradient) a->marked_size = size;
    bd_mutex_unlock(&a->mu);
}

static braid_code merge_shape_locked(bd_tensor_array *a, const braid_shape *shape, braid_status *st)
{
    char own[BD_SHAPE_STR_MAX], other[BD_SHAPE_STR_MAX];
    braid_shape merged;
    if (bd_shape_merge(&a->element_shape, shape, &merged)) {
        a->element_shape = merged;
        return BRAID_OK;
    }
    if (a->element_shape.rank != shape->rank)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Incompatible ranks during merge: %d vs. %d",
                       a->element_shape.rank, shape->rank);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                   bd_shape_str(&a->element_shape, own), bd_shape_str(shape, other));
}

braid_code bd_tensor_array_merge_shape(bd_tensor_array *a, braid_shape *shape, braid_status *st)
{
    bd_mutex_lock(&a->mu);
    braid_code code = merge_shape_locked(a, shape, st);
    *shape = a->element_shape;
    bd_mutex_unlock(&a->mu);
    return code;
}

// ---- Writing ----

static braid_code find_to_write(bd_tensor_array *a, int64_t index, element **e, braid_status *st)
{
    braid_code code = check_open_locked(a, st);
    int64_t size = (int64_t)a->elements.len;
    if (code) return code;
    if (index < 0 || (index >= size && !a->dynamic_size))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Tried to write to index %lld but array is not resizeable and size is: %lld",
                       (long long)index, (long long)size);
    code = check_size(index < INT64_MAX ? index + 1 : index, st);
    if (code) return code;
    grow_locked(a, index + 1);
    *e = &a->elements.items[index];
    return BRAID_OK;
}

static braid_code check_value(bd_tensor_array *a, int64_t index, const braid_tensor *value, braid_status *st)
{
    char want[BD_SHAPE_STR_MAX], got[BD_SHAPE_STR_MAX];
    braid_shape merged;
    if (value->dtype != a->dtype)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Could not write to TensorArray index %lld because the value dtype is %s but TensorArray "
            "dtype is %s.",
            (long long)index, braid_dtype_name(value->dtype), braid_dtype_name(a->dtype));
    if (!bd_shape_merge(&a->element_shape, &value->shape, &merged))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Could not write to TensorArray index %lld because the value shape is %s which is "
                       "incompatible with the TensorArray's inferred element shape: %s (consider setting "
                       "infer_shape=False).",
                       (long long)index, bd_shape_str(&value->shape, got),
                       bd_shape_str(&a->element_shape, want));
    if (a->identical_shapes) a->element_shape = value->shape;
    return BRAID_OK;
}

// Adds up the gradients of one element from several reads.
static braid_code add_to_element(element *e, const braid_tensor *value, braid_status *st)
{
    bd_update_fn add = bd_update_function(value->dtype, BD_UPDATE_ADD);
    if (!add)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorArray does not add up tensors of type %s",
                       braid_dtype_name(value->dtype));
    braid_tensor sum;
    if (!bd_tensor_alloc(&sum, value->dtype, &value->shape))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when adding to a TensorArray");
    bd_elements_copy(&sum, 0, &e->tensor, 0, bd_tensor_count(&sum));
    add(sum.data, value->data, bd_tensor_count(&sum));
    bd_tensor_fini(&e->tensor);
    bd_tensor_move(&e->tensor, &sum);
    return BRAID_OK;
}

// An element that is written already takes gradients only, of its shape.
static braid_code check_again(const bd_tensor_array *a, const element *e, int64_t index,
                              const braid_tensor *value, braid_status *st)
{
    char want[BD_SHAPE_STR_MAX], got[BD_SHAPE_STR_MAX];
    if (e->is_read)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Could not write to TensorArray index %lld because it has already been read.",
                       (long long)index);
    if (!a->is_gradient)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Could not write to TensorArray index %lld because it has already been written to.",
                       (long long)index);
    if (bd_shape_equal(&e->shape, &value->shape)) return BRAID_OK;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Could not aggregate to TensorArray index %lld because the existing shape is %s but the new "
        "input shape is %s.",
        (long long)index, bd_shape_str(&e->shape, want), bd_shape_str(&value->shape, got));
}

static braid_code write_locked(bd_tensor_array *a, int64_t index, const braid_tensor *value, braid_status *st)
{
    element *e;
    braid_code code = find_to_write(a, index, &e, st);
    if (!code) code = check_value(a, index, value, st);
    if (!code && e->is_written) code = check_again(a, e, index, value, st);
    if (code) return code;
    if (bd_tensor_is_set(&e->tensor)) return add_to_element(e, value, st);
    if (!bd_tensor_keep(&e->tensor, value))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when writing to a TensorArray");
    e->shape = value->shape;
    e->is_written = true;
    return BRAID_OK;
}

braid_code bd_tensor_array_write(bd_tensor_array *a, int64_t index, const braid_tensor *value,
                                 braid_status *st)
{
    bd_mutex_lock(&a->mu);
    braid_code code = write_locked(a, index, value, st);
    bd_mutex_unlock(&a->mu);
    return code;
}

// ---- Reading ----

static braid_code make_zeros(const bd_tensor_array *a, int64_t index, element *e, braid_status *st)
{
    char text[BD_SHAPE_STR_MAX];
    const size_t size = braid_dtype_size(a->dtype);
    if (!e->is_written) e->shape = a->element_shape;
    if (!bd_shape_is_known(&e->shape))
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Could not read from TensorArray index %lld.  Furthermore, the element shape is not fully "
            "defined: %s.  It has not been written to, and zeros in its place need a shape: give the "
            "array (of gradients: the array they are of) its whole element_shape",
            (long long)index, e->shape.rank < 0 ? "<unknown>" : bd_shape_str(&e->shape, text));
    braid_code code = bd_tensor_init(&e->tensor, a->dtype, &e->shape, st);
    if (code) return code;
    if (size == 0 && bd_tensor_count(&e->tensor) > 0) {
        bd_tensor_fini(&e->tensor);
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Could not read from TensorArray index %lld because it has not been written to, and there are "
            "no zeros of type %s",
            (long long)index, braid_dtype_name(a->dtype));
    }
    if (size > 0) memset(e->tensor.data, 0, (size_t)bd_tensor_count(&e->tensor) * size);
    e->is_written = true;
    return BRAID_OK;
}

static braid_code read_locked(bd_tensor_array *a, int64_t index, braid_tensor *value, braid_status *st)
{
    braid_code code = check_open_locked(a, st);
    if (code) return code;
    if (index < 0 || (index >= (int64_t)a->elements.len && !a->is_gradient))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Tried to read from index %lld but array size is: %zu",
                       (long long)index, a->elements.len);
    code = check_size(index < INT64_MAX ? index + 1 : index, st);
    if (code) return code;
    grow_locked(a, index + 1);
    element *e = &a->elements.items[index];
    if (e->is_read && a->clear_after_read)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Could not read index %lld twice because it was cleared after a previous read (perhaps try "
            "setting clear_after_read = false?).",
            (long long)index);
    if (!bd_tensor_is_set(&e->tensor)) code = make_zeros(a, index, e, st);
    if (code) return code;
    e->is_read = true;
    bd_tensor_ref(value, &e->tensor);
    if (a->clear_after_read) bd_tensor_fini(&e->tensor);
    return BRAID_OK;
}

braid_code bd_tensor_array_read(bd_tensor_array *a, int64_t index, braid_tensor *value, braid_status *st)
{
    bd_mutex_lock(&a->mu);
    braid_code code = read_locked(a, index, value, st);
    bd_mutex_unlock(&a->mu);
    return code;
}

void bd_tensor_array_close(bd_tensor_array *a)
{
    bd_mutex_lock(&a->mu);
    clear_locked(a);
    a->is_closed = true;
    bd_mutex_unlock(&a->mu);
}

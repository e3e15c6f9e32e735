// Variables: reading and assigning their content.
#include "op/variable.h"

#include "base/alloc.h"
#include <string.h>

static void destroy(bd_resource *r)
{
    bd_variable *v = BD_CONTAINER_OF(r, bd_variable, base);
    if (v->watch) v->watch->destroy(v->watch);
    bd_tensor_fini(&v->tensor);
    bd_cond_fini(&v->settled);
    bd_mutex_fini(&v->mu);
    bd_free(v);
}

static atomic_bool is_tracked;
static _Atomic uint64_t changes;

void bd_variables_track(void)
{
    atomic_store(&is_tracked, true);
}

uint64_t bd_variables_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_acquire);
}

void bd_variables_count_change(void)
{
    if (atomic_load_explicit(&is_tracked, memory_order_relaxed))
        atomic_fetch_add_explicit(&changes, 1, memory_order_acq_rel);
}

void bd_variable_mark_changed(bd_variable *v)
{
    if (!atomic_load_explicit(&is_tracked, memory_order_relaxed)) return;
    atomic_store_explicit(&v->is_changed, true, memory_order_release);
    bd_variables_count_change();
}

static void abandon(bd_resource *r)
{
    bd_variable *v = BD_CONTAINER_OF(r, bd_variable, base);
    atomic_store_explicit(&v->abandoned, true, memory_order_release);
    bd_mutex_lock(&v->mu);
    bd_tensor_fini(&v->tensor); // other holders of the variable must not keep its memory
    bd_variable_watch *watch = v->watch;
    bd_mutex_unlock(&v->mu);
    bd_variables_count_change();
    if (watch) watch->abandoned(watch);
}

const bd_resource_type bd_variable_type = {.name = "Variable", .destroy = destroy, .abandon = abandon};
const bd_resource_type bd_ref_variable_type = {.name = "LegacyVar", .destroy = destroy, .abandon = abandon};

bd_variable *bd_variable_new(braid_dtype dtype, bool is_reference)
{
    bd_variable *v = bd_calloc(1, sizeof *v);
    bd_resource_init(&v->base, is_reference ? &bd_ref_variable_type : &bd_variable_type);
    bd_mutex_init(&v->mu);
    bd_cond_init(&v->settled);
    v->dtype = bd_dtype_base(dtype);
    v->tensor.shape = BD_SHAPE_UNKNOWN;
    v->is_reference = is_reference;
    return v;
}

bool bd_variable_read(bd_variable *v, braid_tensor *out)
{
    bd_mutex_lock(&v->mu);
    bool is_set = bd_tensor_is_set(&v->tensor);
    if (is_set) bd_tensor_ref(out, &v->tensor);
    bd_mutex_unlock(&v->mu);
    return is_set;
}

// The changes that wait come first, so that reads that follow each other without a gap do not hold them up.
// They end by themselves.
bool bd_variable_begin_rows(bd_variable *v, braid_tensor *out)
{
    bd_mutex_lock(&v->mu);
    while (v->changes_waiting > 0)
        bd_cond_wait(&v->settled, &v->mu);
    const bool is_set = bd_tensor_is_set(&v->tensor);
    if (is_set) bd_tensor_ref(out, &v->tensor);
    v->row_readers += is_set;
    bd_mutex_unlock(&v->mu);
    return is_set;
}

void bd_variable_end_rows(bd_variable *v, braid_tensor *out)
{
    bd_mutex_lock(&v->mu);
    bd_tensor_fini(out); // before a change that waits looks for other holders
    if (--v->row_readers == 0 && v->changes_waiting > 0) bd_cond_broadcast(&v->settled);
    bd_mutex_unlock(&v->mu);
}

static void wait_for_row_readers_locked(bd_variable *v)
{
    v->changes_waiting++;
    while (v->row_readers > 0) // ends: a read waits for nothing
        bd_cond_wait(&v->settled, &v->mu);
    if (--v->changes_waiting == 0) bd_cond_broadcast(&v->settled);
}

// The changes in progress end by themselves: they wait only for locks and snapshots of variables after this
// one.
bool bd_variable_snapshot(bd_variable *v, braid_tensor *out)
{
    bd_mutex_lock(&v->mu);
    v->snapshots_waiting++;
    while (v->writers > 0)
        bd_cond_wait(&v->settled, &v->mu);
    if (--v->snapshots_waiting == 0) bd_cond_broadcast(&v->settled);
    const bool is_set = bd_tensor_is_set(&v->tensor);
    if (is_set) {
        v->tensor.buffer->is_variable = false;
        bd_tensor_ref(out, &v->tensor);
    }
    bd_mutex_unlock(&v->mu);
    return is_set;
}

// Whether the present memory may be changed. Readers of a reference put up with changes to numbers, but not
// to strings and the like.
static bool can_change_in_place(const bd_variable *v)
{
    bd_buffer *b = v->tensor.buffer;
    if (v->is_reference && braid_dtype_size(v->dtype) > 0 && b->is_variable) return true;
    if (!bd_buffer_is_unique(b)) return false;
    b->is_variable = v->is_reference; // the snapshots are gone
    return true;
}

// Copies into memory that other threads may be reading, or from memory that they may be writing: word by word
// under ThreadSanitizer, which would report memcpy.
BD_HOGWILD static void hogwild_copy(void *to, const void *from, size_t size)
{
#ifdef BD_UNDER_TSAN
    size_t i = 0;
    for (; i + 8 <= size; i += 8)
        *(volatile uint64_t *)((char *)to + i) = *(const volatile uint64_t *)((const char *)from + i);
    for (; i < size; i++)
        ((volatile char *)to)[i] = ((const volatile char *)from)[i];
#else
    memcpy(to, from, size);
#endif
}

braid_code bd_variable_copy(bd_variable *v, braid_tensor *out, braid_status *st)
{
    const size_t size = braid_dtype_size(v->dtype);
    braid_code code = BRAID_OK;
    bd_mutex_lock(&v->mu);
    const bool is_set = bd_tensor_is_set(&v->tensor);
    if (is_set && size == 0) {
        bd_tensor_ref(out, &v->tensor); // never changed in place while it is shared
    } else if (is_set) {
        code = bd_tensor_init(out, v->dtype, &v->tensor.shape, st);
        if (!code) hogwild_copy(out->data, v->tensor.data, bd_tensor_bytes(out));
    }
    bd_mutex_unlock(&v->mu);
    return code;
}

static bool can_copy_into(const bd_variable *v, const braid_tensor *value)
{
    return bd_tensor_is_set(&v->tensor) && braid_dtype_size(v->dtype) > 0 &&
           bd_shape_equal(&v->tensor.shape, &value->shape) && can_change_in_place(v);
}

// Unshared memory of the pool that is not another variable's.
static bool can_take_over(const braid_tensor *value)
{
    return braid_dtype_size(value->dtype) > 0 && value->buffer && !value->buffer->is_variable &&
           value->buffer->size_class != BD_BUFFER_FOREIGN && !value->buffer->release &&
           bd_buffer_is_unique(value->buffer);
}

// From here on to exchange memory is cheaper than to copy it, even where both lie in caches.
#define EXCHANGE_BYTES_MIN ((size_t)64 << 10)

// Whether the variable may have the memory of a value in place of its own, which nobody else holds: no one
// can tell it from a copy.
static bool can_exchange(const bd_variable *v, const braid_tensor *value)
{
    const bd_buffer *own = v->tensor.buffer;
    return own && own->size >= EXCHANGE_BYTES_MIN && can_take_over(value) && bd_buffer_is_unique(own) &&
           value->buffer->size == own->size;
}

// Gives the variable the content `fresh`.
static void install_locked(bd_variable *v, braid_tensor *fresh)
{
    fresh->buffer->is_variable = v->is_reference;
    bd_tensor_fini(&v->tensor);
    bd_tensor_move(&v->tensor, fresh);
}

static braid_code replace_locked(bd_variable *v, const braid_tensor *value, braid_status *st)
{
    braid_tensor fresh = {0};
    if (can_take_over(value)) {
        if (!bd_buffer_charge(value->buffer)) // it was received
            return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when assigning a tensor of %zu bytes",
                           bd_tensor_bytes(value));
        bd_tensor_ref(&fresh, value);
    } else {
        braid_code code = bd_tensor_clone(&fresh, value, st);
        if (code) return code;
    }
    install_locked(v, &fresh);
    return BRAID_OK;
}

braid_code bd_variable_assign(bd_variable *v, braid_tensor *value, braid_status *st)
{
    if (value->dtype != v->dtype) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a variable of type %s cannot hold a value of type %s",
                       braid_dtype_name(v->dtype), braid_dtype_name(value->dtype));
    }
    braid_code code = BRAID_OK;
    bd_mutex_lock(&v->mu);
    if (can_copy_into(v, value)) {
        if (can_exchange(v, value) && bd_buffer_charge(value->buffer)) {
            braid_tensor fresh;
            bd_tensor_ref(&fresh, value);
            install_locked(v, &fresh);
        } else if (v->tensor.data != value->data) {
            hogwild_copy(v->tensor.data, value->data, bd_tensor_bytes(value));
        }
    } else {
        code = replace_locked(v, value, st);
    }
    if (!code) bd_variable_mark_changed(v);
    bd_mutex_unlock(&v->mu);
    if (!code) bd_variable_tell_watch(v);
    return code;
}

void bd_variable_tell_watch(bd_variable *v)
{
    if (v->dtype != BRAID_INT32 && v->dtype != BRAID_INT64) return;
    bd_mutex_lock(&v->mu);
    bd_variable_watch *watch = v->watch;
    bd_mutex_unlock(&v->mu);
    if (watch) watch->changed(watch);
}

braid_code bd_variable_make_writable_locked(bd_variable *v, braid_status *st)
{
    if (!bd_tensor_is_set(&v->tensor))
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "the variable is uninitialized");
    bd_variable_mark_changed(v);
    if (can_change_in_place(v)) return BRAID_OK;
    braid_tensor copy = {0};
    braid_code code = bd_tensor_clone(&copy, &v->tensor, st);
    if (!code) install_locked(v, &copy);
    return code;
}

// ---- Changes ----

static braid_code begin_writing(bd_variable_change *c, bd_variable_part part, braid_status *st)
{
    bd_variable *v = c->v;
    if (part == BD_VARIABLE_WHOLE && braid_dtype_size(v->dtype) > 0 && !can_change_in_place(v)) {
        const braid_code code = bd_tensor_init(&c->value, v->dtype, &v->tensor.shape, st);
        if (!code) bd_tensor_ref(&c->before, &v->tensor);
        return code;
    }
    const braid_code code = bd_variable_make_writable_locked(v, st);
    if (code) return code;
    bd_tensor_ref(&c->value, &v->tensor);
    bd_tensor_ref(&c->before, &v->tensor);
    return BRAID_OK;
}

braid_code bd_variable_begin_change(bd_variable_change *c, bd_variable *v, bd_variable_part part, bool lock,
                                    braid_status *st)
{
    *c = (bd_variable_change){.v = v, .is_locked = lock || !v->is_reference};
    bd_mutex_lock(&v->mu);
    while (!c->is_locked && v->snapshots_waiting > 0) // ends with the changes in progress
        bd_cond_wait(&v->settled, &v->mu);
    if (part == BD_VARIABLE_ELEMENTS && v->row_readers > 0) wait_for_row_readers_locked(v);
    const bool is_set = bd_tensor_is_set(&v->tensor);
    // The first change after a snapshot replaces the memory, so that no other may go on meanwhile.
    if (is_set && !can_change_in_place(v)) c->is_locked = true;
    const braid_code code = is_set ? begin_writing(c, part, st) : BRAID_OK;
    if (c->is_locked) return code;
    v->writers++;
    bd_mutex_unlock(&v->mu);
    return code;
}

void bd_variable_end_change(bd_variable_change *c, bool is_made)
{
    bd_variable *v = c->v;
    if (is_made && c->value.buffer != c->before.buffer) install_locked(v, &c->value);
    if (bd_tensor_is_set(&c->before)) bd_variable_mark_changed(v);
    bd_tensor_fini(&c->value); // before the unlock: the next change may find the memory its own
    bd_tensor_fini(&c->before);
    if (!c->is_locked) {
        bd_mutex_lock(&v->mu);
        if (--v->writers == 0 && v->snapshots_waiting > 0) bd_cond_broadcast(&v->settled);
    }
    bd_mutex_unlock(&v->mu);
    bd_variable_tell_watch(v);
}

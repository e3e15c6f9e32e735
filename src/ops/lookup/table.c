// The tables behind the look-up ops.
#include "ops/lookup/table.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "ops/common/element.h"
#include "ops/lookup/table_dense.h"
#include <string.h>

#define ROWS_MIN 16

// ---- Keys ----

int64_t bd_table_key_size(const bd_table *t)
{
    return bd_shape_count(&t->options.key_shape);
}

int64_t bd_table_value_size(const bd_table *t)
{
    return bd_shape_count(&t->options.value_shape);
}

bool bd_table_is_dense(const bd_table *t)
{
    return bd_tensor_is_set(&t->options.empty_key);
}

bool bd_table_same_element(const braid_tensor *a, int64_t i, const braid_tensor *b, int64_t j)
{
    if (a->dtype == BRAID_STRING) {
        const bd_string *x = &bd_tensor_str(a)[i], *y = &bd_tensor_str(b)[j];
        return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
    }
    const size_t size = braid_dtype_size(a->dtype);
    return memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)j * size, size) ==
           0;
}

// The bytes by which key `row` of `keys` is looked up; keys of several strings need `space`.
static const void *key_bytes(const bd_table *t, const braid_tensor *keys, int64_t row, bd_strbuf *space,
                             size_t *len)
{
    const int64_t size = bd_table_key_size(t), at = row * size;
    if (keys->dtype != BRAID_STRING) {
        *len = (size_t)size * braid_dtype_size(keys->dtype);
        return (const char *)keys->data + (size_t)at * braid_dtype_size(keys->dtype);
    }
    const bd_string *s = bd_tensor_str(keys) + at;
    if (size == 1) {
        *len = s->len;
        return s->len ? s->data : "";
    }
    bd_strbuf_clear(space);
    for (int64_t i = 0; i < size; i++) {
        bd_strbuf_append_n(space, &s[i].len, sizeof s[i].len);
        bd_strbuf_append_n(space, s[i].data, s[i].len);
    }
    *len = space->len;
    return bd_strbuf_str(space);
}

// Returns -1 when the key is missing.
static int64_t find_row_locked(const bd_table *t, const braid_tensor *keys, int64_t row, bd_strbuf *space)
{
    size_t len;
    const void *bytes = key_bytes(t, keys, row, space, &len);
    return (int64_t)(intptr_t)bd_map_get_n(&t->index, bytes, len) - 1;
}

static bool is_key(const bd_table *t, const braid_tensor *keys, int64_t row, const braid_tensor *key)
{
    const int64_t size = bd_table_key_size(t);
    if (!bd_tensor_is_set(key)) return false;
    for (int64_t i = 0; i < size; i++)
        if (!bd_table_same_element(keys, row * size + i, key, i)) return false;
    return true;
}

static braid_code check_key(const bd_table *t, const braid_tensor *keys, int64_t row, braid_status *st)
{
    if (is_key(t, keys, row, &t->options.empty_key))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Using the empty_key as a table key is not allowed (table '%s')", t->options.name);
    if (is_key(t, keys, row, &t->options.deleted_key))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Using the deleted_key as a table key is not allowed (table '%s')", t->options.name);
    return BRAID_OK;
}

// ---- Rows ----

static braid_shape rows_shape(int64_t rows, const braid_shape *one)
{
    braid_shape shape = {.rank = one->rank + 1, .dims = {rows}};
    memcpy(shape.dims + 1, one->dims, sizeof one->dims[0] * (size_t)one->rank);
    return shape;
}

static braid_code grow(braid_tensor *rows, braid_dtype dtype, const braid_shape *one, int64_t count,
                       int64_t capacity, braid_status *st)
{
    braid_tensor larger;
    const braid_shape shape = rows_shape(capacity, one);
    if (bd_tensor_init(&larger, dtype, &shape, st)) return st->code;
    if (count > 0) bd_elements_copy(&larger, 0, rows, 0, count * bd_shape_count(one));
    bd_tensor_fini(rows);
    *rows = larger;
    return BRAID_OK;
}

static braid_code reserve_locked(bd_table *t, braid_status *st)
{
    const bd_table_options *o = &t->options;
    if (t->count < t->capacity) return BRAID_OK;
    const int64_t capacity = t->capacity ? 2 * t->capacity : ROWS_MIN;
    braid_code code = grow(&t->keys, o->key_dtype, &o->key_shape, t->count, capacity, st);
    if (!code) code = grow(&t->values, o->value_dtype, &o->value_shape, t->count, capacity, st);
    if (!code) t->capacity = capacity;
    return code;
}

static void set_value_locked(const bd_table *t, int64_t row, const braid_tensor *values, int64_t from)
{
    const int64_t size = bd_table_value_size(t);
    bd_elements_copy(&t->values, row * size, values, from * size, size);
}

static braid_code add_locked(bd_table *t, const braid_tensor *keys, const braid_tensor *values, int64_t from,
                             bd_strbuf *space, braid_status *st)
{
    if (reserve_locked(t, st)) return st->code;
    const int64_t size = bd_table_key_size(t);
    size_t len;
    const void *bytes = key_bytes(t, keys, from, space, &len);
    bd_elements_copy(&t->keys, t->count * size, keys, from * size, size);
    set_value_locked(t, t->count, values, from);
    t->count++;
    bd_map_put_n(&t->index, bytes, len, (void *)(intptr_t)t->count);
    return BRAID_OK;
}

static void remove_row_locked(bd_table *t, int64_t row, bd_strbuf *space)
{
    const int64_t last = --t->count, size = bd_table_key_size(t);
    size_t len;
    const void *bytes = key_bytes(t, &t->keys, row, space, &len);
    bd_map_remove_n(&t->index, bytes, len);
    if (row == last) return;
    bytes = key_bytes(t, &t->keys, last, space, &len);
    bd_map_put_n(&t->index, bytes, len, (void *)(intptr_t)(row + 1));
    bd_elements_copy(&t->keys, row * size, &t->keys, last * size, size);
    set_value_locked(t, row, &t->values, last);
}

static void clear_locked(bd_table *t)
{
    bd_map_clear(&t->index);
    bd_tensor_fini(&t->keys);
    bd_tensor_fini(&t->values);
    t->count = t->capacity = 0;
}

// ---- What ops do ----

braid_code bd_table_find(bd_table *t, const braid_tensor *keys, int64_t count,
                         const braid_tensor *default_value, const braid_tensor *values, braid_status *st)
{
    const int64_t size = bd_table_value_size(t);
    bd_strbuf space = {0};
    bd_mutex_lock(&t->mu);
    if (!t->is_initialized)
        bd_fail(st, BRAID_FAILED_PRECONDITION, "Table not initialized. (table '%s')", t->options.name);
    for (int64_t i = 0; i < count && !st->code; i++) {
        if (bd_table_is_dense(t) && check_key(t, keys, i, st)) break;
        const int64_t row = find_row_locked(t, keys, i, &space);
        if (row >= 0)
            bd_elements_copy(values, i * size, &t->values, row * size, size);
        else
            bd_elements_copy(values, i * size, default_value, 0, size);
    }
    bd_mutex_unlock(&t->mu);
    bd_strbuf_fini(&space);
    return st->code;
}

static braid_code check_mutable(const bd_table *t, const char *what, braid_status *st)
{
    if (t->options.is_mutable) return BRAID_OK;
    return bd_fail(st, BRAID_UNIMPLEMENTED,
                   "%s not supported by InitializableLookupTable implementations (table '%s')", what,
                   t->options.name);
}

static braid_code put_locked(bd_table *t, const braid_tensor *keys, const braid_tensor *values, int64_t i,
                             bd_strbuf *space, braid_status *st)
{
    const int64_t row = find_row_locked(t, keys, i, space);
    if (row < 0) return add_locked(t, keys, values, i, space, st);
    set_value_locked(t, row, values, i);
    return BRAID_OK;
}

braid_code bd_table_insert(bd_table *t, const braid_tensor *keys, const braid_tensor *values, int64_t count,
                           braid_status *st)
{
    if (check_mutable(t, "Insert", st)) return st->code;
    bd_strbuf space = {0};
    bd_mutex_lock(&t->mu);
    for (int64_t i = 0; i < count && !st->code; i++)
        check_key(t, keys, i, st);
    // Counts all keys as new, as TensorFlow does: the number of buckets is visible in exports.
    if (!st->code && bd_table_is_dense(t))
        t->buckets = bd_dense_buckets_for(t->buckets, t->options.max_load, t->count + count);
    for (int64_t i = 0; i < count && !st->code; i++)
        put_locked(t, keys, values, i, &space, st);
    bd_mutex_unlock(&t->mu);
    bd_strbuf_fini(&space);
    return st->code;
}

braid_code bd_table_import(bd_table *t, const braid_tensor *keys, const braid_tensor *values, int64_t count,
                           braid_status *st)
{
    bd_strbuf space = {0};
    bd_mutex_lock(&t->mu);
    clear_locked(t);
    for (int64_t i = 0; i < count && !st->code; i++)
        if (!is_key(t, keys, i, &t->options.empty_key) && !is_key(t, keys, i, &t->options.deleted_key))
            put_locked(t, keys, values, i, &space, st);
    if (bd_table_is_dense(t)) t->buckets = bd_dense_buckets_of_import(t->options.max_load, count, t->count);
    bd_mutex_unlock(&t->mu);
    bd_strbuf_fini(&space);
    return st->code;
}

braid_code bd_table_remove(bd_table *t, const braid_tensor *keys, int64_t count, braid_status *st)
{
    if (check_mutable(t, "Remove", st)) return st->code;
    bd_strbuf space = {0};
    bd_mutex_lock(&t->mu);
    for (int64_t i = 0; i < count && !check_key(t, keys, i, st); i++) {
        const int64_t row = find_row_locked(t, keys, i, &space);
        if (row >= 0) remove_row_locked(t, row, &space);
    }
    bd_mutex_unlock(&t->mu);
    bd_strbuf_fini(&space);
    return st->code;
}

static void append_element(bd_strbuf *text, const braid_tensor *t, int64_t i)
{
    if (t->dtype == BRAID_STRING)
        bd_strbuf_append_n(text, bd_tensor_str(t)[i].data, bd_tensor_str(t)[i].len);
    else
        bd_tensor_print_element(t, i, text);
}

// For key `i`, which has another value in `row` of `there`.
static void fail_two_values(const braid_tensor *keys, const braid_tensor *values, int64_t i,
                            const braid_tensor *there, int64_t row, braid_status *st)
{
    bd_strbuf text = {0};
    bd_strbuf_append(&text, "HashTable has different value for same key. Key ");
    append_element(&text, keys, i);
    bd_strbuf_append(&text, " has ");
    append_element(&text, there, row);
    bd_strbuf_append(&text, " and trying to add value ");
    append_element(&text, values, i);
    bd_fail(st, BRAID_FAILED_PRECONDITION, "%s", bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
}

static braid_code initialize_locked(bd_table *t, const braid_tensor *keys, const braid_tensor *values,
                                    int64_t count, braid_status *st)
{
    bd_strbuf space = {0};
    for (int64_t i = 0; i < count && !st->code; i++) {
        const int64_t row = find_row_locked(t, keys, i, &space);
        if (row < 0)
            add_locked(t, keys, values, i, &space, st);
        else if (!bd_table_same_element(&t->values, row, values, i))
            fail_two_values(keys, values, i, &t->values, row, st);
    }
    bd_strbuf_fini(&space);
    return st->code;
}

braid_code bd_table_initialize(bd_table *t, const braid_tensor *keys, const braid_tensor *values,
                               int64_t count, braid_status *st)
{
    if (t->options.is_mutable)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Table %s is not initializable: it is mutable, and is inserted into", t->options.name);
    bd_mutex_lock(&t->mu);
    if (!t->is_initialized) {
        if (initialize_locked(t, keys, values, count, st))
            clear_locked(t);
        else
            t->is_initialized = true;
    } else if (t->count != count) {
        bd_fail(st, BRAID_FAILED_PRECONDITION,
                "Table was already initialized with different data. (table '%s')", t->options.name);
    }
    bd_mutex_unlock(&t->mu);
    return st->code;
}

bool bd_table_is_initialized(bd_table *t)
{
    bd_mutex_lock(&t->mu);
    bool is_initialized = t->is_initialized;
    bd_mutex_unlock(&t->mu);
    return is_initialized;
}

// ---- The resource ----

static void destroy(bd_resource *r)
{
    bd_table *t = BD_CONTAINER_OF(r, bd_table, base);
    clear_locked(t);
    bd_map_fini(&t->index);
    bd_tensor_fini(&t->options.empty_key);
    bd_tensor_fini(&t->options.deleted_key);
    bd_free((char *)t->options.name);
    bd_mutex_fini(&t->mu);
    bd_free(t);
}

const bd_resource_type bd_table_type = {.name = "LookupTable", .destroy = destroy};

bd_table *bd_table_new(bd_table_options *options)
{
    bd_table *t = bd_calloc(1, sizeof *t);
    bd_resource_init(&t->base, &bd_table_type);
    bd_mutex_init(&t->mu);
    t->options = *options;
    t->options.name = bd_strdup(options->name);
    options->empty_key = options->deleted_key = (braid_tensor){0};
    t->is_initialized = options->is_mutable;
    t->buckets = options->buckets;
    return t;
}

braid_code bd_table_check_options(const bd_table *t, const bd_table_options *wanted, braid_status *st)
{
    const bd_table_options *o = &t->options;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (o->key_dtype != wanted->key_dtype || o->value_dtype != wanted->value_dtype)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Conflicting key/value dtypes %s->%s with %s-%s for table %s",
                       braid_dtype_name(wanted->key_dtype), braid_dtype_name(wanted->value_dtype),
                       braid_dtype_name(o->key_dtype), braid_dtype_name(o->value_dtype), o->name);
    if (!bd_shape_equal(&o->value_shape, &wanted->value_shape))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Conflicting value shapes %s and %s for table %s",
                       bd_shape_str(&wanted->value_shape, a), bd_shape_str(&o->value_shape, b), o->name);
    if (o->is_mutable != wanted->is_mutable)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Table %s exists, and is %s", o->name,
                       o->is_mutable ? "mutable" : "not mutable");
    return BRAID_OK;
}

// Ops on look-up tables. Older ones name a table by a reference to strings, the V2 ones by a resource.
#include "ops/common/element.h"
#include "ops/common/handle.h"
#include "ops/lookup/table_dense.h"

#include "base/alloc.h"
#include <string.h>

// ---- Making tables ----

typedef struct source_state {
    bd_handle_source handle;
    bd_table_options options; // name is the handle's
} source_state;

static braid_code create_source(const braid_op *node, source_state *s, bool is_mutable, braid_status *st)
{
    const bd_attr *shape = bd_node_attr(node, "value_shape");
    s->options = (bd_table_options){.is_mutable = is_mutable,
                                    .key_dtype = bd_node_attr_type(node, "key_dtype"),
                                    .value_dtype = bd_node_attr_type(node, "value_dtype"),
                                    .value_shape = shape ? shape->shape : BD_SCALAR};
    int64_t count;
    if (!bd_shape_is_known(&s->options.value_shape) || s->options.value_shape.rank >= BRAID_RANK_MAX ||
        bd_shape_checked_count(&s->options.value_shape, &count, st))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s '%s': value_shape %s is none", node->op_type,
                       node->name, bd_shape_str(&s->options.value_shape, (char[BD_SHAPE_STR_MAX]){0}));
    bd_handle_source_init(&s->handle, node, &bd_table_type);
    s->options.name = s->handle.name;
    return BRAID_OK;
}

static braid_code constant_create(const braid_op *node, void *state, braid_status *st)
{
    return create_source(node, state, false, st);
}

static braid_code mutable_create(const braid_op *node, void *state, braid_status *st)
{
    return create_source(node, state, true, st);
}

static braid_code vectors_create(const braid_op *node, void *state, braid_status *st)
{
    const braid_shape *shape = &bd_node_attr(node, "value_shape")->shape;
    if (shape->rank != 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Default value must be a vector, got shape %s",
                       bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
    return create_source(node, state, true, st);
}

static void source_destroy(void *state)
{
    source_state *s = state;
    bd_handle_source_fini(&s->handle);
}

static braid_code create_table(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = &bd_table_new(arg)->base;
    return BRAID_OK;
}

static void make_table(bd_op_ctx *c, bd_table_options *options)
{
    source_state *s = c->state;
    BD_STATUS(st);
    bd_resource *r = bd_handle_source_output(c, &s->handle, create_table, options);
    bd_tensor_fini(&options->empty_key); // unless a new table has them
    bd_tensor_fini(&options->deleted_key);
    if (!r) return;
    if (bd_table_check_options(BD_CONTAINER_OF(r, bd_table, base), options, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
}

static void source_run(bd_op_ctx *c)
{
    bd_table_options options = ((source_state *)c->state)->options;
    make_table(c, &options);
}

static bool same_tensor(const braid_tensor *a, const braid_tensor *b)
{
    for (int64_t i = 0; i < bd_tensor_count(a); i++)
        if (!bd_table_same_element(a, i, b, i)) return false;
    return true;
}

// Keys of a dense table have the shape of its empty key, which it never holds; V2 has a second reserved key.
static void dense_run(bd_op_ctx *c)
{
    bd_table_options options = ((source_state *)c->state)->options;
    const braid_tensor *empty = bd_input(c, 0), *deleted = c->input_count > 1 ? bd_input(c, 1) : NULL;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    BD_STATUS(st);
    options.key_shape = empty->shape;
    if (options.value_shape.rank > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Empty value must be a scalar or a vector, got shape %s",
                   bd_shape_str(&options.value_shape, a));
        return;
    }
    if (options.key_shape.rank > 1 || bd_tensor_count(empty) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Empty key must be a scalar or a vector, got shape %s",
                   bd_shape_str(&empty->shape, a));
        return;
    }
    if (deleted && !bd_shape_equal(&empty->shape, &deleted->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Empty and deleted keys must have same shape, got shapes: %s and %s",
                   bd_shape_str(&empty->shape, a), bd_shape_str(&deleted->shape, b));
        return;
    }
    if (deleted && same_tensor(empty, deleted)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Empty and deleted keys cannot be equal");
        return;
    }
    options.buckets = bd_node_attr_int(c->node, "initial_num_buckets");
    options.max_load = (double)bd_node_attr_float(c->node, "max_load_factor");
    if (bd_dense_check(options.buckets, options.max_load, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    if (!bd_tensor_keep(&options.empty_key, empty) ||
        (deleted && !bd_tensor_keep(&options.deleted_key, deleted))) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when keeping the keys of a table");
        bd_tensor_fini(&options.empty_key);
        return;
    }
    make_table(c, &options);
}

// ---- Using tables ----

// The table in input 0, if its types are those of the following inputs: keys, and values if the op has them.
// The caller drops the reference. Returns NULL when the kernel has failed.
static bd_table *table_input(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_table_type);
    if (!r) return NULL;
    bd_table *t = BD_CONTAINER_OF(r, bd_table, base);
    const braid_dtype want[] = {t->options.key_dtype, t->options.value_dtype};
    for (int i = 1; i < c->input_count && i < 3; i++) {
        if (bd_input(c, i)->dtype == want[i - 1]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Signature mismatch: %s of table '%s' are %s, got %s",
                   i == 1 ? "the keys" : "the values", t->options.name, braid_dtype_name(want[i - 1]),
                   braid_dtype_name(bd_input(c, i)->dtype));
        bd_resource_unref(r);
        return NULL;
    }
    return t;
}

// The shape of the values of `keys` ([..., key_shape] -> [..., value_shape]), and the number of keys. False:
// the kernel has failed.
static bool values_shape(bd_op_ctx *c, const bd_table *t, const braid_tensor *keys, braid_shape *values,
                         int64_t *count)
{
    const braid_shape *key = &t->options.key_shape, *value = &t->options.value_shape;
    const int outer = keys->shape.rank - key->rank;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (outer < 0 ||
        memcmp(keys->shape.dims + outer, key->dims, sizeof key->dims[0] * (size_t)key->rank) != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input key shape %s must end with the table's key shape %s",
                   bd_shape_str(&keys->shape, a), bd_shape_str(key, b));
        return false;
    }
    *count = bd_shape_count_range(&keys->shape, 0, outer);
    // TensorFlow's dense table counts the elements: keys of shape [n, 1] are n scalars.
    const int64_t rows_count = keys->shape.rank == 0 ? 1 : keys->shape.dims[0];
    if (bd_table_is_dense(t) && *count != rows_count) {
        const braid_shape rows = {.rank = 1 + key->rank, .dims = {rows_count, key->dims[0]}};
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected key shape %s got %s", bd_shape_str(&rows, a),
                   bd_shape_str(&keys->shape, b));
        return false;
    }
    if (outer + value->rank > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The values of keys of shape %s have too many dimensions",
                   bd_shape_str(&keys->shape, a));
        return false;
    }
    *values = (braid_shape){.rank = outer + value->rank};
    memcpy(values->dims, keys->shape.dims, sizeof values->dims[0] * (size_t)outer);
    memcpy(values->dims + outer, value->dims, sizeof values->dims[0] * (size_t)value->rank);
    return true;
}

static void find_in(bd_op_ctx *c, bd_table *t)
{
    const braid_tensor *keys = bd_input(c, 1), *default_value = bd_input(c, 2);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    braid_shape shape;
    int64_t count;
    BD_STATUS(st);
    if (!values_shape(c, t, keys, &shape, &count)) return;
    if (!bd_shape_equal(&default_value->shape, &t->options.value_shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected shape %s for default value, got %s",
                   bd_shape_str(&t->options.value_shape, a), bd_shape_str(&default_value->shape, b));
        return;
    }
    const braid_tensor *values = bd_output(c, 0, t->options.value_dtype, &shape);
    if (values && bd_table_find(t, keys, count, default_value, values, st)) bd_op_fail_status(c, st);
}

// Of a table that is filled once.
static void fill_once(bd_op_ctx *c, bd_table *t, const braid_tensor *keys, const braid_tensor *values,
                      int64_t count)
{
    BD_STATUS(st);
    if (count == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "keys and values cannot be empty tensors. (table '%s')",
                   t->options.name);
    else if (bd_table_initialize(t, keys, values, count, st))
        bd_op_fail_status(c, st);
}

static bool check_values(bd_op_ctx *c, const braid_shape *want)
{
    const braid_tensor *values = bd_input(c, 2);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (bd_shape_equal(want, &values->shape)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected shape %s for value, got %s", bd_shape_str(want, a),
               bd_shape_str(&values->shape, b));
    return false;
}

static void insert_in(bd_op_ctx *c, bd_table *t)
{
    const braid_tensor *keys = bd_input(c, 1);
    braid_shape shape;
    int64_t count;
    BD_STATUS(st);
    if (!values_shape(c, t, keys, &shape, &count) || !check_values(c, &shape)) return;
    if (bd_table_insert(t, keys, bd_input(c, 2), count, st)) bd_op_fail_status(c, st);
}

// Buckets of a dense table: [buckets, key size] and [buckets, value size].
static bool check_buckets(bd_op_ctx *c, const bd_table *t, int64_t *count)
{
    const braid_tensor *keys = bd_input(c, 1);
    char a[BD_SHAPE_STR_MAX];
    if (keys->shape.rank != 2 || keys->shape.dims[1] != bd_table_key_size(t)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected keys of shape [buckets,%lld], got %s",
                   (long long)bd_table_key_size(t), bd_shape_str(&keys->shape, a));
        return false;
    }
    *count = keys->shape.dims[0];
    const braid_shape want = bd_shape2(*count, bd_table_value_size(t));
    return check_values(c, &want);
}

static void import_in(bd_op_ctx *c, bd_table *t)
{
    const braid_tensor *keys = bd_input(c, 1), *values = bd_input(c, 2);
    braid_shape shape;
    int64_t count;
    BD_STATUS(st);
    if (bd_table_is_dense(t)) {
        if (!check_buckets(c, t, &count)) return;
    } else if (!values_shape(c, t, keys, &shape, &count) || !check_values(c, &shape)) {
        return;
    }
    if (!t->options.is_mutable)
        fill_once(c, t, keys, values, count); // how TensorFlow's front end fills tables from tensors
    else if (bd_table_import(t, keys, values, count, st))
        bd_op_fail_status(c, st);
}

static void remove_in(bd_op_ctx *c, bd_table *t)
{
    braid_shape unused;
    int64_t count;
    BD_STATUS(st);
    if (!values_shape(c, t, bd_input(c, 1), &unused, &count)) return;
    if (bd_table_remove(t, bd_input(c, 1), count, st)) bd_op_fail_status(c, st);
}

static void initialize_in(bd_op_ctx *c, bd_table *t)
{
    const braid_tensor *keys = bd_input(c, 1), *values = bd_input(c, 2);
    char a[BD_SHAPE_STR_MAX];
    if (keys->shape.rank != 1 || values->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a vector, but received shape%s",
                   keys->shape.rank != 1 ? "Keys" : "Values",
                   bd_shape_str(keys->shape.rank != 1 ? &keys->shape : &values->shape, a));
    else if (keys->shape.dims[0] != values->shape.dims[0])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Keys and values must have the same size %lld vs %lld",
                   (long long)keys->shape.dims[0], (long long)values->shape.dims[0]);
    else
        fill_once(c, t, keys, values, keys->shape.dims[0]);
}

static void export_rows(bd_op_ctx *c, const bd_table *t, int i, const braid_tensor *rows, braid_dtype dtype,
                        const braid_shape *one)
{
    braid_shape shape = {.rank = one->rank + 1, .dims = {t->count}};
    memcpy(shape.dims + 1, one->dims, sizeof one->dims[0] * (size_t)one->rank);
    const braid_tensor *out = bd_output(c, i, dtype, &shape);
    if (out && t->count > 0) bd_elements_copy(out, 0, rows, 0, t->count * bd_shape_count(one));
}

static void export_buckets(bd_op_ctx *c, const bd_table *t)
{
    const braid_shape keys_shape = bd_shape2(t->buckets, bd_table_key_size(t));
    const braid_shape values_shape = bd_shape2(t->buckets, bd_table_value_size(t));
    const braid_tensor *keys = bd_output(c, 0, t->options.key_dtype, &keys_shape);
    const braid_tensor *values = keys ? bd_output(c, 1, t->options.value_dtype, &values_shape) : NULL;
    if (values) bd_dense_lay_out(t, keys, values);
}

static void export_from(bd_op_ctx *c, bd_table *t)
{
    const bd_table_options *o = &t->options;
    const braid_dtype *types = c->node->output_types;
    if (types[0] != o->key_dtype || types[1] != o->value_dtype) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Signature mismatch: table '%s' is from %s to %s", o->name,
                   braid_dtype_name(o->key_dtype), braid_dtype_name(o->value_dtype));
        return;
    }
    bd_mutex_lock(&t->mu);
    if (!t->is_initialized)
        bd_op_fail(c, BRAID_ABORTED, "HashTable is not initialized. (table '%s')", o->name);
    if (bd_table_is_dense(t))
        export_buckets(c, t);
    else if (!bd_op_failed(c))
        export_rows(c, t, 0, &t->keys, o->key_dtype, &o->key_shape);
    if (!bd_table_is_dense(t) && !bd_op_failed(c))
        export_rows(c, t, 1, &t->values, o->value_dtype, &o->value_shape);
    bd_mutex_unlock(&t->mu);
}

static void size_of(bd_op_ctx *c, bd_table *t)
{
    const braid_tensor *y = bd_output(c, 0, BRAID_INT64, &BD_SCALAR);
    bd_mutex_lock(&t->mu);
    if (y) bd_tensor_i64(y)[0] = t->count;
    bd_mutex_unlock(&t->mu);
}

#define RUN(NAME, FN)                                                                                        \
    static void NAME##_run(bd_op_ctx *c)                                                                     \
    {                                                                                                        \
        bd_table *t = table_input(c);                                                                        \
        if (!t) return;                                                                                      \
        FN(c, t);                                                                                            \
        bd_resource_unref(&t->base);                                                                         \
    }
RUN(find, find_in)
RUN(insert, insert_in)
RUN(import, import_in)
RUN(remove, remove_in)
RUN(initialize, initialize_in)
RUN(export, export_from)
RUN(size, size_of)

// ---- Shapes ----

static const braid_op *source_of(const bd_shape_ctx *c)
{
    return c->node->input_count > 0 ? c->node->inputs[0].op : NULL;
}

static bool is_of(const braid_op *source, const char *kind)
{
    const size_t len = strlen(kind);
    const char *rest = source->op_type + len;
    return strncmp(source->op_type, kind, len) == 0 && (*rest == 0 || strcmp(rest, "V2") == 0);
}

// The shape of one key, which of a dense table is that of its empty key.
static braid_shape key_shape_of(const braid_op *source)
{
    if (!is_of(source, "MutableDenseHashTable")) return BD_SCALAR;
    const braid_out empty = source->inputs[0];
    return empty.op->output_shapes[empty.index];
}

static braid_shape value_shape_of(const braid_op *source)
{
    if (is_of(source, "HashTable") || is_of(source, "MutableHashTable")) return BD_SCALAR;
    if (is_of(source, "MutableHashTableOfTensors") || is_of(source, "MutableDenseHashTable"))
        return bd_node_attr(source, "value_shape")->shape;
    return BD_SHAPE_UNKNOWN;
}

// [..., key] -> [..., value] where the table's node is known.
static braid_code find_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_op *source = source_of(c);
    const braid_shape *keys = &c->inputs[1];
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    if (bd_shape_ctx_handle(c, st)) return st->code;
    if (!source || keys->rank < 0) return BRAID_OK;
    const braid_shape value = value_shape_of(source), key = key_shape_of(source);
    const int outer = keys->rank - key.rank;
    if (key.rank < 0 || value.rank < 0 || outer + value.rank > BRAID_RANK_MAX) return BRAID_OK;
    if (outer < 0) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expected keys to have suffix %s but saw shape: %s",
                       bd_shape_str(&key, a), bd_shape_str(keys, b));
    }
    c->outputs[0] = (braid_shape){.rank = outer + value.rank};
    memcpy(c->outputs[0].dims, keys->dims, sizeof keys->dims[0] * (size_t)outer);
    memcpy(c->outputs[0].dims + outer, value.dims, sizeof value.dims[0] * (size_t)value.rank);
    return BRAID_OK;
}

static braid_code export_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->outputs[1] = BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_handle(c, st);
}

// Checks for as many keys as values; TensorFlow checks no more before the run.
static braid_code import_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *keys = &c->inputs[1], *values = &c->inputs[2];
    if (bd_shape_ctx_handle(c, st)) return st->code;
    if (keys->rank < 1 || values->rank < 1) return BRAID_OK;
    const int64_t a = keys->dims[0], b = values->dims[0];
    if (a < 0 || b < 0 || a == b) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Dimension 0 in both shapes must be equal, but are %lld and %lld",
                             (long long)a, (long long)b);
}

static braid_code initialize_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 1, st);
    return code;
}

// ---- Ops ----

#define SHARING "container:string=''; shared_name:string=''; use_node_name_sharing:bool=false; "
#define TABLE_ATTRS SHARING "key_dtype:type; value_dtype:type"
#define TENSORS_ATTRS TABLE_ATTRS "; value_shape:shape=[]"
#define DENSE_ATTRS TENSORS_ATTRS "; initial_num_buckets:int=131072; max_load_factor:float=0.8"
#define KEYS(TYPES) "key_dtype=int32|int64|string; value_dtype=" TYPES
#define VALUES                                                                                               \
    "bool|int8|uint8|int16|uint16|int32|int64|half|bfloat16|float|double|complex64|complex128|string"
#define SOURCE(SIGNATURE, ATTRS, CREATE, RUN_FN, DOC)                                                        \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = (ATTRS), .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,      \
        .shape = bd_shape_fn_handle,                                                                         \
        .kernels = BD_KERNELS({.types = KEYS(VALUES),                                                        \
                               .state_size = sizeof(source_state),                                           \
                               .create = (CREATE),                                                           \
                               .destroy = source_destroy,                                                    \
                               .run = (RUN_FN)}),                                                            \
        .doc = (DOC)                                                                                         \
    }
#define USER(SIGNATURE, ATTRS, FLAGS, SHAPE, RUN_FN, DOC)                                                    \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = (ATTRS), .flags = (FLAGS) | BD_OP_NOT_DIFFERENTIABLE,             \
        .shape = (SHAPE), .kernels = BD_KERNELS({.run = (RUN_FN)}), .doc = (DOC)                             \
    }

#define CONSTANT_DOC "A table from keys to values that is filled once."
#define MUTABLE_DOC "A table from keys to values that may change."
#define TENSORS_DOC "A table from keys to vectors that may change."
#define DENSE_DOC                                                                                            \
    "A table from keys, which may be vectors, to tensors; empty_key and deleted_key are never in it. "       \
    "Exports hold its buckets; those of removed keys are empty again."
BD_OP(HashTable) = SOURCE("() -> (table_handle: Ref(string))", TABLE_ATTRS, constant_create, source_run,
                          CONSTANT_DOC);
BD_OP(HashTableV2) = SOURCE("() -> (table_handle: resource)", TABLE_ATTRS, constant_create, source_run,
                            CONSTANT_DOC);
BD_OP(MutableHashTable) = SOURCE("() -> (table_handle: Ref(string))", TABLE_ATTRS, mutable_create, source_run,
                                 MUTABLE_DOC);
BD_OP(MutableHashTableV2) = SOURCE("() -> (table_handle: resource)", TABLE_ATTRS, mutable_create, source_run,
                                   MUTABLE_DOC);
BD_OP(MutableHashTableOfTensors) = SOURCE("() -> (table_handle: Ref(string))", TENSORS_ATTRS, vectors_create,
                                          source_run, TENSORS_DOC);
BD_OP(MutableHashTableOfTensorsV2) = SOURCE("() -> (table_handle: resource)", TENSORS_ATTRS, vectors_create,
                                            source_run, TENSORS_DOC);
BD_OP(MutableDenseHashTable) = SOURCE("(empty_key: key_dtype) -> (table_handle: Ref(string))", DENSE_ATTRS,
                                      mutable_create, dense_run, DENSE_DOC);
BD_OP(MutableDenseHashTableV2) =
    SOURCE("(empty_key: key_dtype, deleted_key: key_dtype) -> (table_handle: resource)", DENSE_ATTRS,
           mutable_create, dense_run, DENSE_DOC);

#define FIND_ATTRS "Tin:type; Tout:type"
#define FIND_DOC "The values of keys in a table, default_value for those that are not in it."
#define INSERT_DOC "Puts keys with their values into a table; a key that is there gets the new value."
#define IMPORT_DOC "Replaces the content of a table."
#define REMOVE_DOC "Takes keys out of a table; those that are not in it do no harm."
#define SIZE_DOC "How many keys a table has."
#define EXPORT_DOC "All keys of a table and their values, in no order."
#define INITIALIZE_DOC "Fills a table that is filled once."
BD_OP(LookupTableFind) = USER("(table_handle: Ref(string), keys: Tin, default_value: Tout) -> (values: Tout)",
                              FIND_ATTRS, 0, find_shape, find_run, FIND_DOC);
BD_OP(LookupTableFindV2) = USER("(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
                                FIND_ATTRS, BD_OP_STATEFUL, find_shape, find_run, FIND_DOC);
BD_OP(LookupTableInsert) = USER("(table_handle: Ref(string), keys: Tin, values: Tout) -> ()", FIND_ATTRS, 0,
                                bd_shape_ctx_handle, insert_run, INSERT_DOC);
BD_OP(LookupTableInsertV2) = USER("(table_handle: resource, keys: Tin, values: Tout) -> ()", FIND_ATTRS,
                                  BD_OP_STATEFUL, bd_shape_ctx_handle, insert_run, INSERT_DOC);
BD_OP(LookupTableImport) = USER("(table_handle: Ref(string), keys: Tin, values: Tout) -> ()", FIND_ATTRS, 0,
                                import_shape, import_run, IMPORT_DOC);
BD_OP(LookupTableImportV2) = USER("(table_handle: resource, keys: Tin, values: Tout) -> ()", FIND_ATTRS,
                                  BD_OP_STATEFUL, import_shape, import_run, IMPORT_DOC);
BD_OP(LookupTableRemoveV2) = USER("(table_handle: resource, keys: Tin) -> ()", "Tin:type", BD_OP_STATEFUL,
                                  bd_shape_ctx_handle, remove_run, REMOVE_DOC);
BD_OP(LookupTableSize) = USER("(table_handle: Ref(string)) -> (size: int64)", NULL, 0,
                              bd_shape_fn_handle_to_scalar, size_run, SIZE_DOC);
BD_OP(LookupTableSizeV2) = USER("(table_handle: resource) -> (size: int64)", NULL, BD_OP_STATEFUL,
                                bd_shape_fn_handle_to_scalar, size_run, SIZE_DOC);
BD_OP(LookupTableExport) = USER("(table_handle: Ref(string)) -> (keys: Tkeys, values: Tvalues)",
                                "Tkeys:type; Tvalues:type", 0, export_shape, export_run, EXPORT_DOC);
BD_OP(LookupTableExportV2) = USER("(table_handle: resource) -> (keys: Tkeys, values: Tvalues)",
                                  "Tkeys:type; Tvalues:type", BD_OP_STATEFUL, export_shape, export_run,
                                  EXPORT_DOC);
BD_OP(InitializeTable) = USER("(table_handle: Ref(string), keys: Tkey, values: Tval) -> ()",
                              "Tkey:type; Tval:type", 0, initialize_shape, initialize_run, INITIALIZE_DOC);
BD_OP(InitializeTableV2) = USER("(table_handle: resource, keys: Tkey, values: Tval) -> ()",
                                "Tkey:type; Tval:type", BD_OP_STATEFUL, initialize_shape, initialize_run,
                                INITIALIZE_DOC);

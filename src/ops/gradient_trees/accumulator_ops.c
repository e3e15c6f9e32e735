// Accumulators of gradients and hessians by partition and bucket of a feature, as resources. In the scalar
// ones each is one number, in the others a tensor.
//
// Slots are sorted by partition, dimension and feature id. What is added goes into the slots that are there;
// the rest is sorted and merged at once.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "ops/gradient_trees/ensemble.h"
#include <stdlib.h>
#include <string.h>

typedef struct slot_key {
    int64_t feature;
    int32_t partition, dimension;
} slot_key;

// Sums of slots. Zero-initialized, but for the shapes, is empty.
typedef struct sums {
    braid_shape gradient_shape, hessian_shape; // of a slot
    int64_t gradients, hessians;               // numbers in a slot
    size_t count;
    slot_key *keys; // [count]
    float *values;  // [count, gradients + hessians]
    int64_t updates;
    bd_charge charge;
} sums;

typedef struct accumulator {
    bd_resource base;
    bd_mutex mu;
    int64_t stamp; // guarded by mu, and so are the sums
    sums sums;
} accumulator;

static void sums_clear(sums *s)
{
    bd_free(s->keys);
    bd_free(s->values);
    bd_charge_fini(&s->charge);
    s->keys = NULL;
    s->values = NULL;
    s->count = 0;
    s->updates = 0;
    s->charge = (bd_charge){0};
}

static sums empty_sums(const sums *like)
{
    return (sums){.gradient_shape = like->gradient_shape,
                  .hessian_shape = like->hessian_shape,
                  .gradients = like->gradients,
                  .hessians = like->hessians};
}

static void destroy(bd_resource *r)
{
    accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    sums_clear(&a->sums);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

static const bd_resource_type scalar_type = {.name = "StatsAccumulatorScalarResource", .destroy = destroy};
static const bd_resource_type tensor_type = {.name = "StatsAccumulatorTensorResource", .destroy = destroy};

static accumulator *input_accumulator(bd_op_ctx *c, int i, const bd_resource_type *type)
{
    bd_resource *r = bd_input_resource(c, i, type);
    return r ? BD_CONTAINER_OF(r, accumulator, base) : NULL;
}

static void release(accumulator *a)
{
    bd_mutex_unlock(&a->mu);
    bd_resource_unref(&a->base);
}

// ---- Adding ----

static int compare_keys(const slot_key *a, const slot_key *b)
{
    if (a->partition != b->partition) return a->partition < b->partition ? -1 : 1;
    if (a->dimension != b->dimension) return a->dimension < b->dimension ? -1 : 1;
    return a->feature < b->feature ? -1 : a->feature > b->feature;
}

// Where a key is, or would be.
static size_t find(const sums *s, const slot_key *key)
{
    size_t from = 0, to = s->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (compare_keys(&s->keys[middle], key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

// What is added.
typedef struct batch {
    int64_t rows, width;
    const int32_t *partitions;
    const int64_t *features; // [rows, 2]: the id and the dimension
    const float *gradients, *hessians;
} batch;

// A row whose slot is not there yet.
typedef struct fresh {
    slot_key key;
    int64_t row;
} fresh;

typedef BD_ARRAY(fresh) fresh_list;

static slot_key key_of(const batch *b, int64_t row)
{
    return (slot_key){b->features[2 * row], b->partitions[row], (int32_t)b->features[2 * row + 1]};
}

static void add_row(const sums *s, float *slot, const batch *b, int64_t row)
{
    for (int64_t k = 0; k < s->gradients; k++)
        slot[k] += b->gradients[row * s->gradients + k];
    for (int64_t k = 0; k < s->hessians; k++)
        slot[s->gradients + k] += b->hessians[row * s->hessians + k];
}

static void set_row(const sums *s, float *slot, const batch *b, int64_t row)
{
    if (s->gradients > 0)
        memcpy(slot, b->gradients + row * s->gradients, sizeof *slot * (size_t)s->gradients);
    if (s->hessians > 0)
        memcpy(slot + s->gradients, b->hessians + row * s->hessians, sizeof *slot * (size_t)s->hessians);
}

static int compare_fresh(const void *a, const void *b)
{
    const fresh *x = a, *y = b;
    const int order = compare_keys(&x->key, &y->key);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

// Makes room for `more` slots, from the back of which the old ones are moved.
static braid_code grow(sums *s, size_t more, braid_status *st)
{
    const size_t count = s->count + more, width = (size_t)(s->gradients + s->hessians);
    if (bd_charge_set(&s->charge, count * (sizeof *s->keys + width * sizeof *s->values), "The accumulator",
                      st))
        return st->code;
    slot_key *keys = bd_try_realloc(s->keys, count * sizeof *keys);
    if (keys) s->keys = keys;
    float *values = keys ? bd_try_realloc(s->values, (count * width + 1) * sizeof *values) : NULL;
    if (values) s->values = values;
    return values ? BRAID_OK
                  : bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu slots of an accumulator", count);
}

// Merges rows, sorted by key, of which `distinct` are of different keys, into room that there is.
static void merge(sums *s, const fresh_list *rows, size_t distinct, const batch *b)
{
    const size_t width = (size_t)(s->gradients + s->hessians);
    size_t old = s->count, to = s->count + distinct, i = rows->len;
    while (i > 0) {
        const slot_key *key = &rows->items[i - 1].key;
        for (to--; old > 0 && compare_keys(&s->keys[old - 1], key) > 0; to--) {
            old--;
            s->keys[to] = s->keys[old];
            memmove(s->values + to * width, s->values + old * width, width * sizeof *s->values);
        }
        size_t first = i - 1;
        while (first > 0 && compare_keys(&rows->items[first - 1].key, key) == 0)
            first--;
        s->keys[to] = *key;
        set_row(s, s->values + to * width, b, rows->items[first].row);
        for (size_t k = first + 1; k < i; k++)
            add_row(s, s->values + to * width, b, rows->items[k].row);
        i = first;
    }
    s->count += distinct;
}

// The values of a row's slot. NULL: it is not there yet.
static float *slot_of(const sums *s, const slot_key *key)
{
    const size_t at = find(s, key);
    const bool is_there = at < s->count && compare_keys(&s->keys[at], key) == 0;
    return is_there ? s->values + at * (size_t)(s->gradients + s->hessians) : NULL;
}

// Lists the rows whose slots are not there yet, sorted by key. Returns the number of those slots.
static size_t list_fresh(const sums *s, const batch *b, fresh_list *rows)
{
    for (int64_t i = 0; i < b->rows; i++) {
        const slot_key key = key_of(b, i);
        if (!slot_of(s, &key)) bd_array_push(rows, (fresh){key, i});
    }
    if (rows->len == 0) return 0;
    size_t distinct = 1;
    qsort(rows->items, rows->len, sizeof *rows->items, compare_fresh);
    for (size_t i = 1; i < rows->len; i++)
        distinct += compare_keys(&rows->items[i - 1].key, &rows->items[i].key) != 0;
    return distinct;
}

// Adds all rows, or none on an error.
static braid_code add_batch(sums *s, const batch *b, braid_status *st)
{
    fresh_list rows = {0};
    const size_t distinct = list_fresh(s, b, &rows);
    if (distinct == 0 || !grow(s, distinct, st)) {
        for (int64_t i = 0; i < b->rows && (int64_t)rows.len < b->rows; i++) {
            const slot_key key = key_of(b, i);
            float *slot = slot_of(s, &key);
            if (slot) add_row(s, slot, b, i);
        }
        merge(s, &rows, distinct, b);
        if (s->updates < INT64_MAX) s->updates++;
    }
    bd_array_free(&rows);
    return st->code;
}

// ---- Inputs ----

// The shape of a slot: that of a tensor without its first dimension.
static braid_shape slot_shape(const braid_tensor *t)
{
    braid_shape s = {.rank = t->shape.rank - 1};
    for (int i = 0; i < s.rank; i++)
        s.dims[i] = t->shape.dims[i + 1];
    return s;
}

static bool check_slot(bd_op_ctx *c, const braid_tensor *t, int64_t rows, const char *what,
                       const braid_shape *want)
{
    if (t->shape.rank < 1 || (rows > 0 && t->shape.dims[0] != rows)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%ss must have %lld rows, received shape %s", what,
                   (long long)rows, bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    const braid_shape own = slot_shape(t);
    if (!want || bd_shape_equal(&own, want)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s dimensions must match: %s, %s", what,
               bd_shape_str(&own, (char[BD_SHAPE_STR_MAX]){0}),
               bd_shape_str(want, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}

// Reads partition ids, feature ids, gradients and hessians from inputs `at`, at + step and so on. `s` NULL:
// of any shapes. False: the kernel has failed.
static bool read_batch(bd_op_ctx *c, int at, int step, const sums *s, batch *b)
{
    const braid_tensor *partitions = bd_input(c, at), *features = bd_input(c, at + step),
                       *g = bd_input(c, at + 2 * step), *h = bd_input(c, at + 3 * step);
    if (!bd_input_has_rank(c, at, 1, "partition_ids")) return false;
    const int64_t rows = partitions->shape.dims[0];
    // TensorFlow's handlers of features give rows without partitions where they have nothing to add.
    if (features->shape.rank != 2 || (rows > 0 && features->shape.dims[0] != rows) ||
        features->shape.dims[1] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "feature_ids must have shape [%lld,2], received %s",
                   (long long)rows, bd_shape_str(&features->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    if (!check_slot(c, g, rows, "Gradient", s ? &s->gradient_shape : NULL) ||
        !check_slot(c, h, rows, "Hessian", s ? &s->hessian_shape : NULL))
        return false;
    *b = (batch){.rows = rows,
                 .partitions = bd_tensor_i32(partitions),
                 .features = bd_tensor_i64(features),
                 .gradients = bd_tensor_f32(g),
                 .hessians = bd_tensor_f32(h)};
    return true;
}

// ---- Outputs ----

static braid_shape rows_of(size_t count, const braid_shape *slot)
{
    braid_shape s = {.rank = slot->rank + 1, .dims = {(int64_t)count}};
    for (int i = 0; i < slot->rank; i++)
        s.dims[i + 1] = slot->dims[i];
    return s;
}

// Makes four outputs from output `i` on: partition ids, feature ids, gradients and hessians.
static void output_sums(bd_op_ctx *c, int i, const sums *s)
{
    const braid_shape shapes[] = {bd_shape1((int64_t)s->count), bd_shape2((int64_t)s->count, 2),
                                  rows_of(s->count, &s->gradient_shape),
                                  rows_of(s->count, &s->hessian_shape)};
    const braid_dtype types[] = {BRAID_INT32, BRAID_INT64, BRAID_FLOAT, BRAID_FLOAT};
    const braid_tensor *y[4];
    const size_t width = (size_t)(s->gradients + s->hessians);
    for (int k = 0; k < 4; k++) {
        y[k] = bd_output(c, i + k, types[k], &shapes[k]);
        if (!y[k]) return;
    }
    for (size_t k = 0; k < s->count; k++) {
        const float *values = s->values + k * width;
        bd_tensor_i32(y[0])[k] = s->keys[k].partition;
        bd_tensor_i64(y[1])[2 * k] = s->keys[k].feature;
        bd_tensor_i64(y[1])[2 * k + 1] = s->keys[k].dimension;
        const size_t g = (size_t)s->gradients, h = (size_t)s->hessians;
        if (g > 0) memcpy(bd_tensor_f32(y[2]) + k * g, values, g * sizeof *values);
        if (h > 0) memcpy(bd_tensor_f32(y[3]) + k * h, values + g, h * sizeof *values);
    }
}

// ---- Kernels ----

static void handle_run(bd_op_ctx *c, const bd_resource_type *type)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), type);
}

typedef struct spec {
    const bd_resource_type *type;
    int64_t stamp;
    sums sums;
} spec;

static braid_code make_accumulator(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    const spec *s = arg;
    accumulator *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, s->type);
    bd_mutex_init(&a->mu);
    a->stamp = s->stamp;
    a->sums = s->sums;
    *out = &a->base;
    return BRAID_OK;
}

// Reads a shape in input `i`, that of the gradients or hessians of a slot.
static bool read_shape(bd_op_ctx *c, int i, const char *what, braid_shape *shape, int64_t *count)
{
    BD_STATUS(st);
    if (!bd_input_has_rank(c, i, 1, what)) return false;
    const int64_t rank = bd_input(c, i)->shape.dims[0];
    if (rank >= BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s has %lld dimensions, of at most %d", what, (long long)rank,
                   BRAID_RANK_MAX - 1);
        return false;
    }
    *shape = (braid_shape){.rank = (int)rank};
    for (int k = 0; k < (int)rank; k++)
        shape->dims[k] = bd_tensor_i64(bd_input(c, i))[k];
    if (!bd_shape_checked_count(shape, count, st) && *count <= INT32_MAX) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s is not a shape of at most 2147483647 elements", what);
    return false;
}

// An accumulator that exists already stays as it is.
static void create_run(bd_op_ctx *c, const bd_resource_type *type)
{
    BD_STATUS(st);
    char *container, *name;
    bd_resource *r = NULL;
    spec made = {
        .type = type,
        .sums = {.gradient_shape = BD_SCALAR, .hessian_shape = BD_SCALAR, .gradients = 1, .hessians = 1}};
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &made.stamp)) return;
    if (type == &tensor_type &&
        (!read_shape(c, 2, "per_slot_gradient_shape", &made.sums.gradient_shape, &made.sums.gradients) ||
         !read_shape(c, 3, "per_slot_hessian_shape", &made.sums.hessian_shape, &made.sums.hessians)))
        return;
    if (!bd_boosted_trees_handle(c, type, &container, &name)) return;
    const bd_resource_spec resource = {container, name, type, make_accumulator, &made};
    if (bd_resources_lookup_or_create(c->step->resources, &resource, &r, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
    bd_free(container);
    bd_free(name);
}

// What is added with another stamp is left out.
static void add_to(bd_op_ctx *c, int i, int count, int64_t stamp, const bd_resource_type *type)
{
    BD_STATUS(st);
    batch b;
    accumulator *a = input_accumulator(c, i, type);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    if (a->stamp == stamp && read_batch(c, count + 1 + i, count, &a->sums, &b) && add_batch(&a->sums, &b, st))
        bd_op_fail_status(c, st);
    release(a);
}

static void add_run(bd_op_ctx *c, const bd_resource_type *type)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    int64_t stamp;
    if (!bd_gbt_input_int64(c, count, "stamp_token", &stamp)) return;
    for (int i = 0; i < count && !bd_op_failed(c); i++)
        add_to(c, i, count, stamp, type);
}

static void flush_run(bd_op_ctx *c, const bd_resource_type *type)
{
    int64_t stamp, next;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp) ||
        !bd_gbt_input_int64(c, 2, "next_stamp_token", &next))
        return;
    accumulator *a = input_accumulator(c, 0, type);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    if (a->stamp != stamp || stamp == next) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The stamp of the accumulator is %lld: stamp_token is %lld, next_stamp_token %lld",
                   (long long)a->stamp, (long long)stamp, (long long)next);
    } else {
        if (bd_gbt_output_int64(c, 0, a->sums.updates)) output_sums(c, 1, &a->sums);
        if (!bd_op_failed(c)) {
            sums_clear(&a->sums);
            a->stamp = next;
        }
    }
    release(a);
}

static void serialize_run(bd_op_ctx *c, const bd_resource_type *type)
{
    accumulator *a = input_accumulator(c, 0, type);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    if (bd_gbt_output_int64(c, 0, a->stamp) && bd_gbt_output_int64(c, 1, a->sums.updates))
        output_sums(c, 2, &a->sums);
    release(a);
}

static void deserialize_run(bd_op_ctx *c, const bd_resource_type *type)
{
    BD_STATUS(st);
    int64_t stamp, updates;
    batch b;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp) ||
        !bd_gbt_input_int64(c, 2, "num_updates", &updates))
        return;
    accumulator *a = input_accumulator(c, 0, type);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    sums read = empty_sums(&a->sums);
    if (read_batch(c, 3, 1, &a->sums, &b) && add_batch(&read, &b, st)) bd_op_fail_status(c, st);
    if (!bd_op_failed(c)) {
        const sums old = a->sums;
        a->sums = read;
        a->sums.updates = updates;
        a->stamp = stamp;
        read = old;
    }
    release(a);
    sums_clear(&read);
}

// Slots without an accumulator.
static void summary_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    batch b;
    sums s = {0};
    if (!read_batch(c, 0, 1, NULL, &b)) return;
    s.gradient_shape = slot_shape(bd_input(c, 2));
    s.hessian_shape = slot_shape(bd_input(c, 3));
    s.gradients = bd_shape_count(&s.gradient_shape);
    s.hessians = bd_shape_count(&s.hessian_shape);
    if (add_batch(&s, &b, st))
        bd_op_fail_status(c, st);
    else
        output_sums(c, 0, &s);
    sums_clear(&s);
}

#define KERNELS_OF(NAME, TYPE)                                                                               \
    static void NAME##_handle_run(bd_op_ctx *c)                                                              \
    {                                                                                                        \
        handle_run(c, &(TYPE));                                                                              \
    }                                                                                                        \
    static void NAME##_is_initialized_run(bd_op_ctx *c)                                                      \
    {                                                                                                        \
        bd_boosted_trees_is_initialized(c, &(TYPE));                                                         \
    }                                                                                                        \
    static void NAME##_create_run(bd_op_ctx *c)                                                              \
    {                                                                                                        \
        create_run(c, &(TYPE));                                                                              \
    }                                                                                                        \
    static void NAME##_add_run(bd_op_ctx *c)                                                                 \
    {                                                                                                        \
        add_run(c, &(TYPE));                                                                                 \
    }

#define MORE_KERNELS_OF(NAME, TYPE)                                                                          \
    static void NAME##_flush_run(bd_op_ctx *c)                                                               \
    {                                                                                                        \
        flush_run(c, &(TYPE));                                                                               \
    }                                                                                                        \
    static void NAME##_serialize_run(bd_op_ctx *c)                                                           \
    {                                                                                                        \
        serialize_run(c, &(TYPE));                                                                           \
    }                                                                                                        \
    static void NAME##_deserialize_run(bd_op_ctx *c)                                                         \
    {                                                                                                        \
        deserialize_run(c, &(TYPE));                                                                         \
    }

KERNELS_OF(scalar, scalar_type)
MORE_KERNELS_OF(scalar, scalar_type)
KERNELS_OF(tensor, tensor_type)
MORE_KERNELS_OF(tensor, tensor_type)

// ---- Shapes ----

// Gives outputs from output `i` on the shapes of slots; `rank` is that of gradients, or -1.
static void slot_shapes(bd_shape_ctx *c, int i, int rank)
{
    c->outputs[i] = bd_shape1(-1);
    if (rank > 0) {
        c->outputs[i + 2] = bd_shape1(-1);
        c->outputs[i + 3] = bd_shape1(-1);
    }
}

static braid_code check_rows(bd_shape_ctx *c, int i, int partitions, bool is_scalar, braid_status *st)
{
    const int64_t rows = bd_shape_ctx_dim(c, partitions, 0), own = bd_shape_ctx_dim(c, i, 0);
    const int rank = c->inputs[i].rank;
    if (is_scalar && bd_shape_ctx_rank(c, i, 1, st)) return st->code;
    if (!is_scalar && (rank == 0 || rank == 1))
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", rank);
    if (rows >= 0 && own >= 0 && rows != own)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)rows,
                                 (long long)own);
    return BRAID_OK;
}

static braid_code batch_shape(bd_shape_ctx *c, int at, int step, bool is_scalar, braid_status *st)
{
    if (bd_shape_ctx_rank(c, at, 1, st) || bd_shape_ctx_rank(c, at + step, 2, st) ||
        check_rows(c, at + 2 * step, at, is_scalar, st))
        return st->code;
    return check_rows(c, at + 3 * step, at, is_scalar, st);
}

static braid_code add_shape(bd_shape_ctx *c, bool is_scalar, braid_status *st)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    if (bd_shape_ctx_ranks(c, 0, count + 1, 0, st)) return st->code;
    for (int i = 0; i < count; i++)
        if (batch_shape(c, count + 1 + i, count, is_scalar, st)) return st->code;
    return BRAID_OK;
}

static braid_code scalar_add_shape(bd_shape_ctx *c, braid_status *st)
{
    return add_shape(c, true, st);
}

static braid_code tensor_add_shape(bd_shape_ctx *c, braid_status *st)
{
    return add_shape(c, false, st);
}

static braid_code create_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_ranks(c, 0, 2, 0, st) ? st->code : bd_shape_ctx_ranks(c, 2, c->input_count, 1, st);
}

static braid_code scalar_flush_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    slot_shapes(c, 1, 1);
    return bd_shape_ctx_ranks(c, 0, 3, 0, st);
}

static braid_code tensor_flush_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    slot_shapes(c, 1, -1);
    return bd_shape_ctx_ranks(c, 0, 3, 0, st);
}

static braid_code scalar_serialize_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->outputs[1] = BD_SCALAR;
    slot_shapes(c, 2, 1);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

static braid_code tensor_serialize_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->outputs[1] = BD_SCALAR;
    slot_shapes(c, 2, -1);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

static braid_code scalar_deserialize_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_ranks(c, 0, 3, 0, st) ? st->code : batch_shape(c, 3, 1, true, st);
}

static braid_code tensor_deserialize_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_ranks(c, 0, 3, 0, st) ? st->code : batch_shape(c, 3, 1, false, st);
}

// ---- Definitions ----

#define HANDLE "stats_accumulator_handle: resource"
#define ADDED                                                                                                \
    "(stats_accumulator_handles: num_resource_handles*resource, stamp_token: int64, partition_ids: "         \
    "num_resource_handles*int32, feature_ids: num_resource_handles*int64, gradients: "                       \
    "num_resource_handles*float, hessians: num_resource_handles*float) -> ()"
#define SLOTS "partition_ids: int32, feature_ids: int64, gradients: float, hessians: float"
#define OUTPUT_SLOTS                                                                                         \
    "output_partition_ids: int32, output_feature_ids: int64, output_gradients: float, output_hessians: float"
#define FLUSHED                                                                                              \
    "(" HANDLE ", stamp_token: int64, next_stamp_token: int64) -> (num_updates: int64, " OUTPUT_SLOTS ")"
#define RESTORED "(" HANDLE ", stamp_token: int64, num_updates: int64, " SLOTS ") -> ()"
#define SAVED "(" HANDLE ") -> (stamp_token: int64, num_updates: int64, " OUTPUT_SLOTS ")"
#define STAMP_DEVIATION                                                                                      \
    "TensorFlow ends the process for a stamp other than the accumulator's, and for a next one that is the "  \
    "same."

BD_OP(StatsAccumulatorScalarResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = scalar_handle_run}),
    .doc = "A handle to an accumulator of gradients that are one number.",
};

BD_OP(StatsAccumulatorScalarIsInitialized) = {
    .signature = "(" HANDLE ") -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = scalar_is_initialized_run}),
    .doc = "Whether the accumulator exists.",
};

BD_OP(CreateStatsAccumulatorScalar) = {
    .signature = "(" HANDLE ", stamp_token: int64) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = create_shape,
    .kernels = BD_KERNELS({.run = scalar_create_run}),
    .doc = "Makes an accumulator, unless it exists.",
};

BD_OP(StatsAccumulatorScalarAdd) = {
    .signature = ADDED,
    .attrs = "num_resource_handles:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_add_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = scalar_add_run}),
    .doc = "Adds gradients and hessians to accumulators, by partition and pair of feature id and dimension. "
           "Those with another stamp stay as they are.",
};

BD_OP(StatsAccumulatorScalarFlush) = {
    .signature = FLUSHED,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_flush_shape,
    .kernels = BD_KERNELS({.run = scalar_flush_run}),
    .doc =
        "The sums of an accumulator, sorted by partition, dimension and feature id. It is empty afterwards and "
        "has the next stamp.",
    .deviation = STAMP_DEVIATION,
};

BD_OP(StatsAccumulatorScalarDeserialize) = {
    .signature = RESTORED,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_deserialize_shape,
    .kernels = BD_KERNELS({.run = scalar_deserialize_run}),
    .doc = "Replaces the stamp and the sums of an accumulator.",
};

BD_OP(StatsAccumulatorScalarSerialize) = {
    .signature = SAVED,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalar_serialize_shape,
    .kernels = BD_KERNELS({.run = scalar_serialize_run}),
    .doc = "The stamp and the sums of an accumulator, which keeps them.",
};

BD_OP(StatsAccumulatorScalarMakeSummary) = {
    .signature = "(" SLOTS ") -> (" OUTPUT_SLOTS ")",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = summary_run}),
    .doc = "Sums of gradients and hessians by partition, dimension and feature id.",
};

BD_OP(StatsAccumulatorTensorResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = tensor_handle_run}),
    .doc = "A handle to an accumulator of gradients that are tensors.",
};

BD_OP(StatsAccumulatorTensorIsInitialized) = {
    .signature = "(" HANDLE ") -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = tensor_is_initialized_run}),
    .doc = "Whether the accumulator exists.",
};

BD_OP(CreateStatsAccumulatorTensor) = {
    .signature = "(" HANDLE
                 ", stamp_token: int64, per_slot_gradient_shape: int64, per_slot_hessian_shape: int64) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = create_shape,
    .kernels = BD_KERNELS({.run = tensor_create_run}),
    .doc = "Makes an accumulator of gradients and hessians of these shapes, unless it exists.",
};

BD_OP(StatsAccumulatorTensorAdd) = {
    .signature = ADDED,
    .attrs = "num_resource_handles:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = tensor_add_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = tensor_add_run}),
    .doc = "As StatsAccumulatorScalarAdd, of tensors.",
};

BD_OP(StatsAccumulatorTensorFlush) = {
    .signature = FLUSHED,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = tensor_flush_shape,
    .kernels = BD_KERNELS({.run = tensor_flush_run}),
    .doc = "As StatsAccumulatorScalarFlush, of tensors.",
    .deviation = STAMP_DEVIATION,
};

BD_OP(StatsAccumulatorTensorDeserialize) = {
    .signature = RESTORED,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = tensor_deserialize_shape,
    .kernels = BD_KERNELS({.run = tensor_deserialize_run}),
    .doc = "As StatsAccumulatorScalarDeserialize, of tensors.",
};

BD_OP(StatsAccumulatorTensorSerialize) = {
    .signature = SAVED,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = tensor_serialize_shape,
    .kernels = BD_KERNELS({.run = tensor_serialize_run}),
    .doc = "As StatsAccumulatorScalarSerialize, of tensors.",
};

BD_OP(StatsAccumulatorTensorMakeSummary) = {
    .signature = "(" SLOTS ") -> (" OUTPUT_SLOTS ")",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = summary_run}),
    .doc = "As StatsAccumulatorScalarMakeSummary, of tensors.",
};

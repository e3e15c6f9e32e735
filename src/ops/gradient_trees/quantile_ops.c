// Streams of quantiles of one feature each, as resources; their buckets; and summaries as messages.
#include "base/check.h"
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/boosted_trees/quantile_sketch.h"
#include "ops/common/handle.h"
#include "ops/gradient_trees/ensemble.h"
#include "proto/pack.h"
#include "tensorflow/contrib/boosted_trees/proto/quantiles.pb-c.h"
#include <string.h>

typedef BoostedTrees__QuantileSummaryState summary_message;
typedef BoostedTrees__QuantileStreamState stream_message;

typedef struct accumulator {
    bd_resource base;
    double epsilon;
    int64_t quantiles, max_elements;
    bool makes_quantiles;
    bd_mutex mu;
    int64_t stamp; // guarded by mu, and so is what follows
    bd_quantile_stream stream;
    bool is_ready; // there are boundaries
    float *boundaries;
    int64_t boundary_count;
    bd_charge charge; // for the stream
} accumulator;

// ---- The resource ----

static void destroy(bd_resource *r)
{
    accumulator *a = BD_CONTAINER_OF(r, accumulator, base);
    bd_quantile_stream_fini(&a->stream);
    bd_free(a->boundaries);
    bd_charge_fini(&a->charge);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

static const bd_resource_type accumulator_type = {.name = "QuantileStreamResource", .destroy = destroy};

static accumulator *input_accumulator(bd_op_ctx *c, int i)
{
    bd_resource *r = bd_input_resource(c, i, &accumulator_type);
    return r ? BD_CONTAINER_OF(r, accumulator, base) : NULL;
}

static void release(accumulator *a)
{
    bd_mutex_unlock(&a->mu);
    bd_resource_unref(&a->base);
}

static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &accumulator_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &accumulator_type);
}

typedef struct spec {
    const braid_op *node;
    int64_t stamp;
} spec;

static braid_code make_accumulator(void *arg, bd_resource **out, braid_status *st)
{
    const spec *s = arg;
    bd_quantile_stream stream;
    const double epsilon = (double)bd_node_attr_float(s->node, "epsilon");
    const int64_t max_elements = bd_node_attr_int(s->node, "max_elements");
    const int64_t quantiles = bd_node_attr_int(s->node, "num_quantiles");
    if (bd_quantile_stream_init(&stream, epsilon, max_elements, st)) return st->code;
    if (quantiles < 1 || quantiles > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_quantiles must be 1 to 2147483647, got %lld",
                       (long long)quantiles);
    accumulator *a = bd_calloc(1, sizeof *a);
    bd_resource_init(&a->base, &accumulator_type);
    bd_mutex_init(&a->mu);
    a->epsilon = epsilon;
    a->quantiles = quantiles;
    a->max_elements = max_elements;
    a->makes_quantiles = bd_node_attr_bool(s->node, "generate_quantiles");
    a->stamp = s->stamp;
    a->stream = stream;
    *out = &a->base;
    return BRAID_OK;
}

// An accumulator that exists already stays as it is.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    spec made = {.node = c->node};
    char *container, *name;
    bd_resource *r = NULL;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &made.stamp) ||
        !bd_boosted_trees_handle(c, &accumulator_type, &container, &name))
        return;
    const bd_resource_spec resource = {container, name, &accumulator_type, make_accumulator, &made};
    if (bd_resources_lookup_or_create(c->step->resources, &resource, &r, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
    bd_free(container);
    bd_free(name);
}

// ---- Summaries as messages ----

static void emit_entry(bd_message_out *out, const void *arg)
{
    const bd_quantile_entry *e = arg;
    bd_gbt_emit_float(out, 1, e->value);
    bd_gbt_emit_float(out, 2, e->weight);
    bd_gbt_emit_float(out, 3, e->min_rank);
    bd_gbt_emit_float(out, 4, e->max_rank);
}

static void emit_summary(bd_message_out *out, const void *arg)
{
    const bd_quantile_summary *s = arg;
    for (size_t i = 0; i < s->len; i++)
        bd_emit_message(out, 1, emit_entry, &s->items[i]);
}

// A stream's levels, and an empty summary behind them: TensorFlow's has room for one that is being made.
static void emit_stream(bd_message_out *out, const void *arg)
{
    const bd_quantile_stream *s = arg;
    const bd_quantile_summary none = {0};
    for (size_t i = 0; i < s->levels.len; i++)
        bd_emit_message(out, 1, emit_summary, &s->levels.items[i]);
    bd_emit_message(out, 1, emit_summary, &none);
}

static braid_code read_summary(bd_quantile_summary *s, const summary_message *m, braid_status *st)
{
    s->items = bd_try_calloc(m->n_entries + 1, sizeof *s->items);
    if (!s->items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a summary of %zu entries", m->n_entries);
    s->len = s->cap = m->n_entries;
    for (size_t i = 0; i < m->n_entries; i++)
        s->items[i] = (bd_quantile_entry){m->entries[i]->value, m->entries[i]->weight,
                                          m->entries[i]->min_rank, m->entries[i]->max_rank};
    return BRAID_OK;
}

// The memory of the entries of a stream, and of boundaries.
static size_t bytes_of(const bd_quantile_stream *s, int64_t boundaries)
{
    size_t bytes = (size_t)boundaries * sizeof(float);
    for (size_t i = 0; i < s->levels.len; i++)
        bytes += s->levels.items[i].cap * sizeof(bd_quantile_entry);
    return bytes;
}

// Counts what the accumulator has, and `more`.
static braid_code charge(accumulator *a, size_t more, braid_status *st)
{
    return bd_charge_set(&a->charge, bytes_of(&a->stream, a->boundary_count) + more,
                         "The quantiles of a feature", st);
}

// ---- Adding ----

static braid_code add_summary(accumulator *a, const bd_string *message, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    bd_quantile_summary s = {0};
    const summary_message *m = bd_proto_unpack(&boosted_trees__quantile_summary_state__descriptor,
                                               message->data, message->len, arena, why);
    if (!m) return bd_fail(st, why->code, "Unable to parse quantile summary: %s", braid_status_message(why));
    if (!charge(a, m->n_entries * sizeof *s.items, st) && !read_summary(&s, m, st))
        bd_quantile_stream_add_summary(&a->stream, s.items, (int64_t)s.len);
    bd_array_free(&s);
    return st->code ? st->code : charge(a, 0, st);
}

// What is added with another stamp is left out.
static void add_run(bd_op_ctx *c)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    int64_t stamp;
    if (!bd_gbt_input_int64(c, count, "stamp_token", &stamp)) return;
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        BD_STATUS(st);
        const bd_string *message;
        if (!bd_gbt_input_message(c, count + 1 + i, "summaries", &message)) return;
        accumulator *a = input_accumulator(c, i);
        if (!a) return;
        bd_mutex_lock(&a->mu);
        if (a->stamp == stamp && add_summary(a, message, st)) bd_op_fail_status(c, st);
        release(a);
    }
}

// ---- Boundaries ----

// Takes `count` values over.
static void set_boundaries(accumulator *a, float *values, int64_t count)
{
    bd_free(a->boundaries);
    a->boundaries = values;
    a->boundary_count = count;
    a->is_ready = true;
}

// The boundaries of a summary, which it overwrites. *values is the caller's.
static braid_code make_boundaries(bd_quantile_summary *s, int64_t quantiles, bool is_quantiles,
                                  float **values, int64_t *count, braid_status *st)
{
    const int64_t parts = quantiles > 2 ? quantiles : 2;
    const size_t room = is_quantiles ? (size_t)parts + 1 : s->len + 1;
    *values = bd_try_malloc(room * sizeof **values);
    if (!*values) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu boundaries", room);
    *count =
        is_quantiles ? bd_quantile_values(s, parts, *values) : bd_quantile_boundaries(s, quantiles, *values);
    return BRAID_OK;
}

static void output_floats(bd_op_ctx *c, int i, const float *values, int64_t count)
{
    const braid_shape shape = bd_shape1(count);
    const braid_tensor *y = bd_output(c, i, BRAID_FLOAT, &shape);
    if (y && count > 0) memcpy(bd_tensor_f32(y), values, (size_t)count * sizeof *values);
}

static void get_buckets_run(bd_op_ctx *c)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    int64_t stamp;
    if (!bd_gbt_input_int64(c, count, "stamp_token", &stamp)) return;
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        accumulator *a = input_accumulator(c, i);
        if (!a) return;
        bd_mutex_lock(&a->mu);
        const bool is_ready = a->stamp == stamp && a->is_ready;
        bd_gbt_output_bool(c, i, is_ready);
        output_floats(c, count + i, a->boundaries, is_ready ? a->boundary_count : 0);
        release(a);
    }
}

// The accumulator of input 0, locked, whose stamp is that of input 1. NULL: the kernel has failed.
static accumulator *lock_stamped(bd_op_ctx *c, int64_t *next)
{
    int64_t stamp;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp) ||
        !bd_gbt_input_int64(c, 2, "next_stamp_token", next))
        return NULL;
    accumulator *a = input_accumulator(c, 0);
    if (!a) return NULL;
    bd_mutex_lock(&a->mu);
    if (a->stamp == stamp) return a;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid stamp token. Passed stamp token: %lld Current token: %lld",
               (long long)stamp, (long long)a->stamp);
    release(a);
    return NULL;
}

// Moves the summary of the stream out. False: the kernel has failed.
static bool finish(bd_op_ctx *c, accumulator *a, bd_quantile_summary *s)
{
    BD_STATUS(st);
    if (!bd_quantile_stream_finish(&a->stream, s, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

static void flush_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t next, count;
    float *values;
    bd_quantile_summary s = {0};
    accumulator *a = lock_stamped(c, &next);
    if (!a) return;
    const size_t more = a->makes_quantiles ? (size_t)a->quantiles * sizeof *values : 0;
    if (charge(a, more, st))
        bd_op_fail_status(c, st);
    else if (finish(c, a, &s)) {
        if (make_boundaries(&s, a->quantiles, a->makes_quantiles, &values, &count, st)) {
            bd_op_fail_status(c, st);
        } else {
            set_boundaries(a, values, count);
            a->stamp = next;
        }
        if (!st->code && charge(a, 0, st)) bd_op_fail_status(c, st);
    }
    bd_array_free(&s);
    release(a);
}

static void flush_summary_run(bd_op_ctx *c)
{
    int64_t next;
    bd_quantile_summary s = {0};
    accumulator *a = lock_stamped(c, &next);
    if (!a) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y && finish(c, a, &s) && bd_output_message(c, y, 0, emit_summary, &s)) {
        BD_STATUS(st);
        a->stamp = next;
        if (charge(a, 0, st)) bd_op_fail_status(c, st);
    }
    bd_array_free(&s);
    release(a);
}

// ---- Saving and restoring ----

static void serialize_run(bd_op_ctx *c)
{
    accumulator *a = input_accumulator(c, 0);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    const braid_tensor *y = bd_output(c, 1, BRAID_STRING, &BD_SCALAR);
    if (y && bd_output_message(c, y, 0, emit_stream, &a->stream) && bd_gbt_output_int64(c, 0, a->stamp) &&
        bd_gbt_output_bool(c, 2, a->is_ready))
        output_floats(c, 3, a->boundaries, a->is_ready ? a->boundary_count : 0);
    release(a);
}

// The last summary is the one that was being made, which is empty.
static braid_code read_stream(bd_quantile_stream *s, const bd_string *message, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const stream_message *m = bd_proto_unpack(&boosted_trees__quantile_stream_state__descriptor,
                                              message->data, message->len, arena, why);
    if (!m)
        return bd_fail(st, why->code, "Unable to parse quantile stream state: %s", braid_status_message(why));
    if (m->n_summaries == 0 || m->n_summaries > 63)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The quantile stream state has %zu summaries",
                       m->n_summaries);
    for (size_t i = 0; i + 1 < m->n_summaries; i++) {
        bd_array_push(&s->levels, (bd_quantile_summary){0});
        if (read_summary(&s->levels.items[i], m->summaries[i], st)) return st->code;
    }
    return BRAID_OK;
}

// Reads inputs 1 to 4 into an accumulator, all or nothing.
static void restore(bd_op_ctx *c, accumulator *a, int64_t stamp, bool is_ready, const bd_string *state)
{
    BD_STATUS(st);
    bd_quantile_stream stream;
    const int64_t count = bd_input(c, 4)->shape.dims[0];
    float *values = bd_try_malloc(((size_t)count + 1) * sizeof *values);
    bd_quantile_stream_init(&stream, a->epsilon, a->max_elements, st);
    if (!values) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for %lld boundaries", (long long)count);
    } else if (read_stream(&stream, state, st) || charge(a, bytes_of(&stream, count), st)) {
        bd_op_fail_status(c, st);
    } else {
        const bd_quantile_stream old = a->stream;
        a->stream = stream;
        stream = old;
        if (count > 0) memcpy(values, bd_tensor_f32(bd_input(c, 4)), (size_t)count * sizeof *values);
        set_boundaries(a, values, count);
        values = NULL;
        a->stamp = stamp;
        a->is_ready = is_ready;
        charge(a, 0, st); // less than before
    }
    bd_quantile_stream_fini(&stream);
    bd_free(values);
}

static void deserialize_run(bd_op_ctx *c)
{
    int64_t stamp;
    bool is_ready;
    const bd_string *state;
    if (!bd_gbt_input_int64(c, 1, "stamp_token", &stamp) ||
        !bd_gbt_input_message(c, 2, "stream_state", &state) ||
        !bd_gbt_input_bool(c, 3, "are_buckets_ready", &is_ready) || !bd_input_has_rank(c, 4, 1, "buckets"))
        return;
    accumulator *a = input_accumulator(c, 0);
    if (!a) return;
    bd_mutex_lock(&a->mu);
    restore(c, a, stamp, is_ready, state);
    release(a);
}

// ---- Features of a batch ----

// A feature: values, and the example of each where it is sparse.
typedef struct feature {
    const float *values;
    const int64_t *indices; // [count, 2]; NULL: of each example one
    int64_t count;
} feature;

typedef struct batch {
    int dense, sparse;
    const float *weights;
    int64_t rows;
} batch;

static bool read_weights(bd_op_ctx *c, batch *b)
{
    b->dense = (int)bd_node_attr_int(c->node, "num_dense_features");
    b->sparse = (int)bd_node_attr_int(c->node, "num_sparse_features");
    if (b->dense + b->sparse == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Please provide at least sparse or dense features.");
        return false;
    }
    const braid_tensor *weights = bd_input(c, b->dense + 3 * b->sparse);
    b->weights = bd_tensor_f32(weights);
    b->rows = bd_tensor_count(weights);
    return true;
}

static bool read_dense(bd_op_ctx *c, const batch *b, int i, feature *f)
{
    const braid_tensor *t = bd_input(c, i);
    *f = (feature){.values = bd_tensor_f32(t), .count = b->rows};
    if (bd_tensor_count(t) == b->rows) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Dense feature %d has %lld values, but there are %lld example_weights", i,
               (long long)bd_tensor_count(t), (long long)b->rows);
    return false;
}

static bool read_sparse(bd_op_ctx *c, const batch *b, int i, feature *f)
{
    const braid_tensor *indices = bd_input(c, b->dense + i), *values = bd_input(c, b->dense + b->sparse + i),
                       *shape = bd_input(c, b->dense + 2 * b->sparse + i);
    if (indices->shape.rank != 2 || indices->shape.dims[1] != 2 ||
        bd_tensor_count(values) != indices->shape.dims[0] || bd_tensor_count(shape) < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Sparse feature %d must have indices of two columns, as many values, and a shape", i);
        return false;
    }
    if (bd_tensor_i64(shape)[0] != b->rows) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sparse column shape doesn't match the batch size.");
        return false;
    }
    *f = (feature){
        .values = bd_tensor_f32(values), .indices = bd_tensor_i64(indices), .count = indices->shape.dims[0]};
    return true;
}

// The summary of a feature. False: the kernel has failed.
static bool summarize(bd_op_ctx *c, const batch *b, const feature *f, double epsilon, int64_t max_elements,
                      bd_quantile_summary *s)
{
    BD_STATUS(st);
    bd_quantile_stream stream;
    if (bd_quantile_stream_init(&stream, epsilon, max_elements, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    for (int64_t i = 0; i < f->count && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        const int64_t row = f->indices ? f->indices[2 * i] : i;
        if (row < 0 || row >= b->rows)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A sparse feature is of example %lld of %lld",
                       (long long)row, (long long)b->rows);
        else
            bd_quantile_stream_add(&stream, f->values[i], b->weights[row]);
    }
    if (!bd_op_failed(c) && bd_quantile_stream_finish(&stream, s, st)) bd_op_fail_status(c, st);
    bd_quantile_stream_fini(&stream);
    return !bd_op_failed(c);
}

static bool read_feature(bd_op_ctx *c, const batch *b, int i, feature *f)
{
    return i < b->dense ? read_dense(c, b, i, f) : read_sparse(c, b, i - b->dense, f);
}

static void make_run(bd_op_ctx *c)
{
    batch b;
    if (!read_weights(c, &b)) return;
    const double epsilon = (double)bd_node_attr_float(c->node, "epsilon");
    for (int i = 0; i < b.dense + b.sparse && !bd_op_failed(c); i++) {
        feature f;
        bd_quantile_summary s = {0};
        const braid_tensor *y = bd_output(c, i, BRAID_STRING, &BD_SCALAR);
        if (y && read_feature(c, &b, i, &f) && summarize(c, &b, &f, epsilon, b.rows + 1, &s))
            bd_output_message(c, y, 0, emit_summary, &s);
        bd_array_free(&s);
    }
}

// ---- Buckets of a batch ----

typedef struct config {
    double epsilon;
    int64_t quantiles;
} config;

typedef struct bucket_binding {
    config *configs; // of the dense features, and the sparse ones
} bucket_binding;

static braid_code read_configs(const bd_attr *attr, int64_t want, const char *kind, config *to,
                               braid_status *st)
{
    if (attr->list.count != want)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Mismatch in number of %s quantile configs.", kind);
    for (int i = 0; i < attr->list.count; i++) {
        BD_PROTO_ARENA(arena);
        BD_STATUS(why);
        const BoostedTrees__QuantileConfig *m =
            bd_proto_unpack(&boosted_trees__quantile_config__descriptor, attr->list.s[i].data,
                            attr->list.s[i].len, arena, why);
        if (!m)
            return bd_fail(st, why->code, "Malformed QuantileConfig passed in: %s",
                           braid_status_message(why));
        if (m->num_quantiles < 1)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_quantiles must be positive, got %lld",
                           (long long)m->num_quantiles);
        to[i] = (config){m->eps, m->num_quantiles};
    }
    return BRAID_OK;
}

static void unbind_buckets(void *state)
{
    bucket_binding *b = state;
    bd_free(b->configs);
}

static braid_code bind_buckets(const braid_op *node, void *state, braid_status *st)
{
    bucket_binding *b = state;
    const int64_t dense = bd_node_attr_int(node, "num_dense_features");
    const int64_t sparse = bd_node_attr_int(node, "num_sparse_features");
    const bd_attr *dense_attr = bd_node_attr(node, "dense_config");
    const bd_attr *sparse_attr = bd_node_attr(node, "sparse_config");
    b->configs =
        bd_calloc((size_t)dense_attr->list.count + (size_t)sparse_attr->list.count + 1, sizeof *b->configs);
    if (read_configs(dense_attr, dense, "dense", b->configs, st) ||
        read_configs(sparse_attr, sparse, "sparse", b->configs + dense, st))
        unbind_buckets(b);
    return st->code;
}

static void buckets_run(bd_op_ctx *c)
{
    const bucket_binding *binding = c->state;
    batch b;
    if (!read_weights(c, &b)) return;
    for (int i = 0; i < b.dense + b.sparse && !bd_op_failed(c); i++) {
        BD_STATUS(st);
        feature f;
        bd_quantile_summary s = {0};
        float *values = NULL;
        int64_t count = 0;
        const config *own = &binding->configs[i];
        if (read_feature(c, &b, i, &f) && summarize(c, &b, &f, own->epsilon, b.rows > 0 ? b.rows : 1, &s)) {
            if (make_boundaries(&s, own->quantiles, false, &values, &count, st))
                bd_op_fail_status(c, st);
            else
                output_floats(c, i, values, count);
        }
        bd_free(values);
        bd_array_free(&s);
    }
}

// ---- Values to buckets ----

// The first boundary that is not below the value; `count` where all are.
static int64_t lower_bound(const float *boundaries, int64_t count, float value)
{
    int64_t from = 0, to = count;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        if (boundaries[middle] < value)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

// Output `i` [values, 2]: the bucket, or the last one, and the dimension.
static bool quantize(bd_op_ctx *c, int i, const braid_tensor *values, const braid_tensor *boundaries,
                     const braid_tensor *indices)
{
    const int64_t n = values->shape.rank > 0 ? values->shape.dims[0] : -1,
                  count = bd_tensor_count(boundaries);
    if (n != bd_tensor_count(values) || boundaries->shape.rank != 1 || (n > 0 && count == 0)) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Feature %d must have one value in each row, and buckets that are a flat vector and not empty",
            i);
        return false;
    }
    if (indices && (indices->shape.rank != 2 || indices->shape.dims[0] != n || indices->shape.dims[1] < 2)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sparse feature %d must have indices of two columns", i);
        return false;
    }
    const braid_shape shape = bd_shape2(n, 2);
    const braid_tensor *y = bd_output(c, i, BRAID_INT32, &shape);
    if (!y) return false;
    for (int64_t k = 0; k < n && !bd_interrupted_at(k); k++) {
        const int64_t bucket = lower_bound(bd_tensor_f32(boundaries), count, bd_tensor_f32(values)[k]);
        bd_tensor_i32(y)[2 * k] = (int32_t)(bucket < count ? bucket : count - 1);
        bd_tensor_i32(y)[2 * k + 1] =
            indices ? (int32_t)bd_tensor_i64(indices)[k * indices->shape.dims[1] + 1] : 0;
    }
    return true;
}

static void quantiles_run(bd_op_ctx *c)
{
    const int dense = (int)bd_node_attr_int(c->node, "num_dense_features");
    const int sparse = (int)bd_node_attr_int(c->node, "num_sparse_features");
    const int features = dense + sparse;
    if (features == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Please provide at least sparse or dense features.");
    for (int i = 0; i < features; i++)
        if (!quantize(c, i, bd_input(c, i), bd_input(c, features + i),
                      i < dense ? NULL : bd_input(c, 2 * features + i - dense)))
            return;
}

// Boundaries are compared in the type of the values.
#define BUCKETIZE(NAME, TYPE)                                                                                \
    static void bucketize_##NAME(const TYPE *x, int64_t n, const TYPE *boundaries, int64_t count,            \
                                 int32_t *y)                                                                 \
    {                                                                                                        \
        for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {                                           \
            int64_t from = 0, to = count;                                                                    \
            while (from < to) {                                                                              \
                const int64_t middle = from + (to - from) / 2;                                               \
                if (x[i] < boundaries[middle])                                                               \
                    to = middle;                                                                             \
                else                                                                                         \
                    from = middle + 1;                                                                       \
            }                                                                                                \
            y[i] = (int32_t)from;                                                                            \
        }                                                                                                    \
    }

BUCKETIZE(int32, int32_t)
BUCKETIZE(int64, int64_t)
BUCKETIZE(float, float)
BUCKETIZE(double, double)

// To the whole number towards 0 that the type has.
static int64_t whole(float value, int64_t least, int64_t most)
{
    if (!(value > (float)least)) return least;
    return value < (float)most ? (int64_t)value : most;
}

static void bucketize_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *b = bd_input(c, 1);
    const int64_t n = bd_tensor_count(x), count = bd_tensor_count(b);
    const float *boundaries = bd_tensor_f32(b);
    for (int64_t i = 1; i < count; i++) {
        if (!(boundaries[i] < boundaries[i - 1])) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected sorted boundaries");
        return;
    }
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &x->shape);
    void *cast = bd_try_calloc((size_t)count + 1, sizeof(int64_t));
    if (!cast) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for %lld boundaries", (long long)count);
    if (y && cast) {
        int32_t *to = bd_tensor_i32(y);
        switch (x->dtype) {
        case BRAID_INT32:
            for (int64_t i = 0; i < count; i++)
                ((int32_t *)cast)[i] = (int32_t)whole(boundaries[i], INT32_MIN, INT32_MAX);
            bucketize_int32(bd_tensor_i32(x), n, cast, count, to);
            break;
        case BRAID_INT64:
            for (int64_t i = 0; i < count; i++)
                ((int64_t *)cast)[i] = whole(boundaries[i], INT64_MIN, INT64_MAX);
            bucketize_int64(bd_tensor_i64(x), n, cast, count, to);
            break;
        case BRAID_FLOAT: bucketize_float(bd_tensor_f32(x), n, boundaries, count, to); break;
        default:
            for (int64_t i = 0; i < count; i++)
                ((double *)cast)[i] = (double)boundaries[i];
            bucketize_double(bd_tensor_f64(x), n, cast, count, to);
            break;
        }
    }
    bd_free(cast);
}

// ---- Shapes ----

static braid_code add_shape(bd_shape_ctx *c, braid_status *st)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    return bd_shape_ctx_ranks(c, 0, count + 1, 0, st);
}

static braid_code get_buckets_shape(bd_shape_ctx *c, braid_status *st)
{
    const int count = (int)bd_node_attr_int(c->node, "num_resource_handles");
    (void)st;
    for (int i = 0; i < count; i++) {
        c->outputs[i] = BD_SCALAR;
        c->outputs[count + i] = bd_shape1(-1);
    }
    return BRAID_OK;
}

static braid_code scalars_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    return bd_shape_ctx_ranks(c, 0, c->input_count, 0, st);
}

static braid_code flush_summary_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

static braid_code serialize_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 3; i++)
        c->outputs[i] = BD_SCALAR;
    c->outputs[3] = bd_shape1(-1);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

// The weights, and each dense feature, have a row for each example.
static braid_code make_shape(bd_shape_ctx *c, braid_status *st)
{
    const int dense = (int)bd_node_attr_int(c->node, "num_dense_features");
    const int weights = dense + 3 * (int)bd_node_attr_int(c->node, "num_sparse_features");
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    if (bd_shape_ctx_rank(c, weights, 2, st) || bd_shape_ctx_ranks(c, 0, dense, 2, st)) return st->code;
    for (int i = 0; i < dense; i++) {
        const int64_t rows = bd_shape_ctx_dim(c, weights, 0), own = bd_shape_ctx_dim(c, i, 0);
        if (rows >= 0 && own >= 0 && rows != own)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)rows, (long long)own);
    }
    return BRAID_OK;
}

static braid_code quantiles_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = bd_shape2(bd_shape_ctx_dim(c, i, 0), 2);
    return BRAID_OK;
}

// ---- Definitions ----

#define HANDLE "quantile_accumulator_handle: resource"
#define HANDLES "quantile_accumulator_handles: num_resource_handles*resource, stamp_token: int64"
#define BATCH                                                                                                \
    "(dense_float_features: num_dense_features*float, sparse_float_feature_indices: "                        \
    "num_sparse_features*int64, sparse_float_feature_values: num_sparse_features*float, "                    \
    "sparse_float_feature_shapes: num_sparse_features*int64, example_weights: float) -> "
#define COUNTS "num_dense_features:int>=0; num_sparse_features:int>=0"
#define STAMP_DEVIATION "TensorFlow ends the process for a stamp other than the accumulator's."

BD_OP(QuantileStreamResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to an accumulator of quantiles of tf.contrib.boosted_trees.",
};

BD_OP(QuantileAccumulatorIsInitialized) = {
    .signature = "(" HANDLE ") -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the accumulator exists.",
};

BD_OP(CreateQuantileAccumulator) = {
    .signature = "(" HANDLE ", stamp_token: int64) -> ()",
    .attrs = "container:string=''; shared_name:string=''; max_elements:int=1099511627776; epsilon:float; "
             "num_quantiles:int; generate_quantiles:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = create_run}),
    .doc =
        "Makes an accumulator of about max_elements values at most with an error of epsilon, unless it exists.",
};

BD_OP(QuantileAccumulatorAddSummaries) = {
    .signature = "(" HANDLES ", summaries: num_resource_handles*string) -> ()",
    .attrs = "num_resource_handles:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = add_shape,
    .kernels = BD_KERNELS({.run = add_run}),
    .doc =
        "Adds a serialized QuantileSummaryState to each accumulator. Those with another stamp stay as they are.",
};

BD_OP(QuantileAccumulatorGetBuckets) = {
    .signature = "(" HANDLES
                 ") -> (are_buckets_ready: num_resource_handles*bool, buckets: num_resource_handles*float)",
    .attrs = "num_resource_handles:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = get_buckets_shape,
    .kernels = BD_KERNELS({.run = get_buckets_run}),
    .doc = "The boundaries of buckets that the last flush made; none with another stamp.",
};

BD_OP(QuantileAccumulatorFlush) = {
    .signature = "(" HANDLE ", stamp_token: int64, next_stamp_token: int64) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = flush_run}),
    .doc = "Makes boundaries of num_quantiles buckets of what was added, or with generate_quantiles as many "
           "quantiles and one more. The accumulator is empty afterwards and has the next stamp.",
    .deviation = STAMP_DEVIATION " Without values there are no quantiles, where TensorFlow ends the process.",
};

BD_OP(QuantileAccumulatorFlushSummary) = {
    .signature = "(" HANDLE ", stamp_token: int64, next_stamp_token: int64) -> (output: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = flush_summary_shape,
    .kernels = BD_KERNELS({.run = flush_summary_run}),
    .doc =
        "The serialized QuantileSummaryState of what was added. The accumulator is empty afterwards and has the "
        "next stamp.",
    .deviation = STAMP_DEVIATION,
};

BD_OP(QuantileAccumulatorSerialize) = {
    .signature = "(" HANDLE
                 ") -> (stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = serialize_shape,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "The stamp of an accumulator, its serialized QuantileStreamState, and its boundaries.",
};

BD_OP(QuantileAccumulatorDeserialize) = {
    .signature = "(" HANDLE
                 ", stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "Replaces the stamp of an accumulator, what was added to it, and its boundaries.",
};

BD_OP(MakeQuantileSummaries) = {
    .signature = BATCH
    "(dense_summaries: num_dense_features*string, sparse_summaries: num_sparse_features*string)",
    .attrs = COUNTS "; epsilon:float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = make_run}),
    .doc = "The serialized QuantileSummaryState of each feature.",
};

BD_OP(QuantileBuckets) = {
    .signature = BATCH "(dense_buckets: num_dense_features*float, sparse_buckets: num_sparse_features*float)",
    .attrs = COUNTS "; dense_config:list(string); sparse_config:list(string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bucket_binding),
                           .create = bind_buckets,
                           .destroy = unbind_buckets,
                           .run = buckets_run}),
    .doc = "Boundaries of buckets of each feature, by its serialized QuantileConfig.",
};

BD_OP(Quantiles) = {
    .signature =
        "(dense_values: num_dense_features*float, sparse_values: num_sparse_features*float, dense_buckets: "
        "num_dense_features*float, sparse_buckets: num_sparse_features*float, sparse_indices: "
        "num_sparse_features*int64) -> (dense_quantiles: num_dense_features*int32, sparse_quantiles: "
        "num_sparse_features*int32)",
    .attrs = COUNTS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = quantiles_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = quantiles_run}),
    .doc = "For each value the index of the first boundary that is not below it, or of the last one; and the "
           "dimension of the value.",
    .deviation = "TensorFlow ends the process for buckets that are empty.",
};

BD_OP(BucketizeWithInputBoundaries) = {
    .signature = "(input: T, boundaries: float) -> (output: int32)",
    .attrs = "T:type{int32,int64,float,double}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = bucketize_run}),
    .doc = "For each value the number of boundaries that are not above it. Boundaries are sorted.",
};

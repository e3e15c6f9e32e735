// Streams of quantiles, one for each float feature, as a resource; and buckets of values by their boundaries.
#include "base/check.h"
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/boosted_trees/quantile_sketch.h"
#include "ops/common/handle.h"
#include <string.h>

// A stream is an input or an output of the nodes that use the resource: no node has more of these.
#define STREAMS_MAX (1 << 20)

typedef struct feature_stream {
    bd_quantile_stream stream;
    float *boundaries; // of the last flush, or restored
    int64_t boundary_count;
} feature_stream;

typedef struct streams {
    bd_resource base;
    bd_mutex mu;
    int64_t count;
    feature_stream *items; // [count]; their contents are guarded by mu
} streams;

// ---- The resource ----

static void destroy(bd_resource *r)
{
    streams *s = BD_CONTAINER_OF(r, streams, base);
    for (int64_t i = 0; i < s->count; i++) {
        bd_quantile_stream_fini(&s->items[i].stream);
        bd_free(s->items[i].boundaries);
    }
    bd_mutex_fini(&s->mu);
    bd_free(s->items);
    bd_free(s);
}

static const bd_resource_type streams_type = {.name = "BoostedTreesQuantileStreamResource",
                                              .destroy = destroy};

typedef struct streams_spec {
    double epsilon;
    int64_t count, max_elements;
} streams_spec;

static braid_code create_streams(void *arg, bd_resource **out, braid_status *st)
{
    const streams_spec *spec = arg;
    feature_stream *items = bd_try_calloc((size_t)spec->count, sizeof *items);
    if (!items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %lld streams", (long long)spec->count);
    for (int64_t i = 0; i < spec->count; i++) {
        if (!bd_quantile_stream_init(&items[i].stream, spec->epsilon, spec->max_elements, st)) continue;
        bd_free(items);
        return st->code;
    }
    streams *s = bd_calloc(1, sizeof *s);
    bd_resource_init(&s->base, &streams_type);
    bd_mutex_init(&s->mu);
    s->count = spec->count;
    s->items = items;
    *out = &s->base;
    return BRAID_OK;
}

// The streams in input 0, of which there must be `count`; the caller drops the reference. NULL: the kernel
// has failed.
static streams *input_streams(bd_op_ctx *c, int64_t count)
{
    bd_resource *r = bd_input_resource(c, 0, &streams_type);
    if (!r) return NULL;
    streams *s = BD_CONTAINER_OF(r, streams, base);
    if (s->count == count) return s;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The resource has %lld quantile streams, but the op %lld features",
               (long long)s->count, (long long)count);
    bd_resource_unref(r);
    return NULL;
}

static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &streams_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &streams_type);
}

static bool read_spec(bd_op_ctx *c, streams_spec *spec)
{
    float epsilon;
    BD_STATUS(st);
    if (!bd_input_float(c, 1, "epsilon", &epsilon) || !bd_input_has_rank(c, 2, 0, "num_streams"))
        return false;
    *spec = (streams_spec){(double)epsilon, bd_tensor_i64(bd_input(c, 2))[0],
                           bd_node_attr_int(c->node, "max_elements")};
    if (spec->count < 0 || spec->count > STREAMS_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Num_streams input must be in [0, %d], got %lld", STREAMS_MAX,
                   (long long)spec->count);
        return false;
    }
    bd_quantile_stream probe; // also where there is no stream to fail
    if (!bd_quantile_stream_init(&probe, spec->epsilon, spec->max_elements, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

// Streams that exist already stay as they are.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    streams_spec spec;
    char *container, *name;
    bd_resource *r = NULL;
    if (!read_spec(c, &spec) || !bd_boosted_trees_handle(c, &streams_type, &container, &name)) return;
    const bd_resource_spec resource = {container, name, &streams_type, create_streams, &spec};
    if (bd_resources_lookup_or_create(c->step->resources, &resource, &r, st)) bd_op_fail_status(c, st);
    bd_resource_unref(r);
    bd_free(container);
    bd_free(name);
}

// ---- Summaries ----

// Makes output `i` the entries: [entries, 4].
static void put_summary(bd_op_ctx *c, int i, const bd_quantile_summary *s)
{
    const braid_shape shape = bd_shape2((int64_t)s->len, 4);
    const braid_tensor *y = bd_output(c, i, BRAID_FLOAT, &shape);
    _Static_assert(sizeof(bd_quantile_entry) == 4 * sizeof(float), "entries are rows");
    if (y && s->len > 0) memcpy(bd_tensor_f32(y), s->items, s->len * sizeof *s->items);
}

// Moves the summary of a stream to output `i`.
static void finish_to_output(bd_op_ctx *c, bd_quantile_stream *stream, int i)
{
    BD_STATUS(st);
    bd_quantile_summary summary = {0};
    if (bd_quantile_stream_finish(stream, &summary, st))
        bd_op_fail_status(c, st);
    else
        put_summary(c, i, &summary);
    bd_array_free(&summary);
}

static void summarize(bd_op_ctx *c, int feature, float epsilon, const braid_tensor *weights)
{
    BD_STATUS(st);
    bd_quantile_stream stream;
    const braid_tensor *values = bd_input(c, feature);
    const int64_t rows = values->shape.dims[0];
    if (bd_quantile_stream_init(&stream, (double)epsilon, rows < INT64_MAX ? rows + 1 : rows, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    const bool is_one = bd_tensor_count(weights) == 1;
    for (int64_t i = 0; i < rows && !bd_interrupted_at(i); i++)
        bd_quantile_stream_add(&stream, bd_tensor_f32(values)[i], bd_tensor_f32(weights)[is_one ? 0 : i]);
    finish_to_output(c, &stream, feature);
    bd_quantile_stream_fini(&stream);
}

static void make_run(bd_op_ctx *c)
{
    const int n = c->input_count - 2;
    float epsilon;
    if (!bd_input_has_rank(c, n, 1, "example_weights") || !bd_input_float(c, n + 1, "epsilon", &epsilon))
        return;
    const int64_t weights = bd_tensor_count(bd_input(c, n));
    for (int i = 0; i < n && !bd_op_failed(c); i++) {
        if (!bd_input_has_rank(c, i, 1, "float_values")) return;
        if (weights != 1 && weights != bd_input(c, i)->shape.dims[0]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Weights should be a single value or same size as features.");
            return;
        }
        summarize(c, i, epsilon, bd_input(c, n));
    }
}

static void flush_summaries_run(bd_op_ctx *c)
{
    streams *s = input_streams(c, c->output_count);
    if (!s) return;
    bd_mutex_lock(&s->mu);
    for (int i = 0; i < c->output_count; i++)
        finish_to_output(c, &s->items[i].stream, i);
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(&s->base);
}

static bool check_summaries(bd_op_ctx *c)
{
    for (int i = 1; i < c->input_count; i++) {
        if (!bd_input_has_rank(c, i, 2, "summaries")) return false;
        if (bd_input(c, i)->shape.dims[1] == 4) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "summaries must have 4 columns, received shape %s",
                   bd_shape_str(&bd_input(c, i)->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    return true;
}

static void add_run(bd_op_ctx *c)
{
    streams *s = check_summaries(c) ? input_streams(c, c->input_count - 1) : NULL;
    if (!s) return;
    bd_mutex_lock(&s->mu);
    for (int i = 1; i < c->input_count; i++)
        bd_quantile_stream_add_summary(&s->items[i - 1].stream,
                                       (const bd_quantile_entry *)bd_tensor_f32(bd_input(c, i)),
                                       bd_input(c, i)->shape.dims[0]);
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(&s->base);
}

// ---- Boundaries ----

// Replaces the boundaries of a stream by `count` values, which it owns from now on.
static void set_boundaries(feature_stream *f, float *values, int64_t count)
{
    bd_free(f->boundaries);
    f->boundaries = values;
    f->boundary_count = count;
}

static void flush_stream(bd_op_ctx *c, feature_stream *f, int64_t buckets, bool is_quantiles)
{
    BD_STATUS(st);
    bd_quantile_summary summary = {0};
    if (bd_quantile_stream_finish(&f->stream, &summary, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    // Boundaries are values of the summary.
    const size_t room = is_quantiles ? (size_t)buckets : summary.len;
    float *values = room > SIZE_MAX / sizeof *values ? NULL : bd_try_malloc(room * sizeof *values);
    if (values)
        set_boundaries(f, values,
                       is_quantiles ? bd_quantile_values(&summary, buckets - 1, values)
                                    : bd_quantile_boundaries(&summary, buckets, values));
    else
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu boundaries", room);
    bd_array_free(&summary);
}

static void flush_run(bd_op_ctx *c)
{
    const bool is_quantiles = bd_node_attr_bool(c->node, "generate_quantiles");
    if (!bd_input_has_rank(c, 1, 0, "num_buckets")) return;
    const int64_t buckets = bd_tensor_i64(bd_input(c, 1))[0];
    if (buckets < (is_quantiles ? 3 : 1) || buckets > INT32_MAX) { // a bucket is an int32
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_buckets must be %d to 2147483647, got %lld",
                   is_quantiles ? 3 : 1, (long long)buckets);
        return;
    }
    bd_resource *r = bd_input_resource(c, 0, &streams_type);
    if (!r) return;
    streams *s = BD_CONTAINER_OF(r, streams, base);
    bd_mutex_lock(&s->mu);
    for (int64_t i = 0; i < s->count && !bd_op_failed(c); i++)
        flush_stream(c, &s->items[i], buckets, is_quantiles);
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(r);
}

static void restore_run(bd_op_ctx *c)
{
    for (int i = 1; i < c->input_count; i++)
        if (!bd_input_has_rank(c, i, 1, "bucket_boundaries")) return;
    streams *s = input_streams(c, c->input_count - 1);
    if (!s) return;
    bd_mutex_lock(&s->mu);
    for (int i = 1; i < c->input_count; i++) {
        const int64_t count = bd_input(c, i)->shape.dims[0];
        float *values = bd_try_malloc((size_t)count * sizeof *values);
        if (!values) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for %lld boundaries", (long long)count);
            break;
        }
        if (count > 0) memcpy(values, bd_tensor_f32(bd_input(c, i)), (size_t)count * sizeof *values);
        set_boundaries(&s->items[i - 1], values, count);
    }
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(&s->base);
}

static void boundaries_run(bd_op_ctx *c)
{
    streams *s = input_streams(c, c->output_count);
    if (!s) return;
    bd_mutex_lock(&s->mu);
    for (int i = 0; i < c->output_count; i++) {
        const feature_stream *f = &s->items[i];
        const braid_shape shape = bd_shape1(f->boundary_count);
        const braid_tensor *y = bd_output(c, i, BRAID_FLOAT, &shape);
        if (y && f->boundary_count > 0)
            memcpy(bd_tensor_f32(y), f->boundaries, (size_t)f->boundary_count * sizeof *f->boundaries);
    }
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(&s->base);
}

// ---- Buckets ----

// The first boundary that is not below the value, or the last one.
static int32_t bucket_of(float value, const float *boundaries, int64_t count)
{
    int64_t from = 0, to = count;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        if (boundaries[middle] < value)
            from = middle + 1;
        else
            to = middle;
    }
    return (int32_t)(from < count ? from : count > 0 ? count - 1 : 0);
}

static void bucketize_run(bd_op_ctx *c)
{
    const int n = c->output_count;
    for (int f = 0; f < n; f++) {
        if (!bd_input_has_rank(c, f, 1, "float_values") ||
            !bd_input_has_rank(c, n + f, 1, "bucket_boundaries"))
            return;
        const braid_tensor *values = bd_input(c, f), *boundaries = bd_input(c, n + f);
        const braid_tensor *y = bd_output(c, f, BRAID_INT32, &values->shape);
        if (!y) return;
        for (int64_t i = 0; i < values->shape.dims[0] && !bd_interrupted_at(i); i++)
            bd_tensor_i32(y)[i] =
                bucket_of(bd_tensor_f32(values)[i], bd_tensor_f32(boundaries), boundaries->shape.dims[0]);
    }
}

// ---- Definitions ----

static braid_code scalars_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    return bd_shape_ctx_ranks(c, 0, c->input_count, 0, st);
}

static braid_code make_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = bd_shape2(-1, 4);
    const int n = c->input_count - 2;
    return bd_shape_ctx_ranks(c, 0, n + 1, 1, st) ? st->code : bd_shape_ctx_rank(c, n + 1, 0, st);
}

static braid_code flush_summaries_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = bd_shape2(-1, 4);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

static braid_code add_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_rank(c, 0, 0, st) ? st->code : bd_shape_ctx_ranks(c, 1, c->input_count, 2, st);
}

static braid_code restore_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_rank(c, 0, 0, st) ? st->code : bd_shape_ctx_ranks(c, 1, c->input_count, 1, st);
}

static braid_code boundaries_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = bd_shape1(-1);
    return bd_shape_ctx_rank(c, 0, 0, st);
}

static braid_code bucketize_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = bd_shape1(bd_shape_ctx_dim(c, i, 0));
    return bd_shape_ctx_ranks(c, 0, c->input_count, 1, st);
}

BD_OP(BoostedTreesQuantileStreamResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to streams of quantiles.",
};

BD_OP(IsBoostedTreesQuantileStreamResourceInitialized) = {
    .signature = "(quantile_stream_resource_handle: resource) -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the streams exist.",
};

BD_OP(BoostedTreesCreateQuantileStreamResource) = {
    .signature = "(quantile_stream_resource_handle: resource, epsilon: float, num_streams: int64) -> ()",
    .attrs = "max_elements:int=1099511627776",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = create_run}),
    .doc = "Makes streams of about max_elements values at most with an error of epsilon, unless they exist.",
    .deviation = "There are at most 1048576 streams.",
};

BD_OP(BoostedTreesMakeQuantileSummaries) = {
    .signature = "(float_values: num_features*float, example_weights: float, epsilon: float) -> (summaries: "
                 "num_features*float)",
    .attrs = "num_features:int>=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = make_run}),
    .doc = "Quantile summaries of features: rows of value, weight, least and largest rank.",
};

BD_OP(BoostedTreesFlushQuantileSummaries) = {
    .signature = "(quantile_stream_resource_handle: resource) -> (summaries: num_features*float)",
    .attrs = "num_features:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = flush_summaries_shape,
    .kernels = BD_KERNELS({.run = flush_summaries_run}),
    .doc = "The summaries of all that was added to the streams, which are empty afterwards.",
};

BD_OP(BoostedTreesQuantileStreamResourceAddSummaries) = {
    .signature = "(quantile_stream_resource_handle: resource, summaries: num_features*float) -> ()",
    .attrs = "num_features:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = add_shape,
    .kernels = BD_KERNELS({.run = add_run}),
    .doc = "Adds a summary to each stream.",
};

BD_OP(BoostedTreesQuantileStreamResourceDeserialize) = {
    .signature = "(quantile_stream_resource_handle: resource, bucket_boundaries: num_streams*float) -> ()",
    .attrs = "num_streams:int>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = restore_shape,
    .kernels = BD_KERNELS({.run = restore_run}),
    .doc = "Sets the bucket boundaries of the streams.",
};

BD_OP(BoostedTreesQuantileStreamResourceFlush) = {
    .signature = "(quantile_stream_resource_handle: resource, num_buckets: int64) -> ()",
    .attrs = "generate_quantiles:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = scalars_shape,
    .kernels = BD_KERNELS({.run = flush_run}),
    .doc =
        "Makes bucket boundaries of what was added to the streams, which are empty afterwards: about num_buckets "
        "different ones, or exactly as many quantiles.",
};

BD_OP(BoostedTreesQuantileStreamResourceGetBucketBoundaries) = {
    .signature = "(quantile_stream_resource_handle: resource) -> (bucket_boundaries: num_features*float)",
    .attrs = "num_features:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = boundaries_shape,
    .kernels = BD_KERNELS({.run = boundaries_run}),
    .doc = "The bucket boundaries of the streams, which are empty before the first flush.",
};

BD_OP(BoostedTreesBucketize) = {
    .signature =
        "(float_values: num_features*float, bucket_boundaries: num_features*float) -> (buckets: num_features*int32)",
    .attrs = "num_features:int>=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bucketize_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = bucketize_run}),
    .doc = "For each value the index of the first boundary that is not below it, or of the last one.",
};

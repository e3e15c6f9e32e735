// The quantiles of a batch: summaries and boundaries of buckets of its features, and values to buckets.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/gradient_trees/quantile_summary.h"
#include "proto/pack.h"
#include "tensorflow/contrib/boosted_trees/proto/quantiles.pb-c.h"

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
            bd_output_message(c, y, 0, bd_gbt_emit_summary, &s);
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
            if (bd_gbt_make_boundaries(&s, own->quantiles, false, &values, &count, st))
                bd_op_fail_status(c, st);
            else
                bd_gbt_output_floats(c, i, values, count);
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

#define BATCH                                                                                                \
    "(dense_float_features: num_dense_features*float, sparse_float_feature_indices: "                        \
    "num_sparse_features*int64, sparse_float_feature_values: num_sparse_features*float, "                    \
    "sparse_float_feature_shapes: num_sparse_features*int64, example_weights: float) -> "
#define COUNTS "num_dense_features:int>=0; num_sparse_features:int>=0"

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

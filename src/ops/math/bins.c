// Ops that count elements by value: Bincount, HistogramFixedWidth, Bucketize.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"

#include <math.h>
#include <string.h>

// ---- Bincount ----

// The shape of a vector whose length is the value of scalar input `i`.
static braid_code vector_of(bd_shape_ctx *c, int i, const char *what, braid_status *st)
{
    int64_t size;
    braid_code code = bd_shape_ctx_rank(c, i, 0, st);
    c->outputs[0] = bd_shape1(-1);
    if (code || !bd_shape_ctx_constant_int(c, i, &size)) return code;
    if (size < 0) return bd_shape_ctx_fail(c, st, "%s (%lld) must be non-negative", what, (long long)size);
    c->outputs[0].dims[0] = size;
    return BRAID_OK;
}

static braid_code bincount_shape(bd_shape_ctx *c, braid_status *st)
{
    return vector_of(c, 1, "size", st);
}

// bins[arr[i]] += weights[i], or += 1 without weights. A value beyond the last bin is ignored.
#define COUNT(NAME, T, SUM)                                                                                  \
    static void NAME(const braid_tensor *arr, const braid_tensor *weights, const braid_tensor *bins)         \
    {                                                                                                        \
        int64_t n = bd_tensor_count(arr), size = bd_tensor_count(bins);                                      \
        const T *w = bd_tensor_count(weights) > 0 ? weights->data : NULL;                                    \
        for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {                                           \
            int32_t at = bd_tensor_i32(arr)[i];                                                              \
            T *bin = at >= 0 && at < size ? (T *)bins->data + at : NULL;                                     \
            if (bin) *bin = (T)((SUM)*bin + (SUM)(w ? w[i] : 1));                                            \
        }                                                                                                    \
    }
COUNT(count_f32, float, float)
COUNT(count_f64, double, double)
COUNT(count_i32, int32_t, uint32_t)
COUNT(count_i64, int64_t, uint64_t)

static bool check_bincount(bd_op_ctx *c)
{
    const braid_tensor *arr = bd_input(c, 0), *weights = bd_input(c, 2);
    int64_t n = bd_tensor_count(arr), count = bd_tensor_count(weights);
    if (bd_input(c, 1)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape of size must be rank 0 but is rank %d",
                   bd_input(c, 1)->shape.rank);
    } else if (bd_tensor_i32(bd_input(c, 1))[0] < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "size (%d) must be non-negative",
                   bd_tensor_i32(bd_input(c, 1))[0]);
    } else if (count != 0 && count != n) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input indices and weights must have the same size: %lld and %lld", (long long)n,
                   (long long)count);
    }
    for (int64_t i = 0; i < n && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        if (bd_tensor_i32(arr)[i] < 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input arr must be non-negative! arr[%lld] = %d",
                       (long long)i, bd_tensor_i32(arr)[i]);
    }
    return !bd_op_failed(c);
}

static void bincount_run(bd_op_ctx *c)
{
    const braid_tensor *arr = bd_input(c, 0), *weights = bd_input(c, 2);
    if (!check_bincount(c)) return;
    braid_shape shape = bd_shape1(bd_tensor_i32(bd_input(c, 1))[0]);
    braid_tensor *bins = bd_output(c, 0, weights->dtype, &shape);
    if (!bins || shape.dims[0] == 0) return;
    memset(bins->data, 0, (size_t)shape.dims[0] * braid_dtype_size(bins->dtype));
    switch (bins->dtype) {
    case BRAID_FLOAT: count_f32(arr, weights, bins); break;
    case BRAID_DOUBLE: count_f64(arr, weights, bins); break;
    case BRAID_INT32: count_i32(arr, weights, bins); break;
    default: count_i64(arr, weights, bins); break;
    }
}

BD_OP(Bincount) = {
    .signature = "(arr: int32, size: int32, weights: T) -> (bins: T)",
    .attrs = "T:type{double,float,int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bincount_shape,
    .kernels = BD_KERNELS({.run = bincount_run}),
    .doc = "Counts each number below `size`, or sums its weights.",
};

// ---- HistogramFixedWidth ----

static braid_code histogram_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    int64_t bounds = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (bounds >= 0 && bounds != 2)
        return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)bounds);
    int64_t bins = 1;
    if (c->inputs[2].rank == 0 && bd_shape_ctx_constant_int(c, 2, &bins) && bins <= 0)
        return bd_shape_ctx_fail(c, st, "Requires nbins > 0: %lld", (long long)bins);
    return vector_of(c, 2, "nbins", st);
}

// Element `i` as a double. Only the last bits of large int64 values are lost.
static double number_at(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return (double)bd_tensor_f32(t)[i];
    case BRAID_DOUBLE: return bd_tensor_f64(t)[i];
    default: return (double)bd_tensor_index(t, i);
    }
}

static bool check_histogram(bd_op_ctx *c)
{
    const braid_tensor *range = bd_input(c, 1), *bins = bd_input(c, 2);
    if (range->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "value_range should be a vector.");
    } else if (range->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "value_range should be a vector of 2 elements.");
    } else if (bins->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "nbins should be a scalar.");
    } else if (!(number_at(range, 0) < number_at(range, 1))) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "value_range should satisfy value_range[0] < value_range[1], but got '[%g, %g]'",
                   number_at(range, 0), number_at(range, 1));
    } else if (bd_tensor_i32(bins)[0] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "nbins should be a positive number, but got '%d'",
                   bd_tensor_i32(bins)[0]);
    }
    return !bd_op_failed(c);
}

// value - low in the arithmetic of the type (the difference of floats is rounded to a float).
static double distance(braid_dtype dtype, double value, double low)
{
    if (!(value > low)) return 0;
    return dtype == BRAID_FLOAT ? (double)((float)value - (float)low) : value - low;
}

static void histogram_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *range = bd_input(c, 1);
    if (!check_histogram(c)) return;
    int64_t n = bd_tensor_count(x), bins = bd_tensor_i32(bd_input(c, 2))[0];
    braid_shape shape = bd_shape1(bins);
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    if (!y) return;
    memset(y->data, 0, (size_t)bins * braid_dtype_size(y->dtype));
    double low = number_at(range, 0);
    double step = distance(x->dtype, number_at(range, 1), low) / (double)bins;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        double value = number_at(x, i);
        if (isnan(value)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Histogram values must not contain NaN");
            return;
        }
        double place = distance(x->dtype, value, low) / step;
        int64_t bin = place < (double)(bins - 1) ? (int64_t)place : bins - 1;
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[bin]++;
        } else {
            bd_tensor_i32(y)[bin]++;
        }
    }
}

BD_OP(HistogramFixedWidth) = {
    .signature = "(values: T, value_range: T, nbins: int32) -> (out: dtype)",
    .attrs = "T:type{double,float,int32,int64}; dtype:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = histogram_shape,
    .kernels = BD_KERNELS({.run = histogram_run}),
    .doc =
        "Counts the elements in each of nbins bins of equal width; values out of range count in the first and last bin.",
};

// ---- Bucketize ----

// The boundaries are floats. A double is compared as a double, an integer as a float.
static int32_t bucket_of(const bd_attr *boundaries, double value)
{
    int low = 0, high = boundaries->list.count; // the first boundary above the value is in [low, high]
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (value < (double)boundaries->list.f[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static braid_code bucketize_create(const braid_op *node, void *state, braid_status *st)
{
    const bd_attr *boundaries = bd_node_attr(node, "boundaries");
    for (int i = 1; i < boundaries->list.count; i++) {
        if (boundaries->list.f[i] < boundaries->list.f[i - 1])
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expected sorted boundaries");
    }
    *(const bd_attr **)state = boundaries;
    return BRAID_OK;
}

static void bucketize_run(bd_op_ctx *c)
{
    const bd_attr *boundaries = *(const bd_attr **)c->state;
    const braid_tensor *x = bd_input(c, 0);
    int64_t n = bd_tensor_count(x);
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &x->shape);
    for (int64_t i = 0; y && i < n && !bd_interrupted_at(i); i++) {
        double value = number_at(x, i);
        bd_tensor_i32(y)[i] = bucket_of(boundaries, x->dtype == BRAID_DOUBLE ? value : (double)(float)value);
    }
}

BD_OP(Bucketize) = {
    .signature = "(input: T) -> (output: int32)",
    .attrs = "T:type{double,float,int32,int64}; boundaries:list(float)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels =
        BD_KERNELS({.state_size = sizeof(const bd_attr *), .create = bucketize_create, .run = bucketize_run}),
    .doc = "For each element the number of sorted boundaries that are not above it.",
};

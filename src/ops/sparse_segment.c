// SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN and their gradients: rows named by indices, joined by segments in order.
#include "base/alloc.h"
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/elementwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What the sum of n rows is divided by: 1, n or the root of n.
typedef enum scaling {
    SCALE_NONE,
    SCALE_MEAN,
    SCALE_ROOT
} scaling;

static double divisor_of(scaling how, int64_t n)
{
    return how == SCALE_NONE ? 1 : how == SCALE_MEAN ? (double)n : sqrt((double)n);
}

// to[i] += from[i] / divisor. Integers are not divided, and wrap around.
#define ADD_ROW(NAME, T, SUM)                                                                                \
    static void NAME(void *to, const void *from, int64_t n, double divisor)                                  \
    {                                                                                                        \
        T *y = to;                                                                                           \
        const T *x = from;                                                                                   \
        (void)divisor;                                                                                       \
        for (int64_t i = 0; i < n; i++)                                                                      \
            y[i] = SUM;                                                                                      \
    }
ADD_ROW(add_f32, float, y[i] + (divisor == 1 ? x[i] : x[i] / (float)divisor))
ADD_ROW(add_f64, double, y[i] + (divisor == 1 ? x[i] : x[i] / divisor))
ADD_ROW(add_i32, int32_t, (int32_t)((uint32_t)y[i] + (uint32_t)x[i]))
ADD_ROW(add_i64, int64_t, (int64_t)((uint64_t)y[i] + (uint64_t)x[i]))

typedef void (*add_row_fn)(void *to, const void *from, int64_t n, double divisor);

static add_row_fn add_row_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return add_f32;
    case BRAID_DOUBLE: return add_f64;
    case BRAID_INT32: return add_i32;
    default: return add_i64;
    }
}

static void divide_row(const braid_tensor *y, int64_t at, int64_t n, double divisor)
{
    for (int64_t i = at; i < at + n && divisor != 1; i++) {
        if (y->dtype == BRAID_FLOAT) {
            bd_tensor_f32(y)[i] /= (float)divisor;
        } else {
            bd_tensor_f64(y)[i] /= divisor;
        }
    }
}

// ---- Checks ----

static bool check_vectors(bd_op_ctx *c)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *indices = &bd_input(c, 1)->shape,
                      *ids = &bd_input(c, 2)->shape;
    if (data->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be at least 1-D");
    } else if (indices->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices should be a vector.");
    } else if (ids->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be a vector.");
    } else if (ids->dims[0] != indices->dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids and indices should have same size.");
    }
    return !bd_op_failed(c);
}

// Element `i` of input `input`, if it is in [0, limit); -1: the kernel has failed.
static int64_t place_at(bd_op_ctx *c, int input, const char *what, int64_t i, int64_t limit)
{
    int64_t at = bd_tensor_index(bd_input(c, input), i);
    if (at >= 0 && at < limit) return at;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Bad: %s[%lld] == %lld out of range [0, %lld)", what, (long long)i,
               (long long)at, (long long)limit);
    return -1;
}

static void fail_id(bd_op_ctx *c, int64_t id, int64_t segments)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not sorted.",
               (long long)id, (long long)segments);
}

// What input 3 says, or one more than the last id. -1: the kernel has failed.
static int64_t read_count(bd_op_ctx *c, int64_t last)
{
    if (c->input_count == 3 && (last < -1 || last == INT64_MAX)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0 and below the greatest integer");
    } else if (c->input_count > 3 && bd_input(c, 3)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_segments should be a scalar, not shape %s",
                   bd_shape_str(&bd_input(c, 3)->shape, (char[BD_SHAPE_STR_MAX]){0}));
    }
    if (bd_op_failed(c)) return -1;
    int64_t count = c->input_count > 3 ? bd_tensor_index(bd_input(c, 3), 0) : last + 1;
    if (count > last && count >= 0) return count;
    if (count < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0, and num_segments is %lld",
                   (long long)count);
        return -1;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be < num_segments: %lld is not below %lld",
               (long long)last, (long long)count);
    return -1;
}

// The number of segments, whose ids do not decrease. -1: the kernel has failed.
static int64_t count_segments(bd_op_ctx *c)
{
    const braid_tensor *ids = bd_input(c, 2);
    int64_t n = bd_tensor_count(ids), count = read_count(c, n > 0 ? bd_tensor_index(ids, n - 1) : -1);
    if (c->input_count == 3 && n > 0 && count == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0");
    for (int64_t i = 0; i < n && !bd_op_failed(c); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (i + 1 < n && bd_tensor_index(ids, i + 1) < id) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids are not increasing");
        } else if (id < 0 || id >= count) {
            fail_id(c, id, count);
        }
    }
    return bd_op_failed(c) ? -1 : count;
}

// Output 0, zeros: `rows` rows like those of the data. NULL: the kernel has failed.
static braid_tensor *make_rows(bd_op_ctx *c, int64_t rows, int64_t *len)
{
    BD_STATUS(st);
    int64_t count;
    const braid_tensor *data = bd_input(c, 0);
    braid_shape shape = data->shape;
    shape.dims[0] = rows;
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    *len = bd_shape_count_range(&shape, 1, shape.rank);
    braid_tensor *y = bd_output(c, 0, data->dtype, &shape);
    if (y && count > 0) memset(y->data, 0, (size_t)count * braid_dtype_size(y->dtype));
    return y;
}

// ---- Kernels ----

static void run_join(bd_op_ctx *c, scaling how)
{
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 2);
    int64_t len, segments, n = bd_tensor_count(ids), rows = 0;
    if (!check_vectors(c) || (segments = count_segments(c)) < 0) return;
    braid_tensor *y = make_rows(c, segments, &len);
    if (!y) return;
    add_row_fn add = add_row_of(y->dtype);
    int64_t size = (int64_t)braid_dtype_size(y->dtype), limit = data->shape.dims[0], now = -1;
    for (int64_t i = 0; i <= n; i++) {
        int64_t id = i < n ? place_at(c, 2, "segment_ids", i, segments) : -1;
        if (now >= 0 && id != now) {
            divide_row(y, now * len, len, divisor_of(how, rows));
            rows = 0;
        }
        if (id < 0) return; // the end, or an error
        int64_t row = place_at(c, 1, "indices", i, limit);
        if (row < 0) return;
        add((char *)y->data + id * len * size, (const char *)data->data + row * len * size, len, 1);
        now = id;
        rows++;
    }
}

static void sum_run(bd_op_ctx *c)
{
    run_join(c, SCALE_NONE);
}

static void mean_run(bd_op_ctx *c)
{
    run_join(c, SCALE_MEAN);
}

static void sqrt_n_run(bd_op_ctx *c)
{
    run_join(c, SCALE_ROOT);
}

// How many rows each segment has. NULL: the kernel has failed.
static int64_t *segment_sizes(bd_op_ctx *c, int64_t segments)
{
    const braid_tensor *ids = bd_input(c, 2);
    int64_t n = bd_tensor_count(ids);
    if (n > 0 && bd_tensor_index(ids, n - 1) >= segments) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Invalid number of segments: the last id is %lld, and there are %lld",
                   (long long)bd_tensor_index(ids, n - 1), (long long)segments);
        return NULL;
    }
    int64_t *sizes = bd_try_calloc((size_t)segments + 1, sizeof *sizes);
    if (!sizes)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when counting %lld segments", (long long)segments);
    for (int64_t i = 0; sizes && i < n; i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id >= segments) {
            fail_id(c, id, segments);
            bd_free(sizes);
            return NULL;
        }
        sizes[id]++;
    }
    return sizes;
}

// Row indices[i] of the output gets row segment_ids[i] of the gradient, divided.
static void run_spread(bd_op_ctx *c, scaling how)
{
    const braid_tensor *grad = bd_input(c, 0);
    int64_t len, n = bd_tensor_count(bd_input(c, 2));
    if (!check_vectors(c)) return;
    if (bd_input(c, 3)->shape.rank != 0 || bd_tensor_i32(bd_input(c, 3))[0] < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output_dim0 should be a scalar. It must not be negative.");
        return;
    }
    int64_t rows = bd_tensor_i32(bd_input(c, 3))[0], segments = grad->shape.dims[0];
    int64_t *sizes = segment_sizes(c, segments);
    braid_tensor *y = sizes ? make_rows(c, rows, &len) : NULL;
    int64_t size = (int64_t)braid_dtype_size(grad->dtype);
    for (int64_t i = 0; y && i < n; i++) {
        int64_t id = place_at(c, 2, "segment_ids", i, segments), row = bd_tensor_index(bd_input(c, 1), i);
        if (row < 0 || row >= rows)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index %lld out of range [0, %lld)", (long long)row,
                       (long long)rows);
        if (bd_op_failed(c)) break;
        add_row_of(grad->dtype)((char *)y->data + row * len * size,
                                (const char *)grad->data + id * len * size, len, divisor_of(how, sizes[id]));
    }
    bd_free(sizes);
}

static void sum_grad_run(bd_op_ctx *c)
{
    run_spread(c, SCALE_NONE);
}

static void mean_grad_run(bd_op_ctx *c)
{
    run_spread(c, SCALE_MEAN);
}

static void sqrt_n_grad_run(bd_op_ctx *c)
{
    run_spread(c, SCALE_ROOT);
}

// ---- Shapes ----

static braid_code join_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 1, st);
    if (!code && c->input_count > 3) code = bd_shape_ctx_rank(c, 3, 0, st);
    if (code) return code;
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    const braid_shape *a = &c->inputs[1], *b = &c->inputs[2];
    if (a->rank == 1 && b->rank == 1 && a->dims[0] >= 0 && b->dims[0] >= 0 && a->dims[0] != b->dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)a->dims[0], (long long)b->dims[0]);
    c->outputs[0] = c->inputs[0];
    if (c->outputs[0].rank < 0) return BRAID_OK;
    int64_t rows = -1;
    if (c->input_count > 3 && bd_shape_ctx_constant_int(c, 3, &rows) && rows < 0)
        return bd_shape_ctx_fail(c, st, "Cannot specify a negative value for %s: %lld",
                                 c->node->def->inputs[3].name, (long long)rows);
    c->outputs[0].dims[0] = rows;
    return BRAID_OK;
}

// ---- Gradients ----

static braid_out row_count(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    return bd_b2(g, "Gather", NULL, bd_b_shape(g, "Shape", c->op->inputs[0]), bd_b_const_i32(g, "Const", 0));
}

static void sum_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out rows = bd_b2(g, "Gather", NULL, c->output_grads[0], c->op->inputs[2]);
    c->input_grads[0] = bd_b3(g, "UnsortedSegmentSum", NULL, rows, c->op->inputs[1], row_count(c));
}

static void gradient_by(bd_grad_ctx *c, const char *op)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_input(d, c->op->inputs[2]);
    braid_op_input(d, row_count(c));
    c->input_grads[0] = braid_op_end_out(d);
}

static void mean_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "SparseSegmentMeanGrad");
}

static void sqrt_n_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "SparseSegmentSqrtNGrad");
}

// ---- Definitions ----

#define SIGNATURE "(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)"
#define COUNTED_SIGNATURE                                                                                    \
    "(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> (output: T)"
#define GRAD_SIGNATURE "(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> (output: T)"
#define INDEX_TYPES "; Tidx:type{int32,int64}=int32; Tsegmentids:type{int32,int64}=int32"
// What the front end makes gradients of: their values are the same.
#define JOINS INDEX_TYPES "; sparse_gradient:bool=false"
#define REALS "T:type{realnumber}"
#define FLOATS "T:type{bfloat16,double,float,half}"
#define COUNTED "; Tnumsegments:type{int32,int64}=int32"
#define FLOAT_KERNELS(RUN) BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = (RUN)})
#define SUM_KERNELS BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = sum_run})

BD_OP(SparseSegmentSum) = {
    .signature = SIGNATURE,
    .attrs = REALS JOINS,
    .shape = join_shape,
    .gradient = sum_gradient,
    .kernels = SUM_KERNELS,
    .doc = "SegmentSum of the rows of data that indices name.",
};

BD_OP(SparseSegmentSumWithNumSegments) = {
    .signature = COUNTED_SIGNATURE,
    .attrs = REALS JOINS COUNTED,
    .shape = join_shape,
    .gradient = sum_gradient,
    .kernels = SUM_KERNELS,
    .doc =
        "SegmentSum of the rows of data that indices name; the number of segments is given, those without rows are 0.",
};

BD_OP(SparseSegmentMean) = {
    .signature = SIGNATURE,
    .attrs = FLOATS JOINS,
    .shape = join_shape,
    .gradient = mean_gradient,
    .kernels = FLOAT_KERNELS(mean_run),
    .doc = "SegmentMean of the rows of data that indices name.",
};

BD_OP(SparseSegmentMeanWithNumSegments) = {
    .signature = COUNTED_SIGNATURE,
    .attrs = FLOATS JOINS COUNTED,
    .shape = join_shape,
    .gradient = mean_gradient,
    .kernels = FLOAT_KERNELS(mean_run),
    .doc =
        "SegmentMean of the rows of data that indices name; the number of segments is given, those without rows are 0.",
};

BD_OP(SparseSegmentSqrtN) = {
    .signature = SIGNATURE,
    .attrs = FLOATS JOINS,
    .shape = join_shape,
    .gradient = sqrt_n_gradient,
    .kernels = FLOAT_KERNELS(sqrt_n_run),
    .doc =
        "Sums by segments of the rows of data that indices name, divided by the roots of the numbers of rows.",
};

BD_OP(SparseSegmentSqrtNWithNumSegments) = {
    .signature = COUNTED_SIGNATURE,
    .attrs = FLOATS JOINS COUNTED,
    .shape = join_shape,
    .gradient = sqrt_n_gradient,
    .kernels = FLOAT_KERNELS(sqrt_n_run),
    .doc = "SparseSegmentSqrtN where the number of segments is given; those without rows are 0.",
};

// TensorFlow 2's front end builds it.
BD_OP(SparseSegmentSumGrad) = {
    .signature = GRAD_SIGNATURE,
    .attrs = FLOATS INDEX_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = join_shape,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = sum_grad_run}),
    .doc = "The gradient of SparseSegmentSum for its data, which has output_dim0 rows.",
};

BD_OP(SparseSegmentMeanGrad) = {
    .signature = GRAD_SIGNATURE,
    .attrs = FLOATS INDEX_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = join_shape,
    .kernels = FLOAT_KERNELS(mean_grad_run),
    .doc = "The gradient of SparseSegmentMean for its data, which has output_dim0 rows.",
};

BD_OP(SparseSegmentSqrtNGrad) = {
    .signature = GRAD_SIGNATURE,
    .attrs = FLOATS INDEX_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = join_shape,
    .kernels = FLOAT_KERNELS(sqrt_n_grad_run),
    .doc = "The gradient of SparseSegmentSqrtN for its data, which has output_dim0 rows.",
};

// ---- Gradients as rows and their numbers, as TensorFlow 2 has them ----

static int compare_places(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// The numbers in `indices`, sorted, each once; *count of them. NULL: the kernel has failed.
static int64_t *unique_rows(bd_op_ctx *c, int64_t limit, int64_t *count)
{
    int64_t n = bd_tensor_count(bd_input(c, 1)), kept = 0;
    int64_t *rows = bd_try_malloc((size_t)(n + 1) * sizeof *rows);
    if (!rows) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when sorting %lld indices", (long long)n);
    for (int64_t i = 0; rows && i < n; i++) {
        rows[i] = place_at(c, 1, "indices", i, limit);
        if (rows[i] >= 0) continue;
        bd_free(rows);
        return NULL;
    }
    if (rows) qsort(rows, (size_t)n, sizeof *rows, compare_places);
    for (int64_t i = 0; rows && i < n; i++)
        if (i == 0 || rows[i] != rows[i - 1]) rows[kept++] = rows[i];
    *count = kept;
    return rows;
}

static void put_rows(bd_op_ctx *c, const int64_t *rows, int64_t count)
{
    braid_shape shape = bd_shape1(count);
    braid_tensor *y = bd_output(c, 1, bd_input(c, 1)->dtype, &shape);
    for (int64_t i = 0; y && i < count; i++) {
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[i] = rows[i];
        } else {
            bd_tensor_i32(y)[i] = (int32_t)rows[i];
        }
    }
}

// As run_spread, of the rows that get something alone.
static void spread_unique(bd_op_ctx *c, const int64_t *rows, int64_t count, scaling how)
{
    const braid_tensor *grad = bd_input(c, 0);
    int64_t len, segments = grad->shape.dims[0], size = (int64_t)braid_dtype_size(grad->dtype);
    int64_t *sizes = segment_sizes(c, segments);
    braid_tensor *y = sizes ? make_rows(c, count, &len) : NULL;
    for (int64_t i = 0; y && i < bd_tensor_count(bd_input(c, 1)); i++) {
        int64_t id = place_at(c, 2, "segment_ids", i, segments), row = bd_tensor_index(bd_input(c, 1), i);
        const int64_t *at = bsearch(&row, rows, (size_t)count, sizeof row, compare_places);
        if (id < 0 || !at) break; // indices of a variable may change between two looks
        add_row_of(grad->dtype)((char *)y->data + (at - rows) * len * size,
                                (const char *)grad->data + id * len * size, len, divisor_of(how, sizes[id]));
    }
    bd_free(sizes);
    if (y) put_rows(c, rows, count);
}

static void run_unique(bd_op_ctx *c, scaling how)
{
    int64_t count;
    const braid_tensor *limit = bd_input(c, 3);
    if (!check_vectors(c)) return;
    if (limit->shape.rank != 0 || bd_tensor_i32(limit)[0] < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "dense_output_dim0 should be a scalar. It must not be negative.");
        return;
    }
    int64_t *rows = unique_rows(c, bd_tensor_i32(limit)[0], &count);
    if (rows) spread_unique(c, rows, count, how);
    bd_free(rows);
}

static void sum_unique_run(bd_op_ctx *c)
{
    run_unique(c, SCALE_NONE);
}

static void mean_unique_run(bd_op_ctx *c)
{
    run_unique(c, SCALE_MEAN);
}

static void sqrt_n_unique_run(bd_op_ctx *c)
{
    run_unique(c, SCALE_ROOT);
}

static braid_code unique_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = join_shape(c, st);
    if (c->outputs[0].rank > 0) c->outputs[0].dims[0] = -1; // as many as there are different indices
    c->outputs[1] = bd_shape1(-1);
    return code;
}

#define UNIQUE_GRAD(RUN, DOC)                                                                                \
    {                                                                                                        \
        .signature = "(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> "      \
                     "(output: T, sorted_unique_indices: Tidx)",                                             \
        .attrs = FLOATS INDEX_TYPES, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = unique_shape,               \
        .kernels = FLOAT_KERNELS(RUN), .doc = (DOC)                                                          \
    }

BD_OP(SparseSegmentSumGradV2) =
    UNIQUE_GRAD(sum_unique_run, "SparseSegmentSumGrad as the rows that are not 0, and their numbers.");
BD_OP(SparseSegmentMeanGradV2) =
    UNIQUE_GRAD(mean_unique_run, "SparseSegmentMeanGrad as the rows that are not 0, and their numbers.");
BD_OP(SparseSegmentSqrtNGradV2) =
    UNIQUE_GRAD(sqrt_n_unique_run, "SparseSegmentSqrtNGrad as the rows that are not 0, and their numbers.");

// Gradients of SparseSegmentSum, SparseSegmentMean and SparseSegmentSqrtN: rows of segments, spread over the
// rows that indices name.
#include "base/interrupt.h"
#include "kernels/sort.h"
#include "ops/sparse/sparse_segment.h"

#include "base/alloc.h"
#include "ops/common/element.h"

#include <stdlib.h>

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
    for (int64_t i = 0; sizes && i < n && !bd_interrupted_at(i); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id >= segments) {
            bd_sparse_segment_fail_id(c, id, segments);
            bd_free(sizes);
            return NULL;
        }
        sizes[id]++;
    }
    return sizes;
}

// Row indices[i] of the output gets row segment_ids[i] of the gradient, divided.
static void run_spread(bd_op_ctx *c, bd_segment_scaling how)
{
    const braid_tensor *grad = bd_input(c, 0);
    int64_t len, n = bd_tensor_count(bd_input(c, 2));
    if (!bd_sparse_segment_check(c)) return;
    if (bd_tensor_i32(bd_input(c, 3))[0] < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output_dim0 should not be negative.");
        return;
    }
    int64_t rows = bd_tensor_i32(bd_input(c, 3))[0], segments = grad->shape.dims[0];
    int64_t *sizes = segment_sizes(c, segments);
    braid_tensor *y = sizes ? bd_sparse_segment_rows(c, rows, &len) : NULL;
    int64_t size = (int64_t)braid_dtype_size(grad->dtype);
    for (int64_t i = 0; y && i < n && !bd_interrupted_at(i); i++) {
        int64_t id = bd_sparse_segment_place(c, 2, "segment_ids", i, segments),
                row = bd_tensor_index(bd_input(c, 1), i);
        if (row < 0 || row >= rows)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index %lld out of range [0, %lld)", (long long)row,
                       (long long)rows);
        if (bd_op_failed(c)) break;
        bd_segment_add_of(grad->dtype)((char *)y->data + row * len * size,
                                       (const char *)grad->data + id * len * size, len,
                                       bd_segment_divisor(how, sizes[id]));
    }
    bd_free(sizes);
}

static void sum_grad_run(bd_op_ctx *c)
{
    run_spread(c, BD_SCALE_NONE);
}

static void mean_grad_run(bd_op_ctx *c)
{
    run_spread(c, BD_SCALE_MEAN);
}

static void sqrt_n_grad_run(bd_op_ctx *c)
{
    run_spread(c, BD_SCALE_ROOT);
}

// ---- Definitions ----

#define GRAD_SIGNATURE "(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> (output: T)"

#define GRAD(RUN, OF)                                                                                        \
    {                                                                                                        \
        .signature = GRAD_SIGNATURE, .attrs = BD_SPARSE_SEGMENT_FLOATS BD_SPARSE_SEGMENT_INDEX_TYPES,        \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_sparse_segment,                              \
        .kernels = BD_SPARSE_SEGMENT_FLOAT_KERNELS(RUN),                                                     \
        .doc = "The gradient of " OF " for its data, which has output_dim0 rows."                            \
    }

// TensorFlow 2's front end builds it.
BD_OP(SparseSegmentSumGrad) = GRAD(sum_grad_run, "SparseSegmentSum");
BD_OP(SparseSegmentMeanGrad) = GRAD(mean_grad_run, "SparseSegmentMean");
BD_OP(SparseSegmentSqrtNGrad) = GRAD(sqrt_n_grad_run, "SparseSegmentSqrtN");

// ---- Gradients as rows and their numbers, as TensorFlow 2 has them ----

static int compare_places(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_sorted(const void *a, const void *b, void *unused)
{
    (void)unused;
    return compare_places(a, b);
}

// The numbers in `indices`, sorted, each once; *count of them. NULL: the kernel has failed.
static int64_t *unique_rows(bd_op_ctx *c, int64_t limit, int64_t *count)
{
    int64_t n = bd_tensor_count(bd_input(c, 1)), kept = 0;
    int64_t *rows = bd_try_malloc((size_t)(n + 1) * sizeof *rows);
    if (!rows) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when sorting %lld indices", (long long)n);
    for (int64_t i = 0; rows && i < n; i++) {
        rows[i] = bd_sparse_segment_place(c, 1, "indices", i, limit);
        if (rows[i] >= 0) continue;
        bd_free(rows);
        return NULL;
    }
    if (rows) bd_sort(rows, n, sizeof *rows, compare_sorted, NULL);
    for (int64_t i = 0; rows && i < n; i++)
        if (i == 0 || rows[i] != rows[i - 1]) rows[kept++] = rows[i];
    *count = kept;
    return rows;
}

static void put_rows(bd_op_ctx *c, const int64_t *rows, int64_t count)
{
    braid_shape shape = bd_shape1(count);
    braid_tensor *y = bd_output(c, 1, bd_input(c, 1)->dtype, &shape);
    for (int64_t i = 0; y && i < count && !bd_interrupted_at(i); i++) {
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[i] = rows[i];
        } else {
            bd_tensor_i32(y)[i] = (int32_t)rows[i];
        }
    }
}

// Like run_spread, but only for rows with a gradient.
static void spread_unique(bd_op_ctx *c, const int64_t *rows, int64_t count, bd_segment_scaling how)
{
    const braid_tensor *grad = bd_input(c, 0);
    int64_t len, segments = grad->shape.dims[0], size = (int64_t)braid_dtype_size(grad->dtype);
    int64_t *sizes = segment_sizes(c, segments);
    braid_tensor *y = sizes ? bd_sparse_segment_rows(c, count, &len) : NULL;
    for (int64_t i = 0; y && i < bd_tensor_count(bd_input(c, 1)) && !bd_interrupted_at(i); i++) {
        int64_t id = bd_sparse_segment_place(c, 2, "segment_ids", i, segments),
                row = bd_tensor_index(bd_input(c, 1), i);
        const int64_t *at = bsearch(&row, rows, (size_t)count, sizeof row, compare_places);
        if (id < 0 || !at) break; // indices of a variable may change between two looks
        bd_segment_add_of(grad->dtype)((char *)y->data + (at - rows) * len * size,
                                       (const char *)grad->data + id * len * size, len,
                                       bd_segment_divisor(how, sizes[id]));
    }
    bd_free(sizes);
    if (y) put_rows(c, rows, count);
}

static void run_unique(bd_op_ctx *c, bd_segment_scaling how)
{
    int64_t count;
    const braid_tensor *limit = bd_input(c, 3);
    if (!bd_sparse_segment_check(c)) return;
    if (bd_tensor_i32(limit)[0] < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "dense_output_dim0 should not be negative.");
        return;
    }
    int64_t *rows = unique_rows(c, bd_tensor_i32(limit)[0], &count);
    if (rows) spread_unique(c, rows, count, how);
    bd_free(rows);
}

static void sum_unique_run(bd_op_ctx *c)
{
    run_unique(c, BD_SCALE_NONE);
}

static void mean_unique_run(bd_op_ctx *c)
{
    run_unique(c, BD_SCALE_MEAN);
}

static void sqrt_n_unique_run(bd_op_ctx *c)
{
    run_unique(c, BD_SCALE_ROOT);
}

static braid_code unique_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_fn_sparse_segment(c, st);
    if (c->outputs[0].rank > 0) c->outputs[0].dims[0] = -1; // as many as there are distinct indices
    c->outputs[1] = bd_shape1(-1);
    return code;
}

#define UNIQUE_GRAD(RUN, DOC)                                                                                \
    {                                                                                                        \
        .signature = "(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> "      \
                     "(output: T, sorted_unique_indices: Tidx)",                                             \
        .attrs = BD_SPARSE_SEGMENT_FLOATS BD_SPARSE_SEGMENT_INDEX_TYPES, .flags = BD_OP_NOT_DIFFERENTIABLE,  \
        .shape = unique_shape, .kernels = BD_SPARSE_SEGMENT_FLOAT_KERNELS(RUN), .doc = (DOC)                 \
    }

BD_OP(SparseSegmentSumGradV2) =
    UNIQUE_GRAD(sum_unique_run, "SparseSegmentSumGrad as the rows that are not 0, and their numbers.");
BD_OP(SparseSegmentMeanGradV2) =
    UNIQUE_GRAD(mean_unique_run, "SparseSegmentMeanGrad as the rows that are not 0, and their numbers.");
BD_OP(SparseSegmentSqrtNGradV2) =
    UNIQUE_GRAD(sqrt_n_unique_run, "SparseSegmentSqrtNGrad as the rows that are not 0, and their numbers.");

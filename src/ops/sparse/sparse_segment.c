// SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN: rows named by indices, joined by segments in
// order.
#include "ops/sparse/sparse_segment.h"

#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"

#include <math.h>
#include <string.h>

double bd_segment_divisor(bd_segment_scaling how, int64_t n)
{
    return how == BD_SCALE_NONE ? 1 : how == BD_SCALE_MEAN ? (double)n : sqrt((double)n);
}

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

bd_segment_add_fn bd_segment_add_of(braid_dtype dtype)
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

bool bd_sparse_segment_check(bd_op_ctx *c)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *indices = &bd_input(c, 1)->shape,
                      *ids = &bd_input(c, 2)->shape;
    if (c->input_count > 3 && bd_input(c, 3)->shape.rank != 0) {
        const char *name = c->node->def->inputs[3].name;
        char text[BD_SHAPE_STR_MAX];
        bool is_segments = strcmp(name, "num_segments") == 0;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should be a scalar%s %s", name,
                   is_segments ? ", not shape" : ". It has shape",
                   bd_shape_str(&bd_input(c, 3)->shape, text));
    } else if (data->rank == 0) {
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

int64_t bd_sparse_segment_place(bd_op_ctx *c, int input, const char *what, int64_t i, int64_t limit)
{
    int64_t at = bd_tensor_index(bd_input(c, input), i);
    if (at >= 0 && at < limit) return at;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Bad: %s[%lld] == %lld out of range [0, %lld)", what, (long long)i,
               (long long)at, (long long)limit);
    return -1;
}

void bd_sparse_segment_fail_id(bd_op_ctx *c, int64_t id, int64_t segments)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not sorted.",
               (long long)id, (long long)segments);
}

// The value of input 3, or the last id + 1. -1: the kernel has failed.
static int64_t read_count(bd_op_ctx *c, int64_t last)
{
    int64_t limit = bd_input(c, 2)->dtype == BRAID_INT32 ? INT32_MAX : INT64_MAX;
    if (last == limit) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Last segment id must be < kintmax, got %lld limit %lld",
                   (long long)last, (long long)limit);
        return -1;
    }
    int64_t count = c->input_count > 3 ? bd_tensor_index(bd_input(c, 3), 0) : last + 1;
    if (count < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0, and num_segments is %lld",
                   (long long)count);
    } else if (count <= last) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be < num_segments: %lld is not below %lld",
                   (long long)last, (long long)count);
    }
    return bd_op_failed(c) ? -1 : count;
}

// The number of segments; ids must not decrease. -1: the kernel has failed.
static int64_t count_segments(bd_op_ctx *c)
{
    const braid_tensor *ids = bd_input(c, 2);
    int64_t n = bd_tensor_count(ids), count = read_count(c, n > 0 ? bd_tensor_index(ids, n - 1) : -1);
    if (c->input_count == 3 && n > 0 && count == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0");
    for (int64_t i = 0; i < n && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (i + 1 < n && bd_tensor_index(ids, i + 1) < id) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids are not increasing");
        } else if (id < 0 || id >= count) {
            bd_sparse_segment_fail_id(c, id, count);
        }
    }
    return bd_op_failed(c) ? -1 : count;
}

braid_tensor *bd_sparse_segment_rows(bd_op_ctx *c, int64_t rows, int64_t *len)
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

static void run_join(bd_op_ctx *c, bd_segment_scaling how)
{
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 2);
    int64_t len, segments, n = bd_tensor_count(ids), rows = 0;
    if (!bd_sparse_segment_check(c) || (segments = count_segments(c)) < 0) return;
    braid_tensor *y = bd_sparse_segment_rows(c, segments, &len);
    if (!y) return;
    bd_segment_add_fn add = bd_segment_add_of(y->dtype);
    int64_t size = (int64_t)braid_dtype_size(y->dtype), limit = data->shape.dims[0], now = -1;
    for (int64_t i = 0; i <= n && !bd_interrupted_at(i); i++) {
        int64_t id = i < n ? bd_sparse_segment_place(c, 2, "segment_ids", i, segments) : -1;
        if (now >= 0 && id != now) {
            divide_row(y, now * len, len, bd_segment_divisor(how, rows));
            rows = 0;
        }
        if (id < 0) return; // the end, or an error
        int64_t row = bd_sparse_segment_place(c, 1, "indices", i, limit);
        if (row < 0) return;
        add((char *)y->data + id * len * size, (const char *)data->data + row * len * size, len, 1);
        now = id;
        rows++;
    }
}

static void sum_run(bd_op_ctx *c)
{
    run_join(c, BD_SCALE_NONE);
}

static void mean_run(bd_op_ctx *c)
{
    run_join(c, BD_SCALE_MEAN);
}

static void sqrt_n_run(bd_op_ctx *c)
{
    run_join(c, BD_SCALE_ROOT);
}

// ---- Shapes ----

braid_code bd_shape_fn_sparse_segment(bd_shape_ctx *c, braid_status *st)
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
// Attributes that TensorFlow 2's Python sets; they do not change the values.
#define JOINS BD_SPARSE_SEGMENT_INDEX_TYPES "; +sparse_gradient:bool=false"
#define REALS "T:type{realnumber}"
#define COUNTED "; Tnumsegments:type{int32,int64}=int32"
#define SUM_KERNELS BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = sum_run})

BD_OP(SparseSegmentSum) = {
    .signature = SIGNATURE,
    .attrs = REALS JOINS,
    .shape = bd_shape_fn_sparse_segment,
    .gradient = sum_gradient,
    .kernels = SUM_KERNELS,
    .doc = "SegmentSum of the rows of data that indices name.",
};

BD_OP(SparseSegmentSumWithNumSegments) = {
    .signature = COUNTED_SIGNATURE,
    .attrs = REALS JOINS COUNTED,
    .shape = bd_shape_fn_sparse_segment,
    .gradient = sum_gradient,
    .kernels = SUM_KERNELS,
    .doc =
        "SegmentSum of the rows of data that indices name; the number of segments is given, those without rows are 0.",
};

BD_OP(SparseSegmentMean) = {
    .signature = SIGNATURE,
    .attrs = BD_SPARSE_SEGMENT_FLOATS JOINS,
    .shape = bd_shape_fn_sparse_segment,
    .gradient = mean_gradient,
    .kernels = BD_SPARSE_SEGMENT_FLOAT_KERNELS(mean_run),
    .doc = "SegmentMean of the rows of data that indices name.",
};

BD_OP(SparseSegmentMeanWithNumSegments) = {
    .signature = COUNTED_SIGNATURE,
    .attrs = BD_SPARSE_SEGMENT_FLOATS JOINS COUNTED,
    .shape = bd_shape_fn_sparse_segment,
    .gradient = mean_gradient,
    .kernels = BD_SPARSE_SEGMENT_FLOAT_KERNELS(mean_run),
    .doc =
        "SegmentMean of the rows of data that indices name; the number of segments is given, those without rows are 0.",
};

BD_OP(SparseSegmentSqrtN) = {
    .signature = SIGNATURE,
    .attrs = BD_SPARSE_SEGMENT_FLOATS JOINS,
    .shape = bd_shape_fn_sparse_segment,
    .gradient = sqrt_n_gradient,
    .kernels = BD_SPARSE_SEGMENT_FLOAT_KERNELS(sqrt_n_run),
    .doc =
        "Sums by segments of the rows of data that indices name, divided by the roots of the numbers of rows.",
};

BD_OP(SparseSegmentSqrtNWithNumSegments) = {
    .signature = COUNTED_SIGNATURE,
    .attrs = BD_SPARSE_SEGMENT_FLOATS JOINS COUNTED,
    .shape = bd_shape_fn_sparse_segment,
    .gradient = sqrt_n_gradient,
    .kernels = BD_SPARSE_SEGMENT_FLOAT_KERNELS(sqrt_n_run),
    .doc = "SparseSegmentSqrtN where the number of segments is given; those without rows are 0.",
};

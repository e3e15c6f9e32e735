// DenseBincount, SparseBincount and RaggedBincount: Bincount of each row, as TensorFlow 2 has it.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"

#include <string.h>

// The input that all three ops count: each value belongs to a row of the output.
typedef struct counting {
    const braid_tensor *values, *weights; // weights are empty: each value counts 1
    bool is_binary;                       // whether the value occurs, not how often
    braid_tensor *out;
    int64_t size; // number of bins in a row
} counting;

// out[row, values[i]] += weight. A value beyond the last bin is ignored (SparseBincount of a matrix refuses
// it).
#define COUNT_ONE(NAME, T, SUM)                                                                              \
    static void NAME(const counting *s, int64_t row, int64_t i, int64_t value)                               \
    {                                                                                                        \
        T *bin = (T *)s->out->data + row * s->size + value;                                                  \
        T weight = s->weights ? ((const T *)s->weights->data)[i] : 1;                                        \
        *bin = s->is_binary ? 1 : (T)((SUM)*bin + (SUM)weight);                                              \
    }
COUNT_ONE(count_f32, float, float)
COUNT_ONE(count_f64, double, double)
COUNT_ONE(count_i32, int32_t, uint32_t)
COUNT_ONE(count_i64, int64_t, uint64_t)

// False: the kernel has failed.
static bool count(bd_op_ctx *c, const counting *s, int64_t row, int64_t i)
{
    int64_t value = bd_tensor_index(s->values, i);
    if (value < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input arr must be non-negative! arr[%lld] = %lld",
                   (long long)i, (long long)value);
        return false;
    }
    if (value >= s->size) return true;
    switch (s->out->dtype) {
    case BRAID_FLOAT: count_f32(s, row, i, value); break;
    case BRAID_DOUBLE: count_f64(s, row, i, value); break;
    case BRAID_INT32: count_i32(s, row, i, value); break;
    default: count_i64(s, row, i, value); break;
    }
    return true;
}

// Reads the inputs size and weights, which are the last two, and allocates output 0: [rows, size], or [size]
// if rows is negative.
static bool begin(bd_op_ctx *c, const braid_tensor *values, int64_t rows, counting *s)
{
    const braid_tensor *size = bd_input(c, c->input_count - 2), *weights = bd_input(c, c->input_count - 1);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (size->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d", size->shape.rank);
    } else if (bd_tensor_index(size, 0) < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "size (%lld) must be non-negative",
                   (long long)bd_tensor_index(size, 0));
    } else if (bd_tensor_count(weights) > 0 && !bd_shape_equal(&weights->shape, &values->shape)) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as "
            "all weights equal to 1. Received %s and %s",
            bd_shape_str(&weights->shape, a), bd_shape_str(&values->shape, b));
    }
    if (bd_op_failed(c)) return false;
    *s = (counting){.values = values,
                    .weights = bd_tensor_count(weights) > 0 ? weights : NULL,
                    .is_binary = bd_node_attr_bool(c->node, "binary_output"),
                    .size = bd_tensor_index(size, 0)};
    braid_shape shape = rows < 0 ? bd_shape1(s->size) : bd_shape2(rows, s->size);
    BD_STATUS(st);
    int64_t total;
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    s->out = bd_output(c, 0, weights->dtype, &shape);
    if (s->out && total > 0) memset(s->out->data, 0, bd_tensor_bytes(s->out));
    return s->out != NULL;
}

// ---- DenseBincount ----

static void dense_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    counting s;
    if (x->shape.rank > 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape must be at most rank 2 but is rank %d", x->shape.rank);
        return;
    }
    int64_t rows = x->shape.rank == 2 ? x->shape.dims[0] : -1, n = bd_tensor_count(x);
    if (!begin(c, x, rows, &s)) return;
    int64_t columns = rows > 0 ? n / rows : n;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++)
        if (!count(c, &s, rows > 0 ? i / columns : 0, i)) return;
}

// Sets the last dimension from `size`, input `i`, where its value is known.
static braid_code size_of(bd_shape_ctx *c, int i, int64_t *size, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, 0, st);
    *size = -1;
    if (code || !bd_shape_ctx_constant_int(c, i, size) || *size >= 0) return code;
    return bd_shape_ctx_fail(c, st, "size (%lld) must be non-negative", (long long)*size);
}

static braid_code dense_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    int64_t size;
    braid_code code = size_of(c, 1, &size, st);
    if (code || x->rank < 0) return code;
    if (x->rank > 2) return bd_shape_ctx_fail(c, st, "Shape must be at most rank 2 but is rank %d", x->rank);
    c->outputs[0] = x->rank == 2 ? bd_shape2(x->dims[0], size) : bd_shape1(size);
    return BRAID_OK;
}

#define COUNT_ATTRS "Tidx:type{int32,int64}; T:type{double,float,int32,int64}; binary_output:bool=false"

BD_OP(DenseBincount) = {
    .signature = "(input: Tidx, size: Tidx, weights: T) -> (output: T)",
    .attrs = COUNT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = dense_shape,
    .kernels = BD_KERNELS({.run = dense_run}),
    .doc = "Counts each number below `size`, or sums its weights, in a vector or in each row of a matrix.",
};

// ---- SparseBincount ----

static bool check_sparse(bd_op_ctx *c)
{
    const braid_shape *indices = &bd_input(c, 0)->shape, *values = &bd_input(c, 1)->shape,
                      *dense = &bd_input(c, 2)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (values->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input values should be a vector but received shape %s",
                   bd_shape_str(values, text));
    } else if (dense->rank != 1 || dense->dims[0] < 1 || dense->dims[0] > 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input dense_shape should be a vector of 1 or 2 elements but received shape %s",
                   bd_shape_str(dense, text));
    } else if (indices->rank != 2 || indices->dims[0] != values->dims[0] ||
               indices->dims[1] != dense->dims[0]) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Input indices must be a matrix with a row for each of %lld values and %lld columns, not %s",
            (long long)values->dims[0], (long long)dense->dims[0], bd_shape_str(indices, text));
    }
    return !bd_op_failed(c);
}

static void sparse_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0), *values = bd_input(c, 1), *dense = bd_input(c, 2);
    counting s;
    if (!check_sparse(c)) return;
    int64_t rows = bd_tensor_count(dense) == 2 ? bd_tensor_i64(dense)[0] : -1;
    if (bd_tensor_count(dense) == 2 && rows < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "dense_shape must not be negative, but has %lld rows",
                   (long long)rows);
        return;
    }
    if (!begin(c, values, rows, &s)) return;
    for (int64_t i = 0; i < bd_tensor_count(values) && !bd_interrupted_at(i); i++) {
        int64_t row = rows < 0 ? 0 : bd_tensor_i64(indices)[2 * i];
        if (rows >= 0 && (row < 0 || row >= rows)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Index out of bound. `batch` (%lld) must be less than the dimension size (%lld).",
                       (long long)row, (long long)rows);
            return;
        }
        if (rows >= 0 && bd_tensor_index(values, i) >= s.size) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Index out of bound. `bin` (%lld) must be less than the dimension size (%lld).",
                       (long long)bd_tensor_index(values, i), (long long)s.size);
            return;
        }
        if (!count(c, &s, row, i)) return;
    }
}

static braid_code sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_tensor *dense = bd_shape_ctx_constant(c, 2);
    const braid_shape *s = &c->inputs[2];
    int64_t size, rank = s->rank == 1 ? s->dims[0] : -1;
    braid_code code = size_of(c, 3, &size, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 1, st);
    if (code || rank < 1) return code;
    int64_t rows = dense && rank == 2 ? bd_tensor_index(dense, 0) : -1;
    c->outputs[0] = rank == 2 ? bd_shape2(bd_max(rows, -1), size) : bd_shape1(size);
    return BRAID_OK;
}

BD_OP(SparseBincount) = {
    .signature = "(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T) -> (output: T)",
    .attrs = COUNT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sparse_shape,
    .kernels = BD_KERNELS({.run = sparse_run}),
    .doc = "DenseBincount of a sparse tensor: missing elements do not count.",
};

// ---- RaggedBincount ----

static bool check_splits(bd_op_ctx *c)
{
    const braid_tensor *splits = bd_input(c, 0);
    const int64_t *at = bd_tensor_i64(splits), n = bd_tensor_count(bd_input(c, 1));
    if (splits->shape.rank != 1 || splits->shape.dims[0] < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Splits must be a non-empty vector");
    } else if (at[0] != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Splits must start with 0, not with %lld", (long long)at[0]);
    } else if (at[splits->shape.dims[0] - 1] != n) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Splits must end with the number of values, got %lld instead of %lld",
                   (long long)at[splits->shape.dims[0] - 1], (long long)n);
    }
    for (int64_t i = 1; !bd_op_failed(c) && i < splits->shape.dims[0] && !bd_interrupted_at(i); i++)
        if (at[i] < at[i - 1]) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Splits must not decrease");
    return !bd_op_failed(c);
}

static void ragged_run(bd_op_ctx *c)
{
    const braid_tensor *splits = bd_input(c, 0), *values = bd_input(c, 1);
    counting s;
    if (!check_splits(c) || !begin(c, values, splits->shape.dims[0] - 1, &s)) return;
    int64_t row = 0, rows = splits->shape.dims[0] - 1;
    for (int64_t i = 0; i < bd_tensor_count(values) && !bd_interrupted_at(i); i++) {
        while (row < rows - 1 && i >= bd_tensor_i64(splits)[row + 1])
            row++;
        if (row < rows && !count(c, &s, row, i)) return;
    }
}

static braid_code ragged_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t size, rows = c->inputs[0].rank == 1 ? c->inputs[0].dims[0] - 1 : -1;
    braid_code code = size_of(c, 2, &size, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, 1, st);
    c->outputs[0] = bd_shape2(bd_max(rows, -1), size);
    return code;
}

BD_OP(RaggedBincount) = {
    .signature = "(splits: int64, values: Tidx, size: Tidx, weights: T) -> (output: T)",
    .attrs = COUNT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = ragged_shape,
    .kernels = BD_KERNELS({.run = ragged_run}),
    .doc = "DenseBincount of the rows of a ragged tensor.",
};

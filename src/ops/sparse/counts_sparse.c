// DenseCountSparseOutput, SparseCountSparseOutput and RaggedCountSparseOutput: how often each value occurs in
// each row, as a sparse tensor of the values that do.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/sort.h"
#include "ops/common/element.h"

#include <stdlib.h>
#include <string.h>

// A counted element: element `at` of the values, which is `value`, in a row.
typedef struct entry {
    int64_t row, value, at;
} entry;

typedef struct counts {
    const braid_tensor *values, *weights; // no weights: each is 1
    entry *entries;                       // owned
    int64_t count, greatest;              // of entries; the greatest value
    int64_t rows;                         // -1: the values are a vector
    int64_t least_len, greatest_len;      // attrs minlength and maxlength
} counts;

// `what` names the values in messages.
static bool counts_begin(bd_op_ctx *c, const char *what, counts *s)
{
    int64_t n = bd_tensor_count(s->values);
    const braid_tensor *weights = bd_input(c, c->input_count - 1);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (bd_tensor_count(weights) > 0 && !bd_shape_equal(&weights->shape, &s->values->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Weights and %s must have the same shape. Weight shape: %s; %s shape: %s", what,
                   bd_shape_str(&weights->shape, a), what, bd_shape_str(&s->values->shape, b));
        return false;
    }
    if (bd_tensor_count(weights) > 0) s->weights = weights;
    s->least_len = bd_node_attr_int(c->node, "minlength");
    s->greatest_len = bd_node_attr_int(c->node, "maxlength");
    s->entries = bd_try_calloc((size_t)n + 1, sizeof *s->entries);
    if (!s->entries) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when counting %lld values", (long long)n);
    return s->entries != NULL;
}

// Values below 0, and those beyond maxlength, are not counted.
static void counts_add(counts *s, int64_t row, int64_t at)
{
    int64_t value = bd_tensor_index(s->values, at);
    if (value < 0 || value == INT64_MAX || (s->greatest_len > 0 && value >= s->greatest_len)) return;
    s->entries[s->count++] = (entry){row, value, at};
    s->greatest = bd_max(s->greatest, value);
}

static int compare_entries(const void *a, const void *b, void *unused)
{
    (void)unused;
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool is_new(const counts *s, int64_t i)
{
    const entry *e = &s->entries[i];
    return i == 0 || e[0].row != e[-1].row || e[0].value != e[-1].value;
}

#define ADD(T, SUM)                                                                                          \
    {                                                                                                        \
        T *to = (T *)y->data + place, weight = s->weights ? ((const T *)s->weights->data)[at] : 1;           \
        *to = (T)((SUM)*to + (SUM)weight);                                                                   \
        break;                                                                                               \
    }

static void add_to(const counts *s, const braid_tensor *y, int64_t place, int64_t at)
{
    switch (y->dtype) {
    case BRAID_FLOAT: ADD(float, float)
    case BRAID_DOUBLE: ADD(double, double)
    case BRAID_INT32: ADD(int32_t, uint32_t)
    default: ADD(int64_t, uint64_t)
    }
}

static void set_one(const braid_tensor *y, int64_t place)
{
    switch (y->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(y)[place] = 1; break;
    case BRAID_DOUBLE: bd_tensor_f64(y)[place] = 1; break;
    case BRAID_INT32: bd_tensor_i32(y)[place] = 1; break;
    default: bd_tensor_i64(y)[place] = 1; break;
    }
}

static void put_entries(const counts *s, bool is_binary, const braid_tensor *indices,
                        const braid_tensor *values)
{
    int columns = s->rows < 0 ? 1 : 2;
    int64_t place = -1;
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        if (is_new(s, i)) {
            place++;
            if (columns == 2) bd_tensor_i64(indices)[2 * place] = s->entries[i].row;
            bd_tensor_i64(indices)[columns * place + columns - 1] = s->entries[i].value;
        }
        if (is_binary) {
            set_one(values, place);
        } else {
            add_to(s, values, place, s->entries[i].at);
        }
    }
}

// Makes the outputs and ends `s`.
static void counts_end(bd_op_ctx *c, counts *s)
{
    int64_t found = 0;
    int columns = s->rows < 0 ? 1 : 2;
    bd_sort(s->entries, s->count, sizeof *s->entries, compare_entries, NULL);
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++)
        found += is_new(s, i);
    braid_shape rows = bd_shape2(found, columns), vector = bd_shape1(found), sizes = bd_shape1(columns);
    braid_tensor *indices = bd_output(c, 0, BRAID_INT64, &rows),
                 *values = indices ? bd_output(c, 1, c->node->output_types[1], &vector) : NULL,
                 *shape = values ? bd_output(c, 2, BRAID_INT64, &sizes) : NULL;
    if (shape) {
        if (found > 0) memset(values->data, 0, bd_tensor_bytes(values));
        put_entries(s, bd_node_attr_bool(c->node, "binary_output"), indices, values);
        if (columns == 2) bd_tensor_i64(shape)[0] = s->rows;
        bd_tensor_i64(shape)[columns - 1] =
            s->greatest_len > 0 ? s->greatest_len : bd_max(s->greatest + 1, s->least_len);
    }
    bd_free(s->entries);
}

// ---- DenseCountSparseOutput ----

static void dense_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    if (x->shape.rank < 1 || x->shape.rank > 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must be a 1 or 2-dimensional tensor. Got: %s",
                   bd_shape_str(&x->shape, text));
        return;
    }
    if (x->shape.rank == 2 && x->shape.dims[0] == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid input: Shapes dimension cannot be 0.");
        return;
    }
    counts s = {.values = x, .rows = x->shape.rank == 2 ? x->shape.dims[0] : -1};
    if (!counts_begin(c, "data", &s)) return;
    int64_t columns = x->shape.dims[x->shape.rank - 1];
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_interrupted_at(i); i++)
        counts_add(&s, s.rows < 0 ? 0 : i / columns, i);
    counts_end(c, &s);
}

static braid_code set_shapes(bd_shape_ctx *c, int64_t columns)
{
    c->outputs[0] = bd_shape2(-1, columns);
    c->outputs[1] = bd_shape1(-1);
    c->outputs[2] = bd_shape1(columns);
    return BRAID_OK;
}

static braid_code dense_shape(bd_shape_ctx *c, braid_status *st)
{
    int rank = c->inputs[0].rank;
    if (rank == 0 || rank > 2)
        return bd_shape_ctx_fail(c, st, "Input must be a 1 or 2-dimensional tensor, but is of rank %d", rank);
    return set_shapes(c, rank);
}

#define COUNT_ATTRS                                                                                          \
    "T:type{int32,int64}; minlength:int>=-1=-1; maxlength:int>=-1=-1; binary_output:bool; "                  \
    "output_type:type{double,float,int32,int64}"
#define COUNT_OUTPUTS "(output_indices: int64, output_values: output_type, output_dense_shape: int64)"

BD_OP(DenseCountSparseOutput) = {
    .signature = "(values: T, weights: output_type) -> " COUNT_OUTPUTS,
    .attrs = COUNT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = dense_shape,
    .kernels = BD_KERNELS({.run = dense_run}),
    .doc = "How often each value occurs in a vector or in each row of a matrix, or its sum of weights.",
};

// ---- SparseCountSparseOutput ----

static bool check_sparse(bd_op_ctx *c)
{
    const braid_shape *indices = &bd_input(c, 0)->shape, *values = &bd_input(c, 1)->shape,
                      *dense = &bd_input(c, 2)->shape;
    char a[BD_SHAPE_STR_MAX];
    if (indices->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input indices must be a 2-dimensional tensor. Got: %s",
                   bd_shape_str(indices, a));
    } else if (values->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input values must be a vector. Got: %s",
                   bd_shape_str(values, a));
    } else if (dense->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input shape must be a vector. Got: %s",
                   bd_shape_str(dense, a));
    } else if (values->dims[0] != indices->dims[0]) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Number of values must match first dimension of indices. Got %lld values, indices shape: %s",
            (long long)values->dims[0], bd_shape_str(indices, a));
    } else if (dense->dims[0] != indices->dims[1]) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Number of dimensions must match second dimension of indices. Got %lld dimensions, indices shape: "
            "%s",
            (long long)dense->dims[0], bd_shape_str(indices, a));
    } else if (dense->dims[0] == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The shape argument requires at least one element.");
    }
    return !bd_op_failed(c);
}

// Checks that there is a first dimension and that each index lies within the shape.
static bool check_indices(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0);
    const int64_t *dims = bd_tensor_i64(bd_input(c, 2)), columns = indices->shape.dims[1];
    if (columns > 1 && dims[0] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Cannot allocate %lld batches, is the dense shape too wide?",
                   (long long)dims[0]);
        return false;
    }
    for (int64_t i = 0; i < bd_tensor_count(indices) && !bd_interrupted_at(i); i++) {
        int64_t index = bd_tensor_i64(indices)[i], size = dims[i % columns];
        if (index >= 0 && index < size) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Invalid index value at %lld: dimension %lld has value %lld which is not in [0, %lld) (as given "
            "by dense shape)",
            (long long)(i / columns), (long long)(i % columns), (long long)index, (long long)size);
        return false;
    }
    return true;
}

static void sparse_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0), *values = bd_input(c, 1);
    if (!check_sparse(c) || !check_indices(c)) return;
    int64_t columns = indices->shape.dims[1];
    counts s = {.values = values, .rows = columns == 1 ? -1 : bd_tensor_i64(bd_input(c, 2))[0]};
    if (!counts_begin(c, "values", &s)) return;
    for (int64_t i = 0; i < bd_tensor_count(values) && !bd_interrupted_at(i); i++)
        counts_add(&s, s.rows < 0 ? 0 : bd_tensor_i64(indices)[columns * i], i);
    counts_end(c, &s);
}

static braid_code sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    int64_t rank = c->inputs[2].rank == 1 ? c->inputs[2].dims[0] : -1;
    return set_shapes(c, rank < 1 ? -1 : bd_min(rank, 2));
}

BD_OP(SparseCountSparseOutput) = {
    .signature = "(indices: int64, values: T, dense_shape: int64, weights: output_type) -> " COUNT_OUTPUTS,
    .attrs = COUNT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sparse_shape,
    .kernels = BD_KERNELS({.run = sparse_run}),
    .doc = "DenseCountSparseOutput of a sparse tensor: elements that are not there do not count.",
};

// ---- RaggedCountSparseOutput ----

static bool check_splits(bd_op_ctx *c)
{
    const braid_tensor *splits = bd_input(c, 0);
    const int64_t *at = bd_tensor_i64(splits), n = bd_tensor_count(bd_input(c, 1));
    int64_t rows = splits->shape.rank == 1 ? splits->shape.dims[0] - 1 : 0;
    if (rows < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Must provide at least 2 elements for the splits argument");
    } else if (at[0] != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Splits must start with 0, not with %lld", (long long)at[0]);
    } else if (at[rows] != n) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Splits must end with the number of values, got %lld instead of %lld", (long long)at[rows],
                   (long long)n);
    }
    for (int64_t i = 0; i < rows && !bd_op_failed(c); i++)
        if (at[i + 1] < at[i]) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Splits must not decrease");
    return !bd_op_failed(c);
}

static void ragged_run(bd_op_ctx *c)
{
    const braid_tensor *splits = bd_input(c, 0), *values = bd_input(c, 1);
    if (!check_splits(c)) return;
    counts s = {.values = values, .rows = splits->shape.dims[0] - 1};
    int64_t row = 0;
    if (!counts_begin(c, "values", &s)) return;
    for (int64_t i = 0; i < bd_tensor_count(values) && !bd_interrupted_at(i); i++) {
        while (row < s.rows - 1 && i >= bd_tensor_i64(splits)[row + 1])
            row++;
        counts_add(&s, row, i);
    }
    counts_end(c, &s);
}

static braid_code ragged_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    return set_shapes(c, 2);
}

BD_OP(RaggedCountSparseOutput) = {
    .signature = "(splits: int64, values: T, weights: output_type) -> " COUNT_OUTPUTS,
    .attrs = COUNT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = ragged_shape,
    .kernels = BD_KERNELS({.run = ragged_run}),
    .doc = "DenseCountSparseOutput of the rows of a ragged tensor.",
};

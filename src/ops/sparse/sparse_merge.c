// SparseAdd, SparseAddGrad, SparseSparseMaximum and SparseSparseMinimum: two sparse tensors of one shape,
// merged by their indices.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/sparse/sparse.h"
#include "ops/state/variable.h"

#include <math.h>
#include <string.h>

// Entries of both tensors in order, each of one of them or of both.
typedef struct merging {
    bd_sparse a, b;
    int64_t *from_a, *from_b; // owned: [count], number of the entry; -1: no entry
    int64_t count;
} merging;

static void merging_fini(merging *m)
{
    bd_sparse_fini(&m->a);
    bd_sparse_fini(&m->b);
    bd_free(m->from_a);
    bd_free(m->from_b);
}

static bool check_shapes(bd_op_ctx *c, const braid_shape *a, const braid_shape *b)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    if (a->rank != b->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Operands do not have the same ranks; got shapes: %s and %s",
                   bd_shape_str(a, x), bd_shape_str(b, y));
        return false;
    }
    for (int d = 0; d < a->rank; d++) {
        if (a->dims[d] == b->dims[d]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Operands' shapes do not match: got %lld and %lld for dimension %d", (long long)a->dims[d],
                   (long long)b->dims[d], d);
        return false;
    }
    return true;
}

// Reads both tensors, inputs 0 to 5, and merges them. Ends with merging_fini also when it fails.
static bool merge(bd_op_ctx *c, merging *m)
{
    bd_sparse *a = &m->a, *b = &m->b;
    if (!bd_sparse_input(c, 0, 1, 2, a) || !bd_sparse_input(c, 3, 4, 5, b) ||
        !check_shapes(c, &a->shape, &b->shape))
        return false;
    m->from_a = bd_sparse_numbers(c, a->count + b->count);
    m->from_b = bd_sparse_numbers(c, a->count + b->count);
    if (!m->from_a || !m->from_b) return false;
    for (int64_t i = 0, j = 0; (i < a->count || j < b->count) && !bd_interrupted_at(m->count); m->count++) {
        int order = i == a->count ? 1
                    : j == b->count
                        ? -1
                        : bd_sparse_compare(bd_sparse_row(a, i), bd_sparse_row(b, j), a->shape.rank);
        m->from_a[m->count] = order <= 0 ? i++ : -1;
        m->from_b[m->count] = order >= 0 ? j++ : -1;
    }
    return true;
}

static void *element(const braid_tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * bd_element_size(t->dtype);
}

// Outputs 0 and 1: the indices, and memory for the values. NULL: the kernel has failed.
static braid_tensor *output_merged(bd_op_ctx *c, const merging *m)
{
    int rank = m->a.shape.rank;
    int64_t *at = bd_output_sparse_indices(c, 0, m->count, rank);
    if (!at) return NULL;
    for (int64_t k = 0; k < m->count && !bd_interrupted_at(k); k++) {
        const int64_t *row =
            m->from_a[k] >= 0 ? bd_sparse_row(&m->a, m->from_a[k]) : bd_sparse_row(&m->b, m->from_b[k]);
        if (rank > 0) memcpy(at + k * rank, row, (size_t)rank * sizeof *at);
    }
    return bd_output_sparse_values(c, 1, m->a.values->dtype, m->count);
}

static braid_code check_ranks(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_sparse(c, 0, 1, 2, st);
    return code ? code : bd_shape_ctx_sparse(c, 3, 4, 5, st);
}

// ---- SparseAdd ----

static braid_code add_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_shape_ctx_sparse_outputs(c, 0, -1, bd_shape_dim(&c->inputs[2], 0));
    return bd_shape_ctx_rank(c, 2, 1, st);
}

static bool reaches_f64(double value, double threshold)
{
    return threshold <= (value < 0 ? -value : value);
}

static bool reaches_i64(int64_t value, int64_t threshold)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return threshold <= 0 || magnitude >= (uint64_t)threshold;
}

// Whether the magnitude of element `i` is at least the threshold. Not so for NaN.
static bool reaches(const braid_tensor *t, int64_t i, const braid_tensor *threshold)
{
    const void *v = element(t, i), *limit = threshold->data;
    switch (t->dtype) {
    case BRAID_FLOAT: return reaches_f64((double)*(const float *)v, (double)*(const float *)limit);
    case BRAID_DOUBLE: return reaches_f64(*(const double *)v, *(const double *)limit);
    case BRAID_COMPLEX64:
        return reaches_f64((double)hypotf(((const float *)v)[0], ((const float *)v)[1]),
                           (double)*(const float *)limit);
    case BRAID_COMPLEX128:
        return reaches_f64(hypot(((const double *)v)[0], ((const double *)v)[1]), *(const double *)limit);
    case BRAID_INT8: return reaches_i64(*(const int8_t *)v, *(const int8_t *)limit);
    case BRAID_INT16: return reaches_i64(*(const int16_t *)v, *(const int16_t *)limit);
    case BRAID_INT32: return reaches_i64(*(const int32_t *)v, *(const int32_t *)limit);
    default: return reaches_i64(*(const int64_t *)v, *(const int64_t *)limit);
    }
}

// The sum of the two entries that merged entry `k` is of, into the first element of `sum`.
static void add_entries(const merging *m, int64_t k, const braid_tensor *sum)
{
    bd_elements_copy(sum, 0, m->a.values, m->from_a[k], 1);
    bd_update_function(sum->dtype, BD_UPDATE_ADD)(sum->data, element(m->b.values, m->from_b[k]), 1);
}

static braid_dtype magnitude_type(braid_dtype dtype)
{
    return dtype == BRAID_COMPLEX64 ? BRAID_FLOAT : dtype == BRAID_COMPLEX128 ? BRAID_DOUBLE : dtype;
}

// Removes sums whose magnitude is below the threshold. Entries of one tensor alone are kept.
static void drop_small(merging *m, const braid_tensor *threshold, const braid_tensor *sum)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < m->count && !bd_interrupted_at(k); k++) {
        if (m->from_a[k] >= 0 && m->from_b[k] >= 0) {
            add_entries(m, k, sum);
            if (!reaches(sum, 0, threshold)) continue;
        }
        m->from_a[kept] = m->from_a[k];
        m->from_b[kept++] = m->from_b[k];
    }
    m->count = kept;
}

static void output_sum(bd_op_ctx *c, const merging *m)
{
    braid_tensor *y = output_merged(c, m);
    for (int64_t k = 0; y && k < m->count && !bd_interrupted_at(k); k++) {
        int64_t i = m->from_a[k], j = m->from_b[k];
        bd_elements_copy(y, k, i >= 0 ? m->a.values : m->b.values, i >= 0 ? i : j, 1);
        if (i >= 0 && j >= 0)
            bd_update_function(y->dtype, BD_UPDATE_ADD)(element(y, k), element(m->b.values, j), 1);
    }
    bd_output_set(c, 2, bd_input(c, 2));
}

static void add_run(bd_op_ctx *c)
{
    const braid_tensor *threshold = bd_input(c, 6);
    char text[BD_SHAPE_STR_MAX];
    __attribute__((cleanup(merging_fini))) merging m = {0};
    braid_tensor sum = {0};
    braid_dtype dtype = bd_input(c, 1)->dtype;
    if (!merge(c, &m)) return;
    if (threshold->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The magnitude threshold must be a scalar: got shape %s",
                   bd_shape_str(&threshold->shape, text));
    } else if (threshold->dtype != magnitude_type(dtype)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The magnitude threshold of %s values must be %s, not %s",
                   braid_dtype_name(dtype), braid_dtype_name(magnitude_type(dtype)),
                   braid_dtype_name(threshold->dtype));
    } else if (!bd_tensor_alloc(&sum, dtype, &BD_SCALAR)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when adding sparse tensors");
    } else {
        drop_small(&m, threshold, &sum);
        output_sum(c, &m);
    }
    bd_tensor_fini(&sum);
}

static void add_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "SparseAddGrad", NULL);
    braid_op_input(d, c->output_grads[1]);
    braid_op_input(d, braid_op_get_input(c->op, 0));
    braid_op_input(d, braid_op_get_input(c->op, 3));
    braid_op_input(d, (braid_out){c->op, 0});
    c->input_grads[1] = braid_op_end_out(d);
    c->input_grads[4] = (braid_out){c->input_grads[1].op, 1};
}

BD_OP(SparseAdd) = {
    .signature = "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: "
                 "int64, thresh: Treal) -> (sum_indices: int64, sum_values: T, sum_shape: int64)",
    .attrs = "T:type{number}; Treal:type{realnumber}",
    .shape = add_shape,
    .gradient = add_gradient,
    .kernels = BD_KERNELS({.types = "T=float|double|int8|int16|int32|int64|complex64|complex128",
                           .run = add_run}),
    .doc = "The sum of two sparse tensors, without the sums of two entries whose magnitude is below thresh.",
};

// ---- SparseAddGrad ----

static braid_code add_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(bd_shape_dim(&c->inputs[1], 0));
    c->outputs[1] = bd_shape1(bd_shape_dim(&c->inputs[2], 0));
    braid_code code = bd_shape_ctx_rank(c, 1, 2, st);
    return code ? code : bd_shape_ctx_rank(c, 2, 2, st);
}

// Output `i`: for each entry of an operand the gradient of the sum at its place, 0 if the sum has no entry
// there.
static bool output_grad(bd_op_ctx *c, int i, const bd_sparse *operand, const bd_sparse *sum)
{
    const braid_tensor *grad = bd_input(c, 0);
    braid_tensor *y = bd_output_sparse_values(c, i, grad->dtype, operand->count);
    if (!y) return false;
    if (operand->count > 0) memset(y->data, 0, (size_t)operand->count * braid_dtype_size(y->dtype));
    for (int64_t k = 0, at = 0; k < operand->count && at < sum->count && !bd_interrupted();) {
        int order = bd_sparse_compare(bd_sparse_row(operand, k), bd_sparse_row(sum, at), sum->shape.rank);
        if (order == 0) bd_elements_copy(y, k, grad, at, 1);
        if (order <= 0) k++;
        if (order > 0) at++;
    }
    return true;
}

static void add_grad_run(bd_op_ctx *c)
{
    const braid_tensor *grad = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    BD_SPARSE(a);
    BD_SPARSE(b);
    BD_SPARSE(sum);
    if (!bd_sparse_input_indices(c, 1, &a) || !bd_sparse_input_indices(c, 2, &b) ||
        !bd_sparse_input_indices(c, 3, &sum))
        return;
    if (grad->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input backprop_val_grad should be a vector but received shape: %s",
                   bd_shape_str(&grad->shape, text));
    } else if (a.shape.rank != b.shape.rank || a.shape.rank != sum.shape.rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The densified operands should have the same ndims: got: a_indices of %d, b_indices of %d "
                   "and sum_indices of %d columns",
                   a.shape.rank, b.shape.rank, sum.shape.rank);
    } else if (grad->shape.dims[0] != sum.count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "# elements of backprop_val_grad and rows of sum_indices should match (#nnz of sum): got "
                   "%lld and %lld",
                   (long long)grad->shape.dims[0], (long long)sum.count);
    } else if (output_grad(c, 0, &a, &sum)) {
        output_grad(c, 1, &b, &sum);
    }
}

BD_OP(SparseAddGrad) = {
    .signature = "(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) -> "
                 "(a_val_grad: T, b_val_grad: T)",
    .attrs = "T:type{number}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = add_grad_shape,
    .kernels = BD_KERNELS({.run = add_grad_run}),
    .doc = "The gradients of SparseAdd for the values of its operands: that of the sum at the same place.",
};

// ---- SparseSparseMaximum, SparseSparseMinimum ----

static braid_code extreme_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape2(-1, -1);
    c->outputs[1] = bd_shape1(-1);
    return check_ranks(c, st);
}

// Where one of the tensors has no entry, its element is 0.
static void extreme_run(bd_op_ctx *c, bd_update_op op)
{
    static const int64_t zero = 0;
    __attribute__((cleanup(merging_fini))) merging m = {0};
    if (!merge(c, &m)) return;
    braid_tensor *y = output_merged(c, &m);
    bd_update_fn update = bd_update_function(m.a.values->dtype, op);
    for (int64_t k = 0; y && k < m.count && !bd_interrupted_at(k); k++) {
        int64_t i = m.from_a[k], j = m.from_b[k];
        bd_elements_copy(y, k, i >= 0 ? m.a.values : m.b.values, i >= 0 ? i : j, 1);
        update(element(y, k), i >= 0 && j >= 0 ? element(m.b.values, j) : &zero, 1);
    }
}

static void maximum_run(bd_op_ctx *c)
{
    extreme_run(c, BD_UPDATE_MAX);
}

static void minimum_run(bd_op_ctx *c)
{
    extreme_run(c, BD_UPDATE_MIN);
}

#define EXTREME(NUMBERS, RUN, DOC)                                                                           \
    {                                                                                                        \
        .signature = "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "       \
                     "b_shape: int64) -> (output_indices: int64, output_values: T)",                         \
        .attrs = "T:type{" NUMBERS "}", .shape = extreme_shape,                                              \
        .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = RUN}), .doc = (DOC)             \
    }

BD_OP(SparseSparseMaximum) =
    EXTREME("realnumber", maximum_run,
            "The larger element of two sparse tensors wherever one has an entry; a missing entry is 0.");
BD_OP(SparseSparseMinimum) =
    EXTREME("number", minimum_run,
            "The smaller element of two sparse tensors wherever one has an entry; a missing entry is 0.");

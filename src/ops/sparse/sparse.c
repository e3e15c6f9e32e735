// Reading, checking and ordering sparse tensors.
#include "ops/sparse/sparse.h"

#include "base/interrupt.h"
#include "kernels/sort.h"

#include <stdlib.h>
#include <string.h>

void bd_sparse_fini(bd_sparse *s)
{
    bd_tensor_fini(&s->indices);
}

// ---- Reading ----

static bool fail_shape(bd_op_ctx *c, const char *what, const char *form, const braid_tensor *t)
{
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s should be a %s but received shape %s", what, form,
               bd_shape_str(&t->shape, text));
    return false;
}

static bool fail_rank(bd_op_ctx *c, int64_t rank)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "a sparse tensor of %lld dimensions; at most %d are possible",
               (long long)rank, BRAID_RANK_MAX);
    return false;
}

bool bd_sparse_input_shape(bd_op_ctx *c, int i, braid_shape *shape)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1) return fail_shape(c, "shape", "vector", t);
    if (t->shape.dims[0] > BRAID_RANK_MAX) return fail_rank(c, t->shape.dims[0]);
    shape->rank = (int)t->shape.dims[0];
    for (int d = 0; d < shape->rank; d++) {
        shape->dims[d] = bd_tensor_index(t, d);
        if (shape->dims[d] < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dimension %lld of a sparse tensor's shape must be >= 0",
                       (long long)shape->dims[d]);
            return false;
        }
    }
    return true;
}

static bool keep_indices(bd_sparse *s, const braid_tensor *indices)
{
    if (indices->dtype == BRAID_INT64) return bd_tensor_keep(&s->indices, indices);
    if (!bd_tensor_alloc(&s->indices, BRAID_INT64, &indices->shape)) return false;
    for (int64_t i = 0; i < bd_tensor_count(indices); i++)
        bd_tensor_i64(&s->indices)[i] = bd_tensor_i32(indices)[i];
    return true;
}

bool bd_sparse_input_indices(bd_op_ctx *c, int i, bd_sparse *s)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 2) return fail_shape(c, "indices", "matrix", t);
    if (t->shape.dims[1] > BRAID_RANK_MAX) return fail_rank(c, t->shape.dims[1]);
    if (!keep_indices(s, t)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying %lld indices of a sparse tensor",
                   (long long)t->shape.dims[0]);
        return false;
    }
    s->count = t->shape.dims[0];
    s->shape.rank = (int)t->shape.dims[1];
    s->at = bd_tensor_i64(&s->indices);
    return true;
}

bool bd_sparse_input(bd_op_ctx *c, int indices, int values, int shape, bd_sparse *s)
{
    s->values = values < 0 ? NULL : bd_input(c, values);
    if (!bd_sparse_input_indices(c, indices, s)) return false;
    int columns = s->shape.rank;
    if (s->values && s->values->shape.rank != 1) return fail_shape(c, "values", "vector", s->values);
    if (!bd_sparse_input_shape(c, shape, &s->shape)) return false;
    if (s->values && s->values->shape.dims[0] != s->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Number of values must match first dimension of indices. Got %lld values and %lld indices",
                   (long long)s->values->shape.dims[0], (long long)s->count);
        return false;
    }
    if (columns != s->shape.rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Number of dimensions must match second dimension of indices. Got %d dimensions and "
                   "indices of %d columns",
                   s->shape.rank, columns);
        return false;
    }
    return true;
}

// ---- Checking ----

static bool fail_index(bd_op_ctx *c, const bd_sparse *s, int64_t i, const char *what)
{
    char text[BD_SHAPE_STR_MAX];
    __attribute__((cleanup(bd_strbuf_fini))) bd_strbuf index = {0};
    for (int d = 0; d < s->shape.rank; d++)
        bd_strbuf_appendf(&index, d ? ",%lld" : "%lld", (long long)bd_sparse_row(s, i)[d]);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%lld] = [%s] is %s%s", (long long)i, bd_strbuf_str(&index),
               what, strchr(what, '<') ? bd_shape_str(&s->shape, text) : "");
    return false;
}

static bool is_within(const bd_sparse *s, int64_t i)
{
    const int64_t *row = bd_sparse_row(s, i);
    for (int d = 0; d < s->shape.rank; d++)
        if (row[d] < 0 || row[d] >= s->shape.dims[d]) return false;
    return true;
}

#define OUT_OF_BOUNDS "out of bounds: need 0 <= index < "

bool bd_sparse_check_bounds(bd_op_ctx *c, const bd_sparse *s)
{
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++)
        if (!is_within(s, i)) return fail_index(c, s, i, OUT_OF_BOUNDS);
    return !bd_op_interrupted(c);
}

bool bd_sparse_check_order(bd_op_ctx *c, const bd_sparse *s)
{
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        if (!is_within(s, i)) return fail_index(c, s, i, OUT_OF_BOUNDS);
        if (i == 0) continue;
        int order = bd_sparse_compare(bd_sparse_row(s, i - 1), bd_sparse_row(s, i), s->shape.rank);
        if (order > 0) return fail_index(c, s, i, "out of order");
        if (order == 0) return fail_index(c, s, i, "repeated");
    }
    return !bd_op_interrupted(c);
}

bool bd_sparse_check_size(bd_op_ctx *c, const braid_shape *shape)
{
    BD_STATUS(st);
    int64_t count;
    if (!bd_shape_checked_count(shape, &count, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

// ---- Order ----

int bd_sparse_compare(const int64_t *a, const int64_t *b, int depth)
{
    for (int d = 0; d < depth; d++)
        if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
    return 0;
}

int64_t bd_sparse_group_end(const bd_sparse *s, int64_t from, int depth)
{
    int64_t end = from + 1;
    while (end < s->count && !bd_interrupted_at(end) &&
           bd_sparse_compare(bd_sparse_row(s, from), bd_sparse_row(s, end), depth) == 0)
        end++;
    return end;
}

bool bd_sparse_is_ordered(const bd_sparse *s)
{
    for (int64_t i = 1; i < s->count && !bd_interrupted_at(i); i++)
        if (bd_sparse_compare(bd_sparse_row(s, i - 1), bd_sparse_row(s, i), s->shape.rank) > 0) return false;
    return true;
}

typedef struct sorting {
    const bd_sparse *s;
    const int *dims; // NULL: row-major
} sorting;

static int compare_entries(const void *x, const void *y, void *arg)
{
    const sorting *by = arg;
    int64_t i = *(const int64_t *)x, j = *(const int64_t *)y;
    const int64_t *a = bd_sparse_row(by->s, i), *b = bd_sparse_row(by->s, j);
    for (int k = 0; k < by->s->shape.rank; k++) {
        int d = by->dims ? by->dims[k] : k;
        if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
    }
    return i < j ? -1 : i > j;
}

int64_t *bd_sparse_numbers(bd_op_ctx *c, int64_t count)
{
    int64_t *numbers = bd_try_calloc((size_t)count, sizeof *numbers);
    if (!numbers)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %lld numbers", (long long)count);
    return numbers;
}

int64_t *bd_sparse_order(bd_op_ctx *c, const bd_sparse *s, const int *dims)
{
    int64_t *order = bd_sparse_numbers(c, s->count);
    if (!order) return NULL;
    for (int64_t i = 0; i < s->count; i++)
        order[i] = i;
    sorting by = {s, dims};
    for (int64_t i = 1; i < s->count && !bd_interrupted_at(i); i++) {
        if (compare_entries(&order[i - 1], &order[i], &by) < 0) continue;
        bd_sort(order, s->count, sizeof *order, compare_entries, &by);
        break;
    }
    return order;
}

// ---- Outputs ----

int64_t *bd_output_sparse_indices(bd_op_ctx *c, int i, int64_t count, int rank)
{
    braid_shape shape = bd_shape2(count, rank);
    braid_tensor *t = bd_output(c, i, BRAID_INT64, &shape);
    return t ? bd_tensor_i64(t) : NULL;
}

braid_tensor *bd_output_sparse_values(bd_op_ctx *c, int i, braid_dtype dtype, int64_t count)
{
    braid_shape shape = bd_shape1(count);
    return bd_output(c, i, dtype, &shape);
}

bool bd_output_sparse_shape(bd_op_ctx *c, int i, const braid_shape *shape)
{
    braid_shape length = bd_shape1(shape->rank);
    braid_tensor *t = bd_output(c, i, BRAID_INT64, &length);
    for (int d = 0; t && d < shape->rank; d++)
        bd_tensor_i64(t)[d] = shape->dims[d];
    return t != NULL;
}

bool bd_output_sparse_rows(bd_op_ctx *c, int indices, int values, const bd_sparse *s, const int64_t *rows,
                           int64_t count)
{
    int rank = s->shape.rank;
    int64_t *at = bd_output_sparse_indices(c, indices, count, rank);
    braid_tensor *y = at ? bd_output_sparse_values(c, values, s->values->dtype, count) : NULL;
    if (!y) return false;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        if (rank > 0) memcpy(at + i * rank, bd_sparse_row(s, rows[i]), (size_t)rank * sizeof *at);
        bd_elements_copy(y, i, s->values, rows[i], 1);
    }
    return true;
}

// ---- Shape functions ----

braid_code bd_shape_ctx_sparse(bd_shape_ctx *c, int indices, int values, int shape, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, indices, 2, st);
    if (!code && values >= 0) code = bd_shape_ctx_rank(c, values, 1, st);
    return code ? code : bd_shape_ctx_rank(c, shape, 1, st);
}

int64_t bd_shape_dim(const braid_shape *s, int d)
{
    return s->rank > d ? s->dims[d] : -1;
}

braid_code bd_shape_ctx_sparse_sizes(bd_shape_ctx *c, int indices, int values, int shape, int64_t *rank,
                                     braid_status *st)
{
    braid_code code = bd_shape_ctx_sparse(c, indices, values, shape, st);
    if (code) return code;
    int64_t rows = bd_shape_dim(&c->inputs[indices], 0), columns = bd_shape_dim(&c->inputs[indices], 1),
            count = values < 0 ? -1 : bd_shape_dim(&c->inputs[values], 0);
    *rank = bd_shape_dim(&c->inputs[shape], 0);
    if (rows >= 0 && count >= 0 && rows != count)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)rows,
                                 (long long)count);
    if (columns >= 0 && *rank >= 0 && columns != *rank)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)columns,
                                 (long long)*rank);
    if (*rank < 0) *rank = columns;
    return BRAID_OK;
}

void bd_shape_ctx_sparse_outputs(bd_shape_ctx *c, int first, int64_t count, int64_t rank)
{
    c->outputs[first] = bd_shape2(count, rank);
    c->outputs[first + 1] = bd_shape1(count);
    c->outputs[first + 2] = bd_shape1(rank);
}

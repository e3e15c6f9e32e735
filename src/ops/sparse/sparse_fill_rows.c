// SparseFillEmptyRows, RaggedFillEmptyRows and their gradients: a sparse or ragged tensor that has a value in
// every row.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/sparse/sparse.h"
#include "ops/state/variable.h"

#include <string.h>

static braid_code fill_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rank, count = bd_shape_dim(&c->inputs[0], 0);
    braid_shape dense;
    braid_code code = bd_shape_ctx_sparse_sizes(c, 0, 1, 2, &rank, st);
    if (!code) code = bd_shape_ctx_rank(c, 3, 0, st);
    if (code) return code;
    if (bd_shape_dim(&c->inputs[2], 0) == 0) return bd_shape_ctx_fail(c, st, "dense_shape must not be empty");
    bool known = bd_shape_ctx_constant_shape(c, 2, &dense);
    c->outputs[0] = bd_shape2(-1, bd_shape_dim(&c->inputs[2], 0));
    c->outputs[1] = bd_shape1(-1);
    c->outputs[2] = bd_shape1(known ? bd_shape_dim(&dense, 0) : -1);
    c->outputs[3] = bd_shape1(count < 0 ? bd_shape_dim(&c->inputs[1], 0) : count);
    return BRAID_OK;
}

static braid_code ragged_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows, count = bd_shape_dim(&c->inputs[0], 0);
    for (int i = 0; i < 4; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, i < 2 ? 1 : 0, st);
        if (code) return code;
    }
    bool known = bd_shape_ctx_constant_int(c, 2, &rows) && rows >= 0;
    c->outputs[0] = c->outputs[1] = bd_shape1(-1);
    c->outputs[2] = bd_shape1(known ? rows : -1);
    c->outputs[3] = bd_shape1(count < 0 ? bd_shape_dim(&c->inputs[1], 0) : count);
    return BRAID_OK;
}

// Values by row numbers, read as a sparse tensor of one dimension. False: the kernel has failed.
static bool ragged_input(bd_op_ctx *c, bd_sparse *s)
{
    static const char *const names[] = {"value_rowids", "values", "nrows"};
    const braid_tensor *ids = bd_input(c, 0), *values = bd_input(c, 1);
    for (int i = 0; i < 3; i++) {
        const braid_shape *shape = &bd_input(c, i)->shape;
        if (shape->rank == (i < 2 ? 1 : 0)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a %s, saw: %s", names[i],
                   i < 2 ? "vector" : "scalar", bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    int64_t rows = bd_tensor_i64(bd_input(c, 2))[0];
    if (ids->shape.dims[0] != values->shape.dims[0] || rows < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld value_rowids for %lld values in %lld rows",
                   (long long)ids->shape.dims[0], (long long)values->shape.dims[0], (long long)rows);
    } else if (!bd_tensor_keep(&s->indices, ids)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying value_rowids");
    }
    s->at = bd_op_failed(c) ? NULL : bd_tensor_i64(&s->indices);
    s->values = values;
    s->count = ids->shape.dims[0];
    s->shape = bd_shape1(rows);
    return !bd_op_failed(c);
}

static bool check_rows(bd_op_ctx *c, const bd_sparse *s)
{
    char text[BD_SHAPE_STR_MAX];
    const braid_tensor *filler = bd_input(c, 3);
    if (filler->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "default_value must be a scalar, saw: %s",
                   bd_shape_str(&filler->shape, text));
        return false;
    }
    if (s->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dense shape cannot be empty.");
        return false;
    }
    if (s->shape.dims[0] == 0 && s->count > 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %lld",
                   (long long)s->count);
        return false;
    }
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        int64_t row = bd_sparse_row(s, i)[0];
        if (row >= 0 && row < s->shape.dims[0]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices(%lld, 0) is invalid: %lld >= %lld", (long long)i,
                   (long long)row, (long long)s->shape.dims[0]);
        return false;
    }
    return !bd_op_interrupted(c);
}

// Fills `next` with where each row's entries begin in the output, and outputs 2 with which rows are empty;
// returns how many entries there will be, -1 when the kernel has failed.
static int64_t count_rows(bd_op_ctx *c, const bd_sparse *s, int64_t *next)
{
    braid_shape rows = bd_shape1(s->shape.dims[0]);
    braid_tensor *empty = bd_output(c, 2, BRAID_BOOL, &rows);
    if (!empty) return -1;
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++)
        next[bd_sparse_row(s, i)[0]]++;
    int64_t at = 0;
    for (int64_t row = 0; row < rows.dims[0] && !bd_interrupted_at(row); row++) {
        int64_t count = next[row];
        bd_tensor_bool(empty)[row] = count == 0;
        next[row] = at;
        at += count > 0 ? count : 1;
    }
    return bd_op_interrupted(c) ? -1 : at;
}

static void place_entries(bd_op_ctx *c, const bd_sparse *s, int64_t *next, int64_t *at, const braid_tensor *y,
                          int64_t *moved)
{
    int rank = s->shape.rank;
    for (int64_t row = 0; row < s->shape.dims[0] && !bd_interrupted_at(row); row++) {
        if (!bd_tensor_bool(&c->outputs[2].tensor)[row]) continue;
        memset(at + next[row] * rank, 0, (size_t)rank * sizeof *at);
        at[next[row] * rank] = row;
        bd_elements_copy(y, next[row], bd_input(c, 3), 0, 1);
    }
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        int64_t to = next[bd_sparse_row(s, i)[0]]++;
        memcpy(at + to * rank, bd_sparse_row(s, i), (size_t)rank * sizeof *at);
        bd_elements_copy(y, to, s->values, i, 1);
        moved[i] = to;
    }
}

// Output 0: a matrix of indices, or a vector of row numbers. NULL: the kernel has failed.
static int64_t *output_places(bd_op_ctx *c, const bd_sparse *s, bool is_ragged, int64_t count)
{
    if (!is_ragged) return bd_output_sparse_indices(c, 0, count, s->shape.rank);
    braid_tensor *ids = bd_output_sparse_values(c, 0, BRAID_INT64, count);
    return ids ? bd_tensor_i64(ids) : NULL;
}

static void fill_rows(bd_op_ctx *c, const bd_sparse *s, bool is_ragged)
{
    if (!check_rows(c, s)) return;
    int64_t *next = bd_sparse_numbers(c, s->shape.dims[0]), *at = NULL;
    int64_t count = next ? count_rows(c, s, next) : -1;
    braid_tensor *y = NULL, *moved = NULL;
    if (count >= 0) at = output_places(c, s, is_ragged, count);
    if (at) y = bd_output_sparse_values(c, 1, s->values->dtype, count);
    if (y) moved = bd_output_sparse_values(c, 3, BRAID_INT64, s->count);
    if (moved) place_entries(c, s, next, at, y, bd_tensor_i64(moved));
    bd_free(next);
}

static void fill_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    if (bd_sparse_input(c, 0, 1, 2, &s)) fill_rows(c, &s, false);
}

static void ragged_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    if (ragged_input(c, &s)) fill_rows(c, &s, true);
}

static void gradient_by(bd_grad_ctx *c, const char *op)
{
    c->input_grads[1] = bd_b2(c->graph, op, NULL, (braid_out){c->op, 3}, c->output_grads[1]);
    c->input_grads[3] = (braid_out){c->input_grads[1].op, 1};
}

static void fill_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "SparseFillEmptyRowsGrad");
}

static void ragged_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "RaggedFillEmptyRowsGrad");
}

BD_OP(SparseFillEmptyRows) = {
    .signature = "(indices: int64, values: T, dense_shape: int64, default_value: T) -> (output_indices: "
                 "int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    .attrs = "T:type",
    .shape = fill_shape,
    .gradient = fill_gradient,
    .kernels = BD_KERNELS({.run = fill_run}),
    .doc = "A sparse tensor's entries by row, with default_value at the beginning of each row that has none; "
           "also which rows those are, and where each entry went.",
};

BD_OP(RaggedFillEmptyRows) = {
    .signature = "(value_rowids: int64, values: T, nrows: int64, default_value: T) -> (output_value_rowids: "
                 "int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    .attrs = "T:type",
    .shape = ragged_shape,
    .gradient = ragged_gradient,
    .kernels = BD_KERNELS({.run = ragged_run}),
    .doc =
        "A ragged tensor's values by row, with default_value in each row that has none; also which rows those "
        "are, and where each value went.",
};

// ---- The gradients ----

static braid_code fill_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    c->outputs[1] = BD_SCALAR;
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

// Each value gets the gradient at its new place, and the default value the sum of the others.
static void spread_gradient(bd_op_ctx *c, const braid_tensor *y, const braid_tensor *rest, bool *visited)
{
    const braid_tensor *moved = bd_input(c, 0), *grad = bd_input(c, 1);
    size_t size = braid_dtype_size(grad->dtype);
    bd_update_fn add = bd_update_function(grad->dtype, BD_UPDATE_ADD);
    int64_t count = grad->shape.dims[0];
    for (int64_t i = 0; i < moved->shape.dims[0] && !bd_interrupted_at(i); i++) {
        int64_t at = bd_tensor_index(moved, i);
        if (at < 0 || at >= count) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Elements in reverse index must be in [0, %lld) but got %lld", (long long)count,
                       (long long)at);
            return;
        }
        bd_elements_copy(y, i, grad, at, 1);
        visited[at] = true;
    }
    memset(rest->data, 0, size);
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
        if (!visited[i]) add(rest->data, (const char *)grad->data + (size_t)i * size, 1);
}

static void fill_grad_run(bd_op_ctx *c)
{
    static const char *const names[] = {"reverse_index_map", "grad_values"};
    for (int i = 0; i < 2; i++) {
        char text[BD_SHAPE_STR_MAX];
        if (bd_input(c, i)->shape.rank == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a vector, saw: %s", names[i],
                   bd_shape_str(&bd_input(c, i)->shape, text));
        return;
    }
    const braid_tensor *grad = bd_input(c, 1);
    braid_tensor *y = bd_output_sparse_values(c, 0, grad->dtype, bd_input(c, 0)->shape.dims[0]);
    braid_tensor *rest = y ? bd_output(c, 1, grad->dtype, &BD_SCALAR) : NULL;
    if (!rest) return;
    bool *visited = bd_try_calloc((size_t)grad->shape.dims[0], sizeof *visited);
    if (visited) {
        spread_gradient(c, y, rest, visited);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when marking %lld gradients",
                   (long long)grad->shape.dims[0]);
    }
    bd_free(visited);
}

BD_OP(SparseFillEmptyRowsGrad) = {
    .signature = "(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)",
    .attrs = "T:type",
    .shape = fill_grad_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = fill_grad_run}),
    .doc = "The gradients of SparseFillEmptyRows for the values, and for the default value.",
};

BD_OP(RaggedFillEmptyRowsGrad) = {
    .signature = "(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)",
    .attrs = "T:type",
    .shape = fill_grad_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = fill_grad_run}),
    .doc = "The gradients of RaggedFillEmptyRows for the values, and for the default value.",
};

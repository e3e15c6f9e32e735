// SparseConditionalAccumulator: sums sparse gradients (indices, and a row of values for each) until a node
// takes their mean. Each row is divided by the number of gradients that had it.
#include "base/alloc.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/data_flow/accumulator.h"

#include <string.h>

// ---- Checks ----

static int64_t row_count(const bd_gradient *g)
{
    return g->indices->shape.dims[0];
}

static int64_t row_len(const bd_gradient *g)
{
    return bd_shape_count_range(&g->values->shape, 1, g->values->shape.rank);
}

static braid_code read_gradient(bd_op_ctx *c, bd_gradient *g, braid_status *st)
{
    char text[BD_SHAPE_STR_MAX];
    *g = (bd_gradient){.indices = bd_input(c, 2), .values = bd_input(c, 3)};
    if (g->indices->shape.rank != 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Input indices should be vector but received shape: %s",
                       bd_shape_str(&g->indices->shape, text));
    if (g->values->shape.rank == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Values cannot be 0-dimensional.");
    if (g->values->shape.dims[0] != row_count(g))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expected %lld non-empty input values, got %lld",
                       (long long)row_count(g), (long long)g->values->shape.dims[0]);
    return BRAID_OK;
}

// Checks the dense shape that the gradient declares against the accumulator's.
static braid_code check_known_shape(const bd_accumulator *a, const braid_tensor *shape, braid_status *st)
{
    int64_t rank = bd_tensor_count(shape);
    if (a->shape.rank > rank)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Shape mismatch: expected shape rank at least %d, got %lld", a->shape.rank,
                       (long long)rank);
    for (int d = 0; d < a->shape.rank; d++) {
        int64_t got = bd_tensor_index(shape, d);
        if (a->shape.dims[d] < 0 || a->shape.dims[d] == got) continue;
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Shape mismatch: expected shape dim %d to be %lld, got %lld", d,
                       (long long)a->shape.dims[d], (long long)got);
    }
    return BRAID_OK;
}

static braid_code check_indices(const bd_accumulator *a, const bd_gradient *g, braid_status *st)
{
    if (a->shape.rank <= 0 || a->shape.dims[0] < 0) return BRAID_OK;
    for (int64_t i = 0; i < row_count(g); i++) {
        int64_t index = bd_tensor_index(g->indices, i);
        if (index >= a->shape.dims[0])
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Shape mismatch: index of slice %lld exceeded limits of shape; index is %lld "
                           "exceeded %lld",
                           (long long)i, (long long)index, (long long)a->shape.dims[0]);
    }
    return BRAID_OK;
}

// Checks the shape of the rows against the rows held, or against the accumulator's shape if there are none.
static braid_code check_rows(const bd_accumulator *a, const braid_shape *held, const braid_shape *got,
                             braid_status *st)
{
    const braid_shape *want = held ? held : &a->shape;
    if (held ? want->rank != got->rank : want->rank > got->rank)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Shape mismatch: expected values rank %s%d, got %d",
                       held ? "" : "at least ", want->rank, got->rank);
    for (int d = 1; d < want->rank; d++) {
        if (want->dims[d] < 0 || want->dims[d] == got->dims[d]) continue;
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Shape mismatch: expected values dim %d to be %lld, got %lld", d,
                       (long long)want->dims[d], (long long)got->dims[d]);
    }
    return BRAID_OK;
}

static braid_code read_locked(const bd_accumulator *a, bd_op_ctx *c, const braid_shape *held, bd_gradient *g,
                              braid_status *st)
{
    braid_code code = read_gradient(c, g, st);
    if (!code && bd_node_attr_bool(c->node, "has_known_shape"))
        code = check_known_shape(a, bd_input(c, 4), st);
    if (!code) code = check_indices(a, g, st);
    return code ? code : check_rows(a, held, &g->values->shape, st);
}

// ---- Adding ----

// Two lists of indices, each taken to be in ascending order, walked together.
typedef struct walk {
    const int64_t *a, *b;
    int64_t a_count, b_count, i, j;
} walk;

// Advances by one index. *i and *j are its positions in the two lists, or -1. Returns false at the end.
static bool walk_next(walk *w, int64_t *i, int64_t *j)
{
    bool has_a = w->i < w->a_count, has_b = w->j < w->b_count;
    if (!has_a && !has_b) return false;
    bool takes_a = has_a && (!has_b || w->a[w->i] <= w->b[w->j]);
    bool takes_b = has_b && (!has_a || w->b[w->j] <= w->a[w->i]);
    *i = takes_a ? w->i++ : -1;
    *j = takes_b ? w->j++ : -1;
    return true;
}

static bool alloc_sum(bd_gradient_sum *s, braid_dtype dtype, const braid_shape *values, int64_t rows)
{
    braid_shape shape = *values, vector = bd_shape1(rows);
    shape.dims[0] = rows;
    return bd_tensor_alloc(&s->values, dtype, &shape) && bd_tensor_alloc(&s->indices, BRAID_INT64, &vector) &&
           bd_tensor_alloc(&s->counts, BRAID_INT64, &vector);
}

// Adds one row to the sum: a row that is held, one of the gradient, or both.
static void add_row(const bd_gradient_sum *sum, int64_t row, const bd_gradient_sum *held, int64_t i,
                    const bd_gradient *g, const int64_t *indices, int64_t j)
{
    size_t size = (size_t)row_len(g) * braid_dtype_size(sum->values.dtype);
    char *to = (char *)sum->values.data + (size_t)row * size;
    const char *old = held->values.data, *fresh = g->values->data;
    bd_tensor_i64(&sum->indices)[row] = i >= 0 ? bd_tensor_i64(&held->indices)[i] : indices[j];
    bd_tensor_i64(&sum->counts)[row] = (i >= 0 ? bd_tensor_i64(&held->counts)[i] : 0) + (j >= 0);
    if (size == 0) return;
    if (i < 0)
        memcpy(to, fresh + (size_t)j * size, size);
    else if (j < 0)
        memcpy(to, old + (size_t)i * size, size);
    else
        bd_accumulator_add(sum->values.dtype, fresh + (size_t)j * size, old + (size_t)i * size, to,
                           row_len(g));
}

// Stores held + g to `sum`. The indices are a copy, because a reference may change meanwhile.
static bool add_rows(const bd_accumulator *a, const bd_gradient_sum *held, const bd_gradient *g,
                     const braid_tensor *indices, bd_gradient_sum *sum)
{
    walk w = {.b = bd_tensor_i64(indices), .b_count = row_count(g)}, start;
    int64_t i, j, rows = 0;
    if (held->count > 0) {
        w.a = bd_tensor_i64(&held->indices);
        w.a_count = bd_tensor_count(&held->indices);
    }
    start = w;
    while (walk_next(&w, &i, &j))
        rows++;
    if (!alloc_sum(sum, a->dtype, &g->values->shape, rows)) return false;
    w = start;
    for (int64_t row = 0; walk_next(&w, &i, &j); row++)
        add_row(sum, row, held, i, g, start.b, j);
    return true;
}

static bool add(const bd_accumulator *a, bd_gradient_sum *sum, const bd_gradient *g)
{
    bd_gradient_sum more = {.count = sum->count};
    braid_tensor indices = {0};
    const bool ok = bd_tensor_keep(&indices, g->indices) && add_rows(a, sum, g, &indices, &more);
    bd_gradient_sum_fini(ok ? sum : &more);
    if (ok) *sum = more;
    bd_tensor_fini(&indices);
    return ok;
}

// ---- Taking ----

static void divide_rows(const bd_gradient_sum *sum)
{
    const braid_shape *shape = &sum->values.shape;
    int64_t len = bd_shape_count_range(shape, 1, shape->rank);
    size_t size = (size_t)len * braid_dtype_size(sum->values.dtype);
    for (int64_t row = 0; len > 0 && row < shape->dims[0]; row++) {
        char *values = (char *)sum->values.data + (size_t)row * size;
        int64_t count = bd_tensor_i64(&sum->counts)[row];
        if (count > 1) bd_accumulator_divide(sum->values.dtype, values, count, values, len);
    }
}

// Divides in place, because the sum has memory of its own. The accumulator determines the number of rows of
// the dense shape.
static void output(const bd_accumulator *a, bd_op_ctx *c, bd_gradient_sum *sum)
{
    const braid_shape *shape = &sum->values.shape;
    braid_shape length = bd_shape1(shape->rank);
    if (a->is_mean) divide_rows(sum);
    bd_output_set(c, 0, &sum->indices);
    bd_output_set(c, 1, &sum->values);
    braid_tensor *dense = bd_output(c, 2, BRAID_INT64, &length);
    for (int d = 0; dense && d < shape->rank; d++)
        bd_tensor_i64(dense)[d] = d > 0 ? shape->dims[d] : a->shape.rank > 0 ? a->shape.dims[0] : -1;
}

static const bd_accumulator_kind sparse = {
    .name = "sparse", .read_locked = read_locked, .add = add, .output = output};

// ---- Ops ----

static braid_code source_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_accumulator_source_init(state, &sparse, node);
    return BRAID_OK;
}

static void apply_run(bd_op_ctx *c)
{
    bd_accumulator_apply(c, &sparse, bd_input(c, 3)->dtype);
}

static void take_start(bd_op_ctx *c)
{
    bd_accumulator_take(c, &sparse, c->node->output_types[1]);
}

BD_OP(SparseConditionalAccumulator) = {
    .signature = "() -> (handle: Ref(string))",
    .attrs = BD_ACCUMULATOR_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_handle_of_2,
    .kernels = BD_ACCUMULATOR_SOURCE_KERNELS(source_create),
    .doc = "Sums sparse gradients until their mean is taken, each row's over the gradients that had it; "
           "gradients of a step that is over are dropped.",
};

BD_OP(SparseAccumulatorApplyGradient) = {
    .signature = "(handle: Ref(string), local_step: int64, gradient_indices: int64, gradient_values: dtype, "
                 "gradient_shape: int64) -> ()",
    .attrs = "dtype:type{number}; has_known_shape:bool",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_accumulator,
    .kernels = BD_KERNELS({.types = BD_ACCUMULATOR_TYPES, .flags = BD_KERNEL_EXPENSIVE, .run = apply_run}),
    .doc = "Adds a sparse gradient to an accumulator, unless local_step is before the accumulator's step. "
           "Its indices are to be in ascending order.",
};

BD_OP(SparseAccumulatorTakeGradient) = {
    .signature =
        "(handle: Ref(string), num_required: int32) -> (indices: int64, values: dtype, shape: int64)",
    .attrs = "dtype:type{number}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_accumulator,
    .kernels = BD_KERNELS({.types = BD_ACCUMULATOR_TYPES, .start = take_start}),
    .doc = "Waits for num_required sparse gradients, takes the mean of all there are, and ends the "
           "accumulator's step.",
};

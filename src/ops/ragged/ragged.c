// Ragged tensors: reading and making splits; RaggedRange and RaggedTensorToSparse.
#include "ops/ragged/ragged.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"

#include <math.h>
#include <string.h>

// ---- Splits ----

void bd_splits_fini(bd_splits *s)
{
    for (int i = 0; i < s->count; i++)
        bd_free(s->of[i]);
}

static bool fail_splits(bd_op_ctx *c, const char *what)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", what);
    return false;
}

static bool read_splits(bd_op_ctx *c, int i, bool is_exact, bd_splits *s)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Ragged splits must be a vector, got shape %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    int64_t len = t->shape.dims[0];
    if (len == 0)
        return fail_splits(c,
                           is_exact ? "ragged splits may not be empty." : "Ragged splits may not be empty");
    int64_t *splits = bd_sparse_numbers(c, len);
    if (!splits) return false;
    s->of[s->count] = splits;
    s->len[s->count++] = len;
    for (int64_t k = 0; k < len && !bd_interrupted_at(k); k++)
        splits[k] = bd_tensor_index(t, k);
    if (is_exact && splits[0] != 0) return fail_splits(c, "First value of ragged splits must be 0.");
    if (splits[0] < 0) return fail_splits(c, "Ragged splits must be non-negative");
    for (int64_t k = 1; k < len && !bd_interrupted_at(k); k++) {
        if (splits[k - 1] <= splits[k]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Ragged splits %s, but we got %lld followed by %lld",
                   is_exact ? "should be non decreasing" : "must be sorted (non decreasing)",
                   (long long)splits[k - 1], (long long)splits[k]);
        return false;
    }
    return !bd_op_interrupted(c);
}

bool bd_splits_vector(bd_op_ctx *c, int i, bd_splits *s)
{
    *s = (bd_splits){0};
    return read_splits(c, i, false, s);
}

bool bd_splits_input(bd_op_ctx *c, int count, int64_t values_count, bool is_exact, bd_splits *s)
{
    *s = (bd_splits){0};
    if (count > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%d nested splits; at most %d are possible", count,
                   BRAID_RANK_MAX);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!read_splits(c, i, is_exact, s)) return false;
    for (int i = 0; i < count; i++) {
        int64_t last = s->of[i][s->len[i] - 1], end = i + 1 < count ? s->len[i + 1] - 1 : values_count;
        if (last > end && !is_exact) return fail_splits(c, "Ragged splits must not point past values");
        if (is_exact && last != end)
            return fail_splits(c,
                               "Final value of ragged splits must match the length the corresponding ragged "
                               "values.");
    }
    return true;
}

bool bd_output_splits(bd_op_ctx *c, int i, const int64_t *splits, int64_t len)
{
    braid_dtype dtype = c->node->output_types[i];
    if (dtype == BRAID_INT32 && splits[len - 1] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld values are more than splits of int32 can tell",
                   (long long)splits[len - 1]);
        return false;
    }
    braid_tensor *y = bd_output_sparse_values(c, i, dtype, len);
    for (int64_t k = 0; y && k < len && !bd_interrupted_at(k); k++) {
        if (dtype == BRAID_INT32) {
            bd_tensor_i32(y)[k] = (int32_t)splits[k];
        } else {
            bd_tensor_i64(y)[k] = splits[k];
        }
    }
    return y != NULL;
}

// ---- RaggedRange ----

static braid_code range_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows = -1;
    bool is_known = true, is_scalar = true;
    for (int i = 0; i < 3; i++) {
        const braid_shape *s = &c->inputs[i];
        if (s->rank > 1)
            return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", s->rank);
        is_known = is_known && s->rank >= 0;
        is_scalar = is_scalar && s->rank == 0;
        if (s->rank != 1 || s->dims[0] < 0) continue;
        if (rows >= 0 && rows != s->dims[0])
            return bd_shape_ctx_fail(c, st, "starts, limits, and deltas must have the same shape");
        rows = s->dims[0];
    }
    if (is_known && is_scalar) rows = 1;
    c->outputs[0] = bd_shape1(rows < 0 || rows == INT64_MAX ? -1 : rows + 1);
    c->outputs[1] = bd_shape1(-1);
    return BRAID_OK;
}

#define TOO_MANY (-1)
#define NO_STEP (-2)

// Ranges of one element type. `count`: the number of elements of a range, or an error; `fill` writes them.
typedef struct range_type {
    int64_t (*count)(const void *start, const void *limit, const void *delta);
    void (*fill)(void *out, int64_t at, const void *start, const void *delta, int64_t count);
} range_type;

// Each number is the one before it plus delta, with the rounding of each sum.
#define DEFINE_RANGE(SUFFIX, TYPE, WIDE)                                                                     \
    static void fill_##SUFFIX(void *out, int64_t at, const void *start, const void *delta, int64_t count)    \
    {                                                                                                        \
        TYPE *y = (TYPE *)out + at, value = *(const TYPE *)start, step = *(const TYPE *)delta;               \
        for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {                                       \
            y[i] = value;                                                                                    \
            value = (TYPE)((WIDE)value + (WIDE)step);                                                        \
        }                                                                                                    \
    }

#define DEFINE_FLOAT_COUNT(SUFFIX, TYPE, CEIL, FABS)                                                         \
    static int64_t count_##SUFFIX(const void *start, const void *limit, const void *delta)                   \
    {                                                                                                        \
        TYPE a = *(const TYPE *)start, b = *(const TYPE *)limit, step = *(const TYPE *)delta;                \
        if (step == 0) return NO_STEP;                                                                       \
        if ((step > 0 && b < a) || (step < 0 && b > a)) return 0;                                            \
        TYPE size = CEIL(FABS((b - a) / step));                                                              \
        return size < (TYPE)0x1p62 ? (int64_t)size : TOO_MANY;                                               \
    }

#define DEFINE_INTEGER_COUNT(SUFFIX, TYPE)                                                                   \
    static int64_t count_##SUFFIX(const void *start, const void *limit, const void *delta)                   \
    {                                                                                                        \
        int64_t a = *(const TYPE *)start, b = *(const TYPE *)limit, step = *(const TYPE *)delta;             \
        if (step == 0) return NO_STEP;                                                                       \
        if ((step > 0 && b < a) || (step < 0 && b > a)) return 0;                                            \
        uint64_t distance = step > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;                \
        uint64_t size = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;                                      \
        uint64_t count = distance / size + (distance % size != 0);                                           \
        return count < (uint64_t)1 << 62 ? (int64_t)count : TOO_MANY;                                        \
    }

DEFINE_RANGE(f32, float, float)
DEFINE_RANGE(f64, double, double)
DEFINE_RANGE(i32, int32_t, uint32_t)
DEFINE_RANGE(i64, int64_t, uint64_t)
DEFINE_FLOAT_COUNT(f32, float, ceilf, fabsf)
DEFINE_FLOAT_COUNT(f64, double, ceil, fabs)
DEFINE_INTEGER_COUNT(i32, int32_t)
DEFINE_INTEGER_COUNT(i64, int64_t)

static const range_type *range_type_of(braid_dtype dtype)
{
    static const range_type f32 = {count_f32, fill_f32}, f64 = {count_f64, fill_f64},
                            i32 = {count_i32, fill_i32}, i64 = {count_i64, fill_i64};
    switch (dtype) {
    case BRAID_FLOAT: return &f32;
    case BRAID_DOUBLE: return &f64;
    case BRAID_INT32: return &i32;
    default: return &i64;
    }
}

// Element `row` of an input, or the only one of a scalar.
static const void *element_of(const bd_op_ctx *c, int input, int64_t row)
{
    const braid_tensor *t = bd_input(c, input);
    return (const char *)t->data + (size_t)(t->shape.rank ? row : 0) * braid_dtype_size(t->dtype);
}

// The number of ranges; -1: the kernel has failed.
static int64_t count_rows(bd_op_ctx *c)
{
    static const char *const names[] = {"starts", "limits", "deltas"};
    int64_t rows = -1;
    for (int i = 0; i < 3; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank > 1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar or vector", names[i]);
            return -1;
        }
        if (s->rank == 0) continue;
        if (rows >= 0 && rows != s->dims[0]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "starts, limits, and deltas must have the same shape");
            return -1;
        }
        rows = s->dims[0];
    }
    return rows < 0 ? 1 : rows;
}

static bool fill_splits(bd_op_ctx *c, const range_type *type, int64_t *splits, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        int64_t count = type->count(element_of(c, 0, row), element_of(c, 1, row), element_of(c, 2, row));
        if (count == NO_STEP) return fail_splits(c, "Requires delta != 0");
        if (count >= 0 && !__builtin_add_overflow(splits[row], count, &splits[row + 1])) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Requires ((limit - start) / delta) to be a number of values that can be held, in row %lld",
            (long long)row);
        return false;
    }
    return true;
}

static void range_run(bd_op_ctx *c)
{
    const range_type *type = range_type_of(bd_input(c, 0)->dtype);
    int64_t rows = count_rows(c);
    int64_t *splits = rows < 0 ? NULL : bd_sparse_numbers(c, rows + 1);
    if (splits && fill_splits(c, type, splits, rows) && bd_output_splits(c, 0, splits, rows + 1)) {
        braid_tensor *y = bd_output_sparse_values(c, 1, bd_input(c, 0)->dtype, splits[rows]);
        for (int64_t row = 0; y && row < rows && !bd_interrupted_at(row); row++)
            type->fill(y->data, splits[row], element_of(c, 0, row), element_of(c, 2, row),
                       splits[row + 1] - splits[row]);
    }
    bd_free(splits);
}

BD_OP(RaggedRange) = {
    .signature = "(starts: T, limits: T, deltas: T) -> (rt_nested_splits: Tsplits, rt_dense_values: T)",
    .attrs = "T:type{bfloat16,double,float,int32,int64}=int32; Tsplits:type{int32,int64}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = range_shape,
    .kernels = BD_KERNELS({.types = "T=float|double|int32|int64", .run = range_run}),
    .doc = "Ranges of numbers, each a row of a ragged tensor.",
};

// ---- RaggedTensorToSparse ----

static braid_code to_sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    int n = c->input_count - 1;
    const braid_shape *values = &c->inputs[n];
    for (int i = 0; i < n; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 1, st);
        if (code) return code;
    }
    if (values->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    int64_t count = bd_shape_is_known(values) ? bd_shape_count(values) : -1;
    bd_shape_ctx_sparse_outputs(c, 0, count, values->rank < 0 ? -1 : values->rank + n);
    return BRAID_OK;
}

// Writes the indices of all elements of value `number`, which is value `middle` of the row with index
// `prefix`.
static int64_t *put_value(int64_t *at, const int64_t *prefix, int prefix_len, int64_t middle,
                          const braid_shape *values)
{
    int64_t size = bd_shape_count_range(values, 1, values->rank);
    for (int64_t k = 0; k < size && !bd_interrupted_at(k); k++) {
        int64_t rest = k;
        memcpy(at, prefix, (size_t)prefix_len * sizeof *at);
        at[prefix_len] = middle;
        for (int d = values->rank - 1; d > 0; d--) {
            at[prefix_len + d] = rest % values->dims[d];
            rest /= values->dims[d];
        }
        at += prefix_len + values->rank;
    }
    return at;
}

static void put_indices(const bd_splits *s, const braid_shape *values, int64_t *at)
{
    int64_t row[BRAID_RANK_MAX] = {0}, prefix[BRAID_RANK_MAX];
    int last = s->count - 1;
    for (row[last] = 0; row[last] < s->len[last] - 1 && !bd_interrupted_at(row[last]); row[last]++) {
        // Each outer row is the one that holds the row within.
        for (int d = last - 1; d >= 0; d--)
            while (row[d + 1] >= s->of[d][row[d] + 1])
                row[d]++;
        for (int d = 0; d <= last; d++)
            prefix[d] = row[d] - (d > 0 ? s->of[d - 1][row[d - 1]] : 0);
        int64_t len = s->of[last][row[last] + 1] - s->of[last][row[last]];
        for (int64_t i = 0; i < len && !bd_interrupted_at(i); i++)
            at = put_value(at, prefix, s->count, i, values);
    }
}

static bool output_dense_shape(bd_op_ctx *c, const bd_splits *s, const braid_shape *values)
{
    braid_shape shape = {.rank = s->count + values->rank, .dims = {s->len[0] - 1}};
    for (int d = 0; d < s->count; d++)
        for (int64_t i = 1; i < s->len[d]; i++) {
            int64_t len = s->of[d][i] - s->of[d][i - 1];
            if (len > shape.dims[d + 1]) shape.dims[d + 1] = len;
        }
    for (int d = 1; d < values->rank; d++)
        shape.dims[s->count + d] = values->dims[d];
    return bd_output_sparse_shape(c, 2, &shape);
}

static void to_sparse_run(bd_op_ctx *c)
{
    int n = c->input_count - 1;
    const braid_tensor *values = bd_input(c, n);
    __attribute__((cleanup(bd_splits_fini))) bd_splits s = {0};
    if (values->shape.rank == 0 || values->shape.rank + n > BRAID_RANK_MAX) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "rt_dense_values must have at least one dimension, and with the ragged ones at most %d: got %s",
            BRAID_RANK_MAX, bd_shape_str(&values->shape, text));
        return;
    }
    if (!bd_splits_input(c, n, values->shape.dims[0], true, &s)) return;
    int64_t count = bd_tensor_count(values);
    int64_t *at = bd_output_sparse_indices(c, 0, count, values->shape.rank + n);
    if (!at || !output_dense_shape(c, &s, &values->shape)) return;
    put_indices(&s, &values->shape, at);
    braid_tensor flat;
    braid_shape vector = bd_shape1(count);
    bd_tensor_view(&flat, values, 0, &vector);
    bd_output_set(c, 1, &flat);
    bd_tensor_fini(&flat);
}

static void to_sparse_gradient(bd_grad_ctx *c)
{
    int values = c->op->input_count - 1;
    c->input_grads[values] =
        bd_grad_reshape_like(c->graph, c->output_grads[1], braid_op_get_input(c->op, values));
}

BD_OP(RaggedTensorToSparse) = {
    .signature = "(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T) -> (sparse_indices: int64, "
                 "sparse_values: T, sparse_dense_shape: int64)",
    .attrs = "RAGGED_RANK:int>=1; T:type; Tsplits:type{int32,int64}=int64",
    .shape = to_sparse_shape,
    .gradient = to_sparse_gradient,
    .kernels = BD_KERNELS({.run = to_sparse_run}),
    .doc = "A ragged tensor as a sparse one, as wide in each dimension as the longest row.",
};

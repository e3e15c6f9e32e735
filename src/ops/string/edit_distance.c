// EditDistance: the Levenshtein distance of sequences along the last dimension of sparse tensors.
#include "base/alloc.h"
#include "base/half.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/sparse/sparse.h"

#include <math.h>
#include <string.h>

static braid_code distance_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rank, other;
    braid_shape a, b;
    braid_code code = bd_shape_ctx_sparse_sizes(c, 0, 1, 2, &rank, st);
    if (!code) code = bd_shape_ctx_sparse_sizes(c, 3, 4, 5, &other, st);
    if (code) return code;
    if (rank >= 0 && other >= 0 && rank != other)
        return bd_shape_ctx_fail(c, st, "Ranks must be equal, but are %lld and %lld", (long long)rank,
                                 (long long)other);
    if (!bd_shape_ctx_constant_shape(c, 2, &a) || !bd_shape_ctx_constant_shape(c, 5, &b) || a.rank < 1 ||
        b.rank < 1)
        return BRAID_OK;
    a.rank--;
    for (int d = 0; d < a.rank; d++)
        a.dims[d] = a.dims[d] < 0 || b.dims[d] < 0 ? -1 : a.dims[d] > b.dims[d] ? a.dims[d] : b.dims[d];
    c->outputs[0] = a;
    return BRAID_OK;
}

// ---- Elements ----

static double float_at(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return (double)bd_tensor_f32(t)[i];
    case BRAID_HALF: return (double)bd_float_of_half(((const uint16_t *)t->data)[i]);
    case BRAID_BFLOAT16: return (double)bd_float_of_bfloat16(((const uint16_t *)t->data)[i]);
    default: return bd_tensor_f64(t)[i];
    }
}

// Compares as numbers: NaN equals no number, and both zeros are equal.
static bool are_equal(const braid_tensor *a, int64_t i, const braid_tensor *b, int64_t j)
{
    if (a->dtype == BRAID_STRING) {
        const bd_string *x = &bd_tensor_str(a)[i], *y = &bd_tensor_str(b)[j];
        return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
    }
    if (a->dtype == BRAID_FLOAT || a->dtype == BRAID_DOUBLE || a->dtype == BRAID_HALF ||
        a->dtype == BRAID_BFLOAT16)
        return float_at(a, i) == float_at(b, j);
    size_t size = braid_dtype_size(a->dtype);
    return memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)j * size, size) ==
           0;
}

// ---- Sequences ----

// One of the two tensors, gone through group by group.
typedef struct sequences {
    bd_sparse s;
    int64_t from, to; // the sequence looked at
} sequences;

static bool has_group(const sequences *q)
{
    return q->from < q->s.count;
}

static void find_group(sequences *q)
{
    if (has_group(q)) q->to = bd_sparse_group_end(&q->s, q->from, q->s.shape.rank - 1);
}

static const int64_t *group_of(const sequences *q)
{
    return bd_sparse_row(&q->s, q->from);
}

static void next_group(sequences *q)
{
    q->from = q->to;
    find_group(q);
}

static bool is_wanted(bd_op_ctx *c)
{
    BD_STATUS(st);
    if (!bd_cancellation_status(c->step->cancellation, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

// Levenshtein's distance, row by row of its table: row[j] is that of the first i elements of `a` and the
// first j of `b`. -1: the kernel has failed.
static int64_t distance(bd_op_ctx *c, const sequences *a, const sequences *b, int64_t *row)
{
    int64_t n = b->to - b->from;
    for (int64_t j = 0; j <= n; j++)
        row[j] = j;
    for (int64_t i = 0; i < a->to - a->from; i++) {
        int64_t diagonal = row[0];
        row[0] = i + 1;
        if (!is_wanted(c)) return -1;
        for (int64_t j = 0; j < n && !bd_interrupted_at(j); j++) {
            int64_t above = row[j + 1], best = above < row[j] ? above + 1 : row[j] + 1;
            int64_t replaced = diagonal + !are_equal(a->s.values, a->from + i, b->s.values, b->from + j);
            row[j + 1] = best < replaced ? best : replaced;
            diagonal = above;
        }
    }
    return row[n];
}

// ---- The kernel ----

static bool output_shape(bd_op_ctx *c, const braid_shape *hypothesis, const braid_shape *truth,
                         braid_shape *out)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (truth->rank < 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input SparseTensors must have rank at least 2, but truth_shape rank is: %d", truth->rank);
        return false;
    }
    if (truth->rank != hypothesis->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected truth and hypothesis to have matching ranks, but their shapes are: %s and %s",
                   bd_shape_str(truth, a), bd_shape_str(hypothesis, b));
        return false;
    }
    *out = *truth;
    out->rank--;
    for (int d = 0; d < out->rank; d++)
        if (hypothesis->dims[d] > out->dims[d]) out->dims[d] = hypothesis->dims[d];
    if (!bd_sparse_check_size(c, out)) return false;
    if (bd_shape_count(out) > 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Got output shape %s which has 0 elements", bd_shape_str(out, a));
    return false;
}

static void fail_group(bd_op_ctx *c, const int64_t *group, int d)
{
    const braid_tensor *y = &c->outputs[0].tensor;
    char text[BD_SHAPE_STR_MAX];
    uint64_t at = 0;
    for (int i = 0; i < y->shape.rank; i++)
        at = at * (uint64_t)y->shape.dims[i] + (uint64_t)group[i];
    bd_op_fail(
        c, BRAID_INTERNAL,
        "Got an inner product %lld which would require writing to outside of the buffer for the output tensor: "
        "index %lld of dimension %d is out of bounds of shape %s",
        (long long)(int64_t)at, (long long)group[d], d, bd_shape_str(&y->shape, text));
}

// The output's element for a group. NULL: the kernel has failed.
static float *element_of(bd_op_ctx *c, const int64_t *group)
{
    const braid_tensor *y = &c->outputs[0].tensor;
    int64_t at = 0;
    for (int d = 0; d < y->shape.rank; d++) {
        if (group[d] < 0 || group[d] >= y->shape.dims[d]) {
            fail_group(c, group, d);
            return NULL;
        }
        at = at * y->shape.dims[d] + group[d];
    }
    return &bd_tensor_f32(y)[at];
}

// A sequence that one of the tensors lacks is empty.
static bool compare_groups(bd_op_ctx *c, const sequences *hypothesis, const sequences *truth, bool normalize,
                           int order, int64_t *row)
{
    float *y = element_of(c, order < 0 ? group_of(hypothesis) : group_of(truth));
    if (!y) return false;
    int64_t said = hypothesis->to - hypothesis->from, meant = truth->to - truth->from;
    if (order < 0) {
        *y = normalize ? INFINITY : (float)said;
    } else if (order > 0) {
        *y = normalize ? 1 : (float)meant;
    } else {
        int64_t d = distance(c, truth, hypothesis, row);
        *y = normalize ? (float)d / (float)meant : (float)d;
    }
    return !bd_op_failed(c);
}

static void compare_all(bd_op_ctx *c, sequences *hypothesis, sequences *truth, int64_t *row)
{
    bool normalize = bd_node_attr_bool(c->node, "normalize");
    int depth = truth->s.shape.rank - 1;
    find_group(hypothesis);
    find_group(truth);
    while (has_group(hypothesis) || has_group(truth)) {
        int order = !has_group(hypothesis) ? 1
                    : !has_group(truth)    ? -1
                                           : bd_sparse_compare(group_of(hypothesis), group_of(truth), depth);
        if (!compare_groups(c, hypothesis, truth, normalize, order, row)) return;
        if (order <= 0) next_group(hypothesis);
        if (order >= 0) next_group(truth);
    }
}

static void sequences_fini(sequences *q)
{
    bd_sparse_fini(&q->s);
}

static bool check_ranks(bd_op_ctx *c)
{
    static const struct {
        int input, rank;
        const char *name;
    } wanted[] = {{0, 2, "hypothesis_indices"}, {3, 2, "truth_indices"},    {1, 1, "hypothesis_values"},
                  {4, 1, "truth_values"},       {2, 1, "hypothesis_shape"}, {5, 1, "truth_shape"}};
    for (size_t i = 0; i < BD_COUNTOF(wanted); i++) {
        const braid_shape *shape = &bd_input(c, wanted[i].input)->shape;
        if (shape->rank == wanted[i].rank) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should be a %s, but got shape: %s", wanted[i].name,
                   wanted[i].rank == 2 ? "matrix" : "vector",
                   bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    return true;
}

static void distance_run(bd_op_ctx *c)
{
    __attribute__((cleanup(sequences_fini))) sequences hypothesis = {0}, truth = {0};
    braid_shape shape;
    if (!check_ranks(c) || !bd_sparse_input(c, 0, 1, 2, &hypothesis.s) ||
        !bd_sparse_input(c, 3, 4, 5, &truth.s) ||
        !output_shape(c, &hypothesis.s.shape, &truth.s.shape, &shape))
        return;
    braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
    int64_t *row = y ? bd_sparse_numbers(c, hypothesis.s.count + 1) : NULL;
    if (row) {
        if (bd_tensor_count(y) > 0) memset(y->data, 0, (size_t)bd_tensor_count(y) * sizeof(float));
        compare_all(c, &hypothesis, &truth, row);
    }
    bd_free(row);
}

BD_OP(EditDistance) = {
    .signature = "(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: "
                 "int64, truth_values: T, truth_shape: int64) -> (output: float)",
    .attrs = "normalize:bool=true; T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = distance_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = distance_run}),
    .doc = "Levenshtein's distance between sequences along the last dimension, with normalize divided by the "
           "length of the true one.",
    .deviation = "An index out of bounds of the output is an error.",
};

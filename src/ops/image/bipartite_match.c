// BipartiteMatch: pairs of rows and columns with the least distances, each in one pair at most, greedily.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/sort.h"
#include "op/kernel.h"

typedef struct pair {
    float distance;
    int64_t at; // row * columns + column
} pair;

// By distance; of equal ones by row and column. nan comes last.
static int compare_pairs(const void *a, const void *b, void *arg)
{
    (void)arg;
    const pair *x = a, *y = b;
    const bool x_is_nan = x->distance != x->distance, y_is_nan = y->distance != y->distance;
    if (x_is_nan != y_is_nan) return x_is_nan ? 1 : -1;
    if (x->distance < y->distance) return -1;
    if (x->distance > y->distance) return 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void match(const pair *pairs, int64_t count, int64_t columns, int64_t most, int32_t *of_rows,
                  int32_t *of_columns)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count && found < most && !bd_interrupted_at(i); i++) {
        const int64_t row = pairs[i].at / columns, column = pairs[i].at % columns;
        if (of_rows[row] >= 0 || of_columns[column] >= 0) continue;
        of_rows[row] = (int32_t)column;
        of_columns[column] = (int32_t)row;
        found++;
    }
}

// The number of rows that count: all of them when the input is negative. -1: the kernel has failed.
static int64_t valid_rows(bd_op_ctx *c)
{
    const braid_tensor *distances = bd_input(c, 0), *valid = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (distances->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "distance_mat should be 2-dimensional, but got %s",
                   bd_shape_str(&distances->shape, text));
        return -1;
    }
    if (bd_tensor_count(valid) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "num_valid_rows argument should be a tensor with 1 element, but got %lld",
                   (long long)bd_tensor_count(valid));
        return -1;
    }
    const float rows = bd_tensor_f32(valid)[0];
    const int64_t all = distances->shape.dims[0];
    if (!(rows >= 0)) return all;
    if ((double)rows + 0.1 < (double)all + 1) return (int64_t)((double)rows + 0.1);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "There should be at least %g rows in distance_mat, but only got %lld rows.", (double)rows,
               (long long)all);
    return -1;
}

static void match_run(bd_op_ctx *c)
{
    const int64_t valid = valid_rows(c), top = bd_node_attr_int(c->node, "top_k");
    if (valid < 0) return;
    const braid_tensor *distances = bd_input(c, 0);
    const int64_t columns = distances->shape.dims[1], count = valid * columns;
    const braid_shape row_shape = bd_shape1(distances->shape.dims[0]), column_shape = bd_shape1(columns);
    if (row_shape.dims[0] > INT32_MAX || columns > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "distance_mat is too large for indices of 32 bits");
        return;
    }
    const braid_tensor *of_rows = bd_output(c, 0, BRAID_INT32, &row_shape),
                       *of_columns = of_rows ? bd_output(c, 1, BRAID_INT32, &column_shape) : NULL;
    pair *pairs = of_columns ? bd_try_calloc((size_t)count, sizeof *pairs) : NULL;
    if (!of_columns) return;
    if (!pairs) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when sorting %lld distances", (long long)count);
        return;
    }
    for (int64_t i = 0; i < row_shape.dims[0]; i++)
        bd_tensor_i32(of_rows)[i] = -1;
    for (int64_t i = 0; i < columns; i++)
        bd_tensor_i32(of_columns)[i] = -1;
    for (int64_t i = 0; i < count; i++)
        pairs[i] = (pair){bd_tensor_f32(distances)[i], i};
    bd_sort(pairs, count, sizeof *pairs, compare_pairs, NULL);
    match(pairs, count, columns, top > 0 ? top : count, bd_tensor_i32(of_rows), bd_tensor_i32(of_columns));
    bd_free(pairs);
}

static braid_code match_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *distances = &c->inputs[0];
    const braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (code) return code;
    c->outputs[0] = bd_shape1(distances->rank == 2 ? distances->dims[0] : -1);
    c->outputs[1] = bd_shape1(distances->rank == 2 ? distances->dims[1] : -1);
    return BRAID_OK;
}

BD_OP(BipartiteMatch) = {
    .signature = "(distance_mat: float, num_valid_rows: float) -> (row_to_col_match_indices: int32, "
                 "col_to_row_match_indices: int32)",
    .attrs = "top_k:int=-1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = match_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = match_run}),
    .doc =
        "Pairs rows and columns greedily by the least distance, at most top_k pairs (all for 0 and less); -1 "
        "is no partner. Only the first num_valid_rows rows take part, all when it is negative.",
};

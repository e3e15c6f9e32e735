// DynamicStitch: puts rows at the positions that indices give.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

#include <string.h>

// Whether `data` begins with the dimensions of `indices`.
static bool begins_with(const braid_shape *data, const braid_shape *indices)
{
    if (data->rank < indices->rank) return false;
    for (int d = 0; d < indices->rank; d++) {
        if (data->dims[d] >= 0 && indices->dims[d] >= 0 && data->dims[d] != indices->dims[d]) return false;
    }
    return true;
}

// The dimensions of `data` after those of `indices`, preceded by an unknown first dimension.
static braid_shape row_shape(const braid_shape *data, const braid_shape *indices)
{
    braid_shape row = bd_shape1(-1);
    for (int d = indices->rank; d < data->rank && row.rank < BRAID_RANK_MAX; d++)
        row.dims[row.rank++] = data->dims[d];
    return row;
}

static int64_t largest_index(const braid_tensor *t)
{
    int64_t most = -1;
    for (int64_t i = 0; i < bd_tensor_count(t) && !bd_interrupted_at(i); i++)
        most = bd_max(most, bd_tensor_i32(t)[i]);
    return most;
}

static braid_code stitch_shape(bd_shape_ctx *c, braid_status *st)
{
    int n = c->input_count / 2;
    braid_shape out = BD_SHAPE_UNKNOWN;
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        const braid_shape *indices = &c->inputs[i], *data = &c->inputs[n + i];
        const braid_tensor *known = bd_shape_ctx_constant(c, i);
        rows = rows < 0 || !known ? -1 : bd_max(rows, largest_index(known) + 1);
        if (indices->rank < 0 || data->rank < 0) continue;
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        if (!begins_with(data, indices)) {
            return bd_shape_ctx_fail(c, st, "data[%d].shape = %s does not start with indices[%d].shape = %s",
                                     i, bd_shape_str(data, a), i, bd_shape_str(indices, b));
        }
        braid_shape row = row_shape(data, indices);
        if (!bd_shape_merge(&out, &row, &out)) {
            return bd_shape_ctx_fail(c, st, "The rows of data[%d] are %s, those before %s", i,
                                     bd_shape_str(&row, a), bd_shape_str(&out, b));
        }
    }
    if (out.rank > 0) out.dims[0] = rows;
    c->outputs[0] = out;
    return BRAID_OK;
}

// Checks the inputs and works out the shape of the whole.
static bool stitched_shape(bd_op_ctx *c, int n, braid_shape *whole)
{
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        const braid_tensor *indices = bd_input(c, i), *data = bd_input(c, n + i);
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        if (!begins_with(&data->shape, &indices->shape)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "data[%d].shape = %s does not start with indices[%d].shape = %s", i,
                       bd_shape_str(&data->shape, a), i, bd_shape_str(&indices->shape, b));
            return false;
        }
        braid_shape row = row_shape(&data->shape, &indices->shape);
        if (i == 0) *whole = row;
        if (!bd_shape_equal(whole, &row)) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Need data[0].shape[%d:] = data[%d].shape[%d:], got data[0].shape = %s, data[%d].shape = %s",
                bd_input(c, 0)->shape.rank, i, indices->shape.rank, bd_shape_str(&bd_input(c, n)->shape, a),
                i, bd_shape_str(&data->shape, b));
            return false;
        }
        for (int64_t k = 0; k < bd_tensor_count(indices) && !bd_interrupted_at(k); k++) {
            if (bd_tensor_i32(indices)[k] >= 0) continue;
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%lld] is out of range", (long long)k);
            return false;
        }
        if (bd_op_interrupted(c)) return false;
        rows = bd_max(rows, largest_index(indices) + 1);
    }
    whole->dims[0] = rows;
    return true;
}

static void stitch_run(bd_op_ctx *c)
{
    int n = c->input_count / 2;
    braid_shape whole;
    if (!stitched_shape(c, n, &whole)) return;
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(&whole, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, bd_input(c, n)->dtype, &whole);
    if (!y) return;
    size_t size = braid_dtype_size(y->dtype);
    if (size) memset(y->data, 0, (size_t)count * size); // rows without an index are zero
    int64_t row = bd_shape_count_range(&whole, 1, whole.rank);
    for (int i = 0; i < n && row > 0; i++) {
        const braid_tensor *indices = bd_input(c, i);
        for (int64_t k = 0; k < bd_tensor_count(indices) && !bd_interrupted_at(k); k++)
            bd_elements_copy(y, bd_tensor_i32(indices)[k] * row, bd_input(c, n + i), k * row, row);
    }
}

static void stitch_gradient(bd_grad_ctx *c)
{
    int n = braid_op_num_inputs(c->op) / 2;
    for (int i = 0; i < n; i++)
        c->input_grads[n + i] = bd_grad_gather(c->graph, c->output_grads[0], braid_op_get_input(c->op, i));
}

BD_OP(DynamicStitch) = {
    .signature = "(indices: N*int32, data: N*T) -> (merged: T)",
    .attrs = "N:int>=1; T:type",
    .shape = stitch_shape,
    .gradient = stitch_gradient,
    .kernels = BD_KERNELS({.run = stitch_run}),
    .doc = "Row indices[i][k] of the output is row k of data[i]; of several for one place the last one wins.",
};

BD_OP(ParallelDynamicStitch) = {
    .signature = "(indices: N*int32, data: N*T) -> (merged: T)",
    .attrs = "N:int>=1; T:type",
    .shape = stitch_shape,
    .gradient = stitch_gradient,
    .kernels = BD_KERNELS({.run = stitch_run}),
    .doc = "DynamicStitch for which of several for one place any may win.",
};

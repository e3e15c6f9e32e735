// SegmentSum: sums of neighbouring rows that have the same number.
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/elementwise.h"

#include <string.h>

static braid_code segment_sum_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0];
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    if (data->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = *data;
    if (data->rank > 0) c->outputs[0].dims[0] = -1;
    return BRAID_OK;
}

static bool check_segments(bd_op_ctx *c, braid_shape *out)
{
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count = bd_tensor_count(ids), last = -1;
    if (ids->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be a vector.");
    } else if (data->shape.rank == 0 || data->shape.dims[0] != count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be the same size as dimension 0 of input.");
    }
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id == INT64_MAX) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0");
        } else if (id < last) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids are not increasing");
        }
        last = id;
    }
    if (bd_op_failed(c)) return false;
    *out = data->shape;
    out->dims[0] = last + 1;
    BD_STATUS(st);
    int64_t total;
    if (bd_shape_checked_count(out, &total, st)) bd_op_fail_status(c, st);
    return !bd_op_failed(c);
}

static void segment_sum_run(bd_op_ctx *c)
{
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    braid_shape shape;
    if (!check_segments(c, &shape)) return;
    braid_tensor *y = bd_output(c, 0, data->dtype, &shape);
    if (!y) return;
    bd_binary_fn add = bd_kernels()->binary[BD_ADD][bd_number_of(y->dtype)];
    size_t size = braid_dtype_size(y->dtype);
    int64_t row = bd_shape_count_range(&data->shape, 1, data->shape.rank);
    memset(y->data, 0, (size_t)bd_tensor_count(y) * size);
    for (int64_t i = 0; i < bd_tensor_count(ids); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id >= shape.dims[0]) continue; // a variable's ids may change between two looks
        char *to = (char *)y->data + (size_t)(id * row) * size;
        add(to, (const char *)data->data + (size_t)(i * row) * size, to, row, BD_SINGLE_NONE);
    }
}

static void segment_sum_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "Gather", NULL, c->output_grads[0], c->op->inputs[1]);
}

BD_OP(SegmentSum) = {
    .signature = "(data: T, segment_ids: Tindices) -> (output: T)",
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = segment_sum_shape,
    .gradient = segment_sum_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .run = segment_sum_run}),
    .doc = "Row s of the output is the sum of the rows of data whose segment id is s; ids do not decrease.",
};

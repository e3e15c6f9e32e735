// UnravelIndex: coordinates of elements, given their indices in row-major order.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

static braid_code unravel_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *indices = &c->inputs[0];
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code || indices->rank < 0) return code;
    int64_t rank = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (indices->rank == 0) {
        c->outputs[0] = bd_shape1(rank);
        return BRAID_OK;
    }
    c->outputs[0] = bd_shape2(rank, bd_shape_is_known(indices) ? bd_shape_count(indices) : -1);
    return BRAID_OK;
}

static bool check_dims(bd_op_ctx *c, int64_t *product)
{
    const braid_tensor *indices = bd_input(c, 0), *dims = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    int64_t limit = dims->dtype == BRAID_INT64 ? INT64_MAX : INT32_MAX;
    *product = 1;
    if (indices->shape.rank > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The indices can only be scalar or vector, got \"%s\"",
                   bd_shape_str(&indices->shape, text));
    } else if (dims->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The indices can only be 1-D, got \"%s\"",
                   bd_shape_str(&dims->shape, text));
    }
    for (int64_t d = 0; !bd_op_failed(c) && d < bd_tensor_count(dims); d++) {
        int64_t size = bd_tensor_index(dims, d);
        if (size <= 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Input dims cannot contain a dim of zero, or below: dims[%lld] = %lld", (long long)d,
                       (long long)size);
        else if (size > limit / *product)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Input dims product is causing integer overflow: it is more than %lld",
                       (long long)limit);
        else
            *product *= size;
    }
    return !bd_op_failed(c);
}

static void unravel_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0), *dims = bd_input(c, 1);
    int64_t product, n = bd_tensor_count(indices), rank = bd_tensor_count(dims);
    if (!check_dims(c, &product)) return;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        int64_t index = bd_tensor_index(indices, i);
        if (index >= 0 && index < product) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "index is out of bound as with dims: %lld is not in [0, %lld)",
                   (long long)index, (long long)product);
        return;
    }
    braid_shape shape = indices->shape.rank == 0 ? bd_shape1(rank) : bd_shape2(rank, n);
    braid_tensor *y = bd_output(c, 0, indices->dtype, &shape);
    for (int64_t i = 0; y && i < n && !bd_interrupted_at(i); i++) {
        int64_t rest = bd_tensor_index(indices, i);
        for (int64_t d = rank - 1; d >= 0; d--) {
            int64_t size = bd_tensor_index(dims, d), at = d * n + i;
            if (y->dtype == BRAID_INT64) {
                bd_tensor_i64(y)[at] = rest % size;
            } else {
                bd_tensor_i32(y)[at] = (int32_t)(rest % size);
            }
            rest /= size;
        }
    }
}

BD_OP(UnravelIndex) = {
    .signature = "(indices: Tidx, dims: Tidx) -> (output: Tidx)",
    .attrs = "Tidx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = unravel_shape,
    .kernels = BD_KERNELS({.run = unravel_run}),
    .doc =
        "The coordinates of elements of a tensor of shape `dims`, given by their indices in row-major order.",
};

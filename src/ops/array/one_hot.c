// OneHot: each index becomes a row with one element set.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"

// The shape of the indices with `depth` inserted at `axis`. False when the axis is out of range.
static bool hot_shape(const braid_shape *indices, int64_t axis, int64_t depth, braid_shape *out)
{
    if (axis < -1 || axis > indices->rank || indices->rank == BRAID_RANK_MAX) return false;
    int at = axis < 0 ? indices->rank : (int)axis;
    out->rank = indices->rank + 1;
    for (int d = 0; d < out->rank; d++)
        out->dims[d] = d < at ? indices->dims[d] : d == at ? depth : indices->dims[d - 1];
    return true;
}

static braid_code one_hot_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t axis = bd_node_attr_int(c->node, "axis"), depth;
    braid_code code = BRAID_OK;
    for (int i = 1; i < 4 && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    if (code || c->inputs[0].rank < 0) return code;
    if (!bd_shape_ctx_constant_int(c, 1, &depth)) depth = -1;
    if (hot_shape(&c->inputs[0], axis, depth < 0 ? -1 : depth, &c->outputs[0])) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "axis %lld is not in [-1, %d]", (long long)axis, c->inputs[0].rank);
}

static bool check_scalars(bd_op_ctx *c)
{
    static const char *const names[] = {"indices", "depth", "on_value", "off_value"};
    for (int i = 1; i < 4; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, but got: %s", names[i],
                   bd_shape_str(&bd_input(c, i)->shape, text));
        return false;
    }
    return true;
}

static int64_t index_at(const braid_tensor *t, int64_t i)
{
    return t->dtype == BRAID_UINT8 ? ((const uint8_t *)t->data)[i] : bd_tensor_index(t, i);
}

static void one_hot_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0);
    int64_t axis = bd_node_attr_int(c->node, "axis"), depth, total;
    braid_shape shape;
    BD_STATUS(st);
    if (!check_scalars(c) || !bd_input_int(c, 1, "depth", &depth)) return;
    if (depth < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "depth must be non-negative, got: %lld", (long long)depth);
        return;
    }
    if (!hot_shape(&indices->shape, axis, depth, &shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected axis to be -1 or between [0, %d).  But received: %lld", indices->shape.rank + 1,
                   (long long)axis);
        return;
    }
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, bd_input(c, 2)->dtype, &shape);
    if (!y) return;
    for (int64_t i = 0; i < total && !bd_interrupted_at(i); i++)
        bd_elements_copy(y, i, bd_input(c, 3), 0, 1);
    int at = axis < 0 ? indices->shape.rank : (int)axis;
    int64_t inner = bd_shape_count_range(&shape, at + 1, shape.rank);
    for (int64_t i = 0; i < bd_tensor_count(indices) && !bd_interrupted_at(i); i++) {
        int64_t hot = index_at(indices, i);
        if (hot < 0 || hot >= depth) continue; // an index out of range leaves the row unset
        bd_elements_copy(y, (i / inner * depth + hot) * inner + i % inner, bd_input(c, 2), 0, 1);
    }
}

BD_OP(OneHot) = {
    .signature = "(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)",
    .attrs = "axis:int=-1; T:type; TI:type{int32,int64,uint8}=int64",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = one_hot_shape,
    .kernels = BD_KERNELS({.run = one_hot_run}),
    .doc = "Rows of off_value with on_value at each index.",
};

// ArgMax and ArgMin: the indices of the extreme elements along an axis.
#include "kernels/argmax.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"

static braid_code argmax_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *in = &c->inputs[0];
    int64_t axis;
    if (c->inputs[1].rank > 0) return bd_shape_ctx_rank(c, 1, 0, st);
    if (in->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (in->rank < 0) return BRAID_OK;
    bool known = bd_shape_ctx_constant_int(c, 1, &axis);
    if (known && (axis < -in->rank || axis >= in->rank))
        return bd_shape_ctx_fail(c, st,
                                 "Dimension (%lld) must be in the range [%d, %d), where %d is the number of "
                                 "dimensions in the input",
                                 (long long)axis, -in->rank, in->rank, in->rank);
    c->outputs[0] = (braid_shape){.rank = in->rank - 1};
    if (known && axis < 0) axis += in->rank;
    for (int d = 0; d < in->rank - 1; d++)
        c->outputs[0].dims[d] = known ? in->dims[d + (d >= axis)] : -1;
    return BRAID_OK;
}

static void run_argmax(bd_op_ctx *c, bool least)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    int64_t axis;
    char text[BD_SHAPE_STR_MAX];
    if (bd_input(c, 1)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "dim must be a scalar, but received tensor of shape: %s",
                   bd_shape_str(&bd_input(c, 1)->shape, text));
        return;
    }
    if (!bd_input_int(c, 1, "dimension", &axis)) return;
    if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected dimension in the range [%d, %d), but got %lld", -rank,
                   rank, (long long)axis);
        return;
    }
    int at = (int)(axis < 0 ? axis + rank : axis);
    braid_shape shape = {.rank = rank - 1};
    for (int d = 0; d < rank - 1; d++)
        shape.dims[d] = x->shape.dims[d + (d >= at)];
    if (x->shape.dims[at] == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Reduction axis %lld is empty in shape %s", (long long)axis,
                   bd_shape_str(&x->shape, text));
        return;
    }
    braid_tensor *y = bd_output(c, 0, bd_node_attr_type(c->node, "output_type"), &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    int64_t outer = bd_shape_count_range(&x->shape, 0, at),
            inner = bd_shape_count_range(&x->shape, at + 1, rank);
    braid_tensor wide = {0}; // the indices as int64
    if (y->dtype == BRAID_INT64) {
        bd_tensor_ref(&wide, y);
    } else if (!bd_tensor_alloc(&wide, BRAID_INT64, &shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating the places of extremes");
        return;
    }
    bd_argmax(bd_number_of(x->dtype), least, x->data, bd_tensor_i64(&wide), outer, x->shape.dims[at], inner);
    for (int64_t i = 0; y->dtype == BRAID_INT32 && i < bd_tensor_count(y) && !bd_interrupted_at(i); i++)
        bd_tensor_i32(y)[i] = (int32_t)bd_tensor_i64(&wide)[i];
    bd_tensor_fini(&wide);
}

static void argmax_run(bd_op_ctx *c)
{
    run_argmax(c, false);
}

static void argmin_run(bd_op_ctx *c)
{
    run_argmax(c, true);
}

static void no_gradient(bd_grad_ctx *c)
{
    (void)c;
}

BD_OP(ArgMax) = {
    .signature = "(input: T, dimension: Tidx) -> (output: output_type)",
    .attrs = "T:type{number}; Tidx:type{int16,int32,int64}=int32; "
             "output_type:type{int16,int32,int64,uint16}=int64",
    .shape = argmax_shape,
    .gradient = no_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS "; Tidx=int32|int64; output_type=int32|int64",
                           .flags = BD_KERNEL_WIDENS,
                           .run = argmax_run}),
    .doc = "The index of the greatest element along an axis; of equal elements the first.",
};

BD_OP(ArgMin) = {
    .signature = "(input: T, dimension: Tidx) -> (output: output_type)",
    .attrs = "T:type{number}; Tidx:type{int32,int64}=int32; output_type:type{int32,int64}=int64",
    .shape = argmax_shape,
    .gradient = no_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = argmin_run}),
    .doc = "The index of the least element along an axis; of equal elements the first.",
};

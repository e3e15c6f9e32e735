// BroadcastGradientArgs: the axes over which the gradients of two broadcast operands are summed.
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/common/element.h"

static braid_code broadcast_args_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    c->outputs[0] = c->outputs[1] = bd_shape1(-1);
    return code;
}

static void put_axes(bd_op_ctx *c, int output, const braid_shape *own, const braid_shape *other)
{
    int32_t axes[BRAID_RANK_MAX] = {0};
    braid_shape shape = bd_shape1(bd_shape_broadcast_axes(own, other, axes));
    braid_tensor *t = bd_output(c, output, bd_input(c, 0)->dtype, &shape);
    for (int64_t i = 0; t && i < shape.dims[0]; i++) {
        if (t->dtype == BRAID_INT64) {
            bd_tensor_i64(t)[i] = axes[i];
        } else {
            bd_tensor_i32(t)[i] = axes[i];
        }
    }
}

static void broadcast_args_run(bd_op_ctx *c)
{
    braid_shape s0, s1, both;
    for (int i = 0; i < 2; i++) {
        char text[BD_SHAPE_STR_MAX];
        const braid_shape *in = &bd_input(c, i)->shape;
        if (in->rank == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[%d] must be a vector.%s", i, bd_shape_str(in, text));
        return;
    }
    if (!bd_input_shape(c, 0, "s0", &s0) || !bd_input_shape(c, 1, "s1", &s1)) return;
    if (!bd_shape_broadcast(&s0, &s1, &both)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(&s0, a),
                   bd_shape_str(&s1, b));
        return;
    }
    put_axes(c, 0, &s0, &s1);
    if (!bd_op_failed(c)) put_axes(c, 1, &s1, &s0);
}

BD_OP(BroadcastGradientArgs) = {
    .signature = "(s0: T, s1: T) -> (r0: T, r1: T)",
    .attrs = "T:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = broadcast_args_shape,
    .kernels = BD_KERNELS({.types = "T=int32|int64", .run = broadcast_args_run}),
    .doc = "The axes over which to sum the gradients of two operands of these shapes.",
};

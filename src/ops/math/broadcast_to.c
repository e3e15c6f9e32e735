// BroadcastTo repeats a tensor along dimensions of size 1; BroadcastArgs gives the shape that two operands
// broadcast to.
#include "ops/math/broadcast_to.h"

#include "base/check.h"
#include "graph/grad.h"
#include "ops/common/element.h"

bool bd_broadcast_copy(const braid_tensor *x, const braid_shape *shape, braid_tensor *out)
{
    if (bd_shape_equal(&x->shape, shape)) {
        bd_tensor_ref(out, x);
        return true;
    }
    int missing = shape->rank - x->shape.rank;
    BD_ASSERT(missing >= 0);
    if (!bd_tensor_alloc(out, x->dtype, shape)) return false;
    bd_strided walk = bd_strided_of(shape);
    int64_t strides[BRAID_RANK_MAX];
    bd_row_strides(&x->shape, strides);
    for (int d = 0; d < shape->rank; d++) {
        bool repeats = d < missing || x->shape.dims[d - missing] != shape->dims[d];
        BD_ASSERT(d < missing || !repeats || x->shape.dims[d - missing] == 1);
        walk.from_strides[d] = repeats ? 0 : strides[d - missing];
    }
    if (bd_shape_count(shape) > 0) bd_elements_copy_block(out, 0, x, 0, &walk);
    return true;
}

// ---- BroadcastTo ----

static braid_code fail_misfit(bd_shape_ctx *c, const braid_shape *to, braid_status *st)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "Incompatible shapes: %s vs. %s", bd_shape_str(&c->inputs[0], a),
                             bd_shape_str(to, b));
}

static braid_code broadcast_to_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape to, both;
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    if (!bd_shape_ctx_constant_shape(c, 1, &to)) {
        int64_t rank = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
        if (rank < 0 || rank > BRAID_RANK_MAX) return BRAID_OK;
        to.rank = (int)rank;
        for (int d = 0; d < to.rank; d++)
            to.dims[d] = -1;
    }
    if (c->inputs[0].rank > to.rank && to.rank >= 0)
        return bd_shape_ctx_fail(c, st,
                                 "Rank of input (%d) must be no greater than rank of output shape (%d)",
                                 c->inputs[0].rank, to.rank);
    c->outputs[0] = to;
    if (c->inputs[0].rank < 0 || to.rank < 0) return BRAID_OK;
    if (!bd_shape_broadcast(&c->inputs[0], &to, &both) || !bd_shape_merge(&to, &both, &c->outputs[0]))
        return fail_misfit(c, &to, st);
    return BRAID_OK;
}

static void broadcast_to_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape shape, both;
    if (!bd_input_shape(c, 1, "shape", &shape)) return;
    if (x->shape.rank > shape.rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Rank of input (%d) must be no greater than rank of output shape (%d).", x->shape.rank,
                   shape.rank);
        return;
    }
    if (!bd_shape_broadcast(&x->shape, &shape, &both) || !bd_shape_equal(&both, &shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Incompatible shapes: %s vs. %s. Unable to broadcast tensor of shape %s to the other.",
                   bd_shape_str(&x->shape, a), bd_shape_str(&shape, b), a);
        return;
    }
    braid_tensor y;
    if (!bd_broadcast_copy(x, &shape, &y)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape%s and type %s",
                   bd_shape_str(&shape, text), braid_dtype_name(x->dtype));
        return;
    }
    bd_output_set(c, 0, &y);
    bd_tensor_fini(&y);
}

// Sums the gradient over the axes that were repeated.
static void broadcast_to_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_dtype index = bd_dtype_base(braid_out_dtype(c->op->inputs[1]));
    braid_out shape = bd_b_shape(g, "Shape", c->op->inputs[0]), to = c->op->inputs[1];
    if (index != BRAID_INT32) {
        braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
        braid_op_input(d, to);
        braid_op_attr_type(d, "DstT", BRAID_INT32);
        to = braid_op_end_out(d);
    }
    braid_out axes = braid_output(bd_b2(g, "BroadcastGradientArgs", NULL, to, shape).op, 1);
    braid_op_desc *d = braid_op_begin(g, "Sum", NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, axes);
    braid_op_attr_bool(d, "keep_dims", true);
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, braid_op_end_out(d), shape);
}

BD_OP(BroadcastTo) = {
    .signature = "(input: T, shape: Tidx) -> (output: T)",
    .attrs = "T:type; Tidx:type{int32,int64}=int32",
    .shape = broadcast_to_shape,
    .gradient = broadcast_to_gradient,
    .kernels = BD_KERNELS({.run = broadcast_to_run}),
    .doc =
        "Broadcasts a tensor to a shape: repeats it along dimensions of size 1 and along new dimensions in front.",
};

// ---- BroadcastArgs ----

static braid_code broadcast_args_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    c->outputs[0] = bd_shape1(-1);
    if (code || c->inputs[0].rank < 0 || c->inputs[1].rank < 0) return code;
    int64_t a = c->inputs[0].dims[0], b = c->inputs[1].dims[0];
    if (a >= 0 && b >= 0) c->outputs[0].dims[0] = a > b ? a : b;
    return BRAID_OK;
}

static void broadcast_args_run(bd_op_ctx *c)
{
    braid_shape s0, s1, both;
    if (!bd_input_shape(c, 0, "s0", &s0) || !bd_input_shape(c, 1, "s1", &s1)) return;
    if (!bd_shape_broadcast(&s0, &s1, &both)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(&s0, a),
                   bd_shape_str(&s1, b));
        return;
    }
    braid_shape vector = bd_shape1(both.rank);
    braid_tensor *y = bd_output(c, 0, bd_input(c, 0)->dtype, &vector);
    for (int d = 0; y && d < both.rank; d++) {
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[d] = both.dims[d];
        } else {
            bd_tensor_i32(y)[d] = (int32_t)both.dims[d];
        }
    }
}

BD_OP(BroadcastArgs) = {
    .signature = "(s0: T, s1: T) -> (r0: T)",
    .attrs = "T:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = broadcast_args_shape,
    .kernels = BD_KERNELS({.run = broadcast_args_run}),
    .doc = "The shape to which operands of these two shapes are broadcast.",
};

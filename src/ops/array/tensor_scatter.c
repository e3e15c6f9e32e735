// TensorScatterUpdate, TensorScatterAdd and related ops, ScatterNdNonAliasingAdd: copies of tensors with
// updated slices, each addressed by several indices.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/state/scatter.h"

static braid_code tensor_scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_updates(c, &c->inputs[0], 1, 2, st);
}

// Output 0 is input 0 with the updates; it takes the memory of input 0 if that has no other owner.
static void scatter_into_copy(bd_op_ctx *c, bd_update_fn update)
{
    const braid_tensor *x = bd_input(c, 0), *indices = bd_input(c, 1);
    bd_slices s;
    if (!bd_slices_init(c, &s, true, &x->shape, indices)) return;
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    if (y->data != x->data && bd_tensor_count(x) > 0) bd_elements_copy(y, 0, x, 0, bd_tensor_count(x));
    bd_scatter(c, y, &s, indices, bd_input(c, 2), update);
}

static void add_run(bd_op_ctx *c)
{
    scatter_into_copy(c, bd_update_function(bd_input(c, 0)->dtype, BD_UPDATE_ADD));
}

static void sub_run(bd_op_ctx *c)
{
    scatter_into_copy(c, bd_update_function(bd_input(c, 0)->dtype, BD_UPDATE_SUB));
}

static void min_run(bd_op_ctx *c)
{
    scatter_into_copy(c, bd_update_function(bd_input(c, 0)->dtype, BD_UPDATE_MIN));
}

static void max_run(bd_op_ctx *c)
{
    scatter_into_copy(c, bd_update_function(bd_input(c, 0)->dtype, BD_UPDATE_MAX));
}

static void update_run(bd_op_ctx *c)
{
    scatter_into_copy(c, NULL);
}

// ---- Gradients ----

static braid_out updates_grad(bd_grad_ctx *c)
{
    return bd_grad_by_slices(c, "GatherNd", c->output_grads[0], c->op->inputs[1], NULL);
}

static void add_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
    c->input_grads[2] = updates_grad(c);
}

static void sub_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
    c->input_grads[2] = bd_b1(c->graph, "Neg", NULL, updates_grad(c));
}

static void update_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out zeros = bd_b1(g, "ZerosLike", "zeros_like", c->op->inputs[2]);
    c->input_grads[0] =
        bd_grad_by_slices(c, "TensorScatterUpdate", c->output_grads[0], c->op->inputs[1], &zeros);
    c->input_grads[2] = updates_grad(c);
}

// 1 where a and b are equal, else 0.
static braid_out where_equal(braid_graph *g, braid_out a, braid_out b)
{
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, bd_b2(g, "Equal", NULL, a, b));
    braid_op_attr_type(d, "DstT", bd_dtype_base(braid_out_dtype(a)));
    return braid_op_end_out(d);
}

// The gradient of an extreme is shared among all elements equal to it: the original element and updates.
static void extreme_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out x = c->op->inputs[0], indices = c->op->inputs[1], updates = c->op->inputs[2],
                    y = braid_output(c->op, 0);
    braid_out is_x = where_equal(g, x, y),
              is_update = where_equal(g, updates, bd_grad_by_slices(c, "GatherNd", y, indices, NULL));
    braid_out shape = bd_grad_shape(g, x, bd_dtype_base(braid_out_dtype(indices)));
    braid_out count =
        bd_b2(g, "Add", "add", is_x, bd_grad_by_slices(c, "ScatterNd", indices, is_update, &shape));
    braid_out share = bd_b2(g, "RealDiv", "truediv", c->output_grads[0], count);
    c->input_grads[0] = bd_b2(g, "Mul", "mul", share, is_x);
    c->input_grads[2] =
        bd_b2(g, "Mul", "mul", bd_grad_by_slices(c, "GatherNd", share, indices, NULL), is_update);
}

// ---- Definitions ----

#define SIGNATURE "(tensor: T, indices: Tindices, updates: T) -> (output: T)"
#define ADD_KERNELS(RUN) BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = (RUN)})

BD_OP(TensorScatterUpdate) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = update_gradient,
    .kernels = BD_KERNELS({.run = update_run}),
    .doc = "A copy of a tensor with the slices replaced that rows of `indices` address.",
};

BD_OP(TensorScatterAdd) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = add_gradient,
    .kernels = ADD_KERNELS(add_run),
    .doc = "A copy of a tensor with updates added to the slices that rows of `indices` address.",
};

BD_OP(TensorScatterSub) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = sub_gradient,
    .kernels = ADD_KERNELS(sub_run),
    .doc = "A copy of a tensor with updates subtracted from the slices that rows of `indices` address.",
};

BD_OP(TensorScatterMin) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = extreme_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = min_run}),
    .doc =
        "A copy of a tensor with the minimum of element and update in the slices that rows of `indices` address.",
};

BD_OP(TensorScatterMax) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = extreme_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = max_run}),
    .doc =
        "A copy of a tensor with the maximum of element and update in the slices that rows of `indices` address.",
};

BD_OP(ScatterNdNonAliasingAdd) = {
    .signature = "(input: T, indices: Tindices, updates: T) -> (output: T)",
    .attrs =
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,qint32,qint8,quint8,uint16,uint32,"
        "uint64,uint8}; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = add_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T") "|bool", .run = add_run}),
    .doc = "The input with updates added to the slices that rows of `indices` address.",
};

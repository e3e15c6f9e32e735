// Copies of tensors with slices updated, each named by several indices: TensorScatterUpdate and its kin, ScatterNdNonAliasingAdd.
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/grad_steps.h"
#include "ops/scatter.h"

static braid_code tensor_scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_updates(c, &c->inputs[0], 1, 2, st);
}

// Output 0 is input 0 with the updates; over its memory where nobody else has it.
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

// ---- Definitions ----

#define SIGNATURE "(tensor: T, indices: Tindices, updates: T) -> (output: T)"
#define ADD_KERNELS(RUN) BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = (RUN)})

BD_OP(TensorScatterUpdate) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = update_gradient,
    .kernels = BD_KERNELS({.run = update_run}),
    .doc = "The tensor with the slices that rows of `indices` name replaced.",
};

BD_OP(TensorScatterAdd) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = add_gradient,
    .kernels = ADD_KERNELS(add_run),
    .doc = "The tensor with updates added to the slices that rows of `indices` name.",
};

BD_OP(TensorScatterSub) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = sub_gradient,
    .kernels = ADD_KERNELS(sub_run),
    .doc = "The tensor with updates subtracted from the slices that rows of `indices` name.",
};

BD_OP(TensorScatterMin) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = min_run}),
    .doc =
        "The tensor with the lesser of each element and its update in the slices that rows of `indices` name.",
    .deviation = "No gradient in the C library.",
};

BD_OP(TensorScatterMax) = {
    .signature = SIGNATURE,
    .attrs = "T:type; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_REAL_TYPES_OF("T"), .run = max_run}),
    .doc =
        "The tensor with the greater of each element and its update in the slices that rows of `indices` name.",
    .deviation = "No gradient in the C library.",
};

BD_OP(ScatterNdNonAliasingAdd) = {
    .signature = "(input: T, indices: Tindices, updates: T) -> (output: T)",
    .attrs =
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,qint32,qint8,quint8,uint16,uint32,"
        "uint64,uint8}; Tindices:type{int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = tensor_scatter_shape,
    .gradient = add_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T") "|bool", .run = add_run}),
    .doc = "The input with updates added to the slices that rows of `indices` name.",
};

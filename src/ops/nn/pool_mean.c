// AvgPool and AvgPool3D, and their gradients.
#include "ops/nn/pool.h"

static braid_code mean_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    return code ? code : bd_pool_shape_of(c, &w, st);
}

static braid_code mean_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    return code ? code : bd_window_shape_in_input(c, &w, 0, st);
}

static void mean_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!bd_pool_sizes(c, bd_pool_window(c), &x->shape, &shape, &pooled)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &pooled);
    if (y) bd_pool_run(c, BD_POOLING_MEAN, &shape, &(bd_pooling_data){.x = x->data, .y = y->data});
}

static void mean_grad_run(bd_op_ctx *c)
{
    const braid_tensor *grad = bd_input(c, 1);
    braid_shape in, pooled;
    bd_pooling_shape shape;
    if (!bd_input_shape(c, 0, "orig_input_shape", &in) ||
        !bd_pool_sizes(c, bd_pool_window(c), &in, &shape, &pooled) ||
        !bd_pool_check_shape(c, 1, "out_backprop", "out_backprop", &pooled))
        return;
    braid_tensor *dx = bd_window_output(c, grad->dtype, &in);
    if (dx)
        bd_pool_run(c, BD_POOLING_MEAN_GRAD, &shape, &(bd_pooling_data){.dy = grad->data, .dx = dx->data});
}

static void mean_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {bd_b_shape(c->graph, NULL, c->op->inputs[0]), c->output_grads[0]};
    c->input_grads[0] = bd_pool_like(c, bd_pool_is_3d(c->op) ? "AvgPool3DGrad" : "AvgPoolGrad", inputs, 2);
}

static void mean_grad_gradient(bd_grad_ctx *c)
{
    c->input_grads[1] = bd_pool_like(c, bd_pool_is_3d(c->op) ? "AvgPool3D" : "AvgPool", c->output_grads, 1);
}

#define MEAN_ATTRS BD_POOL_WINDOW_ATTRS BD_POOL_PADDING_ATTRS "T:type{bfloat16,double,float,half}"

BD_OP(AvgPool) = {
    .signature = "(value: T) -> (output: T)",
    .attrs = MEAN_ATTRS,
    .shape = mean_shape,
    .gradient = mean_gradient,
    .kernels = BD_POOL_KERNELS(BD_FLOATS, bd_pool_create, mean_run),
    .doc =
        "The mean of each window of ksize that slides over images [batch, height, width, channels]; padding does not count.",
};

BD_OP(AvgPoolGrad) = {
    .signature = "(orig_input_shape: int32, grad: T) -> (output: T)",
    .attrs = MEAN_ATTRS,
    .shape = mean_grad_shape,
    .gradient = mean_grad_gradient,
    .kernels = BD_POOL_KERNELS(BD_FLOATS, bd_pool_create, mean_grad_run),
    .doc = "The gradient of AvgPool.",
};

#define MEAN_3D_ATTRS BD_POOL_VOLUME_ATTRS "; T:type{bfloat16,double,float,half}"

BD_OP(AvgPool3D) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = MEAN_3D_ATTRS,
    .shape = mean_shape,
    .gradient = mean_gradient,
    .kernels = BD_POOL_KERNELS(BD_FLOATS, bd_pool_create, mean_run),
    .doc =
        "The mean of each window of ksize that slides over volumes [batch, depth, height, width, channels]; "
        "padding does not count.",
};

BD_OP(AvgPool3DGrad) = {
    .signature = "(orig_input_shape: int32, grad: T) -> (output: T)",
    .attrs = MEAN_3D_ATTRS,
    .shape = mean_grad_shape,
    .gradient = mean_grad_gradient,
    .kernels = BD_POOL_KERNELS(BD_FLOATS, bd_pool_create, mean_grad_run),
    .doc = "The gradient of AvgPool3D.",
};

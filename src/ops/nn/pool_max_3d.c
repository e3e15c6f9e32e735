// MaxPool3D, its gradient, and the second gradient.
//
// MaxPool3DGrad differs from MaxPoolGrad as in TensorFlow: of several greatest elements of a window each
// gets the gradient. MaxPool3DGradGrad takes the first one's.
#include "graph/grad.h"
#include "ops/nn/pool.h"

// ---- Shapes ----

static braid_code max_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    return code ? code : bd_pool_shape_of(c, &w, st);
}

static braid_code like_volume(bd_shape_ctx *c, int i, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, i, bd_window_rank(&w), st);
    if (!code) c->outputs[0] = c->inputs[i].rank < 0 ? bd_window_unknown_shape(&w) : c->inputs[i];
    return code;
}

static braid_code max_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return like_volume(c, 0, st);
}

static braid_code max_pick_shape(bd_shape_ctx *c, braid_status *st)
{
    return like_volume(c, 1, st);
}

// ---- Kernels ----

static void max_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!bd_pool_sizes(c, bd_pool_window(c), &x->shape, &shape, &pooled)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &pooled);
    if (y) bd_pool_run(c, BD_POOLING_MAX, &shape, &(bd_pooling_data){.x = x->data, .y = y->data});
}

// Checks that input 1 has the shape of MaxPool3D's output for input 0.
static bool grad_sizes(bd_op_ctx *c, bd_pooling_shape *shape, braid_shape *pooled)
{
    return bd_pool_sizes(c, bd_pool_window(c), &bd_input(c, 0)->shape, shape, pooled) &&
           bd_pool_check_shape(c, 1, "tensor_out", "orig_output", pooled);
}

static void max_grad_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1), *grad = bd_input(c, 2);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!grad_sizes(c, &shape, &pooled) || !bd_pool_check_shape(c, 2, "out_backprop", "grad", &pooled))
        return;
    braid_tensor *dx = bd_window_output(c, grad->dtype, &x->shape);
    if (dx)
        bd_pool_run(c, BD_POOLING_MAX_GRAD_ALL, &shape,
                    &(bd_pooling_data){.x = x->data, .y = y->data, .dy = grad->data, .dx = dx->data});
}

static void max_pick_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!grad_sizes(c, &shape, &pooled) || !bd_pool_check_shape(c, 2, "out_grad_backprop", "grad", &x->shape))
        return;
    braid_tensor *dy = bd_window_output(c, x->dtype, &pooled);
    if (dy)
        bd_pool_run(c, BD_POOLING_MAX_PICK, &shape,
                    &(bd_pooling_data){.x = x->data, .dx = grad->data, .dy = dy->data});
}

// ---- Gradients ----

static void max_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {c->op->inputs[0], braid_output(c->op, 0), c->output_grads[0]};
    c->input_grads[0] = bd_pool_like(c, "MaxPool3DGrad", inputs, 3);
}

// MaxPool3DGrad and MaxPool3DGradGrad are each the gradient of the other.
static void max_grad_gradient(bd_grad_ctx *c)
{
    bd_pool_second_gradient(c, "MaxPool3DGradGrad");
}

static void max_pick_gradient(bd_grad_ctx *c)
{
    bd_pool_second_gradient(c, "MaxPool3DGrad");
}

// ---- Ops ----

BD_OP(MaxPool3D) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = BD_POOL_VOLUME_ATTRS "; T:type{bfloat16,float,half}",
    .shape = max_shape,
    .gradient = max_gradient,
    .kernels = BD_POOL_KERNELS("T=float", bd_pool_create, max_run),
    .doc =
        "The greatest element of each window of ksize that slides over volumes [batch, depth, height, width, "
        "channels].",
};

BD_OP(MaxPool3DGrad) = {
    .signature = "(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)",
    .attrs = BD_POOL_VOLUME_ATTRS
    "; T:type{bfloat16,float,half}=float; TInput:type{bfloat16,float,half}=float",
    .shape = max_grad_shape,
    .gradient = max_grad_gradient,
    .kernels = BD_POOL_KERNELS("T=float; TInput=float", bd_pool_create, max_grad_run),
    .doc = "The gradient of MaxPool3D: it flows to all of the greatest elements of each window.",
};

BD_OP(MaxPool3DGradGrad) = {
    .signature = "(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    .attrs = BD_POOL_VOLUME_ATTRS "; T:type{realnumber}",
    .shape = max_pick_shape,
    .gradient = max_pick_gradient,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, bd_pool_create, max_pick_run),
    .doc =
        "The gradient of MaxPool3DGrad for its gradient: that of the first of the greatest elements of each "
        "window.",
};

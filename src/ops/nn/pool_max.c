// MaxPool and MaxPoolV2, their gradients, and the second gradients.
#include "graph/grad.h"
#include "ops/nn/pool.h"
#include "ops/nn/pool_depth.h"

// ---- Shapes ----

// The window `size`, `stride` may also be along the channels.
static braid_code pooled_shape(bd_shape_ctx *c, bd_window *w, const int64_t size[4], const int64_t stride[4],
                               braid_status *st)
{
    bd_window_set(w, size, stride);
    braid_code code = bd_pool_shape_of(c, w, st);
    if (code) return code;
    bd_depth_window depth = bd_depth_window_of(w, size, stride);
    int64_t *channels = &c->outputs[0].dims[bd_window_channel_axis(w)];
    return bd_shape_ctx_depth_window(c, w, &depth, *channels, channels, st);
}

static const int64_t *list_of(const braid_op *node, const char *name)
{
    return bd_node_attr(node, name)->list.i;
}

static braid_code max_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (code) return code;
    return pooled_shape(c, &w, list_of(c->node, "ksize"), list_of(c->node, "strides"), st);
}

// Reads sizes or strides from a constant tensor of four elements.
static bool constant_four(bd_shape_ctx *c, int i, int64_t out[4])
{
    const braid_tensor *t = bd_shape_ctx_constant(c, i);
    if (!t || t->shape.rank != 1 || t->shape.dims[0] != 4) return false;
    for (int d = 0; d < 4; d++) {
        out[d] = bd_tensor_index(t, d);
        if (out[d] <= 0) return false; // the kernel reports it
    }
    return true;
}

static braid_code max_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    int64_t size[4], stride[4];
    braid_code code = bd_window_read(c->node, &w, st);
    for (int i = 0; i < 3 && !code; i++)
        code = bd_shape_ctx_rank(c, i, i == 0 ? 4 : 1, st);
    if (code) return code;
    if (constant_four(c, 1, size) && constant_four(c, 2, stride))
        return pooled_shape(c, &w, size, stride, st);
    c->outputs[0] = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    return BRAID_OK;
}

// The output has the shape of input 0.
braid_code bd_max_pool_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    c->outputs[0] = c->inputs[0];
    if (c->inputs[0].rank < 0) c->outputs[0] = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    return BRAID_OK;
}

static braid_code max_pick_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 4, st);
    if (!code) c->outputs[0] = c->inputs[1];
    return code;
}

// ---- Kernels ----

static braid_code max_create(const braid_op *node, void *state, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(node, &w, st);
    if (code) return code;
    const int64_t *size = list_of(node, "ksize"), *stride = list_of(node, "strides");
    bd_depth_window depth = bd_depth_window_of(&w, size, stride);
    if (bd_depth_window_is_none(&depth)) return bd_pool_create(node, state, st);
    code = bd_depth_window_check(&w, size, stride, st);
    return code ? code : bd_pool_bind(node, state, st);
}

// Reads sizes or strides from input `i` of a V2 op.
static bool input_four(bd_op_ctx *c, int i, const char *what, const bd_window *w, int64_t out[BRAID_RANK_MAX])
{
    if (bd_tensor_count(bd_input(c, i)) != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sliding window %s field must specify 4 dimensions", what);
        return false;
    }
    if (!bd_input_ints(c, i, what, 4, out)) return false;
    for (int d = 0; d < 2; d++) {
        if (out[bd_window_axis(w, d)] > 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sliding window %s must be > 0, but got %lld", what,
                   (long long)out[bd_window_axis(w, d)]);
        return false;
    }
    return true;
}

// Reads the window of this run. `v2` is the input with a V2 op's sizes (the next input has its strides); 0:
// both are attrs. `depth` is NULL if the op has no windows along the depth. False: the kernel has failed.
static bool read_window(bd_op_ctx *c, int v2, bd_window *w, bd_depth_window *depth)
{
    BD_STATUS(st);
    int64_t given[2][BRAID_RANK_MAX];
    const int64_t *size = given[0], *stride = given[1];
    *w = ((const bd_pool_state *)c->state)->window;
    if (v2) {
        if (!input_four(c, v2, "ksize", w, given[0]) || !input_four(c, v2 + 1, "strides", w, given[1]))
            return false;
        bd_window_set(w, size, stride);
    } else {
        size = list_of(c->node, "ksize");
        stride = list_of(c->node, "strides");
    }
    bd_depth_window along = bd_depth_window_of(w, size, stride);
    if (depth) {
        *depth = along;
        if (bd_depth_window_is_none(&along) && size[0] == 1 && stride[0] == 1) return true;
        if (!bd_depth_window_check(w, size, stride, st)) return true;
        bd_op_fail_status(c, st);
    } else if (size[0] != 1 || stride[0] != 1) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "Pooling is not yet supported on the batch dimension.");
    } else if (along.size != 1 || along.stride != 1) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "MaxPoolingGrad is not yet supported on the depth dimension.");
    }
    return !bd_op_failed(c);
}

static void max_pool(bd_op_ctx *c, int v2)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_window w;
    bd_depth_window depth;
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!read_window(c, v2, &w, &depth)) return;
    if (!bd_depth_window_is_none(&depth)) {
        bd_depth_pool_run(c, &depth);
        return;
    }
    if (!bd_pool_sizes(c, &w, &x->shape, &shape, &pooled)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &pooled);
    if (y) bd_pool_run(c, BD_POOLING_MAX, &shape, &(bd_pooling_data){.x = x->data, .y = y->data});
}

static void max_run(bd_op_ctx *c)
{
    max_pool(c, 0);
}

static void max_v2_run(bd_op_ctx *c)
{
    max_pool(c, 1);
}

// Computes the positions of a gradient op's window over input 0, and checks that input 1 has the shape of
// MaxPool's output.
static bool grad_sizes(bd_op_ctx *c, int v2, bd_pooling_shape *shape, braid_shape *pooled)
{
    bd_window w;
    return read_window(c, v2, &w, NULL) && bd_pool_sizes(c, &w, &bd_input(c, 0)->shape, shape, pooled) &&
           bd_pool_check_shape(c, 1, "tensor_out", "orig_output", pooled);
}

// The gradient may take the memory of x where the windows are tiles.
static braid_tensor *grad_output(bd_op_ctx *c, bd_pooling_kind kind, const bd_pooling_shape *shape)
{
    const braid_tensor *x = bd_input(c, 0);
    const bd_pool_state *s = c->state;
    return bd_pooling_has_loop(s->type, kind, shape) && bd_pooling_is_tiled(shape)
               ? bd_output_forward(c, 0, 0, x->dtype, &x->shape)
               : bd_window_output(c, x->dtype, &x->shape);
}

void bd_max_pool_grad(bd_op_ctx *c, bd_pooling_kind kind, int v2)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!grad_sizes(c, v2, &shape, &pooled) || !bd_pool_check_shape(c, 2, "out_backprop", "grad", &pooled))
        return;
    braid_tensor *dx = grad_output(c, kind, &shape);
    if (dx) bd_pool_run(c, kind, &shape, &(bd_pooling_data){.x = x->data, .dy = grad->data, .dx = dx->data});
}

static void max_grad_run(bd_op_ctx *c)
{
    bd_max_pool_grad(c, BD_POOLING_MAX_GRAD, 0);
}

static void max_grad_v2_run(bd_op_ctx *c)
{
    bd_max_pool_grad(c, BD_POOLING_MAX_GRAD, 3);
}

static void max_pick(bd_op_ctx *c, int v2)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!grad_sizes(c, v2, &shape, &pooled) ||
        !bd_pool_check_shape(c, 2, "out_grad_backprop", "grad", &x->shape))
        return;
    braid_tensor *dy = bd_window_output(c, x->dtype, &pooled);
    if (dy)
        bd_pool_run(c, BD_POOLING_MAX_PICK, &shape,
                    &(bd_pooling_data){.x = x->data, .dx = grad->data, .dy = dy->data});
}

static void max_pick_run(bd_op_ctx *c)
{
    max_pick(c, 0);
}

static void max_pick_v2_run(bd_op_ctx *c)
{
    max_pick(c, 3);
}

// ---- Gradients ----

static void max_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {c->op->inputs[0], braid_output(c->op, 0), c->output_grads[0]};
    c->input_grads[0] = bd_pool_like(c, "MaxPoolGrad", inputs, 3);
}

static void max_v2_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {c->op->inputs[0], braid_output(c->op, 0), c->output_grads[0], c->op->inputs[1],
                          c->op->inputs[2]};
    c->input_grads[0] = bd_pool_like(c, "MaxPoolGradV2", inputs, 5);
}

// MaxPoolGrad and MaxPoolGradGrad are each the gradient of the other.
static void max_grad_gradient(bd_grad_ctx *c)
{
    bd_pool_second_gradient(c, "MaxPoolGradGrad");
}

static void max_pick_gradient(bd_grad_ctx *c)
{
    bd_pool_second_gradient(c, "MaxPoolGrad");
}

static void max_grad_v2_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out *in = c->op->inputs, inputs[] = {in[0], in[1], c->output_grads[0], in[3], in[4]};
    for (int i = 0; i < 2; i++)
        c->input_grads[i] =
            bd_b_zeros(g, bd_b_shape(g, "Shape", in[i]), bd_dtype_base(braid_out_dtype(in[i])));
    c->input_grads[2] = bd_pool_like(c, "MaxPoolGradGradV2", inputs, 5);
}

// ---- Ops ----

#define MAX_ATTRS                                                                                            \
    "T:type{bfloat16,double,float,half,int16,int32,int64,int8,qint8,uint16,uint8}=float; "                   \
    "data_format:string{NHWC,NCHW,NCHW_VECT_C}='NHWC'"
#define FORMAT "data_format:string{NHWC,NCHW}='NHWC'; "
#define PADDING "padding:string{SAME,VALID}; "
// The attrs that TensorFlow 2 gave to the first versions of the ops.
#define ANY_PADDING "padding:string{SAME,VALID,EXPLICIT}; +explicit_paddings:list(int)=[]; "

BD_OP(MaxPool) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = BD_POOL_WINDOW_ATTRS ANY_PADDING MAX_ATTRS,
    .shape = max_shape,
    .gradient = max_gradient,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, max_create, max_run),
    .doc =
        "The greatest element of each window of ksize that slides over images [batch, height, width, channels].",
};

BD_OP(MaxPoolV2) = {
    .signature = "(input: T, ksize: int32, strides: int32) -> (output: T)",
    .attrs = PADDING MAX_ATTRS,
    .shape = max_v2_shape,
    .gradient = max_v2_gradient,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, bd_pool_create, max_v2_run),
    .doc = "MaxPool with the window given by tensors.",
};

BD_OP(MaxPoolGrad) = {
    .signature = "(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    .attrs = BD_POOL_WINDOW_ATTRS ANY_PADDING FORMAT "T:type{realnumber}=float",
    .shape = bd_max_pool_grad_shape,
    .gradient = max_grad_gradient,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, bd_pool_create, max_grad_run),
    .doc = "The gradient of MaxPool: it flows to the first of the greatest elements of each window.",
};

BD_OP(MaxPoolGradV2) = {
    .signature = "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)",
    .attrs = PADDING FORMAT "T:type{realnumber}=float",
    .shape = bd_max_pool_grad_shape,
    .gradient = max_grad_v2_gradient,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, bd_pool_create, max_grad_v2_run),
    .doc = "The gradient of MaxPoolV2.",
};

BD_OP(MaxPoolGradGrad) = {
    .signature = "(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    .attrs = BD_POOL_WINDOW_ATTRS ANY_PADDING FORMAT "T:type{realnumber}",
    .shape = max_pick_shape,
    .gradient = max_pick_gradient,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, bd_pool_create, max_pick_run),
    .doc = "The gradient of MaxPoolGrad for its gradient.",
};

BD_OP(MaxPoolGradGradV2) = {
    .signature = "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)",
    .attrs = PADDING FORMAT "T:type{realnumber}",
    .shape = max_pick_shape,
    .kernels = BD_POOL_KERNELS(BD_NUMBERS, bd_pool_create, max_pick_v2_run),
    .doc = "The gradient of MaxPoolGradV2 for its gradient.",
};

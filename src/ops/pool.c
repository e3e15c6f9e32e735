// MaxPool and AvgPool, their gradients, and the gradient of a gradient.
#include "graph/grad.h"
#include "kernels/pooling.h"
#include "ops/element.h"
#include "ops/elementwise.h"
#include "ops/grad_math.h"
#include "ops/pool_depth.h"
#include "ops/window.h"

// ---- Shapes ----

static braid_code pooled_shape(bd_shape_ctx *c, const bd_window *w, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    const braid_shape *in = &c->inputs[0];
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (in->rank == 4) out = *in;
    for (int d = 0; d < 2 && !code; d++) {
        int64_t *dim = &out.dims[bd_window_axis(w, d)];
        code = w->size[d] ? bd_shape_ctx_window(c, w, d, *dim, w->size[d], dim, st) : BRAID_OK;
        if (!w->size[d]) *dim = -1;
    }
    if (!code) c->outputs[0] = out;
    return code;
}

static braid_code pool_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    return code ? code : pooled_shape(c, &w, st);
}

// MaxPool's window may also be along the channels.
static braid_code max_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = pooled_shape(c, &w, st);
    if (code) return code;
    bd_depth_window depth = bd_depth_window_of(c->node, &w);
    int64_t *channels = &c->outputs[0].dims[bd_window_channel_axis(&w)];
    return bd_shape_ctx_depth_window(c, &w, &depth, *channels, channels, st);
}

// Sizes or steps given as a constant tensor of four.
static bool constant_pair(bd_shape_ctx *c, int i, const bd_window *w, int64_t out[2])
{
    const braid_tensor *t = bd_shape_ctx_constant(c, i);
    if (!t || t->shape.rank != 1 || t->shape.dims[0] != 4) return false;
    for (int d = 0; d < 2; d++) {
        out[d] = bd_tensor_index(t, bd_window_axis(w, d));
        if (out[d] <= 0) return false; // the kernel says so
    }
    return true;
}

static braid_code pool_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 1, st);
    if (code) return code;
    if (!constant_pair(c, 1, &w, w.size) || !constant_pair(c, 2, &w, w.stride)) w.size[0] = w.size[1] = 0;
    return pooled_shape(c, &w, st);
}

// Input 0 and what comes out are alike.
static braid_code max_grad_shape(bd_shape_ctx *c, braid_status *st)
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

static braid_code mean_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape unknown = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (!bd_shape_ctx_constant_shape(c, 0, &c->outputs[0]) || c->outputs[0].rank < 0) c->outputs[0] = unknown;
    if (c->outputs[0].rank == 4) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shape must be rank 4 but is rank %d", c->outputs[0].rank);
}

// ---- Kernels ----

typedef struct pool_state {
    bd_window window; // size and stride come from inputs in the V2 ops
    bd_number type;
    bd_depth_window depth; // of MaxPool, where there is one
    bd_prepared_cache cache;
} pool_state;

static braid_code pool_create(const braid_op *node, void *state, braid_status *st)
{
    pool_state *s = state;
    braid_code code = bd_window_read(node, &s->window, st);
    if (!code) code = bd_window_check_axes(node, &s->window, st);
    if (code) return code;
    s->type = bd_number_of(bd_node_attr_type(node, "T"));
    bd_prepared_cache_init(&s->cache);
    return BRAID_OK;
}

static braid_code max_create(const braid_op *node, void *state, braid_status *st)
{
    pool_state *s = state;
    bd_window w;
    braid_code code = bd_window_read(node, &w, st);
    if (code) return code;
    bd_depth_window depth = bd_depth_window_of(node, &w);
    if (bd_depth_window_is_none(&depth)) {
        code = pool_create(node, state, st);
    } else {
        code = bd_depth_window_check(node, &w, &depth, st);
        if (!code) bd_prepared_cache_init(&s->cache);
    }
    s->depth = depth;
    return code;
}

static void pool_destroy(void *state)
{
    bd_prepared_cache_fini(&((pool_state *)state)->cache);
}

// Sizes or strides from input `i` of a V2 op.
static bool input_pair(bd_op_ctx *c, int i, const char *what, const bd_window *w, int64_t out[2])
{
    int64_t all[BRAID_RANK_MAX];
    if (bd_tensor_count(bd_input(c, i)) != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sliding window %s field must specify 4 dimensions", what);
        return false;
    }
    if (!bd_input_ints(c, i, what, 4, all)) return false;
    if (all[0] != 1 || all[bd_window_channel_axis(w)] != 1) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "Pooling is not yet supported on the batch or depth dimension.");
        return false;
    }
    for (int d = 0; d < 2; d++) {
        out[d] = all[bd_window_axis(w, d)];
        if (out[d] > 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sliding window %s must be > 0, but got %lld", what,
                   (long long)out[d]);
        return false;
    }
    return true;
}

// How windows go over images of shape `in`, and the shape that comes out. `v2` is the first input of a V2 op's window, else 0.
static bool pool_sizes(bd_op_ctx *c, const braid_shape *in, int v2, bd_pooling_shape *out,
                       braid_shape *pooled)
{
    bd_window w = ((const pool_state *)c->state)->window;
    BD_STATUS(st);
    if (in->rank != 4) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor_in must be 4-dimensional: %s", bd_shape_str(in, text));
        return false;
    }
    if (v2 && (!input_pair(c, v2, "ksize", &w, w.size) || !input_pair(c, v2 + 1, "strides", &w, w.stride)))
        return false;
    *out = (bd_pooling_shape){.batch = in->dims[0],
                              .channels = in->dims[bd_window_channel_axis(&w)],
                              .channels_first = w.channels_first};
    *pooled = *in;
    for (int d = 0; d < 2; d++) {
        bd_window_fit fit;
        out->in[d] = in->dims[bd_window_axis(&w, d)];
        out->window[d] = w.size[d];
        out->stride[d] = w.stride[d];
        if (bd_window_fit_dimension(&w, d, out->in[d], w.size[d], &fit, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        out->out[d] = pooled->dims[bd_window_axis(&w, d)] = fit.out;
        out->pad_before[d] = fit.before;
        out->pad_after[d] = fit.after;
    }
    return true;
}

static void pool(bd_op_ctx *c, bd_pooling_kind kind, const bd_pooling_shape *shape,
                 const bd_pooling_data *data)
{
    pool_state *s = c->state;
    if (s->type != BD_F32 || !bd_run_prepared(c, &s->cache, bd_pooling_take(&s->cache, kind, shape), data))
        bd_pooling_plain(s->type, kind, shape, data);
}

static void forward(bd_op_ctx *c, bd_pooling_kind kind, int v2)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!pool_sizes(c, &x->shape, v2, &shape, &pooled)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &pooled);
    if (y) pool(c, kind, &shape, &(bd_pooling_data){.x = x->data, .y = y->data});
}

static void max_run(bd_op_ctx *c)
{
    const bd_depth_window *depth = &((const pool_state *)c->state)->depth;
    if (bd_depth_window_is_none(depth)) {
        forward(c, BD_POOLING_MAX, 0);
    } else {
        bd_depth_pool_run(c, depth);
    }
}

static void max_v2_run(bd_op_ctx *c)
{
    forward(c, BD_POOLING_MAX, 1);
}

static void mean_run(bd_op_ctx *c)
{
    forward(c, BD_POOLING_MEAN, 0);
}

// The tensor at input `i` must have this shape.
static bool check_shape(bd_op_ctx *c, int i, const char *what, const braid_shape *want)
{
    const braid_shape *got = &bd_input(c, i)->shape;
    if (bd_shape_equal(got, want)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (got->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4-dimensional: %s", what, bd_shape_str(got, a));
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", what,
                   bd_shape_str(want, a), bd_shape_str(got, b));
    }
    return false;
}

static void max_grad(bd_op_ctx *c, int v2)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!pool_sizes(c, &x->shape, v2, &shape, &pooled) || !check_shape(c, 1, "tensor_out", &pooled) ||
        !check_shape(c, 2, "out_backprop", &pooled))
        return;
    braid_tensor *dx = bd_window_output(c, x->dtype, &x->shape);
    if (dx)
        pool(c, BD_POOLING_MAX_GRAD, &shape,
             &(bd_pooling_data){.x = x->data, .dy = grad->data, .dx = dx->data});
}

static void max_grad_run(bd_op_ctx *c)
{
    max_grad(c, 0);
}

static void max_grad_v2_run(bd_op_ctx *c)
{
    max_grad(c, 3);
}

static void max_pick(bd_op_ctx *c, int v2)
{
    const braid_tensor *x = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_pooling_shape shape;
    braid_shape pooled;
    if (!pool_sizes(c, &x->shape, v2, &shape, &pooled) || !check_shape(c, 1, "tensor_out", &pooled) ||
        !check_shape(c, 2, "out_grad_backprop", &x->shape))
        return;
    braid_tensor *dy = bd_window_output(c, x->dtype, &pooled);
    if (dy)
        pool(c, BD_POOLING_MAX_PICK, &shape,
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

static void mean_grad_run(bd_op_ctx *c)
{
    const braid_tensor *grad = bd_input(c, 1);
    braid_shape in, pooled;
    bd_pooling_shape shape;
    if (!bd_input_shape(c, 0, "orig_input_shape", &in) || !pool_sizes(c, &in, 0, &shape, &pooled) ||
        !check_shape(c, 1, "out_backprop", &pooled))
        return;
    braid_tensor *dx = bd_window_output(c, grad->dtype, &in);
    if (dx) pool(c, BD_POOLING_MEAN_GRAD, &shape, &(bd_pooling_data){.dy = grad->data, .dx = dx->data});
}

// ---- Gradients ----

// An op of `count` inputs, with the window of the op that is differentiated.
static braid_out pool_like(const bd_grad_ctx *c, const char *op, const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    bd_window_copy_attrs(d, c->op);
    return braid_op_end_out(d);
}

static void max_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {c->op->inputs[0], braid_output(c->op, 0), c->output_grads[0]};
    c->input_grads[0] = pool_like(c, "MaxPoolGrad", inputs, 3);
}

static void max_v2_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {c->op->inputs[0], braid_output(c->op, 0), c->output_grads[0], c->op->inputs[1],
                          c->op->inputs[2]};
    c->input_grads[0] = pool_like(c, "MaxPoolGradV2", inputs, 5);
}

// Of MaxPoolGrad and MaxPoolGradGrad: each is the other's.
static void second_gradient(bd_grad_ctx *c, const char *op)
{
    braid_out inputs[] = {c->op->inputs[0], c->op->inputs[1], c->output_grads[0]};
    c->input_grads[0] = bd_grad_zeros_like(c->graph, inputs[0]);
    c->input_grads[1] = bd_grad_zeros_like(c->graph, inputs[1]);
    c->input_grads[2] = pool_like(c, op, inputs, 3);
}

static void max_grad_gradient(bd_grad_ctx *c)
{
    second_gradient(c, "MaxPoolGradGrad");
}

static void max_pick_gradient(bd_grad_ctx *c)
{
    second_gradient(c, "MaxPoolGrad");
}

static void max_grad_v2_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out *in = c->op->inputs, inputs[] = {in[0], in[1], c->output_grads[0], in[3], in[4]};
    for (int i = 0; i < 2; i++)
        c->input_grads[i] =
            bd_grad_zeros(g, bd_b_shape(g, "Shape", in[i]), bd_dtype_base(braid_out_dtype(in[i])));
    c->input_grads[2] = pool_like(c, "MaxPoolGradGradV2", inputs, 5);
}

static void mean_gradient(bd_grad_ctx *c)
{
    braid_out inputs[] = {bd_b_shape(c->graph, NULL, c->op->inputs[0]), c->output_grads[0]};
    c->input_grads[0] = pool_like(c, "AvgPoolGrad", inputs, 2);
}

static void mean_grad_gradient(bd_grad_ctx *c)
{
    c->input_grads[1] = pool_like(c, "AvgPool", c->output_grads, 1);
}

// ---- Ops ----

#define WINDOW_ATTRS "ksize:list(int)>=4; strides:list(int)>=4; "
#define GRAD_ATTRS "padding:string{SAME,VALID}; data_format:string{NHWC,NCHW}='NHWC'; "
#define MAX_ATTRS                                                                                            \
    "T:type{bfloat16,double,float,half,int16,int32,int64,int8,qint8,uint16,uint8}=float; "                   \
    "padding:string{SAME,VALID}; data_format:string{NHWC,NCHW,NCHW_VECT_C}='NHWC'"
#define POOL_KERNELS_OF(TYPES, CREATE, RUN)                                                                  \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(pool_state),                                                            \
                .create = (CREATE),                                                                          \
                .destroy = pool_destroy,                                                                     \
                .run = (RUN)})
#define MAX_KERNELS(RUN) POOL_KERNELS_OF(BD_NUMBERS, pool_create, RUN)
#define MEAN_KERNELS(RUN) POOL_KERNELS_OF(BD_FLOATS, pool_create, RUN)

BD_OP(MaxPool) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = WINDOW_ATTRS MAX_ATTRS,
    .shape = max_shape,
    .gradient = max_gradient,
    .kernels = POOL_KERNELS_OF(BD_NUMBERS, max_create, max_run),
    .doc =
        "The greatest element of each window of ksize that slides over images [batch, height, width, channels].",
};

BD_OP(MaxPoolV2) = {
    .signature = "(input: T, ksize: int32, strides: int32) -> (output: T)",
    .attrs = MAX_ATTRS,
    .shape = pool_v2_shape,
    .gradient = max_v2_gradient,
    .kernels = MAX_KERNELS(max_v2_run),
    .doc = "MaxPool with the window given by tensors.",
};

BD_OP(MaxPoolGrad) = {
    .signature = "(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    .attrs = WINDOW_ATTRS GRAD_ATTRS "T:type{realnumber}=float",
    .shape = max_grad_shape,
    .gradient = max_grad_gradient,
    .kernels = MAX_KERNELS(max_grad_run),
    .doc = "The gradient of MaxPool: it goes to the first of the greatest elements of each window.",
};

BD_OP(MaxPoolGradV2) = {
    .signature = "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)",
    .attrs = GRAD_ATTRS "T:type{realnumber}=float",
    .shape = max_grad_shape,
    .gradient = max_grad_v2_gradient,
    .kernels = MAX_KERNELS(max_grad_v2_run),
    .doc = "The gradient of MaxPoolV2.",
};

BD_OP(MaxPoolGradGrad) = {
    .signature = "(orig_input: T, orig_output: T, grad: T) -> (output: T)",
    .attrs = WINDOW_ATTRS GRAD_ATTRS "T:type{realnumber}",
    .shape = max_pick_shape,
    .gradient = max_pick_gradient,
    .kernels = MAX_KERNELS(max_pick_run),
    .doc = "The gradient of MaxPoolGrad for its gradient.",
};

BD_OP(MaxPoolGradGradV2) = {
    .signature = "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)",
    .attrs = GRAD_ATTRS "T:type{realnumber}",
    .shape = max_pick_shape,
    .kernels = MAX_KERNELS(max_pick_v2_run),
    .doc = "The gradient of MaxPoolGradV2 for its gradient.",
};

BD_OP(AvgPool) = {
    .signature = "(value: T) -> (output: T)",
    .attrs = WINDOW_ATTRS GRAD_ATTRS "T:type{bfloat16,double,float,half}",
    .shape = pool_shape,
    .gradient = mean_gradient,
    .kernels = MEAN_KERNELS(mean_run),
    .doc =
        "The mean of each window of ksize that slides over images [batch, height, width, channels]; padding does not count.",
};

BD_OP(AvgPoolGrad) = {
    .signature = "(orig_input_shape: int32, grad: T) -> (output: T)",
    .attrs = WINDOW_ATTRS GRAD_ATTRS "T:type{bfloat16,double,float,half}",
    .shape = mean_grad_shape,
    .gradient = mean_grad_gradient,
    .kernels = MEAN_KERNELS(mean_grad_run),
    .doc = "The gradient of AvgPool.",
};

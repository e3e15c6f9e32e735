// Conv2D, DepthwiseConv2dNative and their gradients.
#include "ops/nn/conv.h"

#include "graph/grad.h"
#include "ops/common/element.h"

#include <string.h>

// ---- Shapes ----

// [batch, height, width, channels] in the order of the window's data format.
static braid_shape images(const bd_window *w, int64_t batch, const int64_t size[2], int64_t channels)
{
    braid_shape s = {.rank = 4, .dims = {batch}};
    s.dims[bd_window_axis(w, 0)] = size[0];
    s.dims[bd_window_axis(w, 1)] = size[1];
    s.dims[bd_window_channel_axis(w)] = channels;
    return s;
}

// Depthwise: each input channel has its own filters.
static bool is_depthwise(const braid_op *node)
{
    return strncmp(node->op_type, "Depthwise", strlen("Depthwise")) == 0;
}

// The output channels of a filter [height, width, in, out], or of a depthwise filter [height, width, in,
// multiplier]; -1: unknown.
static int64_t output_channels(const braid_op *node, const int64_t filter[4])
{
    int64_t channels;
    if (!is_depthwise(node)) return filter[3];
    if (filter[2] < 0 || filter[3] < 0) return -1;
    return __builtin_mul_overflow(filter[2], filter[3], &channels) ? INT64_MAX : channels;
}

// All four sizes of a shape; -1 where unknown, also if the rank is.
static void known_dims(const braid_shape *s, int64_t dims[4])
{
    for (int i = 0; i < 4; i++)
        dims[i] = s->rank == 4 ? s->dims[i] : -1;
}

// As in TensorFlow 1.15: a filter with fewer channels than the images makes a grouped convolution.
static braid_code check_channels(bd_shape_ctx *c, int64_t channels, const int64_t filter[4], braid_status *st)
{
    if (channels < 0 || filter[2] < 0 || channels == filter[2]) return BRAID_OK;
    if (is_depthwise(c->node))
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)channels, (long long)filter[2]);
    if (filter[2] == 0) return bd_shape_ctx_fail(c, st, "Depth of filter must not be 0");
    if (channels % filter[2])
        return bd_shape_ctx_fail(c, st,
                                 "Depth of input (%lld) is not a multiple of input depth of filter (%lld)",
                                 (long long)channels, (long long)filter[2]);
    int64_t groups = channels / filter[2];
    if (groups == 0) return bd_shape_ctx_fail(c, st, "Number of groups must not be 0");
    if (filter[3] >= 0 && filter[3] % groups)
        return bd_shape_ctx_fail(c, st,
                                 "Depth of output (%lld) is not a multiple of the number of groups (%lld)",
                                 (long long)filter[3], (long long)groups);
    return BRAID_OK;
}

braid_code bd_conv_shape_fn(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, 4, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 4, st);
    if (code) return code;
    int64_t in[4], filter[4], out[2];
    known_dims(&c->inputs[0], in);
    known_dims(&c->inputs[1], filter);
    code = check_channels(c, in[bd_window_channel_axis(&w)], filter, st);
    for (int d = 0; d < 2 && !code; d++)
        code = bd_shape_ctx_window(c, &w, d, in[bd_window_axis(&w, d)], filter[d], &out[d], st);
    if (!code) c->outputs[0] = images(&w, in[0], out, output_channels(c->node, filter));
    return code;
}

// Sets the output's shape, of rank 4, to the value of input `i`.
static braid_code shape_in_input(bd_shape_ctx *c, int i, braid_status *st)
{
    braid_shape unknown = {.rank = 4, .dims = {-1, -1, -1, -1}};
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (code) return code;
    if (!bd_shape_ctx_constant_shape(c, i, &c->outputs[0])) c->outputs[0] = unknown;
    if (c->outputs[0].rank < 0) c->outputs[0] = unknown;
    if (c->outputs[0].rank == 4) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shape must be rank 4 but is rank %d", c->outputs[0].rank);
}

static braid_code input_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return shape_in_input(c, 0, st);
}

static braid_code filter_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return shape_in_input(c, 1, st);
}

// ---- Gradients ----

// Adds one of the three ops, of the given kind, with the window of the differentiated op.
static braid_out conv_like(const bd_grad_ctx *c, bd_conv_kind kind, braid_out a, braid_out b, braid_out last)
{
    static const char *const names[2][3] = {{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
                                            {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                             "DepthwiseConv2dNativeBackpropFilter"}};
    braid_op_desc *d = braid_op_begin(c->graph, names[is_depthwise(c->op)][kind], NULL);
    braid_op_input(d, a);
    braid_op_input(d, b);
    if (last.op) braid_op_input(d, last);
    bd_window_copy_attrs(d, c->op);
    return braid_op_end_out(d);
}

static void conv_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out input = c->op->inputs[0], filter = c->op->inputs[1], grad = c->output_grads[0];
    braid_out input_shape = bd_b_shape(g, NULL, input), filter_shape = bd_b_shape(g, NULL, filter);
    c->input_grads[0] = conv_like(c, BD_CONV_INPUT_GRAD, input_shape, filter, grad);
    c->input_grads[1] = conv_like(c, BD_CONV_FILTER_GRAD, input, filter_shape, grad);
}

static void input_grad_gradient(bd_grad_ctx *c)
{
    braid_out filter = c->op->inputs[1], grad = c->output_grads[0], none = {0};
    c->input_grads[1] =
        conv_like(c, BD_CONV_FILTER_GRAD, grad, bd_b_shape(c->graph, NULL, filter), c->op->inputs[2]);
    c->input_grads[2] = conv_like(c, BD_CONV_OUTPUT, grad, filter, none);
}

static void filter_grad_gradient(bd_grad_ctx *c)
{
    braid_out input = c->op->inputs[0], grad = c->output_grads[0], none = {0};
    c->input_grads[0] =
        conv_like(c, BD_CONV_INPUT_GRAD, bd_b_shape(c->graph, NULL, input), grad, c->op->inputs[2]);
    c->input_grads[2] = conv_like(c, BD_CONV_OUTPUT, input, grad, none);
}

// ---- Kernels ----

braid_code bd_conv_bind(const braid_op *node, bd_conv_state *s, braid_status *st)
{
    braid_code code = bd_window_read(node, &s->window, st);
    if (!code) code = bd_window_check_axes(node, &s->window, st);
    if (code) return code;
    s->type = bd_number_of(bd_node_attr_type(node, "T"));
    bd_primitive_cache_init(&s->cache);
    return BRAID_OK;
}

void bd_conv_unbind(bd_conv_state *s)
{
    bd_primitive_cache_fini(&s->cache);
}

static braid_code conv_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_conv_bind(node, state, st);
}

static void conv_destroy(void *state)
{
    bd_conv_unbind(state);
}

static bool check_rank(bd_op_ctx *c, const char *what, const braid_shape *s)
{
    if (s->rank == 4) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4-dimensional: %s", what, bd_shape_str(s, text));
    return false;
}

// Computes the number of groups. False: the kernel has failed.
static bool find_groups(bd_op_ctx *c, const int64_t filter[4], bd_conv_shape *out)
{
    int64_t in = out->in_channels, of_filter = filter[2];
    out->groups = 1;
    if (is_depthwise(c->node)) {
        if (in != of_filter)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input and filter must have the same depth: %lld vs %lld",
                       (long long)in, (long long)of_filter);
        else if (in > 0)
            out->groups = in;
    } else if (in != of_filter) {
        if (of_filter == 0 || in % of_filter || in == 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "input depth must be evenly divisible by filter depth: %lld vs %lld", (long long)in,
                       (long long)of_filter);
            return false;
        }
        out->groups = in / of_filter;
        if (out->out_channels % out->groups)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "output depth must be evenly divisible by number of groups: %lld vs %lld",
                       (long long)out->out_channels, (long long)out->groups);
    }
    return !bd_op_failed(c);
}

// Computes the sizes of a convolution from input and filter; *output is the output's shape.
static bool conv_sizes(bd_op_ctx *c, const bd_window *w, const braid_shape *input, const braid_shape *filter,
                       bd_conv_shape *out, braid_shape *output)
{
    BD_STATUS(st);
    if (!check_rank(c, "input", input) || !check_rank(c, "filter", filter)) return false;
    *out = (bd_conv_shape){.batch = input->dims[0],
                           .in_channels = input->dims[bd_window_channel_axis(w)],
                           .out_channels = output_channels(c->node, filter->dims),
                           .channels_first = w->channels_first};
    if (!find_groups(c, filter->dims, out)) return false;
    for (int d = 0; d < 2; d++) {
        bd_window_fit fit;
        out->in[d] = input->dims[bd_window_axis(w, d)];
        out->filter[d] = filter->dims[d];
        if (bd_window_fit_dimension(w, d, out->in[d], out->filter[d], &fit, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        out->out[d] = fit.out;
        out->pad_before[d] = fit.before;
        out->pad_after[d] = fit.after;
        out->stride[d] = w->stride[d];
        out->dilation[d] = w->dilation[d];
    }
    *output = images(w, out->batch, out->out, out->out_channels);
    return true;
}

// The same for a gradient op, which gets the gradient of the output.
static bool grad_sizes(bd_op_ctx *c, const braid_shape *input, const braid_shape *filter,
                       const braid_shape *grad, bd_conv_shape *out)
{
    const bd_conv_state *s = c->state;
    braid_shape output;
    if (!conv_sizes(c, &s->window, input, filter, out, &output) || !check_rank(c, "out_backprop", grad))
        return false;
    if (bd_shape_equal(&output, grad)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX], x[BD_SHAPE_STR_MAX], f[BD_SHAPE_STR_MAX];
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "%s: Size of out_backprop doesn't match computed: actual = %s, computed = %s, input: %s filter: %s",
        c->node->op_type, bd_shape_str(grad, a), bd_shape_str(&output, b), bd_shape_str(input, x),
        bd_shape_str(filter, f));
    return false;
}

bool bd_conv_sizes(bd_op_ctx *c, const bd_conv_state *s, bd_conv_shape *shape, braid_shape *output)
{
    return conv_sizes(c, &s->window, &bd_input(c, 0)->shape, &bd_input(c, 1)->shape, shape, output);
}

bool bd_conv_primitive(bd_op_ctx *c, bd_conv_state *s, bd_conv_kind kind, const bd_conv_shape *shape,
                       const bd_conv_data *data)
{
    return bd_run_primitive(c, &s->cache, bd_conv_take(&s->cache, kind, shape), data);
}

static void convolve(bd_op_ctx *c, bd_conv_kind kind, const bd_conv_shape *shape, const bd_conv_data *data)
{
    bd_conv_state *s = c->state;
    if (s->type != BD_F32 || !bd_conv_primitive(c, s, kind, shape, data))
        bd_conv_plain(s->type, kind, shape, data);
}

static void conv_run(bd_op_ctx *c)
{
    const braid_tensor *input = bd_input(c, 0), *filter = bd_input(c, 1);
    bd_conv_shape shape;
    braid_shape output;
    if (!bd_conv_sizes(c, c->state, &shape, &output)) return;
    braid_tensor *y = bd_window_output(c, input->dtype, &output);
    if (y) convolve(c, BD_CONV_OUTPUT, &shape, &(bd_conv_data){input->data, filter->data, y->data, NULL});
}

static void input_grad_run(bd_op_ctx *c)
{
    const braid_tensor *filter = bd_input(c, 1), *grad = bd_input(c, 2);
    bd_conv_shape shape;
    braid_shape input;
    if (!bd_input_shape(c, 0, "input_sizes", &input) ||
        !grad_sizes(c, &input, &filter->shape, &grad->shape, &shape))
        return;
    braid_tensor *dx = bd_window_output(c, grad->dtype, &input);
    if (dx)
        convolve(c, BD_CONV_INPUT_GRAD, &shape, &(bd_conv_data){dx->data, filter->data, grad->data, NULL});
}

static void filter_grad_run(bd_op_ctx *c)
{
    const braid_tensor *input = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_conv_shape shape;
    braid_shape filter;
    if (!bd_input_shape(c, 1, "filter_sizes", &filter) ||
        !grad_sizes(c, &input->shape, &filter, &grad->shape, &shape))
        return;
    braid_tensor *df = bd_window_output(c, grad->dtype, &filter);
    if (df)
        convolve(c, BD_CONV_FILTER_GRAD, &shape, &(bd_conv_data){input->data, df->data, grad->data, NULL});
}

#define CONV_ATTRS "T:type{bfloat16,double,float,half}; use_cudnn_on_gpu:bool=true; " BD_CONV_WINDOW_ATTRS
#define CONV_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = BD_FLOATS,                                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_conv_state),                                                         \
                .create = conv_create,                                                                       \
                .destroy = conv_destroy,                                                                     \
                .run = (RUN)})

BD_OP(Conv2D) = {
    .signature = "(input: T, filter: T) -> (output: T)",
    .attrs = CONV_ATTRS,
    .shape = bd_conv_shape_fn,
    .gradient = conv_gradient,
    .kernels = CONV_KERNELS(conv_run),
    .doc =
        "Convolves images [batch, height, width, in_channels] (NCHW: channels second) with a filter [height, width, "
        "in_channels, out_channels].",
};

BD_OP(Conv2DBackpropInput) = {
    .signature = "(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
    .attrs = CONV_ATTRS,
    .shape = input_grad_shape,
    .gradient = input_grad_gradient,
    .kernels = CONV_KERNELS(input_grad_run),
    .doc = "The gradient of Conv2D for its input.",
};

BD_OP(Conv2DBackpropFilter) = {
    .signature = "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
    .attrs = CONV_ATTRS,
    .shape = filter_grad_shape,
    .gradient = filter_grad_gradient,
    .kernels = CONV_KERNELS(filter_grad_run),
    .doc = "The gradient of Conv2D for its filter.",
};

// ---- Depthwise ----

#define DEPTHWISE_ATTRS                                                                                      \
    "T:type{bfloat16,double,float,half}; strides:list(int); "                                                \
    "padding:string{SAME,VALID,EXPLICIT}; explicit_paddings:list(int)=[]; "                                  \
    "data_format:string{NHWC,NCHW}='NHWC'; dilations:list(int)=[1,1,1,1]"

BD_OP(DepthwiseConv2dNative) = {
    .signature = "(input: T, filter: T) -> (output: T)",
    .attrs = DEPTHWISE_ATTRS,
    .shape = bd_conv_shape_fn,
    .gradient = conv_gradient,
    .kernels = CONV_KERNELS(conv_run),
    .doc =
        "Convolves each channel of images with its own filters, [height, width, channels, channel_multiplier].",
};

BD_OP(DepthwiseConv2dNativeBackpropInput) = {
    .signature = "(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
    .attrs = DEPTHWISE_ATTRS,
    .shape = input_grad_shape,
    .gradient = input_grad_gradient,
    .kernels = CONV_KERNELS(input_grad_run),
    .doc = "The gradient of DepthwiseConv2dNative for its input.",
};

BD_OP(DepthwiseConv2dNativeBackpropFilter) = {
    .signature = "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
    .attrs = DEPTHWISE_ATTRS,
    .shape = filter_grad_shape,
    .gradient = filter_grad_gradient,
    .kernels = CONV_KERNELS(filter_grad_run),
    .doc = "The gradient of DepthwiseConv2dNative for its filter.",
};

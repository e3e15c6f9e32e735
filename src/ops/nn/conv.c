// Conv2D, DepthwiseConv2dNative, Conv3D and their gradients.
#include "ops/nn/conv.h"

#include "graph/grad.h"
#include "ops/common/element.h"

#include <string.h>

// ---- Shapes ----

// [batch, height, width, channels], of volumes with the depth before the height, in the order of the window's
// data format.
static braid_shape images(const bd_window *w, int64_t batch, const int64_t *size, int64_t channels)
{
    braid_shape s = {.rank = bd_window_rank(w), .dims = {batch}};
    for (int d = 0; d < w->spatial; d++)
        s.dims[bd_window_axis(w, d)] = size[d];
    s.dims[bd_window_channel_axis(w)] = channels;
    return s;
}

// Depthwise: each input channel has its own filters.
static bool is_depthwise(const braid_op *node)
{
    return strstr(node->op_type, "Depthwise") != NULL;
}

// The output channels of a filter whose last two sizes are [in, out], or [in, multiplier] if it is
// depthwise; -1: unknown.
static int64_t output_channels(const braid_op *node, const int64_t filter[2])
{
    int64_t channels;
    if (!is_depthwise(node)) return filter[1];
    if (filter[0] < 0 || filter[1] < 0) return -1;
    return __builtin_mul_overflow(filter[0], filter[1], &channels) ? INT64_MAX : channels;
}

// As in TensorFlow 1.15: a filter with fewer channels than the images makes a grouped convolution.
// `filter` is [in, out].
static braid_code check_channels(bd_shape_ctx *c, int64_t channels, const int64_t filter[2], braid_status *st)
{
    if (channels < 0 || filter[0] < 0 || channels == filter[0]) return BRAID_OK;
    if (is_depthwise(c->node))
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)channels, (long long)filter[0]);
    if (filter[0] == 0) return bd_shape_ctx_fail(c, st, "Depth of filter must not be 0");
    if (channels % filter[0])
        return bd_shape_ctx_fail(c, st,
                                 "Depth of input (%lld) is not a multiple of input depth of filter (%lld)",
                                 (long long)channels, (long long)filter[0]);
    int64_t groups = channels / filter[0];
    if (groups == 0) return bd_shape_ctx_fail(c, st, "Number of groups must not be 0");
    if (filter[1] >= 0 && filter[1] % groups)
        return bd_shape_ctx_fail(c, st,
                                 "Depth of output (%lld) is not a multiple of the number of groups (%lld)",
                                 (long long)filter[1], (long long)groups);
    return BRAID_OK;
}

braid_code bd_conv_shape_fn(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    for (int i = 0; i < 2 && !code; i++)
        code = bd_shape_ctx_rank(c, i, bd_window_rank(&w), st);
    if (code) return code;
    const braid_shape unknown = bd_window_unknown_shape(&w);
    const int64_t *in = (c->inputs[0].rank < 0 ? &unknown : &c->inputs[0])->dims,
                  *filter = (c->inputs[1].rank < 0 ? &unknown : &c->inputs[1])->dims,
                  *channels = filter + w.spatial;
    int64_t out[BD_SPATIAL_MAX];
    code = check_channels(c, in[bd_window_channel_axis(&w)], channels, st);
    for (int d = 0; d < w.spatial && !code; d++)
        code = bd_shape_ctx_window(c, &w, d, in[bd_window_axis(&w, d)], filter[d], &out[d], st);
    if (!code) c->outputs[0] = images(&w, in[0], out, output_channels(c->node, channels));
    return code;
}

// Sets the output's shape to the value of input `i`.
static braid_code shape_in_input(bd_shape_ctx *c, int i, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    return code ? code : bd_window_shape_in_input(c, &w, i, st);
}

static braid_code like_input_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_rank(c, 0, 5, st);
}

static braid_code like_filter_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[1];
    return bd_shape_ctx_rank(c, 1, 5, st);
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
    static const char *const names[][3] = {{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
                                           {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                            "DepthwiseConv2dNativeBackpropFilter"},
                                           {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}};
    int family = is_depthwise(c->op) ? 1 : strncmp(c->op->op_type, "Conv3D", strlen("Conv3D")) == 0 ? 2 : 0;
    braid_op_desc *d = braid_op_begin(c->graph, names[family][kind], NULL);
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
    if (strcmp(c->op->op_type, "Conv2D") == 0) { // TensorFlow asks for both shapes at once
        braid_op_desc *d = braid_op_begin(g, "ShapeN", NULL);
        braid_op_input_list(d, (braid_out[]){input, filter}, 2);
        braid_op *shapes = braid_op_end(d);
        c->input_grads[0] = conv_like(c, BD_CONV_INPUT_GRAD, braid_output(shapes, 0), filter, grad);
        c->input_grads[1] = conv_like(c, BD_CONV_FILTER_GRAD, input, braid_output(shapes, 1), grad);
        return;
    }
    c->input_grads[0] = conv_like(c, BD_CONV_INPUT_GRAD, bd_b_shape(g, NULL, input), filter, grad);
    c->input_grads[1] = conv_like(c, BD_CONV_FILTER_GRAD, input, bd_b_shape(g, NULL, filter), grad);
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

// The window has been read.
static braid_code bind_window(const braid_op *node, bd_conv_state *s, braid_status *st)
{
    braid_code code = bd_window_check_axes(node, &s->window, st);
    if (code) return code;
    s->type = bd_number_of(bd_node_attr_type(node, "T"));
    bd_primitive_cache_init(&s->cache);
    return BRAID_OK;
}

braid_code bd_conv_bind(const braid_op *node, bd_conv_state *s, braid_status *st)
{
    braid_code code = bd_window_read(node, &s->window, st);
    return code ? code : bind_window(node, s, st);
}

void bd_conv_unbind(bd_conv_state *s)
{
    bd_primitive_cache_fini(&s->cache);
}

static braid_code conv_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_conv_bind(node, state, st);
}

// Of the ops over volumes that have no data format.
static braid_code first_create(const braid_op *node, void *state, braid_status *st)
{
    bd_conv_state *s = state;
    braid_code code = bd_window_read_volumes(node, &s->window, st);
    return code ? code : bind_window(node, s, st);
}

static void conv_destroy(void *state)
{
    bd_conv_unbind(state);
}

static bool check_rank(bd_op_ctx *c, const bd_window *w, const char *what, const braid_shape *s)
{
    if (s->rank == bd_window_rank(w)) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be %d-dimensional: %s", what, bd_window_rank(w),
               bd_shape_str(s, text));
    return false;
}

// Computes the number of groups of a convolution with a filter of `of_filter` input channels. False: the
// kernel has failed.
static bool find_groups(bd_op_ctx *c, int64_t of_filter, bd_conv_shape *out)
{
    int64_t in = out->in_channels;
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

bool bd_conv_sizes_of(bd_op_ctx *c, const bd_window *w, const braid_shape *input, const braid_shape *filter,
                      bd_conv_shape *out, braid_shape *output)
{
    BD_STATUS(st);
    if (!check_rank(c, w, "input", input) || !check_rank(c, w, "filter", filter)) return false;
    const int64_t *channels = filter->dims + w->spatial;
    *out = (bd_conv_shape){.batch = input->dims[0],
                           .in_channels = input->dims[bd_window_channel_axis(w)],
                           .out_channels = output_channels(c->node, channels),
                           .in = {1},
                           .out = {1},
                           .filter = {1},
                           .stride = {1},
                           .dilation = {1},
                           .channels_first = w->channels_first};
    if (!find_groups(c, channels[0], out)) return false;
    for (int d = 0; d < w->spatial; d++) {
        bd_window_fit fit;
        const int k = bd_window_triple(w, d);
        out->in[k] = input->dims[bd_window_axis(w, d)];
        out->filter[k] = filter->dims[d];
        if (bd_window_fit_dimension(w, d, out->in[k], out->filter[k], &fit, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        out->out[k] = fit.out;
        out->pad_before[k] = fit.before;
        out->pad_after[k] = fit.after;
        out->stride[k] = w->stride[d];
        out->dilation[k] = w->dilation[d];
    }
    *output = images(w, out->batch, out->out + bd_window_triple(w, 0), out->out_channels);
    return true;
}

// The same for a gradient op, which gets the gradient of the output.
static bool grad_sizes(bd_op_ctx *c, const braid_shape *input, const braid_shape *filter,
                       const braid_shape *grad, bd_conv_shape *out)
{
    const bd_conv_state *s = c->state;
    braid_shape output;
    if (!bd_conv_sizes_of(c, &s->window, input, filter, out, &output) ||
        !check_rank(c, &s->window, "out_backprop", grad))
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
    return bd_conv_sizes_of(c, &s->window, &bd_input(c, 0)->shape, &bd_input(c, 1)->shape, shape, output);
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
    if (y)
        convolve(c, BD_CONV_OUTPUT, &shape,
                 &(bd_conv_data){.input = input->data, .filter = filter->data, .output = y->data});
}

static void input_grad(bd_op_ctx *c, const braid_shape *input)
{
    const braid_tensor *filter = bd_input(c, 1), *grad = bd_input(c, 2);
    bd_conv_shape shape;
    if (!grad_sizes(c, input, &filter->shape, &grad->shape, &shape)) return;
    braid_tensor *dx = bd_window_output(c, grad->dtype, input);
    if (dx)
        convolve(c, BD_CONV_INPUT_GRAD, &shape,
                 &(bd_conv_data){.input = dx->data, .filter = filter->data, .output = grad->data});
}

static void input_grad_run(bd_op_ctx *c)
{
    braid_shape input;
    if (bd_input_shape(c, 0, "input_sizes", &input)) input_grad(c, &input);
}

static void filter_grad(bd_op_ctx *c, const braid_shape *filter)
{
    const braid_tensor *input = bd_input(c, 0), *grad = bd_input(c, 2);
    bd_conv_shape shape;
    if (!grad_sizes(c, &input->shape, filter, &grad->shape, &shape)) return;
    braid_tensor *df = bd_window_output(c, grad->dtype, filter);
    if (df)
        convolve(c, BD_CONV_FILTER_GRAD, &shape,
                 &(bd_conv_data){.input = input->data, .filter = df->data, .output = grad->data});
}

static void filter_grad_run(bd_op_ctx *c)
{
    braid_shape filter;
    if (bd_input_shape(c, 1, "filter_sizes", &filter)) filter_grad(c, &filter);
}

// The first versions of Conv3D's gradient ops get the tensor itself whose shape the gradient has.
static void input_grad_like_run(bd_op_ctx *c)
{
    input_grad(c, &bd_input(c, 0)->shape);
}

static void filter_grad_like_run(bd_op_ctx *c)
{
    filter_grad(c, &bd_input(c, 1)->shape);
}

#define CONV_ATTRS "T:type{bfloat16,double,float,half}; use_cudnn_on_gpu:bool=true; " BD_CONV_WINDOW_ATTRS
#define CONV_KERNELS(RUN) KERNELS(conv_create, RUN)
#define KERNELS(CREATE, RUN)                                                                                 \
    BD_KERNELS({.types = BD_FLOATS,                                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_conv_state),                                                         \
                .create = (CREATE),                                                                          \
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
    "padding:string{SAME,VALID,EXPLICIT}; +explicit_paddings:list(int)=[]; "                                 \
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

// ---- Volumes ----

#define VOLUME_ATTRS(TYPES, FORMAT)                                                                          \
    "T:type{" TYPES "}; strides:list(int)>=5; padding:string{SAME,VALID}; " FORMAT                           \
    "dilations:list(int)=[1,1,1,1,1]"
#define CONV3D_ATTRS VOLUME_ATTRS("bfloat16,double,float,half", "data_format:string{NDHWC,NCDHW}='NDHWC'; ")
#define FIRST_CONV3D_ATTRS VOLUME_ATTRS("double,float,half", "")

BD_OP(Conv3D) = {
    .signature = "(input: T, filter: T) -> (output: T)",
    .attrs = CONV3D_ATTRS,
    .shape = bd_conv_shape_fn,
    .gradient = conv_gradient,
    .kernels = CONV_KERNELS(conv_run),
    .doc =
        "Convolves volumes [batch, depth, height, width, in_channels] (NCDHW: channels second) with a filter [depth, "
        "height, width, in_channels, out_channels].",
};

BD_OP(Conv3DBackpropInputV2) = {
    .signature = "(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T)",
    .attrs = CONV3D_ATTRS "; Tshape:type{int32,int64}=int32",
    .shape = input_grad_shape,
    .gradient = input_grad_gradient,
    .kernels = CONV_KERNELS(input_grad_run),
    .doc = "The gradient of Conv3D for its input.",
};

BD_OP(Conv3DBackpropFilterV2) = {
    .signature = "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
    .attrs = CONV3D_ATTRS,
    .shape = filter_grad_shape,
    .gradient = filter_grad_gradient,
    .kernels = CONV_KERNELS(filter_grad_run),
    .doc = "The gradient of Conv3D for its filter.",
};

BD_OP(Conv3DBackpropInput) = {
    .signature = "(input: T, filter: T, out_backprop: T) -> (output: T)",
    .attrs = FIRST_CONV3D_ATTRS,
    .shape = like_input_shape,
    .kernels = KERNELS(first_create, input_grad_like_run),
    .doc = "The gradient of Conv3D for its input, which is given in place of its shape: an old form of "
           "Conv3DBackpropInputV2.",
};

BD_OP(Conv3DBackpropFilter) = {
    .signature = "(input: T, filter: T, out_backprop: T) -> (output: T)",
    .attrs = FIRST_CONV3D_ATTRS,
    .shape = like_filter_shape,
    .kernels = KERNELS(first_create, filter_grad_like_run),
    .doc = "The gradient of Conv3D for its filter, which is given in place of its shape: an old form of "
           "Conv3DBackpropFilterV2.",
};

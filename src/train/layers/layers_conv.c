// Convolutions with their variables.
#include "train/layers/layer.h"

// A convolution while it is built.
typedef struct conv {
    train_layer l;
    braid_out x;
    int64_t filters;
    int64_t kernel[2]; // {height, width}; of sequences the length, 1
    int64_t in;
    train_windows windows;
} conv;

// What the input of a layer must be.
static const char images[] =
    "must be [batch, height, width, channels] (or as the data format says) with a known "
    "number of channels";
static const char sequences[] =
    "must be [batch, length, channels] (or as the data format says) with a known number "
    "of channels";

// {height, width} of a pair of options, in which 0 stands for `unset`, or, second, for the first one.
static void get_pair(const int pair[2], int unset, int64_t size[2])
{
    size[0] = pair[0] ? pair[0] : unset;
    size[1] = pair[1] ? pair[1] : size[0];
}

static bool check_sizes(const conv *c)
{
    const train_windows *w = &c->windows;
    const int64_t sizes[] = {c->filters,    c->kernel[0],   c->kernel[1],  w->strides[0],
                             w->strides[1], w->dilation[0], w->dilation[1]};
    static const char *const names[] = {
        "number of filters", "kernel height", "kernel width", "stride", "stride", "dilation", "dilation"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] > 0) continue;
        braid_graph_fail(c->l.g, BRAID_INVALID_ARGUMENT, "Layer '%s': a %s of %lld",
                         c->l.o.name ? c->l.o.name : c->l.kind, names[i], (long long)sizes[i]);
        return false;
    }
    return true;
}

// Checks the input, images or sequences as `form` says, and the numbers, and enters the scope of the layer.
// False: the graph has failed.
static bool begin(conv *c, braid_graph *g, const char *kind, const char *form,
                  const braid_conv_options *options)
{
    static const braid_conv_options none;
    const braid_conv_options *o = options ? options : &none;
    c->l = (train_layer){.g = g, .kind = kind, .o = o->layer};
    if (!train_layer_check(g, kind, o->layer.name, c->x)) return false;
    const bool first = o->data_format == BRAID_CHANNELS_FIRST;
    const braid_shape shape = braid_out_shape(c->x);
    const int rank = form == sequences ? 3 : 4;
    if (shape.rank != rank || shape.dims[first ? 1 : rank - 1] < 0)
        return train_layer_fail(g, kind, o->layer.name, c->x, form);
    c->in = shape.dims[first ? 1 : rank - 1];
    c->l.dtype = train_base_dtype(braid_out_dtype(c->x));
    c->windows =
        (train_windows){.padding = o->same_padding ? BRAID_SAME : BRAID_VALID, .channels_first = first};
    get_pair(o->strides, 1, c->windows.strides);
    get_pair(o->dilation, 1, c->windows.dilation);
    if (!check_sizes(c)) return false;
    train_layer_push(g, kind, o->layer.name, o->layer.reuse);
    return true;
}

// The bias of sequences [batch, channels, length], which BiasAdd does not take.
static braid_out add_between(const conv *c, braid_out out, braid_out bias)
{
    return braid_add(c->l.g, out, braid_reshape(c->l.g, bias, BRAID_SHAPE(1, c->filters, 1)));
}

static braid_out add_bias(const conv *c, braid_out out)
{
    const braid_out bias = train_layer_bias(&c->l, c->filters);
    if (!c->windows.channels_first) return braid_bias_add(c->l.g, out, bias);
    if (braid_out_shape(c->x).rank == 3) return add_between(c, out, bias);
    braid_op_desc *d = braid_op_begin(c->l.g, "BiasAdd", NULL);
    braid_op_input(d, out);
    braid_op_input(d, bias);
    braid_op_attr_string(d, "data_format", "NCHW");
    return braid_op_end_out(d);
}

// Adds the bias, unless there is none, and ends the layer.
static braid_out end(const conv *c, braid_out out)
{
    return train_layer_end(&c->l, c->l.o.no_bias ? out : add_bias(c, out));
}

// A kernel with the options of kernels.
static braid_out kernel_of(const conv *c, const char *name, braid_shape shape)
{
    const train_layer_care care = train_kernel_care(&c->l);
    return train_layer_variable(&c->l, name, shape, &care);
}

// The beginning of tf.nn.convolution: a scope, and two constants that TensorFlow builds and does not use.
static const char *push_convolution(braid_graph *g, const char *scope, braid_out kernel, int dims)
{
    const int32_t ones[] = {1, 1};
    scope = braid_push_name_scope(g, scope);
    train_shape_of(g, kernel);
    braid_const_int32s(g, "dilation_rate", ones, dims);
    return scope;
}

// ---- Images ----

braid_out braid_layers_conv2d(braid_graph *g, braid_out x, int64_t filters, int kernel_height,
                              int kernel_width, const braid_conv_options *options)
{
    conv c = {.x = x, .filters = filters, .kernel = {kernel_height, kernel_width}};
    if (!begin(&c, g, "conv2d", images, options)) return BRAID_NONE;
    const braid_out kernel = kernel_of(&c, "kernel", BRAID_SHAPE(kernel_height, kernel_width, c.in, filters));
    const char *scope = push_convolution(g, "convolution", kernel, 2);
    const braid_out out = train_over_windows(g, "Conv2D", scope, (braid_out[]){x, kernel}, 2, &c.windows);
    braid_pop_name_scope(g);
    return end(&c, out);
}

braid_out braid_conv2d_layer(braid_graph *g, const char *name, braid_out x, int64_t filters, int kernel_size,
                             int stride, braid_padding padding)
{
    const braid_conv_options o = {
        .layer.name = name, .strides = {stride}, .same_padding = padding == BRAID_SAME};
    return braid_layers_conv2d(g, x, filters, kernel_size, kernel_size, &o);
}

braid_out braid_layers_separable_conv2d(braid_graph *g, braid_out x, int64_t filters, int kernel_height,
                                        int kernel_width, const braid_separable_conv_options *options)
{
    static const braid_separable_conv_options none;
    const braid_separable_conv_options *o = options ? options : &none;
    conv c = {.x = x, .filters = filters, .kernel = {kernel_height, kernel_width}};
    if (!begin(&c, g, "separable_conv2d", images, &o->conv)) return BRAID_NONE;
    const int64_t multiplier = o->depth_multiplier ? o->depth_multiplier : 1;
    const train_layer_care care = {o->depthwise_initializer, o->depthwise_regularizer,
                                   o->depthwise_constraint};
    const braid_out depthwise = train_layer_variable(
        &c.l, "depthwise_kernel", BRAID_SHAPE(kernel_height, kernel_width, c.in, multiplier), &care);
    const braid_out pointwise =
        kernel_of(&c, "pointwise_kernel", BRAID_SHAPE(1, 1, c.in * multiplier, filters));
    const char *scope = push_convolution(g, "separable_conv2d", depthwise, 2);
    const braid_out each = train_over_windows(g, "DepthwiseConv2dNative", "depthwise",
                                              (braid_out[]){x, depthwise}, 2, &c.windows);
    const train_windows single = {
        .strides = {1, 1}, .padding = BRAID_VALID, .channels_first = c.windows.channels_first};
    const braid_out out = train_over_windows(g, "Conv2D", scope, (braid_out[]){each, pointwise}, 2, &single);
    braid_pop_name_scope(g);
    return end(&c, out);
}

// ---- Transposed ----

// How far windows overlap, which adds to the size of the result.
static int64_t overlap(const conv *c, int which)
{
    const int64_t more = c->kernel[which] - c->windows.strides[which];
    return c->windows.padding == BRAID_VALID && more > 0 ? more : 0;
}

// The size of the result along height (0) or width (1), -1: unknown.
static int64_t enlarged(const conv *c, int64_t size, int which)
{
    return size < 0 ? -1 : size * c->windows.strides[which] + overlap(c, which);
}

static braid_out enlarged_node(const conv *c, braid_out size, int which)
{
    braid_graph *g = c->l.g;
    const braid_out out = train_op_number(g, "Mul", "mul", size, (double)c->windows.strides[which]);
    if (c->windows.padding == BRAID_SAME) return out;
    return train_op_number(g, "Add", "add", out, (double)overlap(c, which));
}

braid_out braid_layers_conv2d_transpose(braid_graph *g, braid_out x, int64_t filters, int kernel_height,
                                        int kernel_width, const braid_conv_options *options)
{
    static const char kind[] = "conv2d_transpose";
    conv c = {.x = x, .filters = filters, .kernel = {kernel_height, kernel_width}};
    if (options && (options->dilation[0] > 1 || options->dilation[1] > 1)) {
        train_layer_fail(g, kind, options->layer.name, x, "cannot be convolved with dilation");
        return BRAID_NONE;
    }
    if (!begin(&c, g, kind, images, options)) return BRAID_NONE;
    const braid_out kernel = kernel_of(&c, "kernel", BRAID_SHAPE(kernel_height, kernel_width, filters, c.in));
    const int height = c.windows.channels_first ? 2 : 1, channels = c.windows.channels_first ? 1 : 3;
    const braid_out of_x = train_shape_of(g, x);
    braid_out dims[4];
    dims[0] = train_first_of(g, of_x);
    braid_out size[2] = {train_element(g, of_x, height), train_element(g, of_x, height + 1)};
    dims[height] = enlarged_node(&c, size[0], 0);
    dims[height + 1] = enlarged_node(&c, size[1], 1);
    dims[channels] = braid_const_int32(g, "stack/3", (int32_t)filters);
    const braid_out inputs[] = {train_stack(g, "stack", dims, 4), kernel, x};
    const braid_out out =
        train_over_windows(g, "Conv2DBackpropInput", "conv2d_transpose", inputs, 3, &c.windows);
    braid_shape shape = braid_out_shape(x);
    shape.dims[height] = enlarged(&c, shape.dims[height], 0);
    shape.dims[height + 1] = enlarged(&c, shape.dims[height + 1], 1);
    shape.dims[channels] = filters;
    if (out.op) braid_set_shape(out, shape);
    return end(&c, out);
}

// ---- Sequences ----

// Images of height 1.
braid_out braid_layers_conv1d(braid_graph *g, braid_out x, int64_t filters, int kernel_size,
                              const braid_conv_options *options)
{
    conv c = {.x = x, .filters = filters, .kernel = {kernel_size, 1}};
    if (!begin(&c, g, "conv1d", sequences, options)) return BRAID_NONE;
    c.windows.strides[1] = c.windows.strides[0];
    c.windows.dilation[1] = c.windows.dilation[0];
    c.windows.strides[0] = c.windows.dilation[0] = 1;
    const braid_out kernel = kernel_of(&c, "kernel", BRAID_SHAPE(kernel_size, c.in, filters));
    (void)push_convolution(g, "convolution", kernel, 1);
    const int32_t axis = c.windows.channels_first ? 2 : 1;
    const braid_out image = braid_expand_dims(g, x, axis);
    const braid_out inputs[] = {image, braid_expand_dims(g, kernel, 0)};
    braid_out out = train_over_windows(g, "Conv2D", NULL, inputs, 2, &c.windows);
    out = braid_squeeze(g, out, &axis, 1);
    braid_pop_name_scope(g);
    return end(&c, out);
}

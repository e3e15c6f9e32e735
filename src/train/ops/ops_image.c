// Images [batch, height, width, channels] in networks: convolution, pooling, dropout, reshaping.
#include "train/common/build.h"

#include <braid/ops.h>

static const char *padding_name(braid_padding padding)
{
    return padding == BRAID_VALID ? "VALID" : "SAME";
}

// Sizes in height and width as an attribute; one in batch and channels.
static void window_attr(braid_op_desc *d, const char *name, const int64_t *size, bool channels_first)
{
    const int64_t last[] = {1, size[0], size[1], 1}, first[] = {1, 1, size[0], size[1]};
    braid_op_attr_int_list(d, name, channels_first ? first : last, 4);
}

braid_out train_over_windows(braid_graph *g, const char *op_type, const char *name, const braid_out *inputs,
                             int count, const train_windows *w)
{
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (w->size[0]) window_attr(d, "ksize", w->size, w->channels_first);
    window_attr(d, "strides", w->strides, w->channels_first);
    if (w->dilation[0] > 1 || w->dilation[1] > 1) window_attr(d, "dilations", w->dilation, w->channels_first);
    braid_op_attr_string(d, "padding", padding_name(w->padding));
    if (w->channels_first) braid_op_attr_string(d, "data_format", "NCHW");
    return braid_op_end_out(d);
}

braid_out braid_conv2d(braid_graph *g, braid_out x, braid_out filter, int stride, braid_padding padding)
{
    const train_windows w = {.strides = {stride, stride}, .padding = padding};
    return train_over_windows(g, "Conv2D", NULL, (braid_out[]){x, filter}, 2, &w);
}

static braid_out pool(braid_graph *g, const char *op_type, braid_out x, int size, int stride,
                      braid_padding padding)
{
    const train_windows w = {.size = {size, size}, .strides = {stride, stride}, .padding = padding};
    return train_over_windows(g, op_type, NULL, &x, 1, &w);
}

braid_out braid_max_pool(braid_graph *g, braid_out x, int size, int stride, braid_padding padding)
{
    return pool(g, "MaxPool", x, size, stride, padding);
}

braid_out braid_avg_pool(braid_graph *g, braid_out x, int size, int stride, braid_padding padding)
{
    return pool(g, "AvgPool", x, size, stride, padding);
}

// ---- Dropout ----

// floor(keep_prob + uniform) is 1 with probability keep_prob, else 0.
braid_out train_dropout(braid_graph *g, braid_out x, const train_dropout_spec *spec)
{
    const train_random r = {.distribution = BRAID_UNIFORM,
                            .dtype = train_base_dtype(braid_out_dtype(x)),
                            .b = 1,
                            .seed = spec->seed,
                            .has_seed = spec->has_seed};
    braid_out shape = spec->noise_shape.op ? spec->noise_shape : train_shape_of(g, x);
    braid_out random = braid_add(g, spec->keep_prob, train_random_uniform_with(g, shape, &r));
    braid_out kept = train_node1(g, "Floor", NULL, random);
    braid_out scaled = train_node2(g, "RealDiv", "div", x, spec->keep_prob);
    return braid_mul(g, scaled, kept);
}

braid_out braid_dropout(braid_graph *g, braid_out x, braid_out keep_prob)
{
    if (!x.op || !keep_prob.op) return BRAID_NONE;
    (void)braid_push_name_scope(g, "dropout");
    braid_out out = train_dropout(g, x, &(train_dropout_spec){.keep_prob = keep_prob});
    braid_pop_name_scope(g);
    return out;
}

// ---- New shapes ----

braid_out braid_reshape(braid_graph *g, braid_out x, braid_shape shape)
{
    const char *scope = braid_push_name_scope(g, "Reshape");
    braid_out dims = train_const_shape(g, "shape", shape);
    braid_pop_name_scope(g);
    return train_node2(g, "Reshape", scope, x, dims);
}

braid_out braid_flatten(braid_graph *g, braid_out x)
{
    if (!x.op) return BRAID_NONE;
    braid_shape shape = braid_out_shape(x);
    int64_t width = 1;
    for (int i = 1; i < shape.rank && width >= 0; i++)
        width = shape.dims[i] < 0 || __builtin_mul_overflow(width, shape.dims[i], &width) ? -1 : width;
    if (shape.rank < 1 || width < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Flatten of '%s': all its dimensions but the first must be known",
                         braid_op_name(x.op));
        return BRAID_NONE;
    }
    return braid_reshape(g, x, BRAID_SHAPE(-1, width));
}

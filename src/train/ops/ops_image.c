// Images [batch, height, width, channels] in networks: convolution, pooling, dropout, reshaping.
#include "train/common/build.h"

#include <braid/ops.h>

static const char *padding_name(braid_padding padding)
{
    return padding == BRAID_VALID ? "VALID" : "SAME";
}

// The attribute of a window: `n` in height and width, one in batch and channels.
static void window_attr(braid_op_desc *d, const char *name, int n)
{
    const int64_t window[] = {1, n, n, 1};
    braid_op_attr_int_list(d, name, window, 4);
}

braid_out braid_conv2d(braid_graph *g, braid_out x, braid_out filter, int stride, braid_padding padding)
{
    return train_conv2d(g, NULL, x, filter, stride, padding);
}

braid_out train_conv2d(braid_graph *g, const char *name, braid_out x, braid_out filter, int stride,
                       braid_padding padding)
{
    braid_op_desc *d = braid_op_begin(g, "Conv2D", name);
    braid_op_input(d, x);
    braid_op_input(d, filter);
    window_attr(d, "strides", stride);
    braid_op_attr_string(d, "padding", padding_name(padding));
    return braid_op_end_out(d);
}

static braid_out pool(braid_graph *g, const char *op_type, braid_out x, int size, int stride,
                      braid_padding padding)
{
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, x);
    window_attr(d, "ksize", size);
    window_attr(d, "strides", stride);
    braid_op_attr_string(d, "padding", padding_name(padding));
    return braid_op_end_out(d);
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
braid_out braid_dropout(braid_graph *g, braid_out x, braid_out keep_prob)
{
    if (!x.op || !keep_prob.op) return BRAID_NONE;
    (void)braid_push_name_scope(g, "dropout");
    braid_out shape = train_shape_of(g, x);
    braid_dtype dtype = train_base_dtype(braid_out_dtype(x));
    braid_out random = braid_add(g, keep_prob, train_random_uniform(g, dtype, shape, 0, 1));
    braid_out kept = train_node1(g, "Floor", NULL, random);
    braid_out scaled = train_node2(g, "RealDiv", "div", x, keep_prob);
    braid_out out = braid_mul(g, scaled, kept);
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

// Layers: a few nodes and their variables in one call.
#include <braid/layers.h>

#include "train/common/build.h"
#include <braid/variable_scope.h>

static const braid_initializer inherited_initializer; // the variable scope's, else Glorot's

// The variable scope of a layer: a given name is taken as it is, so that layers can share their variables.
static void push_layer(braid_graph *g, const char *name, const char *layer)
{
    (void)braid_push_variable_scope(g, name ? name : layer, &(braid_variable_scope_options){.unique = !name});
}

braid_out braid_dense(braid_graph *g, const char *name, braid_out x, int64_t units)
{
    if (!x.op) return BRAID_NONE;
    braid_shape shape = braid_out_shape(x);
    if (shape.rank != 2 || shape.dims[1] < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Dense layer '%s': its input '%s' must be a matrix whose second dimension is known",
                         name ? name : "dense", braid_op_name(x.op));
        return BRAID_NONE;
    }
    push_layer(g, name, "dense");
    braid_variable kernel = braid_variable_get(g, "kernel", BRAID_FLOAT, BRAID_SHAPE(shape.dims[1], units),
                                               inherited_initializer, true);
    braid_variable bias =
        braid_variable_get(g, "bias", BRAID_FLOAT, BRAID_SHAPE(units), braid_zeros_initializer(), true);
    braid_out out = braid_bias_add(g, braid_matmul(g, x, kernel.read), bias.read);
    braid_pop_variable_scope(g);
    return out;
}

// The nodes of tf.nn.convolution: two unused constants, and Conv2D.
static braid_out convolution(braid_graph *g, braid_out x, braid_out kernel, int stride, braid_padding padding)
{
    const int32_t ones[] = {1, 1};
    const char *scope = braid_push_name_scope(g, "convolution");
    train_shape_of(g, kernel);
    braid_const_int32s(g, "dilation_rate", ones, 2);
    braid_out out = train_conv2d(g, scope, x, kernel, stride, padding);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_conv2d_layer(braid_graph *g, const char *name, braid_out x, int64_t filters, int kernel_size,
                             int stride, braid_padding padding)
{
    if (!x.op) return BRAID_NONE;
    braid_shape shape = braid_out_shape(x);
    if (shape.rank != 4 || shape.dims[3] < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Convolution '%s': its input '%s' must be [batch, height, width, channels] with a "
                         "known number of channels",
                         name ? name : "conv2d", braid_op_name(x.op));
        return BRAID_NONE;
    }
    push_layer(g, name, "conv2d");
    braid_shape kernel_shape = BRAID_SHAPE(kernel_size, kernel_size, shape.dims[3], filters);
    braid_variable kernel =
        braid_variable_get(g, "kernel", BRAID_FLOAT, kernel_shape, inherited_initializer, true);
    braid_variable bias =
        braid_variable_get(g, "bias", BRAID_FLOAT, BRAID_SHAPE(filters), braid_zeros_initializer(), true);
    braid_out out = braid_bias_add(g, convolution(g, x, kernel.read, stride, padding), bias.read);
    braid_pop_variable_scope(g);
    return out;
}

// Layers: a few nodes and their variables in one call.
#ifndef BRAID_LAYERS_H
#define BRAID_LAYERS_H

#include <braid/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A fully connected layer (tf.layers.dense): `x` [batch, in] times NAME/kernel [in, units] (initialized as
/// the variable scope says, else Glorot uniform) plus NAME/bias [units] (zeros). Returns [batch, units]; no
/// activation function. The graph fails when `in` is not known. `name` NULL: "dense".
BRAID_API braid_out braid_dense(braid_graph *graph, const char *name, braid_out x, int64_t units);

/// A convolution (tf.layers.conv2d): `x` [batch, height, width, in] with NAME/kernel [kernel_size,
/// kernel_size, in, filters] (initialized likewise) and stride `stride`, plus NAME/bias [filters] (zeros).
/// Returns [batch, height, width, filters] with height and width according to `padding`, without an
/// activation function. The graph fails when `in` is unknown. `name` NULL: "conv2d".
BRAID_API braid_out braid_conv2d_layer(braid_graph *graph, const char *name, braid_out x, int64_t filters,
                                       int kernel_size, int stride, braid_padding padding);

#ifdef __cplusplus
}
#endif
#endif

// Convolutions of images and of volumes, and their gradients: float by oneDNN, float and double by plain
// loops.
#ifndef BD_KERNELS_CONV_H
#define BD_KERNELS_CONV_H

#include "kernels/number.h"
#include "kernels/primitive_cache.h"
#include "kernels/simd.h"
#include "kernels/volume.h"
#include <stdbool.h>
#include <stdint.h>

// Which of the three tensors is computed from the other two.
typedef enum bd_conv_kind {
    BD_CONV_OUTPUT,
    BD_CONV_INPUT_GRAD,
    BD_CONV_FILTER_GRAD
} bd_conv_kind;

// Triples are depth, height, width. An image is a volume of depth 1 without padding, with a filter of depth
// 1, whose stride and dilation are 1. All are 64 bits wide, so that shapes can be compared as memory.
typedef struct bd_conv_shape {
    int64_t batch, in_channels, out_channels;
    int64_t in[3], out[3], filter[3];
    int64_t stride[3], dilation[3];      // dilation 1: a dense filter
    int64_t pad_before[3], pad_after[3]; // zeros around the input
    int64_t channels_first;              // 1: input and output are [batch, channels, depth, height, width]
    int64_t has_bias;                    // of BD_CONV_OUTPUT by bd_primitive.run
    // The channels are in so many groups, of `in` and of `out` ones, and each group is convolved apart from
    // the others: 1 for an ordinary convolution, in_channels for a depthwise one. At least 1, and divides
    // both.
    int64_t groups;
} bd_conv_shape;

// Memory of the three tensors, which do not overlap. One is written, see bd_conv_kind.
typedef struct bd_conv_data {
    void *input;  // [batch, depth, height, width, in_channels]
    void *filter; // [depth, height, width, in_channels / groups, out_channels]
    void *output; // [batch, depth, height, width, out_channels]
    void *bias;   // [out_channels]; NULL without one
    // Applied to what BD_CONV_OUTPUT by bd_primitive.run has written, part by part while it is in the cache;
    // NULL: nothing.
    bd_unary_fn activation;
} bd_conv_data;

// Returns a convolution of float tensors prepared for one kind and shape, which runs over bd_conv_data: from
// the cache, which serves one kind, or a new one. NULL when oneDNN does not support it, or a dimension is 0:
// use bd_conv_plain then. Give it back with bd_primitive_give.
bd_primitive *bd_conv_take(bd_primitive_cache *cache, bd_conv_kind kind, const bd_conv_shape *shape);

// Any shape, of BD_F32 or BD_F64, by loops: the reference for the other. Without bias.
void bd_conv_plain(bd_number type, bd_conv_kind kind, const bd_conv_shape *shape, const bd_conv_data *data);

#endif

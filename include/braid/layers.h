// Layers: a few nodes and their variables in one call (tf.layers).
//
//     braid_out x = braid_layers_conv2d(graph, images, 32, 3, 3,
//                                       &(braid_conv_options){.layer.activation = braid_relu});
//     x = braid_layers_batch_normalization(graph, x, &(braid_batch_normalization_options){.training = true});
//     ...
//     braid_push_update_ops(graph); // training waits for the moving averages of batch normalization
//     braid_op *train = braid_minimize(optimizer, loss, step);
//     braid_pop_control(graph);
//
// A layer has a variable scope of its name, as TensorFlow 1.x gives it: "conv2d", "conv2d_1" ..., with the
// variables conv2d/kernel and conv2d/bias, so that checkpoints can be exchanged. A name that the program
// gives is taken as it is, and layers of one name share their variables where they reuse them. Options that
// are all zero (or NULL) are TensorFlow's defaults. Variables have the type of the input: half, float or
// double. Errors are the graph's (graph.h): an input of a wrong rank, or whose channels are not known.
#ifndef BRAID_LAYERS_H
#define BRAID_LAYERS_H

#include <braid/ops.h>
#include <braid/variable_scope.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Simple forms ----

/// A fully connected layer (tf.layers.dense): `x` [..., in] times NAME/kernel [in, units] (initialized as
/// the variable scope says, else Glorot uniform) plus NAME/bias [units] (zeros). Returns [..., units]; no
/// activation function. The graph fails when `in` is not known. `name` NULL: "dense".
BRAID_API braid_out braid_dense(braid_graph *graph, const char *name, braid_out x, int64_t units);

/// A convolution (tf.layers.conv2d): `x` [batch, height, width, in] with NAME/kernel [kernel_size,
/// kernel_size, in, filters] (initialized likewise) and stride `stride`, plus NAME/bias [filters] (zeros).
/// Returns [batch, height, width, filters] with height and width according to `padding`, without an
/// activation function. The graph fails when `in` is unknown. `name` NULL: "conv2d".
BRAID_API braid_out braid_conv2d_layer(braid_graph *graph, const char *name, braid_out x, int64_t filters,
                                       int kernel_size, int stride, braid_padding padding);

// ---- Layers with a kernel ----

/// What layers with a kernel have in common.
typedef struct braid_layer_options {
    const char *name;            ///< NULL: the layer's function, made unique
    braid_reuse reuse;           ///< whether the variables of a layer of that name exist; needs a name
    bool untrained;              ///< the variables are not in "trainable_variables" (trainable=False)
    bool no_bias;                ///< use_bias=False
    braid_activation activation; ///< such as braid_relu; NULL: none
    braid_initializer kernel_initializer; ///< `build` NULL: as the variable scope says, else Glorot uniform
    braid_initializer bias_initializer;   ///< `build` NULL: zeros
    /// Losses of the kernel, the bias and the output, in BRAID_REGULARIZATION_LOSSES. `build` NULL: the
    /// variable scope's; none for the output.
    braid_regularizer kernel_regularizer, bias_regularizer, activity_regularizer;
    braid_constraint kernel_constraint, bias_constraint; ///< `build` NULL: the variable scope's
} braid_layer_options;

/// braid_dense with options: activation(x kernel + bias).
BRAID_API braid_out braid_layers_dense(braid_graph *graph, braid_out x, int64_t units,
                                       const braid_layer_options *options);

/// The order of the dimensions of images, and of sequences without their height.
typedef enum braid_data_format {
    BRAID_CHANNELS_LAST = 0, ///< [batch, height, width, channels]
    BRAID_CHANNELS_FIRST = 1 ///< [batch, channels, height, width]
} braid_data_format;

/// Options of convolutions. Of each pair, {height, width}, a second element of 0 stands for the first one.
typedef struct braid_conv_options {
    braid_layer_options layer;
    int strides[2];    ///< 0: 1
    int dilation[2];   ///< the distance of the kernel's elements; 0: 1. TensorFlow 1.x builds SpaceToBatchND
                       ///< for it, Braid the op's attribute "dilations", of the same values
    bool same_padding; ///< padding="same" (BRAID_SAME); else "valid", TensorFlow's default
    braid_data_format data_format;
} braid_conv_options;

/// `filters` convolutions along sequences [batch, length, in] with NAME/kernel [kernel_size, in, filters]
/// (tf.layers.conv1d). The first element of strides and dilation counts.
BRAID_API braid_out braid_layers_conv1d(braid_graph *graph, braid_out x, int64_t filters, int kernel_size,
                                        const braid_conv_options *options);
/// Images with NAME/kernel [kernel_height, kernel_width, in, filters] (tf.layers.conv2d).
BRAID_API braid_out braid_layers_conv2d(braid_graph *graph, braid_out x, int64_t filters, int kernel_height,
                                        int kernel_width, const braid_conv_options *options);
/// The transposed convolution, the gradient of a convolution for its input, which enlarges images by the
/// strides (tf.layers.conv2d_transpose): NAME/kernel [kernel_height, kernel_width, filters, in]. The size
/// becomes size * stride, plus max(kernel - stride, 0) without `same_padding`. No dilation.
BRAID_API braid_out braid_layers_conv2d_transpose(braid_graph *graph, braid_out x, int64_t filters,
                                                  int kernel_height, int kernel_width,
                                                  const braid_conv_options *options);

/// Options of separable convolutions.
typedef struct braid_separable_conv_options {
    braid_conv_options conv;                 ///< options of the kernel are those of the pointwise kernel
    int depth_multiplier;                    ///< the number of filters of each channel; 0: 1
    braid_initializer depthwise_initializer; ///< `build` NULL: as for kernels
    braid_regularizer depthwise_regularizer;
    braid_constraint depthwise_constraint;
} braid_separable_conv_options;

/// Each channel by itself with NAME/depthwise_kernel [kernel_height, kernel_width, in, depth_multiplier],
/// then all channels together with NAME/pointwise_kernel [1, 1, in * depth_multiplier, filters]
/// (tf.layers.separable_conv2d).
BRAID_API braid_out braid_layers_separable_conv2d(braid_graph *graph, braid_out x, int64_t filters,
                                                  int kernel_height, int kernel_width,
                                                  const braid_separable_conv_options *options);

// ---- Pooling ----

typedef struct braid_pooling_options {
    const char *name;  ///< of the name scope; NULL: the layer's function
    int pool_size[2];  ///< {height, width}, must be set; a second element of 0 stands for the first one
    int strides[2];    ///< likewise; 0: as the size
    bool same_padding; ///< padding="same"; else "valid", TensorFlow's default
    braid_data_format data_format;
} braid_pooling_options;

/// The largest element, and the mean, of each window of images or of sequences [batch, length, channels].
BRAID_API braid_out braid_layers_max_pooling2d(braid_graph *graph, braid_out x,
                                               const braid_pooling_options *options);
BRAID_API braid_out braid_layers_average_pooling2d(braid_graph *graph, braid_out x,
                                                   const braid_pooling_options *options);
BRAID_API braid_out braid_layers_max_pooling1d(braid_graph *graph, braid_out x,
                                               const braid_pooling_options *options);
BRAID_API braid_out braid_layers_average_pooling1d(braid_graph *graph, braid_out x,
                                                   const braid_pooling_options *options);

// ---- Shapes and dropout ----

/// `x` as a matrix [batch, product of the other dimensions] (tf.layers.flatten); unlike for braid_flatten,
/// the other dimensions may be unknown. `name` NULL: "flatten".
BRAID_API braid_out braid_layers_flatten(braid_graph *graph, const char *name, braid_out x);

typedef struct braid_layers_dropout_options {
    const char *name;      ///< NULL: "dropout"
    bool training;         ///< drop elements; else the layer is an identity, TensorFlow's default
    braid_out is_training; ///< a bool scalar that decides in each run; op NULL: `training` decides
    /// A vector, the shape of the random values, which broadcast to `x`: dimensions of size 1 are dropped
    /// together. Op NULL: the shape of `x`.
    braid_out noise_shape;
    int64_t seed; ///< of the random values, if has_seed
    bool has_seed;
} braid_layers_dropout_options;

/// Sets elements to zero with probability `rate` in [0, 1) (TensorFlow's default is 0.5) and scales the
/// others by 1 / (1 - rate) (tf.layers.dropout).
BRAID_API braid_out braid_layers_dropout(braid_graph *graph, braid_out x, double rate,
                                         const braid_layers_dropout_options *options);

// ---- Batch normalization ----

/// The name of TensorFlow's collection of ops that a training step is to run beside the optimizer.
#define BRAID_UPDATE_OPS "update_ops"

typedef struct braid_batch_normalization_options {
    const char *name; ///< NULL: "batch_normalization", made unique
    braid_reuse reuse;
    bool training;         ///< normalize by the batch and update the moving averages; else by the averages
    braid_out is_training; ///< a bool scalar that decides in each run; op NULL: `training` decides
    int axis;              ///< that of the channels, negative: from the end; 0: the last
    float momentum;        ///< of the moving averages, below 1; 0: 0.99
    float epsilon;         ///< is added to the variance; 0: 0.001
    bool no_center;        ///< no NAME/beta
    bool no_scale;         ///< no NAME/gamma
    bool untrained;        ///< NAME/beta and NAME/gamma are not trained
    bool not_fused;        ///< build separate nodes where TensorFlow would take the fused op
    bool renorm;           ///< batch renormalization, described below; in separate nodes
    /// The limits of its corrections, float scalars: r is at least rmin and at most rmax, d between -dmax and
    /// dmax. Op NULL: no limit. The paper begins with rmax 1 and dmax 0 and widens them in training.
    braid_out renorm_rmin, renorm_rmax, renorm_dmax;
    float renorm_momentum; ///< of its averages, below 1; 0: 0.99
    /// `build` NULL: zeros for beta and the mean, ones for gamma and the variance.
    braid_initializer beta_initializer, gamma_initializer, moving_mean_initializer,
        moving_variance_initializer;
    braid_regularizer beta_regularizer, gamma_regularizer; ///< `build` NULL: the variable scope's
    braid_constraint beta_constraint, gamma_constraint;    ///< the same
} braid_batch_normalization_options;

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta, for each channel (tf.layers.batch_normalization;
/// Ioffe and Szegedy, ICML 2015). In training, mean and variance are those of the batch, and the averages
/// NAME/moving_mean and NAME/moving_variance become momentum * average + (1 - momentum) * batch; at other
/// times they are these averages. The nodes that update the averages are in the collection BRAID_UPDATE_OPS
/// (outputs of which only the op counts): see braid_push_update_ops.
///
/// Images of float or half, whose channels are the last dimension or the second one, are normalized by the
/// fused op, as in TensorFlow. The variance that goes to the moving average is then the unbiased one, of
/// divisor n - 1, and epsilon is at least 1.001e-5. half has variables of float.
///
/// With `renorm` (Ioffe, "Batch Renormalization", NIPS 2017) training corrects what it has normalized by the
/// batch, x becomes x r + d, so that the output is nearly that of inference, also with small batches:
/// r = stddev / STDDEV and d = (mean - MEAN) / STDDEV, constants to the gradient, where stddev is
/// sqrt(variance + epsilon) of the batch. MEAN and STDDEV are averages over batches, which begin with the
/// first one: NAME/renorm_mean / NAME/renorm_mean_weight, and renorm_stddev / renorm_stddev_weight, as in
/// TensorFlow 1.3 to 1.14. They are updated with the moving averages, which then follow them in place of the
/// batch.
BRAID_API braid_out braid_layers_batch_normalization(braid_graph *graph, braid_out x,
                                                     const braid_batch_normalization_options *options);

/// While pushed, new nodes wait for the ops that BRAID_UPDATE_OPS holds now:
/// tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)). braid_pop_control ends it.
BRAID_API void braid_push_update_ops(braid_graph *graph);

#ifdef __cplusplus
}
#endif
#endif

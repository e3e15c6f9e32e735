"""Layers as functions: their variables are called weights and biases, and are among MODEL_VARIABLES."""

import functools

import numpy as np

from braid.tensorflow.contrib.framework.python.ops import variables
from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.contrib.layers.python.layers import initializers
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.layers import base
from braid.tensorflow.python.layers import convolutional as convolutional_layers
from braid.tensorflow.python.layers import core as core_layers
from braid.tensorflow.python.layers import pooling as pooling_layers
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import variables as tf_variables

__all__ = [
    "avg_pool2d",
    "avg_pool3d",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_in_plane",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_in_plane",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "dense_to_sparse",
    "dropout",
    "elu",
    "flatten",
    "fully_connected",
    "GDN",
    "gdn",
    "images_to_sequence",
    "legacy_fully_connected",
    "legacy_linear",
    "legacy_relu",
    "linear",
    "max_pool2d",
    "max_pool3d",
    "maxout",
    "one_hot_encoding",
    "poincare_normalize",
    "pool",
    "relu",
    "relu6",
    "repeat",
    "scale_gradient",
    "separable_conv2d",
    "separable_convolution2d",
    "sequence_to_images",
    "softmax",
    "spatial_softmax",
    "stack",
    "unit_norm",
]

DATA_FORMAT_NCHW = "NCHW"
DATA_FORMAT_NHWC = "NHWC"
DATA_FORMAT_NCDHW = "NCDHW"
DATA_FORMAT_NDHWC = "NDHWC"


def _model_variable_getter(
    getter,
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    partitioner=None,
    rename=None,
    use_resource=None,
    synchronization=tf_variables.VariableSynchronization.AUTO,
    aggregation=tf_variables.VariableAggregation.NONE,
    **_,
):
    """A getter of model variables whose last names are those that `rename` gives."""
    scope, _, short_name = name.rpartition("/")
    if rename and short_name in rename:
        name = f"{scope}/{rename[short_name]}" if scope else rename[short_name]
    return variables.model_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        collections=collections,
        trainable=trainable,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def _build_variable_getter(rename=None):
    def layer_variable_getter(getter, *args, **kwargs):
        kwargs["rename"] = rename
        return _model_variable_getter(getter, *args, **kwargs)

    return layer_variable_getter


def _add_variable_to_collections(variable, collections_set, collections_name):
    """Adds a variable, or its parts, to the collections for its name."""
    collections = utils.get_variable_collections(collections_set, collections_name) or []
    is_divided = isinstance(variable, tf_variables.PartitionedVariable)
    for collection in collections:
        present = {id(v) for v in ops.get_collection(collection)}
        for part in list(variable) if is_divided else [variable]:
            if id(part) not in present:
                ops.add_to_collection(collection, part)


def _layout(data_format, allowed=(DATA_FORMAT_NCHW, DATA_FORMAT_NHWC)):
    """The layout in keras' words. ValueError: it is none of `allowed`."""
    if data_format not in allowed:
        raise ValueError("data_format has to be either " + " or ".join(allowed) + ".")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


def _normalized_and_activated(outputs, normalizer_fn, normalizer_params, activation_fn):
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


def _pooled(
    layer_class, default_name, inputs, kernel_size, stride, padding, layout, outputs_collections, scope
):
    with ops.name_scope(scope, default_name, [inputs]) as sc:
        inputs = ops.convert_to_tensor(inputs)
        layer = layer_class(
            pool_size=kernel_size, strides=stride, padding=padding, data_format=layout, _scope=sc
        )
        return utils.collect_named_outputs(outputs_collections, sc, layer.apply(inputs))


@add_arg_scope
def avg_pool2d(
    inputs,
    kernel_size,
    stride=2,
    padding="VALID",
    data_format=DATA_FORMAT_NHWC,
    outputs_collections=None,
    scope=None,
):
    """The mean of each window of images."""
    return _pooled(
        pooling_layers.AveragePooling2D,
        "AvgPool2D",
        inputs,
        kernel_size,
        stride,
        padding,
        _layout(data_format),
        outputs_collections,
        scope,
    )


@add_arg_scope
def avg_pool3d(
    inputs,
    kernel_size,
    stride=2,
    padding="VALID",
    data_format=DATA_FORMAT_NDHWC,
    outputs_collections=None,
    scope=None,
):
    """The mean of each window of volumes."""
    return _pooled(
        pooling_layers.AveragePooling3D,
        "AvgPool3D",
        inputs,
        kernel_size,
        stride,
        padding,
        _layout(data_format, (DATA_FORMAT_NCDHW, DATA_FORMAT_NDHWC)),
        outputs_collections,
        scope,
    )


@add_arg_scope
def max_pool2d(
    inputs,
    kernel_size,
    stride=2,
    padding="VALID",
    data_format=DATA_FORMAT_NHWC,
    outputs_collections=None,
    scope=None,
):
    """The largest of each window of images."""
    return _pooled(
        pooling_layers.MaxPooling2D,
        "MaxPool2D",
        inputs,
        kernel_size,
        stride,
        padding,
        _layout(data_format),
        outputs_collections,
        scope,
    )


@add_arg_scope
def max_pool3d(
    inputs,
    kernel_size,
    stride=2,
    padding="VALID",
    data_format=DATA_FORMAT_NDHWC,
    outputs_collections=None,
    scope=None,
):
    """The largest of each window of volumes."""
    return _pooled(
        pooling_layers.MaxPooling3D,
        "MaxPool3D",
        inputs,
        kernel_size,
        stride,
        padding,
        _layout(data_format, (DATA_FORMAT_NCDHW, DATA_FORMAT_NDHWC)),
        outputs_collections,
        scope,
    )


@add_arg_scope
def pool(
    inputs,
    kernel_size,
    pooling_type,
    padding="VALID",
    data_format=None,
    dilation_rate=1,
    stride=1,
    outputs_collections=None,
    scope=None,
):
    """Pooling of any rank. `pooling_type` is "AVG" or "MAX"."""
    with ops.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as sc:
        inputs = ops.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        spatial = rank - 2
        output = nn.pool(
            input=inputs,
            window_shape=utils.n_positive_integers(spatial, kernel_size),
            pooling_type=pooling_type,
            padding=padding,
            data_format=data_format,
            dilation_rate=utils.n_positive_integers(spatial, dilation_rate),
            strides=utils.n_positive_integers(spatial, stride),
            name=sc,
        )
        return utils.collect_named_outputs(outputs_collections, sc, output)


@add_arg_scope
def bias_add(
    inputs,
    activation_fn=None,
    initializer=init_ops.zeros_initializer(),
    regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    data_format=DATA_FORMAT_NHWC,
    scope=None,
):
    """activation_fn(inputs + biases [channels])."""
    _layout(data_format)
    with variable_scope.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = ops.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Dims of shape must be known but is None")
        if rank != 4 and data_format == DATA_FORMAT_NCHW:
            raise ValueError("Data format NCHW only supports 4D Tensor")
        axis = 1 if data_format == DATA_FORMAT_NCHW else -1
        channels = inputs.get_shape().dims[axis].value
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = variables.model_variable(
            "biases",
            shape=[channels],
            dtype=inputs.dtype.base_dtype,
            initializer=initializer,
            regularizer=regularizer,
            collections=utils.get_variable_collections(variables_collections, "biases"),
            trainable=trainable,
        )
        outputs = nn.bias_add(inputs, biases, data_format=data_format)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def convolution(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=None,
    rate=1,
    activation_fn=nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=initializers.xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=init_ops.zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
    conv_dims=None,
):
    """A convolution, biases (unless `normalizer_fn` is given), normalization and activation.

    `conv_dims` is the number of convolved axes, checked. `rate` is the dilation.
    """
    if data_format not in (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with variable_scope.variable_scope(
        scope,
        "Conv",
        [inputs],
        reuse=reuse,
        custom_getter=_build_variable_getter({"bias": "biases", "kernel": "weights"}),
    ) as sc:
        inputs = ops.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        layer_classes = {
            3: convolutional_layers.Convolution1D,
            4: convolutional_layers.Convolution2D,
            5: convolutional_layers.Convolution3D,
        }
        if rank not in layer_classes:
            raise ValueError("Convolution not supported for input with rank", rank)
        layer = layer_classes[rank](
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format="channels_first" if data_format and data_format.startswith("NC") else "channels_last",
            dilation_rate=rate,
            activation=None,
            use_bias=bool(not normalizer_fn and biases_initializer),
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            activity_regularizer=None,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        outputs = layer.apply(inputs)
        _add_variable_to_collections(layer.kernel, variables_collections, "weights")
        if layer.use_bias:
            _add_variable_to_collections(layer.bias, variables_collections, "biases")
        outputs = _normalized_and_activated(outputs, normalizer_fn, normalizer_params, activation_fn)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


def _convolution_of(dims, doc):
    @add_arg_scope
    def convolve(
        inputs,
        num_outputs,
        kernel_size,
        stride=1,
        padding="SAME",
        data_format=None,
        rate=1,
        activation_fn=nn.relu,
        normalizer_fn=None,
        normalizer_params=None,
        weights_initializer=initializers.xavier_initializer(),
        weights_regularizer=None,
        biases_initializer=init_ops.zeros_initializer(),
        biases_regularizer=None,
        reuse=None,
        variables_collections=None,
        outputs_collections=None,
        trainable=True,
        scope=None,
    ):
        return convolution(
            inputs,
            num_outputs,
            kernel_size,
            stride,
            padding,
            data_format,
            rate,
            activation_fn,
            normalizer_fn,
            normalizer_params,
            weights_initializer,
            weights_regularizer,
            biases_initializer,
            biases_regularizer,
            reuse,
            variables_collections,
            outputs_collections,
            trainable,
            scope,
            conv_dims=dims,
        )

    convolve.__name__ = convolve.__qualname__ = f"convolution{dims}d"
    convolve.__doc__ = doc
    return convolve


convolution1d = _convolution_of(1, "convolution() of sequences.")
convolution2d = _convolution_of(2, "convolution() of images.")
convolution3d = _convolution_of(3, "convolution() of volumes.")


@add_arg_scope
def convolution2d_in_plane(
    inputs,
    kernel_size,
    stride=1,
    padding="SAME",
    activation_fn=nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=initializers.xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=init_ops.zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """The same convolution of each channel."""
    with variable_scope.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        dtype = inputs.dtype.base_dtype
        kernel_h, kernel_w = utils.two_element_tuple(kernel_size)
        stride_h, stride_w = utils.two_element_tuple(stride)
        channels = utils.last_dimension(inputs.get_shape(), min_rank=4)
        weights = variables.model_variable(
            "weights",
            shape=[kernel_h, kernel_w, 1, 1],
            dtype=dtype,
            initializer=weights_initializer,
            regularizer=weights_regularizer,
            collections=utils.get_variable_collections(variables_collections, "weights"),
            trainable=trainable,
        )
        outputs = nn.depthwise_conv2d(
            inputs, array_ops.tile(weights, [1, 1, channels, 1]), [1, stride_h, stride_w, 1], padding
        )
        if normalizer_fn is None and biases_initializer is not None:
            biases = variables.model_variable(
                "biases",
                shape=[channels],
                dtype=dtype,
                initializer=biases_initializer,
                regularizer=biases_regularizer,
                collections=utils.get_variable_collections(variables_collections, "biases"),
                trainable=trainable,
            )
            outputs = nn.bias_add(outputs, biases)
        outputs = _normalized_and_activated(outputs, normalizer_fn, normalizer_params, activation_fn)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


def _transposed(
    layer_class,
    default_name,
    inputs,
    num_outputs,
    kernel_size,
    stride,
    padding,
    layout,
    activation_fn,
    normalizer_fn,
    normalizer_params,
    weights_initializer,
    weights_regularizer,
    biases_initializer,
    biases_regularizer,
    reuse,
    variables_collections,
    outputs_collections,
    trainable,
    scope,
):
    with variable_scope.variable_scope(
        scope,
        default_name,
        [inputs],
        reuse=reuse,
        custom_getter=_build_variable_getter({"bias": "biases", "kernel": "weights"}),
    ) as sc:
        inputs = ops.convert_to_tensor(inputs)
        layer = layer_class(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=layout,
            activation=None,
            use_bias=bool(not normalizer_fn and biases_initializer),
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            activity_regularizer=None,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        outputs = layer.apply(inputs)
        _add_variable_to_collections(layer.kernel, variables_collections, "weights")
        if layer.bias is not None:
            _add_variable_to_collections(layer.bias, variables_collections, "biases")
        outputs = _normalized_and_activated(outputs, normalizer_fn, normalizer_params, activation_fn)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def convolution2d_transpose(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=DATA_FORMAT_NHWC,
    activation_fn=nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=initializers.xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=init_ops.zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """The transpose of a convolution of images, biases, normalization and activation."""
    return _transposed(
        convolutional_layers.Convolution2DTranspose,
        "Conv2d_transpose",
        inputs,
        num_outputs,
        kernel_size,
        stride,
        padding,
        _layout(data_format),
        activation_fn,
        normalizer_fn,
        normalizer_params,
        weights_initializer,
        weights_regularizer,
        biases_initializer,
        biases_regularizer,
        reuse,
        variables_collections,
        outputs_collections,
        trainable,
        scope,
    )


@add_arg_scope
def convolution3d_transpose(
    inputs,
    num_outputs,
    kernel_size,
    stride=1,
    padding="SAME",
    data_format=DATA_FORMAT_NDHWC,
    activation_fn=nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=initializers.xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=init_ops.zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """The transpose of a convolution of volumes, biases, normalization and activation."""
    return _transposed(
        convolutional_layers.Convolution3DTranspose,
        "Conv3d_transpose",
        inputs,
        num_outputs,
        kernel_size,
        stride,
        padding,
        _layout(data_format, (DATA_FORMAT_NCDHW, DATA_FORMAT_NDHWC)),
        activation_fn,
        normalizer_fn,
        normalizer_params,
        weights_initializer,
        weights_regularizer,
        biases_initializer,
        biases_regularizer,
        reuse,
        variables_collections,
        outputs_collections,
        trainable,
        scope,
    )


@add_arg_scope
def separable_convolution2d(
    inputs,
    num_outputs,
    kernel_size,
    depth_multiplier=1,
    stride=1,
    padding="SAME",
    data_format=DATA_FORMAT_NHWC,
    rate=1,
    activation_fn=nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=initializers.xavier_initializer(),
    pointwise_initializer=None,
    weights_regularizer=None,
    biases_initializer=init_ops.zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """A convolution of each channel by itself, then one of the channels; the first alone if num_outputs is None."""
    layout = _layout(data_format)
    if pointwise_initializer is None:
        pointwise_initializer = weights_initializer
    with variable_scope.variable_scope(
        scope,
        "SeparableConv2d",
        [inputs],
        reuse=reuse,
        custom_getter=_build_variable_getter(
            {
                "bias": "biases",
                "depthwise_kernel": "depthwise_weights",
                "pointwise_kernel": "pointwise_weights",
            }
        ),
    ) as sc:
        inputs = ops.convert_to_tensor(inputs)
        if num_outputs is not None:
            layer = convolutional_layers.SeparableConvolution2D(
                filters=num_outputs,
                kernel_size=kernel_size,
                strides=stride,
                padding=padding,
                data_format=layout,
                dilation_rate=utils.two_element_tuple(rate),
                activation=None,
                depth_multiplier=depth_multiplier,
                use_bias=bool(not normalizer_fn and biases_initializer),
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer,
                bias_initializer=biases_initializer,
                depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                activity_regularizer=None,
                trainable=trainable,
                name=sc.name,
                dtype=inputs.dtype.base_dtype,
                _scope=sc,
                _reuse=reuse,
            )
            outputs = layer.apply(inputs)
            _add_variable_to_collections(layer.depthwise_kernel, variables_collections, "weights")
            _add_variable_to_collections(layer.pointwise_kernel, variables_collections, "weights")
            if layer.bias is not None:
                _add_variable_to_collections(layer.bias, variables_collections, "biases")
        else:
            outputs = _depthwise(
                inputs,
                kernel_size,
                depth_multiplier,
                stride,
                padding,
                data_format,
                rate,
                not normalizer_fn and biases_initializer is not None,
                weights_initializer,
                weights_regularizer,
                biases_initializer,
                biases_regularizer,
                variables_collections,
                trainable,
            )
        outputs = _normalized_and_activated(outputs, normalizer_fn, normalizer_params, activation_fn)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


def _depthwise(
    inputs,
    kernel_size,
    depth_multiplier,
    stride,
    padding,
    data_format,
    rate,
    has_biases,
    weights_initializer,
    weights_regularizer,
    biases_initializer,
    biases_regularizer,
    variables_collections,
    trainable,
):
    dtype = inputs.dtype.base_dtype
    kernel_h, kernel_w = utils.two_element_tuple(kernel_size)
    stride_h, stride_w = utils.two_element_tuple(stride)
    channels = utils.channel_dimension(inputs.get_shape(), data_format, min_rank=4)
    weights = variables.model_variable(
        "depthwise_weights",
        shape=[kernel_h, kernel_w, channels, depth_multiplier],
        dtype=dtype,
        initializer=weights_initializer,
        regularizer=weights_regularizer,
        trainable=trainable,
        collections=utils.get_variable_collections(variables_collections, "weights"),
    )
    is_first = data_format.startswith("NC")
    outputs = nn.depthwise_conv2d(
        inputs,
        weights,
        [1, 1, stride_h, stride_w] if is_first else [1, stride_h, stride_w, 1],
        padding,
        rate=utils.two_element_tuple(rate),
        data_format=data_format,
    )
    if has_biases:
        biases = variables.model_variable(
            "biases",
            shape=[depth_multiplier * channels],
            dtype=dtype,
            initializer=biases_initializer,
            regularizer=biases_regularizer,
            trainable=trainable,
            collections=utils.get_variable_collections(variables_collections, "biases"),
        )
        outputs = nn.bias_add(outputs, biases, data_format=data_format)
    return outputs


@add_arg_scope
def dropout(
    inputs,
    keep_prob=0.5,
    noise_shape=None,
    is_training=True,
    outputs_collections=None,
    scope=None,
    seed=None,
):
    """In training, what a part `keep_prob` of the inputs leaves, scaled to the same mean."""
    with variable_scope.variable_scope(
        scope, "Dropout", [inputs], custom_getter=_model_variable_getter
    ) as sc:
        inputs = ops.convert_to_tensor(inputs)
        layer = core_layers.Dropout(
            rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc
        )
        outputs = layer.apply(inputs, training=is_training)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """[batch, ...] as [batch, all the rest]."""
    with ops.name_scope(scope, "Flatten", [inputs]) as sc:
        outputs = core_layers.flatten(ops.convert_to_tensor(inputs))
        return utils.collect_named_outputs(outputs_collections, sc, outputs)


def _inner_flatten(inputs, new_rank, output_collections=None, scope=None):
    """`inputs` with its last axes made one, so that its rank is `new_rank`."""
    with ops.name_scope(scope, "InnerFlatten", [inputs, new_rank]) as sc:
        if isinstance(inputs, sparse_tensor.SparseTensor):
            flattened = _sparse_inner_flatten(inputs, new_rank)
        else:
            inputs = ops.convert_to_tensor(inputs)
            flattened = _dense_inner_flatten(inputs, new_rank)
        return utils.collect_named_outputs(output_collections, sc, flattened)


def _sparse_inner_flatten(inputs, new_rank):
    rank = inputs.get_shape().ndims
    if rank is not None and rank < new_rank:
        raise ValueError(f"Inputs has rank less than new_rank. {inputs} must have rank at least {new_rank}")
    outer = inputs.dense_shape[: new_rank - 1]
    inner = math_ops.reduce_prod(inputs.dense_shape[new_rank - 1 :])
    return sparse_ops.sparse_reshape(inputs, array_ops.concat((outer, [inner]), 0))


def _dense_inner_flatten(inputs, new_rank):
    rank_assertion = check_ops.assert_rank_at_least(
        inputs, new_rank, message="inputs has rank less than new_rank"
    )
    with ops.control_dependencies([rank_assertion]):
        outer = array_ops.strided_slice(array_ops.shape(inputs), [0], [new_rank - 1])
        reshaped = array_ops.reshape(inputs, array_ops.concat((outer, [-1]), 0))
    if inputs.get_shape().ndims is not None:
        sizes = inputs.get_shape().as_list()
        inner = sizes[new_rank - 1 :]
        last = None
        if None not in inner:
            last = 1
            for size in inner:
                last *= size
        reshaped.set_shape(sizes[: new_rank - 1] + [last])
    return reshaped


@add_arg_scope
def fully_connected(
    inputs,
    num_outputs,
    activation_fn=nn.relu,
    normalizer_fn=None,
    normalizer_params=None,
    weights_initializer=initializers.xavier_initializer(),
    weights_regularizer=None,
    biases_initializer=init_ops.zeros_initializer(),
    biases_regularizer=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
):
    """inputs [..., n] * weights [n, num_outputs], biases (unless `normalizer_fn` is given) and activation."""
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of (int,), got {type(num_outputs)}.")
    with variable_scope.variable_scope(
        scope,
        "fully_connected",
        [inputs],
        reuse=reuse,
        custom_getter=_build_variable_getter({"bias": "biases", "kernel": "weights"}),
    ) as sc:
        inputs = ops.convert_to_tensor(inputs)
        layer = core_layers.Dense(
            units=num_outputs,
            activation=None,
            use_bias=bool(not normalizer_fn and biases_initializer),
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            activity_regularizer=None,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        outputs = layer.apply(inputs)
        _add_variable_to_collections(layer.kernel, variables_collections, "weights")
        if layer.bias is not None:
            _add_variable_to_collections(layer.bias, variables_collections, "biases")
        outputs = _normalized_and_activated(outputs, normalizer_fn, normalizer_params, activation_fn)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    """Labels [batch] as vectors [batch, num_classes]."""
    with ops.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = ops.convert_to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = math_ops.to_int64(labels)
        outputs = array_ops.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return utils.collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def dense_to_sparse(tensor, eos_token=0, outputs_collections=None, scope=None):
    """A SparseTensor of what is not `eos_token`."""
    with variable_scope.variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = ops.convert_to_tensor(tensor)
        indices = array_ops.where(math_ops.not_equal(tensor, array_ops.constant(eos_token, tensor.dtype)))
        values = array_ops.gather_nd(tensor, indices)
        shape = array_ops.shape(tensor, out_type=dtypes.int64)
        return utils.collect_named_outputs(
            outputs_collections, sc.name, sparse_tensor.SparseTensor(indices, values, shape)
        )


def _apply_activation(y, activation_fn, output_collections):
    if activation_fn is not None:
        y = activation_fn(y)
    ops.add_to_collections(list(output_collections or []) + [ops.GraphKeys.ACTIVATIONS], y)
    return y


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """The layer `repetitions` times, each in a scope of its own: SCOPE/SCOPE_1, SCOPE/SCOPE_2, ..."""
    scope = kwargs.pop("scope", None)
    with variable_scope.variable_scope(scope, "Repeat", [inputs]):
        outputs = ops.convert_to_tensor(inputs)
        if scope is None:
            scope = _name_of(layer, "repeat")
        for number in range(repetitions):
            kwargs["scope"] = f"{scope}_{number + 1}"
            outputs = layer(outputs, *args, **kwargs)
        return outputs


def _name_of(layer, default):
    if hasattr(layer, "__name__"):
        return layer.__name__
    return layer.func.__name__ if hasattr(layer, "func") else default


def stack(inputs, layer, stack_args, **kwargs):
    """The layer once for each of `stack_args`, which is its first argument or a list of its arguments."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope.variable_scope(scope, "Stack", [inputs]):
        inputs = ops.convert_to_tensor(inputs)
        if scope is None:
            scope = _name_of(layer, "stack")
        outputs = inputs
        for number, layer_args in enumerate(stack_args):
            kwargs["scope"] = f"{scope}_{number + 1}"
            if not isinstance(layer_args, (list, tuple)):
                layer_args = [layer_args]
            outputs = layer(outputs, *layer_args, **kwargs)
        return outputs


@add_arg_scope
def softmax(logits, scope=None):
    """Softmax along the last axis."""
    with variable_scope.variable_scope(scope, "softmax", [logits]):
        classes = utils.last_dimension(logits.get_shape(), min_rank=2)
        predictions = nn.softmax(array_ops.reshape(logits, [-1, classes]))
        predictions = array_ops.reshape(predictions, array_ops.shape(logits))
        predictions.set_shape(logits.get_shape())
        return predictions


@add_arg_scope
def spatial_softmax(
    features, temperature=None, name=None, variables_collections=None, trainable=True, data_format="NHWC"
):
    """[batch, 2 * channels]: the mean place (x, y from -1 to 1) of each channel, weighed by softmax of the image."""
    with variable_scope.variable_scope(name, "spatial_softmax"):
        shape, static = array_ops.shape(features), features.shape
        is_last = data_format == DATA_FORMAT_NHWC
        height, width, channels = (
            (shape[1], shape[2], static[3]) if is_last else (shape[2], shape[3], static[1])
        )
        if tensor_shape.dimension_value(channels) is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined."
            )
        channels = tensor_shape.dimension_value(channels)
        with ops.name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            pos_x, pos_y = array_ops.meshgrid(
                math_ops.lin_space(-1.0, 1.0, num=height),
                math_ops.lin_space(-1.0, 1.0, num=width),
                indexing="ij",
            )
            pos_x, pos_y = (array_ops.reshape(p, [height * width]) for p in (pos_x, pos_y))
            if temperature is None:
                temperature = variables.model_variable(
                    "temperature",
                    shape=(),
                    dtype=dtypes.float32,
                    initializer=init_ops.ones_initializer(),
                    collections=utils.get_variable_collections(variables_collections, "temperature"),
                    trainable=trainable,
                )
            if is_last:
                features = array_ops.transpose(features, [0, 3, 1, 2])
            features = array_ops.reshape(features, [-1, height * width])
            attention = nn.softmax(features / temperature)
            expected_x = math_ops.reduce_sum(pos_x * attention, [1], keepdims=True)
            expected_y = math_ops.reduce_sum(pos_y * attention, [1], keepdims=True)
            keypoints = array_ops.reshape(array_ops.concat([expected_x, expected_y], 1), [-1, channels * 2])
            keypoints.set_shape([None, channels * 2])
    return keypoints


@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    """The inputs divided by their Euclidean norm along the axis `dim`."""
    with variable_scope.variable_scope(scope, "UnitNorm", [inputs]):
        if not inputs.get_shape():
            raise ValueError("The input rank must be known.")
        rank = len(inputs.get_shape().as_list())
        if not 0 <= dim < rank:
            raise ValueError(f"dim must be non-negative and smaller than the input rank: {dim}")
        lengths = math_ops.sqrt(epsilon + math_ops.reduce_sum(math_ops.square(inputs), dim, True))
        before = [array_ops.ones([dim], dtypes.int32)] if dim else []
        size = array_ops.strided_slice(array_ops.shape(inputs), [dim], [dim + 1])
        after = [array_ops.ones([rank - 1 - dim], dtypes.int32)] if dim < rank - 1 else []
        return math_ops.div(inputs, array_ops.tile(lengths, array_ops.concat([*before, size, *after], 0)))


@add_arg_scope
def maxout(inputs, num_units, axis=-1, scope=None):
    """The largest of each group, of `num_units` groups along an axis (Goodfellow et al. 2013)."""
    with variable_scope.variable_scope(scope, "MaxOut", [inputs]):
        inputs = ops.convert_to_tensor(inputs)
        sizes = inputs.get_shape().as_list()
        channels = sizes[axis]
        if channels % num_units:
            raise ValueError(f"number of features({channels}) is not a multiple of num_units({num_units})")
        axis = axis + len(sizes) if axis < 0 else axis
        full = [array_ops.shape(inputs)[i] if size is None else size for i, size in enumerate(sizes)]
        full[axis : axis + 1] = [num_units, channels // num_units]
        outputs = math_ops.reduce_max(array_ops.reshape(inputs, full), axis + 1)
        sizes[axis] = num_units
        outputs.set_shape(sizes)
        return outputs


def poincare_normalize(x, axis=1, epsilon=1e-5, name=None):
    """x scaled into the unit ball where its norm along `axis` is above 1 - epsilon (Nickel and Kiela 2017)."""
    with ops.name_scope(name, "poincare_normalize", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        square_sum = math_ops.reduce_sum(math_ops.square(x), axis, keepdims=True)
        inverse = math_ops.rsqrt(square_sum) * (1.0 - epsilon)
        return math_ops.multiply(x, math_ops.minimum(inverse, 1.0), name=name)


@add_arg_scope
def scale_gradient(inputs, gradient_multiplier):
    """The inputs, with the gradient times a number."""
    scaled = gradient_multiplier * inputs
    return scaled + array_ops.stop_gradient(inputs - scaled)


@add_arg_scope
def images_to_sequence(inputs, data_format=DATA_FORMAT_NHWC, outputs_collections=None, scope=None):
    """Images [batch, height, width, channels] as sequences [width, batch * height, channels]."""
    _layout(data_format)
    with ops.name_scope(scope, "ImagesToSequence", [inputs]) as sc:
        inputs = ops.convert_to_tensor(inputs)
        if data_format == DATA_FORMAT_NCHW:
            inputs = array_ops.transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.get_shape().as_list()
        size = array_ops.shape(inputs)
        batch, height = size[0], size[1]
        columns = array_ops.transpose(inputs, [2, 0, 1, 3])
        width = array_ops.shape(columns)[0] if width is None else width
        outputs = array_ops.reshape(columns, [width, batch * height, depth])
        return utils.collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def sequence_to_images(
    inputs, height, output_data_format="channels_last", outputs_collections=None, scope=None
):
    """The reverse of images_to_sequence()."""
    with ops.name_scope(scope, "SequenceToImages", [inputs]) as sc:
        inputs = ops.convert_to_tensor(inputs)
        width, batches, depth = inputs.get_shape().as_list()
        if batches is None:
            batches = -1
        else:
            batches //= height
        reshaped = array_ops.reshape(inputs, [width, batches, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        outputs = array_ops.transpose(reshaped, order)
        return utils.collect_named_outputs(outputs_collections, sc, outputs)


@add_arg_scope
def legacy_fully_connected(
    x,
    num_output_units,
    activation_fn=None,
    weight_init=initializers.xavier_initializer(),
    bias_init=init_ops.zeros_initializer(),
    name=None,
    weight_collections=(ops.GraphKeys.WEIGHTS,),
    bias_collections=(ops.GraphKeys.BIASES,),
    output_collections=(ops.GraphKeys.ACTIVATIONS,),
    trainable=True,
    weight_regularizer=None,
    bias_regularizer=None,
):
    """fully_connected() as it was before: variables "weights" and "bias" of the scope "fully_connected"."""
    with variable_scope.variable_scope(name, "fully_connected", [x]):
        x = ops.convert_to_tensor(x)
        sizes = x.get_shape()
        if sizes.ndims is None:
            raise ValueError("dims of x must be known but is None")
        if sizes.ndims < 2:
            raise ValueError(f"rank of x must be at least 2 not: {sizes.ndims}")
        depth = tensor_shape.dimension_value(sizes.dims[-1])
        if depth is None:
            raise ValueError("last dimension of x must be known but is None")
        dtype = x.dtype.base_dtype
        weight_collections = set(list(weight_collections or []) + [ops.GraphKeys.GLOBAL_VARIABLES])
        w = variable_scope.get_variable(
            "weights",
            shape=[depth, num_output_units],
            dtype=dtype,
            initializer=weight_init,
            collections=weight_collections,
            regularizer=weight_regularizer,
            trainable=trainable,
        )
        flat = x if sizes.ndims <= 2 else array_ops.reshape(x, [-1, depth])
        y = math_ops.matmul(flat, w)
        if bias_init is not None:
            bias_collections = set(list(bias_collections or []) + [ops.GraphKeys.GLOBAL_VARIABLES])
            b = variable_scope.get_variable(
                "bias",
                shape=[num_output_units],
                dtype=dtype,
                initializer=bias_init,
                collections=bias_collections,
                regularizer=bias_regularizer,
                trainable=trainable,
            )
            y = nn.bias_add(y, b)
        if sizes.ndims > 2:
            out_shape = array_ops.unstack(array_ops.shape(x))
            out_shape[-1] = num_output_units
            y = array_ops.reshape(y, array_ops.stack(out_shape))
            y.set_shape(sizes.as_list()[:-1] + [num_output_units])
        return _apply_activation(y, activation_fn, output_collections)


class GDN(base.Layer):
    """Divisive normalization (Ballé et al. 2015): x / sqrt(beta + gamma x²), over channels.

    `inverse`: x * sqrt(beta + gamma x²). beta_min: the least beta. gamma_init: the diagonal of gamma at
    first. reparam_offset: keeps gradients from vanishing where a parameter is 0.
    """

    def __init__(
        self,
        inverse=False,
        beta_min=1e-6,
        gamma_init=0.1,
        reparam_offset=2**-18,
        data_format="channels_last",
        activity_regularizer=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        if data_format not in ("channels_first", "channels_last"):
            raise ValueError(f"Unknown data format: '{data_format}'.")
        self.inverse = inverse
        self._beta_min = beta_min
        self._gamma_init = gamma_init
        self._reparam_offset = reparam_offset
        self.data_format = data_format
        self.input_spec = base.InputSpec(min_ndim=3, max_ndim=5)

    def build(self, input_shape):
        input_shape = tensor_shape.TensorShape(input_shape)
        axis = 1 if self.data_format == "channels_first" else -1
        channels = tensor_shape.dimension_value(input_shape[axis])
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self.input_spec = base.InputSpec(ndim=input_shape.ndims, axes={axis: channels})
        self._rank = input_shape.ndims
        offset = self._reparam_offset**2
        pedestal = array_ops.constant(offset, dtype=self.dtype)
        beta_bound = array_ops.constant((self._beta_min + offset) ** 0.5, dtype=self.dtype)
        gamma_bound = array_ops.constant(self._reparam_offset, dtype=self.dtype)

        def ones(shape, dtype=None, partition_info=None):
            pedestal = array_ops.constant(offset, dtype=self.dtype)
            return math_ops.sqrt(array_ops.ones(shape, dtype=dtype) + pedestal)

        def diagonal(shape, dtype=None, partition_info=None):
            eye = linalg_ops.eye(shape[0], dtype=dtype)
            pedestal = array_ops.constant(offset, dtype=self.dtype)
            return math_ops.sqrt(self._gamma_init * eye + pedestal)

        def reparametrized(name, shape, initializer, bound):
            variable = self.add_variable(
                f"reparam_{name}", shape=shape, initializer=initializer, dtype=self.dtype, trainable=True
            )
            return math_ops.square(_lower_bound(variable, bound)) - pedestal

        self.beta = reparametrized("beta", [channels], ones, beta_bound)
        self.gamma = reparametrized("gamma", [channels, channels], diagonal, gamma_bound)
        self.built = True

    def call(self, inputs):
        inputs = ops.convert_to_tensor(inputs, dtype=self.dtype)
        rank = self._rank
        gamma = array_ops.reshape(self.gamma, (rank - 2) * [1] + self.gamma.get_shape().as_list())
        squares = math_ops.square(inputs)
        if self.data_format == "channels_first":
            norm = nn.convolution(squares, gamma, "VALID", data_format="NC" + "DHW"[-(rank - 2) :])
            norm = self._with_beta_first(norm)
        else:
            norm = nn.convolution(squares, gamma, "VALID")
            norm = nn.bias_add(norm, self.beta, data_format="NHWC")
        norm = math_ops.sqrt(norm)
        outputs = inputs * norm if self.inverse else inputs / norm
        outputs.set_shape(inputs.get_shape())
        return outputs

    def _with_beta_first(self, norm):
        """norm, whose channels are its second dimension, and beta."""
        if self._rank == 4:
            return nn.bias_add(norm, self.beta, data_format="NCHW")
        if self._rank == 3:
            norm = nn.bias_add(array_ops.expand_dims(norm, 2), self.beta, data_format="NCHW")
            return array_ops.squeeze(norm, [2])
        shape = array_ops.shape(norm)
        norm = array_ops.reshape(norm, array_ops.concat([shape[:3], [-1]], 0))
        return array_ops.reshape(nn.bias_add(norm, self.beta, data_format="NCHW"), shape)

    def compute_output_shape(self, input_shape):
        return tensor_shape.TensorShape(input_shape)


def _lower_bound(variable, bound):
    """The greater ones of a variable and a bound; at the bound only gradients that raise it go through."""
    with ops.name_scope(None, "GDNLowerBound", [variable, bound]) as scope:
        variable = ops.convert_to_tensor(variable, name="inputs")
        bound = ops.convert_to_tensor(bound, name="bound")
        with ops.get_default_graph().gradient_override_map({"Maximum": "GDNLowerBound"}):
            return math_ops.maximum(variable, bound, name=scope)


@ops.RegisterGradient("GDNLowerBound")
def _lower_bound_grad(op, grad):
    variable, bound = op.inputs
    passes = math_ops.logical_or(variable >= bound, grad < 0)
    return [math_ops.cast(passes, grad.dtype) * grad, None]


def gdn(
    inputs,
    inverse=False,
    beta_min=1e-6,
    gamma_init=0.1,
    reparam_offset=2**-18,
    data_format="channels_last",
    activity_regularizer=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """GDN, applied."""
    layer = GDN(
        inverse=inverse,
        beta_min=beta_min,
        gamma_init=gamma_init,
        reparam_offset=reparam_offset,
        data_format=data_format,
        activity_regularizer=activity_regularizer,
        trainable=trainable,
        name=name,
        dtype=inputs.dtype.base_dtype,
        _scope=name,
        _reuse=reuse,
    )
    return layer.apply(inputs)


# Shorter names.

elu = functools.partial(fully_connected, activation_fn=nn.elu)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=nn.relu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
linear = functools.partial(fully_connected, activation_fn=None)

conv1d = convolution1d
conv2d = convolution2d
conv3d = convolution3d
conv2d_transpose = convolution2d_transpose
conv3d_transpose = convolution3d_transpose
conv2d_in_plane = convolution2d_in_plane
separable_conv2d = separable_convolution2d

# Programs import them from here.
from braid.tensorflow.contrib.layers.python.layers.normalization import batch_norm  # noqa: E402
from braid.tensorflow.contrib.layers.python.layers.normalization import layer_norm  # noqa: E402

__all__ += ["batch_norm", "layer_norm"]

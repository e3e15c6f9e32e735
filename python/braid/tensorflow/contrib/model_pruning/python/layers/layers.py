"""Layers of tf.contrib.layers with masked weights."""

from braid.tensorflow.contrib.framework.python.ops import add_arg_scope
from braid.tensorflow.contrib.layers.python.layers import initializers
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.contrib.model_pruning.python.layers import core_layers
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import variable_scope

__all__ = ["masked_convolution", "masked_conv2d", "masked_fully_connected"]


def _apply(default_name, make, inputs, given):
    """The outputs of the layer that make(inputs, settings of any layer) gives; given: the function's
    arguments."""
    normalizer_fn, biases_initializer = given["normalizer_fn"], given["biases_initializer"]
    with variable_scope.variable_scope(
        given["scope"],
        default_name,
        [inputs],
        reuse=given["reuse"],
        custom_getter=layers._build_variable_getter({"bias": "biases", "kernel": "weights"}),
    ) as sc:
        inputs = ops.convert_to_tensor(inputs)
        layer = make(
            inputs,
            dict(
                activation=None,
                use_bias=bool(not normalizer_fn and biases_initializer),
                kernel_initializer=given["weights_initializer"],
                bias_initializer=biases_initializer,
                kernel_regularizer=given["weights_regularizer"],
                bias_regularizer=given["biases_regularizer"],
                activity_regularizer=None,
                trainable=given["trainable"],
                name=sc.name,
                dtype=inputs.dtype.base_dtype,
                _scope=sc,
                _reuse=given["reuse"],
            ),
        )
        outputs = layer.apply(inputs)
        layers._add_variable_to_collections(layer.kernel, given["variables_collections"], "weights")
        if layer.bias is not None:
            layers._add_variable_to_collections(layer.bias, given["variables_collections"], "biases")
        if normalizer_fn is not None:
            outputs = normalizer_fn(outputs, **(given["normalizer_params"] or {}))
        if given["activation_fn"] is not None:
            outputs = given["activation_fn"](outputs)
        return utils.collect_named_outputs(given["outputs_collections"], sc.original_name_scope, outputs)


@add_arg_scope
def masked_convolution(
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
    """tf.contrib.layers.convolution of pictures, with masked weights."""
    given = dict(locals())
    if data_format not in (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError("Unsupported data format", data_format)

    def make(inputs, settings):
        if inputs.get_shape().ndims != 4:
            raise ValueError("Sparse Convolution not supported for input with rank", inputs.get_shape().ndims)
        return core_layers.MaskedConv2D(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format="channels_first" if data_format == "NCHW" else "channels_last",
            dilation_rate=rate,
            **settings,
        )

    return _apply("Conv", make, inputs, given)


masked_conv2d = masked_convolution


@add_arg_scope
def masked_fully_connected(
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
    """tf.contrib.layers.fully_connected with masked weights."""
    given = dict(locals())
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs should be int or long, got {num_outputs}.")
    return _apply(
        "fully_connected",
        lambda _, settings: core_layers.MaskedFullyConnected(units=num_outputs, **settings),
        inputs,
        given,
    )

"""Layers' mathematics: convolutions, pooling, softmax and cross entropy, dropout.

Ops without a wrapper here (nn_ops.relu) are those of gen_nn_ops.
"""

import numbers

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors_impl
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_nn_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_nn_ops, name)


# ---- Arguments of convolutions and pools ----


def _get_sequence(value, n, channel_index, name):
    """One number for each dimension, 1 for batch and channels, from one number, n of them, or all."""
    if value is None:
        value = [1]
    elif not isinstance(value, (list, tuple, np.ndarray)):
        value = [value]
    value = [int(v) for v in value]
    if len(value) == n + 2:
        return value
    if len(value) == 1:
        value = value * n
    elif len(value) != n:
        raise ValueError("{} should be of length 1, {} or {} but was {}".format(name, n, n + 2, len(value)))
    return [1] + value + [1] if channel_index == n + 1 else [1, 1] + value


def _channel_index(data_format, n):
    return 1 if data_format is not None and data_format.startswith("NC") else n + 1


local_response_normalization = gen_nn_ops.lrn
local_response_normalization_v2 = local_response_normalization


def _check_data_format(data_format, allowed):
    if data_format not in allowed:
        raise ValueError(
            "'data_format' must be one of %s, not %r" % (", ".join(map(repr, allowed)), data_format)
        )


def _padding(padding):
    """The attributes for "SAME", "VALID", or the paddings of each dimension, [[before, after], ...]."""
    if isinstance(padding, (list, tuple)):
        if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in padding):
            raise ValueError("each element of padding must be a list of two numbers, not %r" % (padding,))
        flat = [int(n) for pair in padding for n in pair]
        return {"padding": "EXPLICIT", "explicit_paddings": flat}
    return {"padding": padding}


def _strides_and_dilations(n, strides, dilations, names=("strides", "dilation_rate")):
    strides = [1] * n if strides is None else list(strides)
    dilations = [1] * n if dilations is None else list(dilations)
    for name, value in zip(names, (strides, dilations)):
        if len(value) != n:
            raise ValueError("len(%s)=%d but should be %d" % (name, len(value), n))
        if np.any(np.array(value) < 1):
            raise ValueError("all values of %s must be positive" % name)
    if np.any(np.array(strides) > 1) and np.any(np.array(dilations) > 1):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return strides, dilations


def _get_strides_and_dilation_rate(num_spatial_dims, strides, dilation_rate):
    return tuple(np.array(v) for v in _strides_and_dilations(num_spatial_dims, strides, dilation_rate))


# ---- Convolution ----


@tf_export(v1=["nn.conv2d"])
def conv2d(
    input,
    filter=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
    filters=None,
):
    """Convolution of pictures [batch, y, x, in] with a filter [y, x, in, out].

    padding: "SAME", "VALID", or [[before, after]] for each dimension.
    """
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    c = _channel_index(data_format, 2)
    return gen_nn_ops.conv2d(
        input,
        filter,
        strides=_get_sequence(strides, 2, c, "strides"),
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format or "NHWC",
        dilations=_get_sequence(dilations, 2, c, "dilations"),
        name=name,
        **_padding(padding),
    )


def conv2d_v2(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    return conv2d(input, filters, strides, padding, True, data_format, dilations, name)


@tf_export(v1=["nn.conv2d_backprop_filter"])
def conv2d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
):
    """The gradient of a convolution with respect to its filter."""
    return gen_nn_ops.conv2d_backprop_filter(
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padding(padding),
    )


@tf_export(v1=["nn.conv2d_backprop_input"])
def conv2d_backprop_input(
    input_sizes,
    filter=None,
    out_backprop=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
    filters=None,
):
    """The gradient of a convolution with respect to its input."""
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    return gen_nn_ops.conv2d_backprop_input(
        input_sizes,
        filter,
        out_backprop,
        strides=strides,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padding(padding),
    )


@tf_export(v1=["nn.conv2d_transpose"])
def conv2d_transpose(
    value=None,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """What goes back through a convolution: [batch, y, x, out] with a filter [y, x, in, out] to
    `output_shape`."""
    value = deprecation.deprecated_argument_lookup("input", input, "value", value)
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    with ops.name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as name:
        return conv2d_transpose_v2(
            value, filter, output_shape, strides, padding, data_format, dilations, name
        )


def conv2d_transpose_v2(
    input, filters, output_shape, strides, padding="SAME", data_format="NHWC", dilations=None, name=None
):
    with ops.name_scope(name, "conv2d_transpose", [input, filters, output_shape]) as name:
        data_format = data_format or "NHWC"
        c = _channel_index(data_format, 2)
        return gen_nn_ops.conv2d_backprop_input(
            input_sizes=output_shape,
            filter=filters,
            out_backprop=input,
            strides=_get_sequence(strides, 2, c, "strides"),
            data_format=data_format,
            dilations=_get_sequence(dilations, 2, c, "dilations"),
            name=name,
            **_padding(padding),
        )


def _flat_format(data_format):
    """The format of a picture of height 1, and the dimension of its height, for a format of sequences."""
    _check_data_format(data_format, (None, "NHWC", "NCHW", "NWC", "NCW"))
    return ("NHWC", 1) if data_format in (None, "NHWC", "NWC") else ("NCHW", 2)


@tf_export(v1=["nn.conv1d"])
def conv1d(
    value=None,
    filters=None,
    stride=None,
    padding=None,
    use_cudnn_on_gpu=None,
    data_format=None,
    name=None,
    input=None,
    dilations=None,
):
    """Convolution of sequences [batch, x, in] with filters [x, in, out]."""
    value = deprecation.deprecated_argument_lookup("input", input, "value", value)
    with ops.name_scope(name, "conv1d", [value, filters]) as name:
        data_format, height = _flat_format(data_format)
        c = 2 if data_format == "NHWC" else 1
        strides = [1] + _get_sequence(stride, 1, c, "stride")
        dilations = [1] + _get_sequence(dilations, 1, c, "dilations")
        value = array_ops.expand_dims(value, height)
        filters = array_ops.expand_dims(filters, 0)
        made = gen_nn_ops.conv2d(
            value,
            filters,
            strides,
            padding,
            use_cudnn_on_gpu=True if use_cudnn_on_gpu is None else use_cudnn_on_gpu,
            data_format=data_format,
            dilations=dilations,
            name=name,
        )
        return array_ops.squeeze(made, [height])


def conv1d_v2(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):
    return conv1d(input, filters, stride, padding, True, data_format, name, dilations=dilations)


@tf_export("nn.conv1d_transpose")
def conv1d_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None, name=None
):
    """What goes back through a convolution of sequences; see tf.nn.conv2d_transpose."""
    with ops.name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as name:
        data_format, height = _flat_format(data_format)
        c = 2 if data_format == "NHWC" else 1
        strides = [1] + _get_sequence(strides, 1, c, "stride")
        dilations = [1] + _get_sequence(dilations, 1, c, "dilations")
        input = array_ops.expand_dims(input, height)
        filters = array_ops.expand_dims(filters, 0)
        if isinstance(output_shape, (list, tuple)):
            output_shape = list(output_shape)[:height] + [1] + list(output_shape)[height:]
        else:
            output_shape = array_ops.concat([output_shape[:height], [1], output_shape[height:]], 0)
        made = gen_nn_ops.conv2d_backprop_input(
            input_sizes=output_shape,
            filter=filters,
            out_backprop=input,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=name,
        )
        return array_ops.squeeze(made, [height])


@tf_export("nn.conv_transpose")
def conv_transpose(
    input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None
):
    """What goes back through a convolution in as many spatial dimensions as `output_shape` has."""
    with ops.name_scope(name, "conv_transpose", [input, filters, output_shape]) as name:
        if tensor_util.is_tensor(output_shape):
            n = output_shape.shape[0].value - 2
        elif hasattr(output_shape, "__len__"):
            n = len(output_shape) - 2
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        if not 1 <= n <= 3:
            raise ValueError("output_shape must be of length 3, 4 or 5 but was {}.".format(n + 2))
        build = (conv1d_transpose, conv2d_transpose_v2, conv3d_transpose_v2)[n - 1]
        return build(
            input,
            filters,
            output_shape,
            strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=name,
        )


@tf_export(v1=["nn.conv3d"])
def conv3d_v1(
    input,
    filter=None,
    strides=None,
    padding=None,
    data_format="NDHWC",
    dilations=[1, 1, 1, 1, 1],
    name=None,
    filters=None,
):
    """Convolution of volumes [batch, z, y, x, in] with a filter [z, y, x, in, out]."""
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    return gen_nn_ops.conv3d(input, filter, strides, padding, data_format, dilations, name)


conv3d = conv3d_v1


@tf_export(v1=["nn.conv3d_transpose"])
def conv3d_transpose(
    value,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NDHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """What goes back through a convolution of volumes, with a filter [z, y, x, out, in] to `output_shape`."""
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    value = deprecation.deprecated_argument_lookup("input", input, "value", value)
    return conv3d_transpose_v2(
        value, filter, output_shape, strides, padding, data_format, dilations=dilations, name=name
    )


def conv3d_transpose_v2(
    input, filters, output_shape, strides, padding="SAME", data_format="NDHWC", dilations=None, name=None
):
    with ops.name_scope(name, "conv3d_transpose", [input, filters, output_shape]) as name:
        data_format = data_format or "NDHWC"
        c = _channel_index(data_format, 3)
        return gen_nn_ops.conv3d_backprop_input_v2(
            input_sizes=output_shape,
            filter=filters,
            out_backprop=input,
            strides=_get_sequence(strides, 3, c, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=_get_sequence(dilations, 3, c, "dilations"),
            name=name,
        )


def _pool3d(build, scope, input, ksize, strides, padding, data_format, name):
    with ops.name_scope(name, scope, [input]) as name:
        data_format = data_format or "NDHWC"
        c = _channel_index(data_format, 3)
        return build(
            input,
            ksize=_get_sequence(ksize, 3, c, "ksize"),
            strides=_get_sequence(strides, 3, c, "strides"),
            padding=padding,
            data_format=data_format,
            name=name,
        )


@tf_export(v1=["nn.depthwise_conv2d_native"])
def depthwise_conv2d_native(
    input, filter, strides, padding, data_format="NHWC", dilations=[1, 1, 1, 1], name=None
):
    """Convolution of each channel by itself; filter: [y, x, in, multiplier]."""
    return gen_nn_ops.depthwise_conv2d_native(
        input, filter, strides, data_format=data_format, dilations=dilations, name=name, **_padding(padding)
    )


@tf_export(
    "nn.depthwise_conv2d_backprop_input",
    v1=["nn.depthwise_conv2d_native_backprop_input", "nn.depthwise_conv2d_backprop_input"],
)
def depthwise_conv2d_native_backprop_input(
    input_sizes,
    filter,
    out_backprop,
    strides,
    padding,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
):
    """The gradient of a depthwise convolution with respect to its input."""
    return gen_nn_ops.depthwise_conv2d_native_backprop_input(
        input_sizes,
        filter,
        out_backprop,
        strides,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padding(padding),
    )


@tf_export(
    "nn.depthwise_conv2d_backprop_filter",
    v1=["nn.depthwise_conv2d_native_backprop_filter", "nn.depthwise_conv2d_backprop_filter"],
)
def depthwise_conv2d_native_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    data_format="NHWC",
    dilations=[1, 1, 1, 1],
    name=None,
):
    """The gradient of a depthwise convolution with respect to its filter."""
    return gen_nn_ops.depthwise_conv2d_native_backprop_filter(
        input,
        filter_sizes,
        out_backprop,
        strides,
        data_format=data_format,
        dilations=dilations,
        name=name,
        **_padding(padding),
    )


# ---- Dilation by way of the batch ----


@tf_export("nn.with_space_to_batch", v1=["nn.with_space_to_batch"])
def with_space_to_batch(
    input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None
):
    """op(x, number of spatial dimensions, padding) with its window's elements `dilation_rate` apart.

    Places that are as far apart are put next to each other: into the batch, op with padding "VALID", and
    back.
    """
    input = ops.convert_to_tensor(input, name="input")
    build = _WithSpaceToBatch(
        input.get_shape(),
        dilation_rate,
        padding,
        lambda n, padding: lambda x, _: op(x, n, padding),
        filter_shape,
        spatial_dims,
        data_format,
    )
    return build(input, None)


class _WithSpaceToBatch:
    """What with_space_to_batch does, for an op of two tensors that build_op(dimensions, padding) makes."""

    def __init__(
        self,
        input_shape,
        dilation_rate,
        padding,
        build_op,
        filter_shape=None,
        spatial_dims=None,
        data_format=None,
    ):
        rate = ops.convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")
        if rate.get_shape().ndims not in (None, 1):
            raise ValueError("rate must be rank 1")
        if not rate.get_shape().is_fully_defined():
            raise ValueError("rate must have known shape")
        count = rate.get_shape().dims[0].value
        is_first = data_format is not None and data_format.startswith("NC")
        start = 2 if is_first else 1
        if spatial_dims is None:
            spatial_dims = range(start, count + start)
        dims = list(spatial_dims)
        if len(dims) != count or any(a >= b for a, b in zip(dims, dims[1:])) or min(dims, default=1) < 1:
            raise ValueError("spatial_dims must be a monotonically increasing sequence of positive integers")
        last = dims[-1] if dims else 0
        if input_shape.ndims is not None:
            input_shape.with_rank_at_least(last + 1)
        self.spatial_dims = dims
        self.data_format = data_format
        self.input_shape = input_shape
        value = tensor_util.constant_value(rate)
        if value is not None and np.any(value < 1):
            raise ValueError("dilation_rate must be positive")
        self.rate = rate
        self.rate_or_const = rate if value is None else value
        self.is_plain = value is not None and np.all(value == 1)
        self.padding = padding
        self.base_paddings = None
        if self.is_plain:
            self.op = build_op(count, padding)
            return
        if isinstance(padding, (list, tuple)):
            pairs = np.array(padding)
            self.base_paddings = pairs[dims]
        elif padding == "SAME":
            if filter_shape is None:
                raise ValueError("filter_shape must be specified for SAME padding")
            filter_shape = ops.convert_to_tensor(filter_shape, name="filter_shape")
            known = tensor_util.constant_value(filter_shape)
            self.base_paddings = _with_space_to_batch_base_paddings(
                filter_shape if known is None else known, count, self.rate_or_const
            )
        elif padding == "VALID":
            self.base_paddings = np.zeros([count, 2], np.int32)
        else:
            raise ValueError("Invalid padding method %r" % (padding,))
        self.op = build_op(count, "VALID")

    def __call__(self, inp, filter):
        if self.is_plain:
            return self.op(inp, filter)
        dims = self.spatial_dims
        static = inp.get_shape()
        known = [static.dims[d].value for d in dims] if static.ndims is not None else [None]
        if None in known:
            sizes = array_ops.shape(inp)
            sizes = array_ops.stack([sizes[d] for d in dims])
        else:
            sizes = np.array(known, dtype=np.int32)
        paddings, crops = array_ops.required_space_to_batch_paddings(
            input_shape=sizes, base_paddings=self.base_paddings, block_shape=self.rate
        )
        rate = self.rate_or_const
        rate = _adjust(rate, 1, dims)
        paddings = _adjust(_value_or_tensor(paddings), 0, dims)
        crops = _adjust(_value_or_tensor(crops), 0, dims)
        moved = array_ops.space_to_batch_nd(input=inp, block_shape=rate, paddings=paddings)
        return array_ops.batch_to_space_nd(self.op(moved, filter), block_shape=rate, crops=crops)


def _with_space_to_batch_base_paddings(filter_shape, num_spatial_dims, rate_or_const_rate):
    """The paddings of "SAME" for a filter whose elements are `rate` apart, [dimensions, 2]."""
    extra = (filter_shape[:num_spatial_dims] - 1) * rate_or_const_rate
    start = extra // 2
    end = extra - start
    return array_ops.stack([[start[i], end[i]] for i in range(num_spatial_dims)])


def _value_or_tensor(tensor):
    value = tensor_util.constant_value(tensor)
    return tensor if value is None else value


def _adjust(orig, fill_value, spatial_dims):
    """Numbers for all dimensions from 1 to the last of `spatial_dims`: those given, and the fill value."""
    if spatial_dims == list(range(1, spatial_dims[-1] + 1)):
        return orig
    value = tensor_util.constant_value(orig) if tensor_util.is_tensor(orig) else orig
    rows = orig if value is None else value
    width = () if len(rows.shape) == 1 else (2,)
    made = []
    for d in range(1, spatial_dims[-1] + 1):
        if d in spatial_dims:
            made.append(rows[spatial_dims.index(d)])
        else:
            made.append(np.full(width, fill_value, dtype=np.int32))
    return np.stack(made).astype(np.int32) if value is not None else array_ops.stack(made)


# ---- Convolution in any number of dimensions ----


@tf_export(v1=["nn.convolution"])
def convolution(
    input,
    filter,
    padding,
    strides=None,
    dilation_rate=None,
    name=None,
    data_format=None,
    filters=None,
    dilations=None,
):
    """Convolution in one to three spatial dimensions, with strides or with the filter's elements apart."""
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    dilation_rate = deprecation.deprecated_argument_lookup(
        "dilations", dilations, "dilation_rate", dilation_rate
    )
    return convolution_internal(
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilation_rate,
        name=name,
    )


def convolution_internal(
    input,
    filters,
    strides=None,
    padding="VALID",
    data_format=None,
    dilations=None,
    name=None,
    call_from_convolution=True,
    num_spatial_dims=None,
):
    with ops.name_scope(name, "convolution", [input, filters]) as name:
        input = ops.convert_to_tensor(input, name="input")
        filters = ops.convert_to_tensor(filters, name="filter")
        build = Convolution(
            input.get_shape(),
            filters.get_shape(),
            padding,
            strides=strides,
            dilation_rate=dilations,
            name=name,
            data_format=data_format,
            is_layer=False,
        )
        return build(input, filters)


class Convolution:
    """A convolution for tensors of these shapes: Convolution(...)(input, filter).

    is_layer: whether the node `dilation_rate` is made for dilations of 1, too, as in the graphs of layers.
    """

    def __init__(
        self,
        input_shape,
        filter_shape,
        padding,
        strides=None,
        dilation_rate=None,
        name=None,
        data_format=None,
        num_spatial_dims=None,
        is_layer=True,
    ):
        if filter_shape.ndims is None and input_shape.ndims is None and num_spatial_dims is None:
            raise ValueError("rank of input or filter must be known")
        rank = filter_shape.ndims if filter_shape.ndims is not None else input_shape.ndims
        n = rank - 2 if num_spatial_dims is None else num_spatial_dims
        if input_shape.ndims is not None:
            input_shape.assert_has_rank(n + 2)
        if not 1 <= n <= 3:
            raise ValueError(
                "num_spatial_dims (input.shape.ndims - 2) must be one of 1, 2 or 3 but saw {}.".format(n)
            )
        is_first = data_format is not None and data_format.startswith("NC")
        spatial = range(2, n + 2) if is_first else range(1, n + 1)
        channels = input_shape[1 if is_first else n + 1]
        channels.assert_is_compatible_with(filter_shape[n])
        self.strides, self.dilations = _strides_and_dilations(n, strides, dilation_rate)
        self.input_shape, self.filter_shape = input_shape, filter_shape
        self.data_format, self.padding, self.name = data_format, padding, name
        if not is_layer and all(d == 1 for d in self.dilations):
            self.conv_op = self._build(n, padding)
            return
        self.conv_op = _WithSpaceToBatch(
            input_shape,
            dilation_rate=self.dilations,
            padding=padding,
            build_op=self._build,
            filter_shape=None if filter_shape.ndims is None else filter_shape.as_list(),
            spatial_dims=spatial,
            data_format=data_format,
        )

    def _build(self, n, padding):
        if n == 1:
            stride = self.strides[0]
            return lambda x, f: conv1d(
                x, f, stride, padding, data_format=self.data_format or "NWC", name=self.name
            )
        if n == 3:
            data_format = self.data_format or "NDHWC"
            strides = _get_sequence(self.strides, 3, _channel_index(data_format, 3), "strides")
            return lambda x, f: conv3d_v1(x, f, strides, padding, data_format, name=self.name)
        data_format = self.data_format or "NHWC"
        c = _channel_index(data_format, 2)
        strides = _get_sequence(self.strides, 2, c, "strides")
        return lambda x, f: gen_nn_ops.conv2d(
            x, f, strides=strides, data_format=data_format, name=self.name, **_padding(padding)
        )

    def __call__(self, inp, filter):
        made = self.conv_op(inp, filter)
        if made.shape.ndims is not None:
            shape = [None] * made.shape.ndims
            is_first = self.data_format is not None and self.data_format.startswith("NC")
            shape[1 if is_first else -1] = tensor_shape.dimension_value(self.filter_shape[-1])
            made.set_shape(shape)
        return made


@tf_export("nn.atrous_conv2d")
def atrous_conv2d(value, filters, rate, padding, name=None):
    """Convolution with a filter whose elements are `rate` apart."""
    return convolution(
        input=value,
        filter=filters,
        padding=padding,
        dilation_rate=np.broadcast_to(rate, (2,)).tolist(),
        name=name,
    )


@tf_export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """What goes back through tf.nn.atrous_conv2d: to `output_shape`."""
    with ops.name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as name:
        value = ops.convert_to_tensor(value, name="value")
        filters = ops.convert_to_tensor(filters, name="filters")
        if not value.get_shape().dims[3].is_compatible_with(filters.get_shape()[3]):
            raise ValueError(
                "value's input channels does not match filters' input channels, {} != {}".format(
                    value.get_shape()[3], filters.get_shape()[3]
                )
            )
        if rate < 1:
            raise ValueError("rate {} cannot be less than one".format(rate))
        if rate == 1:
            return conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding)
        output_shape = ops.convert_to_tensor(output_shape, name="output_shape")
        known = tensor_util.constant_value(output_shape)
        if padding == "SAME":
            height, width = (filters.get_shape().dims[i].value for i in (0, 1))
            tall, wide = (height - 1) * rate, (width - 1) * rate
            top, left = tall // 2, wide // 2
            bottom, right = tall - top, wide - left
        elif padding == "VALID":
            top = bottom = left = right = 0
        else:
            raise ValueError("padding must be either VALID or SAME: {} given".format(padding))
        sizes = output_shape if known is None else known
        in_height, in_width = sizes[1] + top + bottom, sizes[2] + left + right
        more_y = (rate - in_height % rate) % rate
        more_x = (rate - in_width % rate) % rate
        moved = array_ops.space_to_batch(value, [[0, more_y], [0, more_x]], rate)
        inner = [
            rate * rate * sizes[0],
            (in_height + more_y) // rate,
            (in_width + more_x) // rate,
            sizes[3],
        ]
        made = gen_nn_ops.conv2d_backprop_input(
            input_sizes=inner, filter=filters, out_backprop=moved, strides=[1, 1, 1, 1], padding="VALID"
        )
        crops = [[top, bottom + more_y], [left, right + more_x]]
        return array_ops.batch_to_space(made, crops, rate)


# ---- Pooling ----


@tf_export(v1=["nn.pool"])
def pool(
    input,
    window_shape,
    pooling_type,
    padding,
    dilation_rate=None,
    strides=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """The "AVG" or "MAX" of each window, in one to three spatial dimensions."""
    dilation_rate = deprecation.deprecated_argument_lookup(
        "dilations", dilations, "dilation_rate", dilation_rate
    )
    with ops.name_scope(name, "%s_pool" % pooling_type.lower(), [input]) as scope:
        input = ops.convert_to_tensor(input, name="input")
        n = len(window_shape)
        if not 1 <= n <= 3:
            raise ValueError("input spatial dimensions must be at least 1 and at most 3")
        input.get_shape().with_rank(n + 2)
        strides, dilation_rate = _strides_and_dilations(n, strides, dilation_rate)
        if padding == "SAME" and any(d > 1 for d in dilation_rate):
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if np.any(np.array(window_shape) < np.array(strides)):
            raise ValueError(
                "strides > window_shape not supported due to inconsistency between CPU and GPU "
                "implementations"
            )
        build = {
            ("AVG", 1): avg_pool1d,
            ("MAX", 1): max_pool1d,
            ("AVG", 2): _avg_pool2d,
            ("MAX", 2): _max_pool2d,
            ("AVG", 3): avg_pool3d,
            ("MAX", 3): max_pool3d,
        }.get((pooling_type, n))
        if build is None:
            raise ValueError("pooling_type must be AVG or MAX, not %r" % (pooling_type,))
        is_first = data_format is not None and data_format.startswith("NC")
        full = [1, 1] if is_first else [1]
        last = [] if is_first else [1]
        op_format = data_format or ("NWC", "NHWC", "NDHWC")[n - 1]

        def op(x, _, padding):
            return build(
                x,
                full + list(window_shape) + last,
                full + list(strides) + last,
                padding,
                data_format=op_format,
                name=scope,
            )

        return with_space_to_batch(
            input,
            dilation_rate,
            padding,
            op,
            filter_shape=list(window_shape),
            spatial_dims=range(2, n + 2) if is_first else range(1, n + 1),
            data_format=data_format,
        )


def _max_pool2d(value, ksize, strides, padding, data_format="NHWC", name=None):
    data_format = data_format or "NHWC"
    c = _channel_index(data_format, 2)
    return gen_nn_ops.max_pool(
        value,
        ksize=_get_sequence(ksize, 2, c, "ksize"),
        strides=_get_sequence(strides, 2, c, "strides"),
        data_format=data_format,
        name=name,
        **_padding(padding),
    )


def _avg_pool2d(value, ksize, strides, padding, data_format="NHWC", name=None):
    data_format = data_format or "NHWC"
    c = _channel_index(data_format, 2)
    return gen_nn_ops.avg_pool(
        value,
        ksize=_get_sequence(ksize, 2, c, "ksize"),
        strides=_get_sequence(strides, 2, c, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


@tf_export(v1=["nn.max_pool"])
def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """The greatest element of each window, of pictures [batch, y, x, channels]."""
    value = deprecation.deprecated_argument_lookup("input", input, "value", value)
    with ops.name_scope(name, "MaxPool", [value]) as name:
        data_format = data_format or "NHWC"
        _check_data_format(data_format, ("NHWC", "NCHW", "NCHW_VECT_C"))
        value = ops.convert_to_tensor(value, name="input")
        return _max_pool2d(value, ksize, strides, padding, data_format, name)


@tf_export("nn.max_pool2d")
def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """The greatest element of each window, of pictures [batch, y, x, channels]."""
    with ops.name_scope(name, "MaxPool2d", [input]) as name:
        return _max_pool2d(input, ksize, strides, padding, data_format, name)


@tf_export(v1=["nn.avg_pool", "nn.avg_pool2d"])
def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """The mean of each window, of pictures [batch, y, x, channels]."""
    value = deprecation.deprecated_argument_lookup("input", input, "value", value)
    with ops.name_scope(name, "AvgPool", [value]) as name:
        data_format = data_format or "NHWC"
        _check_data_format(data_format, ("NHWC", "NCHW", "NCHW_VECT_C"))
        value = ops.convert_to_tensor(value, name="input")
        return _avg_pool2d(value, ksize, strides, padding, data_format, name)


avg_pool2d = avg_pool


def _pool_v2(which, input, ksize, strides, padding, data_format, name):
    known = input.get_shape().ndims
    if known is None and data_format is None:
        raise ValueError("The rank of the input must be known, or data_format given")
    n = len(data_format) - 2 if data_format is not None else known - 2
    build = {
        ("avg_pool", 1): avg_pool1d,
        ("avg_pool", 2): _avg_pool2d,
        ("avg_pool", 3): avg_pool3d,
        ("max_pool", 1): max_pool1d,
        ("max_pool", 2): _max_pool2d,
        ("max_pool", 3): max_pool3d,
    }[which, n]
    data_format = data_format or ("NWC", "NHWC", "NDHWC")[n - 1]
    return build(input, ksize, strides, padding, data_format=data_format, name=name)


def _pool_input(input):
    input = ops.convert_to_tensor(input)
    if input.shape.ndims not in (None, 3, 4, 5):
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {input.shape.ndims}.")
    return input


@tf_export("nn.max_pool", v1=["nn.max_pool_v2"])
def max_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """The greatest element of each window, in one to three spatial dimensions."""
    input = _pool_input(input)
    return _pool_v2("max_pool", input, ksize, strides, padding, data_format, name)


@tf_export("nn.avg_pool", v1=["nn.avg_pool_v2"])
def avg_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """The mean of each window, in one to three spatial dimensions."""
    input = _pool_input(input)
    return _pool_v2("avg_pool", input, ksize, strides, padding, data_format, name)


def _pool1d(build, scope, input, ksize, strides, padding, data_format, name):
    with ops.name_scope(name, scope, [input]) as name:
        flat, height = _flat_format(data_format)
        c = 2 if flat == "NHWC" else 1
        ksize = _get_sequence(ksize, 1, c, "ksize")
        strides = _get_sequence(strides, 1, c, "strides")
        ksize = ksize[:height] + [1] + ksize[height:]
        strides = strides[:height] + [1] + strides[height:]
        value = array_ops.expand_dims(input, height)
        made = build(value, ksize=ksize, strides=strides, padding=padding, data_format=flat, name=name)
        return array_ops.squeeze(made, height)


@tf_export("nn.max_pool1d")
def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The greatest element of each window, of sequences [batch, x, channels]."""
    return _pool1d(gen_nn_ops.max_pool, "MaxPool1d", input, ksize, strides, padding, data_format, name)


@tf_export("nn.avg_pool1d")
def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """The mean of each window, of sequences [batch, x, channels]."""
    return _pool1d(gen_nn_ops.avg_pool, "AvgPool1D", input, ksize, strides, padding, data_format, name)


@tf_export("nn.max_pool3d")
def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The greatest element of each window, of volumes [batch, z, y, x, channels]."""
    return _pool3d(gen_nn_ops.max_pool3d, "MaxPool3D", input, ksize, strides, padding, data_format, name)


@tf_export("nn.avg_pool3d")
def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The mean of each window, of volumes [batch, z, y, x, channels]."""
    return _pool3d(gen_nn_ops.avg_pool3d, "AvgPool3D", input, ksize, strides, padding, data_format, name)


@tf_export(v1=["nn.max_pool_with_argmax"])
def max_pool_with_argmax_v1(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    Targmax=None,
    name=None,
    output_dtype=None,
    include_batch_in_index=False,
):
    """The greatest element of each window, and its place in the flat picture (or batch)."""
    _check_data_format(data_format, ("NHWC",))
    Targmax = deprecation.deprecated_argument_lookup("output_dtype", output_dtype, "Targmax", Targmax)
    return gen_nn_ops.max_pool_with_argmax(
        input=input,
        ksize=ksize,
        strides=strides,
        padding=padding,
        Targmax=dtypes.int64 if Targmax is None else Targmax,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


max_pool_with_argmax = max_pool_with_argmax_v1


def _fractional(build, value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2, name):
    return build(
        value,
        pooling_ratio,
        pseudo_random=pseudo_random,
        overlapping=overlapping,
        deterministic=deterministic,
        seed=seed,
        seed2=seed2,
        name=name,
    )


def _pooling_ratio(value):
    """The ratios of all four dimensions: given as such, one for both of the image, or those two."""
    given = [value] if isinstance(value, (int, float)) else list(value)
    return given if len(given) == 4 else [1.0, given[0], given[-1], 1.0]


def fractional_max_pool_v2(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """`fractional_max_pool` as TensorFlow 2 has it: any seed but 0 gives the same regions in each step."""
    return _fractional(
        gen_nn_ops.fractional_max_pool,
        value,
        _pooling_ratio(pooling_ratio),
        pseudo_random,
        overlapping,
        seed != 0,
        *((0, 0) if seed == 0 else random_seed.get_seed(seed)),
        name,
    )


@tf_export(v1=["nn.fractional_max_pool"])
def fractional_max_pool(
    value,
    pooling_ratio,
    pseudo_random=False,
    overlapping=False,
    deterministic=False,
    seed=0,
    seed2=0,
    name=None,
):
    """The greatest element of windows whose sizes vary, so that the ratio need not be whole."""
    return _fractional(
        gen_nn_ops.fractional_max_pool,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name,
    )


def fractional_avg_pool_v2(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """`fractional_avg_pool` as TensorFlow 2 has it: any seed but 0 gives the same regions in each step."""
    return _fractional(
        gen_nn_ops.fractional_avg_pool,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        seed != 0,
        *((0, 0) if seed == 0 else random_seed.get_seed(seed)),
        name,
    )


@tf_export(v1=["nn.fractional_avg_pool"])
def fractional_avg_pool(
    value,
    pooling_ratio,
    pseudo_random=False,
    overlapping=False,
    deterministic=False,
    seed=0,
    seed2=0,
    name=None,
):
    """The mean of windows whose sizes vary, so that the ratio need not be whole."""
    return _fractional(
        gen_nn_ops.fractional_avg_pool,
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name,
    )


@tf_export(v1=["nn.dilation2d"])
def dilation2d_v1(
    input,
    filter=None,
    strides=None,
    rates=None,
    padding=None,
    name=None,
    filters=None,
    dilations=None,
):
    """The greatest sum of a window and the filter, as in morphology."""
    filter = deprecation.deprecated_argument_lookup("filters", filters, "filter", filter)
    rates = deprecation.deprecated_argument_lookup("dilations", dilations, "rates", rates)
    return gen_nn_ops.dilation2d(input, filter, strides, rates, padding, name=name)


dilation2d = dilation2d_v1


@tf_export(v1=["nn.erosion2d"])
def erosion2d(value, kernel, strides, rates, padding, name=None):
    """The least difference of a window and the mirrored kernel, as in morphology."""
    with ops.name_scope(name, "erosion2d", [value, kernel]):
        mirrored = array_ops.reverse_v2(kernel, [0, 1])
        made = gen_nn_ops.dilation2d(
            input=math_ops.negative(value), filter=mirrored, strides=strides, rates=rates, padding=padding
        )
        return math_ops.negative(made)


# ---- Activations ----


@tf_export(v1=["nn.bias_add"])
def bias_add(value, bias, data_format=None, name=None):
    """Adds a vector to the channels."""
    with ops.name_scope(name, "BiasAdd", [value, bias]) as name:
        if data_format is None or data_format.startswith("N") and data_format.endswith("C"):
            data_format = "NHWC"
        elif data_format.startswith("NC"):
            data_format = "NCHW"
        else:
            raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = ops.convert_to_tensor(value, name="input")
        bias = ops.convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return gen_nn_ops.bias_add(value, bias, data_format=data_format, name=name)


def bias_add_v1(value, bias, name=None):
    """The op BiasAddV1, which old graphs have."""
    with ops.name_scope(name, "BiasAddV1", [value, bias]) as name:
        value = ops.convert_to_tensor(value, name="input")
        bias = ops.convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return gen_nn_ops.bias_add_v1(value, bias, name=name)


@tf_export(v1=["nn.crelu"])
def crelu(features, name=None, axis=-1):
    """relu of the features and of their negative, side by side."""
    with ops.name_scope(name, "CRelu", [features]) as name:
        features = ops.convert_to_tensor(features, name="features")
        both = array_ops.concat([features, -features], axis, name=name)
        return gen_nn_ops.relu(both)


@tf_export("nn.relu6")
@dispatch.elementwise
def relu6(features, name=None):
    """min(max(x, 0), 6)"""
    with ops.name_scope(name, "Relu6", [features]) as name:
        features = ops.convert_to_tensor(features, name="features")
        return gen_nn_ops.relu6(features, name=name)


@tf_export("nn.leaky_relu")
@dispatch.elementwise
def leaky_relu(features, alpha=0.2, name=None):
    """x where it is positive, and alpha * x elsewhere."""
    with ops.name_scope(name, "LeakyRelu", [features, alpha]) as name:
        features = ops.convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = math_ops.cast(features, dtypes.float32)
        if isinstance(alpha, np.ndarray):
            alpha = alpha.item()
        return gen_nn_ops.leaky_relu(features, alpha=alpha, name=name)


# ---- Softmax ----


def _flatten_outer_dims(logits):
    """The logits as a matrix of rows."""
    count = array_ops.rank(logits)
    last = array_ops.slice(array_ops.shape(logits), [math_ops.subtract(count, 1)], [1])
    made = array_ops.reshape(logits, array_ops.concat([[-1], last], 0))
    known = logits.get_shape()
    if known.ndims is not None:
        outer = 1
        for size in known.dims[:-1]:
            outer = None if outer is None or size.value is None else outer * size.value
        made.set_shape([outer, known.dims[-1].value])
    return made


def _swap_axis(x, axis, last, name=None):
    """x with the dimensions `axis` and `last`, its last one, swapped."""
    order = array_ops.concat([math_ops.range(axis), [last], math_ops.range(axis + 1, last), [axis]], 0)
    return array_ops.transpose(x, order, name=name or "transpose")


def _move_dim_to_end(x, axis, count):
    order = array_ops.concat([math_ops.range(axis), math_ops.range(axis + 1, count), [axis]], 0)
    return array_ops.transpose(x, order)


def _softmax(logits, compute_op, dim=-1, name=None):
    logits = ops.convert_to_tensor(logits)
    known = logits.get_shape()
    if not tensor_util.is_tensor(dim):
        if dim == -1 or (known.ndims is not None and dim == known.ndims - 1):
            return compute_op(logits, name=name)
        if known.ndims is not None and not -known.ndims <= dim < known.ndims:
            raise errors_impl.InvalidArgumentError(
                None,
                None,
                "Dimension (%d) must be in the range [%d, %d) where %d is the number of dimensions in the "
                "input." % (dim, -known.ndims, known.ndims, known.ndims),
            )
    count = array_ops.rank(logits)
    dim = dim % (count if known.ndims is None else known.ndims)
    count = array_ops.rank(logits)
    made = compute_op(_swap_axis(logits, dim, math_ops.subtract(count, 1)))
    made = _swap_axis(made, dim, math_ops.subtract(count, 1), name=name)
    made.set_shape(known)  # what a transpose by a tensor does not know
    return made


@tf_export(v1=["nn.softmax", "math.softmax"])
def softmax(logits, axis=None, name=None, dim=None):
    """exp(x) by the sum of exp(x) along a dimension, the last unless another is given."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dim", dim)
    return _softmax(logits, gen_nn_ops.softmax, -1 if axis is None else axis, name)


def softmax_v2(logits, axis=None, name=None):
    return softmax(logits, axis, name)


@tf_export(v1=["nn.log_softmax", "math.log_softmax"])
def log_softmax(logits, axis=None, name=None, dim=None):
    """The logarithm of tf.nn.softmax."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dim", dim)
    return _softmax(logits, gen_nn_ops.log_softmax, -1 if axis is None else axis, name)


def log_softmax_v2(logits, axis=None, name=None):
    return log_softmax(logits, axis, name)


def _ensure_xent_args(name, sentinel, labels, logits):
    if sentinel is not None:
        raise ValueError("Only call `%s` with named arguments (labels=..., logits=..., ...)" % name)
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=-1, name=None):
    return softmax_cross_entropy_with_logits_v2_helper(labels=labels, logits=logits, axis=axis, name=name)


@tf_export(v1=["nn.softmax_cross_entropy_with_logits_v2"])
def softmax_cross_entropy_with_logits_v2_helper(labels, logits, axis=None, name=None, dim=None):
    """The cross entropy of distributions and the softmax of logits, along a dimension, the last by default.

    Gradients go to both.
    """
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with ops.name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = ops.convert_to_tensor(labels, name="labels")
        is_half = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = math_ops.cast(logits, dtypes.float32) if is_half else logits
        labels = math_ops.cast(labels, precise.dtype)
        count = array_ops.rank(precise)
        sizes = logits.get_shape()
        if axis != -1:
            place = axis % (count if sizes.ndims is None else sizes.ndims)
            precise = _move_dim_to_end(precise, place, count)
            labels = _move_dim_to_end(labels, place, count)
        input_shape = array_ops.shape(precise)
        rows = _flatten_outer_dims(precise)
        label_rows = _flatten_outer_dims(labels)
        cost, _ = gen_nn_ops.softmax_cross_entropy_with_logits(rows, label_rows, name=name)
        outer = array_ops.slice(input_shape, [0], [math_ops.subtract(count, 1)])
        cost = array_ops.reshape(cost, outer)
        if sizes.ndims is not None and sizes.dims is not None:
            left = list(sizes.dims)
            del left[axis]
            cost.set_shape(tensor_shape.TensorShape(left))
        return math_ops.cast(cost, logits.dtype) if is_half else cost


@tf_export(v1=["nn.softmax_cross_entropy_with_logits"])
def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    """As tf.nn.softmax_cross_entropy_with_logits_v2, without gradients for the labels."""
    if axis is not None:
        dim = deprecation.deprecated_argument_lookup("axis", axis, "dim", None if dim == -1 else dim)
    _ensure_xent_args("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with ops.name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as name:
        labels = array_ops.stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=dim, name=name)


@tf_export(v1=["nn.sparse_softmax_cross_entropy_with_logits"])
def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The cross entropy of classes, given as int32 or int64 numbers, and the softmax of logits [...,
    classes]."""
    _ensure_xent_args("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with ops.name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = ops.convert_to_tensor(labels)
        logits = ops.convert_to_tensor(logits)
        is_half = logits.dtype.base_dtype == dtypes.float16
        precise = math_ops.cast(logits, dtypes.float32) if is_half else logits
        labels_shape = array_ops.shape(labels)
        labels_static = labels.get_shape()
        logits_static = logits.get_shape()
        sizes_known = labels_static.is_fully_defined() and logits_static[:-1].is_fully_defined()
        if logits_static.ndims == 0:
            raise ValueError("Logits cannot be scalars - received shape %s." % logits_static)
        if logits_static.ndims is not None and (
            labels_static.ndims is not None and labels_static.ndims != logits_static.ndims - 1
        ):
            raise ValueError(
                "Rank mismatch: Rank of labels (received %s) should equal rank of logits minus 1 (received "
                "%s)." % (labels_static.ndims, logits_static.ndims)
            )
        if sizes_known and labels_static != logits_static[:-1]:
            raise ValueError(
                "Shape mismatch: The shape of labels (received %s) should equal the shape of logits except "
                "for "
                "the last dimension (received %s)." % (labels_static, logits_static)
            )
        if logits_static.ndims == 2:
            cost, _ = gen_nn_ops.sparse_softmax_cross_entropy_with_logits(precise, labels, name=name)
            return math_ops.cast(cost, dtypes.float16) if is_half else cost
        checks = []
        if not sizes_known:
            checks.append(check_ops.assert_equal(array_ops.shape(labels), array_ops.shape(logits)[:-1]))
        with ops.control_dependencies(checks):
            classes = array_ops.shape(logits)[array_ops.rank(logits) - 1]
            precise = array_ops.reshape(precise, [-1, classes])
            labels = array_ops.reshape(labels, [-1])
            cost, _ = gen_nn_ops.sparse_softmax_cross_entropy_with_logits(precise, labels, name=name)
            cost = array_ops.reshape(cost, labels_shape)
            cost.set_shape(labels_static)
            return math_ops.cast(cost, dtypes.float16) if is_half else cost


def sparse_softmax_cross_entropy_with_logits_v2(labels, logits, name=None):
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


# ---- Dropout ----


def _get_noise_shape(x, noise_shape):
    """The shape of the mask: x's where none is given, or where the given one has None."""
    if noise_shape is None:
        return array_ops.shape(x)
    try:
        given = tensor_shape.as_shape(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    known = x.get_shape()
    if known.dims is not None and given.dims is not None and len(known.dims) == len(given.dims):
        return tensor_shape.TensorShape(
            [
                a.value if b.value is None and a.value is not None else b.value
                for a, b in zip(known.dims, given.dims)
            ]
        )
    return noise_shape


@tf_export(v1=["nn.dropout"])
@dispatch.elementwise
def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Zero with probability `rate` (1 - keep_prob), and otherwise x / (1 - rate).

    noise_shape: of the random numbers; where it is 1, a whole dimension is kept or dropped together.
    """
    try:
        keep = 1.0 - keep_prob if keep_prob is not None else None
    except TypeError:
        raise ValueError("keep_prob must be a floating point number or Tensor (got %r)" % keep_prob) from None
    rate = deprecation.deprecated_argument_lookup("rate", rate, "keep_prob", keep)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    return dropout_v2(x, rate, noise_shape=noise_shape, seed=seed, name=name)


def dropout_v2(x, rate, noise_shape=None, seed=None, name=None):
    with ops.name_scope(name, "dropout", [x]):
        x = ops.convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. Got a %s tensor instead."
                % x.dtype
            )
        if isinstance(rate, numbers.Real):
            if not 0 <= rate < 1:
                raise ValueError("rate must be a scalar tensor or a float in the range [0, 1), got %g" % rate)
            if rate > 0.5:
                logging.log_first_n(
                    logging.WARN,
                    "Large dropout rate: %g (>0.5). In TensorFlow 2.x, dropout() uses dropout rate instead "
                    "of "
                    "keep_prob. Please ensure that this is intended.",
                    5,
                    rate,
                )
            if rate == 0:
                return x
        rate = ops.convert_to_tensor(rate, dtype=x.dtype, name="rate")
        rate.get_shape().assert_has_rank(0)
        if tensor_util.constant_value(rate) == 0:
            return x
        noise_shape = _get_noise_shape(x, noise_shape)
        random = random_ops.random_uniform(noise_shape, seed=seed, dtype=x.dtype)
        scale = 1 / (1 - rate)
        mask = random >= rate
        made = x * scale * math_ops.cast(mask, x.dtype)
        made.set_shape(x.get_shape())
        return made


# ---- Others ----


@tf_export("math.top_k", "nn.top_k")
def top_k(input, k=1, sorted=True, name=None):
    """The k greatest elements of each row, and their places."""
    return gen_nn_ops.top_kv2(input, k=k, sorted=sorted, name=name)


@tf_export(v1=["math.in_top_k", "nn.in_top_k"])
def in_top_k(predictions, targets, k, name=None):
    """Whether the target's prediction is among the k greatest of its row."""
    with ops.name_scope(name, "in_top_k"):
        return gen_nn_ops.in_top_kv2(predictions, targets, k, name=name)


def in_top_k_v2(targets, predictions, k, name=None):
    return in_top_k(predictions, targets, k, name)


def nth_element(input, n, reverse=False, name=None):
    """The n-th least (greatest, reversed) element of each row, from 0."""
    return gen_nn_ops.nth_element(input, n, reverse=reverse, name=name)


@tf_export(v1=["nn.xw_plus_b"])
def xw_plus_b(x, weights, biases, name=None):
    """matmul(x, weights) + biases"""
    with ops.name_scope(name, "xw_plus_b", [x, weights, biases]) as name:
        x = ops.convert_to_tensor(x, name="x")
        weights = ops.convert_to_tensor(weights, name="weights")
        biases = ops.convert_to_tensor(biases, name="biases")
        return bias_add(math_ops.matmul(x, weights), biases, name=name)


def xw_plus_b_v1(x, weights, biases, name=None):
    with ops.name_scope(name, "xw_plus_b_v1", [x, weights, biases]) as name:
        x = ops.convert_to_tensor(x, name="x")
        weights = ops.convert_to_tensor(weights, name="weights")
        biases = ops.convert_to_tensor(biases, name="biases")
        return bias_add_v1(math_ops.matmul(x, weights), biases, name=name)

"""The arguments of convolutions: tuples of sizes, names of layouts, lengths of outputs."""

import itertools

import numpy as np


def convert_data_format(data_format, ndim):
    """The layout in the words of the ops: NHWC for "channels_last" of rank 4."""
    layouts = {
        "channels_last": {3: "NWC", 4: "NHWC", 5: "NDHWC"},
        "channels_first": {3: "NCW", 4: "NCHW", 5: "NCDHW"},
    }
    if data_format not in layouts:
        raise ValueError("Invalid data_format:", data_format)
    if ndim not in layouts[data_format]:
        raise ValueError("Input rank not supported:", ndim)
    return layouts[data_format][ndim]


def normalize_tuple(value, n, name):
    """`value`, an integer or n of them, as a tuple of n."""
    if isinstance(value, int):
        return (value,) * n
    message = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(message) from None
    if len(values) != n:
        raise ValueError(message)
    for single in values:
        try:
            int(single)
        except (ValueError, TypeError):
            raise ValueError(f"{message} including element {single} of type {type(single)}") from None
    return values


def normalize_data_format(value):
    """The layout, keras' default for None."""
    if value is None:
        from braid.tensorflow.python.keras import backend

        value = backend.image_data_format()
    data_format = value.lower()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". Received: '
            + str(value)
        )
    return data_format


def normalize_padding(value):
    if isinstance(value, (list, tuple)):
        return value
    padding = value.lower()
    if padding not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for '
            f"`Conv1D). Received: {padding}"
        )
    return padding


def conv_output_length(input_length, filter_size, padding, stride, dilation=1):
    """The length of the output of a convolution. None: unknown."""
    if input_length is None:
        return None
    assert padding in ("same", "valid", "full", "causal")
    dilated = filter_size + (filter_size - 1) * (dilation - 1)
    if padding in ("same", "causal"):
        length = input_length
    elif padding == "valid":
        length = input_length - dilated + 1
    else:
        length = input_length + dilated - 1
    return (length + stride - 1) // stride


def conv_input_length(output_length, filter_size, padding, stride):
    """The length of the input of a convolution with that output. None: unknown."""
    if output_length is None:
        return None
    assert padding in ("same", "valid", "full")
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length, filter_size, padding, output_padding=None, stride=0, dilation=1):
    """The length of the output of a transposed convolution. None: unknown."""
    assert padding in ("same", "valid", "full")
    if input_length is None:
        return None
    filter_size = filter_size + (filter_size - 1) * (dilation - 1)
    if output_padding is None:
        if padding == "valid":
            return input_length * stride + max(filter_size - stride, 0)
        if padding == "full":
            return input_length * stride - (stride + filter_size - 2)
        return input_length * stride
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (input_length - 1) * stride + filter_size - 2 * pad + output_padding


def conv_output_shape(input_shape, kernel_shape, strides, padding):
    """The lengths of the output of a convolution; an axis without values stays one."""
    lengths = zip(input_shape, kernel_shape, strides)
    return tuple(n and conv_output_length(n, k, padding, s) for n, k, s in lengths)


def conv_connected_inputs(input_shape, kernel_shape, output_position, strides, padding):
    """The ranges of the input, one for each axis, that an output's value is computed from."""
    ranges = []
    for n, k, at, stride in zip(input_shape, kernel_shape, output_position, strides):
        start = at * stride - (k // 2 if padding == "same" else 0)
        ranges.append(range(max(0, start), min(n, start + k)))
    return ranges


def _connections(input_shape, kernel_shape, strides, padding):
    """(shape of the output, pairs of an output's and an input's place that a convolution connects)."""
    if padding not in ("same", "valid"):
        raise NotImplementedError(
            f'Padding type {padding} not supported. Only "valid" and "same" are implemented.'
        )
    rank = len(input_shape)
    kernel_shape = (kernel_shape,) * rank if isinstance(kernel_shape, int) else kernel_shape
    strides = (strides,) * rank if isinstance(strides, int) else strides
    if len(kernel_shape) != rank or len(strides) != rank:
        raise ValueError(
            "Number of strides, input and kernel dimensions must all match. Received: "
            f"{len(strides)}, {rank}, {len(kernel_shape)}."
        )
    shape = conv_output_shape(input_shape, kernel_shape, strides, padding)

    def pairs():
        for place in itertools.product(*map(range, shape)):
            window = conv_connected_inputs(input_shape, kernel_shape, place, strides, padding)
            for source in itertools.product(*window):
                yield place, source

    return shape, pairs()


def conv_kernel_mask(input_shape, kernel_shape, strides, padding):
    """Booleans [axes of the input, axes of the output]: whether a convolution connects the places."""
    shape, pairs = _connections(tuple(input_shape), kernel_shape, strides, padding)
    mask = np.zeros(tuple(input_shape) + shape, bool)
    for place, source in pairs:
        mask[source + place] = True
    return mask


def conv_kernel_idxs(input_shape, kernel_shape, strides, padding, filters_in, filters_out, data_format):
    """Yields (number in the flat output, number in the flat input) of values that a convolution connects."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f'Data format {data_format} not recignized.`data_format` must be "channels_first" or '
            '"channels_last".'
        )
    shape, pairs = _connections(tuple(input_shape), kernel_shape, strides, padding)

    def number(place, sizes, channel, channels):
        first = data_format == "channels_first"
        index, dims = (
            ((channel,) + place, (channels,) + sizes) if first else (place + (channel,), sizes + (channels,))
        )
        return int(np.ravel_multi_index(index, dims))

    for place, source in pairs:
        for f_in, f_out in itertools.product(range(filters_in), range(filters_out)):
            yield (
                number(place, shape, f_out, filters_out),
                number(source, tuple(input_shape), f_in, filters_in),
            )


def convert_kernel(kernel):
    """A kernel [..., inputs, outputs] of Theano's convolutions for TensorFlow's, or back: the places turned around."""
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError("Invalid kernel shape:", kernel.shape)
    return np.flip(kernel, range(kernel.ndim - 2)).copy()

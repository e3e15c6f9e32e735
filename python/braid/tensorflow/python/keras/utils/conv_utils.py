"""The arguments of convolutions: tuples of sizes, names of layouts, lengths of outputs."""


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

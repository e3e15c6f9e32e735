"""Sizes, strides and paddings of the windows of layers, from their NodeDefs."""

from braid.tensorflow.contrib.util import make_ndarray
from braid.tensorflow.python.platform import tf_logging as logging

# Ops whose outputs depend on their inputs at the same place alone.
_UNCHANGED_RF_LAYER_OPS = frozenset(
    """
    Add AddV2 BiasAdd Cast Ceil ConcatV2 Const Floor FusedBatchNorm GreaterEqual Identity LRN Log Mul Pow
    RealDiv Relu Relu6 Round Rsqrt Softplus Sub VariableV2
    """.split()
)
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
_POOLS = ("MaxPool", "MaxPoolV2", "AvgPool")


def _constant_input(node, index, suffix, error, name_to_node):
    """The value of an input that is a constant, whose name ends so."""
    name = node.input[index]
    if not name.endswith(suffix):
        raise ValueError(error)
    return name_to_node[name]


def _stride_size(node, name_to_node):
    """(x, y)"""
    if node.op == "MaxPoolV2":
        error = "Strides name does not end with '/strides'"
        strides = _constant_input(node, 2, "/strides", error, name_to_node)
        values = make_ndarray(strides.attr["value"].tensor)
    else:
        values = node.attr["strides"].list.i
    return values[2], values[1]


def _conv_kernel_size(node, name_to_node):
    """(x, y) of a convolution, whose filters are a variable or a constant behind an Identity called NAME/read."""
    name = node.input[1]
    if not name.endswith("/read"):
        raise ValueError("Weight layer's name input to conv layer does not end with '/read'")
    name = name[: -len("/read")]
    weights = name_to_node[name]
    if weights.op == "VariableV2":
        shape = weights.attr["shape"].shape
    elif weights.op == "Const":
        shape = weights.attr["value"].tensor.tensor_shape
    else:
        raise ValueError("Weight layer {} is not of type VariableV2 or Const: {}".format(name, weights.op))
    if len(shape.dim) != 4:
        raise ValueError(
            "Weight layer {} does not have rank 4. Instead, it has: {}".format(name, len(shape.dim))
        )
    return shape.dim[1].size, shape.dim[0].size


def _pool_kernel_size(node, name_to_node):
    """(x, y)"""
    if node.op == "MaxPoolV2":
        error = "Kernel size name does not end with '/ksize'"
        sizes = _constant_input(node, 1, "/ksize", error, name_to_node)
        values = make_ndarray(sizes.attr["value"].tensor)
    else:
        values = node.attr["ksize"].list.i
    for index, place in ((0, "first"), (3, "last")):
        if values[index] != 1:
            raise ValueError("pool ksize for %s dim is not 1" % place)
    return values[2], values[1]


def _padding_size_conv_pool(node, kernel_size, stride, input_resolution=None):
    """(padding in all, padding before the input) of a window along one direction; None: it is not known."""
    padding = node.attr["padding"].s
    if padding in ("VALID", b"VALID"):
        return 0, 0
    if padding not in ("SAME", b"SAME"):
        raise ValueError("Invalid padding operation %s" % padding)
    if input_resolution is not None:
        total = max(kernel_size - (input_resolution % stride or stride), 0)
        return total, total // 2
    if kernel_size == 1:
        return 0, 0
    if stride == 1:
        return kernel_size - 1, (kernel_size - 1) // 2
    if stride == 2 and kernel_size % 2 == 0:
        return None, (kernel_size - 1) // 2  # what stands behind depends on the input's size
    logging.warning(
        "Padding depends on input size, which means that the effective padding may be different depending on the "
        "input image dimensionality. In this case, alignment check will be skipped. If you know the input resolution, "
        "please set it."
    )
    return None, None


def _padding_size_pad_layer(node, name_to_node):
    """(x in all, x before, y in all, y before)"""
    error = "Padding layer name does not end with '/paddings'"
    paddings = _constant_input(node, 1, "/paddings", error, name_to_node)
    if paddings.op != "Const":
        raise ValueError("Padding op is not Const")
    first, y, x, last = make_ndarray(paddings.attr["value"].tensor)
    for pair, place in ((first, "first"), (last, "last")):
        if pair.any():
            raise ValueError("padding is not zero for %s tensor dim" % place)
    return x.sum(), x[0], y.sum(), y[0]


def get_layer_params(node, name_to_node, input_resolution=None, force=False):
    """The window of a layer: (kernel_size_x, kernel_size_y, stride_x, stride_y, padding_x, padding_y,
    total_padding_x, total_padding_y).

    Paddings are those before the input; with the others in all; None where they are not known.

    node: a NodeDef: a convolution, a pool, a Pad, or an op without a window. name_to_node: all NodeDefs.
    input_resolution: [height, width] of the layer's input, on which paddings may depend. force: all is None
    for other ops.

    Raises:
      ValueError: this op is not known, or the layer is made otherwise than by the functions of tf.layers.
    """
    if node.op in _UNCHANGED_RF_LAYER_OPS:
        return (1, 1, 1, 1, 0, 0, 0, 0)
    if node.op == "Pad":
        total_x, x, total_y, y = _padding_size_pad_layer(node, name_to_node)
        return (1, 1, 1, 1, x, y, total_x, total_y)
    if node.op not in _CONVOLUTIONS and node.op not in _POOLS:
        if force:
            return (None,) * 8
        raise ValueError("Unknown layer for operation '%s': %s" % (node.name, node.op))
    strides = _stride_size(node, name_to_node)
    sizes = (_pool_kernel_size if node.op in _POOLS else _conv_kernel_size)(node, name_to_node)
    height, width = (None, None) if input_resolution is None else input_resolution
    total_x, x = _padding_size_conv_pool(node, sizes[0], strides[0], width)
    total_y, y = _padding_size_conv_pool(node, sizes[1], strides[1], height)
    return (*sizes, *strides, x, y, total_x, total_y)

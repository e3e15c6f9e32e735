"""How many operations on numbers the nodes of a graph do, with TensorFlow's way of counting (statistic
"flops").
"""

import math

from braid.tensorflow.python.framework import ops


def _size(shape):
    """The number of elements. ValueError: the shape is not known in full."""
    shape.assert_is_fully_defined()
    return shape.num_elements()


def _register(op_types, count):
    """count(inputs' shapes, outputs' shapes, node): the operations."""

    def flops(graph, node):
        operation = graph.get_operation_by_name(node.name)
        inputs = [tensor.shape for tensor in operation.inputs]
        outputs = [tensor.shape for tensor in operation.outputs]
        try:
            return ops.OpStats("flops", int(count(inputs, outputs, node)))
        except (ValueError, TypeError):  # a shape is not known
            return ops.OpStats("flops")

    for op_type in op_types.split():
        ops.RegisterStatistics(op_type, "flops")(flops)


def _each(number):
    """So many for each element of the output."""
    return lambda inputs, outputs, node: number * _size(outputs[0])


def _reduction(finish):
    """One for each element of the input but the first of each output, and `finish` for each output."""
    return lambda inputs, outputs, node: _size(inputs[0]) + (finish - 1) * _size(outputs[0])


def _window(node):
    return math.prod(node.attr["ksize"].list.i)


def _convolution(inputs, outputs, node):
    """A multiplication and an addition for each weight of an output: the filter is [..., in, out]."""
    return 2 * _size(outputs[0]) * _size(inputs[1][:-1])


def _convolution_gradient(shape, filters, node):
    """Those of the convolution, spread over what it took: `shape`."""
    strides = math.prod(node.attr["strides"].list.i)
    filters.assert_is_fully_defined()
    rows, columns, _, out = filters.as_list()
    return 2 * _size(shape) * rows * columns * out / strides


def _matmul(inputs, outputs, node):
    is_transposed = node.attr["transpose_a"].b
    return 2 * _size(outputs[0]) * int(inputs[0][0 if is_transposed else 1])


def _batch_matmul(inputs, outputs, node):
    is_transposed = node.attr["adj_x"].b
    return 2 * _size(outputs[0]) * int(inputs[0][-2 if is_transposed else -1])


_register("Reciprocal Square Log Neg AssignSub AssignAdd", _each(1))
_register("Add AddV2 Sub Mul RealDiv Maximum Minimum Pow", _each(1))
_register("GreaterEqual Greater LessEqual Less Equal NotEqual", _each(1))
_register("Rsqrt SquaredDifference", _each(2))
_register("RsqrtGrad", _each(4))
_register("Softmax", _each(5))
_register("BiasAdd", _each(1))
_register("L2Loss", lambda i, o, node: 3 * _size(i[0]) - 1)
_register("AddN", lambda i, o, node: (len(i) - 1) * _size(o[0]))
_register("Mean", _reduction(1))
_register("Sum ArgMax ArgMin BiasAddGrad", _reduction(0))
_register("AvgPool MaxPool", lambda i, o, node: _size(o[0]) * _window(node))
_register("AvgPoolGrad", lambda i, o, node: 2 * _size(i[1]) * _window(node))
_register("MaxPoolGrad", lambda i, o, node: _size(i[1]) * (_window(node) + 1))
_register("Conv2D Conv3D", _convolution)
_register("DepthwiseConv2dNative", lambda i, o, node: 2 * _size(o[0]) * _size(i[1][:2]))
_register("Dilation2D", lambda i, o, node: 2 * _size(o[0]) * _size(i[1][:2]))
_register("Conv2DBackpropInput", lambda i, o, node: _convolution_gradient(o[0], i[1], node))
_register("Conv2DBackpropFilter", lambda i, o, node: _convolution_gradient(i[0], o[0], node))
_register("MatMul", _matmul)
_register("BatchMatMul BatchMatMulV2", _batch_matmul)

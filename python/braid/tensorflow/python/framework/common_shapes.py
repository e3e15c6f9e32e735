"""Static shapes of broadcast tensors."""

from braid.tensorflow.python.framework import tensor_shape


def _broadcast_dimension(x, y):
    """ValueError: two sizes differ and none is 1."""
    if x.value == 1 or y.value == 1:
        return y if x.value == 1 else x
    if x.value is None or y.value is None:  # the other size, as it is not 1, wins
        return y if x.value is None else x
    return x.merge_with(y)


def broadcast_shape(shape_x, shape_y):
    """The shape of the result of an operation on tensors of two shapes. ValueError: there is none."""
    shape_x, shape_y = tensor_shape.as_shape(shape_x), tensor_shape.as_shape(shape_y)
    if shape_x.ndims is None or shape_y.ndims is None:
        return tensor_shape.unknown_shape()
    count = max(shape_x.ndims, shape_y.ndims)
    ones = [tensor_shape.Dimension(1)] * count
    xs = (ones + shape_x.dims)[-count:] if count else []
    ys = (ones + shape_y.dims)[-count:] if count else []
    try:
        return tensor_shape.TensorShape([_broadcast_dimension(x, y) for x, y in zip(xs, ys)])
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}") from None


def is_broadcast_compatible(shape_x, shape_y):
    """Whether tensors of two shapes can be operands of one operation, as far as is known."""
    try:
        broadcast_shape(shape_x, shape_y)
    except ValueError:
        return False
    return True


def call_cpp_shape_fn(op, require_shape_fn=True):
    """The shapes of an op's outputs, which the engine has inferred."""
    return [output.shape for output in op.outputs]


def scalar_shape(unused_op):
    """The shape of an op whose output is a scalar."""
    return [tensor_shape.TensorShape([])]


def unknown_shape(op):
    """The shapes of an op of which nothing is known."""
    return [tensor_shape.unknown_shape() for _ in op.outputs]


def unchanged_shape(op):
    """The shape of an op whose output has that of its input."""
    return [op.inputs[0].get_shape()]

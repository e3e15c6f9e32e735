"""Ragged tensors without dimensions of size 1."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util


def squeeze(input, axis=None, name=None):
    """tf.squeeze. Of a ragged tensor `axis` must be given, and a step checks that the sizes are 1."""
    with ops.name_scope(name, "RaggedSqueeze", [input]):
        input = ragged_tensor.convert_to_tensor_or_ragged_tensor(input)
        if not ragged_tensor.is_ragged(input):
            return array_ops.squeeze(input, axis)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        axes = [axis] if isinstance(axis, int) else axis
        if not isinstance(axes, (list, tuple)) or not all(isinstance(a, int) for a in axes):
            raise TypeError("Axis must be a list or tuple of integers.")
        ndims = input.shape.ndims
        for dim in sorted({ragged_util.get_positive_axis(a, ndims) for a in axes}, reverse=True):
            input = _without(input, dim)
        return input


def _without(rt, axis):
    if not ragged_tensor.is_ragged(rt):
        return array_ops.squeeze(rt, [axis])
    if axis > 1:
        return ragged_tensor.RaggedTensor(_without(rt.values, axis - 1), rt.row_splits, internal=True)
    sizes = rt.nrows() if axis == 0 else rt.row_lengths()
    holds = math_ops.reduce_all(math_ops.equal(sizes, 1))
    check = control_flow_ops.Assert(
        holds, [f"the argument `axis` has a dimension of a size other than 1: {axis}"]
    )
    with ops.control_dependencies([check]):
        values = rt.values
        if ragged_tensor.is_ragged(values):
            return values.with_flat_values(array_ops.identity(values.flat_values))
        return array_ops.identity(values)

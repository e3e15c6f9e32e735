"""Events of another shape."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Reshape"]


def _checked_shape(shape, name, validate_args):
    """A shape with at most one -1 as (tensor, checks)."""
    shape = ops.convert_to_tensor(shape, name=name, preferred_dtype=dtypes.int32)
    if not shape.dtype.is_integer:
        raise TypeError(f"{shape} dtype ({shape.dtype.name}) should be `int`-like.")
    if shape.get_shape().ndims is not None and shape.get_shape().ndims > 1:
        raise ValueError(f"`{shape}` rank ({shape.get_shape().ndims}) should be <= 1.")
    known = tensor_util.constant_value(shape)
    if known is not None:
        if np.sum(known == -1) > 1:
            raise ValueError(f"`{shape}` must have at most one `-1` (given {known})")
        if np.any(known < -1):
            raise ValueError(f"`{shape}` elements must be either positive integers or `-1`(given {known}).")
        return shape, []
    if not validate_args:
        return shape, []
    unknown = math_ops.reduce_sum(math_ops.cast(math_ops.equal(shape, -1), dtypes.int32))
    return shape, [
        check_ops.assert_less_equal(unknown, 1, message=f"`{shape}` elements must have at most one `-1`."),
        check_ops.assert_greater_equal(
            shape, -1, message=f"`{shape}` elements must be either positive integers or `-1`."
        ),
    ]


def _length(shape):
    """The number of dimensions that a shape, a vector, is of; None: it is not known."""
    return tensor_shape.dimension_value(shape.get_shape().with_rank_at_least(1)[0])


class Reshape(bijector.Bijector):
    """Events of the shape `event_shape_in` get the shape `event_shape_out`; one dimension of each may be -1."""

    def __init__(self, event_shape_out, event_shape_in=(-1,), validate_args=False, name=None):
        with ops.name_scope(name, "reshape", values=[event_shape_out, event_shape_in]):
            self._out, checks_out = _checked_shape(event_shape_out, "event_shape_out", validate_args)
            self._in, checks_in = _checked_shape(event_shape_in, "event_shape_in", validate_args)
            self._assertions = checks_out + checks_in
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _check_event(self, event, static, given):
        """Checks in the step that an event has the shape. ValueError: it is known not to."""
        known = tensor_util.constant_value(given)
        message = "Input `event_shape` does not match `event_shape_in`"
        if known is not None and static.is_fully_defined():
            actual = np.array(static.as_list(), np.int32)
            if not np.array_equal(actual[known >= 0], known[known >= 0]):
                raise ValueError(f"{message} ({actual} vs {known}).")
            return []
        if not self.validate_args:
            return []
        mask = array_ops.reshape(given >= 0, [-1])
        specified = array_ops.boolean_mask(event, mask), array_ops.boolean_mask(given, mask)
        return [check_ops.assert_equal(*specified, message=message + ".")]

    def _reshape(self, x, from_shape, to_shape):
        ndims = _length(from_shape)
        shape, static = util.prefer_static_shape(x), x.get_shape()
        ends = tensor_shape.TensorShape(None)
        if static.ndims is not None and isinstance(ndims, int):
            ends = static.with_rank_at_least(ndims)[static.ndims - ndims :]
        else:
            ndims, shape = array_ops.shape(from_shape)[0], array_ops.shape(x)
        rank = util.prefer_static_rank(x)
        checks = self._check_event(shape[rank - ndims :], ends, from_shape)
        with ops.control_dependencies(self._assertions + checks):
            return array_ops.reshape(x, array_ops.concat([shape[: rank - ndims], to_shape], 0))

    def _forward(self, x):
        return self._reshape(x, self._in, self._out)

    def _inverse(self, y):
        return self._reshape(y, self._out, self._in)

    def _forward_log_det_jacobian(self, x):
        with ops.control_dependencies(self._assertions):
            return constant_op.constant(0.0, dtype=x.dtype)

    def _inverse_log_det_jacobian(self, y):
        return self._forward_log_det_jacobian(y)

    def _shape_of(self, shape, from_shape, to_shape):
        return self._reshape(array_ops.zeros(shape, dtypes.float32), from_shape, to_shape)

    def _static_shape(self, shape, from_shape, to_shape):
        if shape.is_fully_defined():
            return self._shape_of(shape.as_list(), from_shape, to_shape).get_shape()
        known = tensor_util.constant_value(to_shape)
        if known is None:
            ndims = _length(to_shape)
            return tensor_shape.TensorShape([None] * ndims if isinstance(ndims, int) else None)
        return tensor_shape.TensorShape([None if d < 0 else int(d) for d in known])

    def _forward_event_shape(self, input_shape):
        return self._static_shape(input_shape, self._in, self._out)

    def _inverse_event_shape(self, output_shape):
        return self._static_shape(output_shape, self._out, self._in)

    def _forward_event_shape_tensor(self, input_shape):
        return array_ops.shape(self._shape_of(input_shape, self._in, self._out))

    def _inverse_event_shape_tensor(self, output_shape):
        return array_ops.shape(self._shape_of(output_shape, self._out, self._in))

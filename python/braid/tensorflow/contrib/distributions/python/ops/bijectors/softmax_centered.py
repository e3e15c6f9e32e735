"""Vectors of probabilities."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["SoftmaxCentered"]


class SoftmaxCentered(bijector.Bijector):
    """The softmax of a vector with a 0 behind its elements: one element more."""

    def __init__(self, validate_args=False, name="softmax_centered"):
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape):
        if not input_shape.ndims:
            return input_shape
        return input_shape[:-1].concatenate([input_shape.dims[-1] + 1])

    def _forward_event_shape_tensor(self, input_shape):
        return array_ops.concat([input_shape[:-1], input_shape[-1:] + 1], 0)

    def _inverse_event_shape(self, output_shape):
        if not output_shape.ndims:
            return output_shape
        size = output_shape.dims[-1]
        if size.value is not None and size.value <= 1:
            raise ValueError(f"output_shape[-1] = {size} <= 1")
        return output_shape[:-1].concatenate([size - 1])

    def _inverse_event_shape_tensor(self, output_shape):
        if self.validate_args:
            message = "Need last dimension greater than 1."
            check = check_ops.assert_greater(output_shape[-1], 1, message=message)
            output_shape = control_flow_ops.with_dependencies([check], output_shape)
        return array_ops.concat([output_shape[:-1], output_shape[-1:] - 1], 0)

    def _forward(self, x):
        y = array_ops.concat([x, array_ops.zeros_like(x[..., :1])], -1)
        return nn_ops.softmax(y)

    def _inverse(self, y):
        logs = math_ops.log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y):
        return -math_ops.reduce_sum(math_ops.log(y), axis=-1)

    def _forward_log_det_jacobian(self, x):
        normalization = nn_ops.softplus(math_ops.reduce_logsumexp(x, axis=-1, keepdims=True))
        return math_ops.reduce_sum(x - normalization, axis=-1) - array_ops.squeeze(normalization, axis=-1)

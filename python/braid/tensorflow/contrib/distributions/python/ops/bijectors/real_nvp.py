"""Flows that change some elements by the others (Dinh et al. 2016)."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.layers import core as layers
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import template
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["RealNVP", "real_nvp_default_template"]


class RealNVP(bijector.Bijector):
    """The first `num_masked` elements stay; the others are x * exp(log_scale) + shift, of the first.

    Args:
      shift_and_log_scale_fn: a function from the first elements, and how many others there are, to (shift,
        log_scale), each of which may be None.
    """

    def __init__(
        self,
        num_masked,
        shift_and_log_scale_fn,
        is_constant_jacobian=False,
        validate_args=False,
        name=None,
    ):
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked, self._shift_and_log_scale_fn = num_masked, shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _split(self, value):
        """The elements that stay, the others, their shift and log_scale."""
        depth = value.get_shape().with_rank_at_least(1).dims[-1].value
        if depth is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        if self._num_masked >= depth:
            raise ValueError("Number of masked units must be smaller than the event size.")
        kept, others = value[..., : self._num_masked], value[..., self._num_masked :]
        return (kept, others, *self._shift_and_log_scale_fn(kept, depth - self._num_masked))

    def _forward(self, x):
        kept, others, shift, log_scale = self._split(x)
        others = others if log_scale is None else others * math_ops.exp(log_scale)
        return array_ops.concat([kept, others if shift is None else others + shift], -1)

    def _inverse(self, y):
        kept, others, shift, log_scale = self._split(y)
        others = others if shift is None else others - shift
        return array_ops.concat(
            [kept, others if log_scale is None else others * math_ops.exp(-log_scale)], -1
        )

    def _log_det(self, value, name):
        log_scale = self._split(value)[-1]
        if log_scale is None:
            return constant_op.constant(0.0, dtype=value.dtype, name=name)
        return math_ops.reduce_sum(log_scale, axis=-1)

    def _inverse_log_det_jacobian(self, y):
        return -self._log_det(y, "ildj")

    def _forward_log_det_jacobian(self, x):
        return self._log_det(x, "fldj")


def real_nvp_default_template(
    hidden_layers, shift_only=False, activation=nn_ops.relu, name=None, *args, **kwargs
):
    """A function for RealNVP: dense layers of these sizes."""
    with ops.name_scope(name, "real_nvp_default_template"):

        def shift_and_log_scale(x, output_units):
            for units in hidden_layers:
                x = layers.dense(*args, inputs=x, units=units, activation=activation, **kwargs)
            units = (1 if shift_only else 2) * output_units
            x = layers.dense(*args, inputs=x, units=units, activation=None, **kwargs)
            return (x, None) if shift_only else tuple(array_ops.split(x, 2, axis=-1))

        return template.make_template("real_nvp_default_template", shift_and_log_scale)

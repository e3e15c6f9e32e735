"""Bijectors one after the other."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Chain"]


def _min_event_ndims(bijectors, forward):
    """The least rank of an event that goes through all: a bijector may change the rank."""
    least, rank = 0, 0
    for b in bijectors:
        before, after = b.forward_min_event_ndims, b.inverse_min_event_ndims
        if not forward:
            before, after = after, before
        least += max(before - rank, 0)
        rank = max(before, rank) - before + after
    return least


class Chain(bijector.Bijector):
    """y = bijectors[0](bijectors[1](... x)). Arguments for one of them are given by its name."""

    def __init__(self, bijectors=None, validate_args=False, name=None):
        bijectors = list(bijectors or ())
        for b in bijectors:
            if not b._is_injective:
                raise NotImplementedError(f"Invert is not implemented for non-injective bijector ({b.name})")
        types = {b.dtype for b in bijectors if b.dtype is not None}
        if len(types) > 1:
            raise ValueError(f"incompatible dtypes: {sorted(types, key=str)}")
        self._bijectors = bijectors
        super().__init__(
            graph_parents=[p for b in bijectors for p in b.graph_parents],
            forward_min_event_ndims=_min_event_ndims(bijectors[::-1], True),
            inverse_min_event_ndims=_min_event_ndims(bijectors, False),
            is_constant_jacobian=all(b.is_constant_jacobian for b in bijectors),
            validate_args=validate_args,
            dtype=types.pop() if types else None,
            name=name or ("_of_".join(["chain", *(b.name for b in bijectors)]) if bijectors else "identity"),
        )

    @property
    def bijectors(self):
        return self._bijectors

    def _through(self, method, value, bijectors):
        for b in bijectors:
            value = getattr(b, method)(value)
        return value

    def _forward_event_shape(self, input_shape):
        return self._through("forward_event_shape", input_shape, self.bijectors[::-1])

    def _forward_event_shape_tensor(self, input_shape):
        return self._through("forward_event_shape_tensor", input_shape, self.bijectors[::-1])

    def _inverse_event_shape(self, output_shape):
        return self._through("inverse_event_shape", output_shape, self.bijectors)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._through("inverse_event_shape_tensor", output_shape, self.bijectors)

    def _forward(self, x, **kwargs):
        for b in self.bijectors[::-1]:
            x = b.forward(x, **kwargs.get(b.name, {}))
        return x

    def _inverse(self, y, **kwargs):
        for b in self.bijectors:
            y = b.inverse(y, **kwargs.get(b.name, {}))
        return y

    def _log_det(self, value, bijectors, direction, ndims, kwargs):
        total = math_ops.cast(0.0, value.dtype.base_dtype)
        if value.get_shape().ndims is not None:
            shape = value.get_shape()[value.get_shape().ndims - ndims :]
        else:
            shape = tensor_shape.TensorShape([None] * ndims)
        for b in bijectors:
            own = kwargs.get(b.name, {})
            total += getattr(b, direction + "_log_det_jacobian")(value, event_ndims=shape.ndims, **own)
            rank, shape = shape.ndims, getattr(b, direction + "_event_shape")(shape)
            if shape.ndims is None:
                change = b.inverse_min_event_ndims - b.forward_min_event_ndims
                change = change if direction == "forward" else -change
                shape = tensor_shape.TensorShape([None] * (rank + change))
            value = getattr(b, direction)(value, **own)
        return total

    def _forward_log_det_jacobian(self, x, **kwargs):
        return self._log_det(x, self.bijectors[::-1], "forward", self.forward_min_event_ndims, kwargs)

    def _inverse_log_det_jacobian(self, y, **kwargs):
        return self._log_det(y, self.bijectors, "inverse", self.inverse_min_event_ndims, kwargs)

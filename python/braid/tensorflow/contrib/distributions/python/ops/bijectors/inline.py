"""A bijector of functions that are given."""

from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Inline"]


class Inline(bijector.Bijector):
    """Calls the functions that it is given. A method whose function is missing raises NotImplementedError."""

    def __init__(
        self,
        forward_fn=None,
        inverse_fn=None,
        inverse_log_det_jacobian_fn=None,
        forward_log_det_jacobian_fn=None,
        forward_event_shape_fn=None,
        forward_event_shape_tensor_fn=None,
        inverse_event_shape_fn=None,
        inverse_event_shape_tensor_fn=None,
        is_constant_jacobian=False,
        validate_args=False,
        forward_min_event_ndims=None,
        inverse_min_event_ndims=None,
        name="inline",
    ):
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        self._functions = {
            "forward_fn": forward_fn,
            "inverse_fn": inverse_fn,
            "inverse_log_det_jacobian_fn": inverse_log_det_jacobian_fn,
            "forward_log_det_jacobian_fn": forward_log_det_jacobian_fn,
        }
        self._shapes = {
            "forward": forward_event_shape_fn,
            "forward_tensor": forward_event_shape_tensor_fn,
            "inverse": inverse_event_shape_fn,
            "inverse_tensor": inverse_event_shape_tensor_fn,
        }

    def _shape(self, which, shape):
        function = self._shapes[which]
        return shape if function is None else function(shape)

    def _forward_event_shape(self, input_shape):
        return self._shape("forward", input_shape)

    def _forward_event_shape_tensor(self, input_shape):
        return self._shape("forward_tensor", input_shape)

    def _inverse_event_shape(self, output_shape):
        return self._shape("inverse", output_shape)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._shape("inverse_tensor", output_shape)

    def _call(self, which, value, kwargs):
        if not callable(self._functions[which]):
            raise NotImplementedError(f"{which} is not a callable function.")
        return self._functions[which](value, **kwargs)

    def _forward(self, x, **kwargs):
        return self._call("forward_fn", x, kwargs)

    def _inverse(self, y, **kwargs):
        return self._call("inverse_fn", y, kwargs)

    def _inverse_log_det_jacobian(self, y, **kwargs):
        return self._call("inverse_log_det_jacobian_fn", y, kwargs)

    def _forward_log_det_jacobian(self, x, **kwargs):
        return self._call("forward_log_det_jacobian_fn", x, kwargs)

"""Bijectors: invertible functions that know the logarithm of the determinant of their Jacobian."""

import abc
import contextlib
import re

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops

__all__ = ["Bijector"]


def _key(kwargs):
    """The keyword arguments as a key of a dictionary."""
    if isinstance(kwargs, dict):
        return tuple((k, _key(kwargs[k])) for k in sorted(kwargs))
    return tuple(map(_key, kwargs)) if isinstance(kwargs, (list, tuple)) else kwargs


class _Mapping:
    """A pair of x and y, and the inverse Jacobian's determinants that are known, by the rank of an event."""

    def __init__(self, x=None, y=None):
        self.x, self.y, self.ildj, self.ranks = x, y, {}, []


class Bijector(metaclass=abc.ABCMeta):
    """y = forward(x), x = inverse(y).

    A subclass defines those of _forward, _inverse, _forward_log_det_jacobian and _inverse_log_det_jacobian
    that it has; one determinant is the other's negative. The last two return values for events of the
    minimal ranks, which the base class sums over the dimensions of longer events. Pairs that were computed
    are remembered: inverse(forward(x)) is x itself.
    """

    @abc.abstractmethod
    def __init__(
        self,
        graph_parents=None,
        is_constant_jacobian=False,
        validate_args=False,
        dtype=None,
        forward_min_event_ndims=None,
        inverse_min_event_ndims=None,
        name=None,
    ):
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
            )
        if forward_min_event_ndims is None:
            forward_min_event_ndims = inverse_min_event_ndims
        if inverse_min_event_ndims is None:
            inverse_min_event_ndims = forward_min_event_ndims
        for what, ndims in (
            ("forward_min_event_ndims", forward_min_event_ndims),
            ("inverse_min_event_ndims", inverse_min_event_ndims),
        ):
            if not isinstance(ndims, int):
                raise TypeError(f"Expected {what} to be of type int, got {type(ndims).__name__}")
            if ndims < 0:
                raise ValueError(f"{what} must be a non-negative integer.")
        for i, parent in enumerate(graph_parents or []):
            if parent is None or not tensor_util.is_tensor(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._graph_parents = list(graph_parents or [])
        self._forward_min_event_ndims = forward_min_event_ndims
        self._inverse_min_event_ndims = inverse_min_event_ndims
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._constant_ildj = {}  # by the rank of an event: of a constant Jacobian
        self._from_x, self._from_y = {}, {}  # mappings by (id, arguments); a mapping keeps its x and y
        words = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", type(self).__name__.lstrip("_"))
        self._name = name or re.sub("([a-z0-9])([A-Z])", r"\1_\2", words).lower()

    @property
    def graph_parents(self):
        return self._graph_parents

    @property
    def forward_min_event_ndims(self):
        """The least rank of what `forward` takes as one event."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self):
        """The least rank of what `inverse` takes as one event."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self):
        """Whether the determinant does not depend on x."""
        return self._is_constant_jacobian

    @property
    def _is_injective(self):
        """Whether each y has one x. Where it is not, `_inverse` returns a tuple of all of them."""
        return True

    @property
    def validate_args(self):
        return self._validate_args

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    # ---- Shapes of events ----

    def _forward_event_shape_tensor(self, input_shape):
        return input_shape

    def forward_event_shape_tensor(self, input_shape, name="forward_event_shape_tensor"):
        """The shape of an event of `forward` as a tensor."""
        with self._name_scope(name, [input_shape]):
            shape = ops.convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
            return self._forward_event_shape_tensor(shape)

    def _forward_event_shape(self, input_shape):
        return input_shape

    def forward_event_shape(self, input_shape):
        return self._forward_event_shape(tensor_shape.TensorShape(input_shape))

    def _inverse_event_shape_tensor(self, output_shape):
        return output_shape

    def inverse_event_shape_tensor(self, output_shape, name="inverse_event_shape_tensor"):
        """The shape of an event of `inverse` as a tensor."""
        with self._name_scope(name, [output_shape]):
            shape = ops.convert_to_tensor(output_shape, dtype=dtypes.int32, name="output_shape")
            return self._inverse_event_shape_tensor(shape)

    def _inverse_event_shape(self, output_shape):
        return output_shape

    def inverse_event_shape(self, output_shape):
        return self._inverse_event_shape(tensor_shape.TensorShape(output_shape))

    # ---- Values ----

    def _forward(self, x):
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y):
        raise NotImplementedError("inverse not implemented.")

    def _forward_log_det_jacobian(self, x, **kwargs):
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _inverse_log_det_jacobian(self, y, **kwargs):
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _call_forward(self, x, name, **kwargs):
        with self._name_scope(name, [x]):
            x = self._tensor(x, "x")
            if not self._is_injective:
                return self._forward(x, **kwargs)
            mapping = self._from_x.get((id(x), _key(kwargs))) or _Mapping(x=x)
            if mapping.y is None:
                mapping.y = self._forward(x, **kwargs)
                self._remember(mapping, kwargs)
            return mapping.y

    def forward(self, x, name="forward"):
        """y, of x."""
        return self._call_forward(x, name)

    def _call_inverse(self, y, name, **kwargs):
        with self._name_scope(name, [y]):
            y = self._tensor(y, "y")
            if not self._is_injective:
                return self._inverse(y, **kwargs)
            mapping = self._from_y.get((id(y), _key(kwargs))) or _Mapping(y=y)
            if mapping.x is None:
                mapping.x = self._inverse(y, **kwargs)
                self._remember(mapping, kwargs)
            return mapping.x

    def inverse(self, y, name="inverse"):
        """x, of y."""
        return self._call_inverse(y, name)

    def _call_inverse_log_det_jacobian(self, y, event_ndims, name, **kwargs):
        with self._name_scope(name, [y]):
            if self._ndims_key(event_ndims) in self._constant_ildj:
                return self._constant_ildj[self._ndims_key(event_ndims)]
            y = self._tensor(y, "y")
            with ops.control_dependencies(self._check_event_ndims(self.inverse_min_event_ndims, event_ndims)):
                return self._ildj(y, True, event_ndims, kwargs)

    def inverse_log_det_jacobian(self, y, event_ndims, name="inverse_log_det_jacobian"):
        """log(det(dx/dy)), of events of y that have the rank event_ndims."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def _call_forward_log_det_jacobian(self, x, event_ndims, name, **kwargs):
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._name_scope(name, [x]):
            with ops.control_dependencies(self._check_event_ndims(self.forward_min_event_ndims, event_ndims)):
                if self._ndims_key(event_ndims) in self._constant_ildj:
                    return -1.0 * self._constant_ildj[self._ndims_key(event_ndims)]
                return -self._ildj(self._tensor(x, "x"), False, event_ndims, kwargs)

    def forward_log_det_jacobian(self, x, event_ndims, name="forward_log_det_jacobian"):
        """log(det(dy/dx)), of events of x that have the rank event_ndims."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _ildj(self, given, is_y, event_ndims, kwargs):
        """The logarithm of the inverse's determinant, at a given y or a given x."""
        if not self._is_injective:
            return self._ildj_of_each_x(given, event_ndims, kwargs)
        key, rank_key = (id(given), _key(kwargs)), self._ndims_key(event_ndims)
        mapping = (self._from_y if is_y else self._from_x).get(key)
        mapping = mapping or (_Mapping(y=given) if is_y else _Mapping(x=given))
        if rank_key in mapping.ildj:
            return mapping.ildj[rank_key]
        y_least, x_least = self.inverse_min_event_ndims, self.forward_min_event_ndims
        # The method for what is given comes first, and then the other one at what is made of it.
        try:
            if is_y:
                value = self._inverse_log_det_jacobian(given, **kwargs)
                value = self._sum_over_event(given, value, y_least, event_ndims)
            else:
                value = -self._forward_log_det_jacobian(given, **kwargs)
                value = self._sum_over_event(given, value, x_least, event_ndims)
        except NotImplementedError as error:
            try:
                if is_y:
                    x = self._inverse(given, **kwargs) if mapping.x is None else mapping.x
                    value = -self._forward_log_det_jacobian(x, **kwargs)
                    value = self._sum_over_event(x, value, x_least, event_ndims)
                    mapping.x = x
                else:
                    y = self._forward(given, **kwargs) if mapping.y is None else mapping.y
                    value = self._inverse_log_det_jacobian(y, **kwargs)
                    value = self._sum_over_event(y, value, y_least, event_ndims)
                    mapping.y = y
            except NotImplementedError:
                raise error
        mapping.ildj[rank_key] = value
        mapping.ranks.append(event_ndims)  # keeps a tensor, whose identity is the key
        if self.is_constant_jacobian:
            self._constant_ildj[rank_key] = value
        self._remember(mapping, kwargs)
        return value

    def _ildj_of_each_x(self, y, event_ndims, kwargs):
        try:
            values, least = self._inverse_log_det_jacobian(y, **kwargs), self.inverse_min_event_ndims
            return tuple(self._sum_over_event(y, value, least, event_ndims) for value in values)
        except NotImplementedError as error:
            try:
                x = self._inverse(y, **kwargs)
                values, least = self._forward_log_det_jacobian(x, **kwargs), self.forward_min_event_ndims
                return tuple(self._sum_over_event(x, -value, least, event_ndims) for value in values)
            except NotImplementedError:
                raise error

    def _ndims_key(self, event_ndims):
        if tensor_util.is_tensor(event_ndims) or np.ndim(event_ndims) != 0:
            return "tensor", id(event_ndims)
        return int(event_ndims)

    def _sum_over_event(self, y, value, least, event_ndims):
        """Sums values, one for each event of the least rank, over the other dimensions of events."""
        rank = array_ops.rank(y)
        sizes = array_ops.shape(y)[rank - event_ndims : rank - least]
        # A value that does not vary over the dimensions of an event is one for all of them.
        ones = array_ops.ones(sizes, value.dtype)
        known = self._static_ndims(event_ndims)
        if known is None:
            axes = math_ops.range(-(event_ndims - least), 0)
        else:
            axes = [-i for i in range(1, known - least + 1)]
        total = math_ops.reduce_sum(ones * value, axis=axes)
        if known is not None and y.shape.ndims is not None and value.shape.ndims is not None:
            outer = y.shape[y.shape.ndims - known : y.shape.ndims - least]
            shape = array_ops.broadcast_static_shape(value.shape, outer)
            total.set_shape(shape[: shape.ndims - (known - least)])
        return total

    def _check_event_ndims(self, least, event_ndims):
        """Operations that check the rank of events in the step. ValueError: it is known to be wrong."""
        event_ndims = ops.convert_to_tensor(event_ndims, name="event_ndims")
        if not event_ndims.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {event_ndims.dtype}")
        checks = []
        rank = tensor_util.constant_value(event_ndims)
        if event_ndims.shape.ndims not in (None, 0):
            raise ValueError(f"Expected scalar event_ndims, got shape {event_ndims.shape}")
        if rank is not None:
            if least > rank:
                raise ValueError(f"event_ndims ({rank}) must be larger than min_event_ndims ({least})")
        elif self.validate_args:
            checks.append(check_ops.assert_greater_equal(event_ndims, least))
        if event_ndims.shape.ndims is None and self.validate_args:
            checks.append(check_ops.assert_rank(event_ndims, 0, message="Expected scalar."))
        return checks

    def _static_ndims(self, event_ndims):
        if not tensor_util.is_tensor(event_ndims):
            return int(event_ndims)
        rank = tensor_util.constant_value(event_ndims)
        return None if rank is None or np.ndim(rank) else int(rank)

    # ---- What is known ----

    def _tensor(self, value, name):
        value = ops.convert_to_tensor(value, name=name)
        if self.dtype is not None and value.dtype.base_dtype != self.dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {value.dtype}.")
        return value

    def _remember(self, mapping, kwargs):
        if mapping.x is not None:
            self._from_x[id(mapping.x), _key(kwargs)] = mapping
        if mapping.y is not None:
            self._from_y[id(mapping.y), _key(kwargs)] = mapping

    def _init_scope(self, name, values=None):
        """The scope of the nodes that a constructor makes for the bijector of this name."""
        self._name, self._graph_parents = name, []
        return self._name_scope("init", values)

    @contextlib.contextmanager
    def _name_scope(self, name=None, values=None):
        with ops.name_scope(self.name):
            with ops.name_scope(name, values=(values or []) + self.graph_parents) as scope:
                yield scope

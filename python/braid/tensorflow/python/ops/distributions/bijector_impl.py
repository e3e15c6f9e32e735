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
from braid.tensorflow.python.ops import control_flow_ops
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
        self.x, self.y, self.ildj = x, y, {}


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

    def _forward_log_det_jacobian(self, x):
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _inverse_log_det_jacobian(self, y):
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
            return self._ildj(self._tensor(y, "y"), True, event_ndims, kwargs)

    def inverse_log_det_jacobian(self, y, event_ndims, name="inverse_log_det_jacobian"):
        """log(det(dx/dy)), of events of y that have the rank event_ndims."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def _call_forward_log_det_jacobian(self, x, event_ndims, name, **kwargs):
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._name_scope(name, [x]):
            return -self._ildj(self._tensor(x, "x"), False, event_ndims, kwargs)

    def forward_log_det_jacobian(self, x, event_ndims, name="forward_log_det_jacobian"):
        """log(det(dy/dx)), of events of x that have the rank event_ndims."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _ildj(self, given, is_y, event_ndims, kwargs):
        """The logarithm of the inverse's determinant, at a given y or a given x."""
        least = self.inverse_min_event_ndims if is_y else self.forward_min_event_ndims
        with ops.control_dependencies(self._check_event_ndims(least, event_ndims)):
            rank = self._static_ndims(event_ndims)
            if not self._is_injective:
                values = self._inverse_log_det_jacobian(given, **kwargs)
                each = zip(self._inverse(given, **kwargs), values)
                return tuple(self._sum_over_event(x, v, least, event_ndims) for x, v in each)
            if rank is not None and rank in self._constant_ildj:
                return self._constant_ildj[rank]
            known, key = self._from_y if is_y else self._from_x, (id(given), _key(kwargs))
            if rank is not None and key in known and rank in known[key].ildj:
                return known[key].ildj[rank]
            own, other = "_inverse_log_det_jacobian", "_forward_log_det_jacobian"
            if not is_y:
                own, other = other, own
            value = self._determinant(own, given, kwargs) if self._defines(own) else None
            if value is None and self._defines(other):
                through = self._call_inverse if is_y else self._call_forward
                value = -getattr(self, other)(through(given, own.strip("_"), **kwargs), **kwargs)
            if value is None:
                raise NotImplementedError(f"{own.strip('_')} not implemented.")
            value = value if is_y else -value
            value = self._sum_over_event(given, value, least, event_ndims)
            mapping = known.get(key) or (_Mapping(y=given) if is_y else _Mapping(x=given))
            if rank is not None:
                mapping.ildj[rank] = value
                if self.is_constant_jacobian:
                    self._constant_ildj[rank] = value
            self._remember(mapping, kwargs)
            return value

    def _determinant(self, method, given, kwargs):
        """What a method returns, None where it says that it is not implemented, as an Inline's may."""
        try:
            return getattr(self, method)(given, **kwargs)
        except NotImplementedError:
            return None

    def _defines(self, method):
        return getattr(type(self), method) is not getattr(Bijector, method)

    def _sum_over_event(self, y, value, least, event_ndims):
        """Sums values, one for each event of the least rank, over the other dimensions of events."""
        rank = self._static_ndims(event_ndims)
        if rank is not None:
            axes = ops.convert_to_tensor(list(range(-rank, -least)), dtypes.int32)
        else:
            axes = math_ops.range(-event_ndims, -least)
        if self.is_constant_jacobian:
            sizes = array_ops.gather(array_ops.shape(y), math_ops.add(axes, array_ops.rank(y)))
            value = array_ops.ones(sizes, value.dtype) * value
        elif least == 0:  # a value that does not vary over the dimensions of an event is one for all of them
            value = array_ops.ones_like(y, dtype=value.dtype) * value
        if rank is None:
            return math_ops.reduce_sum(value, axis=math_ops.range(-(event_ndims - least), 0))
        return math_ops.reduce_sum(value, axis=[-i for i in range(1, rank - least + 1)])

    def _check_event_ndims(self, least, event_ndims):
        """Operations that check the rank of events in the step. ValueError: it is known to be wrong."""
        event_ndims = ops.convert_to_tensor(event_ndims, name="event_ndims")
        if not event_ndims.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {event_ndims.dtype}")
        checks = []
        if event_ndims.shape.ndims is not None:
            if event_ndims.shape.ndims != 0:
                raise ValueError(f"Expected scalar event_ndims, got shape {event_ndims.shape}")
        elif self.validate_args:
            checks.append(check_ops.assert_rank(event_ndims, 0, message="Expected scalar."))
        rank = tensor_util.constant_value(event_ndims)
        if rank is not None:
            if least > rank:
                raise ValueError(f"event_ndims ({rank}) must be larger than min_event_ndims ({least})")
        elif self.validate_args:
            checks.append(check_ops.assert_greater_equal(event_ndims, least))
        return checks

    def _static_ndims(self, event_ndims):
        rank = tensor_util.constant_value(ops.convert_to_tensor(event_ndims))
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

    @contextlib.contextmanager
    def _name_scope(self, name=None, values=None):
        with ops.name_scope(self.name):
            with ops.name_scope(name, values=(values or []) + self.graph_parents) as scope:
                yield scope

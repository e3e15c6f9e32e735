"""The base of all distributions: what users call, by way of the methods with an underscore of the
subclasses."""

import contextlib
import functools

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.ReparameterizationType"])
class ReparameterizationType:
    """Whether gradients go through samples to the parameters."""

    def __init__(self, rep_type):
        self._rep_type = rep_type

    def __repr__(self):
        return "<Reparameterization Type: %s>" % self._rep_type

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
tf_export(v1=["distributions.FULLY_REPARAMETERIZED"]).export_constant(__name__, "FULLY_REPARAMETERIZED")
tf_export(v1=["distributions.NOT_REPARAMETERIZED"]).export_constant(__name__, "NOT_REPARAMETERIZED")


@tf_export(v1=["distributions.Distribution"])
class Distribution:
    """A batch of distributions of events. A sample's shape is sample_shape + batch_shape + event_shape.

    A subclass defines _sample_n, _log_prob (or _prob), _batch_shape, _event_shape and those of _mean,
    _entropy, ... that it has.
    """

    def __init__(
        self,
        dtype,
        reparameterization_type,
        validate_args,
        allow_nan_stats,
        parameters=None,
        graph_parents=None,
        name=None,
    ):
        for i, tensor in enumerate(graph_parents or []):
            if tensor is None or not tensor_util.is_tensor(tensor):
                raise ValueError("Graph parent item %d is not a Tensor; %s." % (i, tensor))
        if not name or not name.endswith("/"):
            with ops.name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._set_parameters(parameters or {})
        self._graph_parents = list(graph_parents or [])
        self._name = name

    def _set_parameters(self, arguments):
        """Keeps the arguments of the constructor, of all its local names at its begin."""
        self._parameters = {
            k: v for k, v in arguments.items() if k not in ("self", "__class__") and not k.startswith("_")
        }

    @property
    def name(self):
        return self._name

    @property
    def dtype(self):
        return self._dtype

    @property
    def parameters(self):
        """The arguments of the constructor."""
        return {k: v for k, v in self._parameters.items() if v is not self}

    @property
    def reparameterization_type(self):
        return self._reparameterization_type

    @property
    def allow_nan_stats(self):
        return self._allow_nan_stats

    @property
    def validate_args(self):
        return self._validate_args

    def __str__(self):
        known = [
            f"{what}={shape}"
            for what, shape in (("batch_shape", self.batch_shape), ("event_shape", self.event_shape))
            if shape.ndims is not None
        ]
        parts = [f'"{self.name}"', *known, f"dtype={self.dtype.name}"]
        return f"tfp.distributions.{type(self).__name__}({', '.join(parts)})"

    def __repr__(self):
        return "<tfp.distributions.{} '{}' batch_shape={} event_shape={} dtype={}>".format(
            type(self).__name__, self.name, self.batch_shape, self.event_shape, self.dtype.name
        )

    @classmethod
    def _param_shapes(cls, sample_shape):
        raise NotImplementedError("_param_shapes not implemented")

    @classmethod
    def param_shapes(cls, sample_shape, name="DistributionParamShapes"):
        """The shapes of the parameters, by their names, with which sample() has the given shape."""
        with ops.name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape):
        """The same as TensorShapes. ValueError: the shape is not known."""
        if isinstance(sample_shape, tensor_shape.TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            value = tensor_util.constant_value(shape)
            if value is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = tensor_shape.TensorShape(value)
        return found

    def _defined_or_nan(self, is_defined, value, checks, shape=None, nan_first=True):
        """A statistic where it is defined, elsewhere NaN; the checks fail instead where NaN is not allowed.

        is_defined, checks: functions that build the condition and the checks; shape: one that builds the
        shape of the NaNs, the batch's by default. nan_first: the NaNs are built before the condition, which
        makes the order of the nodes TensorFlow's.
        """
        if not self.allow_nan_stats:
            return control_flow_ops.with_dependencies(checks(), value)
        condition = None if nan_first else is_defined()
        nan = np.array(np.nan, self.dtype.as_numpy_dtype)
        nans = array_ops.fill((shape or self.batch_shape_tensor)(), nan, name="nan")
        return array_ops.where_v2(is_defined() if nan_first else condition, value, nans)

    def copy(self, **override_parameters_kwargs):
        """A distribution with other parameters in place of some."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @contextlib.contextmanager
    def _name_scope(self, name=None, values=None):
        with ops.name_scope(self.name):
            with ops.name_scope(name, values=(values or []) + self._graph_parents) as scope:
                yield scope

    def _missing(self, what):
        return NotImplementedError("{} is not implemented: {}".format(what, type(self).__name__))

    # ---- Shapes ----

    def _batch_shape_tensor(self):
        raise self._missing("batch_shape_tensor")

    def _batch_shape(self):
        return tensor_shape.unknown_shape()

    def _event_shape_tensor(self):
        raise self._missing("event_shape_tensor")

    def _event_shape(self):
        return tensor_shape.unknown_shape()

    @property
    def batch_shape(self):
        """The TensorShape of the batch of distributions."""
        return tensor_shape.as_shape(self._batch_shape())

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return ops.convert_to_tensor(self.batch_shape.as_list(), dtypes.int32, name="batch_shape")
            return self._batch_shape_tensor()

    @property
    def event_shape(self):
        """The TensorShape of one event."""
        return tensor_shape.as_shape(self._event_shape())

    def event_shape_tensor(self, name="event_shape_tensor"):
        with self._name_scope(name):
            if self.event_shape.is_fully_defined():
                return ops.convert_to_tensor(self.event_shape.as_list(), dtypes.int32, name="event_shape")
            return self._event_shape_tensor()

    def _is_scalar_helper(self, static_shape, dynamic_shape_fn):
        if static_shape.ndims is not None:
            return static_shape.ndims == 0
        shape = dynamic_shape_fn()
        length = tensor_shape.dimension_value(shape.get_shape()[0]) if shape.get_shape().ndims else None
        return math_ops.equal(array_ops.shape(shape)[0], 0) if length is None else length == 0

    def is_scalar_event(self, name="is_scalar_event"):
        with self._name_scope(name):
            return ops.convert_to_tensor(
                self._is_scalar_helper(self.event_shape, self.event_shape_tensor), name="is_scalar_event"
            )

    def is_scalar_batch(self, name="is_scalar_batch"):
        with self._name_scope(name):
            return ops.convert_to_tensor(
                self._is_scalar_helper(self.batch_shape, self.batch_shape_tensor), name="is_scalar_batch"
            )

    # ---- Samples ----

    def _sample_n(self, n, seed=None):
        raise self._missing("sample_n")

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Samples, of the shape sample_shape + batch_shape + event_shape."""
        return self._call_sample_n(sample_shape, seed, name)

    def _call_sample_n(self, sample_shape, seed, name, **kwargs):
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = ops.convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sample_shape, count = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            samples = self._sample_n(count, seed, **kwargs)
            inner = array_ops.shape(samples)[1:]
            samples = array_ops.reshape(samples, array_ops.concat([sample_shape, inner], 0))
            return self._set_sample_static_shape(samples, sample_shape)

    def _expand_sample_shape_to_vector(self, x, name):
        """(the shape of rank 1, how many samples these are). ValueError: the rank is above 1."""
        static, rank = tensor_util.constant_value(x), x.get_shape().ndims
        if static is None:
            count = math_ops.reduce_prod(x)
        else:
            count = int(np.prod(static, dtype=x.dtype.as_numpy_dtype))
        if rank is None:
            is_scalar = math_ops.equal(array_ops.rank(x), 0)
            return array_ops.reshape(x, util.pick_vector(is_scalar, [1], array_ops.shape(x))), count
        if rank == 0 and static is None:
            return array_ops.reshape(x, [1]), count
        if rank == 0:
            return ops.convert_to_tensor(np.reshape(static, [1]), name=name), count
        if rank > 1:
            raise ValueError("Input is neither scalar nor vector.")
        return x, count

    def _set_sample_static_shape(self, x, sample_shape):
        """x, with all that its shape is known to be by the sample shape, the batch's and the event's."""
        known = tensor_util.constant_value(sample_shape)
        parts = [tensor_shape.TensorShape(known), self.batch_shape, self.event_shape]
        unknown = [i for i, part in enumerate(parts) if part.ndims is None]
        if len(unknown) == 1 and x.get_shape().ndims is not None:
            rank = x.get_shape().ndims - sum(part.ndims for part in parts if part.ndims is not None)
            parts[unknown[0]] = tensor_shape.unknown_shape(max(rank, 0))
            unknown = []
        if not unknown:
            x.set_shape(parts[0].concatenate(parts[1]).concatenate(parts[2]))
        elif x.get_shape().ndims is not None:
            for part, is_front in ((parts[0], True), (parts[2], False)):
                if part.ndims is not None:
                    others = tensor_shape.unknown_shape(x.get_shape().ndims - part.ndims)
                    x.set_shape(part.concatenate(others) if is_front else others.concatenate(part))
        return x

    # ---- Probabilities ----

    def _log_prob(self, value):
        raise self._missing("log_prob")

    def _prob(self, value):
        raise self._missing("prob")

    def _log_cdf(self, value):
        raise self._missing("log_cdf")

    def _cdf(self, value):
        raise self._missing("cdf")

    def _log_survival_function(self, value):
        raise self._missing("log_survival_function")

    def _survival_function(self, value):
        raise self._missing("survival_function")

    def _quantile(self, value):
        raise self._missing("quantile")

    # A class below this one may define one of several methods, or one that raises NotImplementedError where
    # what it stands on has none: the next way is taken. Libraries call or replace _call_..., whose further
    # arguments are the methods'.

    def _first_of(self, value, name, kwargs, *ways):
        """The first of the ways, pairs of a method and of what is made of its result, that is implemented."""
        with self._name_scope(name, values=[value]):
            value = ops.convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            return _first_implemented(
                *[
                    (functools.partial(getattr(self, method), value, **kwargs), finish)
                    for method, finish in ways
                ]
            )

    def _call_log_prob(self, value, name, **kwargs):
        return self._first_of(value, name, kwargs, ("_log_prob", _same), ("_prob", math_ops.log))

    def log_prob(self, value, name="log_prob"):
        """The logarithm of the density (or of the probability)."""
        return self._call_log_prob(value, name)

    def _call_prob(self, value, name, **kwargs):
        return self._first_of(value, name, kwargs, ("_prob", _same), ("_log_prob", math_ops.exp))

    def prob(self, value, name="prob"):
        """The density (or the probability)."""
        return self._call_prob(value, name)

    def _call_log_cdf(self, value, name, **kwargs):
        return self._first_of(value, name, kwargs, ("_log_cdf", _same), ("_cdf", math_ops.log))

    def log_cdf(self, value, name="log_cdf"):
        """The logarithm of the probability of at most this value."""
        return self._call_log_cdf(value, name)

    def _call_cdf(self, value, name, **kwargs):
        return self._first_of(value, name, kwargs, ("_cdf", _same), ("_log_cdf", math_ops.exp))

    def cdf(self, value, name="cdf"):
        """The probability of at most this value."""
        return self._call_cdf(value, name)

    def _call_log_survival_function(self, value, name, **kwargs):
        return self._first_of(
            value,
            name,
            kwargs,
            ("_log_survival_function", _same),
            ("cdf", lambda p: math_ops.log1p(-p)),
            ("_survival_function", math_ops.log),
        )

    def log_survival_function(self, value, name="log_survival_function"):
        """The logarithm of the probability of more than this value."""
        return self._call_log_survival_function(value, name)

    def _call_survival_function(self, value, name, **kwargs):
        return self._first_of(
            value,
            name,
            kwargs,
            ("_survival_function", _same),
            ("cdf", lambda p: 1.0 - p),
            ("_log_survival_function", math_ops.exp),
        )

    def survival_function(self, value, name="survival_function"):
        """The probability of more than this value."""
        return self._call_survival_function(value, name)

    def _call_quantile(self, value, name, **kwargs):
        return self._first_of(value, name, kwargs, ("_quantile", _same))

    def quantile(self, value, name="quantile"):
        """The value that is not exceeded with this probability."""
        return self._call_quantile(value, name)

    # ---- Statistics ----

    def _entropy(self):
        raise self._missing("entropy")

    def _mean(self):
        raise self._missing("mean")

    def _variance(self):
        raise self._missing("variance")

    def _stddev(self):
        raise self._missing("stddev")

    def _covariance(self):
        raise self._missing("covariance")

    def _mode(self):
        raise self._missing("mode")

    def entropy(self, name="entropy"):
        """Shannon's entropy in nats."""
        with self._name_scope(name):
            return self._entropy()

    def mean(self, name="mean"):
        with self._name_scope(name):
            return self._mean()

    def variance(self, name="variance"):
        with self._name_scope(name):
            return _first_implemented((self._variance, _same), (self._stddev, math_ops.square))

    def stddev(self, name="stddev"):
        """The standard deviation."""
        with self._name_scope(name):
            return _first_implemented((self._stddev, _same), (self._variance, math_ops.sqrt))

    def covariance(self, name="covariance"):
        with self._name_scope(name):
            return self._covariance()

    def mode(self, name="mode"):
        """The most likely value."""
        with self._name_scope(name):
            return self._mode()

    def _cross_entropy(self, other):
        return kullback_leibler.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def _kl_divergence(self, other):
        return kullback_leibler.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other, name="cross_entropy"):
        """The mean of -log(p_other) under this distribution."""
        with self._name_scope(name):
            return self._cross_entropy(other)

    def kl_divergence(self, other, name="kl_divergence"):
        """The Kullback-Leibler divergence from the other distribution."""
        with self._name_scope(name):
            return self._kl_divergence(other)


def _same(x):
    return x


def _first_implemented(*ways):
    """The first result of the ways, pairs of a function and of what is made of its result, that raises no
    NotImplementedError. Otherwise the first of these.
    """
    first_error = None
    for function, finish in ways:
        try:
            return finish(function())
        except NotImplementedError as error:
            first_error = first_error or error
    raise first_error


class ScalarDistribution(Distribution):
    """A distribution of numbers, whose batch has the shape of its parameters, the tensors `_tensors`."""

    _tensors = ()
    _param_names = ()  # of parameters that have the shape of a sample

    @classmethod
    def _param_shapes(cls, sample_shape):
        if not cls._param_names:
            return super()._param_shapes(sample_shape)
        return {name: ops.convert_to_tensor(sample_shape, dtype=dtypes.int32) for name in cls._param_names}

    def _batch_shape_tensor(self):
        shape = array_ops.shape(self._tensors[0])
        for tensor in self._tensors[1:]:
            shape = array_ops.broadcast_dynamic_shape(shape, array_ops.shape(tensor))
        return shape

    def _batch_shape(self):
        shape = self._tensors[0].get_shape()
        for tensor in self._tensors[1:]:
            shape = array_ops.broadcast_static_shape(shape, tensor.get_shape())
        return shape

    def _event_shape_tensor(self):
        return ops.convert_to_tensor([], dtype=dtypes.int32)

    def _event_shape(self):
        return tensor_shape.scalar()

    def _shape_of_samples(self, n):
        """The shape of n samples."""
        return array_ops.concat([[n], self.batch_shape_tensor()], 0)

    def _broadcast(self, x):
        """x in the shape of the batch."""
        return x * array_ops.ones(self.batch_shape_tensor(), dtype=x.dtype)

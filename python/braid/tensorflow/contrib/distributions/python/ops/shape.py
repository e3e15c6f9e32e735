"""The parts of tensors' shapes: the samples, the batch of distributions and their events."""

import contextlib

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import util


class _DistributionShape:
    """Takes shapes of samples apart, of which the last event_ndims dimensions are an event's and batch_ndims
    before these the batch's."""

    def __init__(self, batch_ndims=None, event_ndims=None, validate_args=False, name="DistributionShape"):
        if batch_ndims is None:
            raise ValueError("batch_ndims cannot be None")
        if event_ndims is None:
            raise ValueError("event_ndims cannot be None")
        self._validate_args = validate_args
        with ops.name_scope(name):
            self._name = name
            with ops.name_scope("init"):
                self._batch_ndims = self._checked_ndims(batch_ndims, "batch_ndims")
                self._event_ndims = self._checked_ndims(event_ndims, "event_ndims")
        self._known_batch_ndims, self._batch_ndims_is_0 = self._known_and_is_0(self._batch_ndims)
        self._known_event_ndims, self._event_ndims_is_0 = self._known_and_is_0(self._event_ndims)

    def _checked_ndims(self, x, name):
        x = ops.convert_to_tensor(x, name=name)
        if x.dtype.base_dtype != dtypes.int32:
            raise TypeError("%s.dtype=%s is not %s" % (x.name, x.dtype, dtypes.int32))
        known = tensor_util.constant_value(x)
        if known is not None:
            if x.get_shape().ndims != 0:
                raise ValueError("%s.ndims=%d is not 0 (scalar)" % (x.name, x.get_shape().ndims))
            if known < 0:
                raise ValueError("%s.value=%d cannot be negative" % (x.name, known))
        elif self._validate_args:
            checks = [check_ops.assert_rank(x, 0), check_ops.assert_non_negative(x)]
            x = control_flow_ops.with_dependencies(checks, x)
        return x

    def _known_and_is_0(self, ndims):
        known = tensor_util.constant_value(ndims)
        return (None, math_ops.equal(ndims, 0)) if known is None else (int(known), bool(known == 0))

    @property
    def name(self):
        return self._name

    @property
    def batch_ndims(self):
        return self._batch_ndims

    @property
    def event_ndims(self):
        return self._event_ndims

    @property
    def validate_args(self):
        return self._validate_args

    @contextlib.contextmanager
    def _name_scope(self, name=None, values=None):
        with ops.name_scope(self.name):
            values = (values or []) + [self.batch_ndims, self.event_ndims]
            with ops.name_scope(name, values=values) as scope:
                yield scope

    def _all_known(self, *tensors):
        return all(tensor_util.constant_value(x) is not None for x in tensors)

    def get_ndims(self, x, name="get_ndims"):
        """How many dimensions x has."""
        with self._name_scope(name, values=[x]):
            x = ops.convert_to_tensor(x, name="x")
            ndims = x.get_shape().ndims
            if ndims is None:
                return array_ops.rank(x, name="ndims")
            return ops.convert_to_tensor(ndims, dtype=dtypes.int32, name="ndims")

    def get_sample_ndims(self, x, name="get_sample_ndims"):
        """How many of them are of samples. ValueError: x has too few."""
        with self._name_scope(name, values=[x]):
            ndims = self.get_ndims(x, name=name)
            if self._all_known(ndims, self.batch_ndims, self.event_ndims):
                known = int(tensor_util.constant_value(ndims))
                batch, event = self._known_batch_ndims, self._known_event_ndims
                if known < batch + event:
                    raise ValueError(
                        "expected batch_ndims(%d) + event_ndims(%d) <= ndims(%d)" % (batch, event, known)
                    )
                return ops.convert_to_tensor(known - batch - event, name="sample_ndims")
            with ops.name_scope("sample_ndims"):
                ndims = ndims - self.batch_ndims - self.event_ndims
                if self.validate_args:
                    check = check_ops.assert_non_negative(ndims)
                    ndims = control_flow_ops.with_dependencies([check], ndims)
            return ndims

    def _parts(self, sample_ndims, make, what):
        """make(the ndims before a part, the part's, its name) for samples, the batch and events."""
        zero = lambda: [array_ops.zeros([], dtype=dtypes.int32, name="zero")]
        return (
            make(zero(), sample_ndims, "sample_" + what),
            make([sample_ndims], self.batch_ndims, "batch_" + what),
            make([sample_ndims, self.batch_ndims], self.event_ndims, "event_" + what),
        )

    def get_dims(self, x, name="get_dims"):
        """The indices of the dimensions of samples, of the batch and of events."""

        def dims(before, size, name):
            if not self._all_known(size, *before):
                start = sum(before)
                return math_ops.range(start, start + size)
            start = sum(int(tensor_util.constant_value(s)) for s in before)
            stop = start + int(tensor_util.constant_value(size))
            return ops.convert_to_tensor(list(range(start, stop)), dtype=dtypes.int32, name=name)

        with self._name_scope(name, values=[x]):
            return self._parts(self.get_sample_ndims(x, name=name), dims, "dims")

    def get_shape(self, x, name="get_shape"):
        """The shapes of samples, of the batch and of events."""

        def part(before, size, name):
            if x.get_shape().ndims is not None and self._all_known(size, *before):
                start = sum(int(tensor_util.constant_value(s)) for s in before)
                stop = start + int(tensor_util.constant_value(size))
                known = x.get_shape()[start:stop].as_list()
                if None not in known:
                    return ops.convert_to_tensor(known, dtype=dtypes.int32, name=name)
            return array_ops.slice(array_ops.shape(x), [sum(before)], [size])

        with self._name_scope(name, values=[x]):
            x = ops.convert_to_tensor(x, name="x")
            return self._parts(self.get_sample_ndims(x, name=name), part, "shape")

    def make_batch_of_event_sample_matrices(
        self, x, expand_batch_dim=True, name="make_batch_of_event_sample_matrices"
    ):
        """(x with all samples in the last dimension, the shape of samples), for products with matrices."""
        with self._name_scope(name, values=[x]):
            x = ops.convert_to_tensor(x, name="x")
            sample_shape, batch_shape, event_shape = self.get_shape(x)
            event_shape = util.pick_vector(self._event_ndims_is_0, [1], event_shape)
            if expand_batch_dim:
                batch_shape = util.pick_vector(self._batch_ndims_is_0, [1], batch_shape)
            x = array_ops.reshape(x, shape=array_ops.concat([[-1], batch_shape, event_shape], 0))
            return util.rotate_transpose(x, shift=-1), sample_shape

    def undo_make_batch_of_event_sample_matrices(
        self, x, sample_shape, expand_batch_dim=True, name="undo_make_batch_of_event_sample_matrices"
    ):
        """The inverse."""
        with self._name_scope(name, values=[x, sample_shape]):
            x = ops.convert_to_tensor(x, name="x")
            sample_shape = ops.convert_to_tensor(sample_shape, name="sample_shape")
            x = util.rotate_transpose(x, shift=1)
            if self._all_known(self.batch_ndims, self.event_ndims):
                ones = [-1] if self._event_ndims_is_0 else []
                ones += [1] if self._batch_ndims_is_0 and expand_batch_dim else []
                if ones:
                    x = array_ops.squeeze(x, axis=ones)
                _, batch_shape, event_shape = self.get_shape(x)
            else:
                shape = array_ops.shape(x)
                batch_shape = shape[1 : 1 + self.batch_ndims]
                has_one = math_ops.logical_and(expand_batch_dim, self._batch_ndims_is_0)
                start = array_ops.where_v2(has_one, 2, 1 + self.batch_ndims)
                event_shape = shape[start : start + self.event_ndims]
            return array_ops.reshape(x, shape=array_ops.concat([sample_shape, batch_shape, event_shape], 0))

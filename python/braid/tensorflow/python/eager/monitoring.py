"""Counters, gauges and samplers of a process, by which libraries tell what is used of them."""

import bisect
import sys
import threading

from braid.tensorflow.core.framework import summary_pb2
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.util import compat

_lock = threading.Lock()
_names = set()


class _Cell:
    def __init__(self, value):
        self._value = value

    def value(self):
        """The value now."""
        with _lock:
            return self._value


class CounterCell(_Cell):
    def increase_by(self, value):
        """Adds a number that is not negative."""
        if value < 0:
            raise ValueError(f"a counter does not decrease: {value}")
        with _lock:
            self._value += value


class IntGaugeCell(_Cell):
    def set(self, value):
        """Sets the number."""
        with _lock:
            self._value = int(value)


class StringGaugeCell(_Cell):
    def set(self, value):
        """Sets the text."""
        with _lock:
            self._value = compat.as_str_any(value)


class BoolGaugeCell(_Cell):
    def set(self, value):
        """Sets the truth value."""
        with _lock:
            self._value = bool(value)


class SamplerCell:
    def __init__(self, limits):
        self._limits = limits
        self._counts = [0] * len(limits)
        self._samples = [sys.float_info.max, -sys.float_info.max, 0.0, 0.0]  # min, max, sum, sum of squares

    def add(self, value):
        """Counts a sample in its bucket: the first with a limit above it."""
        value = float(value)
        with _lock:
            self._counts[min(bisect.bisect_right(self._limits, value), len(self._counts) - 1)] += 1
            least, most, total, squares = self._samples
            self._samples = [min(least, value), max(most, value), total + value, squares + value * value]

    def value(self):
        """The histogram now, a HistogramProto."""
        with _lock:
            least, most, total, squares = self._samples
            return summary_pb2.HistogramProto(
                min=least,
                max=most,
                num=sum(self._counts),
                sum=total,
                sum_squares=squares,
                bucket_limit=self._limits,
                bucket=self._counts,
            )


class Metric:
    """A metric with cells, one for each tuple of values of its labels. Its name is its own while it lives."""

    _KIND = None
    _most_labels = 2

    def __init__(self, name, description, *labels):
        self._name = None
        if len(labels) > self._most_labels:
            raise ValueError(f"Cannot create {self._KIND} metric with label >= {self._most_labels + 1}")
        with _lock:
            if name in _names:
                message = f"Another metric with the same name already exists: {name}"
                raise errors.AlreadyExistsError(None, None, message)
            _names.add(name)
        self._name = name
        self._description = description
        self._labels = labels
        self._cells = {}

    def __del__(self):
        _names.discard(self._name)

    def _make_cell(self):
        raise NotImplementedError

    def get_cell(self, *labels):
        """The cell of values of the labels. It is made at its first use."""
        if len(labels) != len(self._labels):
            raise ValueError(f"The {self._KIND} expects taking {len(self._labels)} labels")
        with _lock:
            if labels not in self._cells:
                self._cells[labels] = self._make_cell()
            return self._cells[labels]


class Counter(Metric):
    """Counts."""

    _KIND = "Counter"

    def _make_cell(self):
        return CounterCell(0)


class IntGauge(Metric):
    """An int for each cell."""

    _KIND = "IntGauge"

    def _make_cell(self):
        return IntGaugeCell(0)


class StringGauge(Metric):
    """A text for each cell."""

    _KIND = "StringGauge"

    def _make_cell(self):
        return StringGaugeCell("")


class BoolGauge(Metric):
    """A truth value for each cell."""

    _KIND = "BoolGauge"

    def _make_cell(self):
        return BoolGaugeCell(False)


class Buckets:
    """The upper limits of the buckets of a histogram. The last bucket has no limit."""

    def __init__(self, buckets):
        self.buckets = [*buckets, sys.float_info.max]


class ExponentialBuckets(Buckets):
    """Limits that grow by a factor: scale, scale * growth_factor, ..., bucket_count of them."""

    def __init__(self, scale, growth_factor, bucket_count):
        super().__init__(scale * float(growth_factor) ** i for i in range(bucket_count))


class Sampler(Metric):
    """A histogram for each cell."""

    _KIND = "Sampler"

    def __init__(self, name, buckets, description, *labels):
        super().__init__(name, description, *labels)
        self._limits = buckets.buckets

    def _make_cell(self):
        return SamplerCell(self._limits)

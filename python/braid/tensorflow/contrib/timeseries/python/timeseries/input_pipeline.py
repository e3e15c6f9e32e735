"""The input of models of time series: readers of series, and input functions of windows of them."""

import abc

import numpy

from braid.tensorflow.contrib.timeseries.python.timeseries import feature_keys
from braid.tensorflow.contrib.timeseries.python.timeseries import model_utils
from braid.tensorflow.python.estimator import estimator_lib
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import io_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training import input as input_lib
from braid.tensorflow.python.util import nest

_TIMES = feature_keys.TrainEvalFeatures.TIMES
_VALUES = feature_keys.TrainEvalFeatures.VALUES


def predict_continuation_input_fn(evaluation, steps=None, times=None, exogenous_features=None):
    """The input_fn of predictions after an evaluation, for a number of steps or for times.

    evaluation: what Estimator.evaluate returned.
    exogenous_features: arrays whose shapes begin with that of the times, [batch, n].
    """
    features = {
        feature_keys.PredictionFeatures.STATE_TUPLE: evaluation[feature_keys.FilteringResults.STATE_TUPLE],
        _TIMES: model_utils.canonicalize_times_or_steps_from_output(
            times=times, steps=steps, previous_model_output=evaluation
        ),
        **(exogenous_features or {}),
    }

    def _predict_input_fn():
        once = {
            key: nest.map_structure(lambda value: input_lib.limit_epochs(value, num_epochs=1), values)
            for key, values in features.items()
        }
        return once, None

    return _predict_input_fn


def _local_counter(name):
    """A variable of this process that counts, and has no value before its initializer has run."""
    return variable_scope.variable(
        initial_value=constant_op.constant(0, dtype=dtypes.int64),
        name=name,
        trainable=False,
        collections=[ops.GraphKeys.LOCAL_VARIABLES],
    )


def _when_initialized(variable, update):
    """What `update` makes of a variable, or 0 as long as it has no value (queue runners may be first)."""
    return control_flow_ops.cond(
        state_ops.is_variable_initialized(variable),
        update,
        lambda: constant_op.constant(0, dtype=dtypes.int64),
    )


# ---- Readers ----


class TimeSeriesReader:
    """A series: dictionaries of tensors that begin with a dimension of times."""

    def check_dataset_size(self, minimum_dataset_size):
        """Raises ValueError where it is known that the series is shorter."""

    @abc.abstractmethod
    def read(self):
        """Some of the series, in order, again and again: any number of times each."""

    @abc.abstractmethod
    def read_full(self):
        """The whole series."""


class NumpyReader(TimeSeriesReader):
    """A series of arrays."""

    def __init__(self, data, read_num_records_hint=4096):
        """A reader of a dictionary: times [n], values [n] or [n, features], others [n, ...].

        A dimension of batches, of size 1, may be before them. At most `read_num_records_hint` are read at
        once.
        """
        self._features = _canonicalize_numpy_data(data, require_single_batch=True)
        self._read_num_records_hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size):
        size = self._features[_TIMES].shape[1]
        if size < minimum_dataset_size:
            raise ValueError(
                f"A TimeSeriesInputFn is configured to create windows of size {minimum_dataset_size}, but "
                f"only {size} records were available in the dataset. Either decrease the window size or "
                "provide more records."
            )

    def read(self):
        features = {key: numpy.squeeze(value, axis=0) for key, value in self._features.items()}
        return estimator_lib.inputs.numpy_input_fn(
            x=features, batch_size=self._read_num_records_hint, num_epochs=None, shuffle=False
        )()

    def read_full(self):
        features = estimator_lib.inputs.numpy_input_fn(
            x=self._features, batch_size=1, num_epochs=None, queue_capacity=2, shuffle=False
        )()
        return {name: array_ops.squeeze(value, axis=0) for name, value in features.items()}


class ReaderBaseTimeSeriesParser(TimeSeriesReader):
    """A series in files. A subclass says how they are read and parsed."""

    def __init__(self, filenames, read_num_records_hint=4096):
        """A reader of files, in their order; at most `read_num_records_hint` records are read at once."""
        self._filenames = filenames
        self._read_num_records_hint = read_num_records_hint

    @abc.abstractmethod
    def _get_reader(self):
        """A tf.ReaderBase."""

    @abc.abstractmethod
    def _process_records(self, lines):
        """The features of records [n]."""

    def _get_filename_queue(self, epoch_limit):
        """A queue of the names, and its counter: it ends when it has begun `epoch_limit` times.

        A read that yields records sets the counter to 0, so that files without any end in an
        OutOfRangeError.
        """
        counter = _local_counter("epoch_limiter")
        names = array_ops.reshape(ops.convert_to_tensor(self._filenames), [-1])
        counted = _when_initialized(counter, lambda: counter.count_up_to(epoch_limit))
        with ops.control_dependencies([counted]):
            names = array_ops.identity(names)
        return input_lib.string_input_producer(names, shuffle=False, capacity=1), counter

    def read(self):
        queue, counter = self._get_filename_queue(epoch_limit=self._read_num_records_hint)
        reader = self._get_reader()
        reset = state_ops.assign(counter, 0)
        with ops.control_dependencies([reset]):
            _, records = reader.read_up_to(queue, self._read_num_records_hint)
        return self._process_records(records)

    def read_full(self):
        reader = self._get_reader()
        # A key is read again when all files have been begun a second time, after which there may be none.
        queue, counter = self._get_filename_queue(epoch_limit=2)
        reset = state_ops.assign(counter, 0)
        with ops.control_dependencies([reset]):
            first_key, first_value = reader.read_up_to(queue, 1)

        def is_new(key, *_):
            return math_ops.not_equal(array_ops.squeeze(key, axis=0), array_ops.squeeze(first_key, axis=0))

        def read_next(_, value, index, records):
            new_key, new_value = reader.read_up_to(queue, 1)
            new_key.set_shape([1])
            new_value.set_shape([1])
            return new_key, new_value, index + 1, records.write(index, value)

        records = tensor_array_ops.TensorArray(dtype=dtypes.string, size=0, dynamic_size=True)
        _, _, _, records = control_flow_ops.while_loop(
            is_new, read_next, [constant_op.constant([""]), first_value, 0, records]
        )
        records = records.concat()
        with ops.control_dependencies([records]):
            reader_reset = reader.reset()
        with ops.control_dependencies([reader_reset]):
            records = array_ops.identity(records)
        return self._process_records(records)


def _check_required(names):
    for name in (_TIMES, _VALUES):
        if name not in names:
            raise ValueError(f"'{name}' is a required column.")


class CSVReader(ReaderBaseTimeSeriesParser):
    """A series in files of comma separated values, a time in each line."""

    def __init__(
        self,
        filenames,
        column_names=(_TIMES, _VALUES),
        column_dtypes=None,
        skip_header_lines=None,
        read_num_records_hint=4096,
    ):
        """A reader of files with columns of these names.

        Columns of one name (values of several features) make one feature. Columns without dtypes are
        float32, the times int64. `skip_header_lines` lines of each file are left out.
        """
        _check_required(column_names)
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(
                "If specified, the length of column_dtypes must match the length of column_names (got "
                f"column_dtypes={column_dtypes} and column_names={column_names})."
            )
        if list(column_names).count(_TIMES) != 1:
            raise ValueError(f"Got more than one times column ('{_TIMES}'), but exactly one is required.")
        self._column_names = column_names
        self._column_dtypes = column_dtypes
        self._skip_header_lines = skip_header_lines
        super().__init__(filenames=filenames, read_num_records_hint=read_num_records_hint)

    def _get_reader(self):
        return io_ops.TextLineReader(skip_header_lines=self._skip_header_lines)

    def _process_records(self, lines):
        if self._column_dtypes is None:
            # An empty default: the column is float32, and each line has a value.
            defaults = [
                (array_ops.zeros([], dtypes.int64),) if name == _TIMES else () for name in self._column_names
            ]
        else:
            defaults = [(array_ops.zeros([], dtype),) for dtype in self._column_dtypes]
        columns = {}
        for name, column in zip(self._column_names, parsing_ops.decode_csv(lines, defaults)):
            columns.setdefault(name, []).append(column)
        return {
            name: values[0] if name == _TIMES else array_ops.stack(values, axis=1)
            for name, values in columns.items()
        }


class TFExampleReader(ReaderBaseTimeSeriesParser):
    """A series in TFRecord files of Examples, a time in each."""

    def __init__(self, filenames, features):
        """A reader of Examples that have the features that tf.io.parse_example takes."""
        _check_required(features)
        self._features = features
        super().__init__(filenames=filenames)

    def _get_reader(self):
        return io_ops.TFRecordReader()

    def _process_records(self, examples):
        return parsing_ops.parse_example(serialized=examples, features=self._features)


# ---- Input functions ----


class TimeSeriesInputFn:
    """An input_fn of windows of a series: features [batch, window, ...], and None for the labels."""

    @abc.abstractmethod
    def create_batch(self):
        """The features and None."""

    def __call__(self):
        return self.create_batch()


class WholeDatasetInputFn(TimeSeriesInputFn):
    """The whole series as one window, for evaluation."""

    def __init__(self, time_series_reader):
        self._reader = time_series_reader
        super().__init__()

    def create_batch(self):
        return {name: value[None, ...] for name, value in self._reader.read_full().items()}, None


class RandomWindowInputFn(TimeSeriesInputFn):
    """Windows of a series in random order, for training.

    A queue has the series in order. Of what is taken out of it at once, `batch_size` windows are cut; they
    go into a RandomShuffleQueue, from which a batch is taken.
    """

    def __init__(
        self,
        time_series_reader,
        window_size,
        batch_size,
        queue_capacity_multiplier=1000,
        shuffle_min_after_dequeue_multiplier=2,
        discard_out_of_order=True,
        discard_consecutive_batches_limit=1000,
        jitter=True,
        num_threads=2,
        shuffle_seed=None,
    ):
        """Batches [batch_size, window_size] of a TimeSeriesReader.

        queue_capacity_multiplier: how many batches are in a queue at most.
        shuffle_min_after_dequeue_multiplier: how many batches' windows remain when one is taken out.
        discard_out_of_order: windows in which the times decrease, where a file ends, are left out; else
          they are sorted.
        discard_consecutive_batches_limit: so many batches without a window that is kept are an
          OutOfRangeError.
        jitter: an observation is left out now and then, so that windows begin elsewhere each time.
        num_threads: the threads of each queue; None: batch_size. With one, and a shuffle_seed, the order is
          always the same.
        """
        self._reader = time_series_reader
        self._window_size = window_size
        self._reader.check_dataset_size(minimum_dataset_size=self._window_size)
        self._batch_size = batch_size
        self._queue_capacity_multiplier = queue_capacity_multiplier
        self._shuffle_min_after_dequeue_multiplier = shuffle_min_after_dequeue_multiplier
        self._discard_out_of_order = discard_out_of_order
        self._discard_limit = discard_consecutive_batches_limit
        self._jitter = jitter
        self._num_threads = batch_size if num_threads is None else num_threads
        self._shuffle_seed = shuffle_seed
        super().__init__()

    def _windows(self, features):
        """The features of batch_size windows: [batch, window, ...]."""
        jitter = 0
        if self._jitter:
            jitter = random_ops.random_uniform(shape=[], maxval=2, dtype=dtypes.int32)
        batched = input_lib.batch(
            features,
            batch_size=self._window_size * self._batch_size + jitter,
            enqueue_many=True,
            capacity=self._queue_capacity_multiplier * self._batch_size * self._window_size,
            num_threads=self._num_threads,
        )
        kept = {key: value[jitter:] for key, value in batched.items()} if self._jitter else batched
        shape = [self._batch_size, self._window_size]
        windows = {
            key: array_ops.reshape(value, array_ops.concat([shape, array_ops.shape(value)[1:]], axis=0))
            for key, value in kept.items()
        }
        for key, window in windows.items():
            window.set_shape(tensor_shape.TensorShape(shape).concatenate(batched[key].get_shape()[1:]))
        return windows

    def _in_order(self, times):
        """Which windows [batch] have times that do not decrease; counts batches that have none."""
        in_order = math_ops.reduce_all(times[:, 1:] >= times[:, :-1], axis=1)
        discarded = _local_counter("discarded_windows_limiter")

        def count():
            return control_flow_ops.cond(
                math_ops.reduce_any(in_order),
                lambda: state_ops.assign(discarded, 0),
                lambda: discarded.count_up_to(self._discard_limit),
            )

        with ops.control_dependencies([_when_initialized(discarded, count)]):
            return array_ops.identity(in_order)

    def create_batch(self):
        windows = self._windows(self._reader.read())
        times = windows[_TIMES]
        if self._discard_out_of_order:
            kept = self._in_order(times)
        else:
            _, descending = nn.top_k(times, k=array_ops.shape(times)[-1], sorted=True)
            indices = array_ops.reverse(descending, axis=[1])
            windows = {key: array_ops.gather(value, indices, batch_dims=1) for key, value in windows.items()}
            kept = True
        batch = input_lib.maybe_shuffle_batch(
            windows,
            num_threads=self._num_threads,
            seed=self._shuffle_seed,
            batch_size=self._batch_size,
            capacity=self._queue_capacity_multiplier * self._batch_size,
            min_after_dequeue=self._shuffle_min_after_dequeue_multiplier * self._batch_size,
            keep_input=kept,
            enqueue_many=True,
        )
        return batch, None


def _canonicalize_numpy_data(data, require_single_batch):
    """Arrays that begin with [batch, times], the values [batch, times, features].

    The times are a scalar, [n] or [batch, n], and the shapes of all begin with theirs; the values may lack
    the dimension of features. With `require_single_batch`, a batch of several raises ValueError.
    """
    features = {key: numpy.array(value) for key, value in data.items()}
    if _TIMES not in features or _VALUES not in features:
        raise ValueError(f"{_TIMES} and {_VALUES} are required features.")
    times = features[_TIMES]
    for key, value in features.items():
        if value.shape[: times.ndim] != times.shape:
            raise ValueError(
                "All features must have their shapes prefixed by the shape of the times feature. "
                f"Got shape {value.shape} for feature '{key}', but shape {times.shape} for '{_TIMES}'"
            )
    values = features[_VALUES]
    if times.ndim < 2:
        lacks, axes = (
            ("a batch dimension", "[series length, number of features]")
            if times.ndim
            else ("a batch or time dimension", "[number of features]")
        )
        if values.ndim == times.ndim:
            features[_VALUES] = values[..., None]
        elif values.ndim > times.ndim + 1:
            raise ValueError(
                f"Got an unexpected number of dimensions for the '{_VALUES}' feature. Was expecting at most "
                f"{times.ndim + 1} dimension{'s' if times.ndim else ''} ({axes}) since '{_TIMES}' does not "
                f"have {lacks}, but got shape {values.shape}"
            )
        for _ in range(2 - times.ndim):
            features = {key: value[None, ...] for key, value in features.items()}
    elif times.ndim != 2:
        raise ValueError(
            "Got an unexpected number of dimensions for times. Was expecting at most two ([batch size, "
            f"series length]), but got shape {times.shape}."
        )
    if require_single_batch and features[_TIMES].shape[0] != 1:
        raise ValueError("Got batch input, was expecting unbatched input.")
    return features

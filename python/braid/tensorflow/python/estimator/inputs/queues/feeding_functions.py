"""Queues of rows of arrays or data frames, and the functions that feed them."""

import collections
import random
import types as python_types

import numpy as np

from braid.tensorflow.python.estimator.inputs.queues import feeding_queue_runner
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import queue_runner

try:
    import pandas as pd
except ImportError:
    pd = None


class _Rows:
    """The numbers of the rows of the next batch, epoch by epoch.

    A batch goes on into the next epoch; the last one of the last epoch may be smaller.
    """

    def __init__(self, count, batch_size, random_start=False, seed=None, num_epochs=None):
        if num_epochs is not None and num_epochs < 0:
            raise ValueError(f"Expected num_epochs >= 0, got {num_epochs}")
        self._count, self._batch_size, self._num_epochs = count, batch_size, num_epochs
        self._next = 0
        if random_start:
            self._next = random.Random(seed).randrange(count)
        self._rest = None if num_epochs is None else count * num_epochs

    def take(self):
        """The row numbers (int64). OutOfRangeError: all epochs are done."""
        size = self._batch_size if self._rest is None else min(self._batch_size, self._rest)
        if size <= 0:
            raise errors.OutOfRangeError(None, None, "Already emitted %s epochs." % self._num_epochs)
        rows = (self._next + np.arange(size, dtype=np.int64)) % self._count
        self._next = int((self._next + size) % self._count)
        if self._rest is not None:
            self._rest -= size
        return rows


class _ArrayFeedFn:
    """Feeds row numbers and rows of one array."""

    def __init__(self, placeholders, array, batch_size, random_start=False, seed=None, num_epochs=None):
        if len(placeholders) != 2:
            raise ValueError(f"_array_feed_fn expects 2 placeholders; got {len(placeholders)}.")
        self._placeholders, self._array = placeholders, array
        self._rows = _Rows(len(array), batch_size, random_start, seed, num_epochs)

    def __call__(self):
        rows = self._rows.take()
        return {self._placeholders[0]: rows, self._placeholders[1]: self._array[rows]}


class _OrderedDictNumpyFeedFn:
    """Feeds row numbers and rows of several arrays."""

    def __init__(
        self, placeholders, ordered_dict_of_arrays, batch_size, random_start=False, seed=None, num_epochs=None
    ):
        if len(placeholders) != len(ordered_dict_of_arrays) + 1:
            raise ValueError(f"Expected {len(ordered_dict_of_arrays)} placeholders; got {len(placeholders)}.")
        self._index, self._columns = placeholders[0], placeholders[1:]
        self._arrays = list(ordered_dict_of_arrays.values())
        count = len(self._arrays[0])
        for name, array in ordered_dict_of_arrays.items():
            if len(array) != count:
                raise ValueError(f"Array {name} has {len(array)} rows, the others {count}")
        self._rows = _Rows(count, batch_size, random_start, seed, num_epochs)

    def __call__(self):
        rows = self._rows.take()
        feed = {self._index: rows}
        feed.update((p, array[rows]) for p, array in zip(self._columns, self._arrays))
        return feed


class _PandasFeedFn:
    """Feeds the index and the columns of a data frame."""

    def __init__(self, placeholders, dataframe, batch_size, random_start=False, seed=None, num_epochs=None):
        if len(placeholders) != len(dataframe.columns) + 1:
            raise ValueError(f"Expected {len(dataframe.columns)} placeholders; got {len(placeholders)}.")
        self._index, self._columns, self._frame = placeholders[0], placeholders[1:], dataframe
        self._rows = _Rows(len(dataframe), batch_size, random_start, seed, num_epochs)

    def __call__(self):
        part = self._frame.iloc[self._rows.take()]
        feed = {self._index: part.index.values}
        feed.update((p, part[name].values) for p, name in zip(self._columns, part.columns))
        return feed


def _pad_if_needed(batch_key_item, fillvalue=0):
    """The list of arrays itself, or one array of them, whose rows are filled up along their last dimension.

    Raises:
      ValueError: other dimensions differ.
    """
    outer = [item.shape[:-1] if item.shape else None for item in batch_key_item]
    if any(shape != outer[0] for shape in outer):
        raise ValueError("Array shapes must match.")
    lengths = [item.shape[-1] if item.shape else 0 for item in batch_key_item]
    if len(set(lengths)) == 1:
        return batch_key_item
    shape = (len(batch_key_item), *outer[0], max(lengths))
    padded = np.full(shape, fillvalue, batch_key_item[0].dtype)
    for row, item, length in zip(padded, batch_key_item, lengths):
        row[..., :length] = item
    return padded


class _GeneratorFeedFn:
    """Feeds the values of the dicts that a generator function yields, sorted by their keys.

    A batch ends with the row that makes the number of its values, of all keys, batch_size; it goes on into
    the next epoch, the last one, too.
    """

    def __init__(
        self,
        placeholders,
        generator,
        batch_size,
        random_start=False,
        seed=None,
        num_epochs=None,
        pad_value=None,
    ):
        """random_start, seed: not used, because a generator has one order."""
        self._keys = sorted(next(generator()))
        if len(placeholders) != len(self._keys):
            raise ValueError(f"Expected {len(self._keys)} placeholders; got {len(placeholders)}.")
        self._placeholders, self._generator, self._rows = placeholders, generator, generator()
        self._batch_size, self._pad_value = batch_size, pad_value
        self._num_epochs, self._epoch = num_epochs, 0

    def _next_row(self):
        try:
            row = next(self._rows)
        except StopIteration:
            self._epoch += 1
            self._rows = self._generator()
            row = next(self._rows)
        if not set(self._keys) <= set(row):
            raise KeyError(
                "key mismatch between dicts emitted by GenFun Expected {} keys; got {}".format(
                    self._keys, row.keys()
                )
            )
        return row

    def __call__(self):
        if self._num_epochs and self._epoch >= self._num_epochs:
            raise errors.OutOfRangeError(None, None, "Already emitted %s epochs." % self._epoch)
        rows = []
        while len(rows) * len(self._keys) < self._batch_size:
            rows.append(self._next_row())
        feed = {p: [row[key] for row in rows] for p, key in zip(self._placeholders, self._keys)}
        if self._pad_value is not None:
            feed = {p: _pad_if_needed(values, self._pad_value) for p, values in feed.items()}
        return {p: np.asarray(values) for p, values in feed.items()}


def _enqueue_data(
    data,
    capacity,
    shuffle=False,
    min_after_dequeue=None,
    num_threads=1,
    seed=None,
    name="enqueue_input",
    enqueue_size=1,
    num_epochs=None,
    pad_value=None,
):
    """A queue that threads fill with the rows of `data`: an array, an OrderedDict of arrays, or a data frame.

    Its first component is the number of the row. `data` may also be a function whose generator yields a dict
    of arrays for each row: components are in the order of the sorted keys. pad_value: the rows of such a
    generator have different lengths in their last dimension; rows enqueued at once are filled up with it,
    rows dequeued at once with zeros. num_epochs is applied by each thread.
    """
    with ops.name_scope(name):
        if isinstance(data, np.ndarray):
            types = [dtypes.int64, dtypes.as_dtype(data.dtype)]
            shapes = [(), data.shape[1:]]
            feed_type = _ArrayFeedFn
        elif isinstance(data, collections.OrderedDict):
            types = [dtypes.int64] + [dtypes.as_dtype(column.dtype) for column in data.values()]
            shapes = [()] + [column.shape[1:] for column in data.values()]
            feed_type = _OrderedDictNumpyFeedFn
        elif isinstance(data, python_types.FunctionType):
            first = next(data())
            types = [dtypes.as_dtype(first[key].dtype) for key in sorted(first)]
            shapes = [first[key].shape for key in sorted(first)]
            feed_type = _GeneratorFeedFn
        elif pd is not None and isinstance(data, pd.DataFrame):
            types = [dtypes.as_dtype(dt) for dt in [data.index.dtype] + list(data.dtypes)]
            shapes = [() for _ in types]
            feed_type = _PandasFeedFn
        else:
            raise TypeError(
                "data must be either a numpy array or pandas DataFrame if pandas is installed; got "
                f"{type(data).__name__}"
            )
        padding = {} if pad_value is None else {"pad_value": pad_value}
        if padding and feed_type is not _GeneratorFeedFn:
            raise NotImplementedError("padding is only available with generator usage")
        if padding and shuffle:
            raise NotImplementedError("padding and shuffling data at the same time is not implemented")
        if num_threads > 1 and num_epochs is not None:
            logging.warning(
                "enqueue_data was called with num_epochs and num_threads > 1. num_epochs is applied per "
                "thread, so this will produce more epochs than you probably intend. If you want to limit "
                "epochs, use one thread."
            )
        if shuffle and num_threads > 1 and num_epochs is not None:
            logging.warning(
                "enqueue_data was called with shuffle=True, num_threads > 1, and num_epochs. This will "
                "create multiple threads, all reading the array/dataframe in order adding to the same "
                "shuffling queue; the results will likely not be sufficiently shuffled."
            )
        if not shuffle and num_threads > 1:
            logging.warning(
                "enqueue_data was called with shuffle=False and num_threads > 1. This will create "
                "multiple threads, all reading the array/dataframe in order. If you want examples read in "
                "order, use one thread; if you want multiple threads, enable shuffling."
            )
        if shuffle:
            min_after_dequeue = int(capacity / 4 if min_after_dequeue is None else min_after_dequeue)
            queue = data_flow_ops.RandomShuffleQueue(
                capacity, min_after_dequeue, dtypes=types, shapes=shapes, seed=seed
            )
        else:
            min_after_dequeue = 0
            queue_type = data_flow_ops.FIFOQueue
            if padding:
                queue_type = data_flow_ops.PaddingFIFOQueue
                shapes = [(*shape[:-1], None) if shape else shape for shape in shapes]
            queue = queue_type(capacity, dtypes=types, shapes=shapes)
        enqueue_ops, feed_fns = [], []
        for i in range(num_threads):
            # Rows of one batch: the placeholders have no shape, the queue checks them.
            placeholders = [array_ops.placeholder(t) for t in types]
            enqueue_ops.append(queue.enqueue_many(placeholders))
            feed_fns.append(
                feed_type(
                    placeholders,
                    data,
                    enqueue_size,
                    random_start=shuffle and num_threads > 1,
                    seed=None if seed is None else seed + i,
                    num_epochs=num_epochs,
                    **padding,
                )
            )
        runner = feeding_queue_runner.FeedingQueueRunner(
            queue=queue, enqueue_ops=enqueue_ops, feed_fns=feed_fns
        )
        queue_runner.add_queue_runner(runner)
        full = math_ops.cast(math_ops.maximum(0, queue.size() - min_after_dequeue), dtypes.float32) * (
            1.0 / (capacity - min_after_dequeue)
        )
        summary.scalar(
            "queue/%sfraction_over_%d_of_%d_full"
            % (queue.name, min_after_dequeue, capacity - min_after_dequeue),
            full,
        )
        return queue

"""Files read by several readers at once, into a queue."""

from braid.tensorflow.python.framework import dtypes as tf_dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import input as tf_input
from braid.tensorflow.python.training import queue_runner

__all__ = ["ParallelReader", "parallel_read", "single_pass_read", "get_data_files"]


class ParallelReader:
    """`num_readers` readers, objects of `reader_class`, that put what they read into `common_queue`."""

    def __init__(self, reader_class, common_queue, num_readers=4, reader_kwargs=None):
        if len(common_queue.dtypes) != 2:
            raise TypeError("common_queue.dtypes must contain two dtypes")
        for dtype in common_queue.dtypes:
            if not dtype.is_compatible_with(tf_dtypes.string):
                raise TypeError("common_queue.dtypes must be compatible with string")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def common_queue(self):
        return self._common_queue

    def read(self, queue, name=None):
        """The next (key, value) of the files of `queue`."""
        self._configure_readers_by(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue, num_records, name=None):
        """The next (keys, values), at most `num_records`."""
        self._configure_readers_by(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _configure_readers_by(self, queue):
        enqueue_ops = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        queue_runner.add_queue_runner(queue_runner.QueueRunner(self._common_queue, enqueue_ops))

    def num_records_produced(self, name=None):
        return math_ops.add_n([r.num_records_produced() for r in self._readers], name=name)

    def num_work_units_completed(self, name=None):
        return math_ops.add_n([r.num_work_units_completed() for r in self._readers], name=name)


def parallel_read(
    data_sources,
    reader_class,
    num_epochs=None,
    num_readers=4,
    reader_kwargs=None,
    shuffle=True,
    dtypes=None,
    capacity=256,
    min_after_dequeue=128,
    seed=None,
    scope=None,
):
    """The next (key, value) of the files, shuffled if asked for, `num_epochs` times (without end if None)."""
    data_files = get_data_files(data_sources)
    with ops.name_scope(scope or "parallel_read"):
        filename_queue = tf_input.string_input_producer(
            data_files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        dtypes = dtypes or [tf_dtypes.string, tf_dtypes.string]
        if shuffle:
            common_queue = data_flow_ops.RandomShuffleQueue(
                capacity=capacity,
                min_after_dequeue=min_after_dequeue,
                dtypes=dtypes,
                seed=seed,
                name="common_queue",
            )
        else:
            common_queue = data_flow_ops.FIFOQueue(capacity=capacity, dtypes=dtypes, name="common_queue")
        summary.scalar(
            f"fraction_of_{capacity}_full",
            math_ops.cast(common_queue.size(), tf_dtypes.float32) * (1.0 / capacity),
        )
        reader = ParallelReader(
            reader_class, common_queue, num_readers=num_readers, reader_kwargs=reader_kwargs
        )
        return reader.read(filename_queue)


def single_pass_read(data_sources, reader_class, reader_kwargs=None, scope=None):
    """The next (key, value) of the files, once, in their order."""
    data_files = get_data_files(data_sources)
    with ops.name_scope(scope or "single_pass_read"):
        filename_queue = tf_input.string_input_producer(
            data_files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(filename_queue)


def get_data_files(data_sources):
    """The files of patterns. ValueError: there are none."""
    if isinstance(data_sources, (list, tuple)):
        files = [file for source in data_sources for file in get_data_files(source)]
    elif any(c in data_sources for c in "*?["):
        files = gfile.Glob(data_sources)
    else:
        files = [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files

"""A queue of what comes next."""

from braid.tensorflow.python.framework import dtypes as tf_dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import queue_runner

__all__ = ["prefetch_queue"]


def prefetch_queue(tensors, capacity=8, num_threads=1, dynamic_pad=False, shared_name=None, name=None):
    """A queue of values of `tensors`, a list or a dict, that threads fill. `dynamic_pad`: their shapes may vary."""
    if isinstance(tensors, dict):
        names = sorted(tensors)
        tensor_list = [tensors[n] for n in names]
    else:
        names = None
        tensor_list = tensors
    with ops.name_scope(name, "prefetch_queue", tensor_list):
        kind = data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue
        queue = kind(
            capacity=capacity,
            dtypes=[t.dtype for t in tensor_list],
            shapes=[t.get_shape() for t in tensor_list],
            names=names,
            shared_name=shared_name,
        )
        enqueue_op = queue.enqueue(tensors)
        queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, [enqueue_op] * num_threads))
        summary.scalar(
            f"fraction_of_{capacity}_full",
            math_ops.cast(queue.size(), tf_dtypes.float32) * (1.0 / capacity),
        )
        return queue

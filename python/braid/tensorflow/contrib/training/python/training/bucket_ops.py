"""Batches of elements that belong together: each bucket has a queue of its own, whole batches go to another."""

import functools

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import input as input_py
from braid.tensorflow.python.training import queue_runner

__all__ = ["bucket", "bucket_by_sequence_length"]


def _fed(queue, enqueue_ops, fed_queues):
    """Adds the runner of `enqueue_ops`, which closes the queues that they feed when `queue` is at its end."""
    queue_runner.add_queue_runner(
        queue_runner.QueueRunner(
            queue,
            enqueue_ops,
            close_op=control_flow_ops.group(*[q.close() for q in fed_queues]),
            cancel_op=control_flow_ops.group(*[q.close(cancel_pending_enqueues=True) for q in fed_queues]),
            queue_closed_exception_types=(errors.OutOfRangeError, errors.CancelledError),
        )
    )


def _size(value):
    """The size of a batch as a number where it is known, else as a tensor."""
    tensor = ops.convert_to_tensor(value, dtype=dtypes.int32, name="batch_size")
    known = tensor_util.constant_value(tensor)
    return tensor if known is None else known


def bucket(
    tensors,
    which_bucket,
    batch_size,
    num_buckets,
    num_threads=1,
    capacity=32,
    bucket_capacities=None,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    keep_input=True,
    shared_name=None,
    name=None,
):
    """Batches of elements of one bucket: (which bucket, an int32 scalar; the batches of `tensors`).

    Args:
      tensors: one element, a list or dict of tensors.
      which_bucket: the bucket of the element, an int32 scalar below `num_buckets`.
      batch_size: of all buckets, or a list with one for each.
      num_threads: threads that take elements.
      capacity: how many batches wait, and how many elements of each bucket, unless `bucket_capacities` says.
      shapes: those of an element, where its static shapes are not meant.
      dynamic_pad: elements of different sizes are padded to the greatest of their batch.
      allow_smaller_final_batch: whether the last batches may be smaller. They are left out otherwise.
      keep_input: whether the element is taken, a boolean scalar.
    """
    sizes = list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    if bucket_capacities is None:
        bucket_capacities = [capacity] * num_buckets
    if len(bucket_capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({bucket_capacities}) must have exactly num_buckets ({num_buckets}) "
            "elements."
        )
    tensor_list = input_py._as_tensor_list(tensors)
    with ops.name_scope(name, "bucket", tensor_list) as name:
        tensor_list = input_py._convert(tensor_list)
        if not tensor_list:
            raise ValueError("Expected at least one tensor in bucket().")
        keep_input = input_py._validate_keep_input(keep_input, enqueue_many=False)
        tensor_list, sparse_info = input_py._store_sparse_tensors(tensor_list, False, keep_input)
        sizes = [_size(s) for s in sizes]
        types = input_py._dtypes([tensor_list])
        shapes = input_py._shapes([tensor_list], shapes, enqueue_many=False)
        which_bucket = ops.convert_to_tensor(which_bucket, dtype=dtypes.int32, name="which_bucket")
        make_queue = input_py._which_queue(dynamic_pad)
        queues = [
            make_queue(
                capacity=bucket_capacities[i],
                dtypes=types,
                shapes=shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        same = not allow_smaller_final_batch and not isinstance(batch_size, (list, tuple))
        length = sizes[0] if same and not tensor_util.is_tensor(sizes[0]) else None
        batch_shapes = [tensor_shape.TensorShape([length]).concatenate(s) for s in queues[0].shapes]
        top_queue = data_flow_ops.PaddingFIFOQueue(  # a plain queue takes no unknown sizes of batches
            capacity=capacity,
            dtypes=[dtypes.int32] + types,
            shapes=[tensor_shape.TensorShape([])] + batch_shapes,
            shared_name=shared_name,
            name="top_queue",
        )

        def enqueue_element():
            one = lambda i: control_flow_ops.cond(
                math_ops.equal(which_bucket, i),
                functools.partial(queues[i].enqueue, tensor_list),
                control_flow_ops.no_op,
            )
            return control_flow_ops.group(*[one(i) for i in range(num_buckets)], name="group_enqueues")

        enqueue = smart_cond.smart_cond(keep_input, enqueue_element, control_flow_ops.no_op)
        enqueue_batches = []
        for i, (queue, size) in enumerate(zip(queues, sizes)):
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            batch = take(size, name=f"read_bucket_{i}")
            batch = list(batch) if isinstance(batch, (list, tuple)) else [batch]
            enqueue_batches.append(
                top_queue.enqueue([constant_op.constant(i)] + batch, name=f"enqueue_from_bucket_{i}")
            )
        _fed(queues[0], enqueue_batches, [top_queue])
        _fed(top_queue, [enqueue] * num_threads, queues)

        for queue in queues:
            summary.scalar(f"bucket/{queue.name}/size", math_ops.cast(top_queue.size(), dtypes.float32))
        full = math_ops.cast(top_queue.size(), dtypes.float32) * (1.0 / capacity)
        summary.scalar(f"bucket/{top_queue.name}/fraction_of_{capacity}_full", full)

        which, *dequeued = top_queue.dequeue(name="dequeue_top")
        dequeued = dequeued[0] if len(dequeued) == 1 else dequeued
        dequeued = input_py._restore_sparse_tensors(dequeued, sparse_info)
        return which, input_py._as_original_type(tensors, dequeued)


def bucket_by_sequence_length(
    input_length,
    tensors,
    batch_size,
    bucket_boundaries,
    num_threads=1,
    capacity=32,
    bucket_capacities=None,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    keep_input=True,
    shared_name=None,
    name=None,
):
    """Batches of elements of about the same length: (the lengths, the batches of `tensors`).

    Args:
      input_length: the length of the element, an int32 scalar.
      bucket_boundaries: increasing whole numbers. A bucket's elements are at least as long as the boundary
        before it and shorter than the next.
      The others are those of `bucket`, with one more bucket than boundaries.
    """
    if not isinstance(bucket_boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in zip(bucket_boundaries, bucket_boundaries[1:]):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}"
            )
    tensor_list = list(input_py._as_tensor_list(tensors))
    with ops.name_scope(name, "bucket_by_sequence_length", [input_length] + tensor_list) as name:
        input_length = ops.convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        limits = np.iinfo(np.int32)
        from_length = [limits.min, *bucket_boundaries]
        below_length = [*bucket_boundaries, limits.max]
        is_in = math_ops.logical_and(
            math_ops.less_equal(from_length, input_length), math_ops.less(input_length, below_length)
        )
        which_bucket = math_ops.cast(math_ops.reduce_min(array_ops.where_v2(is_in)), dtypes.int32)
        _, dequeued = bucket(
            tensors=[input_length] + tensor_list,
            which_bucket=which_bucket,
            batch_size=batch_size,
            num_buckets=len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [tensor_shape.TensorShape([])] + list(shapes),
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
        rest = dequeued[1:]
        if isinstance(tensors, dict) and len(tensors) == 1:
            rest = rest[0]
        return dequeued[0], input_py._as_original_type(tensors, rest)

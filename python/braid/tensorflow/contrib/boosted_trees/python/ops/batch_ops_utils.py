"""Runs ops of many resources on one device as one op, so that a device is asked once."""

import abc

from braid.tensorflow.python.framework import constant_op, dtypes, ops
from braid.tensorflow.python.ops import array_ops


class ScheduledOp(abc.ABC):
    """An op that runs together with others of the same key."""

    @abc.abstractmethod
    def batching_key(self):
        """Ops of one key run as one."""

    @abc.abstractmethod
    def batch_runner_fn(self):
        """The function (batch of scheduled ops, stamp) that builds the one op."""


class ScheduledStampedResourceOp(ScheduledOp):
    """An op on a resource with a stamp: op([resource_handle, ...], stamp, **lists of the arguments)."""

    def __init__(self, resource_handle, op, **kwargs):
        self.resource_handle = resource_handle
        self.op = op
        self.args = kwargs

    def batching_key(self):
        return self.resource_handle.device, self.op

    def batch_runner_fn(self):
        return _run_stamped


def _move_tensors(tensors, device):
    """The tensors on another device, which they go to as one tensor."""
    axis = constant_op.constant(0, dtype=dtypes.int32)
    with ops.device(None):
        if all(tensor.shape.rank == 0 for tensor in tensors):
            with ops.device(tensors[0].device):
                packed = array_ops.stack(tensors)
            with ops.device(device):
                return array_ops.unstack(packed)
        with ops.device(tensors[0].device):
            sizes = array_ops.stack(array_ops.shape_n(tensors))[:, 0]
            joined = array_ops.concat(tensors, axis=axis)
        with ops.device(device):
            return list(array_ops.split(joined, array_ops.unstack(sizes), axis=axis))


def _run_stamped(batch, stamp):
    if not batch:
        return None
    keys = set(batch[0].args)
    for scheduled in batch:
        if set(scheduled.args) != keys:
            raise ValueError(f"Mismatching arguments: {scheduled.args}, {keys}.")
    handles = [scheduled.resource_handle for scheduled in batch]
    arguments = {
        key: _move_tensors([scheduled.args[key] for scheduled in batch], handles[0].device)
        for key in sorted(keys)
    }
    with ops.device(handles[0].device):
        return batch[0].op(handles, stamp, **arguments)


def run_handler_scheduled_ops(per_handler_ops, stamp, worker_device):
    """Builds the scheduled ops of each handler, those of one key as one.

    Args:
      per_handler_ops: lists of ScheduledOp by handler.
      stamp: of the resources.
      worker_device: where results go.

    Returns:
      Lists of results by handler, in the order of its ops: tuples of tensors, or the operation.
    """
    batches = {}
    for scheduled_ops in per_handler_ops.values():
        for scheduled in scheduled_ops:
            key = scheduled.batching_key(), scheduled.batch_runner_fn()
            batches.setdefault(key, []).append(scheduled)
    results = {}
    for (_, runner), batch in batches.items():
        result = runner(batch, stamp)
        if isinstance(result, tuple):
            moved = [_move_tensors(tensors, worker_device) for tensors in result]
            results.update((scheduled, tuple(r[i] for r in moved)) for i, scheduled in enumerate(batch))
        elif isinstance(result, ops.Operation):
            results.update((scheduled, result) for scheduled in batch)
        else:
            raise ValueError(f"Unknown type of result {result}.")
    return {
        handler: [results[scheduled] for scheduled in scheduled_ops]
        for handler, scheduled_ops in per_handler_ops.items()
    }

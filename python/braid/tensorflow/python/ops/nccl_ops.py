"""Sums and the like over devices, which TensorFlow computes by NCCL on GPUs.

Here nodes of the graph compute them on any device: each result from all the tensors, on the device of one of
them. No call waits for another: a program may evaluate some of the results.
"""

from braid.tensorflow.python.framework import device as device_lib
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, math_ops


def _check_device(tensor):
    if not device_lib.canonical_name(tensor.device):
        raise ValueError("Device assignment required for nccl collective ops")


def _chain(op):
    """The reduction of a list by an op of two tensors."""

    def reduce(tensors):
        result = tensors[0]
        for t in tensors[1:]:
            result = op(result, t)
        return array_ops.identity(result) if len(tensors) == 1 else result

    return reduce


def _all_reduce(reduction, tensors):
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    results = []
    for t in tensors:
        _check_device(t)
        with ops.device(t.device):
            results.append(reduction(tensors))
    return results


def all_sum(tensors):
    """For each tensor the sum of all of them, on its device."""
    return _all_reduce(math_ops.add_n, tensors)


def all_prod(tensors):
    """For each tensor the product of all of them, on its device."""
    return _all_reduce(_chain(math_ops.multiply), tensors)


def all_min(tensors):
    """For each tensor the minimum over all of them, on its device."""
    return _all_reduce(_chain(math_ops.minimum), tensors)


def all_max(tensors):
    """For each tensor the maximum over all of them, on its device."""
    return _all_reduce(_chain(math_ops.maximum), tensors)


def reduce_sum(tensors):
    """The sum of the tensors on the current device, which has to be that of one of them (ValueError)."""
    if not tensors:
        raise ValueError("Must pass >0 tensors to reduce operations")
    for t in tensors:
        _check_device(t)
    result = math_ops.add_n(tensors)
    if all(t.device != result.device for t in tensors):
        raise ValueError("One input tensor must be assigned to current device")
    return result


def broadcast(tensor):
    """The tensor as nodes on other devices take it."""
    _check_device(tensor)
    with ops.device(tensor.device):
        return array_ops.identity(tensor)

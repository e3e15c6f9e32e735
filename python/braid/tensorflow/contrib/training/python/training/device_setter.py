"""Strategies for tf.train.replica_device_setter: which parameter server gets a variable."""

import random

from braid.tensorflow.python.framework import tensor_shape


class RandomStrategy:
    """A random parameter server, in the same order for the same seed on every worker."""

    def __init__(self, num_ps_tasks, seed=0):
        self._random = random.Random(seed)
        self._num_ps_tasks = num_ps_tasks

    def __call__(self, op):
        return self._random.randrange(self._num_ps_tasks)


class GreedyLoadBalancingStrategy:
    """The parameter server with the least load so far. load_fn: the load of an op, as byte_size_load_fn."""

    def __init__(self, num_tasks, load_fn):
        self._num_tasks = num_tasks
        self._load_fn = load_fn
        self._ps_loads = [0] * num_tasks

    def __call__(self, op):
        task = self._ps_loads.index(min(self._ps_loads))
        self._ps_loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op):
    """The bytes of the op's only output. ValueError: it has others, or the shape is not fully known."""
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op.name} must have a single output")
    output = op.outputs[0]
    shape = output.shape
    if not shape.is_fully_defined():
        shape = tensor_shape.TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    return shape.num_elements() * output.dtype.size

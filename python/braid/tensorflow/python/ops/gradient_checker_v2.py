"""Gradients of functions compared with differences."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, gradient_checker
from braid.tensorflow.python.ops.gradient_checker import _compute_error


def compute_gradient(f, x, delta=1e-3):
    """The Jacobians of f(*x) by each of `x`, by gradients and by differences: a pair of lists."""
    session = ops.get_default_session()
    values = [np.asarray(session.run(v) if isinstance(v, ops.Tensor) else v) for v in x]
    inputs = [array_ops.placeholder(v.dtype) for v in values]
    y = f(*inputs)
    feeds = dict(zip(inputs, values))
    shape = session.run(y, feeds).shape
    pairs = []
    for tensor, value in feeds.items():
        others = {t: v for t, v in feeds.items() if t is not tensor}
        pairs.append(gradient_checker._one(tensor, value.shape, y, list(shape), value, delta, others))
    return [p[0] for p in pairs], [p[1] for p in pairs]


def _to_numpy(value):
    """A tensor's value; rows as the whole array."""
    if isinstance(value, ops.Tensor):
        value = ops.get_default_session().run(value)
    if isinstance(value, ops.IndexedSlicesValue):
        whole = np.zeros(value.dense_shape, value.values.dtype)
        np.add.at(whole, value.indices, value.values)
        return whole
    return value


def max_error(grad1, grad2):
    """The greatest difference between Jacobians of two lists."""
    return max((_compute_error((a, b)) for a, b in zip(grad1, grad2)), default=0)

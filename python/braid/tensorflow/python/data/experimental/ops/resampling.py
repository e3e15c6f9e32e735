"""Elements left out or repeated, so that classes are as often as wanted."""

import numpy as np

from braid.tensorflow.python.data.experimental.ops import interleave_ops
from braid.tensorflow.python.data.experimental.ops import scan_ops
from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.rejection_resample")
def rejection_resample(class_func, target_dist, initial_dist=None, seed=None):
    """Pairs (class, element) whose classes are distributed as wanted: for Dataset.apply.

    Elements are left out by chance, as few as that takes.

    Args:
      class_func: the class of an element, an int32 scalar.
      target_dist: how often each class is to be, a vector.
      initial_dist: how often it is; None: it is estimated on the way.
      seed: of the choices.
    """

    def apply(dataset):
        target = ops.convert_to_tensor(target_dist, name="target_dist")
        classed = dataset.map(lambda *element: _classed(class_func, element))
        as_it_comes = None
        if initial_dist is not None:
            initial = ops.convert_to_tensor(initial_dist, name="initial_dist")
            as_it_comes = _least_ratio(initial, target)
            if as_it_comes == 1:
                return classed
            chances = _chances(initial, target)
            chances = dataset_ops.Dataset.from_tensors(chances).repeat()
        else:
            estimated = _estimated(target, classed.map(lambda c, _: c))
            chances = estimated.map(lambda initial: _chances(initial, target))

        def stays(chance, pair):
            accept, _ = chance
            draw = random_ops.random_uniform([], seed=seed, dtype=accept.dtype)
            return draw < array_ops.gather(accept, pair[0])

        accepted = dataset_ops.Dataset.zip((chances, classed)).filter(stays).map(lambda _, pair: pair)
        if as_it_comes == 0:  # sampling would wait for the end of `classed`, which is never taken
            return accepted
        weights = chances.map(lambda _, original: array_ops.stack([original, 1 - original]))
        return interleave_ops.sample_from_datasets([classed, accepted], weights, seed)

    return apply


def _least_ratio(initial, target):
    """The chance that an element is taken as it comes; None: it is not known before a step."""
    initial, target = tensor_util.constant_value(initial), tensor_util.constant_value(target)
    if initial is None or target is None:
        return None
    return np.min(target / np.maximum(initial, np.finfo(target.dtype).tiny))


def _classed(class_func, element):
    return (
        math_ops.cast(class_func(*element), dtypes.int32),
        element if len(element) > 1 else element[0],
    )


def _chances(initial, target):
    """The chance that an element of each class is accepted, and that of taking one without asking.

    With r = target / initial, m its least and M its greatest value: elements are taken as they come with
    chance m, else accepted with chance (r - m) / (M - m), which together gives a multiple of r for each
    class.
    m stays below 1, so that the end of the dataset ends both.
    """
    tiny = np.finfo(target.dtype.as_numpy_dtype).tiny
    ratio = target / math_ops.maximum(math_ops.cast(initial, target.dtype), tiny)
    least, most = math_ops.reduce_min(ratio), math_ops.reduce_max(ratio)
    return (ratio - least) / math_ops.maximum(most - least, tiny), math_ops.minimum(least, 1 - 1e-3)


def _estimated(target, classes, smoothing=10):
    """How often each class was among the elements so far."""
    count = target.shape[0].value or array_ops.shape(target)[0]
    first = array_ops.fill([count], np.int64(smoothing))

    def update(counts, c):
        counts = counts + array_ops.one_hot(c, count, dtype=dtypes.int64)
        total = math_ops.cast(math_ops.reduce_sum(counts), target.dtype)
        return counts, math_ops.cast(counts, target.dtype) / total

    return classes.apply(scan_ops.scan(first, update))

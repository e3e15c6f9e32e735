"""The names of tf.data.experimental's module, and reduce_dataset."""

import numpy as np

from braid.tensorflow.python.data.experimental.ops.get_single_element import *  # noqa: F401,F403
from braid.tensorflow.python.data.ops import dataset_ops


def reduce_dataset(dataset, reducer):
    """The state that the Reducer's reduce_func leaves, from init_func(0) on.

    As in TensorFlow 1.15, finalize_func is not called. TypeError: `dataset` is none.
    """
    if not isinstance(dataset, dataset_ops.DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)

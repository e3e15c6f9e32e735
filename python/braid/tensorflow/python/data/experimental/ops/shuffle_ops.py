"""Random order and repetition together."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import random_seed
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """Elements in random order, `count` times (without end if None or -1): for Dataset.apply."""

    def apply(dataset):
        size = ops.convert_to_tensor(buffer_size, dtype=dtypes.int64, name="buffer_size")
        passes = ops.convert_to_tensor(-1 if count is None else count, dtype=dtypes.int64, name="count")
        seeds = random_seed.get_seed(seed)
        return dataset_ops._Unchanged(
            dataset, gen_dataset_ops.shuffle_and_repeat_dataset, size, *seeds, passes
        )

    return apply

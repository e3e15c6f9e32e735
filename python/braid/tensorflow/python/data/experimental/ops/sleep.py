"""Elements that take time."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops


def sleep(sleep_microseconds):
    """Waits so long before each element: for Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(
        dataset, gen_experimental_dataset_ops.sleep_dataset, sleep_microseconds=sleep_microseconds
    )

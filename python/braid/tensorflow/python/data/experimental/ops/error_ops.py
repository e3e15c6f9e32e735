"""Elements that fail."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.ignore_errors")
def ignore_errors():
    """A dataset without the elements that fail: for Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(dataset, gen_experimental_dataset_ops.ignore_errors_dataset)

"""How many elements a dataset has."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export

INFINITE, UNKNOWN = dataset_ops.INFINITE, dataset_ops.UNKNOWN


@tf_export("data.experimental.cardinality")
def cardinality(dataset):
    """The number of elements, an int64 scalar: INFINITE (-1) without end, UNKNOWN (-2)."""
    return gen_experimental_dataset_ops.dataset_cardinality(dataset._variant_tensor)

"""Functions of the innermost values of ragged tensors."""

from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("ragged.map_flat_values")
def map_flat_values(op, *args, **kwargs):
    """op(*args, **kwargs) of the innermost values of the ragged arguments, which have the same rows."""
    return ragged_tensor.map_flat_values(op, *args, **kwargs)

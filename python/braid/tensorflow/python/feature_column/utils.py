"""What sequence columns share."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops


def sequence_length_from_sparse_tensor(sp_tensor, num_elements=1):
    """The lengths [batch] (int64) of the sequences in a SparseTensor [batch, steps, ...].

    num_elements: how many values of a row of a tensor [batch, values] make one step.
    """
    with ops.name_scope(None, "sequence_length") as scope:
        rows = sp_tensor.indices[:, 0]
        last = sp_tensor.indices[:, 1]
        # math.ceil of values by num_elements, for integers.
        steps = (last + num_elements) // num_elements
        batch = sp_tensor.dense_shape[0]
        lengths = math_ops.segment_max(steps, segment_ids=rows)
        missing = array_ops.zeros(
            array_ops.expand_dims(
                math_ops.maximum(batch - array_ops.shape(lengths, out_type=dtypes.int64)[0], 0), 0
            ),
            dtype=steps.dtype,
        )
        return array_ops.concat([lengths, missing], axis=0, name=scope)

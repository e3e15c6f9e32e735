"""tf.where of ragged tensors."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_concat_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor


def where(condition, x=None, y=None, name=None):
    """The places where the condition holds, or x where it holds and y elsewhere.

    condition: of the rows of x, or a vector, which chooses whole rows.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with ops.name_scope("RaggedWhere", name, [condition, x, y]):
        condition = ragged_tensor.convert_to_tensor_or_ragged_tensor(condition, name="condition")
        if x is None:
            if not ragged_tensor.is_ragged(condition):
                return array_ops.where(condition)
            places = condition.to_sparse()
            return array_ops.boolean_mask(places.indices, places.values)
        x = ragged_tensor.convert_to_tensor_or_ragged_tensor(x, name="x")
        y = ragged_tensor.convert_to_tensor_or_ragged_tensor(y, name="y")
        condition, x, y = ragged_tensor.match_row_splits_dtypes(condition, x, y)
        ragged = [ragged_tensor.is_ragged(v) for v in (condition, x, y)]
        if not any(ragged):
            return array_ops.where(condition, x, y)
        if ragged[0]:
            if not all(ragged):
                raise ValueError(
                    "Input shapes do not match: all or none of condition, x and y must be ragged."
                )
            return ragged_tensor.map_flat_values(array_ops.where, condition, x, y)
        if condition.shape.ndims != 1:
            raise ValueError("If condition is not ragged, it must be a vector: Input shapes do not match.")
        rows = ragged_concat_ops.concat([x, y], axis=0)
        count = _nrows(x)
        first = math_ops.range(count)
        return ragged_gather_ops.gather(rows, array_ops.where(condition, first, first + count))


def _nrows(value):
    if ragged_tensor.is_ragged(value):
        return value.nrows()
    return array_ops.shape(value, out_type="int64")[0]

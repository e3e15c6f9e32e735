"""Arguments of datasets as tensors."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape


def optional_param_to_tensor(argument_name, argument_value, argument_default=0, argument_dtype=dtypes.int64):
    """A tensor of an argument, or of its default where that is None."""
    if argument_value is None:
        return constant_op.constant(argument_default, dtype=argument_dtype, name=argument_name)
    return ops.convert_to_tensor(argument_value, dtype=argument_dtype, name=argument_name)


def partial_shape_to_tensor(shape_like):
    """A shape as an int64 vector, with -1 for sizes that are not known. ValueError, TypeError: it is none."""
    if not isinstance(shape_like, ops.Tensor):
        try:
            shape = tensor_shape.as_shape(shape_like)
        except (TypeError, ValueError):
            shape_like = ops.convert_to_tensor(shape_like, preferred_dtype=dtypes.int64)
        else:
            return ops.convert_to_tensor(
                [-1 if d is None else d for d in shape.as_list()], dtype=dtypes.int64
            )
    if shape_like.shape.ndims not in (None, 1):
        raise ValueError(
            f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the shape was "
            f"{shape_like.shape}."
        )
    if shape_like.dtype not in (dtypes.int64, dtypes.int32):
        raise TypeError(
            f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the element type was "
            f"{shape_like.dtype.name}."
        )
    from braid.tensorflow.python.ops import math_ops

    return math_ops.cast(shape_like, dtypes.int64)

"""Lists of tensors in code that is converted, and values as tensors."""

from braid.tensorflow.python.autograph.operators import data_structures
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import tensor_util


def match_staging_level(value, like_value):
    """`value` as a constant if `like_value` is a tensor."""
    return constant_op.constant(value) if tensor_util.is_tensor(like_value) else value


def tensor_list(elements, element_dtype=None, element_shape=None, use_tensor_array=False):
    """A TensorList of elements, or a TensorArray. Of no elements type and shape have to be given."""
    is_known = element_dtype is not None and element_shape is not None
    if not is_known and not tensor_util.is_tensor(elements):
        if not isinstance(elements, (list, tuple)):
            raise ValueError(
                f"unknown type for elements: {type(elements)}; only Tensor, list and tuple are allowed"
            )
        if not elements:
            raise ValueError("element_dtype and element_shape are required when elements are empty")
    make = data_structures.tf_tensor_array_new if use_tensor_array else data_structures.tf_tensor_list_new
    return make(elements, element_dtype, element_shape)


def stack(list_or_tensor, element_dtype=None, strict=True):
    """The elements of a TensorArray or TensorList in one tensor. Not strict: anything else stays as it is."""

    def other(value):
        if strict:
            raise ValueError(f"{value} must be stackable when strict=True")
        return value

    return data_structures.list_stack(list_or_tensor, element_dtype, other)

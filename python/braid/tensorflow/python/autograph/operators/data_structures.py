"""Lists of tensors: Python's lists, TensorArrays and TensorLists (tensors of variants)."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_string_ops
from braid.tensorflow.python.ops import list_ops
from braid.tensorflow.python.ops import tensor_array_ops


def new_list(iterable=None):
    """A Python list of elements, or an empty TensorList."""
    elements = tuple(iterable or ())
    return list(elements) if elements else tf_tensor_list_new(elements)


def tf_tensor_array_new(elements, element_dtype=None, element_shape=None):
    elements = [ops.convert_to_tensor(each) for each in elements]
    dtype = _common([each.dtype for each in elements], element_dtype, "dtype")
    shape = _common([tuple(each.shape.as_list()) for each in elements], element_shape, "shape")
    if dtype is None:
        raise ValueError("dtype is required to create an empty TensorArray")
    array = tensor_array_ops.TensorArray(
        dtype=dtype,
        size=len(elements),
        dynamic_size=True,
        infer_shape=element_shape is None,
        element_shape=shape,
    )
    for i, each in enumerate(elements):
        array = array.write(i, each)
    return array


def _common(found, given, what):
    if len(set(found)) > 1:
        raise ValueError(f"TensorArray requires all elements to have the same {what}: {found}")
    if found and given is not None and found[0] != given:
        raise ValueError(f"incompatible {what}; specified: {given}, inferred: {found[0]}")
    return found[0] if found else given


def tf_tensor_list_new(elements, element_dtype=None, element_shape=None):
    """A TensorList of a tensor's rows, or of tensors of one type; elements of several shapes have none in
    the list."""
    if tensor_util.is_tensor(elements):
        if element_shape is not None:
            raise ValueError("element shape may not be specified when creating list from tensor")
        return list_ops.tensor_list_from_tensor(elements, element_shape=array_ops.shape(elements)[1:])
    elements = [ops.convert_to_tensor(each) for each in elements]
    types = {each.dtype for each in elements}
    shapes = {tuple(each.shape.as_list()) for each in elements}
    if len(types) == 1 and element_dtype not in (None, *types):
        raise ValueError(
            f"incompatible dtype; specified: {element_dtype}, inferred from {elements}: {types.pop()}"
        )
    if len(types) > 1:
        raise ValueError(f"elements of a list are of one type: {elements}")
    if shapes and element_shape not in (None, *shapes):
        raise ValueError(f"specified shape {element_shape} is inconsistent with that of elements {elements}")
    if element_dtype is None:
        element_dtype = types.pop() if types else dtypes.variant
    if element_shape is None:
        element_shape = array_ops.shape(elements[0]) if len(shapes) == 1 else constant_op.constant(-1)
    made = list_ops.empty_tensor_list(
        element_shape=ops.convert_to_tensor(element_shape, dtype=dtypes.int32), element_dtype=element_dtype
    )
    for each in elements:
        made = list_ops.tensor_list_push_back(made, each)
    return made


def _is_list(value):
    """Whether a value is a TensorList: False for what is not a tensor."""
    if not tensor_util.is_tensor(value):
        return False
    if value.dtype != dtypes.variant:
        raise ValueError(
            f"tensor lists are expected to be Tensors with dtype=tf.variant, instead found {value}"
        )
    return True


def list_append(list_, x):
    """The list with `x` behind its elements."""
    if isinstance(list_, tensor_array_ops.TensorArray):
        return list_.write(list_.size(), x)
    if not _is_list(list_):
        list_.append(x)
        return list_
    x = ops.convert_to_tensor(x)

    def empty():  # an empty list takes the type and shape of its first element
        return list_ops.empty_tensor_list(element_shape=array_ops.shape(x), element_dtype=x.dtype)

    list_ = control_flow_ops.cond(list_ops.tensor_list_length(list_) > 0, lambda: list_, empty)
    return list_ops.tensor_list_push_back(list_, x)


def list_pop(list_, i, element_dtype=None, element_shape=None):
    """(the list without its last element, or that at `i`; the element)"""
    if isinstance(list_, tensor_array_ops.TensorArray):
        raise ValueError("TensorArray does not support item removal")
    if not _is_list(list_):
        item = list_.pop() if i is None else list_.pop(i)
        return list_, item
    if i is not None:
        raise NotImplementedError("tensor lists only support removing from the end")
    for what, given in (("type", element_dtype), ("shape", element_shape)):
        if given is None:
            raise ValueError(
                f"cannot pop from a list without knowing its element {what}; use set_element_type to annotate it"
            )
    list_, item = list_ops.tensor_list_pop_back(list_, element_dtype=element_dtype)
    item.set_shape(element_shape)
    return list_, item


def list_stack(list_, element_dtype, original_call):
    """The elements of a TensorArray or TensorList in one tensor; `original_call(list_)` for a Python list."""
    if isinstance(list_, tensor_array_ops.TensorArray):
        return list_.stack()
    if not tensor_util.is_tensor(list_):
        return original_call(list_)
    if list_.dtype != dtypes.variant:
        return list_
    if element_dtype is None:
        raise ValueError(
            "cannot stack a list without knowing its element type; use set_element_type to annotate it"
        )
    return list_ops.tensor_list_stack(list_, element_dtype=element_dtype)


def get_item(target, i, element_dtype=None):
    if isinstance(target, tensor_array_ops.TensorArray):
        return target.read(i)
    if not tensor_util.is_tensor(target):
        return target[i]
    if target.dtype == dtypes.variant:
        if element_dtype is None:
            raise ValueError(
                "cannot retrieve from a list without knowing its element type; use set_element_type to annotate it"
            )
        return list_ops.tensor_list_get_item(target, i, element_dtype=element_dtype)
    if target.dtype == dtypes.string and target.shape.ndims == 0:
        return gen_string_ops.substr(target, i, 1)
    return target[i]


def set_item(target, i, x):
    if isinstance(target, tensor_array_ops.TensorArray):
        return target.write(i, x)
    if not tensor_util.is_tensor(target):
        target[i] = x
        return target
    if target.dtype == dtypes.variant:
        return list_ops.tensor_list_set_item(target, i, x)
    return gen_array_ops.tensor_scatter_update(target, ((i,),), (x,))

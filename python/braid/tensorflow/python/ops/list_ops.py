"""Lists of tensors as values of a graph. The engine has their gradients."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import gen_list_ops


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_list_ops, name)


def empty_tensor_list(element_shape, element_dtype, max_num_elements=None, name=None):
    """A list without elements. max_num_elements: more are an error."""
    return gen_list_ops.empty_tensor_list(
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        max_num_elements=-1 if max_num_elements is None else max_num_elements,
        name=name,
    )


def tensor_list_reserve(element_shape, num_elements, element_dtype, name=None):
    """A list of so many elements that are not set."""
    return gen_list_ops.tensor_list_reserve(
        element_shape=_build_element_shape(element_shape),
        num_elements=num_elements,
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_from_tensor(tensor, element_shape, name=None):
    """The parts of a tensor by its first dimension."""
    return gen_list_ops.tensor_list_from_tensor(
        tensor=tensor, element_shape=_build_element_shape(element_shape), name=name
    )


def tensor_list_get_item(input_handle, index, element_dtype, element_shape=None, name=None):
    """One element; zeros where it is not set."""
    return gen_list_ops.tensor_list_get_item(
        input_handle=input_handle,
        index=index,
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_pop_back(input_handle, element_dtype, name=None):
    """(the list without its last element, that element)."""
    return gen_list_ops.tensor_list_pop_back(
        input_handle=input_handle, element_shape=-1, element_dtype=element_dtype, name=name
    )


def tensor_list_gather(input_handle, indices, element_dtype, element_shape=None, name=None):
    """Some elements, along a new first dimension."""
    return gen_list_ops.tensor_list_gather(
        input_handle=input_handle,
        indices=indices,
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_scatter(tensor, indices, element_shape=None, input_handle=None, name=None):
    """A list whose elements at `indices` are the parts of a tensor; input_handle: a list with the others."""
    if input_handle is not None:
        return gen_list_ops.tensor_list_scatter_into_existing_list(
            input_handle=input_handle, tensor=tensor, indices=indices, name=name
        )
    return gen_list_ops.tensor_list_scatter_v2(
        tensor=tensor,
        indices=indices,
        element_shape=_build_element_shape(element_shape),
        num_elements=-1,
        name=name,
    )


def tensor_list_stack(input_handle, element_dtype, num_elements=-1, element_shape=None, name=None):
    """All elements, along a new first dimension."""
    return gen_list_ops.tensor_list_stack(
        input_handle=input_handle,
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
        name=name,
    )


def tensor_list_concat(input_handle, element_dtype, element_shape=None, name=None):
    """All elements, one after the other along their first dimension."""
    return gen_list_ops.tensor_list_concat_v2(
        input_handle=input_handle,
        element_dtype=element_dtype,
        element_shape=_build_element_shape(element_shape),
        leading_dims=ops.convert_to_tensor([], dtype=dtypes.int64),
        name=name,
    )[0]


def tensor_list_split(tensor, element_shape, lengths, name=None):
    """A tensor cut along its first dimension into elements of the given lengths."""
    return gen_list_ops.tensor_list_split(
        tensor=tensor, element_shape=_build_element_shape(element_shape), lengths=lengths, name=name
    )


def tensor_list_set_item(input_handle, index, item, resize_if_index_out_of_bounds=False, name=None):
    """The list with another element at `index`."""
    if resize_if_index_out_of_bounds:
        from braid.tensorflow.python.ops import control_flow_ops  # which imports this, for TensorArrays

        size = gen_list_ops.tensor_list_length(input_handle)
        given = input_handle
        input_handle = control_flow_ops.cond(
            index >= size, lambda: gen_list_ops.tensor_list_resize(given, index + 1), lambda: given
        )
    return gen_list_ops.tensor_list_set_item(input_handle=input_handle, index=index, item=item, name=name)


def _build_element_shape(shape):
    """A shape as the ops take it: a tensor, -1 for an unknown rank, a list with -1 for unknown sizes."""
    if isinstance(shape, ops.Tensor):
        return shape
    if isinstance(shape, tensor_shape.TensorShape):
        shape = None if shape.ndims is None else shape.as_list()
    if shape is None:
        return -1
    if not shape:
        return ops.convert_to_tensor([], dtype=dtypes.int32)
    sizes = [size.value if isinstance(size, tensor_shape.Dimension) else size for size in shape]
    return [-1 if size is None else size for size in sizes]

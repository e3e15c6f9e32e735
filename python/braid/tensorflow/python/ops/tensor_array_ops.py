"""Arrays of tensors that loops read and write by index (tf.TensorArray).

The order of reads and writes is that of the array's flow, a scalar without a meaning of its own: each write
returns an array with a new flow. Gradients are the engine's.
"""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_control_flow_ops
from braid.tensorflow.python.ops import gen_data_flow_ops
from braid.tensorflow.python.ops import list_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import tf_should_use
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("TensorArray")
class TensorArray:
    """An array of tensors, for loops.

    Args:
      dtype: of the elements.
      size: the number of elements, an int32 scalar.
      dynamic_size: whether writes may make it longer.
      clear_after_read: whether an element can be read only once (the default); False keeps it.
      tensor_array_name: of the array in the step; "" if None.
      handle, flow: those of another array, in place of the arguments above.
      infer_shape: whether all elements have one shape.
      element_shape: the elements' static shape, as far as it is known.
      colocate_with_first_write_call: whether the array is on the device of what is first written to it.
      name: of the node, "TensorArray" if None.

    Raises ValueError where `handle` comes with `size` and the like, or without `flow`.
    """

    def __init__(
        self,
        dtype,
        size=None,
        dynamic_size=None,
        clear_after_read=None,
        tensor_array_name=None,
        handle=None,
        flow=None,
        infer_shape=True,
        element_shape=None,
        colocate_with_first_write_call=True,
        name=None,
    ):
        if handle is not None:
            given = (tensor_array_name, size, dynamic_size, clear_after_read)
            for what, value in zip(("tensor_array_name", "size", "dynamic_size", "clear_after_read"), given):
                if value is not None:
                    raise ValueError(f"Cannot construct with both handle and {what}")
        elif size is None:
            raise ValueError("Size must be provided if handle is not provided")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._size = size
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape
        # The shape of the elements; in a list, which arrays that differ by their flow share.
        shape = tensor_shape.TensorShape(None)
        self._shared_shape = [shape if element_shape is None else tensor_shape.as_shape(element_shape)]
        self._colocate_with_first_write_call = colocate_with_first_write_call
        # The nodes to be placed with: that of the first value written, shared as above.
        self._colocate_with = [] if colocate_with_first_write_call else None
        with ops.name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            # Control inputs do not reach a loop's array, which is made outside of the loop's body.
            with ops.device(None) if colocate_with_first_write_call else _nothing():
                self._handle, self._flow = gen_data_flow_ops.tensor_array_v3(
                    dtype=self._dtype,
                    size=size,
                    element_shape=self._shared_shape[0],
                    identical_element_shapes=infer_shape,
                    dynamic_size=self._dynamic_size,
                    clear_after_read=True if clear_after_read is None else clear_after_read,
                    tensor_array_name=tensor_array_name or "",
                    name=scope,
                )

    # -- What it is --

    @property
    def flow(self):
        return self._flow

    @property
    def dtype(self):
        return self._dtype

    @property
    def handle(self):
        return self._handle

    @property
    def dynamic_size(self):
        return self._dynamic_size

    @property
    def element_shape(self):
        """The TensorShape of the elements, as far as it is known."""
        return self._shared_shape[0]

    @property
    def _element_shape(self):
        shape = self._shared_shape[0]
        return [] if shape.ndims is None else [shape]

    @property
    def _implementation(self):
        return self

    def _with_flow(self, flow):
        new = TensorArray.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._flow = flow
        return new

    def _written(self, shape):
        """Learns the shape of an element. ValueError: it is not that of the others."""
        known = self._shared_shape[0]
        if not shape.is_compatible_with(known):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {known}")
        if self._infer_shape:
            self._shared_shape[0] = known.merge_with(shape)

    def _place_with(self, value):
        """A scope for a node that writes `value`."""
        if not self._colocate_with_first_write_call:
            return ops.colocate_with(self._handle)
        if not self._colocate_with:
            self._colocate_with.append(value)
        return ops.colocate_with(self._colocate_with[0])

    # -- Elements --

    def identity(self):
        """The same array with a flow that has the control inputs of where it is made."""
        return self._with_flow(array_ops.identity(self._flow))

    def grad(self, source, flow=None, name=None):
        """The array of the gradients of the elements, for those whose `source` is this name."""
        flow = self._flow if flow is None else flow
        with ops.name_scope(name, "TensorArrayGrad", [self._handle]):
            with ops.colocate_with(self._handle):
                handle, _ = gen_data_flow_ops.tensor_array_grad_v3(
                    handle=self._handle, source=source, flow_in=flow, name=name
                )
                with ops.control_dependencies([handle]):
                    flow = array_ops.identity(flow, name="gradient_flow")
                return TensorArray(
                    dtype=self._dtype,
                    handle=handle,
                    flow=flow,
                    infer_shape=self._infer_shape,
                    element_shape=self.element_shape,
                    colocate_with_first_write_call=False,
                )

    def read(self, index, name=None):
        """The element of that index."""
        value = gen_data_flow_ops.tensor_array_read_v3(
            handle=self._handle, index=index, flow_in=self._flow, dtype=self._dtype, name=name
        )
        if self.element_shape.ndims is not None:
            value.set_shape(self.element_shape)
        return value

    @tf_should_use.should_use_result
    def write(self, index, value, name=None):
        """The array after `value` was written at the index; each is written once."""
        with ops.name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = ops.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            self._written(value.shape)
            with self._place_with(value):
                flow = gen_data_flow_ops.tensor_array_write_v3(
                    handle=self._handle, index=index, value=value, flow_in=self._flow, name=name
                )
            return self._with_flow(flow)

    def _check_dtype(self, value):
        if value.dtype.base_dtype != self._dtype:
            raise TypeError(
                f"Expected {self._dtype.name}, got {value.dtype.base_dtype.name} of type {value.name} instead."
            )

    def stack(self, name=None):
        """All elements as one tensor [size, ...]."""
        with ops.colocate_with(self._handle):
            with ops.name_scope(name, "TensorArrayStack", [self._handle]):
                value = self.gather(math_ops.range(0, self.size()), name=name)
                if self.element_shape.ndims is not None and not self._dynamic_size and self._size is not None:
                    value.set_shape([tensor_util.constant_value(self._size), *self.element_shape.dims])
                return value

    def gather(self, indices, name=None):
        """Elements as one tensor [number of indices, ...]."""
        value = gen_data_flow_ops.tensor_array_gather_v3(
            handle=self._handle,
            indices=indices,
            flow_in=self._flow,
            dtype=self._dtype,
            name=name,
            element_shape=self.element_shape,
        )
        if self.element_shape.ndims is not None:
            value.set_shape([None, *self.element_shape.dims])
        return value

    def concat(self, name=None):
        """All elements one after the other along dimension 0."""
        rest = tensor_shape.TensorShape(None)
        if self.element_shape.ndims is not None:
            rest = tensor_shape.TensorShape(self.element_shape.dims[1:])
        value, _ = gen_data_flow_ops.tensor_array_concat_v3(
            handle=self._handle,
            flow_in=self._flow,
            dtype=self._dtype,
            name=name,
            element_shape_except0=rest,
        )
        if rest.ndims is not None:
            value.set_shape([None, *rest.dims])
        return value

    @tf_should_use.should_use_result
    def unstack(self, value, name=None):
        """The array whose elements are the slices of `value` along dimension 0."""
        with ops.name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            count = array_ops.shape(value)[0]
            return self.scatter(indices=math_ops.range(0, count), value=value, name=name)

    @tf_should_use.should_use_result
    def scatter(self, indices, value, name=None):
        """The array after the slices of `value` along dimension 0 were written at the indices."""
        with ops.name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = ops.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            if value.shape.ndims is not None:
                self._written(tensor_shape.TensorShape(value.shape.dims[1:]))
            with self._place_with(value):
                flow = gen_data_flow_ops.tensor_array_scatter_v3(
                    handle=self._handle, indices=indices, value=value, flow_in=self._flow, name=name
                )
            return self._with_flow(flow)

    @tf_should_use.should_use_result
    def split(self, value, lengths, name=None):
        """The array whose elements are parts of `value` along dimension 0, of these lengths."""
        with ops.name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = ops.convert_to_tensor(value, dtype=self._dtype, name="value")
            with self._place_with(value):
                lengths = math_ops.cast(lengths, dtypes.int64)
                if value.shape.ndims is not None:
                    sizes = tensor_util.constant_value(lengths)
                    first = None
                    if sizes is not None and len(sizes) and sizes.max() == sizes.min():
                        first = int(sizes[0])
                    self._written(tensor_shape.TensorShape([first, *value.shape.dims[1:]]))
                flow = gen_data_flow_ops.tensor_array_split_v3(
                    handle=self._handle, value=value, lengths=lengths, flow_in=self._flow, name=name
                )
            return self._with_flow(flow)

    def size(self, name=None):
        """The number of elements, an int32 scalar."""
        return gen_data_flow_ops.tensor_array_size_v3(handle=self._handle, flow_in=self._flow, name=name)

    def mark_used(self):
        """Has an array count as used, of which nothing else is used (tf_should_use)."""

    @tf_should_use.should_use_result
    def close(self, name=None):
        """The operation that frees the array."""
        return gen_data_flow_ops.tensor_array_close_v3(handle=self._handle, name=name)


class _ListTensorArray(TensorArray):
    """An array that is a list of tensors: the flow, a variant, is the list, and there is no handle.

    An element of a dataset is such an array (TensorArraySpec).
    """

    def __init__(self, flow, dtype, element_shape, dynamic_size, infer_shape):
        self._flow = flow
        self._dtype = dtype
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape
        self._shared_shape = [element_shape]
        self._colocate_with_first_write_call = self._colocate_with = None

    handle = None

    def _to_write(self, value, leading):
        """A tensor to write, whose shape without `leading` dimensions is that of elements."""
        value = ops.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        _check_dtypes(value, self._dtype)
        self._written(value.shape[leading:])
        return value

    def grad(self, source, flow=None, name=None):
        raise NotImplementedError("TensorArray.grad of an array that is an element of a dataset")

    def read(self, index, name=None):
        with ops.name_scope(name, "TensorArrayV2Read", [self._flow, index]):
            return list_ops.tensor_list_get_item(
                self._flow, index, self._dtype, element_shape=self.element_shape, name=name
            )

    @tf_should_use.should_use_result
    def write(self, index, value, name=None):
        with ops.name_scope(name, "TensorArrayV2Write", [self._flow, index, value]):
            value = self._to_write(value, 0)
            return self._with_flow(
                list_ops.tensor_list_set_item(
                    self._flow, index, value, resize_if_index_out_of_bounds=self._dynamic_size, name=name
                )
            )

    def stack(self, name=None):
        with ops.name_scope(name, "TensorArrayV2Stack", [self._flow]):
            return list_ops.tensor_list_stack(self._flow, self._dtype, element_shape=self.element_shape)

    def gather(self, indices, name=None):
        return list_ops.tensor_list_gather(
            self._flow, indices, self._dtype, element_shape=self.element_shape, name=name
        )

    def concat(self, name=None):
        shape = self.element_shape
        if shape.ndims:
            shape = tensor_shape.TensorShape([None, *shape.dims[1:]])
        return list_ops.tensor_list_concat(self._flow, self._dtype, element_shape=shape, name=name)

    @tf_should_use.should_use_result
    def unstack(self, value, name=None):
        with ops.name_scope(name, "TensorArrayUnstack", [self._flow, value]):
            value = self._to_write(value, 1)
            return self._with_flow(list_ops.tensor_list_from_tensor(value, value.shape[1:]))

    @tf_should_use.should_use_result
    def scatter(self, indices, value, name=None):
        with ops.name_scope(name, "TensorArrayScatter", [self._flow, value, indices]):
            value = self._to_write(value, 1)
            return self._with_flow(
                list_ops.tensor_list_scatter(
                    value, indices, element_shape=self.element_shape, input_handle=self._flow
                )
            )

    @tf_should_use.should_use_result
    def split(self, value, lengths, name=None):
        with ops.name_scope(name, "TensorArraySplit", [self._flow, value, lengths]):
            value = ops.convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            _check_dtypes(value, self._dtype)
            lengths = math_ops.cast(lengths, dtypes.int64)
            return self._with_flow(list_ops.tensor_list_split(value, self.element_shape, lengths, name=name))

    def size(self, name=None):
        return list_ops.tensor_list_length(input_handle=self._flow, name=name)

    @tf_should_use.should_use_result
    def close(self, name=None):
        return gen_control_flow_ops.no_op(name=name)


@tf_export("TensorArraySpec")
class TensorArraySpec(type_spec.TypeSpec):
    """What is known of a TensorArray that is an element of a dataset."""

    __slots__ = ["_element_shape", "_dtype", "_dynamic_size", "_infer_shape"]

    value_type = property(lambda self: TensorArray)

    def __init__(self, element_shape=None, dtype=dtypes.float32, dynamic_size=False, infer_shape=True):
        self._element_shape = tensor_shape.as_shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @staticmethod
    def from_value(value):
        return TensorArraySpec(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    def _serialize(self):
        return (self._element_shape, self._dtype, self._dynamic_size, self._infer_shape)

    def is_compatible_with(self, other):
        if not isinstance(other, type_spec.TypeSpec):
            other = type_spec.type_spec_from_value(other)
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype.is_compatible_with(other._dtype)
            and self._element_shape.is_compatible_with(other._element_shape)
            and self._dynamic_size == other._dynamic_size
        )

    def most_specific_compatible_type(self, other):
        if not self.is_compatible_with(other):
            raise ValueError("Types are not compatible")
        return TensorArraySpec(
            self._element_shape.most_specific_compatible_shape(other._element_shape),
            self._dtype,
            self._dynamic_size,
            self._infer_shape and other._infer_shape,
        )

    @property
    def _component_specs(self):
        return self._flat_tensor_spec

    @property
    def _flat_tensor_spec(self):
        return tensor_spec.TensorSpec([], dtypes.variant)

    def _to_components(self, value):
        if value.flow.dtype == dtypes.variant:
            return value.flow
        with ops.name_scope("convert_tensor_array"):
            return list_ops.tensor_list_from_tensor(value.stack(), value.element_shape)

    def _from_components(self, flow):
        return _ListTensorArray(flow, self._dtype, self._element_shape, self._dynamic_size, self._infer_shape)

    _to_tensor, _from_tensor = _to_components, _from_components

    def _to_legacy_output_types(self):
        return self._dtype

    def _to_legacy_output_shapes(self):
        """The elements' shape, behind two sizes that stand for `dynamic_size` and `infer_shape`."""
        return tensor_shape.TensorShape([self._dynamic_size, self._infer_shape]).concatenate(
            self._element_shape
        )


type_spec.register_type_spec_from_value_converter(
    TensorArray, TensorArraySpec.from_value, allow_subclass=True
)


class _nothing:
    def __enter__(self):
        pass

    def __exit__(self, *unused):
        return False


def build_ta_with_new_flow(old_ta, flow):
    """The array that differs from `old_ta` by its flow."""
    return old_ta._with_flow(flow)


def _check_dtypes(value, dtype):
    if value.dtype != dtype:
        raise ValueError(f"Error: Input value {value} has dtype {value.dtype}, but expected dtype {dtype}.")

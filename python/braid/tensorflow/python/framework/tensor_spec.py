"""What is known of a tensor before it is there (tf.TensorSpec)."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("TensorSpec")
class TensorSpec(type_spec.BatchableTypeSpec):
    """The shape, dtype and name of a tensor."""

    __slots__ = ["_shape", "_dtype", "_name"]

    def __init__(self, shape, dtype=dtypes.float32, name=None):
        self._shape = tensor_shape.TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec, name=None):
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """That of a tensor, with its operation's name unless one is given."""
        if not isinstance(tensor, ops.Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    @property
    def value_type(self):
        return ops.Tensor

    def is_compatible_with(self, spec_or_tensor):
        """Whether a tensor may have this shape and dtype."""
        other = spec_or_tensor
        if not hasattr(other, "shape") or not hasattr(other, "dtype"):
            other = np.asarray(other)
        return self._dtype.is_compatible_with(
            dtypes.as_dtype(other.dtype)
        ) and self._shape.is_compatible_with(other.shape)

    def most_specific_compatible_type(self, other):
        if not isinstance(other, TensorSpec) or self._dtype != other.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        name = self._name if self._name == other.name else None
        return TensorSpec(self._shape.most_specific_compatible_shape(other.shape), self._dtype, name)

    def _serialize(self):
        return (self._shape, self._dtype, self._name)

    @property
    def _component_specs(self):
        return self

    def _to_components(self, value):
        return ops.convert_to_tensor(value, self._dtype)

    def _from_components(self, components):
        return components

    def _from_compatible_tensor_list(self, tensor_list):
        tensor_list[0].set_shape(self._shape)
        return tensor_list[0]

    def _to_batched_tensor_list(self, value):
        made = self._to_components(value)
        if self._shape.merge_with(made.shape).ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return [made]

    def _batch(self, batch_size):
        return TensorSpec(tensor_shape.TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self):
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self):
        return self._dtype

    def _to_legacy_output_shapes(self):
        return self._shape

    def _to_legacy_output_classes(self):
        return ops.Tensor

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with the least and the greatest value of the elements."""

    __slots__ = ["_minimum", "_maximum"]

    def __init__(self, shape, dtype, minimum, maximum, name=None):
        super().__init__(shape, dtype, name)
        bounds = []
        for what, value in (("minimum", minimum), ("maximum", maximum)):
            if value is None:
                raise ValueError(f"{what} can not be None")
            value = np.array(value, dtype=self._dtype.as_numpy_dtype)
            try:
                np.broadcast_to(value, [d or 1 for d in self._shape.as_list()])
            except ValueError as e:
                raise ValueError(f"{what} is not compatible with shape. Message: {e!r}") from None
            value.setflags(write=False)
            bounds.append(value)
        self._minimum, self._maximum = bounds

    @property
    def minimum(self):
        return self._minimum

    @property
    def maximum(self):
        return self._maximum

    @classmethod
    def from_spec(cls, spec):
        """A spec with the bounds of another one, or those of its type."""
        dtype = spec.dtype
        minimum = getattr(spec, "minimum", dtype.min)
        return cls(spec.shape, dtype, minimum, getattr(spec, "maximum", dtype.max), spec.name)

    def __eq__(self, other):
        if not isinstance(other, BoundedTensorSpec):
            return NotImplemented
        bounds = ((self._minimum, other._minimum), (self._maximum, other._maximum))
        return super().__eq__(other) and all(np.allclose(a, b) for a, b in bounds)

    __hash__ = TensorSpec.__hash__

    def __reduce__(self):
        return BoundedTensorSpec, (self._shape, self._dtype, self._minimum, self._maximum, self._name)

    def __repr__(self):
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )


for _kind in (np.ndarray, np.generic):
    type_spec.register_type_spec_from_value_converter(
        _kind, lambda array: TensorSpec(array.shape, array.dtype), allow_subclass=True
    )

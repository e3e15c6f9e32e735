"""What is known of a value before it is there (tf.TypeSpec)."""

import abc
import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("TypeSpec")
class TypeSpec(metaclass=abc.ABCMeta):
    """A type of values with what is known of them: dtype, shape, and of what tensors they are made.

    Two are equal if they are of one class and their `_serialize` is equal.
    """

    __slots__ = []

    @property
    @abc.abstractmethod
    def value_type(self):
        """The class of the values."""

    @abc.abstractmethod
    def _serialize(self):
        """A tuple that describes it."""

    @property
    @abc.abstractmethod
    def _component_specs(self):
        """The TypeSpecs of the tensors that a value is made of, in a structure."""

    @abc.abstractmethod
    def _to_components(self, value):
        """The tensors that `value` is made of."""

    @abc.abstractmethod
    def _from_components(self, components):
        """The value that is made of these tensors."""

    def is_compatible_with(self, spec_or_value):
        """Whether a value, or the values of a TypeSpec, may be of this type."""
        if not isinstance(spec_or_value, TypeSpec):
            spec_or_value = type_spec_from_value(spec_or_value)
        return type(self) is type(spec_or_value) and _compatible(
            self._serialize(), spec_or_value._serialize()
        )

    def most_specific_compatible_type(self, other):
        """The narrowest type of which both are. ValueError: there is none."""
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)(*_common(self._serialize(), other._serialize()))

    @property
    def _flat_tensor_specs(self):
        """The TypeSpecs of the tensors that stand for a value in a dataset."""
        return nest.flatten(self._component_specs)

    def _to_tensor_list(self, value):
        """The tensors that stand for a value."""
        return nest.flatten(self._to_components(value))

    def _from_tensor_list(self, tensor_list):
        """The value of such tensors. ValueError: they are of other types."""
        specs = self._flat_tensor_specs
        if len(specs) != len(tensor_list):
            raise ValueError(
                f"Incompatible input: wrong number of tensors, {len(tensor_list)} for {len(specs)}"
            )
        for i, (spec, tensor) in enumerate(zip(specs, tensor_list)):
            if not spec.is_compatible_with(tensor):
                raise ValueError(f"Incompatible input: tensor {i} ({tensor}) is incompatible with {spec}")
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list):
        return self._from_components(nest.pack_sequence_as(self._component_specs, tensor_list))

    def _to_legacy_output_types(self):
        raise NotImplementedError(f"{type(self).__name__} has no output_types")

    def _to_legacy_output_shapes(self):
        raise NotImplementedError(f"{type(self).__name__} has no output_shapes")

    def _to_legacy_output_classes(self):
        return self.value_type

    def __eq__(self, other):
        return type(self) is type(other) and _key(self._serialize()) == _key(other._serialize())

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self).__name__, _key(self._serialize())))

    def __reduce__(self):
        return type(self), self._serialize()

    def __repr__(self):
        return f"{type(self).__name__}{self._serialize()}"


class BatchableTypeSpec(TypeSpec):
    """The TypeSpec of values of which several can be one: those of `_batch(n)`."""

    __slots__ = []

    @abc.abstractmethod
    def _batch(self, batch_size):
        """The TypeSpec of `batch_size` values (None: any number) in one."""

    @abc.abstractmethod
    def _unbatch(self):
        """The TypeSpec of one of the values in one of this."""


def _key(value):
    """A description that can be hashed."""
    if isinstance(value, dict):
        return tuple(sorted((k, _key(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(_key(v) for v in value))
    if isinstance(value, tensor_shape.TensorShape):
        return ("shape", None if value.ndims is None else tuple(value.as_list()))
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    return value


def _compatible(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_compatible, a, b))
    if isinstance(a, dict):
        return sorted(a) == sorted(b) and all(_compatible(a[k], b[k]) for k in a)
    if isinstance(a, (tensor_shape.TensorShape, TypeSpec, dtypes.DType)):
        return a.is_compatible_with(b)
    return a == b


def _common(a, b):
    if type(a) is not type(b):
        raise ValueError(f"Types are not compatible: {a!r} vs {b!r}")
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            raise ValueError(f"Types are not compatible: {a!r} vs {b!r}")
        return type(a)(_common(x, y) for x, y in zip(a, b))
    if isinstance(a, tensor_shape.TensorShape):
        return a.most_specific_compatible_shape(b)
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if a != b:
        raise ValueError(f"Types are not compatible: {a!r} vs {b!r}")
    return a


_of_class = []


def register_type_spec_from_value_converter(type_object, converter_fn, allow_subclass=False):
    """Has `converter_fn(value)` make the TypeSpec of values of a class."""
    _of_class.append((type_object, converter_fn, allow_subclass))


def type_spec_from_value(value):
    """The TypeSpec of a value: of a tensor, of a value made of several, of what becomes a tensor.

    TypeError: none.
    """
    from braid.tensorflow.python.framework import composite_tensor, ops, tensor_spec

    if isinstance(value, ops.Tensor):
        return tensor_spec.TensorSpec(value.shape, value.dtype)
    if isinstance(value, composite_tensor.CompositeTensor):
        return value._type_spec
    for kind, convert, allow_subclass in reversed(_of_class):
        if type(value) is kind or allow_subclass and isinstance(value, kind):
            return convert(value)
    try:
        value = ops.convert_to_tensor(value)
    except (ValueError, TypeError):
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
        ) from None
    return tensor_spec.TensorSpec(value.shape, value.dtype)

"""Elements that may be missing (tf.data.experimental.Optional)."""

import abc

from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.Optional")
class Optional(composite_tensor.CompositeTensor):
    """A value that a step may find missing."""

    @abc.abstractmethod
    def has_value(self, name=None):
        """Whether there is a value, a boolean scalar."""

    @abc.abstractmethod
    def get_value(self, name=None):
        """The value; a step fails with InvalidArgumentError without one."""

    @property
    def value_structure(self):
        """The TypeSpecs of the value."""
        raise NotImplementedError("Optional.value_structure")

    @staticmethod
    def from_value(value):
        """An Optional that has a value."""
        with ops.name_scope("optional") as scope:
            with ops.name_scope("value"):
                value = structure.normalize_element(value)
                spec = structure.type_spec_from_value(value)
                tensors = structure.to_tensor_list(spec, value)
            return _OptionalImpl(gen_dataset_ops.optional_from_value(tensors, name=scope), spec)

    @staticmethod
    def none_from_structure(value_structure):
        """An Optional without a value."""
        return _OptionalImpl(gen_dataset_ops.optional_none(), value_structure)


class _OptionalImpl(Optional):
    def __init__(self, variant_tensor, value_structure):
        self._variant_tensor = variant_tensor
        self._value_structure = value_structure

    def has_value(self, name=None):
        with ops.colocate_with(self._variant_tensor):
            return gen_dataset_ops.optional_has_value(self._variant_tensor, name=name)

    def get_value(self, name=None):
        with ops.name_scope(name, "OptionalGetValue", [self._variant_tensor]) as scope:
            with ops.colocate_with(self._variant_tensor):
                flat = gen_dataset_ops.optional_get_value(
                    self._variant_tensor, name=scope, **structure.flat_structure(self._value_structure)
                )
            return structure.from_tensor_list(self._value_structure, flat)

    @property
    def value_structure(self):
        return self._value_structure

    @property
    def _type_spec(self):
        return OptionalSpec(self._value_structure)


@tf_export("OptionalSpec", v1=["OptionalSpec", "data.experimental.OptionalStructure"])
class OptionalSpec(type_spec.TypeSpec):
    """What is known of an Optional: the TypeSpecs of its value."""

    __slots__ = ["_value_structure"]

    value_type = Optional

    def __init__(self, value_structure):
        self._value_structure = value_structure

    def _serialize(self):
        return (self._value_structure,)

    @property
    def _component_specs(self):
        return [tensor_spec.TensorSpec((), dtypes.variant)]

    def _to_components(self, value):
        return [value._variant_tensor]

    def _from_components(self, components):
        return _OptionalImpl(components[0], self._value_structure)

    @property
    def _flat_tensor_spec(self):
        return tensor_spec.TensorSpec((), dtypes.variant)

    def _to_tensor(self, value):
        return value._variant_tensor

    def _from_tensor(self, tensor):
        return _OptionalImpl(tensor, self._value_structure)

    def _to_legacy_output_types(self):
        return self

    def _to_legacy_output_shapes(self):
        return self

    def _to_legacy_output_classes(self):
        return self

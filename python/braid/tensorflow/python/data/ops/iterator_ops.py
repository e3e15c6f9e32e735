"""Iterators: the elements of a dataset, one at each step."""

import warnings

from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util.tf_export import tf_export

# More calls of get_next() than this are probably in a loop around the steps.
GET_NEXT_CALL_WARNING_THRESHOLD = 32
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates that "
    "`Iterator.get_next()` is being called inside a training loop, which will cause gradual slowdown and eventual "
    "resource exhaustion. If this is the case, restructure your code to call `next_element = iterator.get_next()` "
    "once outside the loop, and use `next_element` as the input to some computation that is invoked inside the loop."
)
# The collection of the handles of all iterators.
GLOBAL_ITERATORS = "iterators"


@tf_export(v1=["data.Iterator"])
class Iterator(trackable.Trackable):
    """Gives the elements of a dataset.

    Args:
      iterator_resource: the handle.
      initializer: the operation that starts it, or None.
      output_types, output_shapes, output_classes: of the elements.
    """

    def __init__(self, iterator_resource, initializer, output_types, output_shapes, output_classes):
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        if output_types is None or output_shapes is None or output_classes is None:
            raise ValueError(
                "If `structure` is not specified, all of `output_types`, `output_shapes`, and `output_classes` must "
                "be specified."
            )
        self._element_spec = structure.convert_legacy_structure(output_types, output_shapes, output_classes)
        self._string_handle = gen_dataset_ops.iterator_to_string_handle(self._iterator_resource)
        self._get_next_call_count = 0
        ops.add_to_collection(GLOBAL_ITERATORS, self._iterator_resource)

    @staticmethod
    def _of_spec(resource, initializer, spec):
        return Iterator(
            resource,
            initializer,
            structure.get_legacy_output_types(spec),
            structure.get_legacy_output_shapes(spec),
            structure.get_legacy_output_classes(spec),
        )

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        """An iterator without a dataset: `make_initializer` gives it one of this structure."""
        spec = structure.spec_of_types(output_types, output_shapes, output_classes)
        resource = gen_dataset_ops.iterator_v2(
            container="", shared_name=shared_name or "", **structure.flat_structure(spec)
        )
        return Iterator._of_spec(resource, None, spec)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        """The iterator that a string names, which may be fed: `Iterator.string_handle` makes it."""
        spec = structure.spec_of_types(output_types, output_shapes, output_classes)
        string_handle = ops.convert_to_tensor(string_handle, dtype=dtypes.string)
        resource = gen_dataset_ops.iterator_from_string_handle_v2(
            string_handle, **structure.flat_structure(spec)
        )
        return Iterator._of_spec(resource, None, spec)

    @property
    def initializer(self):
        """The operation that starts it from the first element. ValueError: it has none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset, name=None):
        """The operation that starts it on a dataset.

        TypeError: the elements do not fit; ValueError: their structure does not.
        """
        with ops.name_scope(name, "make_initializer") as name:
            nest.assert_same_structure(self._element_spec, dataset.element_spec)
            for mine, its in zip(nest.flatten(self._element_spec), nest.flatten(dataset.element_spec)):
                if not mine.is_compatible_with(its):
                    what, fits = "shapes", " compatible with"
                    if mine._to_legacy_output_types() != its._to_legacy_output_types():
                        what, fits = "types", ""
                    raise TypeError(
                        f"Expected output {what}{fits} {getattr(self, 'output_' + what)!r} but got dataset with output "
                        f"{what} {getattr(structure, 'get_legacy_output_' + what)(dataset.element_spec)!r}."
                    )
            with ops.colocate_with(self._iterator_resource):
                return gen_dataset_ops.make_iterator(
                    dataset._variant_tensor, self._iterator_resource, name=name
                )

    def get_next(self, name=None):
        """The next element: a step that asks for it gets it; OutOfRangeError at the end."""
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE)
        flat = gen_dataset_ops.iterator_get_next(
            self._iterator_resource, name=name, **structure.flat_structure(self._element_spec)
        )
        return structure.from_tensor_list(self._element_spec, flat)

    def get_next_as_optional(self):
        """The next element as an Optional, which has no value at the end."""
        return get_next_as_optional(self)

    def string_handle(self, name=None):
        """A string that names the iterator in its session, a scalar."""
        if name is None:
            return self._string_handle
        return gen_dataset_ops.iterator_to_string_handle(self._iterator_resource, name=name)

    @property
    def output_classes(self):
        """The classes of the parts of an element."""
        return structure.get_legacy_output_classes(self._element_spec)

    @property
    def output_shapes(self):
        """The static shapes of the parts of an element."""
        return structure.get_legacy_output_shapes(self._element_spec)

    @property
    def output_types(self):
        """The types of the parts of an element."""
        return structure.get_legacy_output_types(self._element_spec)

    @property
    def element_spec(self):
        """The TypeSpecs of the parts of an element."""
        return self._element_spec

    @property
    def _element_structure(self):
        return self._element_spec

    def _gather_saveables_for_checkpoint(self):
        return {"ITERATOR": lambda name: __getattr__("_IteratorSaveable")(self._iterator_resource, name)}


class IteratorSpec(type_spec.TypeSpec):
    """What is known of an iterator: the TypeSpecs of its elements."""

    __slots__ = ["_element_spec"]

    value_type = Iterator

    def __init__(self, element_spec):
        self._element_spec = element_spec

    def _serialize(self):
        return (self._element_spec,)

    @property
    def _component_specs(self):
        return (tensor_spec.TensorSpec([], dtypes.resource),)

    def _to_components(self, value):
        return (value._iterator_resource,)

    def _from_components(self, components):
        return Iterator._of_spec(components[0], None, self._element_spec)


def __getattr__(name):
    """`_IteratorSaveable`, which needs the module of savers, when it is asked for."""
    if name != "_IteratorSaveable":
        raise AttributeError(name)
    from braid.tensorflow.python.training.saving import saveable_object

    class _IteratorSaveable(saveable_object.SaveableObject):
        """How far an iterator is, in a checkpoint."""

        def __init__(self, iterator_resource, name):
            serialized = gen_dataset_ops.serialize_iterator(iterator_resource)
            specs = [saveable_object.SaveSpec(serialized, "", name + "-state")]
            super().__init__(iterator_resource, specs, name)

        def restore(self, restored_tensors, restored_shapes):
            with ops.colocate_with(self.op):
                return gen_dataset_ops.deserialize_iterator(self.op, restored_tensors[0])

    globals()[name] = _IteratorSaveable
    return _IteratorSaveable


def get_next_as_optional(iterator):
    from braid.tensorflow.python.data.ops import optional_ops

    spec = iterator.element_spec
    variant = gen_dataset_ops.iterator_get_next_as_optional(
        iterator._iterator_resource, **structure.flat_structure(spec)
    )
    return optional_ops._OptionalImpl(variant, spec)


tf_export("data.experimental.get_next_as_optional").export_constant(__name__, "get_next_as_optional")

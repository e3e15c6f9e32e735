"""What is known of a dataset's elements: nests of TypeSpecs, and elements as flat lists of tensors.

A SparseTensor within a dataset is one tensor of variants; so is a dataset within a dataset.
"""

from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.util import nest as tf_nest
from braid.tensorflow.python.util.tf_export import tf_export

tf_export(v1=["data.experimental.Structure"]).export_constant(__name__, "Structure")
Structure = type_spec.TypeSpec


@tf_export(v1=["data.experimental.TensorStructure"])
def TensorStructure(dtype, shape):
    """A former name of tf.TensorSpec."""
    return tensor_spec.TensorSpec(shape, dtype)


@tf_export(v1=["data.experimental.RaggedTensorStructure"])
def RaggedTensorStructure(dtype, shape, ragged_rank):
    """The RaggedTensorSpec; an older name."""
    from braid.tensorflow.python.ops.ragged import ragged_tensor

    return ragged_tensor.RaggedTensorSpec(shape, dtype, ragged_rank)


@tf_export(v1=["data.experimental.TensorArrayStructure"])
def _TensorArrayStructure(dtype, element_shape, dynamic_size, infer_shape):
    """A former name of tf.TensorArraySpec."""
    return tensor_array_ops.TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


@tf_export(v1=["data.experimental.SparseTensorStructure"])
def SparseTensorStructure(dtype, shape):
    """A former name of tf.SparseTensorSpec."""
    return sparse_tensor.SparseTensorSpec(shape, dtype)


# ---- Making them ----


def normalize_element(element):
    """An element with tensors in the places of what becomes a tensor."""
    with ops.name_scope("normalize_element"):
        parts = [_normalize_part(x, f"component_{i}") for i, x in enumerate(nest.flatten(element))]
    return nest.pack_sequence_as(element, parts)


def _normalize_part(x, name):
    if isinstance(x, sparse_tensor.SparseTensorValue):
        return sparse_tensor.SparseTensor.from_value(x)
    if hasattr(x, "nested_row_splits"):
        from braid.tensorflow.python.ops.ragged import ragged_tensor

        return ragged_tensor.convert_to_tensor_or_ragged_tensor(x)
    if isinstance(x, list) and any(hasattr(y, "element_spec") for y in tf_nest.flatten(x)):
        from braid.tensorflow.python.data.ops import dataset_ops

        return dataset_ops._stacked(x)
    if isinstance(x, (composite_tensor.CompositeTensor, tensor_array_ops.TensorArray)):
        return x
    return ops.convert_to_tensor(x, name=name)


def type_spec_from_value(element):
    """The TypeSpecs of an element. TypeError: a part of it has none."""
    return nest.map_structure(_spec_of, element)


def _spec_of(value):
    if isinstance(value, sparse_tensor.SparseTensorValue):
        value = sparse_tensor.SparseTensor.from_value(value)
    if value is None or isinstance(value, ops.Operation):
        raise TypeError(f"{value} is no part of an element")
    return type_spec.type_spec_from_value(value)


def convert_legacy_structure(output_types, output_shapes, output_classes):
    """The TypeSpecs of nests of types, shapes and classes."""
    shapes = nest.flatten_up_to(output_types, output_shapes)
    classes = nest.flatten_up_to(output_types, output_classes)
    specs = []
    for dtype, shape, cls in zip(nest.flatten(output_types), shapes, classes):
        if isinstance(cls, type_spec.TypeSpec):
            specs.append(cls)
        elif issubclass(cls, sparse_tensor.SparseTensor):
            specs.append(sparse_tensor.SparseTensorSpec(shape, dtype))
        elif issubclass(cls, tensor_array_ops.TensorArray):
            specs.append(_tensor_array_spec(dtype, shape))
        elif issubclass(cls, ops.Tensor):
            specs.append(tensor_spec.TensorSpec(shape, dtype))
        else:
            raise TypeError(f"Could not build a structure for output class {cls!r}")
    return nest.pack_sequence_as(output_types, specs)


def _tensor_array_spec(dtype, shape):
    """Of a shape that begins as TensorArraySpec._to_legacy_output_shapes says."""
    dynamic_size, infer_shape = (
        None if size is None else bool(size) for size in map(tensor_shape.dimension_value, shape[:2])
    )
    return tensor_array_ops.TensorArraySpec(shape[2:], dtype, dynamic_size, infer_shape)


def spec_of_types(output_types, output_shapes=None, output_classes=None):
    """As `convert_legacy_structure`, of what programs give: shapes and classes may be None."""
    output_types = nest.map_structure(dtypes.as_dtype, output_types)
    if output_shapes is None:
        output_shapes = nest.map_structure(lambda _: tensor_shape.TensorShape(None), output_types)
    else:
        output_shapes = nest.map_structure_up_to(output_types, tensor_shape.as_shape, output_shapes)
    if output_classes is None:
        output_classes = nest.map_structure(lambda _: ops.Tensor, output_types)
    return convert_legacy_structure(output_types, output_shapes, output_classes)


def get_legacy_output_types(spec):
    return nest.map_structure(lambda s: s._to_legacy_output_types(), spec)


def get_legacy_output_shapes(spec):
    return nest.map_structure(lambda s: s._to_legacy_output_shapes(), spec)


def get_legacy_output_classes(spec):
    return nest.map_structure(lambda s: s._to_legacy_output_classes(), spec)


def are_compatible(spec1, spec2):
    """Whether elements of one may stand where the other is wanted."""
    try:
        nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    return all(a.is_compatible_with(b) for a, b in zip(nest.flatten(spec1), nest.flatten(spec2)))


def most_specific_common(spec1, spec2):
    """The narrowest TypeSpecs of which both are. TypeError, ValueError: there are none."""
    nest.assert_same_structure(spec1, spec2)
    parts = [a.most_specific_compatible_type(b) for a, b in zip(nest.flatten(spec1), nest.flatten(spec2))]
    return nest.pack_sequence_as(spec1, parts)


# ---- Batches ----


def batched(spec, size):
    """The TypeSpecs of batches of `size` elements; None: of any number."""

    def part(s):
        _check_batchable(s)
        return s._batch(size)

    return nest.map_structure(part, spec)


def unbatched(spec):
    """The TypeSpecs of the elements of batches. ValueError: a part is no batch."""

    def part(s):
        _check_batchable(s)
        return s._unbatch()

    return nest.map_structure(part, spec)


def _check_batchable(spec):
    if not hasattr(spec, "_batch"):
        raise TypeError(f"Elements of {spec} cannot be batched")


# ---- Flat lists of tensors ----


def _flat_spec(spec):
    """The type and shape of the tensor that stands for a part of an element."""
    own = getattr(spec, "_flat_tensor_spec", None)
    if own is not None:
        return own
    if not isinstance(spec, type_spec.BatchableTypeSpec):
        raise TypeError(f"{spec} cannot be a part of a dataset's element")
    (own,) = spec._flat_tensor_specs
    return own


def flat_tensor_specs(spec):
    return [_flat_spec(s) for s in nest.flatten(spec)]


def get_flat_tensor_types(spec):
    return [s.dtype for s in flat_tensor_specs(spec)]


def get_flat_tensor_shapes(spec):
    return [s.shape for s in flat_tensor_specs(spec)]


def flat_structure(spec):
    """The attributes of an op whose elements are of this type."""
    return {"output_types": get_flat_tensor_types(spec), "output_shapes": get_flat_tensor_shapes(spec)}


def _to_tensor(spec, value, many=False):
    if isinstance(spec, tensor_spec.TensorSpec) and isinstance(value, composite_tensor.CompositeTensor):
        raise ValueError(
            f"{value} is not convertible to a tensor with dtype {spec.dtype} and shape {spec.shape}."
        )
    if not isinstance(spec, type_spec.BatchableTypeSpec):
        return spec._to_tensor(value)
    (made,) = (spec._to_batched_tensor_list if many else spec._to_tensor_list)(value)
    return made


def to_tensor_list(spec, element):
    """An element as a flat list of tensors. TypeError, ValueError: it is not of this type."""
    nest.assert_same_structure(spec, element)
    return [_to_tensor(s, x) for s, x in zip(nest.flatten(spec), nest.flatten(element))]


def to_batched_tensor_list(spec, element):
    """A batch as a flat list of tensors, of which each row is one of an element."""
    return [_to_tensor(s, x, many=True) for s, x in zip(nest.flatten(spec), nest.flatten(element))]


def _from_tensor(spec, tensor):
    if not isinstance(spec, type_spec.BatchableTypeSpec):
        return spec._from_tensor(tensor)
    return spec._from_compatible_tensor_list([tensor])


def from_tensor_list(spec, tensors):
    """The element that a flat list of tensors stands for. ValueError: they are not of its types."""
    specs = flat_tensor_specs(spec)
    if len(specs) != len(tensors):
        raise ValueError(f"Expected {len(specs)} tensors but got {len(tensors)}.")
    for own, tensor in zip(specs, tensors):
        if not own.is_compatible_with(tensor):
            raise ValueError(f"Incompatible input: {tensor} is not compatible with {own}")
    return from_compatible_tensor_list(spec, tensors)


def from_compatible_tensor_list(spec, tensors):
    """As `from_tensor_list`, of tensors that are known to be of the types."""
    parts = [_from_tensor(s, t) for s, t in zip(nest.flatten(spec), tensors)]
    return nest.pack_sequence_as(spec, parts)

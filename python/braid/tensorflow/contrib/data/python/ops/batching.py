"""The names of tf.data.experimental's module, and assert_element_shape."""

from braid.tensorflow.python.data.experimental.ops.batching import *  # noqa: F401,F403
from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import check_ops


def assert_element_shape(expected_shapes):
    """Elements that have these static shapes: for Dataset.apply.

    A shape that is known not to fit is a ValueError. Where the shape is not known, a step fails with
    InvalidArgumentError for an element that does not fit. A size None in `expected_shapes` may be any.
    """

    def apply(dataset):
        known = dataset_ops.get_legacy_output_shapes(dataset)
        expected = nest.map_structure_up_to(known, tensor_shape.as_shape, expected_shapes)
        shapes = nest.map_structure(lambda shape, more: shape.merge_with(more), known, expected)

        def checked(*element):
            element = element if isinstance(known, tuple) else element[0]
            return nest.map_structure_up_to(shapes, check_ops.ensure_shape, element, shapes)

        result = dataset.map(checked)
        types = dataset_ops.get_legacy_output_types(dataset)
        classes = dataset_ops.get_legacy_output_classes(dataset)
        spec = structure.convert_legacy_structure(types, shapes, classes)
        return dataset_ops._WithSpec(result, result._variant_tensor, spec)

    return apply

"""Serialized Examples as elements."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.util.tf_export import tf_export


class _ParseExampleDataset(dataset_ops._WithSpec):
    def __init__(self, input_dataset, features, num_parallel_calls):
        if not structure.are_compatible(
            input_dataset.element_spec, tensor_spec.TensorSpec([None], dtypes.string)
        ):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        raw = parsing_ops._Features(features, parsing_ops._EXAMPLE_KINDS)
        shapes = raw.variable_shapes()
        of_batch = structure.get_legacy_output_shapes(input_dataset.element_spec)[:1]
        spec = {}
        for key, dtype in zip(raw.sparse_keys, raw.sparse_types):
            spec[key] = sparse_tensor.SparseTensorSpec(of_batch.concatenate([None]), dtype)
        for key, dtype, shape in zip(raw.dense_keys, raw.dense_types, shapes):
            spec[key] = tensor_spec.TensorSpec(of_batch.concatenate(shape), dtype)
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.parse_example_dataset(
                input_dataset._variant_tensor,
                num_parallel_calls,
                raw.defaults(shapes),
                raw.sparse_keys,
                raw.dense_keys,
                raw.sparse_types,
                [tensor_shape.as_shape(s) for s in shapes],
                **structure.flat_structure(spec),
            ),
            spec,
        )


@tf_export("data.experimental.parse_example_dataset")
def parse_example_dataset(features, num_parallel_calls=1):
    """The features of batches of serialized Examples as dicts: for Dataset.apply. See tf.parse_example.

    Raises ValueError where there are no features.
    """
    if features is None:
        raise ValueError("Missing: features was %s." % features)
    features = parsing_ops._prepend_none_dimension(features)

    def apply(dataset):
        parsed = _ParseExampleDataset(dataset, features, num_parallel_calls)
        if any(isinstance(f, parsing_ops.SparseFeature) for f in features.values()):
            parsed = parsed.map(
                lambda x: parsing_ops._construct_sparse_tensors_for_sparse_features(features, x),
                num_parallel_calls=num_parallel_calls,
            )
        return parsed

    return apply

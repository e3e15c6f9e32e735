"""Batches: of a function's results, of sparse tensors, and back."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import convert
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size, row_shape):
    """Batches of tensors of up to `row_shape` as SparseTensors: for Dataset.apply."""
    return lambda dataset: _DenseToSparseBatchDataset(dataset, batch_size, row_shape)


@tf_export(v1=["data.experimental.map_and_batch"])
def map_and_batch(
    map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None
):
    """`map_func` of each element, in batches: for Dataset.apply.

    Args:
      map_func: a function of an element.
      batch_size: how many at a time.
      num_parallel_batches: how many batches are made at a time; or
      num_parallel_calls: how many calls run at a time.
      drop_remainder: whether a smaller rest is left out.
    """
    if num_parallel_batches is None and num_parallel_calls is None:
        num_parallel_calls = batch_size
    elif num_parallel_batches is not None and num_parallel_calls is None:
        num_parallel_calls = batch_size * num_parallel_batches
    elif num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )
    return lambda dataset: _MapAndBatchDataset(
        dataset, map_func, batch_size, num_parallel_calls, drop_remainder
    )


map_and_batch_with_legacy_function = map_and_batch
tf_export(v1=["data.experimental.map_and_batch_with_legacy_function"]).export_constant(
    __name__, "map_and_batch_with_legacy_function"
)


@tf_export("data.experimental.unbatch")
def unbatch():
    """The rows of batches: for Dataset.apply."""
    return lambda dataset: dataset.unbatch()


def batch_and_drop_remainder(batch_size):
    """Batches of exactly `batch_size` elements: for Dataset.apply."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """Padded batches of exactly `batch_size` elements: for Dataset.apply."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes=padded_shapes, padding_values=padding_values, drop_remainder=True
    )


class _DenseToSparseBatchDataset(dataset_ops._WithSpec):
    def __init__(self, input_dataset, batch_size, row_shape):
        element = input_dataset.element_spec
        if not isinstance(element, tensor_spec.TensorSpec):
            raise TypeError("DenseToSparseDataset requires an input whose elements have a single component")
        row = convert.partial_shape_to_tensor(row_shape)
        rest = tensor_shape.as_shape(row_shape) if not isinstance(row_shape, ops.Tensor) else None
        spec = sparse_tensor.SparseTensorSpec(
            tensor_shape.TensorShape([None]).concatenate(rest), element.dtype
        )
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.dense_to_sparse_batch_dataset(
                input_dataset._variant_tensor, batch_size, row_shape=row, **structure.flat_structure(spec)
            ),
            spec,
        )


class _MapAndBatchDataset(dataset_ops._Mapped):
    def __init__(self, input_dataset, map_func, batch_size, num_parallel_calls, drop_remainder):
        wrapped = dataset_ops.StructuredFunctionWrapper(
            map_func, "tf.data.experimental.map_and_batch()", dataset=input_dataset
        )
        size = ops.convert_to_tensor(batch_size, dtype=dtypes.int64, name="batch_size")
        calls = ops.convert_to_tensor(num_parallel_calls, dtype=dtypes.int64, name="num_parallel_calls")
        drop = ops.convert_to_tensor(drop_remainder, dtype=dtypes.bool, name="drop_remainder")
        spec = structure.batched(wrapped.output_structure, dataset_ops._known_size(size, drop))
        super().__init__(
            input_dataset,
            wrapped,
            gen_experimental_dataset_ops.map_and_batch_dataset,
            spec,
            size,
            calls,
            drop,
            f=wrapped.function,
            preserve_cardinality=True,
        )

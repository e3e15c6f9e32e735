"""Datasets for several replicas."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import gen_experimental_dataset_ops


class _AutoShardDataset(dataset_ops._Unchanged):
    """A worker's part of a dataset."""

    def __init__(self, input_dataset, num_workers, index):
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.auto_shard_dataset,
            num_workers=num_workers,
            index=index,
        )


_AutoShardDatasetV1 = _AutoShardDataset


class _RebatchDataset(dataset_ops._WithSpec):
    """Each batch in `num_replicas` parts, one after another."""

    def __init__(self, input_dataset, num_replicas, use_fallback=True):
        def part(shape):
            if shape.ndims == 0:
                raise ValueError(
                    "Input shape should have at least one dimension. Perhaps your input dataset is not batched?"
                )
            if shape.ndims is None:
                return shape
            size, *rest = shape.as_list()
            even = size is not None and size % num_replicas == 0
            return tensor_shape.TensorShape([size // num_replicas if even else None, *rest])

        spec = structure.convert_legacy_structure(
            dataset_ops.get_legacy_output_types(input_dataset),
            nest.map_structure(part, dataset_ops.get_legacy_output_shapes(input_dataset)),
            dataset_ops.get_legacy_output_classes(input_dataset),
        )
        variant = gen_experimental_dataset_ops.rebatch_dataset(
            input_dataset._variant_tensor,
            num_replicas=num_replicas,
            use_fallback=use_fallback,
            **structure.flat_structure(spec),
        )
        super().__init__(input_dataset, variant, spec)

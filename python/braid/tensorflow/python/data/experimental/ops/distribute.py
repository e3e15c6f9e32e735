"""Datasets for several replicas."""

from braid.tensorflow.python.data.ops import dataset_ops
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

"""Random numbers as elements."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import random_seed
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["data.experimental.RandomDataset"])
class RandomDataset(dataset_ops.DatasetSource):
    """Random numbers without end, int64 scalars."""

    def __init__(self, seed=None):
        self._seed, self._seed2 = random_seed.get_seed(seed)
        self._spec = tensor_spec.TensorSpec([], dtypes.int64)
        super().__init__(
            gen_experimental_dataset_ops.random_dataset(
                seed=self._seed, seed2=self._seed2, **structure.flat_structure(self._spec)
            )
        )

    @property
    def element_spec(self):
        return self._spec


RandomDatasetV1 = RandomDatasetV2 = RandomDataset

"""Elements of several datasets in turns, or by chance."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.ops import readers
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["data.experimental.parallel_interleave"])
def parallel_interleave(
    map_func,
    cycle_length,
    block_length=1,
    sloppy=False,
    buffer_output_elements=None,
    prefetch_input_elements=None,
):
    """The elements of the datasets that `map_func` makes, `cycle_length` in turns: for Dataset.apply.

    Args:
      map_func: a dataset, of an element.
      cycle_length, block_length: how many datasets take turns, of how many elements.
      sloppy: whether elements may come as they are ready.
      buffer_output_elements, prefetch_input_elements: how far each dataset prefetches, and how many more are
      begun.
    """
    return lambda dataset: readers.ParallelInterleaveDataset(
        dataset, map_func, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements
    )


class _DirectedInterleaveDataset(dataset_ops.DatasetV1):
    def __init__(self, selector_input, data_inputs):
        self._selector_input, self._data_inputs = selector_input, list(data_inputs)
        first = data_inputs[0].element_spec
        for other in data_inputs[1:]:
            what = f"Datasets to be interleaved must have the same type: got {first} and {other.element_spec}"
            try:
                nest.assert_same_structure(first, other.element_spec)
                first = structure.most_specific_common(first, other.element_spec)
            except (TypeError, ValueError):
                raise TypeError(what) from None
        self._spec = first
        super().__init__(
            gen_experimental_dataset_ops.directed_interleave_dataset(
                selector_input._variant_tensor,
                [d._variant_tensor for d in data_inputs],
                **structure.flat_structure(first),
            )
        )

    def _inputs(self):
        return [self._selector_input] + self._data_inputs

    @property
    def element_spec(self):
        return self._spec


@tf_export(v1=["data.experimental.sample_from_datasets"])
def sample_from_datasets(datasets, weights=None, seed=None):
    """Elements of datasets that chance chooses.

    Args:
      datasets: a list.
      weights: how often each is chosen: numbers, a tensor, or a dataset of such tensors; None: equally.
      seed: of the choice.
    """
    from braid.tensorflow.python.data.experimental.ops import random_ops
    from braid.tensorflow.python.ops import stateless_random_ops

    count = len(datasets)

    def choose(logits, seed):
        return array_ops.squeeze(
            stateless_random_ops.stateless_multinomial(logits, 1, seed=seed), axis=[0, 1]
        )

    # log(0) is -inf, which is never chosen.
    if isinstance(weights, dataset_ops.DatasetV2):
        logits = weights.map(lambda *p: math_ops.log(p, name="logits"))
        seeds = dataset_ops.Dataset.zip((logits, random_ops.RandomDataset(seed).batch(2)))
        return _DirectedInterleaveDataset(seeds.map(choose), datasets)
    if weights is None:
        logits = [[1.0] * count]
    else:
        weights = ops.convert_to_tensor(weights, name="weights")
        if weights.dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements."
            )
        if not weights.shape.is_compatible_with([count]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits = array_ops.expand_dims(math_ops.log(weights, name="logits"), 0)
    if count == 1:
        return datasets[0]
    seeds = random_ops.RandomDataset(seed).batch(2)
    return _DirectedInterleaveDataset(seeds.map(lambda seed: choose(logits, seed)), datasets)


@tf_export(v1=["data.experimental.choose_from_datasets"])
def choose_from_datasets(datasets, choice_dataset):
    """Elements of datasets whose numbers another dataset gives, as int64 scalars."""
    if not structure.are_compatible(choice_dataset.element_spec, tensor_spec.TensorSpec([], dtypes.int64)):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _DirectedInterleaveDataset(choice_dataset, datasets)

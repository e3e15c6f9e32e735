"""Datasets around rewrites of pipelines. Braid's engine does not rewrite them: elements are the same."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops


def _names(names, name):
    return ops.convert_to_tensor([] if names is None else names, dtype=dtypes.string, name=name)


def assert_next(transformations):
    """The same dataset: in TensorFlow it fails if other transformations follow. For Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(
        dataset,
        gen_experimental_dataset_ops.assert_next_dataset,
        transformations=_names(transformations, "transformations"),
    )


def model():
    """The same dataset: its stages tune themselves. For Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(dataset, gen_dataset_ops.model_dataset)


def non_serializable():
    """The same dataset, whose iterators cannot be saved. For Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(
        dataset, gen_experimental_dataset_ops.non_serializable_dataset
    )


def optimize(optimizations=None):
    """The same dataset, in any order with the optimization "make_sloppy". For Dataset.apply."""
    return lambda dataset: dataset_ops._Unchanged(
        dataset, gen_dataset_ops.optimize_dataset, optimizations=_names(optimizations, "optimizations")
    )


class _ChooseFastestDataset(dataset_ops.DatasetV1):
    """That of several datasets with equal elements which gives them fastest."""

    def __init__(self, datasets, num_experiments=10):
        self._datasets = list(datasets)
        if not self._datasets:
            raise ValueError("`datasets` must not be empty")
        spec = self._datasets[0].element_spec
        for dataset in self._datasets[1:]:
            spec = structure.most_specific_common(spec, dataset.element_spec)
        self._spec = spec
        super().__init__(
            gen_experimental_dataset_ops.choose_fastest_dataset(
                [dataset._variant_tensor for dataset in self._datasets],
                num_experiments=num_experiments,
                **dataset_ops.flat_structure(element_spec=spec),
            )
        )

    def _inputs(self):
        return self._datasets

    @property
    def element_spec(self):
        return self._spec

"""Datasets: pipelines of elements, which nodes of the graph describe (tf.data.Dataset).

A dataset is a tensor of variants; what runs is an iterator (iterator_ops.py). Functions of elements are
functions of the graph's library, and what they use from outside is an input of the dataset's node.
"""

import abc
import multiprocessing
import warnings
import numpy as np

from braid.tensorflow.python.data.ops import iterator_ops
from braid.tensorflow.python.data.ops.dataset_options import (  # noqa: F401
    DistributeOptions,
    OptimizationOptions,
    Options,
    StatsOptions,
    ThreadingOptions,
)
from braid.tensorflow.python.data.ops.structured_function import (  # noqa: F401
    _CopiedFunction,
    _state_function,
    StructuredFunctionWrapper,
)
from braid.tensorflow.python.data.util import convert
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import random_seed
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed as core_random_seed
from braid.tensorflow.python.framework import sparse_tensor as sparse_tensor_lib
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.ops import gen_io_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import nest as tf_nest
from braid.tensorflow.python.util.tf_export import tf_export

AUTOTUNE = -1
tf_export("data.experimental.AUTOTUNE").export_constant(__name__, "AUTOTUNE")
INFINITE, UNKNOWN = -1, -2
tf_export("data.experimental.INFINITE_CARDINALITY").export_constant(__name__, "INFINITE")
tf_export("data.experimental.UNKNOWN_CARDINALITY").export_constant(__name__, "UNKNOWN")


# ---- Datasets ----


class DatasetV2(composite_tensor.CompositeTensor):
    """A pipeline of elements: tensors, or nests of tensors in tuples and dicts."""

    def __init__(self, variant_tensor):
        self._variant_tensor_attr = variant_tensor
        self._graph_attr = ops.get_default_graph()

    @property
    def _variant_tensor(self):
        return self._variant_tensor_attr

    @property
    def _graph(self):
        return self._graph_attr

    @abc.abstractmethod
    def _inputs(self):
        """The datasets that it is made of."""

    @property
    @abc.abstractmethod
    def element_spec(self):
        """The TypeSpecs of the elements."""

    @property
    def _element_structure(self):
        return self.element_spec

    @property
    def _flat_structure(self):
        return structure.flat_structure(self.element_spec)

    @property
    def _flat_shapes(self):
        return structure.get_flat_tensor_shapes(self.element_spec)

    @property
    def _flat_types(self):
        return structure.get_flat_tensor_types(self.element_spec)

    @property
    def _type_spec(self):
        return DatasetSpec(self.element_spec)

    def _functions(self):
        return []

    def _has_captured_ref(self):
        """Whether a function of it, or of its inputs, uses what is computed from a reference variable."""
        tensors, seen = [t for f in self._functions() for t in f.captured_inputs], set()
        while tensors:
            tensor = tensors.pop()
            if tensor.dtype._is_ref_dtype:
                return True
            if tensor.op not in seen:
                seen.add(tensor.op)
                tensors.extend(tensor.op.inputs)
        return any(d._has_captured_ref() for d in self._inputs())

    def options(self):
        """The options of the pipeline so far."""
        merged = Options()
        for dataset in self._inputs():
            merged = merged.merge(dataset.options())
        return merged

    def _apply_options(self):
        """The dataset with a node for each of its options, as TensorFlow has them."""
        dataset, options = self, self.options()
        threading, stats = options.experimental_threading, options.experimental_stats
        optimization = options.experimental_optimization
        if threading.max_intra_op_parallelism is not None:
            dataset = _Unchanged(
                dataset,
                gen_experimental_dataset_ops.max_intra_op_parallelism_dataset,
                _int64(threading.max_intra_op_parallelism, "max_intra_op_parallelism"),
            )
        if threading.private_threadpool_size is not None:
            dataset = _Unchanged(
                dataset,
                gen_experimental_dataset_ops.private_thread_pool_dataset,
                _int64(threading.private_threadpool_size, "num_threads"),
            )
        optimizations = options._static_optimizations()
        if optimizations and self._has_captured_ref():
            warnings.warn(
                "tf.data static optimizations are not compatible with tf.Variable. The following optimizations will "
                "be disabled: %s. To enable optimizations, use resource variables instead by calling "
                "`tf.enable_resource_variables()` at the start of the program." % ", ".join(optimizations)
            )
        elif optimizations:
            dataset = _Unchanged(
                dataset,
                gen_dataset_ops.optimize_dataset,
                ops.convert_to_tensor(optimizations, dtype=dtypes.string, name="optimizations"),
                optimization_configs=options._static_optimization_configs(),
            )
        if optimization.autotune is not False:
            dataset = _Unchanged(
                dataset,
                gen_dataset_ops.model_dataset,
                algorithm=optimization.autotune_algorithm or 0,
                cpu_budget=optimization.autotune_cpu_budget or 0,
            )
        if stats.aggregator is not None:
            dataset = _Unchanged(
                dataset,
                gen_experimental_dataset_ops.set_stats_aggregator_dataset,
                stats_aggregator=stats.aggregator._resource,
                tag=stats.prefix,
                counter_prefix=stats.counter_prefix,
            )
        return dataset

    def with_options(self, options):
        """The dataset with more options."""
        return _OptionsDataset(self, options)

    def __iter__(self):
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function or when eager execution is enabled: use "
            "make_one_shot_iterator()"
        )

    def __repr__(self):
        shapes = nest.map_structure(str, structure.get_legacy_output_shapes(self.element_spec))
        types = nest.map_structure(repr, structure.get_legacy_output_types(self.element_spec))
        shapes, types = (str(x).replace("'", "") for x in (shapes, types))
        return "<%s shapes: %s, types: %s>" % (type(self).__name__, shapes, types)

    # -- Sources --

    # Of the class of TensorFlow 2 they give datasets of TensorFlow 2: see `map`.
    _is_v2 = False

    @classmethod
    def from_tensors(cls, tensors):
        """A dataset of one element."""
        made = TensorDataset(tensors)
        made._is_v2 = not issubclass(cls, DatasetV1)
        return made

    @classmethod
    def from_tensor_slices(cls, tensors):
        """The slices of tensors along dimension 0."""
        made = TensorSliceDataset(tensors)
        made._is_v2 = not issubclass(cls, DatasetV1)
        return made

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor):
        """The rows of a SparseTensor, as (indices, values, shape)."""
        return SparseTensorSliceDataset(sparse_tensor)

    @staticmethod
    def from_generator(generator, output_types, output_shapes=None, args=None):
        """The elements of a Python generator.

        Args:
          generator: a function that returns an object with `__iter__`; it is called for each iteration.
          output_types, output_shapes: of the elements, which become such tensors.
          args: tensors whose values are the arguments of `generator`.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        spec = structure.spec_of_types(output_types, output_shapes)
        args = () if args is None else tuple(ops.convert_n_to_tensor(args, name="args"))
        state = _Generators(generator, spec, args)

        def elements(unused):
            return _GeneratorDataset(unused, state.begin, state.next, state.finalize, spec)

        # An iteration begins with the element of this dataset.
        return Dataset.from_tensors(0).flat_map(elements)

    @staticmethod
    def range(*args):
        """The integers of a Python range, int64 scalars."""
        return RangeDataset(*args)

    @staticmethod
    def zip(datasets):
        """Elements whose parts are those of the datasets, a nest of them; it ends with the shortest."""
        return ZipDataset(datasets)

    @staticmethod
    def list_files(file_pattern, shuffle=None, seed=None):
        """The names of the files that match patterns; in random order unless `shuffle` is False.

        A step fails with InvalidArgumentError where none matches.
        """
        with ops.name_scope("list_files"):
            if shuffle is None:
                shuffle = True
            file_pattern = ops.convert_to_tensor(file_pattern, dtype=dtypes.string, name="file_pattern")
            names = gen_io_ops.matching_files(file_pattern)
            some = math_ops.greater(array_ops.shape(names)[0], 0, name="match_not_empty")
            message = math_ops.add(
                "No files matched pattern: ",
                string_ops.reduce_join(file_pattern, separator=", "),
                name="message",
            )
            check = control_flow_ops.Assert(some, [message], summarize=1, name="assert_not_empty")
            with ops.control_dependencies([check]):
                names = array_ops.identity(names)
            dataset = Dataset.from_tensor_slices(names)
            if shuffle:
                count = math_ops.maximum(array_ops.shape(names, out_type=dtypes.int64)[0], 1)
                dataset = dataset.shuffle(count, seed=seed)
            return dataset

    # -- Order and number --

    def concatenate(self, dataset):
        """The elements of this dataset, then those of another. TypeError: they do not fit."""
        return ConcatenateDataset(self, dataset)

    def prefetch(self, buffer_size):
        """The same elements, of which up to `buffer_size` are made before they are wanted."""
        return PrefetchDataset(self, buffer_size)

    def repeat(self, count=None):
        """The dataset `count` times; without end if None or -1."""
        return RepeatDataset(self, count)

    def enumerate(self, start=0):
        """Pairs of a number and an element."""
        most = np.iinfo(dtypes.int64.as_numpy_dtype).max
        return Dataset.zip((Dataset.range(start, most), self))

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
        """Elements in random order: each is chosen among the next `buffer_size`."""
        return ShuffleDataset(self, buffer_size, seed, reshuffle_each_iteration)

    def cache(self, filename=""):
        """The same elements, kept the first time, in files of that prefix or ("") in memory."""
        return CacheDataset(self, filename)

    def take(self, count):
        """The first `count` elements; all if -1."""
        return TakeDataset(self, count)

    def skip(self, count):
        """The elements behind the first `count`; none if -1."""
        return SkipDataset(self, count)

    def shard(self, num_shards, index):
        """Every `num_shards`-th element, from number `index` on. ValueError: they do not fit."""
        return ShardDataset(self, num_shards, index)

    # -- Batches --

    def batch(self, batch_size, drop_remainder=False):
        """Elements stacked, `batch_size` at a time. drop_remainder: whether a smaller rest is left out."""
        return BatchDataset(self, batch_size, drop_remainder)

    def padded_batch(self, batch_size, padded_shapes, padding_values=None, drop_remainder=False):
        """Elements padded and stacked.

        Args:
          batch_size: how many at a time.
          padded_shapes: shapes by part; None in one stands for the greatest size in the batch.
          padding_values: scalars by part; None: 0, and "".
          drop_remainder: whether a smaller rest is left out.
        """
        return PaddedBatchDataset(self, batch_size, padded_shapes, padding_values, drop_remainder)

    def unbatch(self):
        """The rows of batches."""
        has_datasets = any(isinstance(s, DatasetSpec) for s in nest.flatten(self.element_spec))
        return _UnbatchDataset(self if has_datasets else _Restructured(self))

    def window(self, size, shift=None, stride=1, drop_remainder=False):
        """Datasets of `size` elements each: of every `stride`-th, `shift` elements apart (`size` if None)."""
        if shift is None:
            shift = size
        return WindowDataset(self, size, shift, stride, drop_remainder)

    # -- Functions --

    def map(self, map_func, num_parallel_calls=None):
        """`map_func` of each element.

        num_parallel_calls: how many calls run at a time; AUTOTUNE: the engine says.
        """
        # A function that raises OutOfRangeError ends a dataset of TensorFlow 1, and fails one of 2.
        keeps = self._is_v2 or not isinstance(self, DatasetV1)
        if num_parallel_calls is None:
            return MapDataset(self, map_func, preserve_cardinality=keeps)
        return ParallelMapDataset(self, map_func, num_parallel_calls, preserve_cardinality=keeps)

    def map_with_legacy_function(self, map_func, num_parallel_calls=None):
        """As `map`. What `map_func` gets by tf.get_variable is the value of a resource variable."""
        if num_parallel_calls is None:
            return MapDataset(self, map_func, use_legacy_function=True)
        return ParallelMapDataset(self, map_func, num_parallel_calls, use_legacy_function=True)

    def flat_map(self, map_func):
        """The elements of the datasets that `map_func` makes of each element."""
        return FlatMapDataset(self, map_func)

    def interleave(self, map_func, cycle_length=AUTOTUNE, block_length=1, num_parallel_calls=None):
        """As `flat_map`, with `cycle_length` datasets in turns of `block_length` elements."""
        if num_parallel_calls is None:
            return InterleaveDataset(self, map_func, cycle_length, block_length)
        return ParallelInterleaveDataset(self, map_func, cycle_length, block_length, num_parallel_calls)

    def filter(self, predicate):
        """The elements for which `predicate` holds."""
        return FilterDataset(self, predicate)

    def filter_with_legacy_function(self, predicate):
        return self.filter(predicate)

    def apply(self, transformation_func):
        """transformation_func(dataset). TypeError: that is no dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, DatasetV2):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset}.")
        return dataset

    def reduce(self, initial_state, reduce_func):
        """The last state: reduce_func(state, element) of each element, at first of `initial_state`."""
        with ops.name_scope("initial_state"):
            initial_state = structure.normalize_element(initial_state)
        spec, wrapped = _state_function(
            reduce_func,
            "reduce()",
            self,
            structure.type_spec_from_value(initial_state),
            returns_state_only=True,
        )
        flat = gen_dataset_ops.reduce_dataset(
            self._variant_tensor,
            structure.to_tensor_list(spec, initial_state),
            wrapped.captured_inputs,
            f=wrapped.function,
            **structure.flat_structure(spec),
        )
        return structure.from_tensor_list(spec, flat)


@tf_export(v1=["data.Dataset"])
class DatasetV1(DatasetV2):
    """A dataset with the iterators and properties of TensorFlow 1.

    A class of a program may give `_as_variant_tensor`.
    """

    def __init__(self, variant_tensor=None):
        if variant_tensor is None:
            variant_tensor = self._as_variant_tensor()
        super().__init__(variant_tensor)

    def _as_variant_tensor(self):
        raise NotImplementedError("Dataset._as_variant_tensor")

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return structure.convert_legacy_structure(
            type(self).output_types.__get__(self),
            type(self).output_shapes.__get__(self),
            type(self).output_classes.__get__(self),
        )

    @property
    def output_classes(self):
        """The classes of the parts of an element."""
        return structure.get_legacy_output_classes(self.element_spec)

    @property
    def output_shapes(self):
        """The static shapes of the parts of an element."""
        return structure.get_legacy_output_shapes(self.element_spec)

    @property
    def output_types(self):
        """The types of the parts of an element."""
        return structure.get_legacy_output_types(self.element_spec)

    # -- Iterators --

    def make_one_shot_iterator(self):
        """An iterator that needs no initializer.

        ValueError: the pipeline uses a variable, a table or a placeholder.
        """
        return self._make_one_shot_iterator()

    def _make_one_shot_iterator(self):
        _ensure_same_dataset_graph(self)
        seed, seed2 = core_random_seed.get_seed(None)

        def factory():
            graph = ops.get_default_graph()
            if seed is not None:
                graph.seed = (seed + 87654321 * (seed2 or 0)) % (2**63 - 1)
            return self._apply_options()._variant_tensor

        made = _CopiedFunction(factory)
        try:
            made.add_to_graph(ops.get_default_graph())
        except ValueError as err:
            if "Cannot capture" not in str(err):
                raise
            raise ValueError(
                "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not "
                "support datasets that capture stateful objects, such as a `Variable` or `LookupTable`. In these "
                "cases, use `Dataset.make_initializable_iterator()`. (Original error: %s)" % err
            ) from None
        return iterator_ops.Iterator._of_spec(
            gen_dataset_ops.one_shot_iterator(dataset_factory=made, **self._flat_structure),
            None,
            self.element_spec,
        )

    def make_initializable_iterator(self, shared_name=None):
        """An iterator that its `initializer` starts. shared_name: the name by which sessions share it."""
        return self._make_initializable_iterator(shared_name)

    def _make_initializable_iterator(self, shared_name=None):
        _ensure_same_dataset_graph(self)
        dataset = self._apply_options()
        resource = gen_dataset_ops.iterator_v2(
            container="", shared_name=shared_name or "", **self._flat_structure
        )
        with ops.colocate_with(resource):
            initializer = gen_dataset_ops.make_iterator(dataset._variant_tensor, resource)
        return iterator_ops.Iterator._of_spec(resource, initializer, self.element_spec)


Dataset = DatasetV1


class DatasetV1Adapter(DatasetV1):
    """A dataset of any class with what DatasetV1 has."""

    def __init__(self, dataset):
        self._dataset = dataset
        super().__init__(dataset._variant_tensor)

    def _inputs(self):
        return self._dataset._inputs()

    def options(self):
        return self._dataset.options()

    def _functions(self):
        return self._dataset._functions()

    @property
    def element_spec(self):
        return self._dataset.element_spec


def _ensure_same_dataset_graph(dataset):
    """Warns of the parts of a pipeline that are in another graph than its iterator will be."""
    found = [dataset]
    for part in found:  # it grows
        if part._graph is not ops.get_default_graph():
            logging.warning(
                "The dataset %s is in another graph than its iterator. Please ensure that all datasets in the "
                "pipeline are created in the same graph as the iterator. (An Estimator calls `input_fn` in a graph "
                "of its own: make datasets in it.)",
                part._variant_tensor.name,
            )
        found.extend(d for d in part._inputs() if not any(d is known for known in found))


def _as_v1(dataset):
    return dataset if isinstance(dataset, DatasetV1) else DatasetV1Adapter(dataset)


@tf_export(v1=["data.make_one_shot_iterator"])
def make_one_shot_iterator(dataset):
    """Dataset.make_one_shot_iterator of any dataset."""
    return _as_v1(dataset)._make_one_shot_iterator()


@tf_export(v1=["data.make_initializable_iterator"])
def make_initializable_iterator(dataset, shared_name=None):
    """Dataset.make_initializable_iterator of any dataset."""
    return _as_v1(dataset)._make_initializable_iterator(shared_name)


@tf_export("data.experimental.get_structure")
def get_structure(dataset_or_iterator):
    """The TypeSpecs of the elements of a dataset or an iterator. TypeError: it is neither."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got %s."
            % type(dataset_or_iterator)
        ) from None


@tf_export(v1=["data.get_output_classes"])
def get_legacy_output_classes(dataset_or_iterator):
    """The classes of the parts of an element."""
    return structure.get_legacy_output_classes(get_structure(dataset_or_iterator))


@tf_export(v1=["data.get_output_shapes"])
def get_legacy_output_shapes(dataset_or_iterator):
    """The static shapes of the parts of an element."""
    return structure.get_legacy_output_shapes(get_structure(dataset_or_iterator))


@tf_export(v1=["data.get_output_types"])
def get_legacy_output_types(dataset_or_iterator):
    """The types of the parts of an element."""
    return structure.get_legacy_output_types(get_structure(dataset_or_iterator))


@tf_export("data.DatasetSpec", v1=["data.DatasetSpec", "data.experimental.DatasetStructure"])
class DatasetSpec(type_spec.TypeSpec):
    """What is known of a dataset: the TypeSpecs of its elements."""

    __slots__ = ["_element_spec", "_dataset_shape"]

    value_type = DatasetV2

    def __init__(self, element_spec, dataset_shape=()):
        self._element_spec = element_spec
        self._dataset_shape = tensor_shape.as_shape(dataset_shape)

    def _serialize(self):
        return (self._element_spec, self._dataset_shape)

    @property
    def _component_specs(self):
        return self._flat_tensor_spec

    def _to_components(self, value):
        return value._variant_tensor

    def _from_components(self, components):
        return _VariantDataset(components, self._element_spec)

    @property
    def _flat_tensor_spec(self):
        return tensor_spec.TensorSpec(self._dataset_shape, dtypes.variant)

    def _to_tensor(self, value):
        return value._variant_tensor

    def _from_tensor(self, tensor):
        tensor.set_shape(self._dataset_shape)
        return _VariantDataset(tensor, self._element_spec)

    def _batch(self, batch_size):
        shape = tensor_shape.TensorShape([batch_size]).concatenate(self._dataset_shape)
        return DatasetSpec(self._element_spec, shape)

    def _unbatch(self):
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    def is_compatible_with(self, spec_or_value):
        if isinstance(spec_or_value, DatasetV2):
            spec_or_value = spec_or_value._type_spec
        return isinstance(spec_or_value, DatasetSpec) and structure.are_compatible(
            self._element_spec, spec_or_value._element_spec
        )

    def _to_legacy_output_types(self):
        return self

    def _to_legacy_output_shapes(self):
        return self

    def _to_legacy_output_classes(self):
        return self


# ---- Kinds of datasets ----


class DatasetSource(DatasetV1):
    """A dataset that is made of no other."""

    def _inputs(self):
        return []


class UnaryDataset(DatasetV1):
    """A dataset that is made of another."""

    def __init__(self, input_dataset, variant_tensor):
        self._input_dataset = input_dataset
        super().__init__(variant_tensor)

    def _inputs(self):
        return [self._input_dataset]


class UnaryUnchangedStructureDataset(UnaryDataset):
    """A dataset with elements of the same types as those of another."""

    @property
    def element_spec(self):
        return self._input_dataset.element_spec


class _WithSpec(UnaryDataset):
    """A dataset that is made of another, with elements of given TypeSpecs, by functions."""

    def __init__(self, input_dataset, variant_tensor, spec, functions=()):
        self._spec, self._made_by = spec, functions
        super().__init__(input_dataset, variant_tensor)

    def _functions(self):
        return list(self._made_by)

    @property
    def element_spec(self):
        return self._spec


class _Unchanged(UnaryUnchangedStructureDataset):
    """What an op makes of a dataset, with elements of the same types."""

    def __init__(self, input_dataset, op, *args, **kwargs):
        kwargs.update(input_dataset._flat_structure)
        super().__init__(input_dataset, op(input_dataset._variant_tensor, *args, **kwargs))


class _OptionsDataset(UnaryUnchangedStructureDataset):
    """A dataset with more options; no node of its own."""

    def __init__(self, input_dataset, options):
        self._options = input_dataset.options().merge(options)
        super().__init__(input_dataset, input_dataset._variant_tensor)

    def options(self):
        return self._options


class _VariantDataset(DatasetV1):
    """The dataset that a tensor is."""

    def __init__(self, dataset_variant, element_spec):
        self._spec = element_spec
        super().__init__(dataset_variant)

    @property
    def _type_spec(self):
        known = self._variant_tensor.shape
        return DatasetSpec(self._spec, known if known.ndims is not None else ())

    def _inputs(self):
        return []

    @property
    def element_spec(self):
        return self._spec


def _stacked(datasets):
    """A list of datasets, or of such lists, as one. TypeError, ValueError: their elements differ."""
    flat = tf_nest.flatten(datasets)
    spec = get_structure(flat[0])
    for dataset in flat[1:]:
        spec = structure.most_specific_common(spec, get_structure(dataset))
    variants = tf_nest.map_structure(to_variant, datasets)
    return _VariantDataset(ops.convert_to_tensor(variants), spec)


@tf_export("data.experimental.from_variant")
def from_variant(variant, structure):  # noqa: A002
    """The dataset that a tensor is. structure: the TypeSpecs of its elements."""
    return _VariantDataset(variant, structure)


@tf_export("data.experimental.to_variant")
def to_variant(dataset):
    """A dataset as a tensor of variants."""
    return dataset._variant_tensor


# ---- Sources ----


class TensorDataset(DatasetSource):
    """One element."""

    def __init__(self, element):
        element = structure.normalize_element(element)
        self._spec = structure.type_spec_from_value(element)
        self._tensors = structure.to_tensor_list(self._spec, element)
        super().__init__(
            gen_dataset_ops.tensor_dataset(
                self._tensors, output_shapes=structure.get_flat_tensor_shapes(self._spec)
            )
        )

    @property
    def element_spec(self):
        return self._spec


class TensorSliceDataset(DatasetSource):
    """The slices of tensors along dimension 0."""

    def __init__(self, element):
        element = structure.normalize_element(element)
        whole = structure.type_spec_from_value(element)
        self._tensors = structure.to_batched_tensor_list(whole, element)
        self._spec = structure.unbatched(whole)
        count = tensor_shape.Dimension(None)
        for shape in nest.flatten(structure.get_legacy_output_shapes(whole)):
            if isinstance(shape, tensor_shape.TensorShape):
                count = count.merge_with(tensor_shape.dimension_value(shape.with_rank_at_least(1)[0]))
        super().__init__(
            gen_dataset_ops.tensor_slice_dataset(
                self._tensors, output_shapes=structure.get_flat_tensor_shapes(self._spec)
            )
        )

    @property
    def element_spec(self):
        return self._spec


class SparseTensorSliceDataset(DatasetSource):
    """The rows of a SparseTensor, as (indices, values, shape)."""

    def __init__(self, sparse_tensor):
        if not isinstance(sparse_tensor, sparse_tensor_lib.SparseTensor):
            raise TypeError(
                f"`sparse_tensor` must be a `tf.sparse.SparseTensor` object. Was {sparse_tensor}."
            )
        rank = sparse_tensor.dense_shape.shape.dims[0].value
        rest = None if rank is None else rank - 1
        self._spec = (
            tensor_spec.TensorSpec([None, rest], dtypes.int64),
            tensor_spec.TensorSpec([None], sparse_tensor.dtype),
            tensor_spec.TensorSpec([rest], dtypes.int64),
        )
        super().__init__(
            gen_dataset_ops.sparse_tensor_slice_dataset(
                sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
            )
        )

    @property
    def element_spec(self):
        return self._spec


class RangeDataset(DatasetSource):
    """Integers: RangeDataset(stop), (start, stop) or (start, stop, step)."""

    def __init__(self, *args):
        if not 1 <= len(args) <= 3:
            raise ValueError("Invalid arguments to RangeDataset: %s" % str(args))
        start, stop, step = 0, args[0], 1
        if len(args) > 1:
            start, stop = args[:2]
        if len(args) > 2:
            step = args[2]

        def as_int64(value, name):
            return ops.convert_to_tensor(value, dtype=dtypes.int64, name=name)

        self._spec = tensor_spec.TensorSpec([], dtypes.int64)
        super().__init__(
            gen_dataset_ops.range_dataset(
                start=as_int64(start, "start"),
                stop=as_int64(stop, "stop"),
                step=as_int64(step, "step"),
                **structure.flat_structure(self._spec),
            )
        )

    @property
    def element_spec(self):
        return self._spec


class _GeneratorDataset(DatasetSource):
    """init_func(init_args) makes a state, next_func(state) the elements until OutOfRange,
    finalize_func(state) ends.
    """

    def __init__(self, init_args, init_func, next_func, finalize_func, output_spec=None):
        spec = structure.type_spec_from_value(init_args)
        name = "Dataset.from_generator()"
        self._init = StructuredFunctionWrapper(init_func, name, input_structure=spec)
        state = self._init.output_structure
        self._next = StructuredFunctionWrapper(next_func, name, input_structure=state)
        self._finalize = StructuredFunctionWrapper(finalize_func, name, input_structure=state)
        self._spec = self._next.output_structure if output_spec is None else output_spec
        super().__init__(
            gen_dataset_ops.generator_dataset(
                structure.to_tensor_list(spec, init_args) + self._init.captured_inputs,
                self._next.captured_inputs,
                self._finalize.captured_inputs,
                init_func=self._init.function,
                next_func=self._next.function,
                finalize_func=self._finalize.function,
                **structure.flat_structure(self._spec),
            )
        )

    @property
    def element_spec(self):
        return self._spec


class _Generators:
    """The Python iterators of `Dataset.from_generator`, by number, and the nodes that use them."""

    def __init__(self, generator, spec, args):
        self._generator, self._spec, self._given = generator, spec, args
        self._types = structure.get_flat_tensor_types(spec)
        self._args, self._iterators, self._next_id = {}, {}, 0

    def _begin(self, *args):
        self._next_id += 1
        self._args[self._next_id] = args
        return np.array(self._next_id, dtype=np.int64)

    def begin(self, unused):
        from braid.tensorflow.python.ops import script_ops

        number = script_ops.numpy_function(self._begin, self._given, dtypes.int64)
        number.set_shape([])
        return number

    def _next(self, number):
        number = int(number)
        if number not in self._iterators:
            self._iterators[number] = iter(self._generator(*self._args.pop(number)))
        values = next(self._iterators[number])
        try:
            values = nest.flatten_up_to(self._spec, values)
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected structure "
                f"was {structure.get_legacy_output_types(self._spec)}, but the yielded element was {values}."
            ) from None
        arrays = [self._array(v, s) for v, s in zip(values, nest.flatten(self._spec))]
        return arrays[0] if len(arrays) == 1 else arrays

    @staticmethod
    def _array(value, spec):
        from braid.tensorflow.python.ops import script_ops

        try:
            array = script_ops.FuncRegistry._convert(value, dtype=spec.dtype.as_numpy_dtype)
        except (TypeError, ValueError):
            raise TypeError(
                f"`generator` yielded an element that could not be converted to the expected type. The expected type "
                f"was {spec.dtype.name}, but the yielded element was {value}."
            ) from None
        if not spec.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape {spec.shape} was "
                "expected."
            )
        return array

    def next(self, number):
        from braid.tensorflow.python.ops import script_ops

        values = script_ops.numpy_function(self._next, [number], self._types)
        values = values if isinstance(values, (list, tuple)) else [values]
        for value, shape in zip(values, structure.get_flat_tensor_shapes(self._spec)):
            value.set_shape(shape)
        return nest.pack_sequence_as(self._spec, list(values))

    def _finalize(self, number):
        self._iterators.pop(int(number), None)
        self._args.pop(int(number), None)
        return np.array(0, dtype=np.int64)

    def finalize(self, number):
        from braid.tensorflow.python.ops import script_ops

        ended = script_ops.numpy_function(self._finalize, [number], dtypes.int64)
        ended.set_shape([])
        return ended


# ---- Several datasets ----


class ZipDataset(DatasetV1):
    """Elements of several datasets together."""

    def __init__(self, datasets):
        for ds in nest.flatten(datasets):
            if not isinstance(ds, DatasetV2):
                if isinstance(ds, list):
                    raise TypeError(
                        "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects. Nested "
                        "structures do not support Python lists; please use a tuple instead."
                    )
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects."
                )
        self._datasets = datasets
        self._spec = nest.pack_sequence_as(datasets, [ds.element_spec for ds in nest.flatten(datasets)])
        super().__init__(
            gen_dataset_ops.zip_dataset(
                [ds._variant_tensor for ds in nest.flatten(datasets)], **structure.flat_structure(self._spec)
            )
        )

    def _inputs(self):
        return nest.flatten(self._datasets)

    @property
    def element_spec(self):
        return self._spec


class ConcatenateDataset(DatasetV1):
    """The elements of one dataset, then those of another."""

    def __init__(self, input_dataset, dataset_to_concatenate):
        self._input_dataset, self._other = input_dataset, dataset_to_concatenate
        first, second = input_dataset.element_spec, dataset_to_concatenate.element_spec
        what = f"Two datasets to concatenate have different %s {first} and {second}"
        try:
            nest.assert_same_structure(first, second)
        except (TypeError, ValueError):
            raise TypeError(what % "types") from None
        for a, b in zip(nest.flatten(first), nest.flatten(second)):
            if a._to_legacy_output_classes() != b._to_legacy_output_classes():
                raise TypeError(what % "classes")
            if a._to_legacy_output_types() != b._to_legacy_output_types():
                raise TypeError(what % "types")
        self._spec = structure.most_specific_common(first, second)
        super().__init__(
            gen_dataset_ops.concatenate_dataset(
                input_dataset._variant_tensor,
                dataset_to_concatenate._variant_tensor,
                **structure.flat_structure(self._spec),
            )
        )

    def _inputs(self):
        return [self._input_dataset, self._other]

    @property
    def element_spec(self):
        return self._spec


# ---- Order and number ----


def _int64(value, name):
    return ops.convert_to_tensor(value, dtype=dtypes.int64, name=name)


class RepeatDataset(UnaryUnchangedStructureDataset):
    """A dataset several times."""

    def __init__(self, input_dataset, count):
        self._count = _int64(-1 if count is None else count, "count")
        super().__init__(
            input_dataset,
            gen_dataset_ops.repeat_dataset(
                input_dataset._variant_tensor, count=self._count, **input_dataset._flat_structure
            ),
        )


class CacheDataset(UnaryUnchangedStructureDataset):
    """A dataset whose elements are kept."""

    def __init__(self, input_dataset, filename):
        self._filename = ops.convert_to_tensor(filename, dtype=dtypes.string, name="filename")
        super().__init__(
            input_dataset,
            gen_dataset_ops.cache_dataset(
                input_dataset._variant_tensor, filename=self._filename, **input_dataset._flat_structure
            ),
        )


class ShuffleDataset(UnaryUnchangedStructureDataset):
    """Elements in random order."""

    def __init__(self, input_dataset, buffer_size, seed=None, reshuffle_each_iteration=None):
        self._buffer_size = _int64(buffer_size, "buffer_size")
        self._seed, self._seed2 = random_seed.get_seed(seed)
        again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        super().__init__(
            input_dataset,
            gen_dataset_ops.shuffle_dataset(
                input_dataset._variant_tensor,
                buffer_size=self._buffer_size,
                seed=self._seed,
                seed2=self._seed2,
                reshuffle_each_iteration=again,
                **input_dataset._flat_structure,
            ),
        )


class TakeDataset(UnaryUnchangedStructureDataset):
    """The first elements."""

    def __init__(self, input_dataset, count):
        self._count = _int64(count, "count")
        super().__init__(
            input_dataset,
            gen_dataset_ops.take_dataset(
                input_dataset._variant_tensor, count=self._count, **input_dataset._flat_structure
            ),
        )


class SkipDataset(UnaryUnchangedStructureDataset):
    """The elements behind the first ones."""

    def __init__(self, input_dataset, count):
        self._count = _int64(count, "count")
        super().__init__(
            input_dataset,
            gen_dataset_ops.skip_dataset(
                input_dataset._variant_tensor, count=self._count, **input_dataset._flat_structure
            ),
        )


class ShardDataset(UnaryUnchangedStructureDataset):
    """Each of so many elements one."""

    def __init__(self, input_dataset, num_shards, index):
        self._num_shards = _int64(num_shards, "num_shards")
        self._index = _int64(index, "index")
        shards, own = (tensor_util.constant_value(t) for t in (self._num_shards, self._index))
        if shards is not None and shards < 1:
            raise errors.InvalidArgumentError(None, None, f"num_shards must be >= 1; got: {num_shards}")
        if own is not None and own < 0:
            raise errors.InvalidArgumentError(None, None, f"index must be >= 0; got: {index}")
        if shards is not None and own is not None and own >= shards:
            raise errors.InvalidArgumentError(
                None, None, f"index must be <= num_shards; {index} is not < {num_shards}"
            )
        super().__init__(
            input_dataset,
            gen_dataset_ops.shard_dataset(
                input_dataset._variant_tensor,
                num_shards=self._num_shards,
                index=self._index,
                **input_dataset._flat_structure,
            ),
        )


class PrefetchDataset(UnaryUnchangedStructureDataset):
    """Elements that are made before they are wanted."""

    def __init__(self, input_dataset, buffer_size, slack_period=None):
        self._buffer_size = _int64(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size")
        super().__init__(
            input_dataset,
            gen_dataset_ops.prefetch_dataset(
                input_dataset._variant_tensor,
                buffer_size=self._buffer_size,
                slack_period=slack_period,
                **input_dataset._flat_structure,
            ),
        )


# ---- Batches ----


class BatchDataset(_WithSpec):
    """Elements stacked."""

    def __init__(self, input_dataset, batch_size, drop_remainder):
        self._batch_size = _int64(batch_size, "batch_size")
        self._drop_remainder = ops.convert_to_tensor(drop_remainder, dtype=dtypes.bool, name="drop_remainder")
        spec = structure.batched(
            input_dataset.element_spec, _known_size(self._batch_size, self._drop_remainder)
        )
        super().__init__(
            input_dataset,
            gen_dataset_ops.batch_dataset_v2(
                input_dataset._variant_tensor,
                batch_size=self._batch_size,
                drop_remainder=self._drop_remainder,
                **structure.flat_structure(spec),
            ),
            spec,
        )


def _known_size(batch_size, drop_remainder):
    """The size of all batches, or None where the last one may be smaller."""
    if not tensor_util.constant_value(drop_remainder):
        return None
    size = tensor_util.constant_value(batch_size)
    return None if size is None else int(size)


class PaddedBatchDataset(_WithSpec):
    """Elements padded and stacked."""

    def __init__(self, input_dataset, batch_size, padded_shapes, padding_values, drop_remainder):
        element = input_dataset.element_spec
        if any(not isinstance(s, tensor_spec.TensorSpec) for s in nest.flatten(element)):
            raise TypeError("Batching of padded sparse tensors is not currently supported")
        self._batch_size = _int64(batch_size, "batch_size")
        shapes = nest.flatten_up_to(element, padded_shapes)
        if padding_values is None:
            values = [None] * len(shapes)
        else:
            values = nest.flatten_up_to(element, padding_values)
        parts = list(zip(nest.flatten(element), shapes, values))
        self._padded_shapes = [_padded_shape_to_tensor(shape, s.shape) for s, shape, _ in parts]
        self._padding_values = [_padding_value(value, s.dtype) for s, _, value in parts]
        self._drop_remainder = ops.convert_to_tensor(drop_remainder, dtype=dtypes.bool, name="drop_remainder")
        size = _known_size(self._batch_size, self._drop_remainder)
        specs = [
            tensor_spec.TensorSpec(
                tensor_shape.TensorShape([size]).concatenate(tensor_util.constant_value_as_shape(shape)),
                s.dtype,
            )
            for s, shape in zip(nest.flatten(element), self._padded_shapes)
        ]
        spec = nest.pack_sequence_as(element, specs)
        super().__init__(
            input_dataset,
            gen_dataset_ops.padded_batch_dataset_v2(
                input_dataset._variant_tensor,
                batch_size=self._batch_size,
                padded_shapes=self._padded_shapes,
                padding_values=self._padding_values,
                drop_remainder=self._drop_remainder,
                output_shapes=structure.get_flat_tensor_shapes(spec),
            ),
            spec,
        )


def _padded_shape_to_tensor(padded_shape, input_shape):
    """A shape to pad to as an int64 vector. ValueError: it does not fit the elements'."""
    try:
        tensor = convert.partial_shape_to_tensor(padded_shape)
    except (TypeError, ValueError):
        given = ops.convert_to_tensor(padded_shape)
        if given.shape.ndims != 1:
            raise ValueError(
                f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its shape was {given.shape}."
            ) from None
        raise TypeError(
            f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its element type was "
            f"{given.dtype.name}."
        ) from None
    known = tensor_util.constant_value_as_shape(tensor)
    if known.ndims is not None and input_shape.ndims is not None:
        if known.ndims != input_shape.ndims or any(
            p.value is not None and i.value is not None and p.value < i.value
            for p, i in zip(known.dims, input_shape.dims)
        ):
            raise ValueError(
                f"The padded shape {known} is not compatible with the corresponding input component shape {input_shape}."
            )
    return tensor


def _padding_value(value, dtype):
    if value is None:
        value = "" if dtype == dtypes.string else np.zeros([], dtype.as_numpy_dtype)
    value = ops.convert_to_tensor(value, name="padding_value")
    if not value.shape.is_compatible_with(tensor_shape.TensorShape([])):
        raise ValueError(f"Padding value should be a scalar, but is not: {value}")
    if value.dtype != dtype:
        raise TypeError(f"Padding value type ({value.dtype}) does not match output type ({dtype})")
    return value


class _UnbatchDataset(_WithSpec):
    """The rows of batches."""

    def __init__(self, input_dataset):
        sizes = {
            tensor_shape.dimension_value(shape[0])
            for shape in nest.flatten(structure.get_legacy_output_shapes(input_dataset.element_spec))
            if isinstance(shape, tensor_shape.TensorShape) and shape.ndims
        } - {None}
        if len(sizes) > 1:
            raise ValueError("Cannot unbatch an input with mixed batch sizes.")
        spec = structure.unbatched(input_dataset.element_spec)
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.unbatch_dataset(
                input_dataset._variant_tensor, **structure.flat_structure(spec)
            ),
            spec,
        )


class _Restructured(_WithSpec):
    """The same elements, whose sparse and ragged tensors have a row of variants for each element."""

    def __init__(self, dataset):
        spec = dataset.element_spec

        def serialize(*element):
            element = element[0] if type(spec) is not tuple else element
            return tuple(structure.to_batched_tensor_list(spec, element))

        mapped = dataset.map(serialize)
        super().__init__(dataset, mapped._variant_tensor, spec)


class WindowDataset(_WithSpec):
    """Datasets of a few elements each."""

    def __init__(self, input_dataset, size, shift, stride, drop_remainder):
        self._size, self._shift = _int64(size, "size"), _int64(shift, "shift")
        self._stride = _int64(stride, "stride")
        self._drop_remainder = ops.convert_to_tensor(drop_remainder, dtype=dtypes.bool, name="drop_remainder")
        spec = nest.map_structure(DatasetSpec, input_dataset.element_spec)
        super().__init__(
            input_dataset,
            gen_dataset_ops.window_dataset(
                input_dataset._variant_tensor,
                self._size,
                self._shift,
                self._stride,
                self._drop_remainder,
                **structure.flat_structure(spec),
            ),
            spec,
        )


# ---- Functions ----


class _Mapped(_WithSpec):
    """What an op makes of a dataset by a function."""

    def __init__(self, input_dataset, wrapped, op, spec, *args, **kwargs):
        super().__init__(
            input_dataset,
            op(
                input_dataset._variant_tensor,
                wrapped.captured_inputs,
                *args,
                **kwargs,
                **structure.flat_structure(spec),
            ),
            spec,
            [wrapped],
        )

    def _transformation_name(self):
        return "Dataset.map()"


class MapDataset(_Mapped):
    """A function of each element."""

    def __init__(
        self,
        input_dataset,
        map_func,
        use_inter_op_parallelism=True,
        preserve_cardinality=False,
        use_legacy_function=False,
    ):
        wrapped = StructuredFunctionWrapper(
            map_func, "Dataset.map()", dataset=input_dataset, use_legacy_function=use_legacy_function
        )
        super().__init__(
            input_dataset,
            wrapped,
            gen_dataset_ops.map_dataset,
            wrapped.output_structure,
            f=wrapped.function,
            use_inter_op_parallelism=use_inter_op_parallelism,
            preserve_cardinality=preserve_cardinality,
        )


class ParallelMapDataset(_Mapped):
    """A function of each element, several at a time."""

    def __init__(
        self,
        input_dataset,
        map_func,
        num_parallel_calls,
        use_inter_op_parallelism=True,
        preserve_cardinality=False,
        use_legacy_function=False,
    ):
        wrapped = StructuredFunctionWrapper(
            map_func, "Dataset.map()", dataset=input_dataset, use_legacy_function=use_legacy_function
        )
        self._num_parallel_calls = ops.convert_to_tensor(
            num_parallel_calls, dtype=dtypes.int32, name="num_parallel_calls"
        )
        super().__init__(
            input_dataset,
            wrapped,
            gen_dataset_ops.parallel_map_dataset,
            wrapped.output_structure,
            f=wrapped.function,
            num_parallel_calls=self._num_parallel_calls,
            use_inter_op_parallelism=use_inter_op_parallelism,
            preserve_cardinality=preserve_cardinality,
        )


def _dataset_function(map_func, name, input_dataset):
    """A function that makes a dataset of an element. TypeError: it makes something else."""
    wrapped = StructuredFunctionWrapper(map_func, name, dataset=input_dataset)
    if not isinstance(wrapped.output_structure, DatasetSpec):
        raise TypeError(
            "`map_func` must return a `Dataset` object. Got {}".format(
                type(wrapped.output_structure).__name__.replace("Spec", "")
            )
        )
    return wrapped


class FlatMapDataset(_Mapped):
    """The elements of the datasets that a function makes."""

    def __init__(self, input_dataset, map_func):
        wrapped = _dataset_function(map_func, "Dataset.flat_map()", input_dataset)
        super().__init__(
            input_dataset,
            wrapped,
            gen_dataset_ops.flat_map_dataset,
            wrapped.output_structure._element_spec,
            f=wrapped.function,
        )


def _cycle(cycle_length):
    return multiprocessing.cpu_count() if cycle_length is None or cycle_length == AUTOTUNE else cycle_length


class InterleaveDataset(_Mapped):
    """The elements of the datasets that a function makes, in turns."""

    def __init__(self, input_dataset, map_func, cycle_length, block_length):
        wrapped = _dataset_function(map_func, "Dataset.interleave()", input_dataset)
        super().__init__(
            input_dataset,
            wrapped,
            gen_dataset_ops.interleave_dataset,
            wrapped.output_structure._element_spec,
            _int64(_cycle(cycle_length), "cycle_length"),
            _int64(block_length, "block_length"),
            f=wrapped.function,
        )


class ParallelInterleaveDataset(_Mapped):
    """As InterleaveDataset, with several calls at a time."""

    def __init__(self, input_dataset, map_func, cycle_length, block_length, num_parallel_calls):
        wrapped = _dataset_function(map_func, "Dataset.interleave()", input_dataset)
        super().__init__(
            input_dataset,
            wrapped,
            gen_dataset_ops.parallel_interleave_dataset_v2,
            wrapped.output_structure._element_spec,
            _int64(_cycle(cycle_length), "cycle_length"),
            _int64(block_length, "block_length"),
            _int64(num_parallel_calls, "num_parallel_calls"),
            f=wrapped.function,
        )


class FilterDataset(_Mapped):
    """The elements for which a function returns true."""

    def __init__(self, input_dataset, predicate, use_legacy_function=False):
        del use_legacy_function
        wrapped = StructuredFunctionWrapper(predicate, "Dataset.filter()", dataset=input_dataset)
        if not wrapped.output_structure.is_compatible_with(tensor_spec.TensorSpec([], dtypes.bool)):
            raise ValueError(
                f"`predicate` must return a scalar boolean tensor, but its return type is {wrapped.output_structure}"
            )
        super().__init__(
            input_dataset,
            wrapped,
            gen_dataset_ops.filter_dataset,
            input_dataset.element_spec,
            predicate=wrapped.function,
        )


def flat_structure(dataset=None, element_spec=None):
    """The attributes of an op whose elements are those of a dataset."""
    return structure.flat_structure(dataset.element_spec if element_spec is None else element_spec)

"""Elements by key."""

import numpy as np

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export

_KEY = tensor_spec.TensorSpec([], dtypes.int64)


@tf_export("data.experimental.group_by_reducer")
def group_by_reducer(key_func, reducer):
    """What a Reducer makes of the elements of each key: for Dataset.apply."""
    return lambda dataset: _GroupByReducerDataset(dataset, key_func, reducer)


@tf_export("data.experimental.group_by_window")
def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
    """Windows of elements of one key, and a function of each: for Dataset.apply.

    Args:
      key_func: the key of an element, an int64 scalar.
      reduce_func: a dataset, of a key and the dataset of a window.
      window_size: how many elements a window has; or
      window_size_func: that of a key.
    """
    if (window_size is not None and window_size_func) or not (window_size is not None or window_size_func):
        raise ValueError("Must pass either window_size or window_size_func.")
    if window_size is not None:

        def window_size_func(unused_key):
            return ops.convert_to_tensor(window_size, dtype=dtypes.int64)

    return lambda dataset: _GroupByWindowDataset(dataset, key_func, reduce_func, window_size_func)


@tf_export("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func,
    bucket_boundaries,
    bucket_batch_sizes,
    padded_shapes=None,
    padding_values=None,
    pad_to_bucket_boundary=False,
    no_padding=False,
    drop_remainder=False,
):
    """Batches of elements of similar length: for Dataset.apply.

    Args:
      element_length_func: the length of an element, an int32 scalar.
      bucket_boundaries: the ascending lengths at which buckets begin.
      bucket_batch_sizes: of each bucket, one more than boundaries.
      padded_shapes, padding_values: as of Dataset.padded_batch; None: to the longest, with zeros.
      pad_to_bucket_boundary: whether sizes that are not known are padded to the bucket's boundary less 1.
      no_padding: whether elements of a batch have one shape anyway.
      drop_remainder: whether smaller batches are left out.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")

    def bucket_of(*element):
        length = element_length_func(*element)
        bounds = list(bucket_boundaries)
        least = [np.iinfo(np.int32).min] + bounds
        most = bounds + [np.iinfo(np.int32).max]
        within = math_ops.logical_and(math_ops.less_equal(least, length), math_ops.less(length, most))
        return math_ops.reduce_min(array_ops.where(within))

    with ops.name_scope("bucket_by_seq_length"):
        sizes = constant_op.constant(bucket_batch_sizes, dtype=dtypes.int64)

    def window_size(bucket):
        return sizes[bucket]

    def shapes_for(shapes, bucket_length):
        def part(shape):
            shape = tensor_shape.TensorShape(shape)
            return [bucket_length if d is None else d for d in shape.as_list()]

        return nest.map_structure(part, shapes)

    def batch(bucket, elements):
        size = window_size(bucket)
        if no_padding:
            return elements.batch(size, drop_remainder=drop_remainder)
        shapes = padded_shapes
        if shapes is None:
            shapes = structure.get_legacy_output_shapes(elements.element_spec)
        if pad_to_bucket_boundary:
            message = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            check = check_ops.assert_less(
                bucket,
                constant_op.constant(len(bucket_batch_sizes) - 1, dtype=dtypes.int64),
                message=message,
            )
            with ops.control_dependencies([check]):
                bounds = constant_op.constant(bucket_boundaries, dtype=dtypes.int64)
                shapes = shapes_for(shapes, bounds[bucket] - 1)
        return elements.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

    return lambda dataset: dataset.apply(group_by_window(bucket_of, batch, window_size_func=window_size))


def _checked_key(key_func, dataset, name):
    wrapped = dataset_ops.StructuredFunctionWrapper(key_func, name, dataset=dataset)
    if not wrapped.output_structure.is_compatible_with(_KEY):
        raise ValueError(f"`key_func` must return a single tf.int64 tensor. Got {wrapped.output_structure}.")
    return wrapped


class _GroupByReducerDataset(dataset_ops._WithSpec):
    def __init__(self, input_dataset, key_func, reducer):
        name = "tf.data.experimental.group_by_reducer()"
        key = _checked_key(key_func, input_dataset, name)
        init = dataset_ops.StructuredFunctionWrapper(reducer.init_func, name, input_structure=_KEY)
        state, reduce = dataset_ops._state_function(
            reducer.reduce_func, name, input_dataset, init.output_structure, returns_state_only=True
        )
        finalize = dataset_ops.StructuredFunctionWrapper(reducer.finalize_func, name, input_structure=state)
        spec = finalize.output_structure
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.group_by_reducer_dataset(
                input_dataset._variant_tensor,
                key.captured_inputs,
                init.captured_inputs,
                reduce.captured_inputs,
                finalize.captured_inputs,
                key_func=key.function,
                init_func=init.function,
                reduce_func=reduce.function,
                finalize_func=finalize.function,
                **structure.flat_structure(spec),
            ),
            spec,
            [key, init, reduce, finalize],
        )


class _GroupByWindowDataset(dataset_ops._WithSpec):
    def __init__(self, input_dataset, key_func, reduce_func, window_size_func):
        name = "tf.data.experimental.group_by_window()"
        key = _checked_key(
            lambda *args: ops.convert_to_tensor(key_func(*args), dtype=dtypes.int64), input_dataset, name
        )
        size = dataset_ops.StructuredFunctionWrapper(
            lambda k: ops.convert_to_tensor(window_size_func(k), dtype=dtypes.int64),
            name,
            input_structure=_KEY,
        )
        if not size.output_structure.is_compatible_with(_KEY):
            raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
        window = dataset_ops.DatasetSpec(input_dataset.element_spec)
        reduce = dataset_ops.StructuredFunctionWrapper(reduce_func, name, input_structure=(_KEY, window))
        if not isinstance(reduce.output_structure, dataset_ops.DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        spec = reduce.output_structure._element_spec
        super().__init__(
            input_dataset,
            gen_experimental_dataset_ops.group_by_window_dataset(
                input_dataset._variant_tensor,
                key.captured_inputs,
                reduce.captured_inputs,
                size.captured_inputs,
                key_func=key.function,
                reduce_func=reduce.function,
                window_size_func=size.function,
                **structure.flat_structure(spec),
            ),
            spec,
            [key, reduce, size],
        )


@tf_export("data.experimental.Reducer")
class Reducer:
    """init_func(key) makes a state, reduce_func(state, element) the next one, finalize_func(state) the
    result.
    """

    def __init__(self, init_func, reduce_func, finalize_func):
        self._init_func, self._reduce_func, self._finalize_func = init_func, reduce_func, finalize_func

    @property
    def init_func(self):
        return self._init_func

    @property
    def reduce_func(self):
        return self._reduce_func

    @property
    def finalize_func(self):
        return self._finalize_func

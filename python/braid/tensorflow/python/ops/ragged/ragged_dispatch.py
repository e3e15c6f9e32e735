"""What functions of tensors do when they are given ragged tensors."""

import inspect

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.ops.ragged import ragged_array_ops
from braid.tensorflow.python.ops.ragged import ragged_batch_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_concat_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_math_ops
from braid.tensorflow.python.ops.ragged import ragged_squeeze_op
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_tensor_shape
from braid.tensorflow.python.ops.ragged import ragged_where_op

# Functions whose first two arguments broadcast.
_BINARY = frozenset(
    """
    add add_v2 atan2 bitwise_and bitwise_or bitwise_xor complex _complex div div_no_nan divide equal
    floor_div floor_mod floordiv floormod greater greater_equal left_shift less less_equal logical_and
    logical_or logical_xor maximum minimum mod mul multiply not_equal pow _pow real_div realdiv
    right_shift squared_difference sub _sub subtract truediv truncate_div truncate_mod truncatediv
    truncatemod xdivy xlogy zeta
    """.split()
)


def _arguments(function, args, kwargs):
    return dict(inspect.signature(function).bind(*args, **kwargs).arguments)


def elementwise(function, args, kwargs):
    """The function of the innermost values; those of a function of two arguments broadcast."""
    given = _arguments(function, args, kwargs)
    names = list(given)
    if function.__name__ not in _BINARY or len(names) < 2:
        return ragged_tensor.map_flat_values(function, **given)
    x, y = _broadcast(given[names[0]], given[names[1]], names)
    given[names[0]], given[names[1]] = _flat(x), _flat(y)
    return (x if ragged_tensor.is_ragged(x) else y).with_flat_values(function(**given))


def _flat(value):
    return value.flat_values if ragged_tensor.is_ragged(value) else value


def _broadcast(x, y, names):
    """Both with the same rows; a Tensor stays one where it broadcasts to the innermost values."""
    convert = ragged_tensor.convert_to_tensor_or_ragged_tensor
    if ragged_tensor.is_ragged(x):
        x = convert(x)
        y = convert(y) if ragged_tensor.is_ragged(y) else _tensor(y, x, names[1])
    else:
        y = convert(y)
        x = _tensor(x, y, names[0])
    x, y = ragged_tensor.match_row_splits_dtypes(x, y)
    both = ragged_tensor.is_ragged(x) and ragged_tensor.is_ragged(y)
    if both:
        of_x, of_y = x.nested_row_splits, y.nested_row_splits
        same = len(of_x) == len(of_y) and all(a is b for a, b in zip(of_x, of_y))
        if same and x.shape.ndims is not None and x.shape.ndims == y.shape.ndims:
            return x, y
    elif _flat_dims(x) is not None and _flat_dims(y) is not None:
        tensor, ragged = (y, x) if ragged_tensor.is_ragged(x) else (x, y)
        if _flat_dims(ragged) > tensor.shape.ndims:
            return x, y
    of = ragged_tensor_shape.RaggedTensorDynamicShape.from_tensor
    dtype = (x if ragged_tensor.is_ragged(x) else y).row_splits.dtype
    shape = ragged_tensor_shape.broadcast_dynamic_shape(of(x, dtype), of(y, dtype))
    broadcast_to = ragged_tensor_shape.broadcast_to
    return broadcast_to(x, shape, False), broadcast_to(y, shape, False)


def _tensor(value, other, name):
    return ops.convert_to_tensor(value, name=name, preferred_dtype=other.dtype)


def _flat_dims(value):
    return _flat(value).shape.ndims


# ---- Functions of other modules, by their names ----


def apply(function, args, kwargs):
    """The function here that has the name of `function`."""
    return _FUNCTIONS[function.__name__](**_arguments(function, args, kwargs))


def batch_gather(params, indices, name=None):
    return ragged_batch_gather_ops.batch_gather(params, indices, name)


def boolean_mask(tensor, mask, name=None, axis=None):
    if axis not in (None, 0):
        raise NotImplementedError("tf.boolean_mask of ragged tensors: axis is 0")
    return ragged_array_ops.boolean_mask(tensor, mask, name)


def concat(values, axis, name=None):
    return ragged_concat_ops.concat(values, axis, name)


def expand_dims(input, axis=None, name=None, dim=None):
    return ragged_array_ops.expand_dims(input, dim if axis is None else axis, name)


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    return ragged_gather_ops.gather(params, indices, validate_indices, axis or 0, batch_dims, name)


def gather_nd(params, indices, name=None, batch_dims=0):
    return ragged_gather_ops.gather_nd(params, indices, batch_dims, name)


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    return ragged_array_ops.ragged_one_hot(indices, depth, on_value, off_value, axis, dtype, name)


def rank(input, name=None):
    return ragged_array_ops.rank(input, name)


def size(input, name=None, out_type=dtypes.int32):
    return ragged_array_ops.size(input, out_type, name)


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    return ragged_squeeze_op.squeeze(input, squeeze_dims if axis is None else axis, name)


def stack(values, axis=0, name=None):
    return ragged_concat_ops.stack(values, axis, name)


def tile(input, multiples, name=None):
    return ragged_array_ops.tile(input, multiples, name)


def where(condition, x=None, y=None, name=None):
    return ragged_where_op.where(condition, x, y, name)


def dynamic_partition(data, partitions, num_partitions, name=None):
    return ragged_array_ops.dynamic_partition(data, partitions, num_partitions, name)


def _reduction(function):
    def reduce(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = reduction_indices if axis is None else axis
        return function(input_tensor, axis, keep_dims if keepdims is None else keepdims, name)

    return reduce


def reduce_join(
    inputs, axis=None, keep_dims=None, separator="", name=None, reduction_indices=None, keepdims=None
):
    """tf.strings.reduce_join of ragged strings."""
    axis = reduction_indices if axis is None else axis
    keepdims = keep_dims if keepdims is None else keepdims

    def join(values, axis=None, keepdims=None, name=None):
        return string_ops.reduce_join(values, axis=axis, keepdims=keepdims, separator=separator)

    def join_segments(data, segment_ids, num_segments, name=None):
        return string_ops.unsorted_segment_join(data, segment_ids, num_segments, separator=separator)

    def segment(data, segment_ids, num_segments, name=None):
        return ragged_math_ops._segment(join_segments, data, segment_ids, num_segments, name)

    return ragged_math_ops._reduce(join, segment, inputs, axis, keepdims, name)


_FUNCTIONS = {
    f.__name__: f
    for f in (
        batch_gather,
        boolean_mask,
        concat,
        dynamic_partition,
        expand_dims,
        gather,
        gather_nd,
        one_hot,
        rank,
        reduce_join,
        size,
        squeeze,
        stack,
        tile,
        where,
    )
}
for _kind in ("all", "any", "max", "mean", "min", "prod", "sum"):
    for _suffix in ("", "_v1"):
        _FUNCTIONS[f"reduce_{_kind}{_suffix}"] = _reduction(getattr(ragged_math_ops, f"reduce_{_kind}"))
for _kind in ("max", "mean", "min", "prod", "sqrt_n", "sum"):
    _FUNCTIONS[f"unsorted_segment_{_kind}"] = getattr(ragged_math_ops, f"segment_{_kind}")
for _name in ("expand_dims", "gather", "gather_nd", "reduce_join", "size", "squeeze"):
    _FUNCTIONS[f"{_name}_v2"] = _FUNCTIONS[_name]
del _kind, _suffix, _name

"""Statistics of samples."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.ops.signal import fft_ops


__all__ = ["auto_correlation", "percentile"]

_ROUNDING = {"lower": math_ops.ceil, "higher": math_ops.floor, "nearest": math_ops.round}  # from above


def auto_correlation(x, axis=-1, max_lags=None, center=True, normalize=True, name="auto_correlation"):
    """The correlation of a sequence with itself, moved by 0, 1, ..., max_lags places.

    Args:
      axis: the dimension of the sequence.
      max_lags: the length of the sequence - 1 by default, and at most.
      center: whether the mean is subtracted first.
      normalize: whether the results are divided by the first, after which they are in [-1, 1].
    """
    with ops.name_scope(name, values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        rank = util.prefer_static_rank(x)
        axis = rank + axis if axis < 0 else axis
        shift = rank - 1 - axis
        rows = util.rotate_transpose(x, shift)
        if center:
            rows -= math_ops.reduce_mean(rows, axis=-1, keepdims=True)
        # With so many zeros at its end the sequence does not meet itself around the circle.
        length = util.prefer_static_shape(rows)[-1]
        wide = math_ops.cast(length, np.float64)
        power = math_ops.ceil(math_ops.log(wide * 2) / np.log(2.0))
        target = math_ops.pow(np.float64(2.0), power)
        padding = math_ops.cast(target - wide, np.int32)
        padded = util.pad(rows, axis=-1, back=True, count=padding)
        dtype = x.dtype
        if not dtype.is_complex:
            if not dtype.is_floating:
                raise TypeError(f"Argument x must have either float or complex dtype found: {dtype}")
            padded = math_ops.complex(padded, dtype.real_dtype.as_numpy_dtype(0.0))
        spectrum = fft_ops.fft(padded)
        products = math_ops.cast(fft_ops.ifft(spectrum * math_ops.conj(spectrum)), dtype)
        is_known = rows.shape.is_fully_defined()
        if max_lags is None:
            max_lags = length - 1
        else:
            max_lags = ops.convert_to_tensor(max_lags, name="max_lags")
            known = tensor_util.constant_value(max_lags)
            is_known = is_known and known is not None
            max_lags = min(length - 1, known) if is_known else math_ops.minimum(length - 1, max_lags)
        products = products[..., : max_lags + 1]
        if is_known:
            shape = rows.shape.as_list()
            shape[-1] = min(length, max_lags + 1)
            products.set_shape(shape)
        length, max_lags = (math_ops.cast(n, dtype.real_dtype) for n in (length, max_lags))
        # Fewer products are summed, the farther the sequence is moved.
        counts = length - math_ops.range(0.0, max_lags + 1.0)
        made = products / math_ops.cast(counts, dtype)
        if normalize:
            made /= made[..., :1]
        return util.rotate_transpose(made, -shift)


def percentile(x, q, axis=None, interpolation=None, keep_dims=False, validate_args=False, name=None):
    """The element that q percent of the elements are not above.

    Args:
      q: a scalar from 0 to 100.
      axis: dimensions, known numbers, over which elements are compared; all by default.
      interpolation: "nearest" (the default), "lower" or "higher": which element, where q lies between two.
      keep_dims: whether the dimensions stay, with one element each.
    """
    interpolation = interpolation or "nearest"
    if interpolation not in _ROUNDING:
        allowed = sorted(_ROUNDING)
        raise ValueError(f"Argument 'interpolation' must be in {allowed}.  Found {interpolation}")
    with ops.name_scope(name or "percentile", values=[x, q]):
        x = ops.convert_to_tensor(x, name="x")
        q = math_ops.cast(q, dtypes.float64, name="q")
        q.get_shape().assert_has_rank(0)
        if validate_args:
            limits = [constant_op.constant(limit, dtypes.float64) for limit in (0.0, 100.0)]
            checks = [check_ops.assert_greater_equal(q, limits[0]), check_ops.assert_less_equal(q, limits[1])]
            q = control_flow_ops.with_dependencies(checks, q)
        ndims = x.get_shape().ndims
        if axis is None:
            y, axes = array_ops.reshape(x, [-1]), range(ndims) if ndims is not None else None
        else:
            axis_tensor = ops.convert_to_tensor(axis, name="axis")
            check_ops.assert_integer(axis_tensor)
            known = tensor_util.constant_value(axis_tensor)
            if known is None:
                raise ValueError(f"Expected argument 'axis' to be statically available.  Found: {axis}")
            if ndims is None:
                raise ValueError("The rank of x must be known, where an axis is given.")
            axes = sorted(int(a) % ndims for a in np.reshape(known, [-1]))
            others = [i for i in range(ndims) if i not in axes]
            y = array_ops.transpose(x, perm=others + axes)
            if x.get_shape().is_fully_defined():
                sizes = x.get_shape().as_list()
                shape = [sizes[i] for i in others] + [int(np.prod([sizes[i] for i in axes]))]
            else:
                shape = array_ops.concat([array_ops.shape(y)[: len(others)], [-1]], axis=0)
            y = array_ops.reshape(y, shape=shape)
        above = 1.0 - q / 100.0
        size = math_ops.cast(array_ops.shape(y)[-1], dtypes.float64)
        index = _ROUNDING[interpolation]((size - 1) * above)
        size = array_ops.shape(y)[-1]
        index = clip_ops.clip_by_value(math_ops.cast(index, dtypes.int32), 0, size - 1)
        made = nn_ops.top_k(y, k=array_ops.shape(y)[-1]).values[..., index]
        made.set_shape(y.get_shape()[:-1])
        if keep_dims:
            if axes is None:
                raise NotImplementedError("percentile: keep_dims needs to know the rank of x")
            for i in axes:
                made = array_ops.expand_dims(made, i)
        return made

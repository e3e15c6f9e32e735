"""Bounds for the values and the norms of tensors."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_nn_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


def _values_of(t):
    return ops.convert_to_tensor(t.values if isinstance(t, ops.IndexedSlices) else t, name="t")


def _like(t, values):
    return ops.IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, ops.IndexedSlices) else values


@tf_export("clip_by_value")
@dispatch.elementwise
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """The elements of a Tensor or IndexedSlices, those out of bounds replaced by the bound."""
    with ops.name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as name:
        values = _values_of(t)
        below = math_ops.minimum(values, clip_value_max)
        values.get_shape().assert_is_compatible_with(below.get_shape())
        made = math_ops.maximum(below, clip_value_min, name=name)
        values.get_shape().assert_is_compatible_with(made.get_shape())
        return _like(t, made)


@tf_export("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """A tensor times a number so that its norm, along the dimensions of `axes`, is not above `clip_norm`."""
    with ops.name_scope(name, "clip_by_norm", [t, clip_norm]) as name:
        values = _values_of(t)
        squares = math_ops.reduce_sum(values * values, axes, keepdims=True)
        is_positive = squares > 0  # the gradient of a square root at 0 is no number
        safe = array_ops.where(is_positive, squares, array_ops.ones_like(squares))
        norm = array_ops.where(is_positive, math_ops.sqrt(safe), squares)
        scaled = values * clip_norm
        values.get_shape().assert_is_compatible_with(scaled.get_shape())
        made = array_ops.identity(scaled / math_ops.maximum(norm, clip_norm), name=name)
        return _like(t, made)


def _checked_list(t_list):
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


@tf_export("linalg.global_norm", v1=["linalg.global_norm", "global_norm"])
def global_norm(t_list, name=None):
    """The norm of all elements of a list of Tensors, IndexedSlices and Nones."""
    t_list = _checked_list(t_list)
    with ops.name_scope(name, "global_norm", t_list) as name:
        values = [
            ops.convert_to_tensor(t.values if isinstance(t, ops.IndexedSlices) else t, name="t_%d" % i)
            for i, t in enumerate(t_list)
            if t is not None
        ]
        halves = []
        for value in values:
            with ops.colocate_with(value):
                halves.append(gen_nn_ops.l2_loss(value))
        half = math_ops.reduce_sum(array_ops.stack(halves))
        two = constant_op.constant(2.0, dtype=half.dtype)
        return math_ops.sqrt(half * two, name="global_norm")


@tf_export("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Tensors times one number so that the norm of all is not above `clip_norm`: (tensors, the norm before).

    A norm that is infinite or no number makes all elements NaN. use_norm: the norm, where it is known.
    """
    t_list = _checked_list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with ops.name_scope(name, "clip_by_global_norm", t_list + [clip_norm]) as name:
        inverse = 1.0 / use_norm
        one = constant_op.constant(1.0, dtype=use_norm.dtype)
        scale = clip_norm * math_ops.minimum(inverse, one / clip_norm)
        is_finite = math_ops.is_finite(use_norm)
        not_finite = constant_op.constant(float("nan"), dtype=use_norm.dtype)
        scale = array_ops.where(is_finite, scale, not_finite)
        clipped = []
        for i, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            values = (
                t.values if isinstance(t, ops.IndexedSlices) else ops.convert_to_tensor(t, name="t_%d" % i)
            )
            with ops.colocate_with(values):
                factor = math_ops.cast(scale, values.dtype.base_dtype)
                made = array_ops.identity(values * factor, name="%s_%d" % (name, i))
            clipped.append(_like(t, made))
        return clipped, use_norm


@tf_export(v1=["clip_by_average_norm"])
def clip_by_average_norm(t, clip_norm, name=None):
    """A tensor times a number so that its norm by the number of its elements is not above `clip_norm`."""
    with ops.name_scope(name, "clip_by_average_norm", [t, clip_norm]) as name:
        t = ops.convert_to_tensor(t, name="t")
        count = math_ops.cast(array_ops.size(t), dtypes.float32)
        squares = math_ops.reduce_sum(t * t, math_ops.range(array_ops.rank(t)))
        inverse = math_ops.rsqrt(squares)
        scaled = t * clip_norm
        most = inverse * count
        factor = math_ops.minimum(most, constant_op.constant(1.0) / clip_norm)
        return array_ops.identity(scaled * factor, name=name)

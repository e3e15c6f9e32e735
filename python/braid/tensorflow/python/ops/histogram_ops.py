"""Histograms with bins of equal width."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """The number of each value's bin; values outside of the range [low, high] are in the first and the
    last."""
    with ops.name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = ops.convert_to_tensor(values, name="values")
        sizes = array_ops.shape(values)
        flat = array_ops.reshape(values, [-1])
        value_range = ops.convert_to_tensor(value_range, name="value_range")
        nbins = _positive(ops.convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins"))
        dtype = values.dtype  # of the quotients
        if dtype.is_integer:
            dtype = dtypes.float32 if dtype.size <= 2 else dtypes.float64
        count = math_ops.cast(nbins, dtype)
        distances = flat - value_range[0]
        scaled = math_ops.truediv(distances, value_range[1] - value_range[0], name="scaled_values")
        bins = math_ops.floor(count * scaled, name="indices")
        # TensorFlow's are int32 whatever `dtype` says.
        bins = math_ops.cast(clip_ops.clip_by_value(bins, 0, count - 1), dtypes.int32)
        return array_ops.reshape(bins, sizes)


def _positive(nbins):
    """nbins, which the step checks where the program does not know it."""
    known = tensor_util.constant_value(nbins)
    if known is not None and known > 0:
        return nbins
    check = control_flow_ops.Assert(math_ops.greater(nbins, 0), ["nbins %s must > 0" % nbins])
    return control_flow_ops.with_dependencies([check], nbins)


@tf_export("histogram_fixed_width")
def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """How many values are in each of `nbins` bins of the range [low, high]."""
    with ops.name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as name:
        return gen_math_ops._histogram_fixed_width(values, value_range, nbins, dtype=dtype, name=name)

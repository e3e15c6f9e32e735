"""Histograms with bins of equal width."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
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
        flat = array_ops.reshape(values, [-1])
        value_range = ops.convert_to_tensor(value_range, name="value_range")
        nbins = ops.convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins")
        check = control_flow_ops.Assert(math_ops.greater(nbins, 0), ["nbins %s must > 0" % nbins])
        nbins = control_flow_ops.with_dependencies([check], nbins)
        scaled = math_ops.truediv(flat - value_range[0], value_range[1] - value_range[0])
        bins = math_ops.floor(math_ops.cast(nbins, scaled.dtype) * scaled)
        bins = clip_ops.clip_by_value(bins, 0, math_ops.cast(nbins - 1, scaled.dtype))
        # TensorFlow's are int32 whatever `dtype` says.
        return array_ops.reshape(math_ops.cast(bins, dtypes.int32), array_ops.shape(values))


@tf_export("histogram_fixed_width")
def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """How many values are in each of `nbins` bins of the range [low, high]."""
    with ops.name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as name:
        return gen_math_ops._histogram_fixed_width(values, value_range, nbins, dtype=dtype, name=name)

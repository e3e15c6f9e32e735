"""Windows for frames of signals."""

import math

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("signal.hann_window")
def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Hann's window: 0.5 - 0.5 * cos. periodic: for spectra; otherwise it is symmetric, for filters."""
    return _raised_cosine_window(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@tf_export("signal.hamming_window")
def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Hamming's window: 0.54 - 0.46 * cos. periodic: for spectra; otherwise it is symmetric, for filters."""
    return _raised_cosine_window(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine_window(name, default_name, window_length, periodic, dtype, a, b):
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError("dtype must be a floating point type. Found %s" % dtype)
    with ops.name_scope(name, default_name, [window_length, periodic]):
        window_length = ops.convert_to_tensor(window_length, dtype=dtypes.int32, name="window_length")
        window_length.get_shape().assert_has_rank(0)
        length = tensor_util.constant_value(window_length)
        if length == 1:
            return array_ops.ones([1], dtype=dtype)
        periodic = math_ops.cast(
            ops.convert_to_tensor(periodic, dtype=dtypes.bool, name="periodic"), dtypes.int32
        )
        is_even = 1 - math_ops.mod(window_length, 2)
        period = math_ops.cast(window_length + periodic * is_even - 1, dtype)
        places = math_ops.cast(math_ops.range(window_length), dtype)
        angles = constant_op.constant(2 * math.pi, dtype=dtype) * places / period
        if length is not None:
            return math_ops.cast(a - b * math_ops.cos(angles), dtype)
        return control_flow_ops.cond(
            math_ops.equal(window_length, 1),
            lambda: array_ops.ones([1], dtype=dtype),
            lambda: math_ops.cast(a - b * math_ops.cos(angles), dtype),
        )

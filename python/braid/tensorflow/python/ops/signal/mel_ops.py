"""The mel scale of frequencies."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.signal import shape_ops
from braid.tensorflow.python.util.tf_export import tf_export

_BREAK_FREQUENCY_HERTZ = 700.0
_HIGH_FREQUENCY_Q = 1127.0


def _hertz_to_mel(frequencies_hertz, name=None):
    with ops.name_scope(name, "hertz_to_mel", [frequencies_hertz]):
        frequencies = ops.convert_to_tensor(frequencies_hertz)
        return _HIGH_FREQUENCY_Q * math_ops.log(1.0 + frequencies / _BREAK_FREQUENCY_HERTZ)


def _validate_arguments(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype):
    if num_mel_bins <= 0:
        raise ValueError("num_mel_bins must be positive. Got: %s" % num_mel_bins)
    if lower_edge_hertz < 0.0:
        raise ValueError("lower_edge_hertz must be non-negative. Got: %s" % lower_edge_hertz)
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(
            "lower_edge_hertz %.1f >= upper_edge_hertz %.1f" % (lower_edge_hertz, upper_edge_hertz)
        )
    rate = tensor_util.constant_value(sample_rate) if tensor_util.is_tensor(sample_rate) else sample_rate
    if rate is not None:
        if rate <= 0.0:
            raise ValueError("sample_rate must be positive. Got: %s" % rate)
        if upper_edge_hertz > rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got %s "
                "for "
                "sample_rate: %s" % (upper_edge_hertz, rate)
            )
    if not dtype.is_floating:
        raise ValueError("dtype must be a floating point type. Got: %s" % dtype)


@tf_export("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins=20,
    num_spectrogram_bins=129,
    sample_rate=8000,
    lower_edge_hertz=125.0,
    upper_edge_hertz=3800.0,
    dtype=dtypes.float32,
    name=None,
):
    """The matrix [num_spectrogram_bins, num_mel_bins] that makes mel spectra of linear ones.

    Its columns are triangles at equal distances on the mel scale of HTK.
    """
    dtype = dtypes.as_dtype(dtype)
    with ops.name_scope(name, "linear_to_mel_weight_matrix") as name:
        _validate_arguments(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        sample_rate = math_ops.cast(sample_rate, dtype, name="sample_rate")
        lower = ops.convert_to_tensor(lower_edge_hertz, dtype, name="lower_edge_hertz")
        upper = ops.convert_to_tensor(upper_edge_hertz, dtype, name="upper_edge_hertz")
        zero = ops.convert_to_tensor(0.0, dtype)
        dropped = 1  # the constant part of the spectrum, which no triangle has
        linear = math_ops.linspace(zero, sample_rate / 2.0, num_spectrogram_bins)[dropped:]
        bins = array_ops.expand_dims(_hertz_to_mel(linear), 1)
        edges = math_ops.linspace(_hertz_to_mel(lower), _hertz_to_mel(upper), num_mel_bins + 2)
        edges = shape_ops.frame(edges, frame_length=3, frame_step=1)
        low, middle, high = (array_ops.reshape(edges[:, i], [1, num_mel_bins]) for i in range(3))
        rising = (bins - low) / (middle - low)
        falling = (high - bins) / (high - middle)
        weights = math_ops.maximum(zero, math_ops.minimum(rising, falling))
        return array_ops.pad(weights, [[dropped, 0], [0, 0]], name=name)

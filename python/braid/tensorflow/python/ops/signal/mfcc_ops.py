"""Mel frequency cepstral coefficients."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.signal import dct_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """The coefficients of logarithms of mel spectra [..., bins], as HTK computes them."""
    with ops.name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectra = ops.convert_to_tensor(log_mel_spectrograms, dtype=dtypes.float32)
        known = spectra.get_shape().dims[-1].value if spectra.get_shape().ndims else None
        if known == 0:
            raise ValueError("num_mel_bins must be positive. Got: %s" % spectra)
        made = dct_ops.dct(spectra, type=2)
        count = array_ops.shape(spectra)[-1] if known is None else known
        return made * math_ops.rsqrt(math_ops.cast(count, dtypes.float32) * 2.0)

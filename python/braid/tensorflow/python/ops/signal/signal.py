"""Signals (tf.signal)."""

from braid.tensorflow.python.ops.signal.dct_ops import dct, idct
from braid.tensorflow.python.ops.signal.fft_ops import fft, fft2d, fft3d, fftshift
from braid.tensorflow.python.ops.signal.fft_ops import ifft, ifft2d, ifft3d, ifftshift
from braid.tensorflow.python.ops.signal.fft_ops import irfft, irfft2d, irfft3d
from braid.tensorflow.python.ops.signal.fft_ops import rfft, rfft2d, rfft3d
from braid.tensorflow.python.ops.signal.mel_ops import linear_to_mel_weight_matrix
from braid.tensorflow.python.ops.signal.mfcc_ops import mfccs_from_log_mel_spectrograms
from braid.tensorflow.python.ops.signal.reconstruction_ops import overlap_and_add
from braid.tensorflow.python.ops.signal.shape_ops import frame
from braid.tensorflow.python.ops.signal.spectral_ops import inverse_stft, inverse_stft_window_fn, stft
from braid.tensorflow.python.ops.signal.window_ops import hamming_window, hann_window

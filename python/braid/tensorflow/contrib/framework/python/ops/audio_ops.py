"""The ops of audio under contrib's name: decode_wav, encode_wav, audio_spectrogram, mfcc."""

from braid.tensorflow.python.ops.gen_audio_ops import (  # noqa: F401
    audio_spectrogram,
    decode_wav,
    encode_wav,
    mfcc,
)

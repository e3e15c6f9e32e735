"""tf.contrib.resampler: pixels of images at places between them."""

from braid.tensorflow.contrib.resampler.python.ops.resampler_ops import resampler  # noqa: F401

"""A former place of tf.contrib.data.sliding_window_batch."""

from braid.tensorflow.contrib.data import sliding_window_batch  # noqa: F401

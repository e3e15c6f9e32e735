"""Modules of tf.contrib.learn that programs import from inside."""

from braid.tensorflow.contrib.learn.python.learn.estimators import run_config  # noqa: F401

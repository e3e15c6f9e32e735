"""estimator_export, where TensorFlow has it."""

from braid.tensorflow.python.util.tf_export import estimator_export  # noqa: F401

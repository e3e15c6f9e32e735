"""The switch between TensorFlow 1 and 2: Braid is TensorFlow 1."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["disable_v2_behavior"])
def disable_v2_behavior():
    """Nothing: graphs and sessions are all that there is."""


@tf_export(v1=["enable_v2_behavior"])
def enable_v2_behavior():
    """NotImplementedError."""
    raise NotImplementedError(
        "tf.enable_v2_behavior: Braid is TensorFlow 1. Build graphs and run them in a tf.Session"
    )

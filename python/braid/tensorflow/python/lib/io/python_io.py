"""tf.python_io."""

from braid.tensorflow.python.lib.io.tf_record import *  # noqa: F401,F403

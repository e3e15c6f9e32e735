"""All of tf.losses."""

from braid.tensorflow.python.ops.losses.losses_impl import *  # noqa: F401,F403
from braid.tensorflow.python.ops.losses.util import *  # noqa: F401,F403

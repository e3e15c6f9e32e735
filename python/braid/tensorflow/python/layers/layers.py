"""All of tf.layers."""

from braid.tensorflow.python.layers.base import InputSpec, Layer  # noqa: F401
from braid.tensorflow.python.layers.convolutional import *  # noqa: F401,F403
from braid.tensorflow.python.layers.core import *  # noqa: F401,F403
from braid.tensorflow.python.layers.normalization import *  # noqa: F401,F403
from braid.tensorflow.python.layers.pooling import *  # noqa: F401,F403

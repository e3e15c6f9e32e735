"""tf.contrib.recurrent: recurrences that compute cells again for their gradients."""

from braid.tensorflow.contrib.recurrent.python.recurrent_api import *  # noqa: F401,F403

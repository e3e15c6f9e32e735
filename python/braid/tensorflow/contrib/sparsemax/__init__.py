"""tf.contrib.sparsemax: a softmax with zeros."""

from braid.tensorflow.contrib.sparsemax.python.ops.sparsemax import sparsemax  # noqa: F401
from braid.tensorflow.contrib.sparsemax.python.ops.sparsemax_loss import sparsemax_loss  # noqa: F401

"""What tf.gradients returns for a tensor that no path leads to."""

import enum

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """NONE: None. ZERO: zeros of the tensor's shape."""

    NONE = "none"
    ZERO = "zero"

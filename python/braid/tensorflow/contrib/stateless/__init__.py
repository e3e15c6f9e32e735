"""tf.contrib.stateless: random numbers that their seed gives alone."""

from braid.tensorflow.python.ops.stateless_random_ops import stateless_multinomial  # noqa: F401
from braid.tensorflow.python.ops.stateless_random_ops import stateless_random_normal  # noqa: F401
from braid.tensorflow.python.ops.stateless_random_ops import stateless_random_uniform  # noqa: F401
from braid.tensorflow.python.ops.stateless_random_ops import stateless_truncated_normal  # noqa: F401

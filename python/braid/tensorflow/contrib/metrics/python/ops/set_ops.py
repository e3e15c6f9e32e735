"""tf.sets, as programs import it from here."""

from braid.tensorflow.python.ops.sets import set_difference  # noqa: F401
from braid.tensorflow.python.ops.sets import set_intersection  # noqa: F401
from braid.tensorflow.python.ops.sets import set_size  # noqa: F401
from braid.tensorflow.python.ops.sets import set_union  # noqa: F401

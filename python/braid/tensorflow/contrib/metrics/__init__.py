"""tf.contrib.metrics: tf.metrics under the names of before, several at once, and metrics of one batch."""

from braid.tensorflow.contrib.metrics.python.metrics.classification import f1_score  # noqa: F401
from braid.tensorflow.contrib.metrics.python.ops.histogram_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.metrics.python.ops.metric_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.metrics.python.ops.set_ops import *  # noqa: F401,F403


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.metrics.{name}"))

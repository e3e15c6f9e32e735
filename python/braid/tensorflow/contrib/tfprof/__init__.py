"""tf.profiler under its old name (tf.contrib.tfprof), and ProfileContext."""

from braid.tensorflow.contrib.tfprof import model_analyzer  # noqa: F401
from braid.tensorflow.python.profiler import tfprof_logger  # noqa: F401
from braid.tensorflow.python.profiler.profile_context import ProfileContext  # noqa: F401

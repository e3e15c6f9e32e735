"""arg_scope and variables, as programs import them from inside."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.variables import *  # noqa: F401,F403

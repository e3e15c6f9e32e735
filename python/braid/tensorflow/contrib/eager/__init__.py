"""tf.contrib.eager: what of it works in graphs."""

from braid.tensorflow import missing
from braid.tensorflow.contrib.eager.python.saver import get_optimizer_variables  # noqa: F401
from braid.tensorflow.python.eager.context import executing_eagerly  # noqa: F401
from braid.tensorflow.python.eager.context import executing_eagerly as in_eager_mode  # noqa: F401
from braid.tensorflow.python.framework.ops import enable_eager_execution  # noqa: F401
from braid.tensorflow.python.framework.test_util import (  # noqa: F401
    run_all_in_graph_and_eager_modes as run_all_tests_in_graph_and_eager_modes,
    run_in_graph_and_eager_modes as run_test_in_graph_and_eager_modes,
)
from braid.tensorflow.python.framework.tensor_spec import TensorSpec  # noqa: F401
from braid.tensorflow.python.ops.custom_gradient import custom_gradient  # noqa: F401
from braid.tensorflow.python.ops.resource_variable_ops import ResourceVariable as Variable  # noqa: F401
from braid.tensorflow.python.ops.script_ops import eager_py_func as py_func  # noqa: F401
from braid.tensorflow.python.ops.template import make_template_internal as make_template  # noqa: F401
from braid.tensorflow.python.training.tracking.tracking import (  # noqa: F401
    AutoTrackable as Checkpointable,
)
from braid.tensorflow.python.training.tracking.util import CheckpointV1 as Checkpoint  # noqa: F401


def __getattr__(name):
    raise AttributeError(missing.message(f"contrib.eager.{name}"))

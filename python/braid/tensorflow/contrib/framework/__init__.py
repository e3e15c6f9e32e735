"""tf.contrib.framework: arg_scope, variables of models and the names of what tf has."""

from braid.tensorflow.contrib.framework.python.framework.graph_util import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.framework.tensor_util import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.arg_scope import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.checkpoint_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.script_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.variables import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.framework.checkpoint_utils import (  # noqa: F401
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from braid.tensorflow.python.framework.ops import prepend_name_scope  # noqa: F401
from braid.tensorflow.python.framework.ops import strip_name_scope  # noqa: F401
from braid.tensorflow.python.framework.smart_cond import smart_case  # noqa: F401
from braid.tensorflow.python.framework.smart_cond import smart_cond  # noqa: F401
from braid.tensorflow.python.framework.smart_cond import smart_constant_value  # noqa: F401
from braid.tensorflow.python.framework.tensor_spec import BoundedTensorSpec  # noqa: F401
from braid.tensorflow.python.framework.tensor_spec import TensorSpec  # noqa: F401
from braid.tensorflow.python.ops.check_ops import is_non_decreasing  # noqa: F401
from braid.tensorflow.python.ops.check_ops import is_numeric_tensor  # noqa: F401
from braid.tensorflow.python.ops.check_ops import is_strictly_increasing  # noqa: F401
from braid.tensorflow.python.ops.data_flow_ops import RecordInput  # noqa: F401
from braid.tensorflow.python.ops.init_ops import convolutional_delta_orthogonal  # noqa: F401
from braid.tensorflow.python.ops.init_ops import convolutional_orthogonal_1d  # noqa: F401
from braid.tensorflow.python.ops.init_ops import convolutional_orthogonal_2d  # noqa: F401
from braid.tensorflow.python.ops.init_ops import convolutional_orthogonal_3d  # noqa: F401
from braid.tensorflow.python.ops.sort_ops import argsort  # noqa: F401
from braid.tensorflow.python.ops.sort_ops import sort  # noqa: F401
from braid.tensorflow.python.util import nest  # noqa: F401
from braid.tensorflow.python.util.deprecation import deprecated  # noqa: F401
from braid.tensorflow.python.util.deprecation import deprecated_arg_values  # noqa: F401
from braid.tensorflow.python.util.deprecation import deprecated_args  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.framework.{name}"))

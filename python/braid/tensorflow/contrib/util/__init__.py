"""tf.contrib.util: tensors and arrays as messages, and the ops that a graph uses."""

from braid.tensorflow.python.framework.meta_graph import (  # noqa: F401
    ops_used_by_graph_def,
    stripped_op_list_for_graph,
)
from braid.tensorflow.python.framework.tensor_util import MakeNdarray as make_ndarray  # noqa: F401
from braid.tensorflow.python.framework.tensor_util import constant_value  # noqa: F401
from braid.tensorflow.python.framework.tensor_util import make_tensor_proto  # noqa: F401

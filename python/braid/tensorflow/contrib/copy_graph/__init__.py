"""tf.contrib.copy_graph: copies of variables and ops in other graphs."""

from braid.tensorflow.contrib.copy_graph.python.util.copy_elements import (  # noqa: F401
    copy_op_to_graph,
    copy_variable_to_graph,
    get_copied_op,
)

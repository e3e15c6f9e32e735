"""Work on GraphDefs (tf.graph_util)."""

from braid.tensorflow.python.framework.graph_util_impl import (  # noqa: F401
    convert_variables_to_constants,
    extract_sub_graph,
    must_run_on_cpu,
    remove_training_nodes,
    tensor_shape_from_node_def_name,
)
from braid.tensorflow.python.framework.importer import import_graph_def  # noqa: F401

"""The op that a saved model runs when it is loaded."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops, lookup_ops, variables
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["saved_model.main_op.main_op"])
def main_op():
    """An op that initializes variables, local variables and tables."""
    return control_flow_ops.group(
        variables.global_variables_initializer(),
        variables.local_variables_initializer(),
        lookup_ops.tables_initializer(),
    )


@tf_export(v1=["saved_model.main_op_with_restore", "saved_model.main_op.main_op_with_restore"])
def main_op_with_restore(restore_op_name):
    """As main_op(); afterwards it runs the op named `restore_op_name`."""
    with ops.control_dependencies([main_op()]):
        return control_flow_ops.group(restore_op_name)

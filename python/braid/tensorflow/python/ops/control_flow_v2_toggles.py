"""Control flow by functions (If, While) in place of Switch and Merge: tf.cond and tf.while_loop make the latter."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["enable_control_flow_v2"])
def enable_control_flow_v2():
    raise NotImplementedError("tf.enable_control_flow_v2 is not in Braid: tf.cond and tf.while_loop make Switch and Merge")


@tf_export(v1=["disable_control_flow_v2"])
def disable_control_flow_v2():
    """Nothing to do."""


@tf_export(v1=["control_flow_v2_enabled"])
def control_flow_v2_enabled():
    return False


def output_all_intermediates():
    return False

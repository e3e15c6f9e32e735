"""Control flow by functions (If, While), which tf.cond and tf.while_loop do not make."""

from braid.tensorflow.python.ops.control_flow_util import (
    control_flow_v2_enabled,
    disable_control_flow_v2,
    enable_control_flow_v2,
)

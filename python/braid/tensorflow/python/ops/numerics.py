"""Checks for numbers that are infinite or none."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["debugging.assert_all_finite", "verify_tensor_all_finite"])
def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """The tensor; the step fails with the message if an element is NaN or infinite."""
    x = deprecation.deprecated_argument_lookup("x", x, "t", t)
    message = deprecation.deprecated_argument_lookup("message", message, "msg", msg)
    return verify_tensor_all_finite_v2(x, message, name)


def verify_tensor_all_finite_v2(x, message, name=None):
    with ops.name_scope(name, "VerifyFinite", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        with ops.colocate_with(x):
            check = array_ops.check_numerics(x, message=message)
            return control_flow_ops.with_dependencies([check], x)


@tf_export(v1=["add_check_numerics_ops"])
def add_check_numerics_ops():
    """An operation that checks all floating-point tensors of the graph for NaN and infinity."""
    checks = []
    for op in ops.get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
                continue
            if op._get_control_flow_context() is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations "
                    "such as `tf.cond()` or `tf.while_loop()`."
                )
            with ops.control_dependencies(checks[-1:]):  # one after the other, so that the first one is named
                checks.append(array_ops.check_numerics(output, message=output.name))
    return control_flow_ops.group(*checks)

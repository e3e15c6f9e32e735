"""`assert`."""

from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import control_flow_ops


def assert_stmt(expression1, expression2):
    """`expression2`: a function that gives the message, or the list of tensors to print."""
    if tensor_util.is_tensor(expression1):
        data = expression2()
        return control_flow_ops.Assert(expression1, data if isinstance(data, list) else [data])
    assert expression1, expression2()
    return None

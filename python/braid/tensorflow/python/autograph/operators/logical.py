"""`and`, `or`, `not`, `==` and `!=`."""

from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_math_ops


def not_(a):
    return gen_math_ops.logical_not(a) if tensor_util.is_tensor(a) else not a


def and_(a, b):
    """`a` and `b` are functions: the second one is called, or runs, only if the first one's value is true."""
    value = a()
    return control_flow_ops.cond(value, b, lambda: value) if tensor_util.is_tensor(value) else value and b()


def or_(a, b):
    value = a()
    return control_flow_ops.cond(value, lambda: value, b) if tensor_util.is_tensor(value) else value or b()


def eq(a, b):
    if tensor_util.is_tensor(a) or tensor_util.is_tensor(b):
        return gen_math_ops.equal(a, b)
    return a == b


def not_eq(a, b):
    if tensor_util.is_tensor(a) or tensor_util.is_tensor(b):
        return not_(eq(a, b))
    return a != b

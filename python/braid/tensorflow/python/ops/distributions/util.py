"""What the distributions share."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops


def positive_parameter(value, name, validate_args, dtype=None):
    """A parameter as a tensor, which is checked in the step if arguments are validated."""
    value = ops.convert_to_tensor(value, name=name, dtype=dtype)
    with ops.control_dependencies([check_ops.assert_positive(value)] if validate_args else []):
        return array_ops.identity(value, name=name)


def get_logits_and_probs(logits=None, probs=None, multidimensional=False, validate_args=False, name=None):
    """(logits, probabilities) from one of both. multidimensional: of classes, in the last dimension."""
    with ops.name_scope(name or "get_logits_and_probs", values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = ops.convert_to_tensor(logits, name="logits")
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if multidimensional:
                return logits, nn_ops.softmax(logits, name="probs")
            return logits, math_ops.sigmoid(logits, name="probs")
        probs = ops.convert_to_tensor(probs, name="probs")
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            one = math_ops.cast(1.0, probs.dtype)
            checks = [check_ops.assert_non_negative(probs)]
            if multidimensional:
                checks.append(
                    check_ops.assert_near(
                        math_ops.reduce_sum(probs, -1), one, message="probs does not sum to 1"
                    )
                )
            else:
                checks.append(check_ops.assert_less_equal(probs, one))
            with ops.control_dependencies(checks):
                probs = array_ops.identity(probs)
        if multidimensional:
            return math_ops.log(probs, name="logits"), probs
        return math_ops.log(probs) - math_ops.log1p(-1.0 * probs), probs


def same_float_dtype(*tensors):
    """The one type of all tensors."""
    return check_ops.assert_same_float_dtype(list(tensors))

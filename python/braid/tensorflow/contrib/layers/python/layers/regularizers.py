"""Regularizers: functions of weights that give a loss."""

import numbers

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn

__all__ = [
    "l1_regularizer",
    "l2_regularizer",
    "l1_l2_regularizer",
    "sum_regularizer",
    "apply_regularization",
]


def _checked(scale, what="scale"):
    """Whether the factor is the number 0. ValueError: it is an integer, or negative."""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{what} cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a {what} less than 0 on a regularizer: {scale}")
        return scale == 0.0
    return False


def l1_regularizer(scale, scope=None):
    """scale * sum |w|."""
    if _checked(scale):
        return lambda _: None

    def l1(weights, name=None):
        with ops.name_scope(scope, "l1_regularizer", [weights]) as name:
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return math_ops.multiply(factor, math_ops.reduce_sum(math_ops.abs(weights)), name=name)

    return l1


def l2_regularizer(scale, scope=None):
    """scale * sum w² / 2."""
    if _checked(scale):
        return lambda _: None

    def l2(weights):
        with ops.name_scope(scope, "l2_regularizer", [weights]) as name:
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return math_ops.multiply(factor, nn.l2_loss(weights), name=name)

    return l2


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """The sum of both."""
    _checked(scale_l1, "scale_l1")
    _checked(scale_l2, "scale_l2")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list, scope=None):
    """The sum of regularizers, None if there are none."""
    regularizer_list = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not regularizer_list:
        return None

    def sum_reg(weights):
        with ops.name_scope(scope, "sum_regularizer", [weights]) as name:
            losses = [regularizer(weights) for regularizer in regularizer_list]
            losses = [loss for loss in losses if loss is not None]
            return math_ops.add_n(losses, name=name) if losses else None

    return sum_reg


def apply_regularization(regularizer, weights_list=None):
    """The sum of what the regularizer gives for weights (those of the collection WEIGHTS if None)."""
    if not weights_list:
        weights_list = ops.get_collection(ops.GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with ops.name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(w) for w in weights_list]
        penalties = [p if p is not None else constant_op.constant(0.0) for p in penalties]
        for p in penalties:
            if p.get_shape().ndims != 0:
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank {p.get_shape().ndims}."
                )
        summed = math_ops.add_n(penalties, name=scope)
        ops.add_to_collection(ops.GraphKeys.REGULARIZATION_LOSSES, summed)
        return summed

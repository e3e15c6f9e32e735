"""Stochastic gradient descent with warm restarts (Loshchilov and Hutter, 2017)."""

import math

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops, math_ops


def sgdr_decay(learning_rate, global_step, initial_period_steps, t_mul=2.0, m_mul=1.0, name=None):
    """The learning rate, which falls to 0 along a cosine and then begins anew.

    t_mul, m_mul: by which each period is longer than the one before, and by which its first rate is
    multiplied.
    """
    if global_step is None:
        raise ValueError("global_step is required for sgdr_decay.")
    given = [learning_rate, global_step, initial_period_steps, t_mul, m_mul]
    with ops.name_scope(name, "SGDRDecay", given) as name:
        rate = ops.convert_to_tensor(learning_rate, name="initial_learning_rate")
        periods = math_ops.cast(global_step, rate.dtype) / math_ops.cast(initial_period_steps, rate.dtype)
        t_mul, m_mul = math_ops.cast(t_mul, rate.dtype), math_ops.cast(m_mul, rate.dtype)

        def equal_periods():
            restarts = math_ops.floor(periods)
            return restarts, periods - restarts

        def growing_periods():
            restarts = math_ops.floor(math_ops.log(1 - periods * (1 - t_mul)) / math_ops.log(t_mul))
            length = t_mul**restarts
            return restarts, (periods - (1 - length) / (1 - t_mul)) / length

        restarts, part = control_flow_ops.cond(math_ops.equal(t_mul, 1), equal_periods, growing_periods)
        highest = rate * m_mul**restarts
        return math_ops.multiply(0.5 * highest, math_ops.cos(part * math.pi) + 1, name=name)

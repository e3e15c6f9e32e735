"""Conjugate gradients for least squares (Björck, 1996)."""

import collections

from braid.tensorflow.contrib.solvers.python.ops import util
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops

CGLSState = collections.namedtuple("CGLSState", ["i", "x", "r", "p", "gamma"])


def cgls(operator, rhs, tol=1e-6, max_iter=20, name="cgls"):
    """The x of the least |A x - rhs|, as a CGLSState: the number of steps, x, the residual, the last
    direction and the squared norm of the gradient, which ends below tol^2 times the first."""
    with ops.name_scope(name):
        rhs = array_ops.expand_dims(rhs, -1)
        gradient = operator.apply_adjoint(rhs)
        gamma = util.l2norm_squared(gradient)
        limit = tol * tol * gamma

        def is_far(state):
            return math_ops.logical_and(state.i < max_iter, state.gamma > limit)

        def step(state):
            q = operator.apply(state.p)
            alpha = state.gamma / util.l2norm_squared(q)
            r = state.r - alpha * q
            s = operator.apply_adjoint(r)
            gamma = util.l2norm_squared(s)
            p = s + gamma / state.gamma * state.p
            return (CGLSState(state.i + 1, state.x + alpha * state.p, r, p, gamma),)

        x = array_ops.expand_dims(array_ops.zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1)
        zero = array_ops.constant(0, dtype=dtypes.int32)
        state = control_flow_ops.while_loop(is_far, step, [CGLSState(zero, x, rhs, gradient, gamma)])
        state = state if isinstance(state, CGLSState) else state[0]
        return state._replace(**{key: array_ops.squeeze(getattr(state, key)) for key in "xrp"})

"""The method of conjugate gradients (Hestenes and Stiefel, 1952)."""

import collections

from braid.tensorflow.contrib.solvers.python.ops import util
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops

CGState = collections.namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def conjugate_gradient(
    operator, rhs, preconditioner=None, x=None, tol=1e-4, max_iter=20, name="conjugate_gradient"
):
    """The solution of A x = rhs for a symmetric positive definite operator (util.create_operator).

    x: where to begin; zeros if None. tol: of the residual's norm, over that of the first. A CGState: the
    number of steps, x, the residual, the last direction, and residual * preconditioned residual.
    """
    condition = (lambda r: r) if preconditioner is None else preconditioner.apply
    with ops.name_scope(name):
        rhs = array_ops.expand_dims(rhs, -1)
        if x is None:
            x = array_ops.expand_dims(array_ops.zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1)
            residual = rhs
        else:
            x = array_ops.expand_dims(x, -1)
            residual = rhs - operator.apply(x)
        limit = tol * linalg_ops.norm(residual)

        def is_far(state):
            return math_ops.logical_and(state.i < max_iter, linalg_ops.norm(state.r) > limit)

        def step(state):
            z = operator.apply(state.p)
            alpha = state.gamma / util.dot(state.p, z)
            r = state.r - alpha * z
            q = condition(r)
            gamma = util.dot(r, q)
            p = q + gamma / state.gamma * state.p
            return (CGState(state.i + 1, state.x + alpha * state.p, r, p, gamma),)

        p = condition(residual)
        zero = array_ops.constant(0, dtype=dtypes.int32)
        begin = CGState(zero, x, residual, p, util.dot(residual, p))
        state = control_flow_ops.while_loop(is_far, step, [begin])
        state = state if isinstance(state, CGState) else state[0]
        return state._replace(**{key: array_ops.squeeze(getattr(state, key)) for key in "xrp"})

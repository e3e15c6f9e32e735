"""Weights of the objective and the constraints: the greatest eigenvector of a matrix that learns.

Its columns add up to 1. See definition 2 and algorithm 2 of arXiv 1804.06500.
"""

import math

from braid.tensorflow.contrib.constrained_optimization.python import constrained_optimizer
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, linalg_ops, math_ops, state_ops


def _maximal_eigenvector_power_method(matrix, epsilon=1e-6, maximum_iterations=100):
    """The right eigenvector of the greatest eigenvalue, of length 1, by the power method.

    It ends when a vector differs by no more than epsilon from the one before, or after maximum_iterations.

    Raises:
      ValueError: the matrix has no floating-point numbers, or a limit is not above 0.
    """
    if not matrix.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    if epsilon <= 0.0:
        raise ValueError("epsilon must be strictly positive")
    if maximum_iterations <= 0:
        raise ValueError("maximum_iterations must be strictly positive")

    def goes_on(iteration, vector, old_vector):
        is_early = iteration < maximum_iterations
        return math_ops.logical_and(is_early, linalg_ops.norm(vector - old_vector) > epsilon)

    def step(iteration, vector, old_vector):
        iteration += 1
        product = math_ops.matmul(matrix, array_ops.expand_dims(vector, 1))[:, 0]
        return iteration, product / linalg_ops.norm(product), vector

    start = array_ops.constant(0)
    vector = array_ops.ones_like(matrix[:, 0])
    vector /= linalg_ops.norm(vector)
    loop_vars = step(start, vector, vector)
    return control_flow_ops.while_loop(goes_on, step, loop_vars=loop_vars, name="power_method")[1]


def _project_stochastic_matrix_wrt_euclidean_norm(matrix):
    """The nearest square matrix without negative elements whose columns add up to 1.

    Raises:
      ValueError: the matrix is no square one of floating-point numbers of a known size.
    """
    if not matrix.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    shape = matrix.get_shape()
    if shape.ndims is None:
        raise ValueError("matrix must have known shape")
    if shape.ndims != 2:
        raise ValueError("matrix must be two dimensional (instead is %d-dimensional)" % shape.ndims)
    if shape[0] != shape[1]:
        raise ValueError("matrix must be square (instead has shape (%d,%d))" % (shape[0], shape[1]))
    dimension = shape.dims[0].value
    if dimension is None:
        raise ValueError("matrix must have fully-known shape")

    def goes_on(iteration, matrix, inactive, old_inactive):
        is_early = iteration < dimension
        return math_ops.logical_and(is_early, math_ops.reduce_any(math_ops.not_equal(inactive, old_inactive)))

    def step(iteration, matrix, inactive, old_inactive):
        """Moves the elements of each column that are not 0 yet, all alike; those that become negative are 0."""
        iteration += 1
        missing = 1.0 - math_ops.reduce_sum(matrix, axis=0, keepdims=True)
        scale = missing / math_ops.maximum(1.0, math_ops.reduce_sum(inactive, axis=0, keepdims=True))
        matrix = matrix + scale * inactive
        positive = math_ops.cast(matrix > 0, matrix.dtype)
        return iteration, matrix * positive, positive, inactive

    start = array_ops.constant(0)
    ones = array_ops.ones_like(matrix, dtype=matrix.dtype)
    loop_vars = step(start, matrix, ones, ones)
    return control_flow_ops.while_loop(goes_on, step, loop_vars=loop_vars, name="euclidean_projection")[1]


def _project_log_stochastic_matrix_wrt_kl_divergence(log_matrix):
    """The logarithms of a matrix whose columns are scaled so that they add up to 1."""
    log_matrix = log_matrix - math_ops.reduce_max(log_matrix, axis=0, keepdims=True)
    sums = math_ops.reduce_sum(math_ops.exp(log_matrix), axis=0, keepdims=True)
    return log_matrix - math_ops.log(sums)


class _SwapRegretOptimizer(constrained_optimizer._GameOptimizer):
    """The state stands for the matrix; its first row is the objective's."""

    _STATE_NAME = "swap_regret_optimizer_state"

    def _stochastic_matrix(self, state):
        raise NotImplementedError

    def _distribution(self, state):
        distribution = _maximal_eigenvector_power_method(self._stochastic_matrix(state))
        distribution = math_ops.abs(distribution)
        distribution /= math_ops.reduce_sum(distribution)
        return distribution

    def _loss_and_gradient(self, state, objective, constraints, proxy_constraints):
        zero = array_ops.zeros((1,), dtype=constraints.dtype)
        violations = array_ops.concat((zero, constraints), axis=0)
        values = array_ops.concat((array_ops.expand_dims(objective, 0), proxy_constraints), axis=0)
        distribution = self._distribution(state)
        loss = math_ops.tensordot(math_ops.cast(distribution, values.dtype), values, 1)
        gradient = math_ops.matmul(
            array_ops.expand_dims(math_ops.cast(violations, distribution.dtype), 1),
            array_ops.expand_dims(distribution, 0),
        )
        return loss, gradient

    def _constraint_grad_and_var(self, state, gradient):
        return -gradient, state


class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """A matrix that gradients are added to. The arguments are those of AdditiveExternalRegretOptimizer."""

    def _initial_state(self, num_constraints):
        size = num_constraints + 1
        return array_ops.concat((array_ops.ones((1, size)), array_ops.zeros((size - 1, size))), axis=0)

    def _stochastic_matrix(self, state):
        return state

    def _projection_op(self, state, name=None):
        with ops.colocate_with(state):
            return state_ops.assign(state, _project_stochastic_matrix_wrt_euclidean_norm(state), name=name)


class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """A matrix to whose logarithms gradients are added."""

    def __init__(
        self,
        optimizer,
        constraint_optimizer=None,
        minimum_multiplier_radius=1e-3,
        initial_multiplier_radius=None,
    ):
        """minimum_multiplier_radius: divided by the number of constraints and one, the least that an element
        of the matrix may be; initial_multiplier_radius: the same of the elements of constraints at first, by
        default the least one. The others are those of AdditiveExternalRegretOptimizer.

        Raises:
          ValueError: a radius is outside of its range.
        """
        super().__init__(optimizer=optimizer, constraint_optimizer=constraint_optimizer)
        if minimum_multiplier_radius <= 0.0 or minimum_multiplier_radius >= 1.0:
            raise ValueError("minimum_multiplier_radius must be in the range (0,1)")
        if initial_multiplier_radius is None:
            initial_multiplier_radius = minimum_multiplier_radius
        elif not minimum_multiplier_radius <= initial_multiplier_radius <= 1.0:
            raise ValueError("initial_multiplier_radius must be in the range [minimum_multiplier_radius,1]")
        self._minimum_multiplier_radius = minimum_multiplier_radius
        self._initial_multiplier_radius = initial_multiplier_radius

    def _initial_state(self, num_constraints):
        size = num_constraints + 1
        first = math.log(1.0 - self._initial_multiplier_radius * (size - 1) / size)
        others = math.log(self._initial_multiplier_radius / size)
        rows = (
            array_ops.constant(first, dtype=dtypes.float32, shape=(1, size)),
            array_ops.constant(others, dtype=dtypes.float32, shape=(size - 1, size)),
        )
        return array_ops.concat(rows, axis=0)

    def _stochastic_matrix(self, state):
        return math_ops.exp(state)

    def _projection_op(self, state, name=None):
        with ops.colocate_with(state):
            size = state.get_shape().dims[0].value
            least = math_ops.log(self._minimum_multiplier_radius / math_ops.to_float(size))
            projected = _project_log_stochastic_matrix_wrt_kl_divergence(state)
            return state_ops.assign(state, math_ops.maximum(projected, least), name=name)

"""Lagrange multipliers, one for each constraint (definition 1 and algorithm 3 of arXiv 1804.06500)."""

from braid.tensorflow.contrib.constrained_optimization.python import constrained_optimizer
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, state_ops


def _project_multipliers_wrt_euclidean_norm(multipliers, radius):
    """The nearest vector without negative elements whose sum is at most `radius`.

    Raises:
      ValueError: multipliers are no vector of floating-point numbers of a known size.
    """
    if not multipliers.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    shape = multipliers.get_shape()
    if shape.ndims is None:
        raise ValueError("multipliers must have known shape")
    if shape.ndims != 1:
        raise ValueError("multipliers must be one dimensional (instead is %d-dimensional)" % shape.ndims)
    dimension = shape.dims[0].value
    if dimension is None:
        raise ValueError("multipliers must have fully-known shape")

    def goes_on(iteration, multipliers, inactive, old_inactive):
        is_early = iteration < dimension
        return math_ops.logical_and(is_early, math_ops.reduce_any(math_ops.not_equal(inactive, old_inactive)))

    def step(iteration, multipliers, inactive, old_inactive):
        """Moves the elements that are not 0 yet, all alike; those that become negative are 0."""
        iteration += 1
        excess = radius - math_ops.reduce_sum(multipliers)
        scale = math_ops.minimum(0.0, excess / math_ops.maximum(1.0, math_ops.reduce_sum(inactive)))
        multipliers = multipliers + scale * inactive
        positive = math_ops.cast(multipliers > 0, multipliers.dtype)
        return iteration, multipliers * positive, positive, inactive

    start = array_ops.constant(0)
    ones = array_ops.ones_like(multipliers, dtype=multipliers.dtype)
    loop_vars = step(start, multipliers, ones, ones)
    return control_flow_ops.while_loop(goes_on, step, loop_vars=loop_vars, name="euclidean_projection")[1]


class _ExternalRegretOptimizer(constrained_optimizer._GameOptimizer):
    """The weights are those of the constraints beside the objective."""

    _STATE_NAME = "external_regret_optimizer_state"

    def _lagrange_multipliers(self, state):
        raise NotImplementedError

    def _loss_and_gradient(self, state, objective, constraints, proxy_constraints):
        multipliers = self._lagrange_multipliers(state)
        weights = math_ops.cast(multipliers, proxy_constraints.dtype)
        loss = objective + math_ops.tensordot(weights, proxy_constraints, 1)
        return loss, math_ops.cast(constraints, multipliers.dtype)


class AdditiveExternalRegretOptimizer(_ExternalRegretOptimizer):
    """Lagrange multipliers that gradients are added to."""

    def __init__(self, optimizer, constraint_optimizer=None, maximum_multiplier_radius=None):
        """optimizer, constraint_optimizer: the tf.train.Optimizers of the model and of the multipliers, by
        default the same. maximum_multiplier_radius: the most that the sum of the multipliers may be.

        Raises:
          ValueError: maximum_multiplier_radius is negative.
        """
        super().__init__(optimizer=optimizer, constraint_optimizer=constraint_optimizer)
        if maximum_multiplier_radius and maximum_multiplier_radius <= 0.0:
            raise ValueError("maximum_multiplier_radius must be strictly positive")
        self._maximum_multiplier_radius = maximum_multiplier_radius

    def _initial_state(self, num_constraints):
        return array_ops.zeros((num_constraints,), dtype=dtypes.float32)

    def _lagrange_multipliers(self, state):
        return state

    def _constraint_grad_and_var(self, state, gradient):
        return -gradient, state

    def _projection_op(self, state, name=None):
        with ops.colocate_with(state):
            if self._maximum_multiplier_radius:
                projected = _project_multipliers_wrt_euclidean_norm(state, self._maximum_multiplier_radius)
            else:
                projected = math_ops.maximum(state, 0.0)
            return state_ops.assign(state, projected, name=name)

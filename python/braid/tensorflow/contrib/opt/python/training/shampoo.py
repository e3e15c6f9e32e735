"""Shampoo: Adagrad with a matrix for each dimension of a variable (Gupta, Koren and Singer, 2018)."""

from braid.tensorflow.contrib.opt.python.training import matrix_functions
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    linalg_ops,
    math_ops,
    state_ops,
)
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.training import optimizer


def GetParam(var, timestep):
    """A parameter at a step: parameters are values or functions of the step."""
    return var(timestep) if callable(var) else var


class ShampooOptimizer(optimizer.Optimizer):
    """Shampoo.

    gbar = gbar_decay * gbar + gbar_weight * g. For each dimension j, Gbar_j = mat_gbar_decay * Gbar_j +
    mat_gbar_weight * g_j g_j', where g_j is g as a matrix whose rows are those of dimension j. The step is
    gbar multiplied in each of the n dimensions by (Gbar_j / the size of j) to the power of -alpha / n, times
    the learning rate. A dimension above max_matrix_size has the diagonal of Gbar_j only.

    Its slots are "gbar", "Gbar_0", ... and, where svd_interval is not 1, "H_0", ... for the powers.
    """

    def __init__(
        self,
        global_step=0,
        max_matrix_size=768,
        gbar_decay=0.0,
        gbar_weight=1.0,
        mat_gbar_decay=1.0,
        mat_gbar_weight=1.0,
        learning_rate=1.0,
        svd_interval=1,
        precond_update_interval=1,
        epsilon=1e-4,
        alpha=0.5,
        use_iterative_root=False,
        use_locking=False,
        name="Shampoo",
    ):
        """Decays, weights, intervals, alpha and the learning rate may be functions of the step.

        svd_interval, precond_update_interval: the steps after which the powers, and the matrices, are
        computed anew. use_iterative_root: powers come from matrix_functions in place of singular value
        decompositions.
        """
        super().__init__(use_locking, name)
        self._global_step = math_ops.cast(global_step, dtypes.float32)
        self._max_matrix_size = max_matrix_size
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._mat_gbar_decay, self._mat_gbar_weight = mat_gbar_decay, mat_gbar_weight
        self._learning_rate = learning_rate
        self._svd_interval = svd_interval
        self._precond_update_interval = precond_update_interval
        self._epsilon = epsilon
        self._alpha = alpha
        self._use_iterative_root = use_iterative_root

    def _keeps_powers(self):
        return callable(self._svd_interval) or self._svd_interval != 1

    def _create_slots(self, var_list):
        for v in var_list:
            with ops.colocate_with(v):
                self._zeros_slot(v, "gbar", self._name)
                for i, size in enumerate(v.get_shape().as_list()):
                    is_matrix = size <= self._max_matrix_size
                    if is_matrix and self._keeps_powers():
                        self._get_or_make_slot(v, linalg_ops.eye(size), f"H_{i}", self._name)
                    shape = [size, size] if is_matrix else [size]
                    self._get_or_make_slot(v, array_ops.zeros(shape), f"Gbar_{i}", self._name)

    def _apply_dense(self, grad, var):
        return self._apply_gradient(grad, var)

    def _resource_apply_dense(self, grad, var):
        return self._apply_gradient(grad, var)

    def _apply_sparse(self, grad, var):
        return self._apply_rows(grad.values, grad.indices, var)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._apply_rows(grad, indices, var)

    def _apply_rows(self, grad, indices, var):
        if var.get_shape().as_list()[0] > self._max_matrix_size and self._gbar_decay == 0.0:
            return self._apply_gradient(grad, var, indices)
        shape = array_ops.shape(var, out_type=indices.dtype)
        return self._apply_gradient(array_ops.scatter_nd(indices[:, None], grad, shape), var)

    def _weighted_average(self, average, decay, decay_now, addition):
        """The new value of a slot: decay times itself + addition."""
        if not callable(decay) and decay == 0.0:
            return addition
        if not callable(decay) and decay == 1.0:
            return state_ops.assign_add(average, addition)
        return state_ops.assign_add(average, (decay_now - 1) * average + addition)

    def _power(self, var, matrix, size, exponent, slot):
        """The power of a matrix; slot: the name of the slot that keeps it, or None."""
        with ops.name_scope("matrix_iterative_power"):
            if self._use_iterative_root:
                root = matrix_functions.matrix_square_root(matrix, size, 100, self._epsilon)
                power = matrix_functions.matrix_inverse_pth_root(
                    root, size, 2 * exponent, 100, 1e-6, ridge_epsilon=0.0
                )
            elif size == 1:
                power = math_ops.pow(matrix + self._epsilon, exponent)
            else:
                damped = matrix + self._epsilon * linalg_ops.eye(size)
                values, u, v = linalg_ops.svd(damped, full_matrices=True)
                values = math_ops.pow(math_ops.maximum(values, self._epsilon), exponent)
                power = math_ops.matmul(v * values, array_ops.transpose(u))
            return power if slot is None else state_ops.assign(self.get_slot(var, slot), power)

    def _full_preconditioner(self, i, grad, var, step, exponent):
        size, others = var.get_shape().as_list()[i], [d for d in range(grad.shape.ndims) if d != i]
        gbar = self.get_slot(var, f"Gbar_{i}")
        interval = GetParam(self._precond_update_interval, step)
        weight = GetParam(self._mat_gbar_weight, step) * interval

        def update():
            outer = math_ops.tensordot(grad, grad, axes=(others, others), name=f"grad_outer_{i}")
            decay = GetParam(self._mat_gbar_decay, step)
            return array_ops.identity(
                self._weighted_average(gbar, self._mat_gbar_decay, decay, weight * outer)
            )

        is_due = math_ops.mod(step, interval) < 1
        matrix = control_flow_ops.cond(is_due, update, lambda: array_ops.identity(gbar)) / float(size)
        if not self._keeps_powers():
            return self._power(var, matrix, size, exponent, None)
        return control_flow_ops.cond(
            math_ops.mod(step, GetParam(self._svd_interval, step)) < 1,
            lambda: array_ops.identity(self._power(var, matrix, size, exponent, f"H_{i}")),
            lambda: array_ops.identity(self.get_slot(var, f"H_{i}")),
        )

    def _diagonal_preconditioner(self, i, grad, var, step, exponent, indices):
        others = [d for d in range(grad.shape.ndims) if d != i]
        squares = grad * grad
        if others:
            size = 1.0 if indices is not None else float(var.get_shape().as_list()[i])
            squares = math_ops.reduce_sum(squares, axis=others) / size
        gbar = self.get_slot(var, f"Gbar_{i}")
        addition = GetParam(self._mat_gbar_weight, step) * squares
        if i == 0 and indices is not None:
            if self._mat_gbar_decay != 1.0:
                raise ValueError(f"Sparse gradients of {var.name} need mat_gbar_decay=1.0.")
            diagonal = array_ops.gather(state_ops.scatter_add(gbar, indices, addition), indices)
        else:
            decay = GetParam(self._mat_gbar_decay, step)
            diagonal = self._weighted_average(gbar, self._mat_gbar_decay, decay, addition)
        diagonal = ops.convert_to_tensor(diagonal)
        powers = math_ops.pow(diagonal, exponent)
        return array_ops.where(math_ops.greater(diagonal, 0), powers, array_ops.zeros_like(diagonal))

    def _apply_gradient(self, grad, var, indices=None):
        """indices: the rows of var that grad has; None: all."""
        step = self._global_step + 1
        if indices is not None:
            if self._gbar_decay != 0.0:
                tf_logging.warning(f"Not applying momentum for variable: {var.name}")
            direction = grad
        else:
            addition = GetParam(self._gbar_weight, step) * grad
            decay, gbar = GetParam(self._gbar_decay, step), self.get_slot(var, "gbar")
            direction = self._weighted_average(gbar, self._gbar_decay, decay, addition)
        shape = var.get_shape().as_list()
        exponent = -GetParam(self._alpha, step) / max(len(shape), 1)
        for i, size in enumerate(shape):  # each turn moves the first dimension to the end
            if size <= self._max_matrix_size:
                power = self._full_preconditioner(i, grad, var, step, exponent)
                direction = math_ops.tensordot(direction, power, axes=([0], [0]), name=f"precond_{i}")
            else:
                power = self._diagonal_preconditioner(i, grad, var, step, exponent, indices)
                direction = array_ops.transpose(direction, [*range(1, len(shape)), 0]) * power
        rate = GetParam(self._learning_rate, step)
        if indices is not None:
            return state_ops.scatter_add(var, indices, -rate * direction)
        return state_ops.assign_sub(var, rate * direction)

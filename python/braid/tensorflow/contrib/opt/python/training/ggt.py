"""GGT, full-matrix adaptive regularization by a window of past gradients (Agarwal et al., 2018)."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    linalg_ops,
    math_ops,
    state_ops,
)
from braid.tensorflow.python.training import optimizer


class GGTOptimizer(optimizer.Optimizer):
    """GGT. All variables are one long vector, ordered by their names.

    With G the matrix whose columns are the last moments, divided by the root of their number, a step is
    G (G'G)^(-3/2) G' m, and outside of G's columns m / (the smallest singular value of G).

    Its variables are global_step, grad_buffer (a row for each of the last `window` moments), moment1 and
    flat_grad.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        use_locking=False,
        name="GGT",
        window=10,
        eps=1e-4,
        svd_eps=1e-6,
        sigma_eps=1e-2,
    ):
        """eps: the part outside of the window is left out where the smallest singular value is not above it.
        svd_eps: is added to the diagonal of G'G. sigma_eps: is added to singular values before division.
        """
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._window = learning_rate, beta1, window
        self._eps, self._svd_eps, self._sigma_eps = eps, svd_eps, sigma_eps
        self._ranges = {}  # of each variable in the long vector, by its name
        self._variables = []

    def _create_slots(self, var_list):
        end = 0
        for v in sorted(var_list, key=lambda v: v.name):
            begin, end = end, end + v.get_shape().num_elements()
            self._ranges[v.name] = begin, end
        first = min(var_list, key=lambda v: v.name)
        dtype = first.dtype.base_dtype
        for name, shape in (
            ("global_step", []),
            ("grad_buffer", [self._window, end]),
            ("moment1", [end]),
            ("flat_grad", [end]),
        ):
            self._create_non_slot_variable(array_ops.zeros(shape, dtype), name, first)

    def _own(self, name):
        return self._get_non_slot_variable(name, graph=ops.get_default_graph())

    def _get_global_step(self):
        return self._own("global_step")

    def _get_moment1(self):
        return self._own("moment1")

    def _get_grad_buffer(self):
        return self._own("grad_buffer")

    def _get_flat_grad(self):
        return self._own("flat_grad")

    def _prepare(self):
        self._variables = []

    def _apply_dense(self, grad, var):
        self._variables.append(var)
        places = math_ops.range(*self._ranges[var.name])
        return state_ops.scatter_update(self._get_flat_grad(), places, array_ops.reshape(grad, [-1])).op

    def _resource_apply_dense(self, grad, var):
        return self._apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _resource_apply_sparse(self, grad, var, indices):
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _finish(self, update_ops, name_scope):
        dtype = self._variables[0].dtype.base_dtype

        def hyper(value):
            return math_ops.cast(self._call_if_callable(value), dtype)

        with ops.control_dependencies(update_ops):
            step = state_ops.assign_add(self._get_global_step(), math_ops.cast(1.0, dtype))
            beta1, moment = hyper(self._beta1), self._get_moment1()
            flat_grad = self._get_flat_grad().read_value()
            moment = state_ops.assign(moment, beta1 * moment + (1 - beta1) * flat_grad)
            row = math_ops.floormod(math_ops.cast(step, dtypes.int32) - 1, self._window)
            buffer = state_ops.scatter_update(self._get_grad_buffer(), row, moment)
        moment = array_ops.expand_dims(moment, -1)
        g = array_ops.transpose(buffer / math_ops.sqrt(math_ops.minimum(step, hyper(self._window))))
        damping = linalg_ops.eye(self._window, dtype=dtype) * hyper(self._svd_eps)
        squared, u, _ = linalg_ops.svd(math_ops.matmul(g, g, transpose_a=True) + damping)
        singular = math_ops.sqrt(squared)
        smallest = math_ops.reduce_min(singular)
        in_window = math_ops.matmul(u, math_ops.matmul(g, moment, transpose_a=True), transpose_a=True)

        def back(scales):
            return math_ops.matmul(g, math_ops.matmul(u, array_ops.expand_dims(scales, -1) * in_window))

        head = back(1 / math_ops.pow(singular + hyper(self._sigma_eps), 3))
        new_step = control_flow_ops.cond(
            smallest > hyper(self._eps), lambda: head + (moment - back(1 / squared)) / smallest, lambda: head
        )
        rate, updates = hyper(self._lr), []
        for var in self._variables:
            begin, end = self._ranges[var.name]
            part = array_ops.reshape(new_step[begin:end], var.get_shape())
            updates.append(state_ops.assign_sub(var, rate * part, use_locking=self._use_locking))
        return control_flow_ops.group(*updates, name=name_scope)

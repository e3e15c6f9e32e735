"""Keeps the norms of variables below a limit after each update."""

import contextlib

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, clip_ops, control_flow_ops
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.training import optimizer


class VariableClippingOptimizer(optimizer.Optimizer):
    """An optimizer around another that clips variables, not gradients, when the other has changed them."""

    def __init__(
        self,
        opt,
        vars_to_clip_dims,
        max_norm,
        use_locking=False,
        colocate_clip_ops_with_vars=False,
        name="VariableClipping",
    ):
        """vars_to_clip_dims: the dimensions of the norm for each variable, as clip_by_norm takes them."""
        super().__init__(use_locking, name)
        self._opt = opt
        self._vars_to_clip_dims = [(var, list(dims)) for var, dims in vars_to_clip_dims.items()]
        self._max_norm = max_norm
        self._colocate_clip_ops_with_vars = colocate_clip_ops_with_vars

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)
        with ops.name_scope(name, self._name) as name:
            update = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            done = [update]
            with ops.control_dependencies([update]):
                for grad, var in grads_and_vars:
                    dims = next((d for v, d in self._vars_to_clip_dims if v is var), None)
                    if grad is None or dims is None:
                        continue
                    with ops.name_scope("clip_" + var.op.name):
                        if isinstance(grad, ops.IndexedSlices):
                            done.append(self._clip_sparse(grad, var, dims))
                        else:
                            done.append(self._clip_dense(var, dims))
            return control_flow_ops.group(*done, name=name)

    def _clip_dense(self, var, dims):
        with self._maybe_colocate_with(var):
            value = var.read_value()
            excess = value - clip_ops.clip_by_norm(value, self._max_norm, dims)
        with ops.colocate_with(var):
            return var.assign_sub(excess, use_locking=self._use_locking)

    def _clip_sparse(self, grad, var, dims):
        if 0 in dims:
            tf_logging.warning(
                "Clipping norm across dims %s for %s is inefficient when including sparse dimension 0.",
                dims,
                var.op.name,
            )
            return self._clip_dense(var, dims)
        with ops.colocate_with(var):
            indices = array_ops.unique(grad.indices).y  # the excess of a row is subtracted once
            rows = array_ops.gather(var, indices)
        with self._maybe_colocate_with(var):
            excess = rows - clip_ops.clip_by_norm(rows, self._max_norm, dims)
        with ops.colocate_with(var):
            slices = ops.IndexedSlices(excess, indices, grad.dense_shape)
            return var.scatter_sub(slices, use_locking=self._use_locking)

    @contextlib.contextmanager
    def _maybe_colocate_with(self, var):
        with ops.colocate_with(var) if self._colocate_clip_ops_with_vars else contextlib.nullcontext():
            yield

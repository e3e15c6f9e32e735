"""Weight decay apart from the gradient (Loshchilov and Hutter, 2017)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gen_resource_variable_ops,
    math_ops,
    state_ops,
)
from braid.tensorflow.python.training import adam, momentum, optimizer


class DecoupledWeightDecayExtension:
    """To be derived from before an optimizer: variables decay by weight_decay * variable before each update.

    The decay is not scaled by the learning rate: where that changes, so should weight_decay.
    """

    def __init__(self, weight_decay, **kwargs):
        """weight_decay: a number, a tensor, or a function that makes one."""
        self._decay_var_list = None  # None: all variables decay
        self._weight_decay = weight_decay
        self._weight_decay_tensor = None
        super().__init__(**kwargs)

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
        decay_var_list=None,
    ):
        """As Optimizer.minimize. decay_var_list: the variables that decay; None for all."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        return super().minimize(
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        """As Optimizer.apply_gradients. decay_var_list: the variables that decay; None for all."""
        if decay_var_list:
            self._decay_var_list = set(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self):
        decay = self._call_if_callable(self._weight_decay)
        self._weight_decay_tensor = ops.convert_to_tensor(decay, name="weight_decay")
        super()._prepare()

    def _decays(self, var):
        return self._decay_var_list is None or var in self._decay_var_list

    def _decay_of(self, var):
        if isinstance(self._weight_decay, (int, float)):
            return self._weight_decay
        return math_ops.cast(self._weight_decay_tensor, var.dtype.base_dtype)

    def _decay_weights_op(self, var):
        if not self._decays(var):
            return control_flow_ops.no_op()
        decay = self._decay_of(var)
        return var.assign_sub(decay * var, use_locking=self._use_locking)

    def _decay_weights_sparse_op(self, var, indices, scatter_add):
        if not self._decays(var):
            return control_flow_ops.no_op()
        decay = self._decay_of(var)
        return scatter_add(var, indices, -decay * array_ops.gather(var, indices))

    def _apply_dense(self, grad, var):
        with ops.control_dependencies([self._decay_weights_op(var)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad, var):
        with ops.control_dependencies([self._decay_weights_op(var)]):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        def scatter_add(x, i, v):
            return state_ops.scatter_add(x, i, v, use_locking=self._use_locking)

        decay = self._decay_weights_sparse_op(var, grad.indices, scatter_add)
        with ops.control_dependencies([decay]):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad, var, indices):
        def scatter_add(x, i, v):
            return gen_resource_variable_ops.resource_scatter_add(x.handle, i, v)

        with ops.control_dependencies([self._decay_weights_sparse_op(var, indices, scatter_add)]):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer):
    """The class of an optimizer with weight decay; its first argument is weight_decay, the others are by name."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """An optimizer with weight decay."""

        def __init__(self, weight_decay, *args, **kwargs):
            super().__init__(weight_decay, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, momentum.MomentumOptimizer):
    """Momentum with weight decay."""

    def __init__(
        self,
        weight_decay,
        learning_rate,
        momentum,
        use_locking=False,
        name="MomentumW",
        use_nesterov=False,
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, adam.AdamOptimizer):
    """Adam with weight decay."""

    def __init__(
        self,
        weight_decay,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="AdamW",
    ):
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )

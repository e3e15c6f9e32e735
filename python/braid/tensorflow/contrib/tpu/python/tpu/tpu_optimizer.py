"""CrossShardOptimizer."""

from braid.tensorflow.python.training import optimizer


class CrossShardOptimizer(optimizer.Optimizer):
    """An optimizer as it is: there is one shard."""

    def __init__(self, opt, reduction=None, name="CrossShardOptimizer", group_assignment=None):
        if not isinstance(opt, optimizer.Optimizer):
            raise TypeError(f"CrossShardOptimizer only works with tf.training.Optimizer and not {type(opt)}")
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss, var_list=None, **kwargs):
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

"""An optimizer that also averages its variables, and a saver that saves the averages in their place."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops, variables
from braid.tensorflow.python.training import moving_averages, optimizer
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.saving import saveable_object_util


class MovingAverageOptimizer(optimizer.Optimizer):
    """Updates variables by another optimizer, and keeps their moving averages."""

    def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
        """sequential_update: the averages are updated after the variables, not at the same time."""
        self._optimizer = opt
        self._ema = moving_averages.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped_variable_name_map = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)
        train_op = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        averaged = [v for g, v in grads_and_vars if g is not None]
        with ops.control_dependencies([train_op] if self._sequential_update else []):
            average_op = self._ema.apply(averaged)
        self._swapped_variable_name_map = {}
        for v in averaged:
            average = self._ema.average(v)
            self._swapped_variable_name_map[v.op.name] = average.op.name
            self._swapped_variable_name_map[average.op.name] = v.op.name
        return control_flow_ops.group(train_op, average_op, name="train_with_avg")

    def get_slot(self, *args, **kwargs):
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._optimizer.variables()

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """A saver under which a variable has its average's value in the checkpoint, and the average the
        variable's.

        RuntimeError: minimize() was not called yet. ValueError: var_list has a variable without its average.
        """
        if self._swapped_variable_name_map is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        if var_list is None:
            var_list = variables.global_variables()
        if not isinstance(var_list, dict):
            var_list = saveable_object_util.op_list_to_dict(var_list)
        by_name = {}
        for key, value in var_list.items():
            is_several = isinstance(value, (list, variables.PartitionedVariable))
            by_name.update({v.op.name: v for v in value} if is_several else {key: value})

        def swapped(key):
            other = self._swapped_variable_name_map.get(key, key)
            if other not in by_name:
                raise ValueError(
                    f"Variable to swap {other} is not part of variables to save. This breaks MovingAverageOptimizer."
                )
            return by_name[other]

        to_save = {}
        for key, value in var_list.items():
            if isinstance(value, (list, variables.PartitionedVariable)):
                to_save[key] = [swapped(v.op.name) for v in value]
            else:
                to_save[key] = swapped(key)
        return saver.Saver(to_save, name=name, **kwargs)

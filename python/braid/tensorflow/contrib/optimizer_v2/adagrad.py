"""Adagrad: steps by the sums of the squares of the gradients so far."""

from braid.tensorflow.contrib.optimizer_v2 import _by_ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops


class AdagradOptimizer(_by_ops.ByOps):
    """tf.train.AdagradOptimizer; the learning rate may be a function."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._initial_accumulator_value = initial_accumulator_value

    def _initial_of(self, var, dtype):
        value = self._initial_accumulator_value
        if var.shape.is_fully_defined():
            return init_ops.constant_initializer(value, dtype=dtype)
        return lambda: math_ops.cast(gen_array_ops.fill(array_ops.shape(var), value), dtype)

    def _create_vars(self, var_list, state):
        for v in var_list:
            dtype = v.dtype.base_dtype
            state.create_slot_with_initializer(v, self._initial_of(v, dtype), v.shape, dtype, "accumulator")

    def _op(self):
        return "adagrad", ("accumulator",)

    def _arguments(self, state, dtype):
        return [state.get_hyper("learning_rate", dtype)], []

"""Elements of a list in turn: a counter, which sessions share as any variable, says which is next."""

import random

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_input_pipeline_ops
from braid.tensorflow.python.ops import variable_scope


def obtain_next(string_list_tensor, counter):
    """The element after that of `counter`, a reference variable (int64), which then has its index."""
    return gen_input_pipeline_ops.obtain_next(string_list_tensor, counter)


def _epochs(string_list, shuffle, seed, num_epochs):
    """The list `num_epochs` times, each time in another order. The list itself has then the last order."""
    if shuffle and seed:
        random.seed(seed)
    elements = []
    for _ in range(num_epochs or 1):
        if shuffle:
            random.shuffle(string_list)
        elements.extend(string_list)
    return elements


def seek_next(string_list, shuffle=False, seed=None, num_epochs=None):
    """The next of a list of strings, from the beginning again after the last one.

    The list and the counters are variables in the scope obtain_next.

    Args:
      string_list: the strings.
      shuffle: whether each epoch has an order of its own. It is chosen here, not in a step.
      seed: for the order.
      num_epochs: after how many times through the list OutOfRangeError is raised; None is never.
    """
    elements = _epochs(string_list, shuffle, seed, num_epochs)

    def variable(name, value, dtype):
        initial = constant_op.constant(value, dtype=dtype)
        return variable_scope.get_variable(name=name, initializer=initial, dtype=dtype, trainable=False)

    with variable_scope.variable_scope("obtain_next"):
        counter = variable("obtain_next_counter", -1, dtypes.int64)
        with ops.colocate_with(counter):
            strings = variable("obtain_next_expanded_list", elements, dtypes.string)
        if not num_epochs:
            return obtain_next(strings, counter)
        taken = variable("obtain_next_filename_counter", 0, dtypes.int64).count_up_to(len(elements))
        with ops.control_dependencies([taken]):
            return obtain_next(strings, counter)

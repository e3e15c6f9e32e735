"""Variables and matrices that pruning needs."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope


def _own_variable(name, shape, initializer, var, scope):
    with variable_scope.variable_scope(scope):
        return variable_scope.get_variable(
            name, shape, initializer=initializer, trainable=False, dtype=var.dtype.base_dtype
        )


def weight_mask_variable(var, scope):
    """The mask of a variable, all ones at first."""
    return _own_variable("mask", var.get_shape(), init_ops.ones_initializer(), var, scope)


def weight_threshold_variable(var, scope):
    """The threshold below which weights of a variable become zero."""
    return _own_variable("threshold", [], init_ops.zeros_initializer(), var, scope)


def kronecker_product(mat1, mat2):
    """Each element of mat1 times mat2, at the place of the element."""
    m1, n1 = mat1.get_shape().as_list()
    m2, n2 = mat2.get_shape().as_list()
    product = array_ops.reshape(mat1, [m1, 1, n1, 1]) * array_ops.reshape(mat2, [1, m2, 1, n2])
    return array_ops.reshape(product, [m1 * m2, n1 * n2])


def expand_tensor(tensor, block_dims):
    """The matrix with a block of these dimensions in place of each element."""
    if tensor.get_shape().ndims != 2:
        raise ValueError("Input tensor must be rank 2")
    if len(block_dims) != 2:
        raise ValueError("block_dims must have 2 elements")
    return kronecker_product(tensor, array_ops.ones(list(block_dims), tensor.dtype))


def factorized_pool(input_tensor, window_shape, pooling_type, strides, padding, name=None):
    """The pooling of a matrix along one axis and then along the other."""
    if input_tensor.get_shape().ndims != 2:
        raise ValueError("factorized_pool() accepts tensors of rank 2 only")

    def pooled(picture, axis):
        return nn_ops.pool(
            picture,
            window_shape=[1, window_shape[axis]],
            pooling_type=pooling_type,
            strides=[1, strides[axis]],
            padding=padding,
        )

    with ops.name_scope(name, "factorized_pool"):
        # Columns are channels while rows are pooled, and the other way round.
        by_rows = pooled(input_tensor[None, None], 0)
        by_columns = pooled(array_ops.transpose(by_rows, [0, 1, 3, 2]), 1)
        return array_ops.transpose(array_ops.squeeze(by_columns, axis=[0, 1]))


def determine_partitioned_axis(partitioned_variable):
    """The axis along which a variable is partitioned."""
    whole, axis = partitioned_variable.get_shape().as_list(), 0
    for part in partitioned_variable:
        smaller = np.flatnonzero(np.less(part.get_shape().as_list(), whole))
        if len(smaller) != 1:
            raise ValueError(f"Number of partitioned axes {len(smaller)} not equal to 1")
        axis = int(smaller[0])
    return axis


def variable_assign(var, new_value):
    """The assignment, called NAME_assign."""
    return state_ops.assign(var, new_value, name=var.op.name + "_assign")


def partitioned_variable_assign(partitioned_var, new_value):
    """The assignment of each partition's part of a value."""
    parts = list(partitioned_var)
    axis = 0 if len(parts) == 1 else determine_partitioned_axis(partitioned_var)
    values = array_ops.split(new_value, [p.get_shape().as_list()[axis] for p in parts], axis=axis)
    assigned = [variable_assign(p, v) for p, v in zip(parts, values)]
    return control_flow_ops.group(*assigned, name=partitioned_var.name + "_group_assign")

"""Slots: variables that an optimizer or an average keeps beside a primary variable, named PRIMARY/NAME."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    array_ops,
    init_ops,
    resource_variable_ops,
    variable_scope,
    variables,
)


def _create_slot_var(primary, val, scope, validate_shape, shape, dtype):
    """The variable of a slot, of the same kind as its primary. Partitioned primaries have one slot for a part."""
    outer = variable_scope.get_variable_scope()
    partitioner = outer.partitioner
    outer.set_partitioner(None)
    use_resource = None
    if resource_variable_ops.is_resource_variable(primary):
        use_resource = True
    elif isinstance(primary, variables.Variable):
        use_resource = False
    slot = variable_scope.get_variable(
        scope,
        initializer=val,
        trainable=False,
        use_resource=use_resource,
        shape=shape,
        dtype=dtype,
        validate_shape=validate_shape,
    )
    outer.set_partitioner(partitioner)
    info = primary._save_slice_info if isinstance(primary, variables.Variable) else None
    if info:
        name = slot.op.name[len(primary.op.name) + 1 :]
        rank = slot.get_shape().ndims
        slot._set_save_slice_info(
            variables.Variable.SaveSliceInfo(
                f"{info.full_name}/{name}",
                info.full_shape[:rank],
                info.var_offset[:rank],
                info.var_shape[:rank],
            )
        )
    return slot


def _slot(primary, name, colocate_with_primary, val, validate_shape, shape, dtype):
    prefix = primary._shared_name if isinstance(primary, variables.Variable) else primary.op.name
    with variable_scope.variable_scope(None, f"{prefix}/{name}"):
        if not colocate_with_primary:
            return _create_slot_var(primary, val, "", validate_shape, shape, dtype)
        with ops.colocate_with(primary):
            return _create_slot_var(primary, val, "", validate_shape, shape, dtype)


def create_slot(primary, val, name, colocate_with_primary=True):
    """A slot that begins with the tensor `val`.

    primary: the variable or tensor that the slot belongs to. colocate_with_primary: on the same device.
    """
    return _slot(primary, name, colocate_with_primary, val, val.get_shape().is_fully_defined(), None, None)


def create_slot_with_initializer(primary, initializer, shape, dtype, name, colocate_with_primary=True):
    """A slot of this shape and dtype that begins with what `initializer` makes, or with this tensor."""
    known = shape.is_fully_defined()
    return _slot(
        primary,
        name,
        colocate_with_primary,
        initializer,
        known,
        shape if callable(initializer) else None,
        dtype,
    )


def create_zeros_slot(primary, name, dtype=None, colocate_with_primary=True):
    """A slot of the primary's shape that begins with zeros. dtype: None for the primary's."""
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        zeros = init_ops.zeros_initializer()
        return create_slot_with_initializer(primary, zeros, shape, dtype, name, colocate_with_primary)
    source = primary.initialized_value() if isinstance(primary, variables.Variable) else primary
    val = array_ops.zeros(array_ops.shape(source), dtype=dtype)
    return create_slot(primary, val, name, colocate_with_primary)

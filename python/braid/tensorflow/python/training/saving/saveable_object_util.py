"""Which saveable objects belong to variables, lists of their parts, and other objects."""

from braid.tensorflow.python.framework import device as pydev
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    array_ops,
    gen_resource_variable_ops,
    resource_variable_ops,
    state_ops,
    variables,
)
from braid.tensorflow.python.training.saving import saveable_object
from braid.tensorflow.python.training.tracking import base as trackable

_VARIABLE_OPS = {"Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp", "ReadVariableOp"}
_REF_VARIABLE_OPS = frozenset({"Variable", "VariableV2", "AutoReloadVariable"})


def set_cpu0(device_string):
    """The device of the task of `device_string` that has the files: its first CPU."""
    parsed = pydev.DeviceSpec.from_string(device_string)
    return parsed.replace(device_type="CPU", device_index=0).to_string()


class ReferenceVariableSaveable(saveable_object.SaveableObject):
    """A variable of reference type."""

    def __init__(self, var, slice_spec, name):
        super().__init__(var, [saveable_object.SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors, restored_shapes):
        restored = restored_tensors[0]
        if restored_shapes is not None:
            restored = array_ops.reshape(restored, restored_shapes[0])
        has_shape = restored_shapes is None and self.op.get_shape().is_fully_defined()
        return state_ops.assign(self.op, restored, validate_shape=has_shape)


class ResourceVariableSaveable(saveable_object.SaveableObject):
    """A resource variable, or what it was read as."""

    def __init__(self, var, slice_spec, name):
        self._var_device = var.device
        self._var_shape = var.shape
        if isinstance(var, ops.Tensor):
            self.handle_op = var.op.inputs[0]
            tensor = var
        elif resource_variable_ops.is_resource_variable(var):
            self.handle_op = var.handle

            def tensor():
                with ops.device(var.device):
                    read = var.read_value()
                    with ops.device("/device:CPU:0"):
                        return array_ops.identity(read)

        else:
            raise ValueError(f"Saveable is neither a resource variable nor a read operation. Got: {var!r}")
        spec = saveable_object.SaveSpec(tensor, slice_spec, name, dtype=var.dtype, device=var.device)
        super().__init__(var, [spec], name)

    def restore(self, restored_tensors, restored_shapes):
        restored = restored_tensors[0]
        if restored_shapes is not None:
            restored = array_ops.reshape(restored, restored_shapes[0])
        with ops.device(self._var_device):
            restored = array_ops.identity(restored)
            self._var_shape.assert_is_compatible_with(restored.shape)
            return gen_resource_variable_ops.assign_variable_op(self.handle_op, restored)


def _tensor_comes_from_variable(v):
    return isinstance(v, ops.Tensor) and v.op.type in _VARIABLE_OPS


def _as_variable_tensor(op):
    """The tensor that stands for a variable: its reference, or what reads it."""
    if resource_variable_ops.is_resource_variable(op):
        return op._graph_element
    return ops.internal_convert_to_tensor(op, as_ref=True)


def _is_other_trackable(op):
    """Whether it says itself what is to be saved of it, and is no variable."""
    if hasattr(type(op), "_together"):  # a variable with copies on several devices
        return True
    return isinstance(op, trackable.Trackable) and not isinstance(op, variables.Variable)


def saveable_objects_for_op(op, name):
    """Yields the saveable objects of a variable, of a list of the parts of one, or of a SaveableObject."""
    if not isinstance(name, str):
        raise TypeError(
            f"names_to_saveables must be a dict mapping string names to trackable operations. Name is not a string: {name}"
        )
    if isinstance(op, saveable_object.SaveableObject):
        yield op
        return
    if _is_other_trackable(op):
        for attribute, made in op._gather_saveables_for_checkpoint().items():
            own = name if attribute == trackable.VARIABLE_VALUE_KEY else f"{name}_{attribute}"
            yield from saveable_objects_for_op(made(own) if callable(made) else made, own)
        return
    if isinstance(op, (list, tuple, variables.PartitionedVariable)):
        whole = None
        for variable in op:
            info = variable._save_slice_info if isinstance(variable, variables.Variable) else None
            if not isinstance(variable, variables.Variable):
                raise ValueError(f"Slices must all be Variables: {variable}")
            if not info:
                raise ValueError(f"Slices must all be slices: {variable}")
            if whole is not None and whole != info.full_name:
                raise ValueError(f"Slices must all be from the same tensor: {whole} != {info.full_name}")
            whole = info.full_name
            if _is_other_trackable(variable):
                yield variable._saveable(name, info.spec)
            elif variable.op.type in _REF_VARIABLE_OPS:
                yield ReferenceVariableSaveable(variable, info.spec, name)
            else:
                yield ResourceVariableSaveable(variable, info.spec, name)
        return
    variable = _as_variable_tensor(op)
    if not _tensor_comes_from_variable(variable):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to Tensors/Variables. "
            f"Not a variable: {variable}"
        )
    if variable.op.type in _REF_VARIABLE_OPS:
        yield ReferenceVariableSaveable(variable, "", name)
    else:
        yield ResourceVariableSaveable(variable, "", name)


def op_list_to_dict(op_list, convert_variable_to_tensor=True):
    """A dict of variables (parts of one variable in a list) by the names that they have in a checkpoint."""
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    named = {}

    def add(name, value):
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = value

    for var in sorted(op_list, key=lambda v: getattr(v, "name", "")):
        if isinstance(var, saveable_object.SaveableObject):
            named[var.name] = var
        elif isinstance(var, variables.PartitionedVariable):
            add(var.name, var)
        elif _is_other_trackable(var) and not getattr(var, "_save_slice_info", None):
            made = [m() if callable(m) else m for m in var._gather_saveables_for_checkpoint().values()]
            named.update(op_list_to_dict(made, convert_variable_to_tensor))
        elif isinstance(var, variables.Variable) and var._save_slice_info:
            parts = named.setdefault(var._save_slice_info.full_name, [])
            if not isinstance(parts, list):
                raise ValueError(
                    f"Mixing slices and non-slices with the same name: {var._save_slice_info.full_name}"
                )
            parts.append(var)
        else:
            tensor = _as_variable_tensor(var)
            if not _tensor_comes_from_variable(tensor):
                raise TypeError(f"Variable to save is not a Variable: {tensor}")
            op = tensor.op.inputs[0].op if tensor.op.type == "ReadVariableOp" else tensor.op
            add(op.name, tensor if convert_variable_to_tensor else var)
    return named


def validate_and_slice_inputs(names_to_saveables):
    """The saveable objects of a dict as op_list_to_dict makes it (or of a list), sorted by name.

    ValueError: one variable has two names.
    """
    if not isinstance(names_to_saveables, dict):
        names_to_saveables = op_list_to_dict(names_to_saveables)
    saveables, seen = [], set()
    for name, op in sorted(names_to_saveables.items(), key=lambda item: item[0]):
        for saveable in saveable_objects_for_op(op, name):
            if saveable.op in seen:
                raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
            seen.add(saveable.op)
            saveables.append(saveable)
    return saveables

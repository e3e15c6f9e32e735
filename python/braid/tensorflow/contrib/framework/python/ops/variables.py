"""Variables of models, and what is read into them from checkpoints or arrays (tf.contrib.framework)."""

import functools
import re

from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.python.framework import device as tf_device
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import py_checkpoint_reader
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.deprecation import deprecated

__all__ = [
    "add_model_variable",
    "assert_global_step",
    "assert_or_get_global_step",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "create_global_step",
    "filter_variables",
    "get_global_step",
    "get_or_create_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variable_full_name",
    "get_variables_to_restore",
    "get_variables",
    "global_variable",
    "local_variable",
    "model_variable",
    "variable",
    "VariableDeviceChooser",
    "zero_initializer",
]


def zero_initializer(ref, use_locking=True, name="zero_initializer"):
    """An op that writes zeros into a variable. It fails where the variable has a value."""
    has_none = math_ops.logical_not(state_ops.is_variable_initialized(ref))
    checked = control_flow_ops.Assert(has_none, ["input is already initialized"])
    with ops.control_dependencies([checked]):
        zeros = array_ops.zeros(ref.get_shape(), ref.dtype.base_dtype)
        return state_ops.assign(ref, zeros, use_locking=use_locking, name=name)


@deprecated(None, "Please switch to tf.train.assert_global_step")
def assert_global_step(global_step_tensor):
    training_util.assert_global_step(global_step_tensor)


def assert_or_get_global_step(graph=None, global_step_tensor=None):
    """The given global step, checked, or else that of the graph."""
    if global_step_tensor is None:
        return training_util.get_global_step(graph)
    training_util.assert_global_step(global_step_tensor)
    return global_step_tensor


@deprecated(None, "Please switch to tf.train.get_global_step")
def get_global_step(graph=None):
    return training_util.get_global_step(graph)


@deprecated(None, "Please switch to tf.train.create_global_step")
def create_global_step(graph=None):
    return training_util.create_global_step(graph)


@deprecated(None, "Please switch to tf.train.get_or_create_global_step")
def get_or_create_global_step(graph=None):
    return training_util.get_or_create_global_step(graph)


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """A variable in LOCAL_VARIABLES, not trainable."""
    return variable_scope.variable(
        initial_value,
        trainable=False,
        collections=[ops.GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        use_resource=use_resource,
        name=name,
    )


def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """A variable in GLOBAL_VARIABLES, not trainable."""
    return variable_scope.variable(
        initial_value,
        trainable=False,
        collections=[ops.GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        use_resource=use_resource,
        name=name,
    )


@add_arg_scope
def variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=variables.VariableSynchronization.AUTO,
    aggregation=variables.VariableAggregation.NONE,
):
    """get_variable() on a device, which may be a function of the op."""
    if collections is None:
        collections = [ops.GraphKeys.GLOBAL_VARIABLES]
    getter = variable_scope.get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=variable_scope.get_variable_scope().reuse)
    with ops.device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(collections)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(
    name,
    shape=None,
    dtype=dtypes.float32,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=variables.VariableSynchronization.AUTO,
    aggregation=variables.VariableAggregation.NONE,
):
    """variable() in the collections GLOBAL_VARIABLES and MODEL_VARIABLES."""
    collections = list(collections or []) + [
        ops.GraphKeys.GLOBAL_VARIABLES,
        ops.GraphKeys.MODEL_VARIABLES,
    ]
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def add_model_variable(var):
    """Adds a variable to MODEL_VARIABLES."""
    if not any(var is other for other in ops.get_collection(ops.GraphKeys.MODEL_VARIABLES)):
        ops.add_to_collection(ops.GraphKeys.MODEL_VARIABLES, var)


def get_variables(scope=None, suffix=None, collection=ops.GraphKeys.GLOBAL_VARIABLES):
    """The variables of a collection whose names begin with `scope` and end in `suffix`."""
    if isinstance(scope, variable_scope.VariableScope):
        scope = scope.name
    if suffix is not None:
        if ":" not in suffix:
            suffix += ":"
        scope = (scope or "") + ".*" + suffix
    return ops.get_collection(collection, scope)


def get_model_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, ops.GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, ops.GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, ops.GraphKeys.TRAINABLE_VARIABLES)


def get_variables_to_restore(include=None, exclude=None):
    """The variables of the scopes `include` (all: None) but those of the scopes `exclude`."""
    if include is None:
        chosen = get_variables()
    elif not isinstance(include, (list, tuple)):
        raise TypeError("include is provided but is not a list or a tuple.")
    else:
        chosen = [v for scope in include for v in get_variables(scope)]
    excluded = set()
    if exclude is not None:
        if not isinstance(exclude, (list, tuple)):
            raise TypeError("exclude is provided but is not a list or a tuple.")
        excluded = {id(v) for scope in exclude for v in get_variables(scope)}
    return [v for v in chosen if id(v) not in excluded]


def get_variables_by_suffix(suffix, scope=None):
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name, scope=None):
    """The variables whose name without scopes is `given_name`."""
    suffix = "/" + given_name + ":|^" + given_name + ":"
    return get_variables(scope=scope, suffix=suffix)


def get_unique_variable(var_op_name):
    """The variable of that name. ValueError: there is none, or several begin so."""
    candidates = get_variables(scope=var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_name_scope():
    return ops.get_default_graph().get_name_scope()


def get_variable_full_name(var):
    """The name of a variable, or of what it is a part of."""
    if var._save_slice_info:
        return var._save_slice_info.full_name
    return var.op.name


def assign_from_values(var_names_to_values):
    """An op and a dict to feed it, which write arrays into variables by name."""
    feed_dict = {}
    assign_ops = []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        placeholder = array_ops.placeholder(
            dtype=var.dtype.base_dtype, name="placeholder/" + var.op.name, shape=var.get_shape()
        )
        assign_ops.append(var.assign(placeholder))
        feed_dict[placeholder] = value.reshape(var.get_shape().as_list())
    return control_flow_ops.group(*assign_ops), feed_dict


def assign_from_values_fn(var_names_to_values):
    """A function of a session that writes arrays into variables by name."""
    assign_op, feed_dict = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign_op, feed_dict)


def _by_name(var_list):
    """{name in the checkpoint: variables} of a dict or of a list."""
    grouped = {}
    if isinstance(var_list, dict):
        for name, var in var_list.items():
            grouped[name] = list(var) if isinstance(var, (tuple, list)) else [var]
    else:
        for var in var_list:
            grouped.setdefault(get_variable_full_name(var), []).append(var)
    return grouped


def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
    """An op and a dict to feed it, which write the values of a checkpoint into variables.

    `var_list` is a list, or a dict from names in the checkpoint. ValueError: a shape differs, or a variable
    is missing there and `ignore_missing_vars` is False.
    """
    reader = py_checkpoint_reader.NewCheckpointReader(model_path)
    feed_dict = {}
    assign_ops = []
    for name, parts in _by_name(var_list).items():
        if not reader.has_tensor(name):
            message = f"Checkpoint is missing variable [{name}]"
            if ignore_missing_vars:
                logging.warning(message)
                continue
            raise ValueError(message)
        value = reader.get_tensor(name)
        for var in parts:
            piece = value
            info = getattr(var, "_save_slice_info", None)
            if info:
                piece = value[
                    tuple(slice(begin, begin + size) for begin, size in zip(info.var_offset, info.var_shape))
                ]
            placeholder = array_ops.placeholder(
                dtype=var.dtype.base_dtype, name="placeholder/" + var.op.name, shape=var.get_shape()
            )
            assign_ops.append(var.assign(placeholder))
            if var.get_shape() != piece.shape:
                # Sizes of 1 may be more or fewer.
                def squeezed(sizes):
                    return [int(size) for size in sizes if size != 1]

                if squeezed(var.get_shape().as_list()) != squeezed(piece.shape):
                    raise ValueError(
                        f"Total size of new array must be unchanged for {name} lh_shape: [{piece.shape}], "
                        f"rh_shape: [{var.get_shape()}]"
                    )
            feed_dict[placeholder] = piece.reshape(var.get_shape().as_list())
    return control_flow_ops.group(*assign_ops), feed_dict


def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False, reshape_variables=False):
    """A function of a session that restores variables from a checkpoint; None if none of them are there.

    See assign_from_checkpoint(). `reshape_variables`: only the number of elements must be that of the
    checkpoint.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = py_checkpoint_reader.NewCheckpointReader(model_path)
        pairs = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        available = {}
        for name, var in pairs.items():
            if reader.has_tensor(name):
                available[name] = var
            else:
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = available
    if not var_list:
        logging.warning("No Variables to restore")
        return None
    saver = tf_saver.Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


class VariableDeviceChooser:
    """Chooses the device of a variable: the parameter servers in turn, for tf.device and slim."""

    def __init__(self, num_tasks=0, job_name="ps", device_type="CPU", device_index=0, replica=None):
        self._job_name = job_name
        self._device_type = device_type
        self._device_index = device_index
        self._replica = replica
        self._num_tasks = num_tasks
        self._next_task_id = 0

    def __call__(self, op):
        spec = tf_device.DeviceSpec(
            replica=self._replica, device_type=self._device_type, device_index=self._device_index
        )
        if self._num_tasks > 0:
            task = self._next_task_id
            self._next_task_id = (task + 1) % self._num_tasks
            spec.job = self._job_name
            spec.task = task
        return spec.to_string()


def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
    """The variables whose names match one of `include_patterns` (None: any) and none of `exclude_patterns`.

    `reg_search`: a pattern matches anywhere in a name, and not at its beginning alone.
    """
    match = re.search if reg_search else re.match

    def is_wanted(var):
        if include_patterns is not None and not any(match(p, var.name) for p in include_patterns):
            return False
        return exclude_patterns is None or not any(match(p, var.name) for p in exclude_patterns)

    return [var for var in var_list if is_wanted(var)]

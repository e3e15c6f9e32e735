"""Looking into checkpoints, waiting for them, and initializing variables from them."""

import os
import threading
import time

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import gen_io_ops, resource_variable_ops, variables
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_management, py_checkpoint_reader
from braid.tensorflow.python.training.saving import saveable_object_util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file):
    """A reader of a checkpoint, or of the newest of a directory. ValueError: the directory has none."""
    filename = _get_checkpoint_filename(ckpt_dir_or_file)
    if filename is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}"
        )
    return py_checkpoint_reader.NewCheckpointReader(filename)


@tf_export("train.load_variable")
def load_variable(ckpt_dir_or_file, name):
    """The value of a variable in a checkpoint, as an array."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name[:-2] if name.endswith(":0") else name)


@tf_export("train.list_variables")
def list_variables(ckpt_dir_or_file):
    """Pairs (name, shape as a list) of the tensors of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def _get_checkpoint_filename(ckpt_dir_or_file):
    if file_io.is_directory(ckpt_dir_or_file):
        return checkpoint_management.latest_checkpoint(ckpt_dir_or_file)
    return os.fspath(ckpt_dir_or_file)


def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
    """Blocks until a directory has a newest checkpoint other than `last_checkpoint`.

    Returns its prefix, or None after `timeout` seconds.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.monotonic() + timeout
    pause = threading.Event()
    while True:
        newest = checkpoint_management.latest_checkpoint(checkpoint_dir)
        if newest is not None and newest != last_checkpoint:
            logging.info("Found new checkpoint at %s", newest)
            return newest
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        pause.wait(seconds_to_sleep)


@tf_export("train.checkpoints_iterator")
def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Yields the prefixes of checkpoints as they come, at most one in min_interval_secs.

    timeout: seconds to wait for one; then it ends, unless timeout_fn() is False.
    """
    newest = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, newest, timeout=timeout)
        if found is None:
            if not timeout_fn:
                logging.info("Timed-out waiting for a checkpoint.")
                return
            if timeout_fn():
                return
            continue
        newest = found
        start = time.monotonic()
        yield newest
        rest = start + min_interval_secs - time.monotonic()
        if rest > 0:
            threading.Event().wait(rest)


@tf_export(v1=["train.init_from_checkpoint"])
def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Makes variables begin with values of a checkpoint: replaces their initializers. Call it before the
    init op is made.

    assignment_map: {name in the checkpoint: variable, its name, or the list of its parts}, or
    {"scope_in_the_checkpoint/": "scope/"} for all variables of a scope; "/" is the root. ValueError: the
    checkpoint lacks a tensor, or its shape is another one.
    """
    ckpt_file = _get_checkpoint_filename(ckpt_dir_or_file)
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    store = vs._get_default_variable_store()._vars
    for tensor_name, given in sorted(assignment_map.items(), key=lambda item: item[0]):
        variable = _find_variable(given, store)
        if variable is None:
            _init_scope(ckpt_dir_or_file, ckpt_file, shapes, tensor_name, given, store)
            continue
        if tensor_name not in shapes:
            raise ValueError(f"Tensor {tensor_name} is not found in {ckpt_dir_or_file} checkpoint {shapes}")
        if _is_variable(variable):
            if not variable.get_shape().is_compatible_with(shapes[tensor_name]):
                raise ValueError(
                    f"Shape of variable {variable.name} ({variable.get_shape()}) doesn't match with shape of "
                    f"tensor {tensor_name} ({shapes[tensor_name]}) from checkpoint reader."
                )
        _set_variable_or_list_initializer(variable, ckpt_file, tensor_name)


def _find_variable(given, store):
    """The variable, or the list of its parts, that a value of an assignment map stands for; None: it is a
    scope.
    """
    if _is_variable(given) or (isinstance(given, list) and all(_is_variable(v) for v in given)):
        return given
    if isinstance(given, variables.PartitionedVariable):
        return list(given)
    return store[given] if given in store else _collect_partitioned_variable(given, store)


def _init_scope(ckpt_dir_or_file, ckpt_file, shapes, tensor_scope, scope, store):
    prefix = scope.rpartition("/")[0]
    if not tensor_scope.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {prefix} should map to scope only {tensor_scope}. "
            "Should be 'scope/': 'other_scope/'."
        )
    names = {name.partition("/part_")[0] for name in store if not prefix or name.startswith(f"{prefix}/")}
    for name in sorted(names):
        full = name[len(prefix) :]
        if scope != "/":
            full = full[1:] if prefix else full
        if tensor_scope != "/":
            full = tensor_scope + full
        full = full.rstrip("/").lstrip("/") if tensor_scope == "/" else full.rstrip("/")
        if full not in shapes:
            raise ValueError(
                f"Tensor {full} ({name} in {scope}) is not found in {ckpt_dir_or_file} checkpoint"
            )
        _set_variable_or_list_initializer(_find_variable(name, store), ckpt_file, full)


def _is_variable(x):
    return isinstance(x, variables.Variable) or resource_variable_ops.is_resource_variable(x)


def _collect_partitioned_variable(name, all_vars):
    """The parts of the variable `name` of a store, in their order; None if there are none."""
    parts, i = [], 0
    while f"{name}/part_{i}" in all_vars:
        parts.append(all_vars[f"{name}/part_{i}"])
        i += 1
    return parts or None


def _set_checkpoint_initializer(variable, ckpt_file, tensor_name, slice_spec, name="checkpoint_initializer"):
    """Replaces the initializer of a variable by one that reads the checkpoint."""
    # Not with the variable, which may be on a device without files.
    with ops.device(variable.device), ops.device("/cpu:0"):
        restored = gen_io_ops.restore_v2(
            ckpt_file, [tensor_name], [slice_spec], [variable.dtype.base_dtype], name=name
        )[0]
        saveables = [
            saveable
            for key, op in saveable_object_util.op_list_to_dict([variable]).items()
            for saveable in saveable_object_util.saveable_objects_for_op(op, key)
        ]
        assert len(saveables) == 1
        variable._initializer_op = saveables[0].restore([restored], restored_shapes=None)
        restored.set_shape(variable.shape)
        variable._initial_value = restored


def _set_variable_or_list_initializer(variable_or_list, ckpt_file, tensor_name):
    if not isinstance(variable_or_list, (list, tuple)):
        _set_checkpoint_initializer(variable_or_list, ckpt_file, tensor_name, "")
        return
    whole = None
    for variable in variable_or_list:
        info = variable._save_slice_info
        if whole is not None and whole != info.full_name:
            raise ValueError(f"Slices must all be from the same tensor: {whole} != {info.full_name}")
        whole = info.full_name
        _set_checkpoint_initializer(variable, ckpt_file, tensor_name, info.spec)

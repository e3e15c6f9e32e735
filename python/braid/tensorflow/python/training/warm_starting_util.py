"""Warm starts: variables that begin with what another model has learnt."""

import collections

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import variables as variables_lib
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_ops
from braid.tensorflow.python.training import checkpoint_utils
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.training.saving import saveable_object_util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.VocabInfo"])
class VocabInfo(
    collections.namedtuple(
        "VocabInfo",
        [
            "new_vocab",
            "new_vocab_size",
            "num_oov_buckets",
            "old_vocab",
            "old_vocab_size",
            "backup_initializer",
            "axis",
        ],
    )
):
    """The vocabularies of a variable whose rows (axis 0) or columns (axis 1) belong to words, now and
    before.
    """

    def __new__(
        cls,
        new_vocab,
        new_vocab_size,
        num_oov_buckets,
        old_vocab,
        old_vocab_size=-1,
        backup_initializer=None,
        axis=0,
    ):
        if axis not in (0, 1):
            raise ValueError(
                f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def _infer_var_name(var):
    """The name of a variable (a list of its parts) in a checkpoint."""
    names = list(saveable_object_util.op_list_to_dict(var))
    if len(names) > 1:
        raise TypeError(f"`var` = {var} passed as arg violates the constraints.  names = {names}")
    return names[0]


def _parts_of(var):
    """A variable as the list of its parts."""
    if checkpoint_utils._is_variable(var):
        return [var]
    if isinstance(var, list) and all(checkpoint_utils._is_variable(v) for v in var):
        return var
    if isinstance(var, variables_lib.PartitionedVariable):
        return var._get_variable_list()
    raise TypeError(
        "var MUST be one of the following: a Variable, list of Variable or PartitionedVariable, but is "
        f"{type(var)}"
    )


def _get_var_info(var, prev_tensor_name=None):
    """(name in the checkpoint, variable or the list of its parts). The name is the variable's own if
    prev_tensor_name is None.
    """
    parts = _parts_of(var)
    name = prev_tensor_name or _infer_var_name(parts)
    return name, var if checkpoint_utils._is_variable(var) else parts


def _warm_start_var_with_vocab(
    var,
    current_vocab_path,
    current_vocab_size,
    prev_ckpt,
    prev_vocab_path,
    previous_vocab_size=-1,
    current_oov_buckets=0,
    prev_tensor_name=None,
    initializer=None,
    axis=0,
):
    """Has a matrix begin with the rows (axis 0) or columns (axis 1) that its words have in a checkpoint.

    var: a variable, the list of its parts along the rows, or a PartitionedVariable. initializer: for words
    that are new; zeros if None.
    """
    if not (current_vocab_path and current_vocab_size and prev_ckpt and prev_vocab_path):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, prev_vocab_path]."
        )
    if axis not in (0, 1):
        raise ValueError(
            f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
        )
    parts = _parts_of(var)
    shapes = [v.get_shape().as_list() for v in parts]
    files = dict(ckpt_path=checkpoint_utils._get_checkpoint_filename(prev_ckpt))
    if axis == 0:
        files.update(
            new_row_vocab_size=current_vocab_size,
            new_col_vocab_size=shapes[0][1],
            old_row_vocab_size=previous_vocab_size,
            old_row_vocab_file=prev_vocab_path,
            new_row_vocab_file=current_vocab_path,
            num_row_oov_buckets=current_oov_buckets,
        )
    else:
        files.update(
            new_row_vocab_size=sum(shape[0] for shape in shapes),
            new_col_vocab_size=current_vocab_size,
            old_col_vocab_file=prev_vocab_path,
            new_col_vocab_file=current_vocab_path,
            num_col_oov_buckets=current_oov_buckets,
        )
    load = checkpoint_ops._load_and_remap_matrix_initializer(
        old_tensor_name=prev_tensor_name or _infer_var_name(parts), initializer=initializer, **files
    )
    for v, shape in zip(parts, shapes):
        part = v._get_save_slice_info()
        where = part and variable_scope._PartitionInfo(full_shape=part.full_shape, var_offset=part.var_offset)
        value = ops.convert_to_tensor(load(shape, partition_info=where))
        v._initializer_op = state_ops.assign(v, value)


def _get_grouped_variables(vars_to_warm_start):
    """The variables by their names in a checkpoint, each as the list of its parts."""
    given = vars_to_warm_start
    if given is None or isinstance(given, str):
        found = ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES, scope=given)
    elif not isinstance(given, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(given)}")
    elif all(isinstance(v, str) for v in given):
        found = [v for name in given for v in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope=name)]
    elif all(checkpoint_utils._is_variable(v) or isinstance(v, list) for v in given):
        found = given
    else:
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are "
            f"{[type(v) for v in given]}"
        )
    grouped = {}
    for v in found:
        parts = v if isinstance(v, list) else [v]
        grouped.setdefault(_infer_var_name(parts), []).extend(parts)
    return grouped


def _get_object_checkpoint_renames(path, variable_names):
    """{name of a variable: its key} where the checkpoint is one of objects, {} where it is not."""
    try:
        keys = saver_lib.object_graph_key_mapping(checkpoint_utils._get_checkpoint_filename(path))
    except errors.NotFoundError:
        return {}
    missing = set(variable_names) - set(keys)
    if missing:
        raise ValueError(
            "Attempting to warm-start from an object-based checkpoint, but found that the checkpoint did not contain "
            f"values for all variables. The following variables were missing: {missing}"
        )
    return {name: keys[name] for name in variable_names}


@tf_export(v1=["train.warm_start"])
def warm_start(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """Makes variables begin with the values of a checkpoint.

    vars_to_warm_start: a regular expression for trainable variables, a list of them for all variables, a
    list of variables, or None: trainable variables of var_name_to_vocab_info alone. var_name_to_vocab_info:
    VocabInfo by names of variables whose rows or columns belong to words. var_name_to_prev_var_name: names
    in the checkpoint, where they differ. ValueError: a name of these dicts is not used.
    """
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    grouped = _get_grouped_variables(vars_to_warm_start)
    vocabularies = var_name_to_vocab_info or {}
    previous = var_name_to_prev_var_name or _get_object_checkpoint_renames(
        ckpt_to_initialize_from, list(grouped)
    )
    count, mapping = 0, {}
    for name, parts in grouped.items():
        info = vocabularies.get(name)
        if info:
            count += 1
            _warm_start_var_with_vocab(
                parts,
                current_vocab_path=info.new_vocab,
                current_vocab_size=info.new_vocab_size,
                prev_ckpt=ckpt_to_initialize_from,
                prev_vocab_path=info.old_vocab,
                previous_vocab_size=info.old_vocab_size,
                current_oov_buckets=info.num_oov_buckets,
                prev_tensor_name=previous.get(name),
                initializer=info.backup_initializer,
                axis=info.axis,
            )
        elif vars_to_warm_start:
            count += 1
            mapping[previous.get(name) or name] = parts[0] if len(parts) == 1 else parts
    if mapping:
        checkpoint_utils.init_from_checkpoint(ckpt_to_initialize_from, mapping)
    for what, given in (
        ("var_name_to_prev_var_name", previous),
        ("var_name_to_vocab_info", vocabularies),
    ):
        unused = set(given) - set(grouped)
        if unused:
            raise ValueError(
                f"You provided the following variables in {what} that were not used: {sorted(unused)}.  Perhaps "
                f"you misspelled them?  Here is the list of viable variable names: {sorted(grouped)}"
            )
    logging.info("Warm-started %d variables.", count)

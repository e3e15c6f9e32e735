"""Warm starts: variables that begin with what another model has learnt."""

import collections

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import variables as variables_lib
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_utils
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
    return next(iter(saveable_object_util.op_list_to_dict(var)))


def _get_grouped_variables(vars_to_warm_start):
    """The variables by their names in a checkpoint, each as the list of its parts."""
    given = vars_to_warm_start
    if given is None or isinstance(given, str):
        found = ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES, scope=given)
    elif isinstance(given, list) and all(isinstance(v, str) for v in given):
        found = [v for name in given for v in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope=name)]
    elif isinstance(given, list) and all(isinstance(v, (variables_lib.Variable, list)) for v in given):
        found = given
    else:
        raise ValueError(
            f"If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are {[type(v) for v in given]}"
        )
    grouped = {}
    for v in found:
        parts = v if isinstance(v, list) else [v]
        grouped.setdefault(_infer_var_name(parts), []).extend(parts)
    return grouped


@tf_export(v1=["train.warm_start"])
def warm_start(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """Makes variables begin with the values of a checkpoint.

    vars_to_warm_start: a regular expression for trainable variables, a list of them for all variables, a
    list of variables, or None. var_name_to_prev_var_name: names in the checkpoint, where they differ.
    ValueError: a name of these dicts is not used.
    """
    if var_name_to_vocab_info:
        raise NotImplementedError(
            "tf.train.warm_start: var_name_to_vocab_info needs ops that Braid does not have (LoadAndRemapMatrix). "
            "Keep the vocabulary of the former model, or set the rows in the program."
        )
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    previous = var_name_to_prev_var_name or {}
    grouped = _get_grouped_variables(vars_to_warm_start)
    mapping = {
        previous.get(name) or name: parts[0] if len(parts) == 1 else parts for name, parts in grouped.items()
    }
    unused = set(previous) - set(grouped)
    if unused:
        raise ValueError(
            "You provided the following variables in var_name_to_prev_var_name that were not used: "
            f"{sorted(unused)}.  Perhaps you misspelled them?  Here is the list of viable variable names: "
            f"{sorted(grouped)}"
        )
    logging.info("Warm-started %d variables.", len(mapping))
    if mapping:
        checkpoint_utils.init_from_checkpoint(ckpt_to_initialize_from, mapping)

"""SavedModels of experiments: signatures, directories and strategies of exports."""

import os
import time

from braid.tensorflow.contrib.layers.python.layers import feature_column
from braid.tensorflow.contrib.learn.python.learn import export_strategy
from braid.tensorflow.contrib.learn.python.learn.estimators import constants
from braid.tensorflow.contrib.learn.python.learn.utils import gc
from braid.tensorflow.contrib.learn.python.learn.utils import input_fn_utils
from braid.tensorflow.python.estimator.export.export import get_temp_export_dir  # noqa: F401
from braid.tensorflow.python.estimator.export.export import get_timestamped_export_dir  # noqa: F401
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.saved_model import signature_def_utils
from braid.tensorflow.python.summary import summary_iterator
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.util import compat

DEFAULT_INPUT_ALTERNATIVE_KEY = "default_input_alternative"
FEATURES_INPUT_ALTERNATIVE_KEY = "features_input_alternative"
_DEFAULT_OUTPUT = "default_output_alternative"  # the name of the head where the model names none


def build_standardized_signature_def(input_tensors, output_tensors, problem_type):
    """The signature of inputs and outputs: to classify or to regress, where they fit that."""
    if not input_tensors:
        raise ValueError("input_tensors must be provided.")
    if not output_tensors:
        raise ValueError("output_tensors must be provided.")
    kind = constants.ProblemType
    one_output = next(iter(output_tensors.values())) if len(output_tensors) == 1 else None
    if len(input_tensors) == 1:
        (examples,) = input_tensors.values()
        if problem_type in (kind.CLASSIFICATION, kind.LOGISTIC_REGRESSION):
            classes = output_tensors.get("classes")
            if classes is not None and classes.dtype != dtypes.string:
                classes = None  # serving takes names of classes
            scores = output_tensors.get("scores", output_tensors.get("probabilities"))
            if classes is None and scores is None and one_output is not None:
                if one_output.dtype == dtypes.string:
                    classes = one_output
                else:
                    scores = one_output
            if classes is not None or scores is not None:
                return signature_def_utils.classification_signature_def(examples, classes, scores)
        if problem_type == kind.LINEAR_REGRESSION and one_output is not None:
            return signature_def_utils.regression_signature_def(examples, one_output)
    return signature_def_utils.predict_signature_def(input_tensors, output_tensors)


def get_input_alternatives(input_ops):
    """(a dict of the tensors that requests are fed to, the features) of what an input function returns."""
    alternatives = {}
    if isinstance(input_ops, input_fn_utils.InputFnOps):
        features, _, default_inputs = input_ops
        alternatives[DEFAULT_INPUT_ALTERNATIVE_KEY] = default_inputs
    else:
        features, _ = input_ops
    if not features:
        raise ValueError("Features must be defined.")
    return alternatives, features


def get_output_alternatives(model_fn_ops, default_output_alternative_key=None):
    """(a dict from names of heads to (ProblemType, tensors), the name of the one that serves by default)."""
    alternatives, key = model_fn_ops.output_alternatives, default_output_alternative_key
    if not alternatives:
        if key:
            raise ValueError(
                f"Requested default_output_alternative: {key}, but available output_alternatives are: []"
            )
        outputs = model_fn_ops.predictions
        if not isinstance(outputs, dict):
            outputs = {"output": outputs}
        return {_DEFAULT_OUTPUT: (constants.ProblemType.UNSPECIFIED, outputs)}, _DEFAULT_OUTPUT
    if key:
        if key in alternatives:
            return alternatives, key
        raise ValueError(
            f"Requested default_output_alternative: {key}, but available output_alternatives are: "
            f"{sorted(alternatives, key=str)}"
        )
    if len(alternatives) == 1:
        return alternatives, next(iter(alternatives))
    raise ValueError(
        "Please specify a default_output_alternative.  Available output_alternatives are: "
        f"{sorted(alternatives, key=str)}"
    )


def build_all_signature_defs(input_alternatives, output_alternatives, actual_default_output_alternative_key):
    """The signatures of all pairs of inputs and outputs, and that which serves by default."""
    signatures = {
        f"{input_key}:{output_key or 'None'}": build_standardized_signature_def(inputs, outputs, problem_type)
        for input_key, inputs in input_alternatives.items()
        for output_key, (problem_type, outputs) in output_alternatives.items()
    }
    default_inputs = input_alternatives.get(DEFAULT_INPUT_ALTERNATIVE_KEY)
    if not default_inputs:
        raise ValueError("A default input_alternative must be provided.")
    problem_type, outputs = output_alternatives[actual_default_output_alternative_key]
    signatures[signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = build_standardized_signature_def(
        default_inputs, outputs, problem_type
    )
    return signatures


def _export_version_parser(path):
    name = os.path.basename(path.path)
    # Seconds since 1970 have ten digits.
    return path._replace(export_version=int(name)) if len(name) == 10 and name.isdigit() else None


def get_most_recent_export(export_dir_base):
    """The gc.Path of the newest export in a directory, or None."""
    paths = gc.get_paths(export_dir_base, parser=_export_version_parser)
    return next(iter(gc.largest_export_versions(1)(paths)), None)


def garbage_collect_exports(export_dir_base, exports_to_keep):
    """Deletes all exports in a directory but the newest ones. exports_to_keep: None for all."""
    if exports_to_keep is None:
        return
    too_old = gc.negation(gc.largest_export_versions(exports_to_keep))
    for p in too_old(gc.get_paths(export_dir_base, parser=_export_version_parser)):
        try:
            gfile.DeleteRecursively(p.path)
        except errors.NotFoundError as e:
            logging.warning("Can not delete %s recursively: %s", p.path, e)


def make_export_strategy(
    serving_input_fn,
    default_output_alternative_key=None,
    assets_extra=None,
    as_text=False,
    exports_to_keep=5,
    strip_default_attrs=None,
):
    """An ExportStrategy that writes a SavedModel in `Servo`.

    serving_input_fn: returns an InputFnOps, or what estimators of tf.estimator take.
    default_output_alternative_key: the head that serves; None for an estimator of tf.estimator.
    exports_to_keep: older ones are deleted; None: all stay.
    """

    def export_fn(estimator, export_dir_base, checkpoint_path=None, strip_default_attrs=False):
        options = {}
        if hasattr(estimator, "_EXPORTS_ALTERNATIVES"):
            options["default_output_alternative_key"] = default_output_alternative_key
        elif default_output_alternative_key is not None:
            raise ValueError(
                "default_output_alternative_key is not supported in core Estimator. "
                f"Given: {default_output_alternative_key}"
            )
        result = estimator.export_savedmodel(
            export_dir_base,
            serving_input_fn,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=bool(strip_default_attrs),
            **options,
        )
        garbage_collect_exports(export_dir_base, exports_to_keep)
        return result

    return export_strategy.ExportStrategy("Servo", export_fn, strip_default_attrs)


def make_parsing_export_strategy(
    feature_columns,
    default_output_alternative_key=None,
    assets_extra=None,
    as_text=False,
    exports_to_keep=5,
    target_core=False,
    strip_default_attrs=None,
):
    """make_export_strategy of a model that gets serialized Examples with the features of the columns.

    target_core: for an estimator of tf.estimator.
    """
    from braid.tensorflow.python.estimator.export import export as core_export

    spec = feature_column.create_feature_spec_for_parsing(feature_columns)
    if target_core:
        serving_input_fn = core_export.build_parsing_serving_input_receiver_fn(spec)
    else:
        serving_input_fn = input_fn_utils.build_parsing_serving_input_fn(spec)
    return make_export_strategy(
        serving_input_fn,
        default_output_alternative_key=default_output_alternative_key,
        assets_extra=assets_extra,
        as_text=as_text,
        exports_to_keep=exports_to_keep,
        strip_default_attrs=strip_default_attrs,
    )


def _default_compare_fn(curr_best_eval_result, cand_eval_result):
    """Whether the loss of the second one is smaller."""
    if not curr_best_eval_result or "loss" not in curr_best_eval_result:
        raise ValueError("curr_best_eval_result cannot be empty or no loss is found in it.")
    if not cand_eval_result or "loss" not in cand_eval_result:
        raise ValueError("cand_eval_result cannot be empty or no loss is found in it.")
    return curr_best_eval_result["loss"] > cand_eval_result["loss"]


class BestModelSelector:
    """Remembers the best evaluation.

    event_file_pattern: files of earlier evaluations. compare_fn: of (best, candidate), whether the candidate
    is better; by the loss if None.
    """

    def __init__(self, event_file_pattern=None, compare_fn=None):
        self._compare_fn = compare_fn or _default_compare_fn
        self._best_eval_result = self._get_best_eval_result(event_file_pattern)

    def _is_better(self, result):
        return self._best_eval_result is None or self._compare_fn(self._best_eval_result, result)

    def update(self, checkpoint_path, eval_result):
        """The arguments if they are the best ones so far, otherwise ("", None)."""
        if not checkpoint_path:
            raise ValueError("Checkpoint path is empty.")
        if eval_result is None:
            raise ValueError(f"{checkpoint_path} has empty evaluation results.")
        if not self._is_better(eval_result):
            return "", None
        self._best_eval_result = eval_result
        return checkpoint_path, eval_result

    def _get_best_eval_result(self, event_files):
        self._best_eval_result = None
        for path in gfile.Glob(event_files) if event_files else ():
            for event in summary_iterator.summary_iterator(path):
                if not event.HasField("summary"):
                    continue
                values = event.summary.value
                result = {v.tag: v.simple_value for v in values if v.HasField("simple_value")}
                if self._is_better(result):
                    self._best_eval_result = result
        return self._best_eval_result


def make_best_model_export_strategy(
    serving_input_fn,
    exports_to_keep=1,
    model_dir=None,
    event_file_pattern=None,
    compare_fn=None,
    default_output_alternative_key=None,
    strip_default_attrs=None,
):
    """An ExportStrategy that writes a model where it is better than those before.

    model_dir, event_file_pattern: where events of evaluations before a restart are, the pattern relative to
    model_dir.
    """
    base = make_export_strategy(
        serving_input_fn,
        exports_to_keep=exports_to_keep,
        default_output_alternative_key=default_output_alternative_key,
        strip_default_attrs=strip_default_attrs,
    )
    pattern = os.path.join(model_dir, event_file_pattern) if model_dir and event_file_pattern else None
    selector = BestModelSelector(pattern, compare_fn)

    def export_fn(estimator, export_dir_base, checkpoint_path, eval_result=None):
        path = checkpoint_path or checkpoint_management.latest_checkpoint(estimator.model_dir)
        best, result = selector.update(path, eval_result)
        if not best or result is None:
            return ""
        name = os.path.basename(compat.as_bytes(best))
        return base.export(estimator, os.path.join(compat.as_bytes(export_dir_base), name), best, result)

    return export_strategy.ExportStrategy("best_model", export_fn)


def extend_export_strategy(base_export_strategy, post_export_fn, post_export_name=None):
    """An ExportStrategy that changes what another one has written.

    post_export_fn: a function of (path of the SavedModel, directory for the changed one), which returns the
    path of the changed one, below the directory. post_export_name: the strategy's name, base's if None.
    """

    def export_fn(estimator, export_dir_base, checkpoint_path=None):
        export_dir_base = compat.as_str_any(export_dir_base)
        now = str(int(time.time()))
        base_dir = os.path.join(export_dir_base, "temp-base-export-" + now)
        if gfile.Exists(base_dir):
            raise RuntimeError("Failed to obtain base export directory")
        gfile.MakeDirs(base_dir)
        written = base_export_strategy.export(estimator, base_dir, checkpoint_path)
        post_dir = os.path.join(export_dir_base, "temp-post-export-" + now)
        if gfile.Exists(post_dir):
            raise RuntimeError("Failed to obtain temp export directory")
        gfile.MakeDirs(post_dir)
        changed = compat.as_str_any(post_export_fn(written, post_dir))
        if not changed.startswith(post_dir):
            raise ValueError(f"post_export_fn must return a sub-directory of {post_dir}")
        final = os.path.join(export_dir_base, os.path.relpath(changed, post_dir))
        if gfile.Exists(final):
            raise RuntimeError("Failed to obtain final export directory")
        gfile.Rename(changed, final)
        gfile.DeleteRecursively(base_dir)
        gfile.DeleteRecursively(post_dir)
        return final

    return export_strategy.ExportStrategy(post_export_name or base_export_strategy.name, export_fn)

"""Exporters: SavedModels that train_and_evaluate writes after evaluations."""

import abc
import os
import shutil

from braid.tensorflow.python.estimator import gc
from braid.tensorflow.python.estimator import util
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary_iterator
from braid.tensorflow.python.util.tf_export import estimator_export


@estimator_export("estimator.Exporter")
class Exporter(metaclass=abc.ABCMeta):
    """Writes a model after an evaluation."""

    @property
    @abc.abstractmethod
    def name(self):
        """The directory of the exports, below MODEL_DIR/export."""

    @abc.abstractmethod
    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Exports the checkpoint to a directory below `export_path`, or not. Returns the directory, or
        None."""


class _SavedModelExporter(Exporter):
    """Exports each time."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False):
        self._name = name
        self._serving_input_receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    @property
    def name(self):
        return self._name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        return estimator.export_saved_model(
            export_path,
            self._serving_input_receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )


def _loss_smaller(best_eval_result, current_eval_result):
    """Whether the loss is smaller than the best one."""
    for name, result in (
        ("best_eval_result", best_eval_result),
        ("current_eval_result", current_eval_result),
    ):
        if not result or "loss" not in result:
            raise ValueError(f"{name} cannot be empty or no loss is found in it.")
    return best_eval_result["loss"] > current_eval_result["loss"]


def _verify_compare_fn_args(compare_fn):
    args = set(util.fn_args(compare_fn))
    for needed in ("best_eval_result", "current_eval_result"):
        if needed not in args:
            raise ValueError(f"compare_fn ({compare_fn}) must include {needed} argument.")
    extra = args - {"best_eval_result", "current_eval_result"}
    if extra:
        raise ValueError(f"compare_fn ({compare_fn}) has following not expected args: {sorted(extra)}")


@estimator_export("estimator.BestExporter")
class BestExporter(Exporter):
    """Exports when an evaluation is better than all before.

    event_file_pattern: files below the model directory from which earlier evaluations are known; None for
    none. compare_fn: a function of best_eval_result and current_eval_result, true if the current one is
    better. exports_to_keep: how many exports stay; all if None.
    """

    def __init__(
        self,
        name="best_exporter",
        serving_input_receiver_fn=None,
        event_file_pattern="eval/*.tfevents.*",
        compare_fn=_loss_smaller,
        assets_extra=None,
        as_text=False,
        exports_to_keep=5,
    ):
        self._compare_fn = compare_fn
        if self._compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        _verify_compare_fn_args(self._compare_fn)
        self._exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)
        self._event_file_pattern = event_file_pattern
        self._model_dir = None
        self._best_eval_result = None
        self._has_exported = False
        self._exports_to_keep = exports_to_keep
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                "`exports_to_keep`, if provided, must be a positive number. Got " f"{exports_to_keep}"
            )

    @property
    def name(self):
        return self._exporter.name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            self._model_dir = estimator.model_dir
            self._best_eval_result = self._best_of_earlier(
                os.path.join(self._model_dir, self._event_file_pattern)
            )
        best = self._best_eval_result
        better = best is None or self._compare_fn(best_eval_result=best, current_eval_result=eval_result)
        if not better and not self._has_exported:
            # The events have this evaluation, too: it is the best if none is better.
            better = not self._compare_fn(best_eval_result=eval_result, current_eval_result=best)
        if not better:
            return None
        logging.info("Performing best model export.")
        self._best_eval_result = eval_result
        result = self._exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        _keep_newest(export_path, self._exports_to_keep)
        self._has_exported = True
        return result

    def _best_of_earlier(self, pattern):
        import glob

        best = None
        for path in sorted(glob.glob(pattern)):
            for event in summary_iterator.summary_iterator(path):
                values = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                if values and (
                    best is None or self._compare_fn(best_eval_result=best, current_eval_result=values)
                ):
                    best = values
        return best


@estimator_export("estimator.FinalExporter")
class FinalExporter(Exporter):
    """Exports once, after the last evaluation."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False):
        self._exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)

    @property
    def name(self):
        return self._exporter.name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )


@estimator_export("estimator.LatestExporter")
class LatestExporter(Exporter):
    """Exports after each evaluation, and keeps the newest exports; all if exports_to_keep is None."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False, exports_to_keep=5):
        self._exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)
        self._exports_to_keep = exports_to_keep
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                "`exports_to_keep`, if provided, must be positive number. Given exports_to_keep: "
                f"{exports_to_keep}."
            )

    @property
    def name(self):
        return self._exporter.name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        result = self._exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        _keep_newest(export_path, self._exports_to_keep)
        return result


def _keep_newest(export_dir_base, count):
    """Removes all exports below the directory but the newest `count`."""
    if count is None:
        return
    paths = gc._get_paths(export_dir_base, parser=_version_of)
    for path in gc._negation(gc._largest_export_versions(count))(paths):
        try:
            shutil.rmtree(path.path)
        except OSError as error:
            logging.warn("Can not delete %s recursively: %s", path.path, error)


def _version_of(path):
    name = os.path.basename(path.path)
    return path._replace(export_version=int(name)) if name.isdigit() and len(name) == 10 else None

"""StepsExporter: exports at chosen steps."""

import os

from braid.tensorflow.python.estimator import exporter
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary_iterator


class StepsExporter(exporter.Exporter):
    """Exports at the first evaluation at or behind each of some steps.

    steps_to_keep: the steps. event_file_pattern: files below the model directory from which the steps of
    earlier evaluations are known; None for none.
    """

    def __init__(
        self,
        steps_to_keep,
        name="steps_exporter",
        serving_input_receiver_fn=None,
        event_file_pattern="eval/*.tfevents.*",
        assets_extra=None,
        as_text=False,
    ):
        self._exporter = exporter._SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)
        self._event_file_pattern = event_file_pattern
        self._model_dir = None
        steps = [step for step in steps_to_keep if isinstance(step, int) and step > 0]
        if not steps:
            raise ValueError("`steps_to_keep` list must have at least one positive integer")
        if len(steps) != len(steps_to_keep):
            logging.warn("steps_to_keep: only positive integers are used: %s", steps)
        self._steps_to_keep = sorted(steps)

    @property
    def name(self):
        return self._exporter.name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if not eval_result or ops.GraphKeys.GLOBAL_STEP not in eval_result:
            raise ValueError(
                f"`eval_result` is empty, or does not have global step. Got eval_result: {eval_result}"
            )
        step = eval_result[ops.GraphKeys.GLOBAL_STEP]
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            self._model_dir = estimator.model_dir
            earlier = self._evaluated_steps(os.path.join(self._model_dir, self._event_file_pattern))
            if earlier:
                self._steps_to_keep = [s for s in self._steps_to_keep if s > max(earlier)]
        reached = [s for s in self._steps_to_keep if s <= step]
        if not reached:
            return None
        self._steps_to_keep = [s for s in self._steps_to_keep if s > step]
        if reached != [step]:
            logging.warn("Export at step %d: there was no evaluation at the steps %s", step, reached)
        return self._exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )

    @staticmethod
    def _evaluated_steps(pattern):
        return {
            event.step for path in gfile.Glob(pattern) for event in summary_iterator.summary_iterator(path)
        }

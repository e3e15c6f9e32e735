"""Hooks of training boosted trees."""

import os

from braid.tensorflow.contrib.learn.python.learn import session_run_hook
from braid.tensorflow.core.framework.summary_pb2 import Summary
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops, state_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.training.summary_io import SummaryWriterCache

SessionRunArgs = session_run_hook.SessionRunArgs


def _global_step(user):
    step = training_util.get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {user}.")
    return step


class FeatureImportanceSummarySaver(session_run_hook.SessionRunHook):
    """Writes how often features are used, and what they gain, to a directory of each feature.

    Args:
      model_dir: holds the directories.
      every_n_steps: steps between summaries.
    """

    def __init__(self, model_dir, every_n_steps=1):
        if model_dir is None:
            raise ValueError("model dir must be specified.")
        self._model_dir = model_dir
        self._every_n_steps = every_n_steps
        self._last_triggered_step = None

    def begin(self):
        self._requests = {"global_step": _global_step("FeatureImportanceSummarySaver")}
        for name in "feature_names", "feature_usage_counts", "feature_gains":
            self._requests[name] = ops.get_default_graph().get_tensor_by_name(f"gbdt/{name}:0")

    def before_run(self, run_context):
        return SessionRunArgs(self._requests)

    def after_run(self, run_context, run_values):
        step = run_values.results["global_step"]
        names = run_values.results["feature_names"]
        counts = run_values.results["feature_usage_counts"]
        gains = run_values.results["feature_gains"]
        last = self._last_triggered_step
        if last is not None and step < last + self._every_n_steps:
            return
        if len(names) != len(counts) or len(names) != len(gains):
            raise RuntimeError("Feature names and importance measures have inconsistent lengths.")
        self._last_triggered_step = step
        for tag, fraction_tag, values in (
            ("usage_counts", "usage_fraction", counts),
            ("gains", "gains_fraction", gains),
        ):
            total = float(sum(values))
            for name, value in zip(names, values):
                writer = SummaryWriterCache.get(os.path.join(self._model_dir, name.decode("utf-8")))
                for key, number in (tag, value), (fraction_tag, value / total if total else value):
                    entry = Summary.Value(tag=f"feature_importance/{key}", simple_value=number)
                    writer.add_summary(Summary(value=[entry]), step)


class FeedFnHook(session_run_hook.SessionRunHook):
    """Feeds each step."""

    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn)


class StopAfterNTrees(session_run_hook.SessionRunHook):
    """Ends training after n trees, or twice as many attempts.

    Args:
      n: the number of trees.
      num_attempted_trees_tensor, num_finalized_trees_tensor: of the model.
      override_global_step_value: what the global step is set to at the end; None: it is left alone.
    """

    def __init__(
        self, n, num_attempted_trees_tensor, num_finalized_trees_tensor, override_global_step_value=None
    ):
        self._num_trees = n
        self._num_attempted_trees_tensor = num_attempted_trees_tensor
        self._num_finalized_trees_tensor = num_finalized_trees_tensor
        self._override_global_step_value = override_global_step_value

    def begin(self):
        self._global_step_tensor = _global_step("StopAfterNTrees")
        if self._override_global_step_value is not None:
            self._override_global_step_op = state_ops.assign(
                self._global_step_tensor, self._override_global_step_value
            )

    def before_run(self, run_context):
        return SessionRunArgs(
            {
                "num_attempted_trees": self._num_attempted_trees_tensor,
                "num_finalized_trees": self._num_finalized_trees_tensor,
            }
        )

    def after_run(self, run_context, run_values):
        attempted = run_values.results["num_attempted_trees"]
        finalized = run_values.results["num_finalized_trees"]
        assert attempted is not None
        assert finalized is not None
        if finalized < self._num_trees and attempted <= 2 * self._num_trees:
            return
        logging.info("Requesting stop since we have reached %d trees.", finalized)
        if self._override_global_step_value is not None:
            logging.info("Overriding global steps value.")
            run_context.session.run(self._override_global_step_op)
        run_context.request_stop()


class SwitchTrainOp(session_run_hook.SessionRunHook):
    """Runs one train op for some steps, and then another."""

    def __init__(self, first_train_op, train_steps, second_train_op):
        self._first_train_op = first_train_op
        self._second_train_op = second_train_op
        self._train_steps = train_steps

    def begin(self):
        self._global_step_tensor = _global_step("SwitchTrainOp")
        self._current_train_op = control_flow_ops.no_op()

    def before_run(self, run_context):
        return SessionRunArgs({"global_step": self._global_step_tensor, "train_op": self._current_train_op})

    def after_run(self, run_context, run_values):
        is_first = run_values.results["global_step"] < self._train_steps
        self._current_train_op = self._first_train_op if is_first else self._second_train_op

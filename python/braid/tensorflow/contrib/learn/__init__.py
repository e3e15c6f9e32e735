"""tf.contrib.learn: experiments, estimators with fit(), data sets and the preprocessing of text.

The estimators are those of tf.estimator.
"""

import importlib

from braid.tensorflow.contrib.learn.python.learn import datasets  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn import preprocessing  # noqa: F401

_LEARN = "braid.tensorflow.contrib.learn.python.learn"
_MODULES = {
    "ModeKeys": "estimators.model_fn",
    "RunConfig": "estimators.run_config",
    "TaskType": "estimators.run_config",
    "Experiment": "experiment",
    "MetricSpec": "metric_spec",
}
_MODULES.update(
    (name, "estimators.estimators")
    for name in (
        "DNNClassifier",
        "DNNRegressor",
        "DNNLinearCombinedClassifier",
        "DNNLinearCombinedRegressor",
        "Estimator",
        "LinearClassifier",
        "LinearRegressor",
        "ModelFnOps",
        "PredictionKey",
        "SKCompat",
        "infer_real_valued_columns_from_input",
        "infer_real_valued_columns_from_input_fn",
    )
)


def __getattr__(name):
    # They import tf.estimator, which data sets do not need.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{_LEARN}.{_MODULES[name]}"), name)
    if name in ("learn_runner", "metric_spec", "monitors"):
        return importlib.import_module(f"{_LEARN}.{name}")
    raise AttributeError(f"tf.contrib.learn.{name} is not in Braid: estimators are in tf.estimator")

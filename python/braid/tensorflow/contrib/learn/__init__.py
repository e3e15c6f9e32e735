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
    "ExportStrategy": "export_strategy",
    "InputFnOps": "utils.input_fn_utils",
    "build_default_serving_input_fn": "utils.input_fn_utils",
    "build_parsing_serving_input_fn": "utils.input_fn_utils",
    "ProblemType": "estimators.constants",
    "build_standardized_signature_def": "utils.saved_model_export_utils",
    "make_export_strategy": "utils.saved_model_export_utils",
    "MetricSpec": "metric_spec",
    "Head": "estimators.head",
    "multi_class_head": "estimators.head",
    "regression_head": "estimators.head",
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
_MODULES.update((name, "graph_actions") for name in ("infer", "run_feeds", "run_n"))
_MODULES.update(
    (name, "learn_io.graph_io")
    for name in (
        "queue_parsed_features",
        "read_batch_examples",
        "read_batch_features",
        "read_batch_record_features",
        "read_keyed_batch_examples",
        "read_keyed_batch_examples_shared_queue",
        "read_keyed_batch_features",
        "read_keyed_batch_features_shared_queue",
    )
)
_MODULES.update((name, "learn_io.dask_io") for name in ("extract_dask_data", "extract_dask_labels"))
_MODULES.update(
    (name, "learn_io.pandas_io")
    for name in ("extract_pandas_data", "extract_pandas_labels", "extract_pandas_matrix")
)
_SUBMODULES = {"io": "learn_io"}
_SUBMODULES.update(
    (name, name)
    for name in ("graph_actions", "learn_runner", "metric_spec", "monitors", "utils", "experiment")
)


def __getattr__(name):
    # They import tf.estimator, which data sets do not need.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{_LEARN}.{_MODULES[name]}"), name)
    if name in _SUBMODULES:
        return importlib.import_module(f"{_LEARN}.{_SUBMODULES[name]}")
    raise AttributeError(f"tf.contrib.learn.{name} is not in Braid: estimators are in tf.estimator")

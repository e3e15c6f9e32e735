"""tf.estimator: all of it."""

# flake8: noqa
from braid.tensorflow.python.estimator import canned
from braid.tensorflow.python.estimator.canned.baseline import (
    BaselineClassifier,
    BaselineEstimator,
    BaselineRegressor,
)
from braid.tensorflow.python.estimator.canned.dnn import DNNClassifier, DNNEstimator, DNNRegressor
from braid.tensorflow.python.estimator.canned.dnn import dnn_logit_fn_builder
from braid.tensorflow.python.estimator.canned.dnn_linear_combined import (
    DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor,
)
from braid.tensorflow.python.estimator.canned.linear import LinearClassifier, LinearEstimator, LinearRegressor
from braid.tensorflow.python.estimator.canned.linear import linear_logit_fn_builder
from braid.tensorflow.python.estimator.canned.parsing_utils import classifier_parse_example_spec
from braid.tensorflow.python.estimator.canned.parsing_utils import regressor_parse_example_spec
from braid.tensorflow.python.estimator.canned.boosted_trees import (
    BoostedTreesClassifier,
    BoostedTreesEstimator,
)
from braid.tensorflow.python.estimator.canned.boosted_trees import BoostedTreesRegressor
from braid.tensorflow.python.estimator.early_stopping import *
from braid.tensorflow.python.estimator.estimator import Estimator, VocabInfo, WarmStartSettings
from braid.tensorflow.python.estimator.export import export_lib as export
from braid.tensorflow.python.estimator.exporter import BestExporter, Exporter, FinalExporter, LatestExporter
from braid.tensorflow.python.estimator.extenders import add_metrics
from braid.tensorflow.python.estimator.hooks import basic_session_run_hooks, hooks, session_run_hook
from braid.tensorflow.python.estimator.inputs import inputs
from braid.tensorflow.python.estimator.keras import model_to_estimator
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.estimator.model_fn import EstimatorSpec, call_logit_fn
from braid.tensorflow.python.estimator.run_config import RunConfig
from braid.tensorflow.python.estimator.training import EvalSpec, TrainSpec, train_and_evaluate

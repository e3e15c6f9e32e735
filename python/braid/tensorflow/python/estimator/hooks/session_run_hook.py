"""The base of hooks, under tf.estimator's names."""

# flake8: noqa
from braid.tensorflow.python.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from braid.tensorflow.python.util.tf_export import estimator_export

estimator_export("estimator.SessionRunArgs").export_constant(__name__, "SessionRunArgs")
estimator_export("estimator.SessionRunContext").export_constant(__name__, "SessionRunContext")
estimator_export("estimator.SessionRunHook").export_constant(__name__, "SessionRunHook")
estimator_export("estimator.SessionRunValues").export_constant(__name__, "SessionRunValues")

"""Hooks of tf.train under tf.estimator's names."""

# flake8: noqa
from braid.tensorflow.python.training.basic_session_run_hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    SecondOrStepTimer,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)
from braid.tensorflow.python.util.tf_export import estimator_export

estimator_export("estimator.CheckpointSaverHook").export_constant(__name__, "CheckpointSaverHook")
estimator_export("estimator.CheckpointSaverListener").export_constant(__name__, "CheckpointSaverListener")
estimator_export("estimator.FeedFnHook").export_constant(__name__, "FeedFnHook")
estimator_export("estimator.FinalOpsHook").export_constant(__name__, "FinalOpsHook")
estimator_export("estimator.GlobalStepWaiterHook").export_constant(__name__, "GlobalStepWaiterHook")
estimator_export("estimator.LoggingTensorHook").export_constant(__name__, "LoggingTensorHook")
estimator_export("estimator.NanLossDuringTrainingError").export_constant(
    __name__, "NanLossDuringTrainingError"
)
estimator_export("estimator.NanTensorHook").export_constant(__name__, "NanTensorHook")
estimator_export("estimator.ProfilerHook").export_constant(__name__, "ProfilerHook")
estimator_export("estimator.SecondOrStepTimer").export_constant(__name__, "SecondOrStepTimer")
estimator_export("estimator.StepCounterHook").export_constant(__name__, "StepCounterHook")
estimator_export("estimator.StopAtStepHook").export_constant(__name__, "StopAtStepHook")
estimator_export("estimator.SummarySaverHook").export_constant(__name__, "SummarySaverHook")

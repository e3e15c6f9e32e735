"""The hooks of tf.train in contrib."""

from braid.tensorflow.python.training import basic_session_run_hooks

LoggingTensorHook = basic_session_run_hooks.LoggingTensorHook
StopAtStepHook = basic_session_run_hooks.StopAtStepHook
CheckpointSaverHook = basic_session_run_hooks.CheckpointSaverHook
StepCounterHook = basic_session_run_hooks.StepCounterHook
NanLossDuringTrainingError = basic_session_run_hooks.NanLossDuringTrainingError
NanTensorHook = basic_session_run_hooks.NanTensorHook
SummarySaverHook = basic_session_run_hooks.SummarySaverHook

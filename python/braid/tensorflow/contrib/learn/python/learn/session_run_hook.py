"""The names of tf.train's hooks in contrib."""

from braid.tensorflow.python.training import session_run_hook

SessionRunHook = session_run_hook.SessionRunHook
SessionRunArgs = session_run_hook.SessionRunArgs
SessionRunContext = session_run_hook.SessionRunContext
SessionRunValues = session_run_hook.SessionRunValues

"""tf.contrib.hooks."""

from braid.tensorflow.python.training.basic_session_run_hooks import ProfilerHook  # noqa: F401

"""ProfilerHook, where tf.contrib.hooks has it."""

from braid.tensorflow.python.training.basic_session_run_hooks import ProfilerHook  # noqa: F401

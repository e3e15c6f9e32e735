"""tf.contrib.hooks: the hook that writes timelines."""

from braid.tensorflow.python.training.basic_session_run_hooks import ProfilerHook  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.hooks.{name}"))

"""tf.contrib.bayesflow: expectations by samples (monte_carlo)."""

from braid.tensorflow.contrib.bayesflow.python.ops import monte_carlo  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.bayesflow.{name}"))

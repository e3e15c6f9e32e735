"""The functions of monte_carlo_impl.py under their public name."""

from braid.tensorflow.contrib.bayesflow.python.ops.monte_carlo_impl import *  # noqa: F401,F403

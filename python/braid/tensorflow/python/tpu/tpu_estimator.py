"""TPUEstimator."""

from braid.tensorflow.python.estimator.tpu.tpu_estimator import *  # noqa: F401,F403

"""RunConfig and TPUConfig."""

from braid.tensorflow.python.estimator.tpu.tpu_config import *  # noqa: F401,F403

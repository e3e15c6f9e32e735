"""tf.contrib.mixed_precision: losses that are scaled while gradients are computed."""

from braid.tensorflow.contrib.mixed_precision.python.loss_scale_manager import (  # noqa: F401
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)
from braid.tensorflow.contrib.mixed_precision.python.loss_scale_optimizer import (  # noqa: F401
    LossScaleOptimizer,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.mixed_precision.{name}"))

"""The optimizers of this package."""

from braid.tensorflow.contrib.optimizer_v2.adadelta import AdadeltaOptimizer  # noqa: F401
from braid.tensorflow.contrib.optimizer_v2.adagrad import AdagradOptimizer  # noqa: F401
from braid.tensorflow.contrib.optimizer_v2.adam import AdamOptimizer  # noqa: F401
from braid.tensorflow.contrib.optimizer_v2.gradient_descent import GradientDescentOptimizer  # noqa: F401
from braid.tensorflow.contrib.optimizer_v2.momentum import MomentumOptimizer  # noqa: F401
from braid.tensorflow.contrib.optimizer_v2.optimizer_v2 import OptimizerV2  # noqa: F401
from braid.tensorflow.contrib.optimizer_v2.rmsprop import RMSPropOptimizer  # noqa: F401

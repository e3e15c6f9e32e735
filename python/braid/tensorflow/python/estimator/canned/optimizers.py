"""Optimizers by name."""

from braid.tensorflow.python.training import adagrad
from braid.tensorflow.python.training import adam
from braid.tensorflow.python.training import ftrl
from braid.tensorflow.python.training import gradient_descent
from braid.tensorflow.python.training import optimizer as optimizer_lib
from braid.tensorflow.python.training import rmsprop

_OPTIMIZER_CLS_NAMES = {
    "Adagrad": adagrad.AdagradOptimizer,
    "Adam": adam.AdamOptimizer,
    "Ftrl": ftrl.FtrlOptimizer,
    "RMSProp": rmsprop.RMSPropOptimizer,
    "SGD": gradient_descent.GradientDescentOptimizer,
}
_LEARNING_RATE = 0.05


def get_optimizer_instance(opt, learning_rate=None):
    """An Optimizer of a name, a function that makes one, or one that is there."""
    if isinstance(opt, str):
        if opt not in _OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Unsupported optimizer name: {opt}. Supported names are: {tuple(sorted(_OPTIMIZER_CLS_NAMES))}"
            )
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return _OPTIMIZER_CLS_NAMES[opt](learning_rate=learning_rate)
    if callable(opt):
        opt = opt()
    if not hasattr(opt, "apply_gradients") and not isinstance(opt, optimizer_lib.Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {opt}")
    return opt

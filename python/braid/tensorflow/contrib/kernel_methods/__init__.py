"""tf.contrib.kernel_methods: random features of kernels, and a hinge loss of several classes."""

from braid.tensorflow.contrib.kernel_methods.python.losses import sparse_multiclass_hinge_loss  # noqa: F401
from braid.tensorflow.contrib.kernel_methods.python.mappers.random_fourier_features import (  # noqa: F401
    RandomFourierFeatureMapper,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.kernel_methods.{name}"))

"""The data and the model of the tutorials on MNIST."""

from braid.tensorflow.examples.tutorials.mnist import input_data  # noqa: F401
from braid.tensorflow.examples.tutorials.mnist import mnist  # noqa: F401

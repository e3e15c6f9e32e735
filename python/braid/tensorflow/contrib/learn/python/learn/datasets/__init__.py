"""Data sets (tf.contrib.learn.datasets). Nothing is downloaded."""

from braid.tensorflow.contrib.learn.python.learn.datasets import base
from braid.tensorflow.contrib.learn.python.learn.datasets import mnist


def load_dataset(name, size="small", test_with_fake_data=False):
    """The data set "mnist", from its files in MNIST-data or BRAID_MNIST_DIR.

    "iris" and "boston" have to be read by base.load_csv_with_header. ValueError: there is no such data set.
    """
    if name == "mnist":
        return mnist.load_mnist()
    if name in ("iris", "boston"):
        return getattr(base, "load_" + name)()
    raise ValueError("Name of dataset is not found: %s" % name)

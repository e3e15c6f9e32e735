"""CIFAR-10 from files."""

import os

import numpy as np

from braid.tensorflow.python.keras.datasets import cifar
from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.datasets.cifar10.load_data")
def load_data():
    """((x_train, y_train), (x_test, y_test)), uint8; from ~/.keras/datasets/cifar-10-batches-py."""
    path = get_file("cifar-10-batches-py", origin="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz")
    parts = [cifar.load_batch(os.path.join(path, f"data_batch_{i}")) for i in range(1, 6)]
    x_train = np.concatenate([x for x, _ in parts])
    y_train = np.concatenate([np.array(y, np.uint8) for _, y in parts])
    x_test, y_test = cifar.load_batch(os.path.join(path, "test_batch"))
    return (cifar.in_keras_order(x_train), cifar.column(y_train)), (
        cifar.in_keras_order(x_test),
        cifar.column(np.array(y_test, np.uint8)),
    )

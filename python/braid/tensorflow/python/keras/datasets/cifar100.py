"""CIFAR-100 from files."""

import os

from braid.tensorflow.python.keras.datasets import cifar
from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.datasets.cifar100.load_data")
def load_data(label_mode="fine"):
    """((x_train, y_train), (x_test, y_test)), uint8; from ~/.keras/datasets/cifar-100-python."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    path = get_file("cifar-100-python", origin="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz")
    pairs = []
    for name in ("train", "test"):
        x, y = cifar.load_batch(os.path.join(path, name), label_key=label_mode + "_labels")
        pairs.append((cifar.in_keras_order(x), cifar.column(y)))
    return tuple(pairs)

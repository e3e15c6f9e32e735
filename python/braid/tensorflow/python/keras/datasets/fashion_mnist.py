"""Fashion-MNIST from files."""

import os

from braid.tensorflow.python.keras.datasets.mnist import _IDX, _read_idx
from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.datasets.fashion_mnist.load_data")
def load_data():
    """((x_train, y_train), (x_test, y_test)), as mnist.load_data; from ~/.keras/datasets/fashion-mnist."""
    origin = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
    subdirectory = os.path.join("datasets", "fashion-mnist")
    arrays = [
        _read_idx(get_file(name + ".gz", origin=origin + name + ".gz", cache_subdir=subdirectory))
        for name in _IDX
    ]
    return (arrays[0], arrays[1]), (arrays[2], arrays[3])

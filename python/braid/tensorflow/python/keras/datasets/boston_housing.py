"""Boston's housing prices from a file."""

import numpy as np

from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.datasets.boston_housing.load_data")
def load_data(path="boston_housing.npz", test_split=0.2, seed=113):
    """((x_train, y_train), (x_test, y_test)); from ~/.keras/datasets."""
    origin = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/boston_housing.npz"
    with np.load(get_file(path, origin=origin), allow_pickle=True) as f:
        x, y = f["x"], f["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (np.array(x[:at]), np.array(y[:at])), (np.array(x[at:]), np.array(y[at:]))

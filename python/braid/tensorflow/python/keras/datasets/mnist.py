"""MNIST from a file."""

import gzip
import os

import numpy as np

from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export

_IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def _read_idx(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        data = file.read()
    rank = data[3]
    shape = np.frombuffer(data, ">i4", rank, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy()


@keras_export("keras.datasets.mnist.load_data")
def load_data(path="mnist.npz"):
    """((x_train, y_train), (x_test, y_test)), uint8: images [n, 28, 28] and labels [n].

    path: a file mnist.npz in ~/.keras/datasets, or anywhere; or a directory with MNIST's four idx files. The
    environment variable BRAID_MNIST_DIR names such a directory where the file is not there.
    """
    directory = path if os.path.isdir(path) else os.environ.get("BRAID_MNIST_DIR")
    cached = os.path.join(os.path.expanduser("~"), ".keras", "datasets", path)
    if not os.path.isfile(path) and not os.path.isfile(cached) and directory:
        arrays = []
        for name in _IDX:
            found = [os.path.join(directory, name + end) for end in ("", ".gz")]
            found = [f for f in found if os.path.exists(f)]
            if not found:
                raise FileNotFoundError(f"{directory} has no {name} or {name}.gz")
            arrays.append(_read_idx(found[0]))
        return (arrays[0], arrays[1]), (arrays[2], arrays[3])
    if not os.path.isfile(path):
        path = get_file(path, origin="https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz")
    with np.load(path) as data:
        return (data["x_train"], data["y_train"]), (data["x_test"], data["y_test"])

"""Reads MNIST from its four files: images and labels, for training and for tests, as numpy arrays.

Nothing is downloaded: the files have to lie in the directory that the program names, or in BRAID_MNIST_DIR.
"""

import collections
import gzip
import os

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import random_seed

_Datasets = collections.namedtuple("_Datasets", ["train", "validation", "test"])
DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_IMAGES_MAGIC, _LABELS_MAGIC = 2051, 2049


def _read_idx(f, magic, what):
    """The bytes of an idx file: its sizes are 32-bit numbers behind a number that tells what it holds."""
    with gzip.GzipFile(fileobj=f) as plain:
        content = plain.read()
    found = int.from_bytes(content[:4], "big")
    if found != magic:
        raise ValueError("Invalid magic number %d in MNIST %s file: %s" % (found, what, f.name))
    rank = magic & 0xFF
    shape = np.frombuffer(content, ">u4", rank, 4).astype(int)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def _extract_images(f):
    """The images of an opened idx file, which gzip has packed: uint8 [number, rows, columns, 1]."""
    return _read_idx(f, _IMAGES_MAGIC, "image")[..., np.newaxis]


def _extract_labels(f, one_hot=False, num_classes=10):
    """The labels: uint8 [number], or float64 [number, classes] with a 1 for each."""
    labels = _read_idx(f, _LABELS_MAGIC, "label")
    return _dense_to_one_hot(labels, num_classes) if one_hot else labels


def _dense_to_one_hot(labels_dense, num_classes):
    return np.eye(num_classes)[labels_dense]


extract_images, extract_labels, dense_to_one_hot = _extract_images, _extract_labels, _dense_to_one_hot


class _DataSet:
    """Images and labels, and batches of them.

    images: uint8 [number, rows, columns, 1]. reshape: they become [number, pixels]. dtype: float32 brings
    them to 0.0 to 1.0, uint8 leaves them. fake_data: 10000 examples that are all the same. seed: of the
    shuffling.
    """

    def __init__(
        self,
        images,
        labels,
        fake_data=False,
        one_hot=False,
        dtype=dtypes.float32,
        reshape=True,
        seed=None,
    ):
        seed1, seed2 = random_seed.get_seed(seed)
        np.random.seed(seed1 if seed is None else seed2)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError("Invalid image dtype %r, expected uint8 or float32" % dtype)
        self._one_hot = one_hot
        if fake_data:
            self._num_examples = 10000
        else:
            assert (
                images.shape[0] == labels.shape[0]
            ), f"images.shape: {images.shape} labels.shape: {labels.shape}"
            self._num_examples = images.shape[0]
            if reshape:
                assert images.shape[3] == 1
                images = images.reshape(images.shape[0], images.shape[1] * images.shape[2])
            if dtype == dtypes.float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self):
        return self._images

    @property
    def labels(self):
        return self._labels

    @property
    def num_examples(self):
        return self._num_examples

    @property
    def epochs_completed(self):
        return self._epochs_completed

    def _shuffle(self):
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images = self._images[order]
        self._labels = self._labels[order]

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """The next images and labels. Where all have been given, they begin anew, shuffled again."""
        if fake_data:
            label = [1] + [0] * 9 if self._one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        images, labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        end -= self._num_examples
        self._index_in_epoch = end
        return np.concatenate((images, self._images[:end])), np.concatenate((labels, self._labels[:end]))


DataSet = _DataSet


def _find(filename, directory):
    """The path of a file of MNIST. FileNotFoundError: it is not there."""
    places = [directory, os.environ.get("BRAID_MNIST_DIR")]
    for place in places:
        path = os.path.join(place, filename) if place else ""
        if os.path.exists(path):
            return path
    raise FileNotFoundError(
        f"{os.path.join(directory, filename)} is not there, and Braid downloads nothing. Put "
        "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
        f"t10k-labels-idx1-ubyte.gz into {directory}, or set BRAID_MNIST_DIR to the directory that has them"
    )


def maybe_download(filename, work_directory, source_url=None):
    """The path of a file in a directory or in BRAID_MNIST_DIR. FileNotFoundError: it is in neither."""
    return _find(filename, work_directory)


_maybe_download = maybe_download


def read_data_sets(
    train_dir,
    fake_data=False,
    one_hot=False,
    dtype=dtypes.float32,
    reshape=True,
    validation_size=5000,
    seed=None,
    source_url=DEFAULT_SOURCE_URL,
):
    """Data sets `train`, `validation` (the first of the images for training) and `test`.

    train_dir: the directory of the files. FileNotFoundError: they are not there. The rest: see DataSet.
    """
    options = dict(dtype=dtype, reshape=reshape, seed=seed)
    if fake_data:
        made = [_DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)]
        return _Datasets(*made)

    def read(kind, extract, *args):
        with open(_find(kind, train_dir), "rb") as f:
            return extract(f, *args)

    train_images = read("train-images-idx3-ubyte.gz", _extract_images)
    train_labels = read("train-labels-idx1-ubyte.gz", _extract_labels, one_hot)
    test_images = read("t10k-images-idx3-ubyte.gz", _extract_images)
    test_labels = read("t10k-labels-idx1-ubyte.gz", _extract_labels, one_hot)
    if not 0 <= validation_size <= len(train_images):
        raise ValueError(
            "Validation size should be between 0 and {}. Received: {}.".format(
                len(train_images), validation_size
            )
        )
    return _Datasets(
        train=_DataSet(train_images[validation_size:], train_labels[validation_size:], **options),
        validation=_DataSet(train_images[:validation_size], train_labels[:validation_size], **options),
        test=_DataSet(test_images, test_labels, **options),
    )


def load_mnist(train_dir="MNIST-data"):
    return read_data_sets(train_dir)

"""Data sets in CSV files."""

import collections
import csv
import os

import numpy as np

from braid.tensorflow.python.platform import gfile

Dataset = collections.namedtuple("Dataset", ["data", "target"])
Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])


def load_csv_with_header(filename, target_dtype, features_dtype, target_column=-1):
    """A Dataset from a file whose first line begins with the numbers of samples and of features."""
    with gfile.Open(filename) as f:
        rows = csv.reader(f)
        samples, features = (int(word) for word in next(rows)[:2])
        data = np.zeros((samples, features), dtype=features_dtype)
        target = np.zeros((samples,), dtype=target_dtype)
        for i, row in enumerate(rows):
            target[i] = np.asarray(row.pop(target_column), dtype=target_dtype)
            data[i] = np.asarray(row, dtype=features_dtype)
    return Dataset(data=data, target=target)


def load_csv_without_header(filename, target_dtype, features_dtype, target_column=-1):
    """A Dataset from a file with a sample on each line."""
    data, target = [], []
    with gfile.Open(filename) as f:
        for row in csv.reader(f):
            target.append(row.pop(target_column))
            data.append(np.asarray(row, dtype=features_dtype))
    return Dataset(data=np.array(data), target=np.array(target, dtype=target_dtype))


def _load(name, data_path, target_dtype):
    if data_path is None:
        raise FileNotFoundError(f"Braid does not bring the data set {name}: give the path of its CSV file")
    return load_csv_with_header(data_path, target_dtype, float)


def load_iris(data_path=None):
    """The data set iris from a CSV file. FileNotFoundError: no path is given."""
    return _load("iris", data_path, int)


def load_boston(data_path=None):
    """The data set boston from a CSV file. FileNotFoundError: no path is given."""
    return _load("boston", data_path, float)


def maybe_download(filename, work_directory, source_url):
    """The path of a file in a directory. FileNotFoundError: it is not there."""
    path = os.path.join(work_directory, filename)
    if not gfile.Exists(path):
        raise FileNotFoundError(f"{path} is not there, and Braid downloads nothing: put {source_url} there")
    return path

"""CIFAR's batches."""

import pickle

import numpy as np


def load_batch(fpath, label_key="labels"):
    """(images [n, 3, 32, 32], labels) of a file."""
    with open(fpath, "rb") as file:
        batch = {k.decode("utf8"): v for k, v in pickle.load(file, encoding="bytes").items()}
    return batch["data"].reshape(batch["data"].shape[0], 3, 32, 32), batch[label_key]


def in_keras_order(images):
    """[n, 32, 32, 3], unless channels come first."""
    from braid.tensorflow.python.keras import backend

    return images.transpose(0, 2, 3, 1) if backend.image_data_format() == "channels_last" else images


def column(labels):
    return np.reshape(labels, (len(labels), 1))

"""Arrays: classes as rows of zeros and a one, and normalization."""

import numpy as np

from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.utils.to_categorical")
def to_categorical(y, num_classes=None, dtype="float32"):
    """Rows with a one at the class's place. y: ints. num_classes: one more than the largest if None."""
    y = np.array(y, dtype="int")
    shape = y.shape
    if shape and shape[-1] == 1 and len(shape) > 1:
        shape = tuple(shape[:-1])
    y = y.ravel()
    if not num_classes:
        num_classes = np.max(y) + 1
    result = np.zeros((y.shape[0], num_classes), dtype=dtype)
    result[np.arange(y.shape[0]), y] = 1
    return np.reshape(result, shape + (num_classes,))


@keras_export("keras.utils.normalize")
def normalize(x, axis=-1, order=2):
    """x, divided by its norms along an axis."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)

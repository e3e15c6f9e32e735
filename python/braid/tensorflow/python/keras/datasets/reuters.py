"""Reuters' newswires, as numbers of words, from files."""

import json

import numpy as np

from braid.tensorflow.python.keras.datasets.imdb import _ORIGIN, _cut, objects
from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.datasets.reuters.load_data")
def load_data(
    path="reuters.npz",
    num_words=None,
    skip_top=0,
    maxlen=None,
    test_split=0.2,
    seed=113,
    start_char=1,
    oov_char=2,
    index_from=3,
    **kwargs,
):
    """((x_train, y_train), (x_test, y_test)): lists of numbers of words, and topics; from
    ~/.keras/datasets."""
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    with np.load(get_file(path, origin=_ORIGIN + "reuters.npz"), allow_pickle=True) as f:
        xs, ys = f["x"], f["y"]
    order = np.arange(len(xs))
    np.random.RandomState(seed).shuffle(order)
    xs, ys = _cut(xs[order], ys[order], num_words, skip_top, maxlen, start_char, oov_char, index_from)
    at = int(len(xs) * (1 - test_split))
    return (objects(xs[:at]), np.array(ys[:at])), (objects(xs[at:]), np.array(ys[at:]))


@keras_export("keras.datasets.reuters.get_word_index")
def get_word_index(path="reuters_word_index.json"):
    """A dict from words to numbers."""
    with open(get_file(path, origin=_ORIGIN + "reuters_word_index.json"), encoding="utf-8") as f:
        return json.load(f)

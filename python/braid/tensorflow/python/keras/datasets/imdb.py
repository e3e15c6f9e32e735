"""The reviews of IMDB, as numbers of words, from files."""

import json

import numpy as np

from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export

_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def _cut(xs, labels, num_words, skip_top, maxlen, start_char, oov_char, index_from):
    if start_char is not None:
        xs = [[start_char] + [w + index_from for w in x] for x in xs]
    elif index_from:
        xs = [[w + index_from for w in x] for x in xs]
    if maxlen:
        kept = [(x, y) for x, y in zip(xs, labels) if len(x) < maxlen]
        if not kept:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase "
                "maxlen."
            )
        xs, labels = [x for x, _ in kept], [y for _, y in kept]
    if not num_words:
        num_words = max(max(x) for x in xs)
    inside = lambda w: skip_top <= w < num_words  # noqa: E731
    if oov_char is not None:
        xs = [[w if inside(w) else oov_char for w in x] for x in xs]
    else:
        xs = [[w for w in x if inside(w)] for x in xs]
    return xs, labels


def objects(xs):
    """An array of lists."""
    result = np.empty(len(xs), dtype=object)
    result[:] = xs
    return result


@keras_export("keras.datasets.imdb.load_data")
def load_data(
    path="imdb.npz",
    num_words=None,
    skip_top=0,
    maxlen=None,
    seed=113,
    start_char=1,
    oov_char=2,
    index_from=3,
    **kwargs,
):
    """((x_train, y_train), (x_test, y_test)): lists of numbers of words, and 0 or 1; from
    ~/.keras/datasets."""
    if "nb_words" in kwargs:
        num_words = kwargs.pop("nb_words")
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    path = get_file(path, origin=_ORIGIN + "imdb.npz")
    with np.load(path, allow_pickle=True) as f:
        x_train, y_train, x_test, y_test = f["x_train"], f["y_train"], f["x_test"], f["y_test"]
    rng = np.random.RandomState(seed)
    pairs = []
    for x, y in ((x_train, y_train), (x_test, y_test)):
        order = np.arange(len(x))
        rng.shuffle(order)
        pairs.append((x[order], y[order]))
    xs = np.concatenate([pairs[0][0], pairs[1][0]])
    ys = np.concatenate([pairs[0][1], pairs[1][1]])
    xs, ys = _cut(xs, ys, num_words, skip_top, maxlen, start_char, oov_char, index_from)
    at = len(x_train)
    return (objects(xs[:at]), np.array(ys[:at])), (objects(xs[at:]), np.array(ys[at:]))


@keras_export("keras.datasets.imdb.get_word_index")
def get_word_index(path="imdb_word_index.json"):
    """A dict from words to numbers."""
    with open(get_file(path, origin=_ORIGIN + "imdb_word_index.json"), encoding="utf-8") as f:
        return json.load(f)

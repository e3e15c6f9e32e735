"""Sequences: padding, windows, pairs of words."""

import json
import random

import numpy as np

from braid.tensorflow.python.keras.utils.data_utils import Sequence
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.preprocessing.sequence.pad_sequences")
def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """An array [sequences, maxlen, ...] of sequences of different lengths.

    maxlen: the longest one's length if None. padding, truncating: "pre" or "post", where values are added and
    taken away.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    lengths, sample_shape = [], ()
    for s in sequences:
        if not hasattr(s, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {s}")
        lengths.append(len(s))
        if len(s) and not sample_shape:
            sample_shape = np.asarray(s).shape[1:]
    for name, side in (("Truncating", truncating), ("Padding", padding)):
        if side not in ("pre", "post"):
            raise ValueError(f'{name} type "{side}" not understood')
    maxlen = max(lengths, default=0) if maxlen is None else maxlen
    if isinstance(value, str) and dtype != object and not np.issubdtype(dtype, np.str_):
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set "
            "`dtype=object` for variable length strings."
        )
    result = np.full((len(lengths), maxlen) + sample_shape, value, dtype=dtype)
    for i, s in enumerate(sequences):
        if not len(s):
            continue
        part = np.asarray(s[-maxlen:] if truncating == "pre" else s[:maxlen], dtype=dtype)
        if part.shape[1:] != sample_shape:
            raise ValueError(
                f"Shape of sample {part.shape[1:]} of sequence at position {i} is different from expected "
                f"shape {sample_shape}"
            )
        if padding == "post":
            result[i, : len(part)] = part
        else:
            result[i, maxlen - len(part) :] = part
    return result


@keras_export("keras.preprocessing.sequence.make_sampling_table")
def make_sampling_table(size, sampling_factor=1e-5):
    """How likely the i-th most frequent word is sampled (Mikolov et al. 2013), by Zipf's law."""
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    f = sampling_factor * inverse
    return np.minimum(1.0, f / np.sqrt(f))


@keras_export("keras.preprocessing.sequence.skipgrams")
def skipgrams(
    sequence,
    vocabulary_size,
    window_size=4,
    negative_samples=1.0,
    shuffle=True,
    categorical=False,
    sampling_table=None,
    seed=None,
):
    """(pairs of words, labels): words of a window have label 1, random pairs 0."""
    pairs, labels = [], []
    for i, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                pairs.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        words = [p[0] for p in pairs]
        random.shuffle(words)
        count = int(len(labels) * negative_samples)
        pairs += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10**6) if seed is None else seed
        for things in (pairs, labels):
            random.seed(seed)
            random.shuffle(things)
    return pairs, labels


@keras_export("keras.preprocessing.sequence.TimeseriesGenerator")
class TimeseriesGenerator(Sequence):
    """Batches of windows of a series, and the values after them."""

    def __init__(
        self,
        data,
        targets,
        length,
        sampling_rate=1,
        stride=1,
        start_index=0,
        end_index=None,
        shuffle=False,
        reverse=False,
        batch_size=128,
    ):
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while target "
                f"length is {len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride = sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, as no "
                "part of the sequence would be left to be used as current step."
            )

    def __len__(self):
        return (self.end_index - self.start_index + self.batch_size * self.stride) // (
            self.batch_size * self.stride
        )

    def __getitem__(self, index):
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(
                first, min(first + self.batch_size * self.stride, self.end_index + 1), self.stride
            )
        samples = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        targets = np.array([self.targets[row] for row in rows])
        return (samples[:, ::-1, ...], targets) if self.reverse else (samples, targets)

    def get_config(self):
        """The settings, with `data` and `targets` as JSON. TypeError: these cannot be written as JSON.

        As in TensorFlow 1.15 `start_index` is that of the first value after a window.
        """
        names = (
            "length",
            "sampling_rate",
            "stride",
            "start_index",
            "end_index",
            "shuffle",
            "reverse",
            "batch_size",
        )
        config = {
            "data": _series_as_json("Data", self.data),
            "targets": _series_as_json("Targets", self.targets),
        }
        return {**config, **{name: getattr(self, name) for name in names}}

    def to_json(self, **kwargs):
        """The name of the class and get_config() as JSON; arguments are json.dumps's."""
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def _series_as_json(what, series):
    if isinstance(series, (np.ndarray, np.generic)):
        series = series.tolist()
    try:
        return json.dumps(series)
    except TypeError:
        raise TypeError(f"{what} not JSON Serializable:", series) from None


def _remove_long_seq(maxlen, seq, label):
    """(sequences, labels) of those that are shorter than maxlen."""
    kept = [(x, y) for x, y in zip(seq, label) if len(x) < maxlen]
    return [x for x, _ in kept], [y for _, y in kept]

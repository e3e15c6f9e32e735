"""The content of a ragged tensor in arrays."""

import numpy as np

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["ragged.RaggedTensorValue"])
class RaggedTensorValue:
    """What a step returns for a RaggedTensor: `values`, an array or another one, and `row_splits`."""

    def __init__(self, values, row_splits):
        if not isinstance(row_splits, (np.ndarray, np.generic)) or row_splits.dtype not in (
            np.int32,
            np.int64,
        ):
            raise TypeError("row_splits must be an int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        self._values = values
        self._row_splits = row_splits

    @property
    def row_splits(self):
        return self._row_splits

    @property
    def values(self):
        return self._values

    @property
    def flat_values(self):
        """The array of all innermost values."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self):
        inner = self._values
        below = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self._row_splits,) + below

    @property
    def ragged_rank(self):
        return len(self.nested_row_splits)

    @property
    def dtype(self):
        return self.flat_values.dtype

    @property
    def shape(self):
        return (self._row_splits.shape[0] - 1, None) + self._values.shape[1:]

    def to_list(self):
        """Nested lists."""
        inner = (
            self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        )
        return [inner[a:b] for a, b in zip(self._row_splits, self._row_splits[1:])]

    def __str__(self):
        return "<tf.RaggedTensorValue %s>" % self.to_list()

    def __repr__(self):
        return "tf.RaggedTensorValue(values=%r, row_splits=%r)" % (self._values, self._row_splits)

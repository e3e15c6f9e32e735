"""HDF5Matrix: a dataset in an HDF5 file in place of an array."""

import collections

import numpy as np

from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.utils.HDF5Matrix")
class HDF5Matrix:
    """Rows start .. end of a dataset. normalizer: a function of what is read. h5py is needed."""

    refs = collections.defaultdict(int)  # open files, by their paths

    def __init__(self, datapath, dataset, start=0, end=None, normalizer=None):
        try:
            import h5py
        except ImportError:
            raise ImportError("The use of HDF5Matrix requires HDF5 and h5py installed.") from None
        if datapath not in self.refs:
            self.refs[datapath] = h5py.File(datapath, "r")
        self.data = self.refs[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self):
        return self.end - self.start

    def __getitem__(self, key):
        if isinstance(key, slice):
            start = 0 if key.start is None else key.start
            stop = self.shape[0] if key.stop is None else key.stop
            index, last = slice(start + self.start, stop + self.start), stop + self.start - 1
        elif isinstance(key, (int, np.integer)):
            index = last = int(key) + self.start
        else:
            index = [int(k) + self.start for k in key]
            last = max(index)
        if last >= self.end:
            raise IndexError(f"{key} is beyond the {len(self)} rows of the matrix")
        data = self.data[index]
        return data if self.normalizer is None else self.normalizer(data)

    @property
    def shape(self):
        return (self.end - self.start,) + self.data.shape[1:]

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def ndim(self):
        return self.data.ndim

    @property
    def size(self):
        return np.prod(self.shape)


def ask_to_proceed_with_overwrite(filepath):
    """Whether the user says that the file may be replaced."""
    answer = input(f"[WARNING] {filepath} already exists - overwrite? [y/n]").strip().lower()
    while answer not in ("y", "n"):
        answer = input('Enter "y" (overwrite) or "n" (cancel).').strip().lower()
    if answer == "n":
        return False
    print("[TIP] Next time specify overwrite=True!")
    return True

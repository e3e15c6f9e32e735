"""Sequence: batches by their number; files from the network are refused."""

import hashlib
import os

from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.utils.Sequence")
class Sequence:
    """Batches by number. Subclasses define __getitem__ and __len__."""

    def __getitem__(self, index):
        raise NotImplementedError("Sequence.__getitem__")

    def __len__(self):
        raise NotImplementedError("Sequence.__len__")

    def on_epoch_end(self):
        """Called after each epoch."""

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]


@keras_export("keras.utils.get_file")
def get_file(
    fname,
    origin,
    untar=False,
    md5_hash=None,
    file_hash=None,
    cache_subdir="datasets",
    hash_algorithm="auto",
    extract=False,
    archive_format="auto",
    cache_dir=None,
):
    """The path of a file that is in the cache already, ~/.keras/datasets by default. FileNotFoundError
    otherwise.

    Braid downloads nothing: put the file there.
    """
    directory = os.path.join(cache_dir or os.path.join(os.path.expanduser("~"), ".keras"), cache_subdir)
    path = os.path.join(directory, fname)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is missing: Braid downloads nothing; fetch {origin} and put it there"
        )
    wanted = file_hash or md5_hash
    if wanted and not validate_file(path, wanted, hash_algorithm):
        raise ValueError(f"{path} is not the file that is expected: its hash is not {wanted}")
    if untar or extract:
        import shutil

        shutil.unpack_archive(path, directory)
    return path


def validate_file(fpath, file_hash, algorithm="auto", chunk_size=65535):
    """Whether the file has the hash, SHA-256 or MD5."""
    sha = algorithm == "sha256" or (algorithm == "auto" and len(file_hash) == 64)
    hasher = hashlib.sha256() if sha else hashlib.md5()
    with open(fpath, "rb") as file:
        for chunk in iter(lambda: file.read(chunk_size), b""):
            hasher.update(chunk)
    return hasher.hexdigest() == str(file_hash)

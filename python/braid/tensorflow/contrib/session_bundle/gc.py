"""Which exports are kept: a filter takes a list of Paths and returns those to keep, sorted."""

import collections
import os

from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.util import compat

Path = collections.namedtuple("Path", "path export_version")


def largest_export_versions(n):
    """A filter of paths: the n largest versions."""

    def keep(paths):
        numbered = [(p.export_version, i) for i, p in enumerate(paths) if p.export_version is not None]
        return sorted(paths[i] for _, i in sorted(numbered, reverse=True)[:n])

    return keep


def one_of_every_n_export_versions(n):
    """A filter of paths: the largest version of each of the intervals [0, n], (n, 2n], (2n, 3n] and so on."""

    def keep(paths):
        largest = {}
        for p in paths:
            version = p.export_version
            if version is None:
                continue
            interval = (version - 1) // n if version else 0
            if interval not in largest or largest[interval].export_version < version:
                largest[interval] = p
        return sorted(largest.values())

    return keep


def mod_export_version(n):
    """A filter of paths: the versions that n divides."""
    return lambda paths: sorted(p for p in paths if p.export_version % n == 0)


def union(lf, rf):
    """A filter of paths: what either filter keeps."""
    return lambda paths: sorted(set(lf(paths)) | set(rf(paths)))


def negation(f):
    """A filter of paths: what the filter does not keep."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


def get_paths(base_dir, parser):
    """The Paths in a directory, sorted. parser: gives a Path its version, or returns None for one to leave
    out."""
    base = compat.as_str_any(base_dir)
    names = (compat.as_str_any(name).rstrip("/") for name in gfile.ListDirectory(base))
    found = (parser(Path(os.path.join(base, name), None)) for name in names)
    return sorted(p for p in found if p)

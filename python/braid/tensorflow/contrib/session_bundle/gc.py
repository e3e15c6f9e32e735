"""Which exports to keep: a filter is a function that takes a list of Paths and returns those to keep, sorted."""

import collections
import os

from braid.tensorflow.python.platform import gfile

Path = collections.namedtuple("Path", "path export_version")


def largest_export_versions(n):
    """A filter that keeps the `n` largest versions."""

    def keep(paths):
        versions = [(p.export_version, i) for i, p in enumerate(paths) if p.export_version is not None]
        return sorted(paths[i] for _, i in sorted(versions, reverse=True)[:n])

    return keep


def one_of_every_n_export_versions(n):
    """A filter that keeps the largest version of each interval [0, n], (n, 2n], (2n, 3n], ..."""

    def keep(paths):
        largest = {}
        for p in paths:
            if p.export_version is None:
                continue
            interval = (p.export_version - 1) // n if p.export_version else 0
            if interval not in largest or largest[interval].export_version < p.export_version:
                largest[interval] = p
        return sorted(largest.values())

    return keep


def mod_export_version(n):
    """A filter that keeps the versions that are multiples of `n`."""
    return lambda paths: sorted(p for p in paths if p.export_version % n == 0)


def union(lf, rf):
    """A filter that keeps what one of two filters keeps."""
    return lambda paths: sorted(set(lf(paths)) | set(rf(paths)))


def negation(f):
    """A filter that keeps what `f` does not keep."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


def get_paths(base_dir, parser):
    """The Paths in a directory, sorted. parser(Path) gives them their version; None: no export."""
    parsed = (parser(Path(os.path.join(base_dir, name), None)) for name in gfile.ListDirectory(base_dir))
    return sorted(p for p in parsed if p)

"""Which exports are removed: functions from lists of Paths to those that are chosen."""

import collections
import heapq
import math
import os

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.util import compat

Path = collections.namedtuple("Path", "path export_version")


def _largest_export_versions(n):
    """Chooses the n newest."""

    def keep(paths):
        newest = heapq.nlargest(n, [(path.export_version, i) for i, path in enumerate(paths)])
        return sorted(paths[i] for _, i in newest)

    return keep


def _one_of_every_n_export_versions(n):
    """Chooses the newest of each n versions in a row."""

    def keep(paths):
        by_interval = {}
        for path in paths:
            interval = math.floor((path.export_version - 1) / n) if path.export_version else 0
            if interval not in by_interval or by_interval[interval].export_version < path.export_version:
                by_interval[interval] = path
        return sorted(by_interval.values())

    return keep


def _mod_export_version(n):
    """Chooses the versions that n divides."""
    return lambda paths: sorted(path for path in paths if path.export_version % n == 0)


def _union(lf, rf):
    """Chooses what one of the two chooses."""
    return lambda paths: sorted(set(lf(paths)) | set(rf(paths)))


def _negation(f):
    """Chooses what f does not."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


def _get_paths(base_dir, parser):
    """A sorted list of Paths in a directory; `parser` gives a Path with its version, or None."""
    base = compat.as_str_any(base_dir)
    try:
        names = gfile.ListDirectory(base)
    except errors.NotFoundError:
        return []
    paths = [parser(Path(os.path.join(base, compat.as_str_any(name).rstrip("/")), None)) for name in names]
    return sorted(path for path in paths if path)

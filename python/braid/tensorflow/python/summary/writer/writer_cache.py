"""One FileWriter for each directory."""

import threading

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.summary.writer.writer import FileWriter
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["summary.FileWriterCache"])
class FileWriterCache:
    """The FileWriters that hooks and estimators share."""

    _cache = {}
    _lock = threading.RLock()

    @staticmethod
    def clear():
        """Closes all."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache = {}

    @staticmethod
    def get(logdir):
        """The FileWriter of a directory, which begins with the default graph."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=ops.get_default_graph())
            return FileWriterCache._cache[logdir]

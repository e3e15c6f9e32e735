"""Running tests."""

import functools
import os
import sys
import tempfile
import unittest

from braid.tensorflow.python.framework.test_util import _temp_root
from braid.tensorflow.python.util.tf_export import tf_export

TestCase = unittest.TestCase


@tf_export("test.main")
def main(argv=None):
    """Runs the tests of the program."""
    from braid.tensorflow.python.platform import flags

    left = flags.FLAGS(argv or sys.argv, known_only=True)
    unittest.main(argv=left, exit=True)


@functools.lru_cache(maxsize=None)
def GetTempDir():
    """A directory of this process's tests."""
    return tempfile.mkdtemp(dir=_temp_root())


@tf_export("test.test_src_dir_path", v1=["test.test_src_dir_path"])
def test_src_dir_path(relative_path):
    """The path of a file beside the test programs (TEST_SRCDIR)."""
    return os.path.join(os.environ.get("TEST_SRCDIR", os.path.dirname(sys.argv[0])), relative_path)


def StatefulSessionAvailable():
    return False


class StubOutForTesting:
    """Replaces attributes until it is told to put them back (tf.test.StubOutForTesting)."""

    def __init__(self):
        self._saved = []

    def Set(self, parent, child_name, new_child):
        self._saved.append((parent, child_name, getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    SmartSet = Set

    def UnsetAll(self):
        for parent, name, old in reversed(self._saved):
            setattr(parent, name, old)
        self._saved = []

    SmartUnsetAll = UnsetAll
    CleanUp = UnsetAll

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.UnsetAll()


tf_export(v1=["test.StubOutForTesting"]).export_constant(__name__, "StubOutForTesting")

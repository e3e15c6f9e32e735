"""unittest with Abseil's additions."""

import os
import shutil
import tempfile
import unittest
from unittest import *  # noqa: F401,F403
from unittest import mock  # noqa: F401

from braid.absl import app


class TestCase(unittest.TestCase):
    """A TestCase with assertions for containers and sequences."""

    maxDiff = None

    def create_tempdir(self, name=None):
        """A new directory below that of this test, as an object with full_path."""
        return _TempPath(_below_test(self, name))

    def assertEmpty(self, container, msg=None):
        if len(container):
            self.fail(self._formatMessage(msg, f"{container!r} has length of {len(container)}."))

    def assertNotEmpty(self, container, msg=None):
        if not len(container):
            self.fail(self._formatMessage(msg, f"{container!r} has length of 0."))

    def assertLen(self, container, expected_len, msg=None):
        if len(container) != expected_len:
            text = f"{container!r} has length of {len(container)}, expected {expected_len}."
            self.fail(self._formatMessage(msg, text))

    def assertStartsWith(self, actual, expected_start, msg=None):
        if not actual.startswith(expected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}"))

    def assertEndsWith(self, actual, expected_end, msg=None):
        if not actual.endswith(expected_end):
            self.fail(self._formatMessage(msg, f"{actual!r} does not end with {expected_end!r}"))

    def assertBetween(self, value, minv, maxv, msg=None):
        if not minv <= value <= maxv:
            self.fail(self._formatMessage(msg, f"{value!r} is not between {minv!r} and {maxv!r}"))

    def assertContainsSubsequence(self, container, subsequence, msg=None):
        rest = iter(container)
        if not all(item in rest for item in subsequence):
            self.fail(self._formatMessage(msg, f"{subsequence!r} is not a subsequence of {container!r}"))

    def assertContainsSubset(self, expected_subset, actual_set, msg=None):
        missing = set(expected_subset) - set(actual_set)
        if missing:
            self.fail(self._formatMessage(msg, f"missing elements: {missing!r}"))

    def assertNoCommonElements(self, expected_seq, actual_seq, msg=None):
        common = set(expected_seq) & set(actual_seq)
        if common:
            self.fail(self._formatMessage(msg, f"common elements: {common!r}"))

    def assertSameElements(self, expected_seq, actual_seq, msg=None):
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertSequenceStartsWith(self, prefix, whole, msg=None):
        self.assertEqual(list(prefix), list(whole)[: len(prefix)], msg)

    def assertSequenceAlmostEqual(self, expected_seq, actual_seq, places=None, msg=None, delta=None):
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for expected, actual in zip(expected_seq, actual_seq):
            self.assertAlmostEqual(expected, actual, places, msg, delta)

    def assertRaisesWithLiteralMatch(
        self, expected_exception, expected_exception_message, callable_obj=None, *args, **kwargs
    ):
        """The call, or what the with statement has, raises an exception with exactly this message."""
        context = _RaisesWithMessage(self, expected_exception, expected_exception_message)
        if callable_obj is None:
            return context
        with context:
            callable_obj(*args, **kwargs)
        return None

    def assertItemsEqual(self, expected_seq, actual_seq, msg=None):
        self.assertCountEqual(expected_seq, actual_seq, msg)


class _RaisesWithMessage:
    def __init__(self, test, expected_exception, message):
        self._test = test
        self._message = message
        self._context = test.assertRaises(expected_exception)

    def __enter__(self):
        return self._context.__enter__()

    def __exit__(self, *error):
        is_expected = self._context.__exit__(*error)
        if is_expected:
            self._test.assertEqual(self._message, str(self._context.exception))
        return is_expected


class _TempPath:
    def __init__(self, path):
        self.full_path = path

    def __fspath__(self):
        return self.full_path


def _below_test(test, name):
    directory = tempfile.mkdtemp(prefix=test.id().rpartition(".")[2])
    test.addCleanup(shutil.rmtree, directory, True)
    if name is None:
        return directory
    path = os.path.join(directory, name)
    os.makedirs(path, exist_ok=True)
    return path


def get_default_test_tmpdir():
    return os.environ.get("TEST_TMPDIR") or os.path.join(tempfile.gettempdir(), "absl_testing")


def main(*args, **kwargs):
    """Parses the flags and runs the tests of the program."""
    argv = kwargs.pop("argv", None)

    def run(rest):
        unittest.main(*args, argv=rest, **kwargs)

    app.run(run, argv, lambda words: app.FLAGS(words, known_only=True))

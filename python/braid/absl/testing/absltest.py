"""unittest with Abseil's additions."""

import collections.abc
import enum
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import *  # noqa: F401,F403
from unittest import mock  # noqa: F401
from urllib import parse

from braid.absl import app


class TempFileCleanup(enum.Enum):
    """When files of a test are removed: after each test, after those that succeed, or not at all."""

    ALWAYS = "always"
    SUCCESS = "success"
    OFF = "never"


class TestCase(unittest.TestCase):
    """A TestCase with assertions for containers and sequences."""

    maxDiff = None
    tempfile_cleanup = TempFileCleanup.ALWAYS  # of files whose makers do not say

    def create_tempdir(self, name=None, cleanup=None):
        """A new, empty directory below that of this test, as an object with full_path."""
        path = self._new_path(name, cleanup)
        os.makedirs(path)
        return _TempDir(path)

    def create_tempfile(
        self, file_path=None, content=None, mode="w", encoding="utf8", errors="strict", cleanup=None
    ):
        """A new file below the directory of this test, with this text or these bytes, as an object of its
        path.
        """
        made = _TempFile(self._new_path(file_path, cleanup))
        made._make(content, mode, encoding, errors)
        return made

    def _new_path(self, name, cleanup):
        """A path below the directory of this test where nothing is: what the first part of the name has there
        is removed.
        """
        parts = [re.sub(r"[^\w.-]", "_", part) for part in self.id().rsplit(".", 2)[-2:]]
        directory = os.path.join(get_default_test_tmpdir(), *parts)
        os.makedirs(directory, exist_ok=True)
        if name is None:
            name = os.path.basename(tempfile.mkdtemp(dir=directory))
        top = os.path.join(directory, os.path.normpath(name).split(os.sep)[0])
        _remove(top)
        cleanup = self.tempfile_cleanup if cleanup is None else cleanup
        if cleanup is not TempFileCleanup.OFF:
            self.addCleanup(self._clean_up, top, cleanup)
        return os.path.join(directory, name)

    def _clean_up(self, path, cleanup):
        if cleanup is TempFileCleanup.ALWAYS or self._has_succeeded():
            _remove(path)

    def _has_succeeded(self):
        outcome = getattr(self, "_outcome", None)
        return outcome is None or outcome.success

    def enter_context(self, manager):
        """Enters the context until the end of the test; what it gives."""
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

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

    def assertContainsExactSubsequence(self, container, subsequence, msg=None):
        container, wanted = list(container), list(subsequence)
        starts = range(len(container) - len(wanted) + 1)
        if not any(container[i : i + len(wanted)] == wanted for i in starts):
            self.fail(self._formatMessage(msg, f"{wanted!r} not an exact subsequence of {container!r}."))

    def assertContainsInOrder(self, strings, target, msg=None):
        """The text has these texts, each at or behind the place of the one before."""
        place, last = 0, None
        for text in [strings] if isinstance(strings, (str, bytes)) else strings:
            place = target.find(text, place)
            if place < 0:
                where = "" if last is None else f" after {last!r}"
                self.fail(self._formatMessage(msg, f"Did not find {text!r}{where} in {target!r}"))
            last = text

    def assertRegexMatch(self, actual_str, regexes, message=None):
        """One of the regular expressions, all texts or all bytes, is found; ^ and $ match at lines."""
        if isinstance(regexes, (str, bytes)):
            self.fail(self._formatMessage(message, "regexes is string or bytes; use assertRegex instead."))
        if not regexes:
            self.fail(self._formatMessage(message, "No regexes specified."))
        if len({type(regex) for regex in regexes}) > 1:
            self.fail(self._formatMessage(message, "regexes list must all be the same type."))
        if isinstance(regexes[0], bytes) and isinstance(actual_str, str):
            regexes = [regex.decode() for regex in regexes]
        elif isinstance(regexes[0], str) and isinstance(actual_str, bytes):
            regexes = [regex.encode() for regex in regexes]
        if not any(re.search(regex, actual_str, re.MULTILINE) for regex in regexes):
            self.fail(self._formatMessage(message, f"{actual_str!r} matches no regex in {regexes!r}"))

    def assertCommandSucceeds(self, command, regexes=(b"",), env=None, close_fds=True, msg=None):
        """The command, a list or a line for the shell, exits with 0 and prints what a regex matches.

        env: its environment, empty if None.
        """
        code, output = _run_command(command, env, close_fds)
        text = f"Running command {command!r} failed with error code {code} and message {output!r}"
        self.assertEqual(code, 0, self._formatMessage(msg, text))
        self.assertRegexMatch(output, list(regexes), self._formatMessage(msg, f"Running command {command!r}"))

    def assertCommandFails(self, command, regexes, env=None, close_fds=True, msg=None):
        """The command exits with another code than 0 and prints what a regex matches."""
        code, output = _run_command(command, env, close_fds)
        text = f"The following command succeeded while expected to fail: {command!r}"
        self.assertNotEqual(code, 0, self._formatMessage(msg, text))
        self.assertRegexMatch(output, list(regexes), self._formatMessage(msg, f"Running command {command!r}"))

    def assertSameStructure(self, a, b, aname="a", bname="b", msg=None):
        """Trees of mappings, sequences and sets are equal; the message has the places of all differences."""
        problems = list(_differences(a, b, aname, bname))
        if problems:
            self.fail(self._formatMessage(msg, "; ".join(problems)))

    def assertJsonEqual(self, first, second, msg=None):
        """Two texts of JSON have the same content. ValueError: one is not JSON."""
        found = []
        for name, text in (("first", first), ("second", second)):
            try:
                found.append(json.loads(text))
            except ValueError as error:
                why = f"could not decode {name} JSON value {text}: {error}"
                raise ValueError(self._formatMessage(msg, why)) from error
        self.assertSameStructure(*found, "first", "second", msg)

    def assertTotallyOrdered(self, *groups, **kwargs):
        """What is in a group is equal and has one hash, and is less than what is in later groups."""
        msg = kwargs.get("msg")
        for i, group in enumerate(groups):
            for small in group:
                for equal in group:
                    self.assertTrue(small == equal and equal == small, self._formatMessage(msg, "=="))
                    self.assertFalse(small != equal or equal != small, self._formatMessage(msg, "!="))
                    self.assertTrue(small <= equal and small >= equal, self._formatMessage(msg, "<= and >="))
                    self.assertFalse(small < equal or small > equal, self._formatMessage(msg, "< or >"))
                    self.assertEqual(hash(small), hash(equal), msg)
                for big in (item for later in groups[i + 1 :] for item in later):
                    self.assertTrue(
                        small < big and small <= big and big > small and big >= small and small != big,
                        self._formatMessage(msg, f"{small!r} is not less than {big!r}"),
                    )
                    self.assertFalse(
                        big < small or big <= small or small > big or small >= big or small == big,
                        self._formatMessage(msg, f"{big!r} is not greater than {small!r}"),
                    )

    def assertUrlEqual(self, a, b, msg=None):
        """Two URLs are equal but for the order of their parameters and of what they ask for."""
        first, second = parse.urlparse(a), parse.urlparse(b)
        for part in ("scheme", "netloc", "path", "fragment"):
            self.assertEqual(getattr(first, part), getattr(second, part), msg)
        self.assertCountEqual(first.params.split(";"), second.params.split(";"), msg)
        asked = [parse.parse_qs(url.query, keep_blank_values=True) for url in (first, second)]
        self.assertDictEqual(*asked, msg)

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


def _run_command(command, env, close_fds):
    """(exit code, the bytes that the command has printed)."""
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        env=env or {},
        close_fds=close_fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def _differences(a, b, aname, bname):
    """A text for each place where the trees differ."""
    kinds = (int, collections.abc.Mapping, collections.abc.Set, (list, tuple, collections.abc.Sequence))
    kind = next((kind for kind in kinds if isinstance(a, kind) and isinstance(b, kind)), None)
    is_leaf = kind in (None, int) or isinstance(a, (str, bytes)) or isinstance(b, (str, bytes))
    if type(a) is not type(b) and (kind is None or is_leaf and kind is not int):
        yield f"{aname} is a {type(a)!r} but {bname} is a {type(b)!r}"
    elif is_leaf:
        if a != b:
            yield f"{aname} is {a!r} but {bname} is {b!r}"
    elif kind is collections.abc.Set:
        yield from (f"{aname} has {key!r} but {bname} does not" for key in a if key not in b)
        yield from (f"{aname} lacks {key!r} but {bname} has it" for key in b if key not in a)
    else:
        mappings = (a, b) if kind is collections.abc.Mapping else (dict(enumerate(a)), dict(enumerate(b)))
        for key, value in mappings[0].items():
            if key in mappings[1]:
                yield from _differences(value, mappings[1][key], f"{aname}[{key!r}]", f"{bname}[{key!r}]")
            else:
                yield f"{aname} has [{key!r}] with value {value!r} but it's missing in {bname}"
        for key, value in mappings[1].items():
            if key not in mappings[0]:
                yield f"{aname} lacks [{key!r}] but {bname} has it with value {value!r}"


class _TempPath:
    """A path, which functions of files take."""

    def __init__(self, path):
        self.full_path = path

    def __fspath__(self):
        return self.full_path


class _TempDir(_TempPath):
    def mkdir(self, dir_path=None):
        """A directory in this one."""
        path = os.path.join(self.full_path, dir_path) if dir_path else tempfile.mkdtemp(dir=self.full_path)
        os.makedirs(path, exist_ok=True)
        return _TempDir(path)

    def create_file(self, file_path=None, content=None, mode="w", encoding="utf8", errors="strict"):
        """A new file in this directory."""
        if file_path is None:
            opened, file_path = tempfile.mkstemp(dir=self.full_path)
            os.close(opened)
        made = _TempFile(os.path.join(self.full_path, file_path))
        made._make(content, mode, encoding, errors)
        return made


class _TempFile(_TempPath):
    def _make(self, content, mode, encoding, errors):
        os.makedirs(os.path.dirname(self.full_path), exist_ok=True)
        if isinstance(content, str):
            self.write_text(content, mode, encoding, errors)
        else:
            self.write_bytes(content or b"")

    def read_text(self, encoding="utf8", errors="strict"):
        with self.open_text("r", encoding, errors) as file:
            return file.read()

    def read_bytes(self):
        with self.open_bytes() as file:
            return file.read()

    def write_text(self, text, mode="w", encoding="utf8", errors="strict"):
        with self.open_text(mode, encoding, errors) as file:
            file.write(text)

    def write_bytes(self, data, mode="wb"):
        with self.open_bytes(mode) as file:
            file.write(data)

    def open_text(self, mode="rt", encoding="utf8", errors="strict"):
        return open(self.full_path, mode, encoding=encoding, errors=errors)

    def open_bytes(self, mode="rb"):
        return open(self.full_path, mode)


def _remove(path):
    """Removes a file, or a directory with what is in it, if it is there."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.remove(path)


def get_default_test_tmpdir():
    return os.environ.get("TEST_TMPDIR") or os.path.join(tempfile.gettempdir(), "absl_testing")


def main(*args, **kwargs):
    """Parses the flags and runs the tests of the program."""
    argv = kwargs.pop("argv", None)

    def run(rest):
        unittest.main(*args, argv=rest, **kwargs)

    app.run(run, argv, lambda words: app.FLAGS(words, known_only=True))

"""Versions that can be compared: LooseVersion("1.15.0") >= "1.4"."""

import functools
import re


@functools.total_ordering
class Version:
    """A version from text. Versions compare with others of the class, and with text."""

    def __init__(self, vstring=None):
        if vstring:
            self.parse(vstring)

    def __repr__(self):
        return "%s ('%s')" % (type(self).__name__, str(self))

    def __str__(self):
        return self.vstring

    def _key_of(self, other):
        if isinstance(other, str):
            other = type(self)(other)
        return other._key() if isinstance(other, type(self)) else None

    def __eq__(self, other):
        key = self._key_of(other)
        return NotImplemented if key is None else self._key() == key

    def __lt__(self, other):
        key = self._key_of(other)
        return NotImplemented if key is None else self._key() < key

    __hash__ = None


class LooseVersion(Version):
    """Any text: its numbers and words are compared in turn. `version` is their list."""

    def parse(self, vstring):
        self.vstring = vstring
        words = [
            word for word in re.split(r"(\d+|[a-z]+|\.)", vstring, flags=re.ASCII) if word and word != "."
        ]
        self.version = [int(word) if word.isdigit() else word for word in words]

    def _key(self):
        return self.version


class StrictVersion(Version):
    """Two or three numbers, and perhaps a or b with another: "1.0.4a3".

    ValueError: the text is something else.
    """

    def parse(self, vstring):
        match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?", vstring, re.ASCII)
        if not match:
            raise ValueError("invalid version number '%s'" % vstring)
        major, minor, patch, letter, number = match.groups()
        self.vstring = vstring
        self.version = (int(major), int(minor), int(patch or 0))
        self.prerelease = (letter, int(number)) if letter else None

    def _key(self):
        return self.version, self.prerelease or ("c", 0)  # after all that have a letter

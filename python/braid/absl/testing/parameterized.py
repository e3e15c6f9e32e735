"""Tests that run once for each of several arguments."""

import collections.abc
import functools
import itertools

from braid.absl.testing import absltest


def _call(method, case):
    """A test that calls the method with the arguments of one case."""

    @functools.wraps(method)
    def test(self):
        if isinstance(case, collections.abc.Mapping):
            method(self, **case)
        elif isinstance(case, collections.abc.Sequence) and not isinstance(case, (str, bytes)):
            method(self, *case)
        else:
            method(self, case)

    del test.__wrapped__  # it takes no arguments
    return test


class _Cases:
    """A test method with its cases: (end of the name, arguments)."""

    def __init__(self, method, cases):
        self._method = method
        self._cases = list(cases)

    def tests(self, name):
        for end, case in self._cases:
            yield name + end, _call(self._method, case)


class _Meta(type):
    def __new__(mcs, name, bases, members):
        for key, value in list(members.items()):
            if isinstance(value, _Cases):
                del members[key]
                for full, test in value.tests(key):
                    if full in members:
                        raise ValueError(f"test {full} is there twice")
                    test.__name__ = full
                    members[full] = test
        return super().__new__(mcs, name, bases, members)


class TestCase(absltest.TestCase, metaclass=_Meta):
    """A TestCase whose methods may have the decorators below."""


TestGeneratorMetaclass = _Meta


def CoopTestCase(other_base_class):
    """A base for tests that have another TestCase as a base."""

    class Meta(type(other_base_class), _Meta):
        pass

    return Meta("CoopTestCase", (other_base_class, TestCase), {})


def _many(cases):
    """The cases of a decorator: its arguments, or the one iterable that they are."""
    is_iterable = len(cases) == 1 and not isinstance(cases[0], (tuple, str, bytes, collections.abc.Mapping))
    return list(cases[0]) if is_iterable else list(cases)


def parameters(*testcases):
    """Runs the test for each case: a tuple of arguments, a dictionary of them, or one argument."""
    return lambda method: _Cases(method, ((str(i), case) for i, case in enumerate(_many(testcases))))


def named_parameters(*testcases):
    """As parameters; a case has its name first, or under "testcase_name"."""

    def split(case):
        if isinstance(case, collections.abc.Mapping):
            rest = dict(case)
            name = rest.pop("testcase_name")
        else:
            name, rest = case[0], tuple(case[1:])
        return (name if name.startswith("_") else "_" + name) if name else "", rest

    return lambda method: _Cases(method, [split(case) for case in _many(testcases)])


def product(*kwargs_seqs, **testgrid):
    """Runs the test for all combinations of the values of each argument."""
    axes = [[dict(one) for one in seq] for seq in kwargs_seqs]
    axes += [[{name: value} for value in values] for name, values in testgrid.items()]
    cases = []
    for combination in itertools.product(*axes):
        merged = {}
        for part in combination:
            merged.update(part)
        cases.append(merged)
    return parameters(*cases)

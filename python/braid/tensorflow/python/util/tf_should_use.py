"""Functions whose result is to be used.

Braid does not warn when it is not: the decorators say it to the reader.
"""


def should_use_result(fn=None, warn_in_eager=False, error_in_function=False):
    """A function whose result does nothing unless a step runs it."""
    return fn if fn is not None else lambda f: f


must_use_result_or_fatal = should_use_result

"""Functions that take keyword arguments only."""

import functools

from braid.tensorflow.python.util import decorator_utils
from braid.tensorflow.python.util import tf_decorator


def keyword_args_only(func):
    """A function that refuses arguments by position with a ValueError."""
    decorator_utils.validate_callable(func, "keyword_args_only")

    @functools.wraps(func)
    def new_func(*args, **kwargs):
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return tf_decorator.make_decorator(func, new_func)

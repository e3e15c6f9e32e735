"""What the parts of estimators share."""

import functools
import inspect
import os
import time

from braid.tensorflow.python.training import session_run_hook


def fn_args(fn):
    """The names of the arguments of a function, a bound method, a partial or an object that can be called."""
    bound = set()
    while isinstance(fn, functools.partial):
        bound |= set(fn.keywords)
        given = len(fn.args)
        names = fn_args(fn.func)
        return tuple(name for name in names[given:] if name not in bound)
    parameters = inspect.signature(fn).parameters.values()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


class MultiHostDatasetInitializerHook(session_run_hook.SessionRunHook):
    """Initializes the iterators of datasets."""

    def __init__(self, dataset_initializers):
        self._initializers = dataset_initializers

    def after_create_session(self, session, coord):
        del coord
        session.run(self._initializers)


class _DatasetInitializerHook(session_run_hook.SessionRunHook):
    """Initializes the iterator of a dataset in each new session."""

    def __init__(self, iterator):
        self._iterator = iterator

    def begin(self):
        self._initializer = self._iterator.initializer

    def after_create_session(self, session, coord):
        del coord
        session.run(self._initializer)


def parse_input_fn_result(result, strategy=None):
    """(features, labels, hooks) of what an input function returned: a Dataset, (features, labels), features.

    strategy: of several replicas, each of which gets elements of its own; they need a Dataset.
    """
    hooks = []
    if _is_dataset(result):
        from braid.tensorflow.python.data.ops import dataset_ops

        if strategy is not None:
            iterator = strategy.make_input_fn_iterator(lambda _: result)
        else:
            iterator = dataset_ops.make_initializable_iterator(result)
        hooks.append(_DatasetInitializerHook(iterator))
        result = iterator.get_next()
    elif strategy is not None:
        raise ValueError(f"{type(strategy).__name__}: input_fn must return a tf.data.Dataset")
    return parse_iterator_result(result) + (hooks,)


def _is_dataset(value):
    return hasattr(value, "make_initializable_iterator") or type(value).__name__.endswith("Dataset")


def parse_iterator_result(result):
    """(features, labels) of an iterator's elements."""
    if isinstance(result, (list, tuple)):
        if len(result) != 2:
            raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
        return result[0], result[1]
    return result, None


def get_timestamped_export_dir(export_dir_base):
    """A directory below `export_dir_base`, named by the seconds since 1970, that does not exist."""
    base = os.fsdecode(export_dir_base)
    second = int(time.time())
    while os.path.exists(os.path.join(base, str(second))):
        second += 1
    return os.path.join(base, str(second))

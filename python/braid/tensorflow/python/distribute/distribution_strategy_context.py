"""The strategy and the replica of the code that runs."""

import threading

from braid.tensorflow.python.util.tf_export import tf_export

_state = threading.local()
_default = []


def _stack():
    """The contexts of this thread: pairs of a strategy and a replica context, which is None across replicas."""
    if not hasattr(_state, "stack"):
        _state.stack = []
    return _state.stack


def _get_default_strategy():
    from braid.tensorflow.python.distribute import distribute_lib

    if not _default:
        _default.append(distribute_lib._DefaultStrategy())
    return _default[0]


@tf_export("distribute.get_strategy")
def get_strategy():
    """The strategy of the scope, or the default one of one replica."""
    stack = _stack()
    return stack[-1][0] if stack else _get_default_strategy()


@tf_export("distribute.has_strategy")
def has_strategy():
    """Whether the code is in a scope of a strategy."""
    return bool(_stack())


@tf_export("distribute.in_cross_replica_context")
def in_cross_replica_context():
    """Whether the code is in a strategy's scope, but not in a replica's function."""
    stack = _stack()
    return bool(stack) and stack[-1][1] is None


@tf_export("distribute.get_replica_context")
def get_replica_context():
    """The ReplicaContext of the code, or None across replicas."""
    stack = _stack()
    if stack:
        return stack[-1][1]
    return _get_default_strategy()._replica_context


@tf_export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy):
    """Enters a strategy's scope for the rest of the program; None leaves it."""
    stack = _stack()
    if strategy is None:
        del stack[:]
    else:
        stack[:] = [(strategy, None)]

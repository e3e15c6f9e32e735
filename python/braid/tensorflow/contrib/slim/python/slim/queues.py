"""Queue runners for the time of a context."""

import contextlib

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.training import coordinator

__all__ = ["QueueRunners", "NestedQueueRunnerError"]


class NestedQueueRunnerError(Exception):
    """Queue runners run already in this context."""


_is_open = []


@contextlib.contextmanager
def QueueRunners(session):
    """A context in which the queue runners of the session's graph run."""
    if _is_open:
        raise NestedQueueRunnerError("Cannot nest QueueRunners")
    _is_open.append(True)
    coord = coordinator.Coordinator()
    threads = []
    try:
        with session.graph.as_default():
            for runner in ops.get_collection(ops.GraphKeys.QUEUE_RUNNERS):
                threads += runner.create_threads(session, coord=coord, daemon=True, start=True)
        yield
    finally:
        _is_open.pop()
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=120)

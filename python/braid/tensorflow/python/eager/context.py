"""Whether programs execute eagerly: never. Braid runs graphs."""

import contextlib

from braid.tensorflow.python.util.tf_export import tf_export

GRAPH_MODE, EAGER_MODE = 0, 1
SYNC, ASYNC = 0, 1
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT = 0, 1, 2
DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3


@tf_export("executing_eagerly")
def executing_eagerly():
    return False


def in_graph_mode():
    return True


def in_eager_mode():
    return False


@contextlib.contextmanager
def graph_mode():
    yield


def eager_mode():
    raise NotImplementedError("Braid has no eager execution: build a graph and run it in a tf.Session")


@tf_export("enable_eager_execution")
def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    eager_mode()


def shared_name(name=None):
    return name


def device(name):
    from braid.tensorflow.python.framework import ops

    return ops.device(name)


class _Context:
    """What modules ask a context for in graph mode."""

    device_name = None
    config = None
    summary_writer = None
    summary_recording = None

    def executing_eagerly(self):
        return False

    def num_gpus(self):
        return 0


_context = _Context()


def context():
    return _context


def num_gpus():
    return 0

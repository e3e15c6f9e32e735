"""CollectiveAllReduceStrategy."""

from braid.tensorflow.python.distribute.distribute_lib import CollectiveAllReduceStrategy  # noqa: F401

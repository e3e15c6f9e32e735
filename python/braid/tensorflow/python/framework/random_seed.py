"""Seeds of random ops (tf.set_random_seed)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util.tf_export import tf_export

DEFAULT_GRAPH_SEED = 87654321
_MAX = 2**31 - 1


@tf_export("random.get_seed", "get_seed")
def get_seed(op_seed):
    """The pair of seeds of a random op: the graph's and its own. (None, None): any."""
    graph_seed = ops.get_default_graph().seed
    if graph_seed is None and op_seed is None:
        return None, None
    if graph_seed is None:
        graph_seed = DEFAULT_GRAPH_SEED
    elif op_seed is None:
        graph = ops.get_default_graph()
        op_seed = graph._last_id - graph._uncounted
        graph._seed_used = True
    seeds = graph_seed % _MAX, op_seed % _MAX
    return (0, _MAX) if seeds == (0, 0) else seeds  # two zeros would mean any


@tf_export("random.set_random_seed", "set_random_seed")
def set_random_seed(seed):
    """Sets the seed of the default graph. None: random ops without a seed of their own differ each time."""
    ops.get_default_graph().seed = seed

"""tf.contrib.nearest_neighbor: in which buckets of hash tables a point's neighbours are looked for."""

from braid.tensorflow.contrib.nearest_neighbor.python.ops.nearest_neighbor_ops import (  # noqa: F401
    hyperplane_lsh_probes,
)

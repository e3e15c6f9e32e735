"""k-means: the classes, constants and ops of ops/clustering_ops.py."""

from braid.tensorflow.python.ops.clustering_ops import (  # noqa: F401
    CLUSTERS_VAR_NAME,
    COSINE_DISTANCE,
    KMC2_INIT,
    KMEANS_PLUS_PLUS_INIT,
    RANDOM_INIT,
    SQUARED_EUCLIDEAN_DISTANCE,
    KMeans,
)
from braid.tensorflow.python.ops.gen_clustering_ops import (  # noqa: F401
    kmc2_chain_initialization,
    kmeans_plus_plus_initialization,
    nearest_neighbors,
)

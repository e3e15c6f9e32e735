"""tf.contrib.factorization: k-means. Braid has no WALS and no mixtures of Gaussians."""

from braid.tensorflow.contrib.factorization.python.ops.clustering_ops import (  # noqa: F401
    COSINE_DISTANCE,
    KMEANS_PLUS_PLUS_INIT,
    RANDOM_INIT,
    SQUARED_EUCLIDEAN_DISTANCE,
    KMeans,
)
from braid.tensorflow.contrib.factorization.python.ops.kmeans import KMeansClustering  # noqa: F401

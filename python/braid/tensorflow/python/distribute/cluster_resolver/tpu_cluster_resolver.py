"""The cluster resolver of TPUs, which Braid has not."""

from braid.tensorflow.python.distribute.cluster_resolver import cluster_resolver


class TPUClusterResolver(cluster_resolver.ClusterResolver):
    """Refused: there are no TPUs."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.distribute.cluster_resolver.TPUClusterResolver: Braid has no TPUs")

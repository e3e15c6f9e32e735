"""tf.contrib.cluster_resolver: tf.distribute.cluster_resolver under its former name."""

from braid.tensorflow.python.distribute.cluster_resolver import (  # noqa: F401
    ClusterResolver,
    GCEClusterResolver,
    KubernetesClusterResolver,
    SimpleClusterResolver,
    SlurmClusterResolver,
    TFConfigClusterResolver,
    TPUClusterResolver,
    UnionClusterResolver,
)

"""Cluster resolvers: what tells a program its cluster and its task."""

from braid.tensorflow.python.distribute.cluster_resolver.cluster_resolver import ClusterResolver  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.cluster_resolver import (
    SimpleClusterResolver,
)  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.cluster_resolver import (
    UnionClusterResolver,
)  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.gce_cluster_resolver import (
    GCEClusterResolver,
)  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.kubernetes_cluster_resolver import (
    KubernetesClusterResolver,
)  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.slurm_cluster_resolver import (
    SlurmClusterResolver,
)  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver import (
    TFConfigClusterResolver,
)  # noqa: F401
from braid.tensorflow.python.distribute.cluster_resolver.tpu_cluster_resolver import (
    TPUClusterResolver,
)  # noqa: F401

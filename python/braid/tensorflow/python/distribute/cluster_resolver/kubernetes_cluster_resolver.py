"""A cluster resolver of Kubernetes' pods."""

from braid.tensorflow.python.distribute.cluster_resolver import cluster_resolver
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.cluster_resolver.KubernetesClusterResolver")
class KubernetesClusterResolver(cluster_resolver.ClusterResolver):
    """The pods that label selectors find, those of a selector in the order of their names.

    Args:
      job_to_label_mapping: {job: selectors}; by default {"worker": ["job-name=tensorflow"]}.
      tf_server_port: the port of the servers.
      override_client: a client of Kubernetes' API. By default that of the package kubernetes (pip), with the
        settings of kubectl.
    """

    def __init__(
        self, job_to_label_mapping=None, tf_server_port=8470, rpc_layer="grpc", override_client=None
    ):
        self._selectors = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port, self.rpc_layer = tf_server_port, rpc_layer
        self._client = override_client or _client()

    def cluster_spec(self):
        """The cluster. RuntimeError: a pod does not run."""
        return server_lib.ClusterSpec(
            {
                job: [
                    f"{_address(pod)}:{self._port}"
                    for selector in selectors
                    for pod in sorted(
                        self._client.list_pod_for_all_namespaces(label_selector=selector).items,
                        key=lambda pod: pod.metadata.name,
                    )
                ]
                for job, selectors in self._selectors.items()
            }
        )


def _client():
    try:
        from kubernetes import client, config
    except ImportError as missing:
        raise ImportError(
            "KubernetesClusterResolver needs the package kubernetes: pip install kubernetes"
        ) from missing
    config.load_kube_config()
    return client.CoreV1Api()


def _address(pod):
    if pod.status.phase != "Running":
        raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
    return pod.status.host_ip

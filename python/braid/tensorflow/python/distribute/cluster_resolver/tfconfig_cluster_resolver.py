"""A cluster resolver of the environment variable TF_CONFIG."""

import json
import os

from braid.tensorflow.python.distribute.cluster_resolver import cluster_resolver
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export


def _config():
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


@tf_export("distribute.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(cluster_resolver.ClusterResolver):
    """The cluster and the task of TF_CONFIG, which is read anew each time. Arguments come before it."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        self._task_type, self._task_id = task_type, task_id
        self._rpc_layer, self.environment = rpc_layer, environment

    @property
    def task_type(self):
        found = _config().get("task", {}).get("type") if self._task_type is None else self._task_type
        return None if found is None else str(found)

    @task_type.setter
    def task_type(self, task_type):
        self._task_type = task_type

    @property
    def task_id(self):
        found = _config().get("task", {}).get("index") if self._task_id is None else self._task_id
        return None if found is None else int(found)

    @task_id.setter
    def task_id(self, task_id):
        self._task_id = task_id

    @property
    def rpc_layer(self):
        return _config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer):
        self._rpc_layer = rpc_layer

    def cluster_spec(self):
        return server_lib.ClusterSpec(_config().get("cluster", {}))

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """TF_CONFIG's session_master; "" for a cluster of one task; else the session target of a task."""
        given = _config().get("session_master")
        if given is not None:
            return given
        if sum(map(len, self.cluster_spec().as_dict().values())) <= 1:
            return ""
        return super().master(task_type, task_id, rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return super().num_accelerators(task_type, task_id, config_proto)

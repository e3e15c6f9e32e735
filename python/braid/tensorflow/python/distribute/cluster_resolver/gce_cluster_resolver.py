"""A cluster resolver of an instance group of Google Compute Engine."""

from braid.tensorflow.python.distribute.cluster_resolver import cluster_resolver
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.cluster_resolver.GCEClusterResolver")
class GCEClusterResolver(cluster_resolver.ClusterResolver):
    """The instances of a group that run, as the tasks of one job in the order of their addresses.

    Args:
      project, zone, instance_group: where the group is.
      port: the port of the servers.
      task_type: the job. task_id: which task this one is.
      credentials: Google's credentials; "default": those of the environment.
      service: the API as googleapiclient.discovery.build("compute", "v1") makes it, which is the default.
    """

    def __init__(
        self,
        project,
        zone,
        instance_group,
        port,
        task_type="worker",
        task_id=0,
        rpc_layer="grpc",
        credentials="default",
        service=None,
    ):
        self._place = {"project": project, "zone": zone}
        self._instance_group, self._port = instance_group, port
        self._task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._service = _service(credentials) if service is None else service

    @property
    def task_type(self):
        return self._task_type

    @task_type.setter
    def task_type(self, task_type):
        raise RuntimeError(
            "You cannot reset the task_type of the GCEClusterResolver after it has been created."
        )

    def cluster_spec(self):
        groups, instances, found = self._service.instanceGroups(), self._service.instances(), []
        request = groups.listInstances(
            **self._place,
            instanceGroups=self._instance_group,
            body={"instanceState": "RUNNING"},
            orderBy="name",
        )
        while request is not None:
            response = request.execute()
            for item in response["items"]:
                one = instances.get(**self._place, instance=item["instance"].rpartition("/")[2])
                if one is not None:
                    address = one.execute()["networkInterfaces"][0]["networkIP"]
                    found.append(f"{address}:{self._port}")
            request = groups.listInstances_next(previous_request=request, previous_response=response)
        return server_lib.ClusterSpec({self._task_type: sorted(found)})


def _service(credentials):
    try:
        from googleapiclient import discovery

        if credentials == "default":
            from oauth2client.client import GoogleCredentials

            credentials = GoogleCredentials.get_application_default()
    except ImportError as missing:
        raise ImportError(
            "googleapiclient must be installed before using the GCE cluster resolver"
        ) from missing
    return discovery.build("compute", "v1", credentials=credentials)

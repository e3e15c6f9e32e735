"""MultiWorkerMirroredStrategy: each worker has a graph and variables of its own, which stay the same on all.

First values are those of the first worker. Gradients are added up by CollectiveReduce, so that all workers
make the same steps. Workers run the same steps in sessions on their own servers, whose ConfigProto has the
group's leader (update_config_proto); tf.estimator.train_and_evaluate does all that, and so does Keras'
Model.fit of a model that is compiled in the strategy's scope.
"""

import enum
import json
import os

from braid import protos
from braid.tensorflow.python.client import session as session_module
from braid.tensorflow.python.distribute import distribute_lib
from braid.tensorflow.python.distribute import distribution_strategy_context as context
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import collective_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export

_GROUP_KEY = 1  # that of all workers
_BROADCAST_TYPES = {dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64}


@tf_export("distribute.experimental.CollectiveCommunication")
class CollectiveCommunication(enum.Enum):
    """How collective ops communicate; here in one way."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@tf_export(
    "distribute.experimental.MultiWorkerMirroredStrategy",
    v1=["distribute.experimental.MultiWorkerMirroredStrategy"],
)
class CollectiveAllReduceStrategy(distribute_lib.StrategyV1):
    """Workers that make steps together without parameter servers, one replica in each.

    The cluster is that of cluster_resolver, or of TF_CONFIG: its chief, if there is one, and its workers.
    With one worker it changes nothing.
    """

    def __init__(self, communication=CollectiveCommunication.AUTO, cluster_resolver=None):
        del communication  # there is one way
        if cluster_resolver is not None:
            cluster = cluster_resolver.cluster_spec().as_dict()
            task = cluster_resolver.task_type, cluster_resolver.task_id
        else:
            environment = json.loads(os.environ.get("TF_CONFIG") or "{}")
            cluster, task = environment.get("cluster", {}), environment.get("task", {})
            task = task.get("type"), int(task.get("index", 0))
        self._cluster, self._task = cluster, task
        workers = [(job, i) for job in ("chief", "worker") for i in range(len(cluster.get(job, ())))]
        if len(workers) > 1 and task in workers:
            super().__init__(_Extended(self, workers, workers.index(task)))
        else:
            super().__init__(distribute_lib.StrategyExtendedV1(self))
        self._replica_context = _ReplicaContext(self, workers.index(task) if task in workers else 0)

    def reduce(self, reduce_op, value, axis=None):
        value = super().reduce(reduce_op, value, axis)
        return self.extended.reduce_to(reduce_op, value, None)

    def experimental_distribute_dataset(self, dataset):
        """This worker's part of a dataset that is the same on all workers.

        Batches are those of the workers together, and are divided among them. A worker gets all parts, one
        after another, where the dataset's options say that it is not to be sharded (auto_shard).
        """
        from braid.tensorflow.python.data.experimental.ops import distribute

        if not self._in_multi_worker_mode():
            return dataset
        context = self.extended._input_context()
        count = context.num_input_pipelines
        dataset = distribute._RebatchDataset(dataset, context.num_replicas_in_sync).prefetch(count)
        if dataset.options().experimental_distribute.auto_shard:
            dataset = distribute._AutoShardDataset(dataset, count, context.input_pipeline_id)
        return dataset

    def update_config_proto(self, config_proto):
        """The ConfigProto for a worker's sessions."""
        updated = protos.ConfigProto.FromString(config_proto.SerializeToString())
        if isinstance(self.extended, _Extended):
            self.extended._update_config(updated)
        return updated

    def configure(self, session_config=None, cluster_spec=None, task_type=None, task_id=None):
        if session_config is not None:
            session_config.CopyFrom(self.update_config_proto(session_config))

    def _in_multi_worker_mode(self):
        return isinstance(self.extended, _Extended)

    # For programs without sessions and servers of their own: those of Keras.

    def _start_server(self):
        """The server of this task, which lives until the process ends, and then waits for the other workers:
        they need it for their last step. A server that the program has started is taken.
        """
        job, task = self._task
        for server in server_lib._servers():
            if (server.server_def.job_name, server.server_def.task_index) == (job, task):
                return server
        server = server_lib.Server(self._cluster, job_name=job, task_index=task)
        if self._in_multi_worker_mode():
            server_lib._at_end(lambda last: last._wait_for_workers() if last is server else None)
        return server

    def _make_session(self, config):
        """A session on the server of this worker, which all workers have to answer first."""
        target = self._start_server().target
        workers = [f"/job:{job}/task:{task}" for job, task in self.extended._workers]
        with ops.Graph().as_default():
            session_module.Session(target, config=protos.ConfigProto(device_filters=workers)).close()
        return session_module.Session(target, config=self.update_config_proto(config))

    def _serve(self):
        """Ends a process that is a parameter server when the workers are done. Does nothing in a worker."""
        if self._task[0] == "ps" and "ps" in self._cluster:
            self._start_server().join()


class _ReplicaContext(distribute_lib.ReplicaContext):
    """The one replica of a worker."""

    def all_reduce(self, reduce_op, value):
        return self._strategy.extended.reduce_to(reduce_op, value, None)


_AGGREGATED = {variables.VariableAggregation.SUM, variables.VariableAggregation.MEAN}


class _SyncedVariable(resource_variable_ops.ResourceVariable):
    """A variable with ON_READ, to which each worker adds what it has computed of its own batches.

    In TensorFlow workers have values of their own, whose sum or mean a read gives, on all workers at once.
    Here what is added is summed up first: the values are the same on all workers, and one of them reads and
    saves alone. `_aggregated`: SUM or MEAN.
    """

    def _together(self, value):
        value = ops.convert_to_tensor(value, dtype=self.dtype.base_dtype)
        mean = self._aggregated == variables.VariableAggregation.MEAN
        op = distribute_lib.ReduceOp.MEAN if mean else distribute_lib.ReduceOp.SUM
        with self._graph_of_handle():
            return self._created_in.extended.reduce_to(op, value, None)

    def assign(self, value, use_locking=None, name=None, read_value=True):
        if self._aggregated == variables.VariableAggregation.MEAN:
            replica = context.get_replica_context()
            if replica is not None and replica.strategy is self._created_in:
                value = self._together(value)
        return super().assign(value, use_locking, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return super().assign_add(self._together(delta), use_locking, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return super().assign_sub(self._together(delta), use_locking, name, read_value)


class _Extended(distribute_lib.StrategyExtendedV1):
    """What the strategy of several workers is made of. workers: (job, task), in the order of their ranks."""

    def __init__(self, container_strategy, workers, rank):
        job, task = workers[rank]
        super().__init__(container_strategy, f"/job:{job}/task:{task}")
        self._workers, self._rank = workers, rank

    @property
    def _num_replicas_in_sync(self):
        return len(self._workers)

    @property
    def _num_workers(self):
        return len(self._workers)

    should_checkpoint = property(lambda self: self._rank == 0)
    should_save_summary = property(lambda self: self._rank == 0)
    experimental_between_graph = property(lambda self: True)

    def variable_created_in_scope(self, v):
        return getattr(v, "_created_in", None) is self._container_strategy()

    def _device_scope(self):
        return ops.device(self._device)

    def _input_context(self):
        size = len(self._workers)
        return distribute_lib.InputContext(size, self._rank, size)

    def _update_config(self, config):
        job, task = self._workers[0]
        config.experimental.collective_group_leader = f"/job:{job}/replica:0/task:{task}"
        del config.device_filters[:]
        config.device_filters.append(self._device)

    def _instance(self):
        """The key of the next op of the group; workers build the same ops in the same order."""
        graph = ops.get_default_graph()
        graph._collective_instances = getattr(graph, "_collective_instances", 0) + 1
        return graph._collective_instances

    # Variables.

    def _create_variable(self, next_creator, **kwargs):
        """A variable that begins with the first worker's value."""
        given, instance, own = kwargs["initial_value"], self._instance(), []

        def first():
            value = given() if callable(given) else given
            with ops.device(self._device):
                value = array_ops.identity(ops.convert_to_tensor(value, dtype=kwargs.get("dtype")))
                own.append(value)
                group = dict(group_size=len(self._workers), group_key=_GROUP_KEY, instance_key=instance)
                if value.dtype not in _BROADCAST_TYPES or not value.shape.is_fully_defined():
                    return value
                if self._rank == 0:
                    return collective_ops.broadcast_send(value, value.shape, value.dtype, **group)
                return collective_ops.broadcast_recv(value.shape, value.dtype, **group)

        kwargs.update(initial_value=first, use_resource=True)
        variable = next_creator(**kwargs)
        variable._initial_value = own[0]  # initialized_value() is to need no other worker
        variable._created_in = self._container_strategy()
        aggregation = kwargs.get("aggregation")
        if kwargs.get("synchronization") == variables.VariableSynchronization.ON_READ:
            if type(variable) is resource_variable_ops.ResourceVariable and aggregation in _AGGREGATED:
                variable.__class__, variable._aggregated = _SyncedVariable, aggregation
        return variable

    # Sums.

    def reduce_to(self, reduce_op, value, destinations):
        """The sum or mean over the workers, on each of them. IndexedSlices become tensors."""
        mean = distribute_lib._is_mean(reduce_op)
        with ops.device(self._device):
            value = array_ops.identity(ops.convert_to_tensor(value))
            return collective_ops.all_reduce(
                value,
                len(self._workers),
                _GROUP_KEY,
                self._instance(),
                merge_op="Add",
                final_op="Div" if mean else "Id",
            )

    def batch_reduce_to(self, reduce_op, value_destination_pairs):
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]

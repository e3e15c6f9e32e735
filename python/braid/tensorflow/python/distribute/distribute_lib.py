"""tf.distribute's strategies.

A strategy of one replica changes nothing in the graph: its scope says that variables are the strategy's, and
its replica's function is called once. MirroredStrategy of several devices has a replica on each: see
mirrored_strategy.py. Training on several processes is what tf.estimator and parameter servers do.
"""

import contextlib
import enum

from braid.tensorflow.python.autograph.core import ag_ctx
from braid.tensorflow.python.distribute import distribution_strategy_context as context
from braid.tensorflow.python.distribute import reduce_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

ReduceOp = reduce_util.ReduceOp


@tf_export("distribute.InputContext")
class InputContext:
    """Which part of the input an input function gives."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self):
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self):
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self):
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size):
        if global_batch_size % self._num_replicas_in_sync != 0:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                f"{self._num_replicas_in_sync!r} "
            )
        return global_batch_size // self._num_replicas_in_sync


@tf_export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """How inputs are replicated: each worker calls the input function."""

    PER_WORKER = "PER_WORKER"


@tf_export("distribute.Strategy", v1=["distribute.Strategy"])
class StrategyV1:
    """A strategy of one replica in this process. See the module."""

    _scale_loss_for_estimator = False

    def __init__(self, extended):
        self._extended = extended
        self._replica_context = ReplicaContext(self, 0)

    @contextlib.contextmanager
    def _scale_loss_for_estimator_enabled(self):
        """A context in which optimizers divide losses by the number of replicas."""
        self._scale_loss_for_estimator = True
        try:
            yield
        finally:
            self._scale_loss_for_estimator = False

    @property
    def extended(self):
        return self._extended

    def scope(self):
        """A context in which this is the strategy, and variables are its own."""
        return self._scope()

    def colocate_vars_with(self, colocate_with_variable):
        """The former place of extended.colocate_vars_with."""
        return self.extended.colocate_vars_with(colocate_with_variable)

    @contextlib.contextmanager
    def _scope(self):
        context._stack().append((self, None))
        try:
            with self._extended._device_scope(), self._extended._creator_scope():
                yield self
        finally:
            context._stack().pop()

    @property
    def num_replicas_in_sync(self):
        return self._extended._num_replicas_in_sync

    def experimental_run_v2(self, fn, args=(), kwargs=None):
        """fn(*args, **kwargs) in the replica."""
        from braid.tensorflow.python.autograph.impl import api

        fn = api.tf_convert(fn, ag_ctx.control_status_ctx(), convert_by_default=False)
        return self._extended.call_for_each_replica(fn, args, kwargs)

    run = experimental_run_v2

    def experimental_run(self, fn, input_iterator=None):
        args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args)

    def reduce(self, reduce_op, value, axis=None):
        """The value of the one replica, reduced over an axis."""
        if isinstance(reduce_op, str):
            reduce_op = ReduceOp(reduce_op.upper())
        if axis is None:
            return value
        fn = math_ops.reduce_sum if reduce_op == ReduceOp.SUM else math_ops.reduce_mean
        return nest.map_structure(lambda v: fn(v, axis=axis), value)

    def experimental_local_results(self, value):
        return (value,)

    unwrap = experimental_local_results

    def group(self, value, name=None):
        return control_flow_ops.group(value, name=name)

    def make_dataset_iterator(self, dataset):
        """An iterator of experimental_distribute_dataset(dataset), which the program initializes."""
        return self._make_iterator(self.experimental_distribute_dataset(dataset))

    @staticmethod
    def _make_iterator(dataset):
        """An iterator of a dataset as it is."""
        from braid.tensorflow.python.data.ops import dataset_ops

        iterator = dataset_ops.make_initializable_iterator(dataset)
        original = iterator.initializer
        if not callable(getattr(iterator, "initialize", None)):
            iterator.initialize = lambda: [original]
        return iterator

    def make_input_fn_iterator(self, input_fn, replication_mode=InputReplicationMode.PER_WORKER):
        return self._make_iterator(input_fn(self._extended._input_context()))

    def experimental_make_numpy_dataset(self, numpy_input, session=None):
        """A Dataset of the rows of arrays."""
        from braid.tensorflow.python.data.ops import dataset_ops

        return dataset_ops.Dataset.from_tensor_slices(numpy_input)

    def experimental_distribute_dataset(self, dataset):
        return dataset

    def experimental_distribute_datasets_from_function(self, dataset_fn):
        return dataset_fn(self._extended._input_context())

    def configure(self, session_config=None, cluster_spec=None, task_type=None, task_id=None):
        """Changes session_config for the strategy: there is nothing to change."""

    def update_config_proto(self, config_proto):
        return config_proto

    def _in_multi_worker_mode(self):
        """Whether replicas of other processes make each step together with this one's."""
        return False

    def _serve(self):
        """Ends a process whose task is to serve the others, when these are done."""

    @property
    def cluster_resolver(self):
        return getattr(self._extended, "_cluster_resolver", None)

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


Strategy = StrategyV1
DistributionStrategy = StrategyV1


@tf_export("distribute.StrategyExtended", v1=["distribute.StrategyExtended"])
class StrategyExtendedV1:
    """What a strategy is made of."""

    _num_replicas_in_sync = 1

    def __init__(self, container_strategy, device=None):
        self._container_strategy_ref = container_strategy
        self._device = device

    def _container_strategy(self):
        return self._container_strategy_ref

    def _creator_scope(self):
        """The context in which variables are the strategy's: made by _create_variable, if it has one."""
        graph, creator = ops.get_default_graph(), getattr(self, "_create_variable", None)
        if creator is None or any(c == creator for _, c in graph._variable_creator_stack):
            return contextlib.nullcontext()  # a scope in another scope of the strategy
        return graph._variable_creator_scope(creator)

    def _device_scope(self):
        return ops.device(self._device) if self._device else contextlib.nullcontext()

    def _input_context(self):
        return InputContext()

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        """fn(*args, **kwargs) in the replica's context."""
        strategy = self._container_strategy()
        context._stack().append((strategy, strategy._replica_context))
        try:
            return fn(*args, **(kwargs or {}))
        finally:
            context._stack().pop()

    def reduce_to(self, reduce_op, value, destinations):
        return value

    def batch_reduce_to(self, reduce_op, value_destination_pairs):
        return [value for value, _ in value_destination_pairs]

    def broadcast_to(self, tensor, destinations):
        return tensor

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """fn(var, *args, **kwargs), on the variable's device."""
        with ops.colocate_with(var):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else [result]

    def _gradient_and_copies(self, gradient, variable):
        """The sum of the replicas' gradients of a variable, and (number, copy of the variable) of each device."""
        return self.reduce_to(ReduceOp.SUM, gradient, variable), [(0, variable)]

    def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
        result = fn(*args, **(kwargs or {}))
        return result if group else [result]

    def read_var(self, v):
        return array_ops.identity(v)

    def value_container(self, value):
        return value

    def non_slot_devices(self, var_list):
        return min(var_list, key=lambda v: v.name)

    def colocate_vars_with(self, colocate_with_variable):
        return ops.colocate_with(colocate_with_variable)

    def variable_created_in_scope(self, v):
        return True

    @property
    def worker_devices(self):
        return (self._device or "/device:CPU:0",)

    @property
    def parameter_devices(self):
        return (self._device or "/device:CPU:0",)

    @property
    def experimental_between_graph(self):
        return False

    @property
    def experimental_should_init(self):
        return True

    @property
    def should_checkpoint(self):
        return True

    @property
    def should_save_summary(self):
        return True

    @property
    def _num_workers(self):
        return 1


StrategyExtended = StrategyExtendedV1


@tf_export("distribute.ReplicaContext")
class ReplicaContext:
    """The replica whose function runs."""

    def __init__(self, strategy, replica_id_in_sync_group):
        self._strategy = strategy
        self._id = replica_id_in_sync_group

    @property
    def strategy(self):
        return self._strategy

    @property
    def num_replicas_in_sync(self):
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self):
        from braid.tensorflow.python.framework import constant_op

        if isinstance(self._strategy, _DefaultStrategy):
            return self._id
        return constant_op.constant(self._id, dtype="int32")

    @property
    def devices(self):
        return self._strategy.extended.worker_devices

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """merge_fn(strategy, *args, **kwargs), across replicas."""
        context._stack().append((self._strategy, None))
        try:
            return merge_fn(self._strategy, *args, **(kwargs or {}))
        finally:
            context._stack().pop()

    def all_reduce(self, reduce_op, value):
        return value

    def __enter__(self):
        context._stack().append((self._strategy, self))

    def __exit__(self, *_):
        context._stack().pop()
        return False


class _DefaultStrategy(StrategyV1):
    """The strategy where none was chosen."""

    def __init__(self):
        super().__init__(StrategyExtendedV1(self))


def _one_device(devices, what):
    """The device of a list of one at most. NotImplementedError for more."""
    devices = [devices] if isinstance(devices, str) else list(devices or [])
    if len(devices) > 1:
        raise NotImplementedError(
            f"{what}(devices={devices}): Braid has one replica in a process; start a process for each, with parameter "
            "servers (tf.estimator.train_and_evaluate, tf.train.SyncReplicasOptimizer)"
        )
    return devices[0] if devices else None


@tf_export("distribute.OneDeviceStrategy", v1=["distribute.OneDeviceStrategy"])
class OneDeviceStrategy(StrategyV1):
    """All variables and computations on one device."""

    def __init__(self, device):
        super().__init__(StrategyExtendedV1(self, device))


@tf_export(
    "distribute.experimental.CentralStorageStrategy", v1=["distribute.experimental.CentralStorageStrategy"]
)
class CentralStorageStrategy(StrategyV1):
    """Variables on one device of a machine: on the one."""

    def __init__(self, compute_devices=None, parameter_device=None):
        what = "tf.distribute.experimental.CentralStorageStrategy"
        super().__init__(StrategyExtendedV1(self, _one_device(compute_devices, what)))


@tf_export(
    "distribute.experimental.ParameterServerStrategy", v1=["distribute.experimental.ParameterServerStrategy"]
)
class ParameterServerStrategy(StrategyV1):
    """Workers, each with a graph of its own, and variables on parameter servers.

    For tf.estimator, which reads the cluster from TF_CONFIG and places the variables. Workers do not wait for
    each other.
    """

    def __init__(self, cluster_resolver=None):
        extended = StrategyExtendedV1(self)
        extended._cluster_resolver = cluster_resolver
        super().__init__(extended)


@tf_export("distribute.get_loss_reduction", v1=["distribute.get_loss_reduction"])
def get_loss_reduction():
    """How losses of replicas are put together: by their sum, but by their mean for an Estimator's, unless its
    model_fn sums the losses of a batch.
    """
    if not context.get_strategy()._scale_loss_for_estimator:
        return ReduceOp.SUM
    last = getattr(ops.get_default_graph(), "_last_loss_reduction", None)
    return ReduceOp.SUM if last == "weighted_sum" else ReduceOp.MEAN


def _is_mean(reduce_op):
    return (ReduceOp(reduce_op.upper()) if isinstance(reduce_op, str) else reduce_op) == ReduceOp.MEAN


get_strategy = context.get_strategy
has_strategy = context.has_strategy
get_replica_context = context.get_replica_context
in_cross_replica_context = context.in_cross_replica_context

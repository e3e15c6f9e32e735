"""MirroredStrategy: a replica on each device of a process, each variable on all of them.

The replicas' functions build their parts of one graph (replica_threads.py). Optimizers add up the gradients
of the replicas and update each copy of a variable on its device.
"""

from braid.tensorflow.python.distribute import distribute_lib
from braid.tensorflow.python.distribute import distribution_strategy_context as context
from braid.tensorflow.python.distribute import replica_threads
from braid.tensorflow.python.distribute import values
from braid.tensorflow.python.framework import device as pydev
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.MirroredStrategy", v1=["distribute.MirroredStrategy"])
class MirroredStrategy(distribute_lib.StrategyV1):
    """A replica on each of `devices`, as ["/cpu:0", "/cpu:1"]: one on the process' device if None.

    More than one CPU is there in a session with ConfigProto(device_count={"CPU": N}). cross_device_ops: how
    gradients are added up; here always on the first device.
    """

    def __init__(self, devices=None, cross_device_ops=None):
        devices = [devices] if isinstance(devices, str) else list(devices or [])
        if len(set(map(pydev.canonical_name, devices))) != len(devices):
            raise ValueError(f"MirroredStrategy: a device is there twice in {devices}")
        if len(devices) > 1:
            super().__init__(MirroredExtended(self, devices))
        else:
            super().__init__(distribute_lib.StrategyExtendedV1(self, devices[0] if devices else None))

    # Values of several replicas.

    def reduce(self, reduce_op, value, axis=None):
        """The sum or the mean of the replicas' tensors; first over the dimension `axis` of each."""
        mean, device = distribute_lib._is_mean(reduce_op), self.extended.worker_devices[0]

        def one(leaves):
            value = leaves[0]
            if not isinstance(value, values.PerReplica):
                return super(MirroredStrategy, self).reduce(reduce_op, value, axis)
            if axis is None:
                return values.reduce(value, mean, device)
            total = values.reduce(
                values.PerReplica([math_ops.reduce_sum(v, axis=axis) for v in value.values]), False, device
            )
            if not mean:
                return total
            sizes = [array_ops.shape(v)[axis] for v in value.values]
            return total / math_ops.cast(math_ops.add_n(sizes), total.dtype)

        return values._map(one, [value])

    def experimental_local_results(self, value):
        """The replicas' values, a tuple."""
        return (
            value.values if isinstance(value, (values.PerReplica, values.DistributedVariable)) else (value,)
        )

    unwrap = experimental_local_results

    def group(self, value, name=None):
        parts = [part for leaf in nest.flatten(value) for part in self.unwrap(leaf)]
        return control_flow_ops.group(*parts, name=name)

    # Input.

    def make_dataset_iterator(self, dataset):
        """An iterator whose batches are divided among the replicas: the batch is to be a multiple of them."""
        iterator = self._make_iterator(dataset)
        return iterator if self.num_replicas_in_sync == 1 else _Iterator(self, iterator, divides=True)

    def make_input_fn_iterator(
        self, input_fn, replication_mode=distribute_lib.InputReplicationMode.PER_WORKER
    ):
        """An iterator of what input_fn(InputContext) returns: each replica gets a batch of its own."""
        iterator = self._make_iterator(input_fn(self.extended._input_context()))
        return iterator if self.num_replicas_in_sync == 1 else _Iterator(self, iterator, divides=False)

    def experimental_distribute_dataset(self, dataset):
        return dataset if self.num_replicas_in_sync == 1 else _Dataset(self, dataset)


class _Dataset:
    """A dataset whose iterators are make_dataset_iterator's."""

    def __init__(self, strategy, dataset):
        self._strategy, self._dataset = strategy, dataset

    def make_initializable_iterator(self, shared_name=None):
        return self._strategy.make_dataset_iterator(self._dataset)


class _Iterator:
    """Gives each replica its part of the input."""

    def __init__(self, strategy, iterator, divides):
        self._strategy, self._iterator, self._divides = strategy, iterator, divides

    @property
    def initializer(self):
        return self._iterator.initializer

    def initialize(self):
        """The operations that start it."""
        return [self._iterator.initializer]

    def get_next(self, name=None):
        """The next elements, structures of PerReplica."""
        devices = self._strategy.extended.worker_devices
        if not self._divides:
            parts, before = [], []
            for device in devices:
                with ops.device(device), ops.control_dependencies(before):
                    parts.append(self._iterator.get_next(name))
                # Replicas take their batches in the order of their numbers.
                before = nest.flatten(parts[-1], expand_composites=True)
            return values.regroup(parts)
        whole = self._iterator.get_next(name)
        return values._map(
            lambda leaves: values.PerReplica(array_ops.split(leaves[0], len(devices))), [whole]
        )


class MirroredExtended(distribute_lib.StrategyExtendedV1):
    """What MirroredStrategy of several devices is made of."""

    def __init__(self, container_strategy, devices):
        super().__init__(container_strategy)
        self._devices = tuple(pydev.canonical_name(d) for d in devices)

    @property
    def _num_replicas_in_sync(self):
        return len(self._devices)

    worker_devices = property(lambda self: self._devices)
    parameter_devices = property(lambda self: self._devices)

    def _input_context(self):
        return distribute_lib.InputContext(num_replicas_in_sync=len(self._devices))

    # Variables.

    def _create_variable(self, next_creator, **kwargs):
        """A variable with copies on all devices: made in the first replica, and found in the others."""
        thread = getattr(context._state, "thread", None)
        if thread is None or context.get_replica_context() is None:
            return self._new_variable(next_creator, kwargs)
        name = kwargs.get("name")
        made = thread.created.setdefault(name, [])
        if thread.replica == 0:
            made.append(self._new_variable(next_creator, kwargs))
            return made[-1]
        number = thread.taken[name] = thread.taken.get(name, -1) + 1
        if number >= len(made):
            raise RuntimeError(
                f"Tried to create variable {name} with mismatching name on device {thread.replica}: the first "
                "replica has not made it"
            )
        return made[number]

    def _new_variable(self, next_creator, kwargs):
        on_read = kwargs.get("synchronization") == variables.VariableSynchronization.ON_READ
        aggregation = kwargs.get("aggregation") or variables.VariableAggregation.NONE
        collections = kwargs.pop("collections", None)
        collections = [ops.GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if on_read:
            kwargs["trainable"] = False
        kwargs["use_resource"] = True
        copies = []
        for i, device in enumerate(self._devices):
            own = dict(kwargs, collections=[])
            if i > 0:
                own["name"] = f"{copies[0].op.name}/replica_{i}/"
                own["initial_value"] = lambda: array_ops.identity(copies[0].initial_value)
            with ops.init_scope(), ops.colocate_with(None, ignore_existing=True), ops.device(device):
                with values.update_context(i, device):
                    copies.append(next_creator(**own))
        variable = values.DistributedVariable(self._container_strategy(), copies, aggregation, on_read)
        trainable = ops.get_collection_ref(ops.GraphKeys.TRAINABLE_VARIABLES)
        trainable[:] = [v for v in trainable if not any(v is copy for copy in copies)]
        if copies[0].trainable and ops.GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(ops.GraphKeys.TRAINABLE_VARIABLES)
        ops.add_to_collections(collections, variable)
        return variable

    # Replicas.

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        return replica_threads.call_for_each_replica(
            self._container_strategy(), self._devices, fn, args, kwargs or {}
        )

    def reduce_to(self, reduce_op, value, destinations):
        device = getattr(destinations, "device", None) or self._devices[0]
        return values.reduce(value, distribute_lib._is_mean(reduce_op), device)

    def batch_reduce_to(self, reduce_op, value_destination_pairs):
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """fn(var, *args, **kwargs) on each device, with its copy and its parts of the arguments."""
        made = []
        for i, copy in enumerate(var.values):
            with values.update_context(i, copy.device), ops.name_scope(f"update_{i}"):
                own_args, own_kwargs = values.select_replica(i, (tuple(args), kwargs or {}))
                made.append(fn(copy, *own_args, **own_kwargs))
        return control_flow_ops.group(*made) if group else values.PerReplica(made)

    def _gradient_and_copies(self, gradient, variable):
        gradient = values.reduce(gradient, False, variable.values[0].device)
        return gradient, list(enumerate(variable.values))

    def read_var(self, v):
        return v.read_value()

    def value_container(self, value):
        return getattr(value, "_distributed_container", value)

    def non_slot_devices(self, var_list):
        return self._devices

    def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
        made = []
        for i, device in enumerate(self._devices):
            with values.update_context(i, device):
                own_args, own_kwargs = values.select_replica(i, (tuple(args), kwargs or {}))
                made.append(fn(*own_args, **own_kwargs))
        return control_flow_ops.group(*made) if group else values.PerReplica(made)

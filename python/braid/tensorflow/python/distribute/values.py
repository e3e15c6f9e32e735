"""Values that each replica has its own of, and variables with a copy on each device."""

import contextlib

from braid.tensorflow.python.distribute import distribution_strategy_context as context
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.training.saving import saveable_object
from braid.tensorflow.python.training.tracking import base as trackable

Aggregation = variables.VariableAggregation


class PerReplica:
    """A value of each replica."""

    def __init__(self, values):
        self.values = tuple(values)

    def get(self, replica):
        return self.values[replica]

    def __repr__(self):
        return f"PerReplica{self.values!r}"


def _map(fn, structures):
    """fn of the leaves at the same place in lists, tuples and dictionaries of the same form."""
    first = structures[0]
    if isinstance(first, dict):
        return type(first)((key, _map(fn, [s[key] for s in structures])) for key in first)
    if isinstance(first, (list, tuple)):
        if any(len(s) != len(first) for s in structures):
            raise ValueError(f"The replicas' values have different structures: {structures}")
        parts = [_map(fn, list(part)) for part in zip(*structures)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return fn(structures)


def select_replica(replica, structure):
    """The structure with one replica's part of each PerReplica."""
    return _map(
        lambda leaf: leaf[0].get(replica) if isinstance(leaf[0], PerReplica) else leaf[0], [structure]
    )


def regroup(structures):
    """One structure of the replicas' ones: what differs is a PerReplica."""
    return _map(
        lambda leaves: leaves[0] if all(v is leaves[0] for v in leaves) else PerReplica(leaves), structures
    )


def reduce(value, mean, device):
    """The sum or the mean of the replicas' tensors or IndexedSlices, on a device."""
    if not isinstance(value, PerReplica):
        return value
    with ops.colocate_with(None, ignore_existing=True), ops.device(device):
        parts = value.values
        count = len(parts)
        if any(isinstance(p, ops.IndexedSlices) for p in parts):
            slices = [p if isinstance(p, ops.IndexedSlices) else _as_slices(p) for p in parts]
            rows = array_ops.concat([s.values for s in slices], 0)
            indices = array_ops.concat([s.indices for s in slices], 0)
            return ops.IndexedSlices(rows / count if mean else rows, indices, slices[0].dense_shape)
        total = math_ops.add_n([ops.convert_to_tensor(p) for p in parts])
        return math_ops.cast(total / count, total.dtype) if mean else total


def _as_slices(tensor):
    return ops.IndexedSlices(tensor, math_ops.range(array_ops.shape(tensor)[0]), array_ops.shape(tensor))


@contextlib.contextmanager
def update_context(replica, device):
    """A context across replicas in which variables are those of one device."""
    before = getattr(context._state, "updated_replica", None)
    context._state.updated_replica = replica
    try:
        with ops.colocate_with(None, ignore_existing=True), ops.device(device):
            yield
    finally:
        context._state.updated_replica = before


def current_replica():
    """The number of the replica whose variables are used here; None across replicas."""
    updated = getattr(context._state, "updated_replica", None)
    stack = context._stack()
    if updated is not None and (not stack or stack[-1][1] is None):
        return updated
    return stack[-1][1]._id if stack and stack[-1][1] is not None else None


class DistributedVariable(variables.Variable):
    """A variable with a copy on each device of a strategy.

    In a replica, and where a device is updated, it is the copy of that device, else the first. Copies are
    the same after each step, but for those with ON_READ: these are brought together when they are read across
    replicas, and saved.
    """

    _should_act_as_resource_variable = True

    def __init__(self, strategy, values, aggregation, on_read):
        self._distribute_strategy = strategy
        self._values = tuple(values)
        self._on_read = on_read
        self._copies_aggregation = aggregation
        for value in self._values:
            value._distributed_container = self
        with ops.name_scope(f"{self._values[0].op.name}/copies/"), ops.init_scope():
            self._initializers = control_flow_ops.group(*[v.initializer for v in self._values])

    def __getattr__(self, name):
        if name.startswith("__") or name == "_values":
            raise AttributeError(name)
        return getattr(self._get(), name)

    def _get(self):
        return self._values[current_replica() or 0]

    @property
    def values(self):
        return self._values

    @property
    def _primary(self):
        return self._values[0]

    name = property(lambda self: self._primary.name)
    _shared_name = property(lambda self: self._primary._shared_name)
    dtype = property(lambda self: self._primary.dtype)
    shape = property(lambda self: self._primary.shape)
    op = property(lambda self: self._get().op)
    graph = property(lambda self: self._primary.graph)
    device = property(lambda self: self._get().device)
    handle = property(lambda self: self._get().handle)
    initializer = property(lambda self: self._initializers)
    initial_value = property(lambda self: self._primary.initial_value)
    aggregation = property(lambda self: self._copies_aggregation)

    def get(self, device=None):
        return self._get()

    def get_shape(self):
        return self.shape

    def __repr__(self):
        return f"<MirroredVariable {self._values}>"

    def is_initialized(self, name=None):
        return math_ops.reduce_all(array_ops.stack([v.is_initialized() for v in self._values]), name=name)

    def load(self, value, session=None):
        for v in self._values:
            v.load(value, session)

    # Reading.

    def _read(self, method):
        if current_replica() is None and self._on_read:
            return self._together()
        return getattr(self._get(), method)()

    def _together(self):
        """The copies of a variable with ON_READ as one value."""
        if self._copies_aggregation == Aggregation.ONLY_FIRST_REPLICA:
            return self._primary.read_value()
        parts = PerReplica([v.read_value() for v in self._values])
        return reduce(parts, self._copies_aggregation != Aggregation.SUM, self._primary.device)

    def value(self):
        return self._read("value")

    def read_value(self):
        return self._read("read_value")

    def _AsTensor(self):
        return self.value()

    def _as_graph_element(self):
        return self._get()._as_graph_element()

    def _dense_var_to_tensor(self, dtype=None, name=None, as_ref=False):
        if current_replica() is None and self._on_read and not as_ref:
            return ops.convert_to_tensor(self._together(), dtype=dtype, name=name)
        return self._get()._dense_var_to_tensor(dtype=dtype, name=name, as_ref=as_ref)

    # Writing.

    def _write(self, method, value, read_value=True, name=None, **kwargs):
        replica = current_replica()
        inside = context.get_replica_context()
        in_replica = inside is not None and inside.strategy is self._distribute_strategy
        if replica is not None and (self._on_read or not in_replica):
            return getattr(self._get(), method)(value, name=name, read_value=read_value, **kwargs)
        if not in_replica:
            return self._write_all(method, value, read_value)
        if self._copies_aggregation == Aggregation.NONE:
            raise ValueError(
                f"You must specify an aggregation method to update a MirroredVariable in Replica Context: {self}"
            )

        def across(strategy, value):
            if self._copies_aggregation == Aggregation.ONLY_FIRST_REPLICA:
                value = value.get(0) if isinstance(value, PerReplica) else value
            elif isinstance(value, PerReplica):
                value = reduce(value, self._copies_aggregation == Aggregation.MEAN, self._primary.device)
            elif self._copies_aggregation == Aggregation.SUM:
                value = value * len(self._values)
            return self._write_all(method, value, read_value)

        return context.get_replica_context().merge_call(across, args=(value,))

    def _write_all(self, method, value, read_value):
        written = []
        for i, v in enumerate(self._values):
            with update_context(i, v.device):
                own = value.get(i) if isinstance(value, PerReplica) else value
                written.append(getattr(v, method)(own, read_value=False))
        done = control_flow_ops.group(*written)
        if not read_value:
            return done
        with ops.control_dependencies([done]):
            return self._primary.read_value()

    def assign(self, value, use_locking=None, name=None, read_value=True):
        return self._write("assign", value, read_value, name)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._write("assign_add", delta, read_value, name)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._write("assign_sub", delta, read_value, name)

    # Saving: one value, which all copies get.

    def _gather_saveables_for_checkpoint(self):
        def saveable(name=self._primary.op.name):
            return self._saveable(name)

        return {trackable.VARIABLE_VALUE_KEY: saveable}

    def _saveable(self, name, slice_spec=""):
        return _Saveable(self, name, slice_spec)


class _Saveable(saveable_object.SaveableObject):
    def __init__(self, variable, name, slice_spec):
        self._variable = variable
        primary = variable._primary
        spec = saveable_object.SaveSpec(
            variable._together if variable._on_read else primary.read_value,
            slice_spec,
            name,
            dtype=variable.dtype,
            device=primary.device,
        )
        super().__init__(variable, [spec], name)

    def restore(self, restored_tensors, restored_shapes):
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = array_ops.reshape(value, restored_shapes[0])
        if self._variable._on_read and self._variable._copies_aggregation == Aggregation.SUM:
            value = math_ops.cast(value / len(self._variable._values), value.dtype)
        return self._variable._write_all("assign", value, False)


MirroredVariable = DistributedVariable
ops.register_tensor_conversion_function(
    DistributedVariable,
    lambda v, dtype=None, name=None, as_ref=False: v._dense_var_to_tensor(dtype, name, as_ref),
)
ops.register_dense_tensor_like_type(DistributedVariable)

"""tf.Variable of resource type: a handle, which ops read and write (use_resource=True)."""

import contextlib

from braid import protos
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_resource_variable_ops
from braid.tensorflow.python.ops import gen_state_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variables


def __getattr__(name):
    # Ops without a wrapper here (assign_add_variable_op).
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_resource_variable_ops, name)


def variable_shape(handle, out_type=dtypes.int32, name=None):
    """The shape of the variable behind a handle, as a tensor."""
    if handle.op.type == "VarHandleOp":
        known = tensor_shape.TensorShape(handle.op.get_attr("shape"))
        if known.is_fully_defined():
            return array_ops.constant(known.as_list(), dtype=out_type, name=name)
    return gen_resource_variable_ops.variable_shape(handle, out_type=out_type, name=name)


def is_resource_variable(var):
    """Whether it is a variable of resource type."""
    return isinstance(var, BaseResourceVariable) or hasattr(var, "_should_act_as_resource_variable")


def _handle(shape, dtype, shared_name, name):
    container = getattr(ops.get_default_graph(), "_container", "") or ""
    return gen_resource_variable_ops.var_handle_op(
        shape=shape, dtype=dtype, shared_name=shared_name, name=name, container=container
    )


def eager_safe_variable_handle(initial_value, shape, shared_name, name, graph_mode):
    """A handle of a variable for values like `initial_value`."""
    return _handle(shape, initial_value.dtype.base_dtype, shared_name, name)


class BaseResourceVariable(variables.VariableV1):
    """What can be done with a handle to a variable of known type and shape."""

    def __bool__(self):
        return bool(self.read_value())

    def __init__(
        self,
        trainable=None,
        shape=None,
        dtype=None,
        handle=None,
        constraint=None,
        synchronization=None,
        aggregation=None,
        distribute_strategy=None,
        name=None,
        unique_id=None,
        handle_name=None,
        graph_element=None,
        initial_value=None,
        initializer_op=None,
        is_initialized_op=None,
        cached_value=None,
        save_slice_info=None,
    ):
        self._trainable = trainable
        self._shape = tensor_shape.as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._handle = handle
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._handle_name = handle_name + ":0"
        self._unique_id = unique_id
        self._graph_element = graph_element
        self._initial_value = initial_value
        self._initializer_op = initializer_op
        self._is_initialized_op = is_initialized_op
        self._cached_value = cached_value
        self._save_slice_info = save_slice_info

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    __str__ = __repr__

    # What it is.

    @property
    def handle(self):
        """The tensor of type resource that stands for the variable."""
        return self._handle

    @property
    def name(self):
        return self._handle_name

    @property
    def _shared_name(self):
        return self.name[: self.name.index(":")]

    @property
    def op(self):
        return self._handle.op

    @property
    def device(self):
        return self._handle.device

    @property
    def graph(self):
        return self._handle.graph

    @property
    def dtype(self):
        return self._dtype

    @property
    def shape(self):
        return self._shape

    def set_shape(self, shape):
        self._shape = self._shape.merge_with(shape)

    def _shape_as_list(self):
        return None if self.shape.ndims is None else self.shape.as_list()

    def _shape_tuple(self):
        sizes = self._shape_as_list()
        return None if sizes is None else tuple(sizes)

    def _shape_tensor(self):
        return variable_shape(self._handle)

    @property
    def create(self):
        """The operation that writes the initial value."""
        return self._initializer_op

    @property
    def initializer(self):
        return self._initializer_op

    @property
    def initial_value(self):
        return self._initial_value

    @property
    def _in_graph_mode(self):
        return True

    def is_initialized(self, name=None):
        """A scalar bool tensor: whether it has a value."""
        return gen_resource_variable_ops.var_is_initialized_op(self._handle, name)

    # Reading.

    def _read_variable_op(self):
        result = gen_resource_variable_ops.read_variable_op(self._handle, self._dtype)
        result.set_shape(self._shape)
        return result

    def value(self):
        """A tensor that reads it here."""
        if self._cached_value is not None:
            return self._cached_value
        with ops.colocate_with(None, ignore_existing=True), ops.device(self._handle.device):
            return self._read_variable_op()

    def read_value(self):
        """A tensor that reads it here, also where a copy is on a caching device."""
        with ops.name_scope("Read"):
            with ops.device(self._handle.device):
                value = self._read_variable_op()
        return array_ops.identity(value)

    def sparse_read(self, indices, name=None):
        """The rows that `indices` name."""
        with ops.name_scope("Gather" if name is None else name) as name:
            value = gen_resource_variable_ops.resource_gather(
                self._handle, indices, dtype=self._dtype, name=name
            )
            # In the body of a function the handle is an argument, which does not know the shape.
            if value.shape.ndims is None and self.shape.ndims is not None:
                value.set_shape(value.op.inputs[1].shape.concatenate(self.shape[1:]))
        return array_ops.identity(value)

    def gather_nd(self, indices, name=None):
        """What the vectors `indices` name."""
        with ops.name_scope("GatherNd" if name is None else name) as name:
            value = gen_resource_variable_ops.resource_gather_nd(
                self._handle, indices, dtype=self._dtype, name=name
            )
        return array_ops.identity(value)

    def _AsTensor(self):
        return self.value()

    def _ref(self):
        return self._handle

    def _as_graph_element(self):
        return self._graph_element

    def _dense_var_to_tensor(self, dtype=None, name=None, as_ref=False):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(self._dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type {dtypes.as_dtype(dtype).name!r} for variable "
                f"of type {self._dtype.name!r}"
            )
        return self.read_value().op.inputs[0] if as_ref else self.value()

    # Writing: each returns the variable after the write, or the operation if `read_value` is False.

    def _graph_of_handle(self):
        """A context in which nodes are built in the variable's graph, or in a function that is built in
        it."""
        graph = ops.get_default_graph()
        while graph is not None and graph is not self._handle.graph:
            graph = getattr(graph, "_outer_graph", None)
        return self._handle.graph.as_default() if graph is None else contextlib.nullcontext()

    def _lazy_read(self, op):
        with self._graph_of_handle():
            return _UnreadVariable(
                handle=self._handle,
                dtype=self._dtype,
                shape=self._shape,
                parent_op=op,
                unique_id=self._unique_id,
                of=self,
            )

    def __deepcopy__(self, memo):
        raise NotImplementedError("A variable of a graph cannot be copied: its nodes are the graph's.")

    def _write(self, op, value, name, read_value):
        with self._graph_of_handle():
            written = op(self._handle, ops.convert_to_tensor(value, dtype=self._dtype), name=name)
        return self._lazy_read(written) if read_value else written

    def assign(self, value, use_locking=None, name=None, read_value=True):
        with self._graph_of_handle():
            value = ops.convert_to_tensor(value, dtype=self._dtype)
        self._shape.assert_is_compatible_with(value.shape)
        return self._write(gen_resource_variable_ops.assign_variable_op, value, name, read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._write(gen_resource_variable_ops.assign_add_variable_op, delta, name, read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._write(gen_resource_variable_ops.assign_sub_variable_op, delta, name, read_value)

    def _scatter(self, op, delta, name):
        if not isinstance(delta, ops.IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {delta}")
        values = ops.convert_to_tensor(delta.values, self._dtype)
        return self._lazy_read(op(self._handle, delta.indices, values, name=name))

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_sub, sparse_delta, name)

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_add, sparse_delta, name)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_max, sparse_delta, name)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_min, sparse_delta, name)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_mul, sparse_delta, name)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_div, sparse_delta, name)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_resource_variable_ops.resource_scatter_update, sparse_delta, name)

    def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
        return state_ops.batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def _scatter_nd(self, op, indices, updates, name):
        updates = ops.convert_to_tensor(updates, self._dtype)
        return self._lazy_read(op(self._handle, indices, updates, name=name))

    def scatter_nd_sub(self, indices, updates, name=None):
        return self._scatter_nd(gen_state_ops.resource_scatter_nd_sub, indices, updates, name)

    def scatter_nd_add(self, indices, updates, name=None):
        return self._scatter_nd(gen_state_ops.resource_scatter_nd_add, indices, updates, name)

    def scatter_nd_update(self, indices, updates, name=None):
        return self._scatter_nd(gen_state_ops.resource_scatter_nd_update, indices, updates, name)

    def _strided_slice_assign(self, begin, end, strides, value, name, **masks):
        written = gen_array_ops.resource_strided_slice_assign(
            ref=self._handle,
            begin=begin,
            end=end,
            strides=strides,
            value=ops.convert_to_tensor(value, dtype=self._dtype),
            name=name,
            **masks,
        )
        return self._lazy_read(written)

    def count_up_to(self, limit):
        return gen_state_ops.resource_count_up_to(self._handle, limit=limit, T=self._dtype)

    def __iadd__(self, other):
        raise RuntimeError(
            "Variable += value not supported. Use variable.assign_add(value) to modify the variable value and "
            "variable = variable + value to get a new Tensor object."
        )

    def __isub__(self, other):
        raise RuntimeError(
            "Variable -= value not supported. Use variable.assign_sub(value) to modify the variable value and "
            "variable = variable - value to get a new Tensor object."
        )

    def __imul__(self, other):
        raise RuntimeError(
            "Variable *= value not supported. Use `var.assign(var * value)` to modify the variable or "
            "`var = var * value` to get a new Tensor object."
        )

    def __itruediv__(self, other):
        raise RuntimeError(
            "Variable /= value not supported. Use `var.assign(var / value)` to modify the variable or "
            "`var = var / value` to get a new Tensor object."
        )

    def __ipow__(self, other):
        raise RuntimeError(
            "Variable **= value not supported. Use `var.assign(var ** value)` to modify the variable or "
            "`var = var ** value` to get a new Tensor object."
        )

    # Messages.

    def to_proto(self, export_scope=None):
        """The VariableDef of it, or None if it is not in the scope `export_scope`."""
        if export_scope is not None and not self.handle.name.startswith(export_scope):
            return None
        result = self._common_proto(export_scope)
        result.is_resource = True
        result.variable_name = ops.strip_name_scope(self.handle.name, export_scope)
        if self._initial_value is not None:
            result.initial_value_name = ops.strip_name_scope(self._initial_value.name, export_scope)
        snapshot = self._graph_element if self._cached_value is None else self._cached_value
        result.snapshot_name = ops.strip_name_scope(snapshot.name, export_scope)
        return result

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        return ResourceVariable(variable_def=variable_def, import_scope=import_scope)


math_ops._resource_variable_type = BaseResourceVariable


class ResourceVariable(BaseResourceVariable):
    """A variable of resource type. The arguments are those of tf.Variable."""

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        dtype=None,
        variable_def=None,
        import_scope=None,
        constraint=None,
        distribute_strategy=None,
        synchronization=None,
        aggregation=None,
        shape=None,
    ):
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope=import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        synchronization, aggregation, trainable = variables.validate_synchronization_aggregation_trainable(
            synchronization, aggregation, trainable, name
        )
        collections = variables._collections_of(collections, trainable)
        with ops.init_scope():
            parts = self._build(initial_value, caching_device, name, dtype, shape)
            super().__init__(
                trainable=trainable,
                constraint=constraint,
                synchronization=synchronization,
                aggregation=aggregation,
                **parts,
            )
            ops.add_to_collections(collections, self)

    def _build(self, initial_value, caching_device, name, dtype, shape):
        """Adds the nodes NAME, NAME/IsInitialized/..., NAME/Assign and NAME/Read/ReadVariableOp."""
        is_function = callable(initial_value)
        with ops.name_scope(name, "Variable", [] if is_function else [initial_value]) as name:
            handle_name = ops.name_from_scope_name(name)
            with variables._beside(handle_name):
                with ops.name_scope("Initializer"), ops.device(None):
                    initial_value = ops.convert_to_tensor(
                        initial_value() if is_function else initial_value, name="initial_value", dtype=dtype
                    )
                if shape is None:
                    shape = initial_value.get_shape()
                elif not tensor_shape.as_shape(shape).is_compatible_with(initial_value.get_shape()):
                    raise ValueError(
                        f"The initial value's shape ({initial_value.get_shape()}) is not compatible with the "
                        f"explicitly supplied `shape` argument ({shape})."
                    )
                handle = _handle(shape, initial_value.dtype.base_dtype, handle_name, name)
            if initial_value.op._get_control_flow_context() is not None:
                raise ValueError(
                    f"Initializer for variable {name} is from inside a control-flow construct, such as a loop "
                    "or conditional. When creating a variable inside a loop or conditional, use a lambda as the "
                    "initializer."
                )
            with ops.name_scope("IsInitialized"):
                is_initialized = gen_resource_variable_ops.var_is_initialized_op(handle)
            apart = ops.colocate_with(None, ignore_existing=True)
            with ops.name_scope("Assign") as scope, apart, ops.device(handle.device):
                value = variables._try_guard_against_uninitialized_dependencies(name, initial_value)
                initializer = gen_resource_variable_ops.assign_variable_op(handle, value, name=scope)
            with ops.name_scope("Read"):
                with ops.device(handle.device):
                    read = gen_resource_variable_ops.read_variable_op(handle, initial_value.dtype.base_dtype)
                    read.set_shape(shape)
                cached = None
                if caching_device is not None:
                    with ops.colocate_with(None, ignore_existing=True), ops.device(caching_device):
                        cached = array_ops.identity(read)
        return dict(
            shape=shape,
            dtype=initial_value.dtype.base_dtype,
            handle=handle,
            name=name,
            unique_id=handle_name,
            handle_name=handle_name,
            graph_element=read,
            initial_value=initial_value,
            initializer_op=initializer,
            is_initialized_op=is_initialized,
            cached_value=cached,
        )

    def _init_from_proto(self, variable_def, import_scope=None):
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")
        graph = ops.get_default_graph()

        def element(name):
            return graph.as_graph_element(ops.prepend_name_scope(name, import_scope=import_scope))

        self._handle = element(variable_def.variable_name)
        self._shape = tensor_shape.TensorShape(self._handle.op.get_attr("shape"))
        self._dtype = dtypes.as_dtype(self._handle.op.get_attr("dtype"))
        self._handle_name = self._handle.name
        self._unique_id = self._handle.op.name
        self._initializer_op = element(variable_def.initializer_name)
        has_initial = bool(variable_def.initial_value_name)
        self._initial_value = element(variable_def.initial_value_name) if has_initial else None
        snapshot = element(variable_def.snapshot_name) if variable_def.snapshot_name else None
        if snapshot is not None and snapshot.op.type != "ReadVariableOp":
            self._cached_value = snapshot
            self._graph_element = graph.get_tensor_by_name(self._handle.op.name + "/Read/ReadVariableOp:0")
        else:
            self._cached_value = None
            self._graph_element = snapshot if snapshot is not None else self._read_variable_op()
        self._is_initialized_op = None
        self._finish_from_proto(variable_def, import_scope)


class _UnreadVariable(BaseResourceVariable):
    """A variable after a write: what it reads is read after the operation `parent_op`."""

    def __init__(self, handle, dtype, shape, parent_op, unique_id, of=None):
        with ops.control_dependencies([parent_op]):
            graph_element = gen_resource_variable_ops.read_variable_op(handle, dtype)
            graph_element.set_shape(shape)
        super().__init__(
            trainable=getattr(of, "_trainable", None),
            synchronization=getattr(of, "_synchronization", None),
            aggregation=getattr(of, "_aggregation", None),
            shape=shape,
            dtype=dtype,
            handle=handle,
            handle_name=handle.op.name,
            unique_id=unique_id,
            graph_element=graph_element,
            initial_value=getattr(of, "_initial_value", None),
            initializer_op=getattr(of, "_initializer_op", None),
        )
        self._parent_op = parent_op

    @property
    def name(self):
        return self._parent_op.name

    @property
    def op(self):
        return self._parent_op

    def value(self):
        with ops.control_dependencies([self._parent_op]):
            return super().value()

    def read_value(self):
        with ops.control_dependencies([self._parent_op]):
            return super().read_value()

    def sparse_read(self, indices, name=None):
        with ops.control_dependencies([self._parent_op]):
            return super().sparse_read(indices, name)

    def gather_nd(self, indices, name=None):
        with ops.control_dependencies([self._parent_op]):
            return super().gather_nd(indices, name)

    def _read_variable_op(self):
        with ops.control_dependencies([self._parent_op]):
            return super()._read_variable_op()


def _to_proto_fn(v, export_scope=None):
    return v.to_proto(export_scope=export_scope)


def _from_proto_fn(v, import_scope=None):
    if v.is_resource:
        return ResourceVariable.from_proto(v, import_scope=import_scope)
    return variables.Variable.from_proto(v, import_scope=import_scope)


BaseResourceVariable._OverloadAllOperators()
ops.register_tensor_conversion_function(
    BaseResourceVariable,
    lambda v, dtype=None, name=None, as_ref=False: v._dense_var_to_tensor(dtype, name, as_ref),
)
ops.register_dense_tensor_like_type(BaseResourceVariable)
for _key in (
    ops.GraphKeys.GLOBAL_VARIABLES,
    ops.GraphKeys.TRAINABLE_VARIABLES,
    ops.GraphKeys.MOVING_AVERAGE_VARIABLES,
    ops.GraphKeys.LOCAL_VARIABLES,
    ops.GraphKeys.MODEL_VARIABLES,
    ops.GraphKeys.GLOBAL_STEP,
    ops.GraphKeys.METRIC_VARIABLES,
):
    ops.register_proto_function(
        _key, proto_type=protos.VariableDef, to_proto=_to_proto_fn, from_proto=_from_proto_fn
    )

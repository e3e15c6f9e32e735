"""tf.Variable of reference type, the collections of variables, and the ops that initialize them."""

import enum
import functools

import numpy as np

from braid import protos
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_state_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import compat, object_identity, tf_should_use
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When copies of a distributed variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@tf_export(v1=["VariableAggregation"])
class VariableAggregation(enum.Enum):
    """How copies of a distributed variable are brought together."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # its name of before


VariableAggregationV2 = VariableAggregation


def default_variable_creator(next_creator=None, **kwargs):
    """Makes the variable where no variable_creator_scope decides. variable_scope sets it."""
    from braid.tensorflow.python.ops import variable_scope

    return variable_scope.default_variable_creator(next_creator, **kwargs)


def validate_synchronization_aggregation_trainable(synchronization, aggregation, trainable, name):
    """Fills in the defaults of the three arguments. ValueError: one is no such value, or they contradict."""
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}")
    if trainable is None:
        trainable = synchronization != VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable


def _bind(creator, following):
    return lambda **kwargs: creator(following, **kwargs)


class VariableMetaclass(type):
    """Lets tf.Variable(...) return what the creators of the graph make."""

    def __call__(cls, *args, **kwargs):
        if cls is VariableV1:
            return cls._variable_v1_call(*args, **kwargs)
        if cls is Variable:
            return cls._variable_v2_call(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _variable_v1_call(
        cls,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
        use_resource=None,
        synchronization=VariableSynchronization.AUTO,
        aggregation=VariableAggregation.NONE,
        shape=None,
    ):
        creator = _bind(default_variable_creator, None)
        for _, getter in ops.get_default_graph()._variable_creator_stack:
            creator = _bind(getter, creator)
        return creator(
            initial_value=initial_value,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            caching_device=caching_device,
            name=name,
            variable_def=variable_def,
            dtype=dtype,
            expected_shape=expected_shape,
            import_scope=import_scope,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=VariableSynchronization.AUTO if synchronization is None else synchronization,
            aggregation=VariableAggregation.NONE if aggregation is None else aggregation,
            shape=shape,
        )

    def _variable_v2_call(
        cls,
        initial_value=None,
        trainable=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        import_scope=None,
        constraint=None,
        synchronization=VariableSynchronization.AUTO,
        aggregation=VariableAggregation.NONE,
        shape=None,
    ):
        """tf.compat.v2.Variable(...): a variable that is a resource."""
        return cls._variable_v1_call(
            initial_value,
            trainable,
            validate_shape=validate_shape,
            caching_device=caching_device,
            name=name,
            variable_def=variable_def,
            dtype=dtype,
            import_scope=import_scope,
            constraint=constraint,
            use_resource=True,
            synchronization=synchronization,
            aggregation=aggregation,
            shape=shape,
        )


class Variable(trackable.Trackable, metaclass=VariableMetaclass):
    """What every variable can do. Use tf.Variable, which is VariableV1, to make one."""

    __array_priority__ = 100  # numpy's operators leave expressions to the variable's

    def __init__(self, *args, **kwargs):
        raise NotImplementedError

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    @property
    def trainable(self):
        return self._trainable

    @property
    def synchronization(self):
        return self._synchronization

    @property
    def aggregation(self):
        return self._aggregation

    @property
    def constraint(self):
        """The function that projects a new value after an optimizer's update, or None."""
        return self._constraint

    @property
    def graph(self):
        return self.op.graph

    def get_shape(self):
        return self.shape

    def eval(self, session=None):
        """The value in the session, or in the default session."""
        return self.value().eval(session=session)

    def initialized_value(self):
        """A tensor with the value: the initial value while the variable has not been initialized."""
        with ops.init_scope():
            return control_flow_ops.cond(
                is_variable_initialized(self), self.read_value, lambda: self.initial_value
            )

    def numpy(self):
        """The value in the default session, or in that of Keras. NotImplementedError: there is none."""
        from braid.tensorflow.python.keras import backend

        session = ops.get_default_session() or getattr(backend._SESSION, "session", None)
        if session is None or session.graph is not self.graph:
            raise NotImplementedError(
                "numpy() is only available when eager execution is enabled, or in the session of Keras."
            )
        return session.run(self.read_value())

    def load(self, value, session=None):
        """Writes `value` into the variable in the session. It feeds the initial value and initializes."""
        session = session or ops.get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def _set_save_slice_info(self, save_slice_info):
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self):
        return self._save_slice_info

    def _gather_saveables_for_checkpoint(self):
        return {trackable.VARIABLE_VALUE_KEY: self}

    @classmethod
    def _OverloadAllOperators(cls):
        """Gives the class the operators of Tensor, on the variable's value."""
        for operator in ops.Tensor.OVERLOADABLE_OPERATORS:
            if operator not in ("__eq__", "__ne__", "__getitem__"):
                cls._OverloadOperator(operator)
        cls.__getitem__ = array_ops._SliceHelperVar

    @classmethod
    def _OverloadOperator(cls, operator):
        function = getattr(ops.Tensor, operator)

        @functools.wraps(function)
        def overload(self, *args):
            return function(self._AsTensor(), *args)

        setattr(cls, operator, overload)

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        """The variable that a VariableDef describes, whose nodes are in the default graph."""
        return RefVariable(variable_def=variable_def, import_scope=import_scope)

    def _finish_from_proto(self, variable_def, import_scope):
        self._trainable = getattr(variable_def, "trainable", True)
        (
            self._synchronization,
            self._aggregation,
            self._trainable,
        ) = validate_synchronization_aggregation_trainable(
            VariableSynchronization(variable_def.synchronization),
            VariableAggregation(variable_def.aggregation),
            self._trainable,
            variable_def.variable_name,
        )
        self._save_slice_info = None
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = Variable.SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
        self._caching_device = None
        self._constraint = None

    def _common_proto(self, export_scope):
        """A VariableDef without the names of the tensors that depend on the kind of variable."""
        result = protos.VariableDef(is_resource=False)
        result.trainable = bool(self.trainable)
        result.synchronization = self.synchronization.value
        result.aggregation = self.aggregation.value
        result.initializer_name = ops.strip_name_scope(self.initializer.name, export_scope)
        if self._save_slice_info:
            result.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope=export_scope))
        return result

    def experimental_ref(self):
        """A key for dictionaries and sets that equals only those of this variable; deref() gives it."""
        return object_identity.Reference(self)

    class SaveSliceInfo:
        """Which part of a partitioned variable a variable is, for checkpoints."""

        def __init__(
            self,
            full_name=None,
            full_shape=None,
            var_offset=None,
            var_shape=None,
            save_slice_info_def=None,
            import_scope=None,
        ):
            if save_slice_info_def is not None:
                full_name = ops.prepend_name_scope(save_slice_info_def.full_name, import_scope=import_scope)
                full_shape = list(save_slice_info_def.full_shape)
                var_offset = list(save_slice_info_def.var_offset)
                var_shape = list(save_slice_info_def.var_shape)
            self.full_name = full_name
            self.full_shape = full_shape
            self.var_offset = var_offset
            self.var_shape = var_shape

        @property
        def spec(self):
            """The slice as checkpoints write it: "10 20 0,5:5,10"."""
            sizes = "".join(f"{size} " for size in self.full_shape)
            return sizes + ":".join(
                f"{offset},{size}" for offset, size in zip(self.var_offset, self.var_shape)
            )

        def to_proto(self, export_scope=None):
            if export_scope is not None and not self.full_name.startswith(export_scope):
                return None
            return protos.SaveSliceInfoDef(
                full_name=ops.strip_name_scope(self.full_name, export_scope),
                full_shape=[int(size) for size in self.full_shape],
                var_offset=[int(offset) for offset in self.var_offset],
                var_shape=[int(size) for size in self.var_shape],
            )


@tf_export(v1=["Variable"])
class VariableV1(Variable):
    """A tensor that outlives a run. Its value is there once its initializer has been run.

    `initial_value` is a tensor, what becomes one, or a function without arguments that returns one; its
    shape must be known unless `validate_shape` is False. `trainable` (True) puts it among those that
    optimizers update, `collections` (GLOBAL_VARIABLES) says where else it is. Reading it uses the copy on
    `caching_device` where that is given. `constraint` projects the value after an optimizer's update.
    `variable_def` makes it of nodes that are in the graph. `use_resource` chooses a resource variable.
    Creators of tf.variable_creator_scope may return something else.
    """


class RefVariable(VariableV1):
    """A variable whose output is a reference to its buffer (VariableV2)."""

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
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
        (
            self._synchronization,
            self._aggregation,
            self._trainable,
        ) = validate_synchronization_aggregation_trainable(synchronization, aggregation, trainable, name)
        self._constraint = constraint
        self._caching_device = caching_device
        self._save_slice_info = None
        collections = _collections_of(collections, self._trainable)
        with ops.init_scope():
            self._build(initial_value, validate_shape, name, dtype, shape)
            ops.add_to_collections(collections, self)

    def _build(self, initial_value, validate_shape, name, dtype, shape):
        """Adds the nodes NAME, NAME/Assign and NAME/read, and those of the initial value."""
        is_function = callable(initial_value)
        with ops.name_scope(name, "Variable", [] if is_function else [initial_value]) as name:
            if is_function:
                with _beside(ops.name_from_scope_name(name)), ops.name_scope("Initializer"), ops.device(None):
                    self._initial_value = ops.convert_to_tensor(
                        initial_value(), name="initial_value", dtype=dtype
                    )
                    shape = self._shape_to_have(shape, validate_shape)
                with _beside(ops.name_from_scope_name(name)):
                    self._variable = state_ops.variable_op_v2(
                        shape, self._initial_value.dtype.base_dtype, name=name
                    )
            else:
                self._initial_value = ops.convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
                if self._initial_value.op._get_control_flow_context() is not None:
                    raise ValueError(
                        f"Initializer for variable {name} is from inside a control-flow construct, such as a "
                        "loop or conditional. When creating a variable inside a loop or conditional, use a "
                        "lambda as the initializer."
                    )
                shape = self._shape_to_have(shape, validate_shape)
                self._variable = state_ops.variable_op_v2(
                    shape, self._initial_value.dtype.base_dtype, name=name
                )
            if validate_shape and not self._initial_value.get_shape().is_fully_defined():
                raise ValueError(f"initial_value must have a shape specified: {self._initial_value}")
            value = _try_guard_against_uninitialized_dependencies(name, self._initial_value)
            self._initializer_op = state_ops.assign(self._variable, value, validate_shape=validate_shape).op
            if self._caching_device is not None:
                with ops.device(self._caching_device):
                    self._snapshot = array_ops.identity(self._variable, name="read")
            else:
                with ops.colocate_with(self._variable.op):
                    self._snapshot = array_ops.identity(self._variable, name="read")

    def _shape_to_have(self, shape, validate_shape):
        if shape is not None:
            return shape
        return self._initial_value.get_shape() if validate_shape else tensor_shape.unknown_shape()

    def _init_from_proto(self, variable_def, import_scope=None):
        graph = ops.get_default_graph()

        def element(name):
            return graph.as_graph_element(ops.prepend_name_scope(name, import_scope=import_scope))

        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        has_initial = bool(variable_def.initial_value_name)
        self._initial_value = element(variable_def.initial_value_name) if has_initial else None
        self._snapshot = element(variable_def.snapshot_name)
        self._finish_from_proto(variable_def, import_scope)

    def to_proto(self, export_scope=None):
        """The VariableDef of it, or None if it is not in the scope `export_scope`."""
        if export_scope is not None and not self._variable.name.startswith(export_scope):
            return None
        result = self._common_proto(export_scope)
        result.variable_name = ops.strip_name_scope(self._variable.name, export_scope)
        if self._initial_value is not None:
            result.initial_value_name = ops.strip_name_scope(self._initial_value.name, export_scope)
        result.snapshot_name = ops.strip_name_scope(self._snapshot.name, export_scope)
        return result

    # What it is.

    @property
    def name(self):
        return self._variable.name

    @property
    def _shared_name(self):
        return self.name[: self.name.index(":")]

    @property
    def op(self):
        return self._variable.op

    @property
    def device(self):
        return self._variable.device

    @property
    def dtype(self):
        return self._variable.dtype

    @property
    def shape(self):
        return self._variable.get_shape()

    @property
    def initializer(self):
        """The operation that writes the initial value."""
        return self._initializer_op

    @property
    def initial_value(self):
        """The tensor of the initial value."""
        return self._initial_value

    @property
    def _in_graph_mode(self):
        return True

    @property
    def _distribute_strategy(self):
        return None

    def set_shape(self, shape):
        """Tells the static shape of the variable and of its value."""
        self._ref().set_shape(shape)
        self.value().set_shape(shape)

    # Reading.

    def value(self):
        """The tensor that reads it, one for all uses (NAME/read)."""
        return self._snapshot

    def read_value(self):
        """A tensor that reads it after what the current control dependencies name."""
        return array_ops.identity(self._variable, name="read")

    def _ref(self):
        """The tensor of reference type, which ops that write take."""
        return self._variable

    def _AsTensor(self):
        return self._snapshot

    def _as_graph_element(self):
        return self._variable

    @staticmethod
    def _TensorConversionFunction(v, dtype=None, name=None, as_ref=False):
        if dtype and not dtype.is_compatible_with(v.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{v.dtype.name}'"
            )
        return v._ref() if as_ref else v.value()

    # Writing: each returns the reference after the write, or the operation if `read_value` is False.

    def assign(self, value, use_locking=False, name=None, read_value=True):
        result = state_ops.assign(self._variable, value, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        result = state_ops.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        result = state_ops.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def _scatter(self, op, delta, use_locking, name):
        if not isinstance(delta, ops.IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {delta}")
        return op(self._variable, delta.indices, delta.values, use_locking=use_locking, name=name)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_sub, sparse_delta, use_locking, name)

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_add, sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_max, sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_min, sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_mul, sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_div, sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(gen_state_ops.scatter_update, sparse_delta, use_locking, name)

    def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
        return state_ops.batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def scatter_nd_sub(self, indices, updates, name=None):
        return gen_state_ops.scatter_nd_sub(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_add(self, indices, updates, name=None):
        return gen_state_ops.scatter_nd_add(self._variable, indices, updates, use_locking=True, name=name)

    def scatter_nd_update(self, indices, updates, name=None):
        return gen_state_ops.scatter_nd_update(self._variable, indices, updates, use_locking=True, name=name)

    def _strided_slice_assign(
        self,
        begin,
        end,
        strides,
        value,
        name,
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    ):
        return gen_array_ops.strided_slice_assign(
            ref=self._ref(),
            begin=begin,
            end=end,
            strides=strides,
            value=value,
            name=name,
            begin_mask=begin_mask,
            end_mask=end_mask,
            ellipsis_mask=ellipsis_mask,
            new_axis_mask=new_axis_mask,
            shrink_axis_mask=shrink_axis_mask,
        )

    def count_up_to(self, limit):
        """Adds one and returns the value before. A run that finds `limit` there fails (OutOfRangeError)."""
        return state_ops.count_up_to(self, limit=limit)

    # `v *= x` is a product: it changes no value.

    def __iadd__(self, other):
        _warn_of("+=", "x = x + y", "variable.assign_add")
        return self + other

    def __isub__(self, other):
        _warn_of("-=", "x = x - y", "variable.assign_sub")
        return self - other

    def __imul__(self, other):
        _warn_of("*=", "x = x * y", "var.assign(var * other)")
        return self * other

    def __itruediv__(self, other):
        _warn_of("/=", "x = x / y", "var.assign(var / other)")
        return self / other

    def __ipow__(self, other):
        _warn_of("**=", "x = x ** y", "var.assign(var ** other)")
        return self**other


_warned_of = set()


def _warn_of(operator, expression, assignment):
    """Warns once of each operator in place that it does not assign."""
    if operator in _warned_of:
        return
    _warned_of.add(operator)
    logging.warn(
        f"Variable {operator} will be deprecated. Use `{assignment}` if you want assignment to the variable "
        f"value or `{expression}` if you want a new python Tensor object."
    )


def _collections_of(collections, trainable):
    """The collections that a new variable goes to."""
    if collections is None:
        collections = [ops.GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{collections} of type {type(collections)}"
        )
    if trainable and ops.GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections = list(collections) + [ops.GraphKeys.TRAINABLE_VARIABLES]
    return collections


def _beside(name):
    """A context whose ops are placed with the variable of that name, which need not exist yet."""
    where = protos.AttrValue()
    where.list.s.append(compat.as_bytes(f"loc:@{name}"))
    return ops.get_default_graph()._attr_scope({"_class": where})


# Initial values that read other variables.

_VARIABLE_OPS = ("Variable", "VariableV2", "VarHandleOp")
_SAFE_OPS = ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If")


def _has_cycle(op, state):
    """Whether a loop of the graph is among what `op` depends on."""
    stack = [(op, None)]
    while stack:
        current, pending = stack[-1]
        if pending is None:
            if current.name in state:
                if state[current.name] == "open":
                    return True
                stack.pop()
                continue
            state[current.name] = "open"
            pending = [tensor.op for tensor in current.inputs] + list(current.control_inputs)
            stack[-1] = (current, pending)
        if pending:
            stack.append((pending.pop(), None))
        else:
            state[current.name] = "done"
            stack.pop()
    return False


def _try_guard_against_uninitialized_dependencies(name, initial_value):
    """The initial value with other variables replaced by values that do not need them initialized."""
    if not isinstance(initial_value, ops.Tensor):
        raise TypeError(f"initial_value needs to be a Tensor: {initial_value}")
    if _has_cycle(initial_value.op, {}):
        return initial_value
    return _safe_initial_value_from_tensor(name, initial_value, {})


def _safe_initial_value_from_tensor(name, tensor, op_cache):
    op = tensor.op
    if op not in op_cache:
        op_cache[op] = _safe_initial_value_from_op(name, op, op_cache)
    return op_cache[op].outputs[tensor.value_index]


def _safe_initial_value_from_op(name, op, op_cache):
    kind = op.type
    if kind in _SAFE_OPS:
        return op
    if kind in _VARIABLE_OPS:
        found = _find_initialized_value_for_variable(op)
        return op if found is None else found.op
    inputs = [_safe_initial_value_from_tensor(name, tensor, op_cache) for tensor in op.inputs]
    if all(new is old for new, old in zip(inputs, op.inputs)):
        return op
    node = op.node_def
    return op.graph.create_op(
        "Switch" if kind == "RefSwitch" else kind,
        inputs,
        [tensor.dtype.base_dtype for tensor in op.outputs],
        name=f"{op.name}_{name}".replace(":", "_"),
        attrs={key: node.attr[key] for key in node.attr},
    )


def _find_initialized_value_for_variable(variable_op):
    names = (variable_op.name, variable_op.name + ":0")
    for key in (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.LOCAL_VARIABLES):
        for variable in variable_op.graph.get_collection(key):
            if getattr(variable, "name", None) in names:
                return variable.initialized_value()
    return None


@tf_export("PartitionedVariable")
class PartitionedVariable:
    """Variables that together are one. `partitions` says in how many parts each axis is divided.

    Each of `variable_list` has a SaveSliceInfo, and they are in the order of their offsets.
    """

    def __init__(self, name, shape, dtype, variable_list, partitions):
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(part >= 1 for part in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for variable in variable_list:
            if not variable._get_save_slice_info():
                raise ValueError(
                    "All variables must have a save_slice_info available: "
                    f"{[v._get_save_slice_info() for v in variable_list]}"
                )
            if len(shape) != len(partitions):
                raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
            if variable._get_save_slice_info().full_shape is not None:
                full = list(variable._get_save_slice_info().full_shape)
                if full != [int(size) for size in shape]:
                    raise ValueError(f"All variables' full shapes must match shape: {shape}; got {full}")
        self._variable_list = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)
        self._name = name
        self._shape = shape
        self._dtype = dtype
        self._partitions = partitions
        self._as_tensor = None

    def __iter__(self):
        return iter(self._variable_list)

    def __len__(self):
        return len(self._variable_list)

    def _partition_axes(self):
        """The axes that are divided, [0] if none is."""
        return [axis for axis, parts in enumerate(self._partitions) if parts > 1] or [0]

    def _concat(self):
        """The whole as a tensor, whose name is the variable's."""
        if len(self._variable_list) == 1:
            with ops.name_scope(None):
                return array_ops.identity(self._variable_list[0], name=self._name)
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(f"Cannot concatenate along more than one dimension: {axes}")
        with ops.name_scope(self._name + "/ConcatPartitions/"):
            whole = array_ops.concat(self._variable_list, axes[0])
        with ops.name_scope(None):
            return array_ops.identity(whole, name=self._name)

    def as_tensor(self):
        """The whole, read here: each call concatenates anew."""
        with ops.control_dependencies(None):
            return self._concat()

    @staticmethod
    def _TensorConversionFunction(v, dtype=None, name=None, as_ref=False):
        if dtype is not None and not dtype.is_compatible_with(v.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                f"'{v.dtype.name}'"
            )
        if as_ref:
            raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
        return v.as_tensor()

    @property
    def name(self):
        return self._name

    @property
    def dtype(self):
        return self._dtype

    @property
    def shape(self):
        return self.get_shape()

    @property
    def _distribute_strategy(self):
        return None

    def get_shape(self):
        return tensor_shape.as_shape(self._shape)

    def _get_variable_list(self):
        return self._variable_list

    def _get_partitions(self):
        return self._partitions

    def _apply_assign_fn(self, assign_fn, value):
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(f"Cannot do assign action along more than one dimension: {axes}")
        if isinstance(value, list):
            if len(value) != len(self._variable_list):
                raise ValueError(f"{len(value)} values for {len(self._variable_list)} partitions")
            parts = value
        elif isinstance(value, PartitionedVariable):
            parts = list(value)
        else:
            sizes = [int(v.shape[axes[0]]) for v in self._variable_list]
            parts = array_ops.split(
                ops.convert_to_tensor(value, dtype=self.dtype.base_dtype), sizes, axis=axes[0]
            )
        return [assign_fn(variable, part) for variable, part in zip(self._variable_list, parts)]

    def _assign_all(self, method, value, use_locking, name, read_value):
        def write(variable, part):
            return getattr(variable, method)(part, use_locking=use_locking, name=name, read_value=read_value)

        done = self._apply_assign_fn(write, value)
        return done if read_value else [item if isinstance(item, ops.Operation) else item.op for item in done]

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Writes the parts of `value`; a list of what the writes of the parts return."""
        return self._assign_all("assign", value, use_locking, name, read_value)

    def assign_add(self, value, use_locking=False, name=None, read_value=True):
        return self._assign_all("assign_add", value, use_locking, name, read_value)

    def assign_sub(self, value, use_locking=False, name=None, read_value=True):
        return self._assign_all("assign_sub", value, use_locking, name, read_value)


# Collections.


@tf_export(v1=["global_variables"])
def global_variables(scope=None):
    """The variables that all tasks share (GLOBAL_VARIABLES), or those whose names match `scope`."""
    return ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope)


@tf_export(v1=["all_variables"])
def all_variables():
    """global_variables(), as it was called before."""
    return global_variables()


def _all_saveable_objects(scope=None):
    return ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope) + ops.get_collection(
        ops.GraphKeys.SAVEABLE_OBJECTS, scope
    )


@tf_export(v1=["local_variables"])
def local_variables(scope=None):
    """The variables of this process alone, which checkpoints leave out."""
    return ops.get_collection(ops.GraphKeys.LOCAL_VARIABLES, scope)


@tf_export(v1=["model_variables"])
def model_variables(scope=None):
    return ops.get_collection(ops.GraphKeys.MODEL_VARIABLES, scope)


@tf_export(v1=["trainable_variables"])
def trainable_variables(scope=None):
    """The variables that optimizers update."""
    return ops.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES, scope)


@tf_export(v1=["moving_average_variables"])
def moving_average_variables(scope=None):
    """The variables of which an ExponentialMovingAverage keeps averages."""
    return ops.get_collection(ops.GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


# Initialization.


@tf_export(v1=["initializers.variables", "variables_initializer"])
def variables_initializer(var_list, name="init"):
    """An operation that runs the initializers of the variables, all at once."""
    return control_flow_ops.group(*[v.initializer for v in var_list or ()], name=name)


@tf_export(v1=["initialize_variables"])
@tf_should_use.should_use_result
def initialize_variables(var_list, name="init"):
    """variables_initializer(), as it was called before."""
    return variables_initializer(var_list, name=name)


@tf_export(v1=["initializers.global_variables", "global_variables_initializer"])
def global_variables_initializer():
    """An operation that initializes all global variables that exist when it is made."""
    return variables_initializer(global_variables())


@tf_export(v1=["initialize_all_variables"])
@tf_should_use.should_use_result
def initialize_all_variables():
    """global_variables_initializer(), as it was called before."""
    return global_variables_initializer()


@tf_export(v1=["initializers.local_variables", "local_variables_initializer"])
def local_variables_initializer():
    """An operation that initializes all local variables that exist when it is made."""
    return variables_initializer(local_variables())


@tf_export(v1=["initialize_local_variables"])
@tf_should_use.should_use_result
def initialize_local_variables():
    """local_variables_initializer(), as it was called before."""
    return local_variables_initializer()


@tf_export(v1=["is_variable_initialized"])
@tf_should_use.should_use_result
def is_variable_initialized(variable):
    """A scalar bool tensor: whether the variable has a value."""
    return state_ops.is_variable_initialized(variable)


def _default_variables(var_list):
    if var_list is not None:
        return list(var_list)
    found = global_variables() + local_variables()
    if found:
        return found
    kinds = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp")
    return [op.outputs[0] for op in ops.get_default_graph().get_operations() if op.type in kinds]


@tf_export(v1=["assert_variables_initialized"])
@tf_should_use.should_use_result
def assert_variables_initialized(var_list=None):
    """An operation that fails (FailedPreconditionError) if a variable has no value. None: none to check."""
    found = _default_variables(var_list)
    if not found:
        return None
    ranks = []
    for variable in found:
        with ops.colocate_with(variable.op):
            ranks.append(array_ops.rank_internal(variable, optimize=False))
    return ranks[0] if len(ranks) == 1 else array_ops.stack(ranks)


@tf_export(v1=["report_uninitialized_variables"])
@tf_should_use.should_use_result
def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """A vector of strings: the names of the variables that have no value."""
    found = _default_variables(var_list)
    with ops.name_scope(name), ops.device("/cpu:0"):
        if not found:
            return array_ops.constant([], dtype=dtypes.string)
        is_missing = math_ops.logical_not(
            array_ops.stack([state_ops.is_variable_initialized(v) for v in found])
        )
        names = array_ops.constant([v.op.name for v in found])
        return array_ops.boolean_mask(names, is_missing)


Variable._OverloadAllOperators()
ops.register_tensor_conversion_function(RefVariable, RefVariable._TensorConversionFunction)
ops.register_tensor_conversion_function(PartitionedVariable, PartitionedVariable._TensorConversionFunction)
if hasattr(ops, "register_dense_tensor_like_type"):
    ops.register_dense_tensor_like_type(RefVariable)
    ops.register_dense_tensor_like_type(PartitionedVariable)

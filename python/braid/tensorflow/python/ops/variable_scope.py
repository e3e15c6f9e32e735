"""Variables by name: tf.get_variable, tf.variable_scope and what they keep in the graph.

A graph has one store of variables (name -> variable) and, for each thread, the current VariableScope and how
often each scope was opened, which makes default names unique.
"""

import contextlib
import copy
import enum
import functools
import inspect
import threading
import traceback

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util.tf_export import tf_export

__all__ = [
    "AUTO_REUSE",
    "VariableScope",
    "get_variable_scope",
    "get_variable",
    "get_local_variable",
    "variable_scope",
    "variable_op_scope",
    "no_regularizer",
    "VariableSynchronization",
    "VariableAggregation",
]

VariableSynchronization = variables.VariableSynchronization
VariableAggregation = variables.VariableAggregation

_AUTO = VariableSynchronization.AUTO
_NO_AGGREGATION = VariableAggregation.NONE
_DEFAULT_USE_RESOURCE = False


class _PartitionInfo:
    """Which part of a variable an initializer is asked for."""

    def __init__(self, full_shape, var_offset):
        if not isinstance(full_shape, (list, tuple)):
            raise TypeError(f"`full_shape` must be a sequence (like tuple or list) instead of {full_shape}")
        if not isinstance(var_offset, (list, tuple)):
            raise TypeError(f"`var_offset` must be a sequence (like tuple or list) instead of {var_offset}")
        if len(full_shape) != len(var_offset):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while "
                f"`full_shape` is of length {len(full_shape)}."
            )
        for i, (offset, size) in enumerate(zip(var_offset, full_shape)):
            if offset >= size:
                raise ValueError(
                    f"Expected each offset to be less than the size, but var_offset[{i}] is {offset} and "
                    f"full_shape[{i}] is {size}."
                )
        self._full_shape = full_shape
        self._var_offset = var_offset

    @property
    def full_shape(self):
        return self._full_shape

    @property
    def var_offset(self):
        return self._var_offset

    def single_offset(self, shape):
        """The offset on the one axis that is divided."""
        return self._var_offset[self.single_slice_dim(shape) or 0]

    def single_slice_dim(self, shape):
        """The axis that is divided for a part of `shape`, or None. ValueError: more than one."""
        if len(shape) != len(self._full_shape):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={self._full_shape} is of length {len(self._full_shape)}."
            )
        divided = [
            axis for axis, size in enumerate(shape) if self._var_offset[axis] + size > self._full_shape[axis]
        ]
        if divided:
            raise ValueError(
                f"With self.var_offset={self._var_offset}, a partition of shape={shape} would exceed "
                f"self.full_shape={self._full_shape} in dimension {divided[0]}."
            )
        divided = [axis for axis, size in enumerate(shape) if size != self._full_shape[axis]]
        if len(divided) > 1:
            raise ValueError(
                "Cannot use single_slice_dim() with shape=%s and self.full_shape=%s since slice dim could be "
                "either dimension %i or %i." % (shape, self._full_shape, divided[0], divided[1])
            )
        return divided[0] if divided else None


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
tf_export(v1=["AUTO_REUSE"]).export_constant(__name__, "AUTO_REUSE")


@tf_export(v1=["enable_resource_variables"])
def enable_resource_variables():
    """Makes variables resource variables where nothing else is said."""
    global _DEFAULT_USE_RESOURCE
    _DEFAULT_USE_RESOURCE = True


@tf_export(v1=["resource_variables_enabled"])
def resource_variables_enabled():
    return _DEFAULT_USE_RESOURCE


@tf_export(v1=["disable_resource_variables"])
def disable_resource_variables():
    """Makes variables reference variables where nothing else is said, as it is at first."""
    global _DEFAULT_USE_RESOURCE
    _DEFAULT_USE_RESOURCE = False


def _takes(function, argument):
    """Whether a callable may be given the keyword argument."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _needs_no_arguments(python_callable):
    """Whether a callable has no arguments, or defaults for all of them."""
    try:
        parameters = inspect.signature(python_callable).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)


class _VariableStore:
    """The variables of a graph that get_variable made, by name."""

    def __init__(self):
        self._vars = {}
        self._partitioned_vars = {}
        self._store_eager_variables = False

    def get_variable(
        self,
        name,
        shape=None,
        dtype=dtypes.float32,
        initializer=None,
        regularizer=None,
        reuse=None,
        trainable=None,
        collections=None,
        caching_device=None,
        partitioner=None,
        validate_shape=True,
        use_resource=None,
        custom_getter=None,
        constraint=None,
        synchronization=_AUTO,
        aggregation=_NO_AGGREGATION,
    ):
        """The variable `name`, which is its full name. See tf.get_variable."""
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        dtype = _base_type(dtype)
        synchronization, aggregation, trainable = variables.validate_synchronization_aggregation_trainable(
            synchronization, aggregation, trainable, name
        )
        arguments = dict(
            name=name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            reuse=reuse,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            partitioner=partitioner,
            validate_shape=validate_shape,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if custom_getter is None:
            return self._true_getter(constraint=constraint, **arguments)
        if _takes(custom_getter, "constraint"):
            arguments["constraint"] = constraint
        return custom_getter(getter=self._true_getter, **arguments)

    def _true_getter(
        self,
        name,
        shape=None,
        dtype=dtypes.float32,
        initializer=None,
        regularizer=None,
        reuse=None,
        trainable=None,
        collections=None,
        caching_device=None,
        partitioner=None,
        validate_shape=True,
        use_resource=None,
        constraint=None,
        synchronization=_AUTO,
        aggregation=_NO_AGGREGATION,
    ):
        is_scalar = shape is not None and isinstance(shape, (list, tuple)) and not shape
        arguments = dict(
            name=name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            reuse=reuse,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            validate_shape=validate_shape,
            use_resource=use_resource,
            constraint=constraint,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with ops.name_scope(None):
                return self._get_partitioned_variable(partitioner=partitioner, **arguments)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned_variable(partitioner=None, **arguments)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with partitioning?"
            )
        return self._get_single_variable(**arguments)

    def _get_partitioned_variable(
        self,
        name,
        partitioner,
        shape=None,
        dtype=dtypes.float32,
        initializer=None,
        regularizer=None,
        reuse=None,
        trainable=None,
        collections=None,
        caching_device=None,
        validate_shape=True,
        use_resource=None,
        constraint=None,
        synchronization=_AUTO,
        aggregation=_NO_AGGREGATION,
    ):
        is_value = initializer is not None and not callable(initializer)
        if name in self._vars:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was found: "
                f"{name}. Perhaps a variable of the same name was already created without partitioning?"
            )
        shape = tensor_shape.as_shape(shape)
        if is_value:
            if isinstance(initializer, ops.Tensor):
                dtype = initializer.dtype.base_dtype
            initializer = ops.convert_to_tensor(initializer, dtype=dtype)
            shape = shape.merge_with(initializer.get_shape())
        partitions = None
        if partitioner is not None and shape.is_fully_defined():
            partitions = _call_partitioner(partitioner, shape, dtype)
        if name in self._partitioned_vars:
            return self._found_partitioned(name, reuse, shape, dtype, partitions)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        if partitions is None:
            raise ValueError(
                f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {shape}."
            )
        slice_dim, num_slices = _get_slice_dim_and_num_slices(partitions)
        if f"{name}/part_0" in self._vars and (
            f"{name}/part_{num_slices - 1}" not in self._vars or f"{name}/part_{num_slices}" in self._vars
        ):
            raise ValueError(
                "Partitioner returned a different partitioning than what was already found. Partitioner "
                f"returned {num_slices} shards, and shard {name}/part_0 was found, but the last of the others "
                "is another."
            )
        parts = []
        for number, (offset, part_shape) in enumerate(_iter_slices(shape.as_list(), num_slices, slice_dim)):
            full_name = f"{name}/part_{number}"
            part_init, init_shape = initializer, part_shape
            if is_value:
                with ops.name_scope(full_name + "/PartitionedInitializer"):
                    part_init, init_shape = array_ops.slice(initializer, offset, part_shape), None
            with ops.name_scope(None):
                part = self._get_single_variable(
                    name=full_name,
                    shape=init_shape,
                    dtype=dtype,
                    initializer=part_init,
                    partition_info=_PartitionInfo(full_shape=shape.as_list(), var_offset=offset),
                    regularizer=regularizer,
                    reuse=reuse,
                    trainable=trainable,
                    collections=collections,
                    caching_device=caching_device,
                    validate_shape=validate_shape,
                    use_resource=use_resource,
                    constraint=constraint,
                    synchronization=synchronization,
                    aggregation=aggregation,
                )
            part._set_save_slice_info(
                variables.Variable.SaveSliceInfo(name, shape.as_list(), offset, part_shape)
            )
            parts.append(part)
        whole = variables.PartitionedVariable(
            name=name, shape=shape, dtype=dtype, variable_list=parts, partitions=partitions
        )
        self._partitioned_vars[name] = whole
        return whole

    def _found_partitioned(self, name, reuse, shape, dtype, partitions):
        found = self._partitioned_vars[name]
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape "
                f"{found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and found "
                f"dtype {found.dtype.name}."
            )
        if partitions is not None and list(partitions) != list(found._get_partitions()):
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified partitions {partitions} and "
                f"found partitions {found._get_partitions()}."
            )
        return found

    def _get_single_variable(
        self,
        name,
        shape=None,
        dtype=dtypes.float32,
        initializer=None,
        regularizer=None,
        partition_info=None,
        reuse=None,
        trainable=None,
        collections=None,
        caching_device=None,
        validate_shape=True,
        use_resource=None,
        constraint=None,
        synchronization=_AUTO,
        aggregation=_NO_AGGREGATION,
    ):
        is_value = initializer is not None and not callable(initializer)
        if shape is not None and is_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype = dtypes.as_dtype(dtype)
        shape = tensor_shape.as_shape(shape)
        if name in self._vars:
            return self._found(name, reuse, shape, dtype)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to "
                "set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer, is_value = self._get_default_initializer(name=name, shape=shape, dtype=dtype)
        with ops.init_scope():
            if is_value:
                initial_value, variable_dtype = initializer, None
            else:
                initial_value, variable_dtype = _initial_value_function(
                    name, initializer, shape, dtype, partition_info
                )
        made = variables.VariableV1(
            initial_value=initial_value,
            name=name,
            trainable=trainable,
            collections=collections,
            caching_device=caching_device,
            dtype=variable_dtype,
            validate_shape=validate_shape,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        self._vars[name] = made
        if regularizer:
            with ops.colocate_with(made), ops.name_scope(name + "/Regularizer/"), ops.init_scope():
                loss = regularizer(made)
            if loss is not None:
                ops.add_to_collection(ops.GraphKeys.REGULARIZATION_LOSSES, loss)
        return made

    def _found(self, name, reuse, shape, dtype):
        found = self._vars[name]
        if reuse is False:
            message = (
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
            if isinstance(found, resource_variable_ops.ResourceVariable):
                raise ValueError(message)
            raise ValueError(f"{message} Originally defined at:\n\n{_where(found.op)}\n")
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape "
                f"{found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                f"{found.dtype.name}."
            )
        return found

    def _get_default_initializer(self, name, shape=None, dtype=dtypes.float32):
        """What initializes a variable for which nothing is said, and whether it is a value."""
        del shape
        if dtype.is_floating:
            return init_ops.glorot_uniform_initializer(), False
        if dtype.is_integer or dtype.is_bool or dtype == dtypes.string:
            return init_ops.zeros_initializer(), False
        raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _base_type(dtype):
    try:
        return dtype.base_dtype
    except AttributeError:
        return dtypes.as_dtype(dtype).base_dtype


def _initial_value_function(name, initializer, shape, dtype, partition_info):
    """What makes the initial value without arguments, and the type that the variable is to have."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        sizes = shape.as_list()
        if _takes(initializer, "partition_info"):
            return functools.partial(initializer, sizes, dtype=dtype, partition_info=partition_info), (
                dtype.base_dtype
            )
        return functools.partial(initializer, sizes, dtype=dtype), dtype.base_dtype
    if _needs_no_arguments(initializer):
        return initializer, None
    if shape.ndims is None and isinstance(initializer, init_ops.Initializer):
        raise ValueError(
            f"Variable {name} did not get an initializer, so its `shape` argument must be specified."
        )
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should "
        "not be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
    )


def _where(op):
    """The lines of the program that made an operation, the nearest first."""
    frames = list(getattr(op, "traceback", None) or ())[::-1]
    frames = [frame for frame in frames if "braid/tensorflow/" not in frame[0]][:5]
    return "".join(traceback.format_list([tuple(frame)[:4] for frame in frames]))


@tf_export(v1=["no_regularizer"])
def no_regularizer(_):
    """A regularizer without effect, for a part of a scope that has another."""
    return None


def _reuse_of(reuse, inherited):
    return reuse if reuse else inherited


@tf_export(v1=["VariableScope"])
class VariableScope:
    """The defaults that get_variable takes, and the prefix of its names.

    `reuse` is None or False (variables are new), True (they exist) or AUTO_REUSE (either).
    """

    def __init__(
        self,
        reuse,
        name="",
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        name_scope="",
        dtype=dtypes.float32,
        use_resource=None,
        constraint=None,
    ):
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self):
        return self._name

    @property
    def original_name_scope(self):
        """The name scope that was opened with this scope, with a '/' at the end."""
        return self._name_scope

    @property
    def reuse(self):
        return self._reuse

    @property
    def initializer(self):
        return self._initializer

    @property
    def dtype(self):
        return self._dtype

    @property
    def use_resource(self):
        return self._use_resource

    @property
    def regularizer(self):
        return self._regularizer

    @property
    def caching_device(self):
        return self._caching_device

    @property
    def partitioner(self):
        return self._partitioner

    @property
    def custom_getter(self):
        return self._custom_getter

    @property
    def constraint(self):
        return self._constraint

    def reuse_variables(self):
        """From here on, variables of this scope exist."""
        self._reuse = True

    def set_initializer(self, initializer):
        self._initializer = initializer

    def set_dtype(self, dtype):
        self._dtype = dtype

    def set_use_resource(self, use_resource):
        self._use_resource = use_resource

    def set_regularizer(self, regularizer):
        self._regularizer = regularizer

    def set_caching_device(self, caching_device):
        self._caching_device = caching_device

    def set_partitioner(self, partitioner):
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self._custom_getter = custom_getter

    def get_collection(self, name):
        """What the collection has in this scope."""
        return ops.get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self):
        return self.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        return self.get_collection(ops.GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store,
        name,
        shape=None,
        dtype=None,
        initializer=None,
        regularizer=None,
        reuse=None,
        trainable=None,
        collections=None,
        caching_device=None,
        partitioner=None,
        validate_shape=True,
        use_resource=None,
        custom_getter=None,
        constraint=None,
        synchronization=_AUTO,
        aggregation=_NO_AGGREGATION,
    ):
        full_name = f"{self._name}/{name}" if self._name else name
        with ops.name_scope(None):  # the name of a variable does not depend on name scopes
            if dtype is not None and initializer is not None and not callable(initializer):
                init_dtype = ops.convert_to_tensor(initializer).dtype.base_dtype
                if init_dtype != dtype:
                    raise ValueError(
                        f"Initializer type '{init_dtype}' and explicit dtype '{dtype}' don't match."
                    )
            return var_store.get_variable(
                full_name,
                shape=shape,
                dtype=self._dtype if dtype is None else dtype,
                initializer=self._initializer if initializer is None else initializer,
                regularizer=self._regularizer if regularizer is None else regularizer,
                reuse=self._reuse if reuse is None else reuse,
                trainable=trainable,
                collections=collections,
                caching_device=self._caching_device if caching_device is None else caching_device,
                partitioner=self._partitioner if partitioner is None else partitioner,
                validate_shape=validate_shape,
                use_resource=self._use_resource if use_resource is None else use_resource,
                custom_getter=self._custom_getter if custom_getter is None else custom_getter,
                constraint=self._constraint if constraint is None else constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )

    def _get_partitioned_variable(
        self,
        var_store,
        name,
        shape=None,
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=None,
        collections=None,
        caching_device=None,
        partitioner=None,
        validate_shape=True,
        use_resource=None,
        constraint=None,
        synchronization=_AUTO,
        aggregation=_NO_AGGREGATION,
    ):
        """get_variable() that must give a partitioned variable. Without a name it has the scope's."""
        if self._custom_getter is not None:
            raise ValueError(
                "Private access to _get_partitioned_variable is not allowed when a custom getter is set. "
                f"Current custom getter: {self._custom_getter}. It is likely that you're using "
                "create_partitioned_variables. If so, consider instead using get_variable with a non-empty "
                "partitioner parameter instead."
            )
        partitioner = self._partitioner if partitioner is None else partitioner
        if partitioner is None:
            raise ValueError("No partitioner was specified")
        full_name_list = [part for part in (self._name, name) if part]
        if not full_name_list:
            raise ValueError(
                "Unable to create partitioned variable in an empty variable scope without a name"
            )
        with ops.name_scope(None):
            return var_store._get_partitioned_variable(
                "/".join(full_name_list),
                partitioner,
                shape=shape,
                dtype=_base_type(self._dtype if dtype is None else dtype),
                initializer=self._initializer if initializer is None else initializer,
                regularizer=self._regularizer if regularizer is None else regularizer,
                reuse=self._reuse,
                trainable=trainable,
                collections=collections,
                caching_device=self._caching_device if caching_device is None else caching_device,
                validate_shape=validate_shape,
                use_resource=self._use_resource if use_resource is None else use_resource,
                constraint=self._constraint if constraint is None else constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )


# What is kept in collections of the graph.

_VARSTORE_KEY = ("__variable_store",)
_VARSCOPESTORE_KEY = ("__varscope",)


class _VariableScopeStore(threading.local):
    """A thread's current scope, and how often scopes were opened in their parents."""

    def __init__(self):
        super().__init__()
        self.current_scope = VariableScope(False)
        self.variable_scopes_count = {}

    def open_variable_scope(self, scope_name):
        self.variable_scopes_count[scope_name] = self.variable_scope_count(scope_name) + 1

    def close_variable_subscopes(self, scope_name):
        prefix = scope_name + "/" if scope_name else ""
        for name in self.variable_scopes_count:
            if name.startswith(prefix):
                self.variable_scopes_count[name] = 0

    def variable_scope_count(self, scope_name):
        return self.variable_scopes_count.get(scope_name, 0)


def get_variable_scope_store():
    found = ops.get_collection_ref(_VARSCOPESTORE_KEY)
    if not found:
        found.append(_VariableScopeStore())
    return found[0]


@tf_export(v1=["get_variable_scope"])
def get_variable_scope():
    """The current VariableScope."""
    return get_variable_scope_store().current_scope


def _get_default_variable_store():
    found = ops.get_collection_ref(_VARSTORE_KEY)
    if not found:
        found.append(_VariableStore())
    return found[0]


@contextlib.contextmanager
def with_variable_store(store):
    """Makes get_variable use another store."""
    stores = ops.get_collection_ref(_VARSTORE_KEY)
    before = stores[:]
    stores[:] = [store]
    try:
        yield
    finally:
        stores[:] = before


class EagerVariableStore:
    """There is no eager execution to keep variables for."""

    def __init__(self, store=None):
        raise NotImplementedError(
            "tf.contrib.eager.EagerVariableStore needs eager execution, which Braid has not: build a graph, "
            "where get_variable keeps the variables."
        )


@tf_export(v1=["get_variable"])
def get_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    """The variable of that name in the current scope: a new one, or the one that exists, as the scope says.

    `initializer` is called with the shape and type, or is the value, whose shape then counts; without it the
    scope's is taken, or Glorot's uniform (floating types) or zeros. What `regularizer` returns for the
    variable goes to the collection REGULARIZATION_LOSSES. `partitioner` divides it. Other arguments are those
    of tf.Variable. ValueError: it exists or not against `reuse` of the scope, or with another shape or type.
    """
    return get_variable_scope().get_variable(
        _get_default_variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@tf_export(v1=["get_local_variable"])
def get_local_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=False,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    """get_variable() for the collection LOCAL_VARIABLES, not trainable."""
    collections = list(collections or []) + [ops.GraphKeys.LOCAL_VARIABLES]
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def _get_partitioned_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    return get_variable_scope()._get_partitioned_variable(
        _get_default_variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def _maybe_wrap_custom_getter(custom_getter, old_getter):
    """The getter that calls `custom_getter` with what calls `old_getter`."""
    if old_getter is None:
        return custom_getter

    def wrapped_custom_getter(getter, *args, **kwargs):
        return custom_getter(functools.partial(old_getter, getter), *args, **kwargs)

    return wrapped_custom_getter


class _pure_variable_scope:
    """variable_scope without a name scope."""

    def __init__(
        self,
        name_or_scope,
        reuse=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        old_name_scope=None,
        dtype=dtypes.float32,
        use_resource=None,
        constraint=None,
    ):
        self._name_or_scope = name_or_scope
        self._reuse = reuse
        self._given = dict(
            _initializer=initializer,
            _regularizer=regularizer,
            _caching_device=caching_device,
            _partitioner=partitioner,
            _dtype=dtype,
            _use_resource=use_resource,
            _constraint=constraint,
        )
        self._custom_getter = custom_getter
        self._old_name_scope = old_name_scope
        self._store = get_variable_scope_store()
        self._old = None
        self._counts = None
        self._new_name = None

    def __enter__(self):
        store = self._store
        self._old = old = store.current_scope
        if isinstance(self._name_or_scope, VariableScope):
            self._new_name = self._name_or_scope.name
            base, self._counts = self._name_or_scope, dict(store.variable_scopes_count)
        else:
            name = self._name_or_scope
            self._new_name = f"{old.name}/{name}" if old.name else name
            base = old
        scope = copy.copy(base)
        scope._name = self._new_name
        scope._reuse = _reuse_of(self._reuse, base.reuse)
        if self._old_name_scope is not None:
            scope._name_scope = self._old_name_scope
        elif base is not self._name_or_scope:
            scope._name_scope = self._name_or_scope
        for attribute, value in self._given.items():
            if value is not None:
                setattr(scope, attribute, value)
        if self._custom_getter is not None:
            scope._custom_getter = _maybe_wrap_custom_getter(self._custom_getter, base.custom_getter)
        store.open_variable_scope(self._new_name)
        store.current_scope = scope
        return scope

    def __exit__(self, kind, value, trace):
        store = self._store
        if store.current_scope.name != self._new_name:
            raise RuntimeError("Improper nesting of variable_scope.")
        if self._counts is not None:
            store.variable_scopes_count = self._counts
        else:
            store.close_variable_subscopes(self._new_name)
        store.current_scope = self._old
        return False


@tf_export(v1=["variable_scope"])
class variable_scope:
    """A context in which get_variable has a prefix and defaults; it also opens the name scope.

    `name_or_scope` is a name, or a VariableScope to come back to, whose settings then hold. If it is None
    the scope has the name `default_name`, made unique. `values` are tensors of the graph to use. `reuse` is
    True, False, None (as the scope around) or AUTO_REUSE. With `auxiliary_name_scope` False no name scope
    is opened.
    """

    def __init__(
        self,
        name_or_scope,
        default_name=None,
        values=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        reuse=None,
        dtype=None,
        use_resource=None,
        constraint=None,
        auxiliary_name_scope=True,
    ):
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:
            reuse = None  # what is around decides
        if not (reuse is True or reuse is None or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
            )
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = [] if values is None else values
        self._reuse = reuse
        self._settings = dict(
            initializer=initializer,
            regularizer=regularizer,
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=custom_getter,
            dtype=dtype,
            use_resource=use_resource,
            constraint=constraint,
        )
        self._auxiliary_name_scope = auxiliary_name_scope
        self._graph = ops._get_graph_from_inputs(self._values)
        self._stacks = []

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            if ops.get_default_graph() is not self._graph:
                stack.enter_context(self._graph.as_default())
            scope = self._open(stack)
            self._stacks.append((stack.pop_all(), scope.name))
        return scope

    def __exit__(self, kind, value, trace):
        if kind is None and get_variable_scope_store().current_scope.name != self._stacks[-1][1]:
            raise RuntimeError("Improper nesting of variable_scope.")
        return self._stacks.pop()[0].__exit__(kind, value, trace)

    def _open(self, stack):
        """Enters the name scope and the scope of variables."""
        target = self._name_or_scope
        if target is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            name_scope = stack.enter_context(self._name_scope(self._default_name))
            return stack.enter_context(
                _pure_variable_scope(
                    _get_unique_variable_scope(self._default_name),
                    old_name_scope=name_scope,
                    **self._settings,
                )
            )
        if not isinstance(target, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        is_name = isinstance(target, str)
        name = target if is_name else target.name.split("/")[-1]
        name_scope = None
        if name or not self._auxiliary_name_scope:
            name_scope = stack.enter_context(self._name_scope(name))
            if not is_name:
                name_scope = target.original_name_scope
        return stack.enter_context(
            _pure_variable_scope(target, reuse=self._reuse, old_name_scope=name_scope, **self._settings)
        )

    def _name_scope(self, name):
        if self._auxiliary_name_scope:
            return ops.name_scope(name)
        current = ops.get_default_graph().get_name_scope()
        return ops.name_scope(current + "/" if current else "")


@tf_export(v1=["variable_op_scope"])
@contextlib.contextmanager
def variable_op_scope(
    values,
    name_or_scope,
    default_name=None,
    initializer=None,
    regularizer=None,
    caching_device=None,
    partitioner=None,
    custom_getter=None,
    reuse=None,
    dtype=None,
    use_resource=None,
    constraint=None,
):
    """variable_scope with its arguments in the order of before."""
    with variable_scope(
        name_or_scope,
        default_name=default_name,
        values=values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    ) as scope:
        yield scope


def _get_unique_variable_scope(prefix):
    """`prefix`, or `prefix_N`: a name that no scope was opened with here."""
    store = get_variable_scope_store()
    around = store.current_scope.name
    name = f"{around}/{prefix}" if around else prefix
    if store.variable_scope_count(name) == 0:
        return prefix
    number = 1
    while store.variable_scope_count(f"{name}_{number}") > 0:
        number += 1
    return f"{prefix}_{number}"


def default_variable_creator(next_creator=None, **kwargs):
    """Makes the variable that tf.Variable's arguments describe, in the way that the scope chooses."""
    assert next_creator is None
    use_resource = kwargs.pop("use_resource", None)
    kwargs.pop("distribute_strategy", None)
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = _DEFAULT_USE_RESOURCE
    if use_resource:
        kwargs.pop("expected_shape", None)
        return resource_variable_ops.ResourceVariable(**kwargs)
    return variables.RefVariable(**kwargs)


def default_variable_creator_v2(next_creator=None, **kwargs):
    return default_variable_creator(next_creator, use_resource=True, **kwargs)


@tf_export(v1=["variable_creator_scope"])
@contextlib.contextmanager
def variable_creator_scope_v1(variable_creator):
    """A context in which `variable_creator(next_creator, **kwargs)` makes the variables."""
    with ops.get_default_graph()._variable_creator_scope(variable_creator):
        yield


variable_creator_scope = variable_creator_scope_v1
variable = variables.VariableV1


# Partitions.


def _call_partitioner(partitioner, shape, dtype):
    """In how many parts each axis is to be divided. ValueError: the partitioner says no such thing."""
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if shape.ndims < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing = partitioner(shape=shape, dtype=dtype)
    if not isinstance(slicing, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {slicing}")
    if len(slicing) != shape.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {slicing} vs. {shape}"
        )
    if any(parts < 1 for parts in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {slicing}")
    if sum(parts > 1 for parts in slicing) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {slicing}"
        )
    return slicing


def _get_slice_dim_and_num_slices(slicing):
    """The axis that is divided (0 if none) and in how many parts."""
    for axis, parts in enumerate(slicing):
        if parts > 1:
            return axis, parts
    return 0, 1


def _iter_slices(full_shape, num_slices, slice_dim):
    """The offset and the shape of each part. The first parts are larger by one if the sizes differ."""
    size, larger = divmod(full_shape[slice_dim], num_slices)
    offset = [0] * len(full_shape)
    for number in range(num_slices):
        shape = list(full_shape)
        shape[slice_dim] = size + (number < larger)
        yield list(offset), shape
        offset[slice_dim] += shape[slice_dim]

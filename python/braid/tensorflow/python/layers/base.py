"""The base of tf.layers: keras layers whose weights are variables of a variable scope and in collections."""

import contextlib
import copy

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

InputSpec = input_spec.InputSpec

_KERAS_STYLE_SCOPE = False


@tf_export(v1=["layers.experimental.keras_style_scope"])
@contextlib.contextmanager
def keras_style_scope():
    """A context in which tf.layers' layers make variables as keras' do."""
    global _KERAS_STYLE_SCOPE
    before = _KERAS_STYLE_SCOPE
    _KERAS_STYLE_SCOPE = True
    try:
        yield
    finally:
        _KERAS_STYLE_SCOPE = before


@tf_export(v1=["layers.experimental.set_keras_style"])
def set_keras_style():
    """From here on tf.layers' layers make variables as keras' do."""
    global _KERAS_STYLE_SCOPE
    _KERAS_STYLE_SCOPE = True


def _is_in_keras_style_scope():
    return _KERAS_STYLE_SCOPE


def keywords(arguments):
    """The locals() of a layer's __init__ as keyword arguments of its base class's."""
    given = {name: value for name, value in arguments.items() if name not in ("self", "__class__", "kwargs")}
    return {**given, **arguments["kwargs"]}


def apply_layer(layer_class, arguments):
    """A new layer's outputs for `inputs`.

    `arguments` are the locals() of a function of tf.layers: `inputs`, the arguments of the layer, and for
    some layers `training` and `reuse`.
    """
    given = dict(arguments)
    inputs = given.pop("inputs")
    call = {"training": given.pop("training")} if "training" in given else {}
    if "reuse" in given:
        given.update(_reuse=given.pop("reuse"), _scope=given["name"])
    return layer_class(**given).apply(inputs, **call)


@tf_export(v1=["layers.Layer"])
class Layer(base_layer.Layer):
    """A layer with a variable scope: its name, or one that is made unique at the first call.

    Losses of weights go to the collection REGULARIZATION_LOSSES, updates to UPDATE_OPS.
    """

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs):
        scope = kwargs.pop("_scope", None)
        self._use_resource_variables = False
        self._reuse = kwargs.pop("_reuse", None)
        self._keras_style = _is_in_keras_style_scope()
        self._scope = None
        self._base_name = None
        self._current_scope = None
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        if self._keras_style:
            if scope is not None:
                raise ValueError("scope argument not allowed when keras style layers are enabled.")
            if self._reuse is not None:
                raise ValueError("reuse argument not allowed when keras style layers are enabled.")
        self._call_has_scope_arg = "scope" in self._call_fn_args
        if scope:
            with vs.variable_scope(scope) as captured:
                self._scope = captured

    def __new__(cls, *args, **kwargs):
        return super().__new__(cls)

    @property
    def graph(self):
        graph = self.__dict__.get("_graph")
        return ops.get_default_graph() if graph is None else graph

    def _init_set_name(self, name, zero_based=False):
        if self._keras_style:
            super()._init_set_name(name, zero_based=True)
            return
        if isinstance(name, vs.VariableScope):
            self._name, _ = self._make_unique_name()
            self._base_name = name.name
        elif name:
            self._name = self._base_name = name
        else:
            self._name, self._base_name = self._make_unique_name()

    def _make_unique_name(self, name_uid_map=None, avoid_names=None, namespace="", zero_based=False):
        base_name = base_layer.to_snake_case(type(self).__name__)
        return backend.unique_object_name(base_name, zero_based=zero_based), base_name

    @property
    def scope_name(self):
        """The name of the variable scope. ValueError: it is not known before the first call."""
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. '
                "The scope name is determined the first time the layer instance is called. You must therefore "
                "call the layer before querying `scope_name`."
            )
        return self._scope.name

    def _set_scope(self, scope=None):
        if self._scope is not None:
            return
        if self._reuse:
            opened = vs.variable_scope(self._base_name if scope is None else scope)
        else:
            opened = vs.variable_scope(scope, default_name=self._base_name)
        with opened as captured:
            self._scope = captured

    def _name_scope(self):
        if self._keras_style:
            return super()._name_scope()
        return self._current_scope.original_name_scope

    def add_loss(self, losses, inputs=None):
        seen, seen_callable = len(self._losses), len(self._callable_losses)
        super().add_loss(losses, inputs=inputs)
        new = list(self._losses[seen:])
        for make in self._callable_losses[seen_callable:]:
            loss = make()
            if loss is not None:
                new.append(loss)
        _add_elements_to_collection(new, ops.GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates, inputs=None):
        seen = len(self._updates)
        super().add_update(updates, inputs=inputs)
        _add_elements_to_collection(self._updates[seen:], ops.GraphKeys.UPDATE_OPS)

    def add_weight(
        self,
        name,
        shape,
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=None,
        constraint=None,
        use_resource=None,
        synchronization=vs.VariableSynchronization.AUTO,
        aggregation=vs.VariableAggregation.NONE,
        partitioner=None,
        **kwargs,
    ):
        """A weight from get_variable in the layer's scope. See keras' add_weight."""
        for key in kwargs:
            if key != "experimental_autocast":
                raise TypeError("Unknown keyword argument:", key)
        if synchronization == vs.VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and "
                    "synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        elif trainable is None:
            trainable = True
        if self._keras_style:
            return super().add_weight(
                name=name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=regularizer,
                trainable=trainable and self.trainable,
                constraint=constraint,
                use_resource=use_resource,
                synchronization=vs.VariableSynchronization.AUTO,
                aggregation=vs.VariableAggregation.NONE,
                partitioner=partitioner,
            )
        dtype = dtypes.as_dtype(dtype or self.dtype or dtypes.float32)
        with ops.init_scope():
            graph_of_variables = ops.get_default_graph()
        before = {id(v) for v in graph_of_variables.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)}
        self._set_scope(None)
        with vs.variable_scope(
            self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False
        ) as scope:
            self._current_scope = scope
            with ops.name_scope(self._name_scope()):
                variable = super().add_weight(
                    name=name,
                    shape=shape,
                    dtype=dtype,
                    initializer=scope.initializer if initializer is None else initializer,
                    trainable=trainable and self.trainable,
                    constraint=constraint,
                    partitioner=partitioner,
                    use_resource=use_resource or self._use_resource_variables or scope.use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                    getter=vs.get_variable,
                )
                parts = list(variable) if isinstance(variable, variables.PartitionedVariable) else [variable]
                if trainable and self.trainable:
                    # A custom getter may have made it one that is not trained.
                    kept = graph_of_variables.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)
                    kept = {id(v) for v in kept}
                    frozen = [part for part in parts if id(part) not in kept]
                    for part in frozen:
                        self._trainable_weights[:] = [w for w in self._trainable_weights if w is not part]
                        if not any(w is part for w in self._non_trainable_weights):
                            self._non_trainable_weights.append(part)
                if regularizer and any(id(part) not in before for part in parts):
                    self._handle_weight_regularization(name, variable, regularizer)
        return variable

    def _nested(self):
        """No layers: those in attributes of a tf.layers.Layer are not part of it.

        They need not even be complete: cells from before TensorFlow 1.2 do not call super().__init__().
        """
        return []

    def __call__(self, inputs, *args, **kwargs):
        """The outputs for `inputs`. `scope` is the variable scope for the first call."""
        scope = kwargs.pop("scope", None)
        if self._keras_style:
            if scope is not None:
                raise ValueError("scope argument not allowed when keras style layers are enabled.")
            return super().__call__(inputs, *args, **kwargs)
        self._set_scope(scope)
        if "_graph" not in self.__dict__:
            self._graph = ops._get_graph_from_inputs(nest.flatten(inputs))
        with vs.variable_scope(
            self._scope, reuse=True if self.built else self._reuse, auxiliary_name_scope=False
        ) as captured:
            self._current_scope = captured
            if self._call_has_scope_arg:
                kwargs["scope"] = captured
            outputs = super().__call__(inputs, *args, **kwargs)
        _add_elements_to_collection(self.updates, ops.GraphKeys.UPDATE_OPS)
        return outputs

    def __deepcopy__(self, memo):
        """A copy with weights of its own that has the same graph and scope."""
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        for key, value in self.__dict__.items():
            if key in ("_graph", "_scope", "_current_scope") or _are_tensors(value):
                copied = value
            else:
                copied = copy.deepcopy(value, memo)
            object.__setattr__(result, key, copied)
        return result

    def _is_wrapped(self, name):
        return False  # attributes of these layers stay what they are

    def __setattr__(self, name, value):
        if name in ("_scope", "_current_scope", "_graph"):
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)


def _are_tensors(value):
    parts = value if isinstance(value, list) else [value]
    return bool(parts) and all(isinstance(part, ops.Tensor) for part in parts)


def _add_elements_to_collection(elements, collection_list):
    """Adds what the collections do not have yet."""
    elements = nest.flatten(elements)
    for name in nest.flatten(collection_list):
        collection = ops.get_collection_ref(name)
        present = {id(element) for element in collection}
        for element in elements:
            if id(element) not in present:
                collection.append(element)
                present.add(id(element))

"""Layer: weights, and a function of tensors that uses them. The base of tf.keras.layers and of tf.layers."""

import inspect
import re

import numpy as np
from google.protobuf import json_format

from braid import protos
from braid.tensorflow.python.autograph.core import ag_ctx
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.keras.engine import node as node_module
from braid.tensorflow.python.keras.mixed_precision.experimental import policy
from braid.tensorflow.python.module import module
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.training.tracking import data_structures
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export

InputSpec = input_spec.InputSpec
Node = node_module.Node
KerasHistory = node_module.KerasHistory

_ALLOWED = {
    "input_shape",
    "batch_input_shape",
    "batch_size",
    "weights",
    "activity_regularizer",
    "autocast",
    "experimental_autocast",
}


@keras_export("keras.layers.Layer")
class Layer(module.Module):
    """A layer. Subclasses make their weights in build() and compute in call().

    trainable: whether its weights are trained. name: the scope of its weights and ops; made from the class if
    None. dtype: the type of the weights; that of the first input if None. kwargs: input_shape,
    batch_input_shape, batch_size, weights (initial values), activity_regularizer.
    """

    def __init__(self, trainable=True, name=None, dtype=None, dynamic=False, **kwargs):
        for key in kwargs:
            if key not in _ALLOWED:
                raise TypeError(("Keyword argument not understood:", key))
        if dynamic:
            raise NotImplementedError(
                "Layer(dynamic=True): Braid has no eager execution; write call() as a graph"
            )
        self._track = []  # nested layers, variables, lists and dictionaries, by the attribute that holds them
        self._trainable = trainable
        self.stateful = False
        self.built = False
        self.input_spec = None
        self.supports_masking = False
        self._init_set_name(name)
        self._activity_regularizer = kwargs.get("activity_regularizer")
        self._trainable_weights = []
        self._non_trainable_weights = []
        self._updates = []
        self._unconditional_updates = set()
        self._losses = []
        self._callable_losses = []
        self._metrics = []
        self._metrics_tensors = {}
        self._set_dtype_policy(dtype)
        self._autocast = kwargs.get("autocast", base_layer_utils.v2_dtype_behavior_enabled())
        self._inbound_nodes = []
        self._outbound_nodes = []
        self._call_is_graph_network = False
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"),) + tuple(kwargs["input_shape"])
        self._initial_weights = kwargs.get("weights")
        self._init_call_fn_args()

    # What subclasses define.

    @base_layer_utils.default
    def build(self, input_shape):
        """Makes the weights. input_shape: a TensorShape, or a structure of them."""
        self.built = True

    @base_layer_utils.default
    def call(self, inputs, **kwargs):
        """The outputs for `inputs`."""
        return inputs

    @base_layer_utils.default
    def compute_output_shape(self, input_shape):
        """The shape of the outputs, for the shape of the inputs."""
        shapes = base_layer_utils.shape_list(input_shape)
        scratch = ops.Graph()
        with scratch.as_default():
            # The layer is not built here: a scratch graph would own its weights.
            builds = not base_layer_utils.is_default(self.build) or self._nested()
            if self.weights or (builds and not self.built):
                raise NotImplementedError(
                    f"{type(self).__name__} does not say its output's shape: " "define compute_output_shape"
                )
            from braid.tensorflow.python.ops import array_ops

            make = lambda s: array_ops.placeholder(self.dtype or "float32", s)  # noqa: E731
            outputs = self.call(nest.map_structure(make, shapes))
        return nest.map_structure(lambda t: t.shape, outputs)

    def compute_output_signature(self, input_signature):
        """The outputs' TensorSpecs, for a structure of those of the inputs."""
        from braid.tensorflow.python.framework import tensor_spec

        flat = nest.flatten(input_signature)
        for spec in flat:
            if not isinstance(spec, tensor_spec.TensorSpec):
                raise TypeError(
                    "Only TensorSpec signature types are supported, but saw signature signature entry: "
                    f"{spec}."
                )
        shapes = self.compute_output_shape(nest.map_structure(lambda s: s.shape, input_signature))
        dtype = self._compute_dtype or flat[0].dtype
        return nest.map_structure(
            lambda s: tensor_spec.TensorSpec(s, dtype), base_layer_utils.shape_list(shapes)
        )

    def compute_mask(self, inputs, mask=None):
        """The mask of the outputs. A layer that does not support masking refuses one."""
        if not self.supports_masking:
            if any(m is not None for m in nest.flatten(mask)):
                raise TypeError(
                    f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
                )
            return None
        return mask

    def get_config(self):
        """What from_config needs to make the layer again, without its weights."""
        if type(self).__init__ is not Layer.__init__ and type(self).get_config is Layer.get_config:
            extra = [p for p in inspect.signature(type(self).__init__).parameters.values()][1:]
            known = {"trainable", "name", "dtype", "dynamic", "kwargs"}
            if any(p.name not in known and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in extra):
                raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        config = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        return config

    @classmethod
    def from_config(cls, config):
        """A layer as get_config described it."""
        return cls(**config)

    # Names.

    def _init_set_name(self, name, zero_based=True):
        if name:
            self._name = name
            return
        from braid.tensorflow.python.keras import backend

        self._name = backend.unique_object_name(_snake_case(type(self).__name__), zero_based=zero_based)

    @property
    def name(self):
        return self._name

    def _name_scope(self):
        return self.name

    @property
    def name_scope(self):
        """The name scope of the layer's ops."""
        return ops.name_scope(self._name_scope())

    # Types.

    def _set_dtype_policy(self, dtype):
        if isinstance(dtype, policy.Policy):
            self._dtype_policy = dtype
        elif isinstance(dtype, dict):
            self._dtype_policy = policy.deserialize(dtype)
        elif dtype:
            self._dtype_policy = policy.Policy(dtypes.as_dtype(dtype).name)
        else:
            self._dtype_policy = policy.global_policy()

    @property
    def dtype(self):
        """The type of the weights."""
        return self._dtype_policy.variable_dtype

    @property
    def _dtype(self):
        return self._dtype_policy.variable_dtype

    @_dtype.setter
    def _dtype(self, value):
        self._set_dtype_policy(value)

    @property
    def _compute_dtype(self):
        """The type in which the layer computes."""
        return self._dtype_policy.compute_dtype

    def _maybe_cast_inputs(self, inputs):
        """Floating inputs in the type in which the layer computes, if it casts them."""
        dtype = self._compute_dtype
        if not self._autocast or not dtype or not dtypes.as_dtype(dtype).is_floating:
            return inputs
        from braid.tensorflow.python.ops import math_ops

        def cast(x):
            known = getattr(x, "dtype", None)
            if isinstance(known, dtypes.DType) and known.is_floating and known.base_dtype.name != dtype:
                return math_ops.cast(x, dtype)
            return x

        return nest.map_structure(cast, inputs)

    @property
    def dynamic(self):
        return False

    # Weights.

    def add_weight(
        self,
        name=None,
        shape=None,
        dtype=None,
        initializer=None,
        regularizer=None,
        trainable=None,
        constraint=None,
        partitioner=None,
        use_resource=None,
        synchronization=None,
        aggregation=None,
        **kwargs,
    ):
        """Makes a weight.

        shape: () if None. dtype: the layer's, or floatx. initializer: Glorot's uniform one for floats, zeros
        for integers and booleans, if None. regularizer: a function of the weight that gives a loss.
        constraint: a function applied after each update. kwargs: getter, collections.
        """
        from braid.tensorflow.python.keras import backend, initializers
        from braid.tensorflow.python.ops import variables

        for key in kwargs:
            if key not in ("getter", "collections", "experimental_autocast", "caching_device"):
                raise TypeError(f"Unknown keyword argument: {key}")
        shape = tensor_shape.TensorShape(() if shape is None else shape)
        dtype = dtypes.as_dtype(dtype or self.dtype or backend.floatx())
        if self._dtype is None:
            self._dtype = dtype.base_dtype.name
        cast = kwargs.get("experimental_autocast", True) and self._dtype_policy.should_cast_variables
        initializer = initializers.get(initializer)
        regularizer = _get_regularizer(regularizer)
        constraint = _get_constraint(constraint)
        on_read = getattr(getattr(variables, "VariableSynchronization", None), "ON_READ", object())
        if synchronization == on_read:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        elif trainable is None:
            trainable = True
        if initializer is None:
            if dtype.is_floating:
                initializer = initializers.get("glorot_uniform")
            elif dtype.is_integer or dtype.is_bool:
                initializer = initializers.get("zeros")
            else:
                raise ValueError(
                    f"An initializer for variable {name} of type {dtype.base_dtype} is required for "
                    f"layer {self.name}"
                )
        getter = kwargs.get("getter") or base_layer_utils.make_variable
        more = {k: kwargs[k] for k in ("collections", "caching_device") if kwargs.get(k) is not None}
        if synchronization is not None:
            more["synchronization"] = synchronization
        if aggregation is not None:
            more["aggregation"] = aggregation
        variable = getter(
            name=name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            constraint=constraint,
            partitioner=partitioner,
            use_resource=use_resource,
            **more,
        )
        backend.track_variable(variable)
        if cast and dtype.is_floating:
            from braid.tensorflow.python.keras.mixed_precision.experimental import autocast_variable

            variable = autocast_variable.AutoCastVariable(variable)
        if regularizer is not None:
            self._handle_weight_regularization(variable.name.split(":")[0], variable, regularizer)
        self._track_weight(variable, trainable)
        if name is not None and isinstance(variable, trackable.Trackable):
            self._track_trackable(variable, name=name, overwrite=True)
        return variable

    def _track_weight(self, variable, trainable):
        weights = self._trainable_weights if trainable else self._non_trainable_weights
        parts = list(variable) if hasattr(variable, "_get_partitions") else [variable]
        for part in parts:
            if not _has(weights, part):
                weights.append(part)

    def add_variable(self, *args, **kwargs):
        """The older name of add_weight."""
        return self.add_weight(*args, **kwargs)

    def _handle_weight_regularization(self, name, variable, regularizer):
        def loss_of(part):
            with ops.name_scope(name + "/Regularizer"):
                return regularizer(part)

        for part in variable if hasattr(variable, "_get_partitions") else [variable]:
            self.add_loss(lambda part=part: loss_of(part))

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        self._trainable = value
        for layer in self._nested():
            layer.trainable = value

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        own = self._trainable_weights + [v for v in self._loose_variables() if v.trainable]
        return _unique(own + [w for layer in self._nested() for w in layer.trainable_weights])

    @property
    def non_trainable_weights(self):
        nested = self._nested()
        loose = list(self._loose_variables())
        if self.trainable:
            own = self._non_trainable_weights + [v for v in loose if not v.trainable]
            return _unique(own + [w for n in nested for w in n.non_trainable_weights])
        own = self._trainable_weights + self._non_trainable_weights + loose
        return _unique(own + [w for layer in nested for w in layer.weights])

    @property
    def weights(self):
        return _unique(self.trainable_weights + self.non_trainable_weights)

    @property
    def variables(self):
        return self.weights

    @property
    def trainable_variables(self):
        return self.trainable_weights

    @property
    def non_trainable_variables(self):
        return self.non_trainable_weights

    def get_weights(self):
        """The values of the weights, as arrays."""
        from braid.tensorflow.python.keras import backend

        return backend.batch_get_value(self.weights)

    def set_weights(self, weights):
        """Sets the weights to arrays, in the order of get_weights()."""
        from braid.tensorflow.python.keras import backend

        params = self.weights
        if len(params) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of length '
                f"{len(weights)}, but the layer was expecting {len(params)} weights."
            )
        for p, w in zip(params, weights):
            if tuple(p.shape.as_list()) != np.shape(w):
                raise ValueError(
                    f"Layer weight shape {tuple(p.shape.as_list())} not compatible with provided weight shape "
                    f"{np.shape(w)}"
                )
        backend.batch_set_value(list(zip(params, weights)))

    def count_params(self):
        """The number of scalars in the weights."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. "
                f"You can build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(w.shape.as_list()) for w in self.weights))

    # Losses, updates and metrics.

    @property
    def activity_regularizer(self):
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer):
        self._activity_regularizer = regularizer

    @property
    def losses(self):
        """The tensors of the layer's losses and of those of its layers."""
        losses = list(self._losses)
        for make in self._callable_losses:
            loss = make()
            if loss is not None:
                losses.append(loss)
        for layer in self._nested():
            losses += layer.losses
        return losses

    def add_loss(self, losses, inputs=None):
        """Adds losses: tensors, or functions without arguments that give one. inputs: what they depend on."""
        for loss in nest.flatten(losses):
            if callable(loss):
                self._callable_losses.append(_called_once_a_graph(loss))
            elif loss is not None:
                loss = ops.convert_to_tensor(loss)
                loss._unconditional_loss = inputs is None and not self._depends_on_call(loss)
                self._losses.append(loss)

    @property
    def updates(self):
        if not self.trainable and not self.stateful:
            return []
        updates = list(self._updates)
        for layer in self._nested():
            updates += layer.updates
        return updates

    def add_update(self, updates, inputs=None):
        """Adds ops that change weights that are not trained, to be run with each step of training."""
        for update in nest.flatten(updates):
            if callable(update):
                update = update()
            if update is None:
                continue
            if not isinstance(update, ops.Operation):
                update = getattr(update, "op", None) or ops.convert_to_tensor(update).op
            if inputs is None and not self._depends_on_call(update):
                self._unconditional_updates.add(update)
            self._updates.append(update)

    def _depends_on_call(self, thing):
        """Whether it is computed from the inputs of the call that is under way, or of earlier ones."""
        context = base_layer_utils.call_context()
        if context.in_call:
            starts = nest.flatten(context.inputs)
        else:
            starts = [t for n in self._inbound_nodes for t in nest.flatten(n.input_tensors)]
        starts = [t for t in starts if isinstance(t, ops.Tensor)]
        return bool(starts) and id(thing) in _reached(starts, [thing])

    def get_updates_for(self, inputs):
        """The updates that depend on `inputs`; those that depend on none of the layer's inputs if None."""
        updates = self.updates
        free = {id(u) for layer in (self,) + self.submodules for u in layer._unconditional_updates}
        if inputs is None:
            return [u for u in updates if id(u) in free]
        bound = [u for u in updates if id(u) not in free]
        reached = _reached(nest.flatten(inputs), bound)
        return [u for u in bound if id(u) in reached]

    def get_losses_for(self, inputs):
        """The losses that depend on `inputs`; those that depend on none of the layer's inputs if None."""
        losses = self.losses
        if inputs is None:
            return [t for t in losses if getattr(t, "_unconditional_loss", True)]
        bound = [t for t in losses if not getattr(t, "_unconditional_loss", True)]
        reached = _reached(nest.flatten(inputs), bound)
        return [t for t in bound if id(t) in reached]

    @property
    def metrics(self):
        metrics = list(self._metrics)
        for layer in self._nested():
            metrics += layer.metrics
        return _unique(metrics)

    def add_metric(self, value, aggregation=None, name=None):
        """Adds a metric of the value of a tensor. aggregation: "mean"; None for the result of a Metric
        object."""
        if aggregation is not None and aggregation != "mean":
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. "
                f"You provided aggregation=`{aggregation}`"
            )
        own = getattr(value, "_metric_obj", None)
        if name is None and own is None:
            raise ValueError(
                "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs), "
                "name='mean_activation', aggregation='mean')`"
            )
        in_call = base_layer_utils.call_context().in_call
        if own is not None and not in_call and getattr(self, "_is_graph_network", False):
            raise ValueError(
                "Using the result of calling a `Metric` object when calling `add_metric` on a Functional Model "
                "is not supported. Please pass the Tensor to monitor directly."
            )
        name = own.name if own is not None else name
        known = [m for m in self._metrics if m.name == name]
        if len(known) > 1:
            raise ValueError(
                f"Please provide different names for the metrics you have added. We found {len(known)} metrics "
                f'with the name: "{name}"'
            )
        if aggregation is None:
            if not known and own is None:
                raise ValueError(
                    "We do not support adding an aggregated metric result tensor that is not the output of a "
                    "`tf.keras.metrics.Metric` metric instance. Without having access to the metric instance we "
                    "cannot reset the state of a metric after every epoch during training. You can create a "
                    "`tf.keras.metrics.Metric` instance and pass the result here or pass an un-aggregated "
                    "result with `aggregation` parameter set as `mean`. For example: "
                    "`self.add_metric(tf.reduce_sum(inputs), name='mean_activation', aggregation='mean')`"
                )
            metric = known[0] if known else own
        else:
            from braid.tensorflow.python.keras import metrics as metrics_module

            metric = known[0] if known else metrics_module.Mean(name=name, dtype=value.dtype)
            value = metric(value)
        if not known:
            self._metrics.append(metric)
        self._metrics_tensors[metric.name] = value

    # Calls.

    def _converted_call_method(self):
        """`call`; of a layer of the program's own one whose control flow of tensors builds that of the graph."""
        if not base_layer_utils.is_subclassed(self):
            return self.call
        from braid.tensorflow.python.autograph.impl import api

        return api.tf_convert(self.call, ag_ctx.control_status_ctx())

    def _init_call_fn_args(self):
        try:
            signature = inspect.signature(self.call)
        except (TypeError, ValueError):
            self._call_fn_args, self._call_accepts_kwargs = [], True
        else:
            parameters = list(signature.parameters.values())
            self._call_fn_args = [
                p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
            ]
            self._call_accepts_kwargs = any(p.kind == p.VAR_KEYWORD for p in parameters)
        self._expects_training_arg = "training" in self._call_fn_args
        self._expects_mask_arg = "mask" in self._call_fn_args

    def __call__(self, inputs, *args, **kwargs):
        """Builds the layer at its first call, and gives its outputs for `inputs`."""
        if not hasattr(self, "_call_fn_args"):
            raise RuntimeError("You must call `super().__init__()` in the layer constructor.")
        context = base_layer_utils.call_context()
        inputs = nest.map_structure(_as_tensor, inputs)
        if base_layer_utils.needs_keras_history(inputs):
            base_layer_utils.create_keras_history(inputs)
        arguments = dict(kwargs)
        masks = self._argument("mask", args, kwargs) if self._expects_mask_arg else None
        mask_passed = masks is not None
        if not mask_passed:
            masks = base_layer_utils.collect_previous_mask(inputs)
        has_mask = any(m is not None for m in nest.flatten(masks))
        if self._expects_mask_arg and not mask_passed and has_mask:
            kwargs["mask"] = masks
        training = None
        if self._expects_training_arg:
            training = self._argument("training", args, kwargs)
            if training is None:
                training = context.training
                if training is None:
                    training = _global_learning_phase()
                if training is not None and not self._given("training", args):
                    kwargs["training"] = training
        elif context.training is not None:
            training = context.training
        with ops.name_scope(self._name_scope()):
            with context.enter(self, inputs, True, training):
                input_spec.assert_input_compatibility(self.input_spec, inputs, self.name)
                self._maybe_build(inputs)
                with base_layer_utils.autocast_context_manager(self._compute_dtype):
                    outputs = self._converted_call_method()(self._maybe_cast_inputs(inputs), *args, **kwargs)
                if outputs is None:
                    raise ValueError(
                        "A layer's `call` method should return a Tensor or a list of Tensors, not None (layer: "
                        f"{self.name})."
                    )
            if base_layer_utils.have_all_keras_metadata(inputs):
                outputs = self._set_connectivity_metadata(inputs, outputs, args, arguments)
            with context.enter(self, inputs, True, training):
                self._handle_activity_regularization(inputs, outputs)
                self._set_mask_metadata(inputs, outputs, masks if has_mask else None)
        if hasattr(self, "_set_inputs") and not getattr(self, "inputs", None):
            self._set_inputs(inputs, outputs)
        if self.__dict__.get("_loaded") is not None and not context.in_call:
            from braid.tensorflow.python.keras import backend

            session = backend.get_session()
            if session.graph is ops.get_default_graph():
                with ops.init_scope():
                    self._loaded.restore_new_objects(session)  # load_weights came before the variables
        return outputs

    def apply(self, inputs, *args, **kwargs):
        """The older name of calling the layer."""
        return self.__call__(inputs, *args, **kwargs)

    def _given(self, name, args):
        names = self._call_fn_args[1:]
        return name in names and names.index(name) < len(args)

    def _argument(self, name, args, kwargs):
        if name in kwargs:
            return kwargs[name]
        return args[self._call_fn_args[1:].index(name)] if self._given(name, args) else None

    def _maybe_build(self, inputs):
        if self.built:
            return
        flat = nest.flatten(inputs)
        if flat and all(isinstance(x, ops.Tensor) for x in flat):
            self.__dict__["_first_inputs"] = nest.map_structure(_spec_of_batch, inputs)
        self._infer_dtype(flat)
        if all(hasattr(x, "shape") for x in flat):
            shapes = nest.map_structure(lambda x: tensor_shape.TensorShape(x.shape), inputs)
        else:
            shapes = None
        if not base_layer_utils.is_default(self.build):
            self.build(shapes)
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _infer_dtype(self, flat):
        """Takes the dtype of the first input, if the layer has none."""
        if self._compute_dtype is None and flat and hasattr(flat[0], "dtype"):
            kind = dtypes.as_dtype(flat[0].dtype).base_dtype
            self._dtype_policy = policy.with_input_dtype(self._dtype_policy, kind)

    # What tf.saved_model.save writes.

    _object_identifier = "_tf_keras_layer"

    @property
    def _tracking_metadata(self):
        return _saved_model().metadata_of(self)

    def _list_extra_dependencies_for_serialization(self, view):
        return _saved_model().objects_of(self, view)

    def _list_functions_for_serialization(self, view):
        return _saved_model().endpoints_of(self, view)

    def _handle_activity_regularization(self, inputs, outputs):
        if not self._activity_regularizer:
            return
        from braid.tensorflow.python.ops import array_ops, math_ops

        with ops.name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                size = math_ops.cast(array_ops.shape(output)[0], loss.dtype)
                self.add_loss(loss / size, inputs=inputs)

    def _set_mask_metadata(self, inputs, outputs, masks):
        if getattr(self, "_compute_output_and_mask_jointly", False):
            return
        flat = nest.flatten(outputs)
        if not self.supports_masking and type(self).compute_mask is Layer.compute_mask:
            return
        if masks is None and type(self).compute_mask is Layer.compute_mask:
            return
        result = self.compute_mask(inputs, masks)
        flat_masks = [None] * len(flat) if result is None else nest.flatten(result)
        for tensor, mask in zip(flat, flat_masks):
            if mask is not None:
                tensor._keras_mask = mask

    def _set_connectivity_metadata(self, inputs, outputs, args, kwargs):
        from braid.tensorflow.python.ops import array_ops

        given = {id(t) for t in nest.flatten(inputs)}
        kwargs = dict(kwargs)
        kwargs.update(zip(self._call_fn_args[1:], args))

        def own(t):
            if id(t) not in given:
                return t
            with ops.name_scope(self.name):
                return nest.map_structure(array_ops.identity, t, expand_composites=True)

        outputs = nest.map_structure(own, outputs)
        self._add_inbound_node(inputs, outputs, kwargs)
        return outputs

    def _add_inbound_node(self, input_tensors, output_tensors, arguments=None):
        Node(self, input_tensors, output_tensors, arguments)

    # The tensors of earlier calls.

    @property
    def inbound_nodes(self):
        return self._inbound_nodes

    @property
    def outbound_nodes(self):
        return self._outbound_nodes

    def _node_attribute(self, node_index, attribute, what):
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if node_index >= len(self._inbound_nodes):
            raise ValueError(
                f"Asked to get {what} at node {node_index}, but the layer has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        value = getattr(self._inbound_nodes[node_index], attribute)
        return value[0] if isinstance(value, list) and len(value) == 1 else value

    def get_input_at(self, node_index):
        return self._node_attribute(node_index, "input_tensors", "input")

    def get_output_at(self, node_index):
        return self._node_attribute(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index):
        return self._node_attribute(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index):
        return self._node_attribute(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index):
        return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), self.get_input_at(node_index))

    def get_output_mask_at(self, node_index):
        return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), self.get_output_at(node_index))

    def _common(self, attribute, what):
        """The attribute that all calls have."""
        if not self._inbound_nodes:
            raise AttributeError(f"The layer has never been called and thus has no defined {what}.")
        first = getattr(self._inbound_nodes[0], attribute)
        if any(getattr(n, attribute) != first for n in self._inbound_nodes):
            raise AttributeError(
                f'The layer "{self.name}" has multiple inbound nodes with different {what}s. '
                f'Hence the notion of "{what}" is ill-defined for the layer. '
                f"Use `get_{what.replace(' ', '_')}_at(node_index)` instead."
            )
        return self._node_attribute(0, attribute, what)

    @property
    def input(self):
        """That of the first call: the layers of a model have another one when the model is called."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return self.get_input_at(0)

    @property
    def output(self):
        """That of the first call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self.get_output_at(0)

    @property
    def input_shape(self):
        return self._common("input_shapes", "input shape")

    @property
    def output_shape(self):
        return self._common("output_shapes", "output shape")

    @property
    def input_mask(self):
        return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), self.input)

    @property
    def output_mask(self):
        return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), self.output)

    # Nested layers and weights, found by the attributes that hold them.

    def __setattr__(self, name, value):
        no_dependency = isinstance(value, data_structures.NoDependency)
        is_tracked = (
            not name.startswith("_keras")
            and name not in _UNTRACKED
            and "_track" in self.__dict__
            and self.__dict__.get("_self_setattr_tracking", True)
            # not a property, nor what all layers of the class have
            and (name == "_layers" or not hasattr(type(self), name))
        )
        if no_dependency:
            value = value.value
        elif is_tracked and self._is_wrapped(name):
            value = data_structures._wrap_or_unwrap(value)
            data_structures._use_resource_variables(value)
        object.__setattr__(self, name, value)
        if not is_tracked:
            return
        self._forget(name)
        if not _may_hold_layers(value) and not _is_variable(value):
            return
        if getattr(value, "_is_metric", False) and not _has(self._metrics, value):
            self._metrics.append(value)
        self._track.append((name, value))
        if no_dependency:
            self.__dict__.setdefault("_self_no_dependency", set()).add(name)
        if _is_variable(value) and "_trainable_weights" in self.__dict__:
            if not _has(self._trainable_weights + self._non_trainable_weights, value):
                self._track_weight(value, bool(getattr(value, "trainable", True)))
                _initialize_by_keras([value])
        elif (_is_container(value) or isinstance(value, tuple)) and name not in _INTERNAL:
            found = list(_variables_in(value))
            _initialize_by_keras(found)
            if "_trainable_weights" in self.__dict__:
                for variable in found:
                    if not _has(self._trainable_weights + self._non_trainable_weights, variable):
                        self._track_weight(variable, bool(variable.trainable))

    def _is_wrapped(self, name):
        """Whether a list or a dictionary is wrapped when it becomes this attribute, and a layer of tf.layers
        is given resource variables: not where Keras keeps them itself.
        """
        return name not in _INTERNAL and not isinstance(getattr(type(self), name, None), property)

    def __delattr__(self, name):
        object.__delattr__(self, name)
        if "_track" in self.__dict__:
            self._forget(name)

    def _forget(self, name):
        """Tracks no more what the attribute held: a variable is no weight if no other attribute has it."""
        old = [v for n, v in self._track if n == name]
        if not old:
            return
        self._track[:] = [(n, v) for n, v in self._track if n != name]
        if _is_variable(old[0]) and not any(v is old[0] for _, v in self._track):
            for weights in (self._trainable_weights, self._non_trainable_weights):
                weights[:] = [w for w in weights if w is not old[0]]

    def _nested(self):
        """The layers that attributes hold, also in lists and dicts."""
        found = []
        for _, value in self.__dict__.get("_track", ()):
            _collect_layers(value, found)
        return [layer for layer in found if layer is not self]

    @property
    def _layers(self):
        return self.__dict__["_layers"] if "_layers" in self.__dict__ else self._nested()

    @_layers.setter
    def _layers(self, value):  # layers of programs keep a list of their own under this name
        self.__dict__["_layers"] = value

    @property
    def submodules(self):
        """All layers below this one."""
        found = []
        for layer in self._nested():
            found.append(layer)
            found.extend(layer.submodules)
        return tuple(_unique(found))

    def _loose_variables(self):
        """The variables in lists, tuples and dictionaries that attributes hold, and of templates
        (tf.make_template). Keras' session initializes them.
        """
        for name, value in self.__dict__.get("_track", ()):
            if name in _INTERNAL:
                continue
            if _is_container(value) or isinstance(value, tuple) or _has_weights(value):
                for variable in _variables_in([value]):
                    _initialize_by_keras([variable])
                    yield variable

    @property
    def _checkpoint_dependencies(self):
        """Weights by their names, and what attributes hold by the attributes' names."""
        found = {reference.name: reference for reference in super()._checkpoint_dependencies}
        hidden = self.__dict__.get("_self_no_dependency", ())
        for name, value in self.__dict__.get("_track", ()):
            if not name.startswith("_self_") and name not in _INTERNAL and name not in hidden:
                if data_structures.is_container(value) or isinstance(value, trackable.Trackable):
                    found[name] = trackable.TrackableReference(name, value)
        return list(found.values())


OP_LAYER_PREFIX = "tf_op_layer_"


class TensorFlowOpLayer(Layer):
    """An op of TensorFlow between layers: called again, it makes another such op."""

    def __init__(self, node_def, name, constants=None, trainable=True, dtype=None):
        """node_def: a NodeDef, the bytes of one, or one as get_config and JSON have it. constants: inputs by number."""
        super().__init__(name=OP_LAYER_PREFIX + name, trainable=trainable, dtype=dtype)
        if isinstance(node_def, dict):
            node_def = json_format.ParseDict(node_def, protos.NodeDef())
        elif isinstance(node_def, (bytes, str)):
            node_def = protos.NodeDef.FromString(compat.as_bytes(node_def))
        self.node_def = node_def
        self.constants = {int(i): value for i, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs):
        graph = ops.get_default_graph()
        inputs = list(nest.flatten(inputs))
        for i in sorted(self.constants):
            inputs.insert(i, ops.convert_to_tensor(self.constants[i]))
        op = graph.create_op(
            self.node_def.op,
            inputs,
            None,
            name=self.node_def.name.rsplit("/", 1)[-1],
            attrs=dict(self.node_def.attr),
        )
        outputs = list(op.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def get_config(self):
        from braid.tensorflow.python.keras import backend

        def value(constant):
            return backend.get_value(constant) if isinstance(constant, ops.Tensor) else constant

        config = super().get_config()
        config["name"] = config["name"][len(OP_LAYER_PREFIX) :]  # __init__ adds it
        config["node_def"] = json_format.MessageToDict(self.node_def)
        config["constants"] = {i: value(constant) for i, constant in self.constants.items()}
        return config


class AddLoss(Layer):
    """Adds its input to the losses."""

    def __init__(self, unconditional, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.unconditional = unconditional

    def call(self, inputs):
        self.add_loss(inputs, inputs=None if self.unconditional else inputs)
        return inputs

    def get_config(self):
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """Adds a metric of its input."""

    def __init__(self, aggregation=None, metric_name=None, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs):
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self):
        own = {"aggregation": self.aggregation, "metric_name": self.metric_name}
        return {**super().get_config(), **own}


def _saved_model():
    from braid.tensorflow.python.keras.saving.saved_model import save

    return save


def _spec_of_batch(tensor):
    """The TensorSpec of a layer's input, for batches of any size."""
    from braid.tensorflow.python.framework import tensor_spec

    shape = tensor.shape
    if shape.ndims:
        shape = [None, *shape.as_list()[1:]]
    return tensor_spec.TensorSpec(shape, tensor.dtype.base_dtype)


_UNTRACKED = {
    "_states",  # of stateful recurrent layers: they are no weights
    "_call_fn_args",
    "_metrics_tensors",
    "_track",
    "_trainable_weights",
    "_non_trainable_weights",
    "_updates",
    "_unconditional_updates",
    "_losses",
    "_callable_losses",
    "_metrics",
    "_inbound_nodes",
    "_outbound_nodes",
    "inputs",
    "outputs",
    "_compile_metrics",
}


# Attributes of networks whose layers checkpoints have by their numbers.
_INTERNAL = {"_stack", "_own_layers", "_feed_input_names", "_feed_inputs", "input_names", "output_names"}


def _snake_case(name):
    s = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    s = re.sub("([a-z])([A-Z])", r"\1_\2", s).lower()
    return "private" + s if s.startswith("_") else s


to_snake_case = _snake_case


def _as_tensor(x):
    if isinstance(x, (np.ndarray, float, int, np.generic)):
        return ops.convert_to_tensor(x)
    return x


def _is_variable(value):
    """Whether it is a variable, and not the value of one after an assignment."""
    if isinstance(value, resource_variable_ops._UnreadVariable):
        return False
    return hasattr(value, "initializer") and hasattr(value, "assign") and hasattr(value, "op")


def _may_hold_layers(value):
    """Whether it holds layers or other trackable objects, or is a list or dictionary that may be given
    some."""
    if isinstance(value, (trackable.Trackable, list, dict)):
        return True
    return isinstance(value, tuple) and any(_may_hold_layers(v) for v in value)


def holds_layers(value):
    """Whether it is a layer or a variable, or a structure with one."""
    return any(isinstance(v, Layer) or _is_variable(v) for v in nest.flatten(value))


def _initialize_by_keras(variables):
    """Has Keras' session initialize variables."""
    from braid.tensorflow.python.keras import backend

    for variable in variables:
        backend.track_variable(variable)


def _is_container(value):
    """Whether it is a list or a dictionary whose elements are tracked."""
    return data_structures.is_container(value) or isinstance(
        value, (data_structures.ListWrapper, data_structures._DictWrapper)
    )


def _variables_in(value):
    """The variables in a list, a tuple or a dictionary, this in the order of its keys.

    Of what is no layer but has weights as one, these, unless it is in a tuple.
    """
    if isinstance(value, dict):
        try:
            value = [value[key] for key in sorted(value)]
        except TypeError:  # keys of types that have no order
            value = list(value.values())
    for v in value:
        if _is_variable(v) and hasattr(v, "trainable"):
            yield v
        elif _is_container(v) or isinstance(v, tuple):
            yield from _variables_in(v)
        elif _has_weights(v) and not isinstance(value, tuple):
            yield from v.weights


def _has_weights(value):
    """Whether it is no layer, but has weights as one."""
    return (
        not isinstance(value, (Layer, type))
        and hasattr(value, "trainable_weights")
        and hasattr(value, "non_trainable_weights")
    )


def _collect_layers(value, found):
    if isinstance(value, Layer):
        if not any(value is f for f in found):
            found.append(value)
    elif isinstance(value, list):
        for v in value:
            _collect_layers(v, found)
    elif isinstance(value, dict):
        for v in value.values():
            _collect_layers(v, found)
    elif isinstance(value, data_structures.TrackableDataStructure):
        for v in value._values:
            _collect_layers(v, found)


def _has(things, thing):
    return any(t is thing for t in things)


def _unique(things):
    seen, result = set(), []
    for t in things:
        if id(t) not in seen:
            seen.add(id(t))
            result.append(t)
    return result


def _called_once_a_graph(make):
    """`make`, with its result kept for each graph: asking for the losses twice adds no nodes."""
    made = []

    def once():
        graph = ops.get_default_graph()
        for g, loss in made:
            if g is graph:
                return loss
        loss = make()
        made.append((graph, loss))
        return loss

    return once


def _reached(starts, things):
    """The ids of those of `things` that an op path leads to from `starts`."""
    start_ops = {id(t.op) for t in starts if hasattr(t, "op")}
    known = {}

    def leads(op):
        todo = [op]
        while todo:
            o = todo[-1]
            if id(o) in known and known[id(o)] is not None:
                todo.pop()
                continue
            if id(o) in start_ops:
                known[id(o)] = True
                todo.pop()
                continue
            before = [x.op for x in o.inputs] + list(o.control_inputs)
            waits = [b for b in before if id(b) not in known]
            if waits and known.get(id(o), 0) == 0:
                known[id(o)] = None
                todo.extend(waits)
                continue
            known[id(o)] = any(known.get(id(b)) for b in before)
            todo.pop()
        return known[id(op)]

    return {id(t) for t in things if leads(t if isinstance(t, ops.Operation) else t.op)}


def _get_regularizer(regularizer):
    if regularizer is None or callable(regularizer):
        return regularizer
    from braid.tensorflow.python.keras import regularizers

    return regularizers.get(regularizer)


def _get_constraint(constraint):
    if constraint is None or callable(constraint):
        return constraint
    from braid.tensorflow.python.keras import constraints

    return constraints.get(constraint)


def _global_learning_phase():
    from braid.tensorflow.python.keras import backend

    return backend.learning_phase() if backend.global_learning_phase_is_set() else None

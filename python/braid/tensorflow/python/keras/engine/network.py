"""Network: layers as a graph from inputs to outputs, or as a class of the program's own."""

import importlib.util
import inspect
import json
import os

import numpy as np

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.engine import input_layer as input_layer_module
from braid.tensorflow.python.keras.utils.io_utils import ask_to_proceed_with_overwrite
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest


class Network(base_layer.Layer):
    """Layers in a graph, from inputs to outputs; or of a subclass that defines call()."""

    _object_identifier = "_tf_keras_network"

    def __init__(self, *args, **kwargs):
        named = "inputs" in kwargs and "outputs" in kwargs
        if len(args) == 2 or (len(args) == 1 and "outputs" in kwargs) or named:
            self._init_graph_network(*args, **kwargs)
        else:
            self._init_subclassed_network(*args, **kwargs)

    def _base_init(self, name=None, **kwargs):
        base_layer.Layer.__init__(self, name=name, **kwargs)
        self._is_compiled = False
        self.optimizer = None
        self.inputs = self.outputs = None
        self.input_names = self.output_names = None

    def _init_subclassed_network(self, name=None, **kwargs):
        unknown = set(kwargs) - {"trainable", "dtype", "dynamic", "autocast"}
        if unknown:
            raise TypeError(f"Keyword argument not understood: {sorted(unknown)[0]}")
        self._base_init(name=name, **kwargs)
        self._is_graph_network = False
        self._own_layers = None

    def _init_graph_network(self, inputs, outputs, name=None, **kwargs):
        unknown = set(kwargs) - {"trainable"}
        if unknown:
            raise TypeError(
                "Functional models may only specify `name` and `trainable` keyword arguments during "
                f"initialization. Got an unexpected argument: {sorted(unknown)[0]}"
            )
        self._base_init(name=name, **kwargs)
        self._set_graph(inputs, outputs)

    @trackable.no_automatic_dependency_tracking
    def _set_graph(self, inputs, outputs):
        """Takes the layers between inputs and outputs over."""
        if isinstance(inputs, list) and len(nest.flatten(inputs)) == 1:
            inputs = inputs[0]
        if isinstance(outputs, list) and len(nest.flatten(outputs)) == 1:
            outputs = outputs[0]
        self._nested_inputs, self._nested_outputs = inputs, outputs
        flat_inputs, flat_outputs = nest.flatten(inputs), nest.flatten(outputs)
        if base_layer_utils.needs_keras_history(flat_outputs):
            base_layer_utils.create_keras_history(flat_outputs)
        for x in flat_inputs + flat_outputs:
            if not hasattr(x, "_keras_history"):
                raise ValueError(
                    f"Tensors of a {type(self).__name__} must come from `tf.keras.Input` and layers, "
                    f"received: {x}"
                )
        if len({id(x) for x in flat_inputs}) != len(flat_inputs):
            raise ValueError(
                "The list of inputs passed to the model is redundant. All inputs should only appear once. "
                f"Found: {inputs}"
            )
        self.inputs, self.outputs = flat_inputs, flat_outputs
        self._is_graph_network = True
        self.built = True
        self._compute_output_and_mask_jointly = True
        self._expects_training_arg = True
        self._expects_mask_arg = True
        self._input_coordinates = [tuple(x._keras_history) for x in flat_inputs]
        self._output_coordinates = [tuple(x._keras_history) for x in flat_outputs]
        self._input_layers = [layer for layer, _, _ in self._input_coordinates]
        self._output_layers = [layer for layer, _, _ in self._output_coordinates]
        self._nodes, self._own_layers = _map_graph(flat_inputs, flat_outputs)
        names = [layer.name for layer in self._own_layers]
        for layer in self._own_layers:
            if names.count(layer.name) != 1:
                raise ValueError(
                    f'The name "{layer.name}" is used {names.count(layer.name)} times in the model. All '
                    "layer names should be unique."
                )
        self.input_names = [layer.name for layer in self._input_layers]
        self.output_names = []
        for layer in self._output_layers:
            name, number = layer.name, 1
            while name in self.output_names:
                name = f"{layer.name}_{number}"
                number += 1
            self.output_names.append(name)
        sizes = {
            layer._batch_input_shape[0]
            for layer in self._input_layers
            if getattr(layer, "_batch_input_shape", None)
        }
        sizes.discard(None)
        if len(sizes) > 1:
            raise ValueError(
                f"The specified batch sizes of the Input Layers are incompatible. Found batch sizes: {sizes}"
            )
        for layer in self._input_layers:
            if not isinstance(layer, input_layer_module.InputLayer):
                raise ValueError(
                    f"Input tensors to a {type(self).__name__} must come from `tf.keras.Input`. "
                    f"Received: {layer.name} (missing previous layer metadata)."
                )
        self._feed_inputs = [x for x, layer in zip(flat_inputs, self._input_layers) if layer.is_placeholder]
        self._feed_input_names = [layer.name for layer in self._input_layers if layer.is_placeholder]
        # A model is a layer whose first node goes from its inputs to its outputs.
        self._inbound_nodes = [_ModelNode(self, flat_inputs, flat_outputs)]

    def add_loss(self, losses, inputs=None):
        """Adds losses. What computes one from the inputs becomes layers of the model, which its settings have."""
        for loss in nest.flatten(losses):
            if not self._takes_layer(loss):
                super().add_loss(loss, inputs)
            else:
                self._insert(base_layer.AddLoss(unconditional=False)(loss))

    def add_metric(self, value, aggregation=None, name=None):
        """Adds a metric of a tensor, by layers of the model as add_loss."""
        if aggregation is None or name is None or not self._takes_layer(value):
            return super().add_metric(value, aggregation, name)
        self._insert(base_layer.AddMetric(aggregation, name)(value))

    def _takes_layer(self, value):
        """Whether a tensor is computed from Inputs, after this was made a graph of layers."""
        if not self._is_graph_network or hasattr(self, "_stack") or not isinstance(value, ops.Tensor):
            return False
        if base_layer_utils.call_context().in_call:
            return False
        return hasattr(value, "_keras_history") or base_layer_utils.needs_keras_history(value)

    @trackable.no_automatic_dependency_tracking
    def _insert(self, *tensors):
        """Adds the layers that lead to tensors to those between inputs and outputs."""
        nodes, layers = _map_graph(self.inputs, self.outputs + list(tensors))
        self._nodes = base_layer._unique(self._nodes + nodes)
        self._own_layers = base_layer._unique(self._own_layers + layers)

    def _insert_apart(self, layers):
        """Adds those of the layers that do not lead to the outputs."""
        apart = [layer for layer in layers if not any(layer is own for own in self.layers)]
        for layer in apart:
            if not layer._outbound_nodes:
                self._insert(*nest.flatten(layer._inbound_nodes[-1].output_tensors))

    @property
    def _is_subclassed(self):
        return not self._is_graph_network

    def __setattr__(self, name, value):
        if "_track" not in self.__dict__ and base_layer.holds_layers(value):
            raise RuntimeError(
                "It looks like you are subclassing `Model` and you forgot to call "
                "`super(YourClass, self).__init__()`. Always start with this line."
            )
        super().__setattr__(name, value)

    # Layers and weights.

    @property
    def _checkpoint_dependencies(self):
        """Layers of a graph by their places, also among those that have weights; then what attributes hold."""
        found, number = [], 0
        if self._is_graph_network or hasattr(self, "_stack"):
            own = self.layers if hasattr(self, "_stack") else self._nested()
            for i, layer in enumerate(own):
                if layer.weights:
                    found.append(trackable.TrackableReference(f"layer_with_weights-{number}", layer))
                    number += 1
                found.append(trackable.TrackableReference(f"layer-{i}", layer))
        return found + super()._checkpoint_dependencies

    def _nested(self):
        own = self.__dict__.get("_own_layers")
        return super()._nested() if own is None else list(own)

    @property
    def layers(self):
        return [layer for layer in self._nested() if not getattr(layer, "_is_metric", False)]

    def get_layer(self, name=None, index=None):
        """The layer of a name, or of a place in `layers`."""
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    # The layers' weights are before those of the model itself.

    @property
    def weights(self):
        self._assert_weights_created()
        own = self._trainable_weights + self._non_trainable_weights + list(self._loose_variables())
        return base_layer._unique([w for layer in self._nested() for w in layer.weights] + own)

    @property
    def trainable_weights(self):
        self._assert_weights_created()
        if not self.trainable:
            return []
        own = self._trainable_weights + list(self._loose_variables())
        nested = [w for layer in self._nested() for w in layer.trainable_weights]
        return base_layer._unique(nested + [v for v in own if v.trainable])

    @property
    def non_trainable_weights(self):
        own = self._non_trainable_weights + self._trainable_weights + list(self._loose_variables())
        trainable = [v for v in own if v.trainable]
        others = [w for layer in self._nested() for w in layer.non_trainable_weights]
        others += [v for v in own if not v.trainable]
        if not self.trainable:
            nested = [w for layer in self._nested() for w in layer.trainable_weights]
            others = nested + trainable + others
        return base_layer._unique(others)

    def _assert_weights_created(self):
        """ValueError: the model has a `build` of its own, which was not called yet."""
        if not self.built and not self._is_graph_network and "build" in type(self).__dict__:
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created when the "
                "Model is first called on inputs or `build()` is called with an `input_shape`."
            )

    @property
    def state_updates(self):
        return [u for layer in self.layers if getattr(layer, "stateful", False) for u in layer.updates]

    @property
    def stateful(self):
        return any(getattr(layer, "stateful", False) for layer in self._nested())

    @stateful.setter
    def stateful(self, value):
        pass  # what its layers are

    def reset_states(self):
        """Resets the states of recurrent layers."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def input_spec(self):
        return self.__dict__.get("_given_input_spec")

    @input_spec.setter
    def input_spec(self, value):
        self.__dict__["_given_input_spec"] = value

    @property
    def input(self):
        return self._nested_inputs if self._is_graph_network else super().input

    @property
    def output(self):
        return self._nested_outputs if self._is_graph_network else super().output

    @property
    def input_shape(self):
        shapes = [backend.int_shape(x) for x in self.inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self):
        shapes = [backend.int_shape(x) for x in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes

    # Calls.

    def build(self, input_shape):
        """Makes the weights of a subclass, by a call on placeholders of the shape."""
        if self._is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        if isinstance(input_shape, tensor_shape.Dimension):
            raise ValueError(
                "Specified input shape is not one of the valid types. Please specify a batch input shape of type "
                f"tuple or list of input shapes. User provided input type: {type(input_shape)}"
            )
        shapes = base_layer_utils.shape_list(input_shape)
        scalars = lambda s: backend.placeholder(
            shape=s.as_list(), dtype=self.dtype or backend.floatx()
        )  # noqa: E731
        if isinstance(shapes, list):
            x = [scalars(s) for s in shapes]
        elif isinstance(shapes, dict):
            x = {k: scalars(s) for k, s in shapes.items()}
        else:
            x = scalars(shapes)
        kwargs = {}
        for parameter in list(inspect.signature(self.call).parameters.values())[1:]:
            if parameter.default is parameter.empty and parameter.kind in (
                parameter.POSITIONAL_OR_KEYWORD,
                parameter.KEYWORD_ONLY,
            ):
                if parameter.name != "training":
                    raise ValueError(
                        "Currently, you cannot build your model if it has positional or keyword arguments that "
                        "are not inputs to the model, but are required for its `call` method. Instead, in order "
                        "to instantiate and build your model, `call` your model on real tensor data with all "
                        "expected call arguments."
                    )
                kwargs["training"] = False
        try:
            with base_layer_utils.call_context().enter(self, x, True, None):
                self.call(x, **kwargs)
        except (TypeError, errors.InvalidArgumentError) as e:
            raise ValueError(
                "You cannot build your model by calling `build` if your layers do not support float type inputs. "
                "Instead, in order to instantiate and build your model, `call` your model on real tensor data "
                f"(of the correct dtype). ({e})"
            ) from e
        self.built = True

    def _maybe_build(self, inputs):
        # A model of a program's own makes its weights in call().
        if not self._is_graph_network and not self.built:
            if "build" in type(self).__dict__ or any("build" in c.__dict__ for c in _own_classes(type(self))):
                super()._maybe_build(inputs)
            else:
                self._infer_dtype(nest.flatten(inputs))
            self.built = True

    def call(self, inputs, training=None, mask=None):
        """The outputs for other inputs than those that the model was made of."""
        if not self._is_graph_network:
            raise NotImplementedError(
                "When subclassing the `Model` class, you should implement a `call` method."
            )
        return self._run_internal_graph(inputs, training=training, mask=mask)

    def compute_mask(self, inputs, mask):
        if not self._is_graph_network:
            return None
        outputs = self._run_internal_graph(inputs, mask=mask)
        return nest.map_structure(lambda t: getattr(t, "_keras_mask", None), outputs)

    def compute_output_shape(self, input_shape):
        if not self._is_graph_network:
            return super().compute_output_shape(input_shape)
        shapes = nest.flatten(base_layer_utils.shape_list(input_shape))
        known = {}
        for (layer, node, tensor), shape in zip(self._input_coordinates, shapes):
            known[id(layer._inbound_nodes[node].output_tensors[tensor])] = shape
        for node in self._nodes:
            outputs = nest.flatten(node.output_tensors)
            if all(id(t) in known for t in outputs):
                continue
            of_inputs = nest.map_structure(lambda t: known[id(t)], node.input_tensors)
            result = node.outbound_layer.compute_output_shape(of_inputs)
            parts = nest.flatten(base_layer_utils.shape_list(result))
            known.update((id(t), s) for t, s in zip(outputs, parts))
        return nest.pack_sequence_as(self._nested_outputs, [known[id(t)] for t in self.outputs])

    def _run_internal_graph(self, inputs, training=None, mask=None):
        flat = nest.flatten(inputs)
        if isinstance(inputs, dict):
            named = all(name in inputs for name in self.input_names)
            flat = [inputs[name] for name in self.input_names] if named else flat
        masks = [None] * len(flat) if mask is None else nest.flatten(mask)
        computed = {}
        for own, x, m in zip(self.inputs, flat, masks):
            if m is not None:
                x._keras_mask = m
            computed[id(own)] = x
        for node in self._nodes:
            outputs = nest.flatten(node.output_tensors)
            if all(id(t) in computed for t in outputs):
                continue
            layer = node.outbound_layer
            arguments = nest.map_structure(lambda t: computed[id(t)], node.input_tensors)
            kwargs = {k: _replaced(v, computed) for k, v in node.arguments.items()}
            if layer._expects_training_arg and kwargs.get("training") is None and training is not None:
                kwargs["training"] = training
            result = layer(arguments, **kwargs)
            computed.update((id(t), r) for t, r in zip(outputs, nest.flatten(result)))
        results = [computed[id(t)] for t in self.outputs]
        return nest.pack_sequence_as(self._nested_outputs, results)

    # Settings.

    def get_config(self):
        """Layers, their settings and how they are connected."""
        if not self._is_graph_network:
            raise NotImplementedError
        numbers = {}
        for layer in self.layers:
            mine = [n for n in layer._inbound_nodes if any(n is o for o in self._nodes)]
            # A model that is a layer has a node of its own, number 0, before it is called.
            first = 1 if getattr(layer, "_is_graph_network", False) else 0
            numbers[id(layer)] = {id(n): i for i, n in enumerate(mine, first)}

        def place(layer, node, tensor):
            return [layer.name, numbers[id(layer)].get(id(layer._inbound_nodes[node]), 0), tensor]

        def argument(value):
            if hasattr(value, "_keras_history"):
                return place(*value._keras_history)
            if isinstance(value, ops.Tensor):
                value = backend.get_value(value)
            return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

        def arguments_of(node):
            arguments = nest.map_structure(argument, node.arguments)
            if _is_plain(arguments):
                return arguments
            logging.warning(
                "Layer %s was passed non-serializable keyword arguments: %s. They will not be included in the "
                "serialized model (and thus will be missing at deserialization time).",
                node.outbound_layer.name,
                node.arguments,
            )
            return {k: v for k, v in arguments.items() if _is_plain(v)}

        def places(tensors, *more):
            found = nest.map_structure(lambda t: place(*t._keras_history) + list(more), tensors)
            return found if nest.is_sequence(tensors) else [found]

        layers = []
        for layer in self.layers:
            calls = []
            for node in layer._inbound_nodes:
                if id(node) in numbers[id(layer)] and getattr(node, "inbound_layers", None):
                    calls.append(places(node.input_tensors, arguments_of(node)))
            layers.append(
                {
                    "name": layer.name,
                    "class_name": type(layer).__name__,
                    "config": layer.get_config(),
                    "inbound_nodes": calls,
                }
            )
        return {
            "name": self.name,
            "layers": layers,
            "input_layers": places(self._nested_inputs),
            "output_layers": places(self._nested_outputs),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model as get_config described it."""
        from braid.tensorflow.python.keras import layers as layer_module

        made, waiting = {}, []
        for data in config["layers"]:
            layer = layer_module.deserialize(data, custom_objects=custom_objects)
            made[data["name"]] = layer
            waiting.extend((layer, call) for call in data["inbound_nodes"])

        def tensor(place):
            nodes = made[place[0]]._inbound_nodes
            if place[1] >= len(nodes):
                raise _NotYet
            return nest.flatten(nodes[place[1]].output_tensors)[place[2]]

        def tensors(places):
            found = _map_places(tensor, places)
            return found[0] if isinstance(found, list) and len(found) == 1 else found

        while waiting:
            later = []
            for layer, call in waiting:
                arguments = []
                _map_places(lambda place: arguments.extend(place[3:]), call)  # noqa: B023
                try:
                    inputs = tensors(call)
                    kwargs = _map_places(tensor, arguments[0] if arguments else {})
                except _NotYet:
                    later.append((layer, call))
                    continue
                layer(inputs, **kwargs)
            if len(later) == len(waiting):
                raise ValueError(f"The layers of {config.get('name')} cannot be connected")
            waiting = later
        model = cls(
            inputs=tensors(config["input_layers"]),
            outputs=tensors(config["output_layers"]),
            name=config.get("name"),
        )
        model._insert_apart(made.values())
        return model

    def to_json(self, **kwargs):
        """The class and the settings as JSON."""
        return json.dumps(self._updated_config(), default=_jsonable, **kwargs)

    def _updated_config(self):
        return {
            "class_name": type(self).__name__,
            "config": self.get_config(),
            "keras_version": "2.2.4-tf",
            "backend": backend.backend(),
        }

    def to_yaml(self, **kwargs):
        """The class and the settings as YAML. PyYAML is needed."""
        try:
            import yaml
        except ImportError:
            raise ImportError("Requires yaml module installed (`pip install pyyaml`).") from None
        return yaml.dump(json.loads(self.to_json()), **kwargs)

    def summary(self, line_length=None, positions=None, print_fn=None):
        """Prints the layers with their shapes and numbers of weights."""
        from braid.tensorflow.python.keras.utils import layer_utils

        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or calling "
                "`fit()` with some data, or specify an `input_shape` argument in the first layer(s) for "
                "automatic build."
            )
        layer_utils.print_summary(self, line_length=line_length, positions=positions, print_fn=print_fn)

    # Files.

    def save(self, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None):
        """Writes the model with its settings, weights and optimizer.

        save_format: "h5" for an HDF5 file, for which h5py is needed, the default; "tf" for a SavedModel with
        the graph for prediction, the default where there is no h5py and the path has not its ending.
        """
        if save_format is None and not str(filepath).endswith((".h5", ".hdf5", ".keras")):
            if isinstance(filepath, (str, os.PathLike)) and not importlib.util.find_spec("h5py"):
                logging.warning("Without h5py, which HDF5 needs, %s becomes a SavedModel", filepath)
                save_format = "tf"
        if save_format == "tf":
            from braid.tensorflow.python.keras.saving import saved_model_experimental

            if str(filepath).endswith((".h5", ".hdf5", ".keras")):
                raise ValueError(
                    f'The path {filepath} is that of an HDF5 file, but save_format is "tf": leave ".h5" out'
                )
            if not overwrite and os.path.exists(filepath):
                if not ask_to_proceed_with_overwrite(filepath):
                    return
            return saved_model_experimental.save(self, os.fspath(filepath), include_optimizer, signatures)
        from braid.tensorflow.python.keras.saving import hdf5_format

        hdf5_format.save_model_to_hdf5(self, filepath, overwrite, include_optimizer)

    def save_weights(self, filepath, overwrite=True, save_format=None):
        """Writes the weights: a checkpoint of TensorFlow, or an HDF5 file if the path ends with .h5."""
        self._assert_weights_created()
        filepath = os.fspath(filepath)
        is_h5 = filepath.endswith((".h5", ".keras", ".hdf5"))
        if save_format is None:
            save_format = "h5" if is_h5 else "tf"
        elif str(save_format).lower() in ("tensorflow", "tf"):
            save_format = "tf"
        elif str(save_format).lower() in ("hdf5", "h5", "keras"):
            save_format = "h5"
        else:
            raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
        if save_format == "tf" and is_h5:
            raise ValueError(
                'save_weights got save_format="tf"/"tensorflow", but the filepath ("%s") looks like an '
                'HDF5 file. Omit the ".h5"/".keras" when saving in TensorFlow format.' % filepath
            )
        if not overwrite and os.path.exists(filepath + (".index" if save_format == "tf" else "")):
            if not ask_to_proceed_with_overwrite(filepath):
                return
        if save_format == "h5":
            from braid.tensorflow.python.keras.saving import hdf5_format

            hdf5_format.save_weights(self, filepath)
        else:
            from braid.tensorflow.python.keras.saving import tf_format

            tf_format.save_weights(self, filepath)

    def load_weights(self, filepath, by_name=False):
        """Reads what save_weights has written."""
        filepath = os.fspath(filepath)
        if os.path.exists(filepath + ".index"):
            from braid.tensorflow.python.keras.saving import tf_format

            if by_name:
                raise NotImplementedError(
                    "Weights may only be loaded based on topology into Models when loading "
                    "TensorFlow-formatted weights (got by_name=True to load_weights)."
                )
            return tf_format.load_weights(self, filepath)
        from braid.tensorflow.python.keras.saving import hdf5_format

        if self._is_subclassed and not self.built:
            raise ValueError(
                "Unable to load weights saved in HDF5 format into a subclassed Model which has not created "
                "its variables yet. Call the Model first, then load the weights."
            )
        return hdf5_format.load_weights(self, filepath, by_name)


class _NotYet(Exception):
    """A layer that settings name was not called so often yet."""


def _map_places(fn, value):
    """fn of the places in a structure of lists and dictionaries: [layer's name, node, tensor(, arguments)]."""
    if isinstance(value, dict):
        return {k: _map_places(fn, v) for k, v in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    kinds = [type(v) for v in value[:3]]
    if kinds == [str, int, int] and len(value) in (3, 4):
        return fn(value)
    mapped = [_map_places(fn, v) for v in value]
    return type(value)(*mapped) if hasattr(value, "_fields") else type(value)(mapped)


class _ModelNode:
    """The node of a model's own inputs and outputs."""

    def __init__(self, model, inputs, outputs):
        unwrap = lambda ts: ts[0] if len(ts) == 1 else list(ts)  # noqa: E731
        self.outbound_layer = model
        self.input_tensors, self.output_tensors = unwrap(inputs), unwrap(outputs)
        self.arguments = {}
        self.inbound_layers, self.node_indices, self.tensor_indices = [], [], []
        self.input_shapes = unwrap([backend.int_shape(x) for x in inputs])
        self.output_shapes = unwrap([backend.int_shape(x) for x in outputs])

    def iterate_inbound(self, include_arguments=False):
        return iter(())


def _own_classes(cls):
    return [c for c in cls.__mro__ if not c.__module__.startswith("braid.")]


def _replaced(value, computed):
    return nest.map_structure(lambda t: computed.get(id(t), t) if isinstance(t, ops.Tensor) else t, value)


def _is_plain(value):
    try:
        json.dumps(value)
        return True
    except TypeError:
        return False


def _jsonable(value):
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if callable(value):
        return value.__name__
    if isinstance(value, tensor_shape.TensorShape):
        return value.as_list()
    if isinstance(value, tensor_shape.Dimension):
        return value.value
    if hasattr(value, "name"):
        return value.name
    raise TypeError("Not JSON Serializable:", value)


def _map_graph(inputs, outputs):
    """(nodes in the order of computation, layers): all between inputs and outputs.

    Layers come by their distance from the outputs, the farthest first, and then in the order in which a walk
    back from the outputs finds them. Weights are in this order, too.
    """
    order, found, finished, active = [], {}, set(), set()

    def visit(tensor):
        layer, node_index, _ = tensor._keras_history
        # Deep models go deeper than Python's stack: the walk has one of its own.
        todo = [(layer, layer._inbound_nodes[node_index], None)]
        while todo:
            layer, node, inbound = todo.pop()
            if inbound is None:
                if id(node) in finished:
                    continue
                if id(node) in active:
                    raise ValueError(f"The tensor {tensor} at layer {layer.name} is part of a cycle.")
                found.setdefault(id(layer), (len(found), layer))
                active.add(id(node))
                inbound = list(node.iterate_inbound(include_arguments=True))
            if inbound:
                (next_layer, n, _, _) = inbound.pop(0)
                todo.append((layer, node, inbound))
                todo.append((next_layer, next_layer._inbound_nodes[n], None))
                continue
            active.discard(id(node))
            finished.add(id(node))
            order.append(node)

    for t in outputs:
        visit(t)
    node_depth, layer_depth = {}, {}
    for node in reversed(order):
        depth = node_depth.setdefault(id(node), 0)
        layer = node.outbound_layer
        depth = max(depth, layer_depth.get(id(layer), 0))
        layer_depth[id(layer)] = depth
        node_depth[id(node)] = depth
        for inbound_layer, n, _, _ in node.iterate_inbound(include_arguments=True):
            before = inbound_layer._inbound_nodes[n]
            node_depth[id(before)] = max(depth + 1, node_depth.get(id(before), 0))
    for t in inputs:
        layer, n, _ = t._keras_history
        if id(layer) not in layer_depth:
            layer_depth[id(layer)] = 0
            found[id(layer)] = (-1, layer)
            node = layer._inbound_nodes[n]
            node_depth[id(node)] = 0
            order.append(node)
    layers = sorted((v for v in found.values()), key=lambda v: (-layer_depth[id(v[1])], v[0]))
    nodes = sorted(order, key=lambda node: -node_depth[id(node)])
    known = {id(t) for t in inputs}
    for node in nodes:
        for *_, t in node.iterate_inbound(include_arguments=True):
            if id(t) not in known:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {t} at layer "
                    f'"{node.outbound_layer.name}". It is no output of a layer that the inputs lead to.'
                )
        known.update(
            id(t) for t in nest.flatten(node.output_tensors) if node.inbound_layers or id(t) in known
        )
    return nodes, [layer for _, layer in layers]

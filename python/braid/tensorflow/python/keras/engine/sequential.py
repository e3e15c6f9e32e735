"""Sequential: layers one after another."""

import copy

from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import input_layer
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.models.Sequential", "keras.Sequential")
class Sequential(training.Model):
    """Layers one after another. The first may say its input's shape; else it is that of the first data."""

    _object_identifier = "_tf_keras_sequential"

    def __init__(self, layers=None, name=None):
        training.Model._init_subclassed_network(self, name=name)
        self._stack = []
        self._own_layers = []
        self._build_input_shape = None
        if layers:
            for layer in layers if isinstance(layers, (list, tuple)) else [layers]:
                self.add(layer)

    @property
    def layers(self):
        layers = self._stack
        if layers and isinstance(layers[0], input_layer.InputLayer):
            return layers[1:]
        return layers[:]

    def _nested(self):
        return list(self.__dict__.get("_stack", []))

    def add(self, layer):
        """Adds a layer at the end."""
        history = getattr(layer, "_keras_history", None)
        if history is not None and isinstance(history[0], input_layer.InputLayer):
            layer = history[0]
        if not isinstance(layer, base_layer.Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if any(layer.name == own.name for own in self._stack):
            if any(layer is own for own in self._stack):
                pass
            else:
                raise ValueError(
                    "All layers added to a Sequential model should have unique names. "
                    f'Name "{layer.name}" is already the name of a layer in this model.'
                )
        if not self._stack:
            if isinstance(layer, input_layer.InputLayer):
                self._stack.append(layer)
                self._connect(layer._inbound_nodes[-1].output_tensors[0])
                return
            shape, dtype = _first_shape(layer)
            if shape is not None:
                x = input_layer.Input(batch_shape=shape, dtype=dtype, name=layer.name + "_input")
                self._stack.append(x._keras_history[0])
                self._stack.append(layer)
                self._connect(x, [layer])
                return
        self._stack.append(layer)
        if self._is_graph_network:
            self._connect(self.inputs[0], [layer], self.outputs[0])

    def _connect(self, x, new=(), last=None):
        """Calls new layers after the last output, and takes the whole as the model's graph."""
        output = x if last is None else last
        for layer in new:
            output = layer(output)
            if isinstance(output, (list, tuple)):
                raise (ValueError if last is None else TypeError)(
                    "All layers in a Sequential model should have a single output tensor. For multi-output "
                    "layers, use the functional API."
                )
        if self._is_compiled:
            self._is_compiled = False
        self._set_graph(x, output)

    def pop(self):
        """Removes the last layer."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        layer = self._stack.pop()
        if self._is_graph_network:
            before = layer._inbound_nodes.pop().input_tensors
            if len(self._stack) and self.layers:
                self._set_graph(self.inputs[0], before)
            else:
                self._is_graph_network, self.inputs, self.outputs, self.built = False, None, None, False

    def build(self, input_shape=None):
        """Makes the weights, for inputs of a shape."""
        if self._is_graph_network:
            return
        if input_shape is None:
            raise ValueError("You must provide an `input_shape` argument.")
        self._build_input_shape = tuple(input_shape)
        super().build(input_shape)

    def _set_inputs(self, inputs, outputs=None):
        if isinstance(inputs, dict) and not self.built and not hasattr(self.layers[0], "_feature_columns"):
            raise ValueError(
                "Passing a dictionary input to a Sequential Model which doesn't have FeatureLayer as the first "
                "layer is an error."
            )
        if not self.built and not isinstance(inputs, (dict, list, tuple)):
            self._build_input_shape = (None,) + tuple(inputs.shape[1:])
        super()._set_inputs(inputs, outputs)

    def _maybe_build(self, inputs):
        self.built = True

    def compute_output_shape(self, input_shape):
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def call(self, inputs, training=None, mask=None):
        if self._is_graph_network:
            return super().call(inputs, training=training, mask=mask)
        x = inputs
        for layer in self.layers:
            kwargs = {}
            if layer._expects_mask_arg and mask is not None:
                kwargs["mask"] = mask
            if layer._expects_training_arg and training is not None:
                kwargs["training"] = training
            x = layer(x, **kwargs)
            mask = getattr(x, "_keras_mask", None)
        return x

    def predict_proba(self, x, batch_size=32, verbose=0):
        """predict, for models that give probabilities."""
        return self.predict(x, batch_size, verbose)

    def predict_classes(self, x, batch_size=32, verbose=0):
        """The most probable class of each example; for one output, whether it is above 0.5."""
        proba = self.predict(x, batch_size=batch_size, verbose=verbose)
        return proba.argmax(axis=-1) if proba.shape[-1] > 1 else (proba > 0.5).astype("int32")

    def get_config(self):
        from braid.tensorflow.python.keras.utils import generic_utils

        config = {
            "name": self.name,
            "layers": copy.deepcopy([generic_utils.serialize_keras_object(layer) for layer in self.layers]),
        }
        if self._build_input_shape:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras import layers as layer_module

        if isinstance(config, dict):
            name, layers, shape = config["name"], config["layers"], config.get("build_input_shape")
        else:
            name, layers, shape = None, config, None
        model = cls(name=name)
        for data in layers:
            model.add(layer_module.deserialize(data, custom_objects=custom_objects))
        if not model.inputs and shape:
            model.build(shape)
        return model


def _first_shape(layer):
    """(the input's shape with the batch, its dtype) of the first layer of a model, if it says them."""
    while True:
        if hasattr(layer, "_batch_input_shape"):
            return layer._batch_input_shape, layer.dtype
        if isinstance(layer, Sequential) and layer.layers and layer.inputs is None:
            layer = layer.layers[0]
        elif getattr(layer, "_is_graph_network", False) and layer.inputs:
            return backend.int_shape(layer.inputs[0]), backend.dtype(layer.inputs[0])
        else:
            return None, None

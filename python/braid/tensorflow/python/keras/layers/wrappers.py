"""Layers around layers: for each step, and in both directions."""

import copy

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.layers import recurrent
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.layers.Wrapper")
class Wrapper(Layer):
    """A layer around a layer."""

    def __init__(self, layer, **kwargs):
        assert isinstance(layer, Layer)
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        if not self.layer.built:
            self.layer.build(input_shape)
        self.layer.built = True
        self.built = True

    @property
    def activity_regularizer(self):
        return getattr(self.layer, "activity_regularizer", None)

    def get_config(self):
        return {
            **super().get_config(),
            "layer": {"class_name": type(self.layer).__name__, "config": self.layer.get_config()},
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras.layers import deserialize

        config = copy.deepcopy(config)
        layer = deserialize(config.pop("layer"), custom_objects=custom_objects)
        return cls(layer, **config)


@keras_export("keras.layers.TimeDistributed")
class TimeDistributed(Wrapper):
    """A layer on each step of [batch, time, ...]."""

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `TimeDistributed` layer with a `Layer` instance. You passed: {layer}"
            )
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        self._input_map = {}  # by the id of the inputs, for compute_mask()
        self._always_use_reshape = not base_layer_utils.is_subclassed(layer) and not getattr(
            layer, "stateful", False
        )

    @staticmethod
    def _step_shape(input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        return tensor_shape.TensorShape([sizes[0]] + sizes[2:])

    def build(self, input_shape=None):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        if len(sizes) < 3:
            raise ValueError(
                f"`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions, "
                f"received: {sizes}"
            )
        self.input_spec = InputSpec(shape=[None, None] + sizes[2:])
        super().build(self._step_shape(input_shape))

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        child = tensor_shape.TensorShape(
            self.layer.compute_output_shape(self._step_shape(input_shape))
        ).as_list()
        return tensor_shape.TensorShape([child[0], sizes[1]] + child[1:])

    @staticmethod
    def _sizes(x, first):
        """The sizes of dimensions `first` and up: numbers, or tensors where they are not known."""
        sizes = x.shape.as_list()[first:]
        if all(sizes):
            return sizes
        shape = K.shape(x)
        return [size or shape[first + i] for i, size in enumerate(sizes)]

    def _merged(self, x):
        """All steps of all examples as one batch."""
        merged = array_ops.reshape(x, [-1, *self._sizes(x, 2)])
        merged.set_shape([None] + x.shape.as_list()[2:])
        return merged

    def _apart(self, x, inputs):
        """The steps of one batch, of as many examples as `inputs` has."""
        lead = inputs.shape.as_list()[:2]
        steps = lead[1] or array_ops.shape(inputs)[1]
        apart = array_ops.reshape(x, [-1, steps, *self._sizes(x, 1)])
        apart.set_shape(lead + x.shape.as_list()[1:])
        return apart

    def call(self, inputs, training=None, mask=None):
        kwargs = {"training": training} if self.layer._expects_training_arg else {}
        if inputs.shape.as_list()[0] is not None and not self._always_use_reshape:
            # The layer may keep something for each example: it is called for each step.
            return K.rnn(lambda x, _: (self.layer(x, **kwargs), []), inputs, initial_states=[])[1]
        merged = self._input_map[str(id(inputs))] = self._merged(inputs)
        if self.layer._expects_mask_arg and mask is not None:
            kwargs["mask"] = self._merged(mask)
        return self._apart(self.layer(merged, **kwargs), inputs)

    def compute_mask(self, inputs, mask=None):
        if inputs.shape.as_list()[0] is not None:
            return mask
        inner_mask = None if mask is None else self._merged(mask)
        own = self.layer.compute_mask(self._input_map.get(str(id(inputs)), inputs), inner_mask)
        if own is not None:
            return self._apart(own, inputs)
        if mask is not None:
            for _ in range(2, K.ndim(mask)):
                mask = K.any(mask, axis=-1)
        return mask


@keras_export("keras.layers.Bidirectional")
class Bidirectional(Wrapper):
    """A recurrent layer in both directions. merge_mode: "sum", "mul", "concat", "ave", or None for both outputs."""

    def __init__(self, layer, merge_mode="concat", weights=None, backward_layer=None, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `Bidirectional` layer with a `Layer` instance. You passed: {layer}"
            )
        if merge_mode not in ["sum", "mul", "ave", "concat", None]:
            raise ValueError(
                'Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}'
            )
        super().__init__(layer, **kwargs)
        self.forward_layer = _copy(layer)
        if backward_layer is None:
            self.backward_layer = _copy(layer, go_backwards=not layer.go_backwards)
        else:
            self._backward_config = generic_utils.serialize_keras_object(backward_layer)
            self.backward_layer = backward_layer
        for own, direction in ((self.forward_layer, "forward"), (self.backward_layer, "backward")):
            own._name = f"{direction}_{own.name}"
            if hasattr(own, "zero_output_for_mask"):
                own.zero_output_for_mask = own.return_sequences
        if self.forward_layer.go_backwards == self.backward_layer.go_backwards:
            raise ValueError("Forward layer and backward layer should have different `go_backwards` value.")
        for name in ("stateful", "return_sequences", "return_state"):
            values = [getattr(own, name) for own in (self.forward_layer, self.backward_layer)]
            if values[0] != values[1]:
                raise ValueError(
                    "Forward layer and backward layer are expected to have the same value for attribute "
                    f"{name}, got {values[0]} and {values[1]}"
                )
            setattr(self, name, values[0])
        # The layer that was given is a pattern; its weights are never made.
        self._track[:] = [(n, v) for n, v in self._track if n != "layer"]
        self.merge_mode = merge_mode
        self._initial_bidirectional = weights
        self.supports_masking = True
        self._num_constants = 0
        self.input_spec = None

    @property
    def activity_regularizer(self):
        return None

    def build(self, input_shape):
        for layer in (self.forward_layer, self.backward_layer):
            with K.name_scope(layer.name):
                layer.build(input_shape)
                layer.built = True
        self.built = True
        if self._initial_bidirectional is not None:
            self.set_weights(self._initial_bidirectional)

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        inputs, states, constants = recurrent.split_inputs(
            inputs, initial_state, constants, self._num_constants
        )
        if states is not None and len(states) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list containing the "
                f"states of the underlying RNNs. Found: {states}"
            )
        if constants is not None:
            self._num_constants = len(constants)
            self.forward_layer._num_constants = self.backward_layer._num_constants = len(constants)
        more = (states or []) + (constants or [])
        if more and recurrent.are_keras_tensors(more):
            return super().__call__([inputs] + more, **kwargs)
        if states is not None:
            kwargs["initial_state"] = states
        if constants is not None:
            kwargs["constants"] = constants
        return super().__call__(inputs, **kwargs)

    def call(self, inputs, training=None, mask=None, initial_state=None, constants=None):
        if isinstance(inputs, list):
            inputs, initial_state, constants = recurrent.split_inputs(inputs, None, None, self._num_constants)
        given = {"training": training, "mask": nest.flatten(mask)[0], "constants": constants}
        kwargs = {k: v for k, v in given.items() if v is not None and recurrent.takes(self.layer, k)}
        half = len(initial_state or ()) // 2
        results = []
        for layer, own in ((self.forward_layer, slice(0, half)), (self.backward_layer, slice(half, None))):
            state = {"initial_state": initial_state[own]} if initial_state else {}
            results.append(layer(inputs, **kwargs, **state))
        y, y_back = results
        states = []
        if self.return_state:
            states = list(y[1:]) + list(y_back[1:])
            y, y_back = y[0], y_back[0]
        if self.return_sequences:
            y_back = K.reverse(y_back, 1)
        if self.merge_mode == "concat":
            output = K.concatenate([y, y_back])
        elif self.merge_mode == "sum":
            output = y + y_back
        elif self.merge_mode == "ave":
            output = (y + y_back) / 2
        elif self.merge_mode == "mul":
            output = y * y_back
        else:
            output = [y, y_back]
        if not self.return_state:
            return output
        return (output if self.merge_mode is None else [output]) + states

    def compute_output_shape(self, input_shape):
        shape = self.forward_layer.compute_output_shape(input_shape)
        states = []
        if self.return_state:
            states, shape = list(shape[1:]), shape[0]
        sizes = tensor_shape.TensorShape(shape).as_list()
        if self.merge_mode == "concat":
            sizes[-1] *= 2
            result = tensor_shape.TensorShape(sizes)
        elif self.merge_mode is None:
            result = [tensor_shape.TensorShape(sizes)] * 2
        else:
            result = tensor_shape.TensorShape(sizes)
        if not self.return_state:
            return result
        return (result if self.merge_mode is None else [result]) + states + copy.copy(states)

    def compute_mask(self, inputs, mask):
        mask = nest.flatten(mask)[0] if mask is not None else None
        output = mask if self.return_sequences else None
        masks = [output] if self.merge_mode else [output, output]
        if self.return_state:
            return masks + [None] * 2 * len(nest.flatten(self.forward_layer.states))
        return masks[0] if self.merge_mode else masks

    def reset_states(self):
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def get_config(self):
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if hasattr(self, "_backward_config"):
            config["backward_layer"] = self._backward_config
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras.layers import deserialize

        config = copy.deepcopy(config)
        if config.get("backward_layer"):
            config["backward_layer"] = deserialize(config["backward_layer"], custom_objects=custom_objects)
        num_constants = config.pop("num_constants", 0)
        layer = super().from_config(config, custom_objects)
        layer._num_constants = num_constants
        return layer


def _copy(layer, **changes):
    """A layer of the same settings but for the changes. The classes of the program's own cells are found."""
    config = {**layer.get_config(), **changes}
    if not generic_utils.has_arg(layer.from_config, "custom_objects"):
        return type(layer).from_config(config)
    cell = getattr(layer, "cell", None)
    cells = [] if cell is None else [cell, *getattr(cell, "cells", [])]
    return type(layer).from_config(config, custom_objects={type(c).__name__: type(c) for c in cells})

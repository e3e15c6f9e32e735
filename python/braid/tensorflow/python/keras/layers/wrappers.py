"""Layers around layers: for each step, and in both directions."""

import copy

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
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

    def call(self, inputs, training=None, mask=None):
        kwargs = {"training": training} if self.layer._expects_training_arg else {}
        sizes = inputs.shape.as_list()
        lengths = array_ops.shape(inputs)
        steps = sizes[1] if sizes[1] is not None else lengths[1]
        # All steps of all examples are one batch.
        flat = array_ops.reshape(inputs, array_ops.concat([[-1], lengths[2:]], axis=0))
        flat.set_shape([None] + sizes[2:])
        if self.layer._expects_mask_arg and mask is not None:
            kwargs["mask"] = array_ops.reshape(
                mask, array_ops.concat([[-1], array_ops.shape(mask)[2:]], axis=0)
            )
        y = self.layer.call(flat, **kwargs)
        self.add_loss([loss for loss in self.layer._losses if loss not in self._losses])
        out = y.shape.as_list()
        y = array_ops.reshape(y, array_ops.concat([[-1, steps], array_ops.shape(y)[1:]], axis=0))
        y.set_shape([sizes[0], sizes[1]] + out[1:])
        if getattr(self.layer, "activity_regularizer", None) is not None:
            self.add_loss(self.layer.activity_regularizer(y), inputs)
        return y

    def compute_mask(self, inputs, mask=None):
        return mask

    def get_losses_for(self, inputs):
        return super().get_losses_for(inputs)


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
        config = layer.get_config()
        self.forward_layer = type(layer).from_config(dict(config, name="forward_" + layer.name))
        if backward_layer is None:
            backward = dict(
                config, name="backward_" + layer.name, go_backwards=not config.get("go_backwards")
            )
            self.backward_layer = type(layer).from_config(backward)
        else:
            self.backward_layer = backward_layer
            if backward_layer.go_backwards == layer.go_backwards:
                raise ValueError(
                    "Forward layer and backward layer should have different `go_backwards` value."
                )
        self._given_backward = backward_layer is not None
        # The layer that was given is a pattern; its weights are never made.
        self._track[:] = [(n, v) for n, v in self._track if n != "layer"]
        self.merge_mode = merge_mode
        self._initial_bidirectional = weights
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.stateful = layer.stateful
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

    def call(self, inputs, training=None, mask=None, initial_state=None):
        kwargs = {"training": training}
        if mask is not None:
            kwargs["mask"] = mask
        forward_state = backward_state = {}
        if initial_state is not None:
            half = len(initial_state) // 2
            forward_state = {"initial_state": list(initial_state[:half])}
            backward_state = {"initial_state": list(initial_state[half:])}
        y = self.forward_layer.call(inputs, **kwargs, **forward_state)
        y_back = self.backward_layer.call(inputs, **kwargs, **backward_state)
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
        if self.return_sequences:
            return [mask, mask] if not self.merge_mode else mask
        return [None, None] if not self.merge_mode else None

    def reset_states(self):
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def get_config(self):
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._given_backward:
            config["backward_layer"] = generic_utils.serialize_keras_object(self.backward_layer)
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras.layers import deserialize

        config = copy.deepcopy(config)
        if config.get("backward_layer"):
            config["backward_layer"] = deserialize(config["backward_layer"], custom_objects=custom_objects)
        return super().from_config(config, custom_objects)

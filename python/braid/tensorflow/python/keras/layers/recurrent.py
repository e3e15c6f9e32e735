"""Recurrent layers: cells, and the layer that steps a cell over time."""

import inspect

import numpy as np

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


def _sizes(state_size):
    """A list of the sizes of a cell's states. A TensorShape is one size."""
    return list(state_size) if isinstance(state_size, (list, tuple)) else [state_size]


def _in_list(value):
    """A list of what a list or tuple has, or of the one value."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shapes(input_shape):
    """A TensorShape, or a tuple or dict of them, for the shape of one sequence or of several."""
    if all(isinstance(s, tensor_shape.TensorShape) for s in nest.flatten(input_shape)):
        return input_shape
    shape = base_layer_utils.shape_list(input_shape)
    return tuple(shape) if isinstance(shape, list) else shape


def split_inputs(inputs, initial_state, constants, num_constants):
    """(sequence, states, constants), of which the last two are lists or None; `inputs` may be a list of all.

    A sequence of several tensors is a tuple.
    """
    if isinstance(inputs, list):
        assert initial_state is None and constants is None
        if num_constants:
            inputs, constants = inputs[:-num_constants], inputs[-num_constants:]
        inputs, initial_state = inputs[0], inputs[1:] or None
    return (
        inputs,
        None if initial_state is None else _in_list(initial_state),
        None if constants is None else _in_list(constants),
    )


def are_keras_tensors(tensors):
    """Whether all are outputs of layers. ValueError: some are, and some are not."""
    found = {hasattr(t, "_keras_history") for t in nest.flatten(tensors)}
    if len(found) > 1:
        raise ValueError(
            "The initial states and constants of a recurrent layer are all outputs of layers and Inputs, or none is."
        )
    return found == {True}


def takes(cell, argument):
    """Whether a layer's or a cell's call has an argument of the name."""
    return generic_utils.has_arg(cell.call, argument)


def _length(size):
    return tensor_shape.TensorShape([size] if not hasattr(size, "__len__") else size).as_list()


@keras_export("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Cells one after another, as one cell. reverse_state_order: the states of the last cell come first."""

    def __init__(self, cells, **kwargs):
        for cell in cells:
            if not hasattr(cell, "call"):
                raise ValueError("All cells must have a `call` method. received cells:", cells)
            if not hasattr(cell, "state_size"):
                raise ValueError("All cells must have a `state_size` attribute. received cells:", cells)
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)
        self.cells = cells

    def _ordered(self, values):
        """From the order of the cells to that of the states, or back."""
        return tuple(reversed(values)) if self.reverse_state_order else tuple(values)

    @property
    def state_size(self):
        return self._ordered([cell.state_size for cell in self.cells])

    @property
    def output_size(self):
        last = self.cells[-1]
        size = getattr(last, "output_size", None)
        return size if size is not None else _sizes(last.state_size)[0]

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return self._ordered([_zero_state(cell, inputs, batch_size, dtype) for cell in self.cells])

    def call(self, inputs, states, constants=None, **kwargs):
        nested = self._ordered(nest.pack_sequence_as(self.state_size, nest.flatten(states)))
        new = []
        for cell, state in zip(self.cells, nested):
            own = {k: v for k, v in kwargs.items() if takes(cell, k)}
            if constants is not None and takes(cell, "constants"):
                own["constants"] = constants
            inputs, state = cell.call(inputs, _states_of(cell, _in_list(state)), **own)
            new.append(state)
        return inputs, nest.pack_sequence_as(self.state_size, nest.flatten(self._ordered(new)))

    def build(self, input_shape):
        shape = input_shape
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(shape)
                cell.built = True
            size = getattr(cell, "output_size", None)
            size = size if size is not None else _sizes(cell.state_size)[0]
            shape = tensor_shape.TensorShape([tensor_shape.TensorShape(shape)[0]] + _length(size))
        self.built = True

    def get_config(self):
        cells = [{"class_name": type(c).__name__, "config": c.get_config()} for c in self.cells]
        return {**super().get_config(), "cells": cells}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.keras.layers import deserialize

        config = dict(config)
        cells = [deserialize(c, custom_objects=custom_objects) for c in config.pop("cells")]
        return cls(cells, **config)


def _states_of(cell, states):
    """The states as a cell takes them: a cell of tf.nn has a single one by itself, other cells in a list."""
    is_of_nn = getattr(cell, "_is_tf_rnn_cell", None) is not None
    return states[0] if is_of_nn and len(states) == 1 else states


def _zero_state(cell, inputs, batch_size, dtype):
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype)
    return _zeros(cell.state_size, inputs, batch_size, dtype)


def _zeros(state_size, inputs, batch_size, dtype):
    """States of zeros, for the batch of the inputs or of another size."""
    if inputs is not None:
        batch_size, dtype = array_ops.shape(inputs)[0], inputs.dtype
    if batch_size is None or dtype is None:
        raise ValueError(
            f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, "
            f"dtype={dtype}"
        )

    def zeros(size):
        made = array_ops.zeros([batch_size] + _length(size), dtype=dtype)
        made.set_shape([None] + _length(size))
        return made

    return nest.map_structure(zeros, state_size)


@keras_export("keras.layers.RNN")
class RNN(Layer):
    """Steps a cell over the time of [batch, time, ...].

    cell: an object with call(inputs, states) -> (output, states) and state_size, or a list of them.
    return_sequences: the outputs of all steps, else the last. return_state: also the states. stateful: the
    next batch begins with the states of the last. unroll: no loop, but each step's nodes.
    """

    _counts_steps = False  # whether the loop has a counter of its own, as TensorFlow's of images

    def __init__(
        self,
        cell,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        unroll=False,
        time_major=False,
        **kwargs,
    ):
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if "call" not in dir(cell):
            raise ValueError(f"`cell` should have a `call` method. The RNN was passed: {cell}")
        if "state_size" not in dir(cell):
            raise ValueError(
                "The RNN cell should have an attribute `state_size` (tuple of integers, one integer per RNN "
                "state)."
            )
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful = go_backwards, stateful
        self.unroll, self.time_major = unroll, time_major
        self.supports_masking = True
        self._states = None
        self.constants_spec = None
        self._num_constants = None

    @property
    def states(self):
        if self._states is None:
            return _in_list(nest.map_structure(lambda _: None, self.cell.state_size))
        return self._states

    @states.setter
    def states(self, states):
        self._states = states

    def compute_output_shape(self, input_shape):
        if isinstance(input_shape, list) and not all(d is None or isinstance(d, int) for d in input_shape):
            input_shape = input_shape[0]
        sizes = nest.flatten(_shapes(input_shape))[0].as_list()
        batch, time = (sizes[1], sizes[0]) if self.time_major else (sizes[0], sizes[1])
        output = getattr(self.cell, "output_size", None)
        output = output if output is not None else _sizes(self.cell.state_size)[0]
        lead = ([time, batch] if self.time_major else [batch, time]) if self.return_sequences else [batch]
        shapes = [tensor_shape.TensorShape(lead + _length(size)) for size in nest.flatten(output)]
        if self.return_state:
            states = nest.flatten(self.cell.state_size)
            return shapes + [tensor_shape.TensorShape([batch] + _length(s)) for s in states]
        return shapes[0] if len(shapes) == 1 else shapes

    def compute_mask(self, inputs, mask):
        mask = nest.flatten(mask)[0] if mask is not None else None
        output = mask if self.return_sequences else None
        return [output] + [None for _ in nest.flatten(self.states)] if self.return_state else output

    def build(self, input_shape):
        if isinstance(input_shape, list):  # with the shapes of states and constants
            input_shape = input_shape[0]
        shapes = _shapes(input_shape)

        def of_step(shape):
            return shape[1:] if self.time_major else shape[:1].concatenate(shape[2:])

        batch = nest.flatten(shapes)[0].as_list()[1 if self.time_major else 0]
        self._batch = batch if self.stateful else None
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(nest.map_structure(of_step, shapes))
            self.cell.built = True
        if self.stateful:
            self.reset_states()
        self.built = True

    def get_initial_state(self, inputs):
        first = nest.flatten(inputs)[0]
        batch = array_ops.shape(first)[1 if self.time_major else 0]
        return _in_list(_zero_state(self.cell, None, batch, first.dtype))

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        inputs, states, constants = split_inputs(inputs, initial_state, constants, self._num_constants)
        if states is None and constants is None:
            return super().__call__(inputs, **kwargs)
        if constants is not None:
            self._num_constants = len(constants)
        more = (states or []) + (constants or [])
        if are_keras_tensors(more):
            spec, self.input_spec = self.input_spec, None  # which is of the sequence alone
            try:
                return super().__call__([inputs] + more, **kwargs)
            finally:
                self.input_spec = spec
        if states is not None:
            kwargs["initial_state"] = states
        if constants is not None:
            kwargs["constants"] = constants
        return super().__call__(inputs, **kwargs)

    def call(self, inputs, mask=None, training=None, initial_state=None, constants=None):
        if isinstance(inputs, list):
            inputs, initial_state, constants = split_inputs(inputs, None, None, self._num_constants)
        if mask is not None:
            mask = nest.flatten(mask)[0]
        if initial_state is None or len(initial_state) == 0:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        wanted, given = len(self.states), len(initial_state)
        if wanted != given:
            raise ValueError(f"Layer has {wanted} states but was passed {given} initial states.")
        self._check_states(initial_state)
        for cell in getattr(self.cell, "cells", [self.cell]):
            for reset in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
                if hasattr(cell, reset):
                    getattr(cell, reset)()
        kwargs = {}
        if takes(self.cell, "training") or isinstance(self.cell, StackedRNNCells):
            kwargs["training"] = training
        steps = nest.flatten(inputs)[0].shape.as_list()[0 if self.time_major else 1]
        if self.unroll and steps is None:
            raise ValueError("Cannot unroll a RNN if the time dimension is undefined.")
        if constants and not takes(self.cell, "constants"):
            raise ValueError("RNN cell does not support constants")

        def step(x, states):
            if constants:
                kwargs["constants"] = list(states[-len(constants) :])
                states = states[: -len(constants)]
            output, new = self.cell.call(x, _states_of(self.cell, list(states)), **kwargs)
            return output, _in_list(new)

        last, outputs, states = K.rnn(
            step,
            inputs,
            initial_state,
            constants=constants,
            go_backwards=self.go_backwards,
            mask=mask,
            unroll=self.unroll,
            input_length=steps if self._counts_steps else None,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        if self.stateful:
            pairs = zip(nest.flatten(self.states), nest.flatten(states))
            self.add_update(control_flow_ops.group(*[state_ops.assign(own, new) for own, new in pairs]))
        output = outputs if self.return_sequences else last
        return _in_list(output) + list(states) if self.return_state else output

    def _check_states(self, states):
        """ValueError: states have other shapes than the cell's."""
        sizes = [_length(size) for size in nest.flatten(self.cell.state_size)]
        shapes = [state.shape.as_list()[1:] for state in nest.flatten(states)]
        if any(not tensor_shape.TensorShape(a).is_compatible_with(b) for a, b in zip(shapes, sizes)):
            raise ValueError(
                f"An `initial_state` was passed that is not compatible with `cell.state_size`: its shapes are "
                f"{shapes}, however `cell.state_size` is {sizes}"
            )

    def reset_states(self, states=None):
        """Sets the states to zero, or to arrays."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if self._states is None:
            if self.__dict__.get("_batch") is None:
                raise ValueError(
                    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: "
                    "\n- If using a Sequential model, specify the batch size by passing a `batch_input_shape` argument to "
                    "your first layer.\n- If using the functional API, specify the batch size by passing a `batch_shape` "
                    "argument to your Input layer."
                )
            self._states = _in_list(
                nest.map_structure(lambda s: K.zeros([self._batch] + _length(s)), self.cell.state_size)
            )
        own = nest.flatten(self._states)
        values = [np.zeros(s.shape.as_list()) for s in own] if states is None else nest.flatten(states)
        if len(values) != len(own):
            raise ValueError(
                f"Layer {self.name} expects {len(own)} states, but it received {len(values)} state values. Input "
                f"received: {states}"
            )
        for i, (value, state) in enumerate(zip(values, own)):
            if tuple(np.shape(value)) != tuple(state.shape.as_list()):
                raise ValueError(
                    f"State {i} is incompatible with layer {self.name}: expected shape="
                    f"{tuple(state.shape.as_list())}, found shape={np.shape(value)}"
                )
        K.batch_set_value(list(zip(own, values)))

    def get_config(self):
        config = {
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "unroll": self.unroll,
            "time_major": self.time_major,
        }
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = True
        config["cell"] = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        if "cell" not in config:
            return cls(**config)
        from braid.tensorflow.python.keras.layers import deserialize

        config = dict(config)
        num_constants = config.pop("num_constants", None)
        layer = cls(deserialize(config.pop("cell"), custom_objects=custom_objects), **config)
        layer._num_constants = num_constants
        return layer


class DropoutRNNCellMixin:
    """Masks that are the same at all steps."""

    def reset_dropout_mask(self):
        self._dropout_mask = None

    def reset_recurrent_dropout_mask(self):
        self._recurrent_dropout_mask = None

    def get_dropout_mask_for_cell(self, inputs, training, count=1):
        """The mask of the inputs, or a list of `count` masks: made in the first step. None: no dropout."""
        return self._mask("_dropout_mask", inputs, self.dropout, training, count)

    def get_recurrent_dropout_mask_for_cell(self, inputs, training, count=1):
        """The mask of the state, or a list of `count` masks: made in the first step. None: no dropout."""
        return self._mask("_recurrent_dropout_mask", inputs, self.recurrent_dropout, training, count)

    def _mask(self, attribute, like, rate, training, count):
        if not rate:
            return None
        if self.__dict__.get(attribute) is None:
            ones = array_ops.ones_like(like)
            masks = [
                K.in_train_phase(lambda: K.dropout(ones, rate), ones, training=training) for _ in range(count)
            ]
            self.__dict__[attribute] = masks if count > 1 else masks[0]
        return self.__dict__[attribute]

    def _of_gate(self, weights, gate, count):
        """The columns of one of `count` gates in a kernel, or its numbers in a bias."""
        begin, end = self.units * gate or None, self.units * (gate + 1) if gate + 1 < count else None
        return weights[:, begin:end] if len(weights.shape) == 2 else weights[begin:end]


def _masked(x, masks, count):
    """x for each of `count` products, as the masks leave it."""
    return [x] * count if masks is None else [x * m for m in masks[:count]]


_WEIGHTS = ("kernel", "recurrent", "bias")


class _Cell(DropoutRNNCellMixin, Layer):
    """What the cells share: kernel [inputs, gates * units], recurrent_kernel [units, gates * units], bias."""

    _GATES = 1

    def __init__(
        self,
        units,
        activation="tanh",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        given = locals()
        for kind, get in (
            ("initializer", initializers),
            ("regularizer", regularizers),
            ("constraint", constraints),
        ):
            for weight in _WEIGHTS:
                setattr(self, f"{weight}_{kind}", get.get(given[f"{weight}_{kind}"]))
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self.state_size = self.units
        self.output_size = self.units

    def _bias_shape(self):
        return (self.units * self._GATES,)

    def _bias_initializer(self):
        return self.bias_initializer

    def build(self, input_shape):
        width = self.units * self._GATES
        self.kernel = self.add_weight(
            shape=(tensor_shape.TensorShape(input_shape).as_list()[-1], width),
            name="kernel",
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            shape=(self.units, width),
            name="recurrent_kernel",
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                shape=self._bias_shape(),
                name="bias",
                initializer=self._bias_initializer(),
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        else:
            self.bias = None
        self.built = True

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return _zeros(self.state_size, inputs, batch_size, dtype)

    def get_config(self):
        config = {
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "dropout": self.dropout,
            "recurrent_dropout": self.recurrent_dropout,
        }
        for kind, module in (
            ("initializer", initializers),
            ("regularizer", regularizers),
            ("constraint", constraints),
        ):
            for weight in _WEIGHTS:
                config[f"{weight}_{kind}"] = module.serialize(getattr(self, f"{weight}_{kind}"))
        return {**super().get_config(), **config}


@keras_export("keras.layers.SimpleRNNCell")
class SimpleRNNCell(_Cell):
    """activation(inputs * kernel + state * recurrent_kernel + bias)."""

    def call(self, inputs, states, training=None):
        x, h = inputs, nest.flatten(states)[0]
        mask = self.get_dropout_mask_for_cell(x, training)
        recurrent_mask = self.get_recurrent_dropout_mask_for_cell(h, training)
        x = x if mask is None else x * mask
        h = h if recurrent_mask is None else h * recurrent_mask
        z = K.dot(x, self.kernel)
        if self.bias is not None:
            z = K.bias_add(z, self.bias)
        output = self.activation(z + K.dot(h, self.recurrent_kernel))
        return output, [output]


@keras_export(v1=["keras.layers.LSTMCell"])
class LSTMCell(_Cell):
    """Long short-term memory (Hochreiter & Schmidhuber 1997). Gates: input, forget, cell, output."""

    _GATES = 4

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        implementation=1,
        **kwargs,
    ):
        self._implementation = implementation
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            kernel_regularizer,
            recurrent_regularizer,
            bias_regularizer,
            kernel_constraint,
            recurrent_constraint,
            bias_constraint,
            dropout,
            recurrent_dropout,
            **kwargs,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.implementation = self._implementation
        self.state_size = [self.units, self.units]

    def _bias_initializer(self):
        if not self.unit_forget_bias:
            return self.bias_initializer

        def initializer(_, *args, **kwargs):
            return K.concatenate(
                [
                    self.bias_initializer((self.units,), *args, **kwargs),
                    initializers.Ones()((self.units,), *args, **kwargs),
                    self.bias_initializer((self.units * 2,), *args, **kwargs),
                ]
            )

        return initializer

    def call(self, inputs, states, training=None):
        h, c = states[0], states[1]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=4)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(h, training, count=4)
        if self.implementation == 1:
            xs = _masked(inputs, masks, 4)
            xs = [K.dot(x, k) for x, k in zip(xs, array_ops.split(self.kernel, 4, axis=1))]
            if self.use_bias:
                xs = [K.bias_add(x, b) for x, b in zip(xs, array_ops.split(self.bias, 4, axis=0))]
            hs = _masked(h, recurrent_masks, 4)

            def gate(i):
                return xs[i] + K.dot(hs[i], self._of_gate(self.recurrent_kernel, i, 4))

        else:
            z = K.dot(_masked(inputs, masks, 1)[0], self.kernel)
            z += K.dot(_masked(h, recurrent_masks, 1)[0], self.recurrent_kernel)
            if self.use_bias:
                z = K.bias_add(z, self.bias)
            gate = array_ops.split(z, num_or_size_splits=4, axis=1).__getitem__
        c, o = self._carried(gate, c)
        h = o * self.activation(c)
        return h, [h, c]

    def _carried(self, gate, c):
        """(the new carry, the output gate). gate(i): the sums of the input gate, the forget gate, the new
        carry or the output gate.
        """
        i = self.recurrent_activation(gate(0))
        f = self.recurrent_activation(gate(1))
        c = f * c + i * self.activation(gate(2))
        return c, self.recurrent_activation(gate(3))

    def get_config(self):
        return {
            **super().get_config(),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            "unit_forget_bias": self.unit_forget_bias,
            "implementation": self.implementation,
        }


@keras_export("keras.experimental.PeepholeLSTMCell")
class PeepholeLSTMCell(LSTMCell):
    """An LSTMCell whose gates see the carry, too (Gers et al. 2002)."""

    def build(self, input_shape):
        super().build(input_shape)
        for gate in ("input", "forget", "output"):
            name = f"{gate}_gate_peephole_weights"
            weight = self.add_weight(shape=(self.units,), name=name, initializer=self.kernel_initializer)
            setattr(self, name, weight)

    def _carried(self, gate, c):
        i = self.recurrent_activation(gate(0) + self.input_gate_peephole_weights * c)
        f = self.recurrent_activation(gate(1) + self.forget_gate_peephole_weights * c)
        c = f * c + i * self.activation(gate(2))
        return c, self.recurrent_activation(gate(3) + self.output_gate_peephole_weights * c)


@keras_export(v1=["keras.layers.GRUCell"])
class GRUCell(_Cell):
    """Gated recurrent unit (Cho et al. 2014). Gates: update, reset, new.

    reset_after: the reset gate is applied after the product with recurrent_kernel, as cuDNN does.
    """

    _GATES = 3

    def __init__(
        self,
        units,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        implementation=1,
        reset_after=False,
        **kwargs,
    ):
        self._implementation = implementation
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            kernel_regularizer,
            recurrent_regularizer,
            bias_regularizer,
            kernel_constraint,
            recurrent_constraint,
            bias_constraint,
            dropout,
            recurrent_dropout,
            **kwargs,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after
        self.implementation = self._implementation

    def _bias_shape(self):
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs, states, training=None):
        before = nest.flatten(states)[0]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=3)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(before, training, count=3)
        bias = recurrent_bias = None
        if self.use_bias:
            bias = self.bias
            if self.reset_after:
                bias, recurrent_bias = array_ops.unstack(self.bias)
        if self.implementation == 1:
            xs = _masked(inputs, masks, 3)
            xs = [K.dot(x, self._of_gate(self.kernel, i, 3)) for i, x in enumerate(xs)]
            if bias is not None:
                xs = [K.bias_add(x, self._of_gate(bias, i, 3)) for i, x in enumerate(xs)]
            hs = _masked(before, recurrent_masks, 3)
            inner = [K.dot(h, self._of_gate(self.recurrent_kernel, i, 3)) for i, h in enumerate(hs[:2])]
            if recurrent_bias is not None:
                inner = [K.bias_add(h, self._of_gate(recurrent_bias, i, 3)) for i, h in enumerate(inner)]
        else:
            x = K.dot(_masked(inputs, masks, 1)[0], self.kernel)
            if bias is not None:
                x = K.bias_add(x, bias)
            xs = [self._of_gate(x, i, 3) for i in range(3)]
            # As in TensorFlow, the state that is mixed with the new one is the masked one.
            before = _masked(before, recurrent_masks, 1)[0]
            hs = [before] * 3
            kernel = self.recurrent_kernel if self.reset_after else self.recurrent_kernel[:, : 2 * self.units]
            whole = K.dot(before, kernel)
            if recurrent_bias is not None:
                whole = K.bias_add(whole, recurrent_bias)
            inner = [self._of_gate(whole, i, 3) for i in range(2)]
        z = self.recurrent_activation(xs[0] + inner[0])
        r = self.recurrent_activation(xs[1] + inner[1])
        # The reset gate is applied behind the product, or before it.
        if not self.reset_after:
            new = K.dot(r * hs[2], self._of_gate(self.recurrent_kernel, 2, 3))
        elif self.implementation == 1:
            new = K.dot(hs[2], self._of_gate(self.recurrent_kernel, 2, 3))
            if recurrent_bias is not None:
                new = K.bias_add(new, self._of_gate(recurrent_bias, 2, 3))
            new = r * new
        else:
            new = r * self._of_gate(whole, 2, 3)
        new = self.activation(xs[2] + new)
        h = z * before + (1 - z) * new
        return h, [h]

    def get_config(self):
        return {
            **super().get_config(),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            "reset_after": self.reset_after,
            "implementation": self.implementation,
        }


# Arguments of the recurrent layers, in their order, with their defaults.
_UNITS = ("units", inspect.Parameter.empty)
_ACTIVATION, _RECURRENT_ACTIVATION = ("activation", "tanh"), ("recurrent_activation", "hard_sigmoid")
_USE_BIAS, _FORGET = ("use_bias", True), ("unit_forget_bias", True)
_INITIALIZERS = (
    ("kernel_initializer", "glorot_uniform"),
    ("recurrent_initializer", "orthogonal"),
    ("bias_initializer", "zeros"),
)
_CHANGES = tuple((f"{w}_regularizer", None) for w in (*_WEIGHTS, "activity"))
_CHANGES += tuple((f"{w}_constraint", None) for w in _WEIGHTS)
_DROPOUT = (("dropout", 0.0), ("recurrent_dropout", 0.0))
_SEQUENCES = tuple(
    (name, False) for name in ("return_sequences", "return_state", "go_backwards", "stateful", "unroll")
)


def _constructor(arguments):
    """The __init__ of a layer whose class has _init_with(arguments of the cell, others)."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind)]
    parameters += [inspect.Parameter(name, kind, default=default) for name, default in arguments]
    parameters.append(inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD))
    signature = inspect.Signature(parameters)

    def __init__(self, *args, **kwargs):
        given = dict(signature.bind(self, *args, **kwargs).arguments)
        del given["self"]
        given.update(given.pop("kwargs", {}))
        self._init_with({}, given)

    __init__.__signature__ = signature
    return __init__


class _CellRNN(RNN):
    """A recurrent layer whose arguments are those of its cell."""

    _CELL = None

    def _init_with(self, cell_arguments, kwargs):
        layer = {
            k: kwargs.pop(k)
            for k in ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")
            if k in kwargs
        }
        activity_regularizer = kwargs.pop("activity_regularizer", None)
        names = set(kwargs) & _CELL_NAMES
        cell_arguments.update((k, kwargs.pop(k)) for k in names)
        if "dtype" in kwargs:
            cell_arguments["dtype"] = kwargs["dtype"]
        if kwargs.get("trainable") is not None:
            cell_arguments["trainable"] = kwargs["trainable"]
        RNN.__init__(self, type(self)._CELL(**cell_arguments), **layer, **kwargs)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.input_spec = [InputSpec(ndim=3)]

    def _maybe_build(self, inputs):
        spec, self.input_spec = self.input_spec, None if isinstance(inputs, list) else self.input_spec
        super()._maybe_build(inputs)
        self.input_spec = spec

    def __getattr__(self, name):
        # units, activation, dropout, ... are the cell's.
        if not name.startswith("_") and name in _CELL_NAMES and "cell" in self.__dict__:
            return getattr(self.__dict__["cell"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_config(self):
        config = super().get_config()
        cell = config.pop("cell")["config"]
        config.update((k, v) for k, v in cell.items() if k not in ("name", "trainable", "dtype"))
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return config


_CELL_NAMES = {
    "units",
    "activation",
    "recurrent_activation",
    "use_bias",
    "unit_forget_bias",
    "dropout",
    "recurrent_dropout",
    "implementation",
    "reset_after",
} | {f"{w}_{k}" for w in _WEIGHTS for k in ("initializer", "regularizer", "constraint")}


@keras_export("keras.layers.SimpleRNN")
class SimpleRNN(_CellRNN):
    """An RNN of SimpleRNNCell."""

    _CELL = SimpleRNNCell

    __init__ = _constructor(
        [_UNITS, _ACTIVATION, _USE_BIAS, *_INITIALIZERS, *_CHANGES, *_DROPOUT, *_SEQUENCES]
    )

    def _init_with(self, cell_arguments, kwargs):
        kwargs.pop("implementation", None)
        super()._init_with(cell_arguments, kwargs)


@keras_export(v1=["keras.layers.LSTM"])
class LSTM(_CellRNN):
    """An RNN of LSTMCell."""

    _CELL = LSTMCell

    __init__ = _constructor(
        [_UNITS, _ACTIVATION, _RECURRENT_ACTIVATION, _USE_BIAS, *_INITIALIZERS, _FORGET, *_CHANGES, *_DROPOUT]
        + [("implementation", 1), *_SEQUENCES]
    )


@keras_export(v1=["keras.layers.GRU"])
class GRU(_CellRNN):
    """An RNN of GRUCell."""

    _CELL = GRUCell

    __init__ = _constructor(
        [_UNITS, _ACTIVATION, _RECURRENT_ACTIVATION, _USE_BIAS, *_INITIALIZERS, *_CHANGES, *_DROPOUT]
        + [("implementation", 1), *_SEQUENCES, ("reset_after", False)]
    )


class _OfCuDNN:
    """A cell whose weights are as cuDNN has them: the kernels of gates transposed, and a second bias.

    It computes with what LSTM and GRU compute with, made of these before the first step.
    """

    def build(self, input_shape):
        super().build(input_shape)
        self.__dict__["_of_cudnn"] = self.kernel, self.recurrent_kernel, self.bias

    def _bias_shape(self):
        return (2 * self._GATES * self.units,)

    def reset_dropout_mask(self):
        super().reset_dropout_mask()
        kernel, recurrent, bias = self._of_cudnn
        inputs = kernel.shape.as_list()[0]

        def turned(matrix, length):
            gates = array_ops.split(matrix, self._GATES, axis=1)
            return array_ops.concat(
                [array_ops.transpose(array_ops.reshape(g, [self.units, length])) for g in gates], axis=1
            )

        bias = array_ops.reshape(bias, [2, -1])
        self.__dict__.update(
            kernel=turned(kernel, inputs),
            recurrent_kernel=turned(recurrent, self.units),
            bias=bias if self._GATES == 3 else bias[0] + bias[1],
        )


class _CuDNNLSTMCell(_OfCuDNN, LSTMCell):
    def _bias_initializer(self):
        if not self.unit_forget_bias:
            return self.bias_initializer

        def initializer(_, *args, **kwargs):
            zeros = lambda count: self.bias_initializer((self.units * count,), *args, **kwargs)  # noqa: E731
            return K.concatenate([zeros(5), initializers.Ones()((self.units,), *args, **kwargs), zeros(2)])

        return initializer


class _CuDNNGRUCell(_OfCuDNN, GRUCell):
    pass


_NOT_OF_CUDNN = ("activation", "recurrent_activation", "use_bias", "dropout", "recurrent_dropout")
_NOT_OF_CUDNN += ("implementation", "reset_after", "unroll")


class _CuDNNRNN(_CellRNN):
    """A layer with the weights of cuDNN's, which runs on any device. Masks are refused."""

    def _init_with(self, cell_arguments, kwargs):
        for name in _NOT_OF_CUDNN:
            if name in kwargs:
                raise TypeError(("Keyword argument not understood:", name))
        cell_arguments.update(recurrent_activation="sigmoid", **self._MORE)
        super()._init_with(cell_arguments, kwargs)
        self.supports_masking = False

    @property
    def _checkpoint_dependencies(self):
        return self.cell._checkpoint_dependencies

    def get_config(self):
        return {k: v for k, v in super().get_config().items() if k not in _NOT_OF_CUDNN}


@keras_export(v1=["keras.layers.CuDNNLSTM"])
class CuDNNLSTM(_CuDNNRNN):
    """LSTM with a sigmoid for gates and the weights of cuDNN's LSTM."""

    _CELL, _MORE = _CuDNNLSTMCell, {}

    __init__ = _constructor([_UNITS, *_INITIALIZERS, _FORGET, *_CHANGES, *_SEQUENCES[:-1]])


@keras_export(v1=["keras.layers.CuDNNGRU"])
class CuDNNGRU(_CuDNNRNN):
    """GRU(reset_after=True) with a sigmoid for gates and the weights of cuDNN's GRU."""

    _CELL, _MORE = _CuDNNGRUCell, {"reset_after": True}

    __init__ = _constructor([_UNITS, *_INITIALIZERS, *_CHANGES, *_SEQUENCES[:-1]])


@keras_export("keras.layers.AbstractRNNCell")
class AbstractRNNCell(Layer):
    """The base of cells of a program's own: call(inputs, states), state_size, output_size."""

    def call(self, inputs, states):
        raise NotImplementedError("AbstractRNNCell.call")

    @property
    def state_size(self):
        raise NotImplementedError("AbstractRNNCell.state_size")

    @property
    def output_size(self):
        raise NotImplementedError("AbstractRNNCell.output_size")

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return _zeros(self.state_size, inputs, batch_size, dtype)

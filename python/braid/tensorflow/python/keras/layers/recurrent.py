"""Recurrent layers: cells, and the layer that steps a cell over time."""

import numpy as np

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


def _sizes(state_size):
    return list(state_size) if isinstance(state_size, (list, tuple)) else [state_size]


def _length(size):
    return tensor_shape.TensorShape([size] if not hasattr(size, "__len__") else size).as_list()


@keras_export("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Cells one after another, as one cell."""

    def __init__(self, cells, **kwargs):
        for cell in cells:
            if not hasattr(cell, "call"):
                raise ValueError("All cells must have a `call` method. received cells:", cells)
            if not hasattr(cell, "state_size"):
                raise ValueError("All cells must have a `state_size` attribute. received cells:", cells)
        self._given = cells
        super().__init__(**{k: v for k, v in kwargs.items() if k != "reverse_state_order"})
        self.cells = cells

    @property
    def state_size(self):
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self):
        last = self.cells[-1]
        size = getattr(last, "output_size", None)
        return size if size is not None else _sizes(last.state_size)[0]

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return tuple(_zero_state(cell, inputs, batch_size, dtype) for cell in self.cells)

    def call(self, inputs, states, constants=None, **kwargs):
        nested = nest.pack_sequence_as(self.state_size, nest.flatten(states))
        new = []
        for cell, state in zip(self.cells, nested):
            state = list(state) if isinstance(state, (list, tuple)) else [state]
            own = {k: v for k, v in kwargs.items() if k in getattr(cell, "_call_fn_args", ())}
            inputs, state = cell.call(inputs, _states_of(cell, state), **own)
            new.append(state)
        return inputs, nest.pack_sequence_as(self.state_size, nest.flatten(new))

    def build(self, input_shape):
        shape = input_shape
        for i, cell in enumerate(self.cells):
            if isinstance(cell, Layer) and not cell.built:
                with K.name_scope(f"cell_{i}"):
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
    """The states as a cell takes them: a cell of tf.nn has a single one by itself, other layers in a list."""
    is_of_nn = not isinstance(cell, Layer) or hasattr(cell, "_is_tf_rnn_cell")
    is_single = len(states) == 1 and not isinstance(cell.state_size, (list, tuple))
    return states[0] if is_of_nn and is_single else states


def _zero_state(cell, inputs, batch_size, dtype):
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype)
    if inputs is not None:
        batch_size, dtype = array_ops.shape(inputs)[0], inputs.dtype
    return nest.map_structure(
        lambda size: array_ops.zeros(array_ops.stack([batch_size] + _length(size)), dtype=dtype),
        cell.state_size,
    )


@keras_export("keras.layers.RNN")
class RNN(Layer):
    """Steps a cell over the time of [batch, time, ...].

    cell: an object with call(inputs, states) -> (output, states) and state_size, or a list of them.
    return_sequences: the outputs of all steps, else the last. return_state: also the states. stateful: the
    next batch begins with the states of the last. unroll: no loop, but each step's nodes.
    """

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
        self._compute_output_and_mask_jointly = False
        self._states = None
        self.constants_spec = None
        self._num_constants = None

    @property
    def states(self):
        if self._states is None:
            n = len(nest.flatten(self.cell.state_size))
            return [None for _ in range(n)]
        return self._states

    @states.setter
    def states(self, states):
        self._states = states

    def compute_output_shape(self, input_shape):
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        batch, time = (sizes[1], sizes[0]) if self.time_major else (sizes[0], sizes[1])
        output = getattr(self.cell, "output_size", None)
        output = output if output is not None else _sizes(self.cell.state_size)[0]
        lead = ([time, batch] if self.time_major else [batch, time]) if self.return_sequences else [batch]
        shape = tensor_shape.TensorShape(lead + _length(output))
        if not self.return_state:
            return shape
        return [shape] + [
            tensor_shape.TensorShape([batch] + _length(s)) for s in nest.flatten(self.cell.state_size)
        ]

    def compute_mask(self, inputs, mask):
        mask = nest.flatten(mask)[0] if mask is not None else None
        output = mask if self.return_sequences else None
        return [output] + [None for _ in self.states] if self.return_state else output

    def build(self, input_shape):
        if isinstance(input_shape, (list,)):
            input_shape = input_shape[0]
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        batch = sizes[1] if self.time_major else sizes[0]
        self._batch = batch if self.stateful else None
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(tensor_shape.TensorShape([batch] + sizes[2:]))
            self.cell.built = True
        if self.stateful:
            if batch is None:
                raise ValueError(
                    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: "
                    "\n- If using a Sequential model, specify the batch size by passing a `batch_input_shape` argument to "
                    "your first layer.\n- If using the functional API, specify the batch size by passing a `batch_shape` "
                    "argument to your Input layer."
                )
            self._states = [K.zeros([batch] + _length(s)) for s in nest.flatten(self.cell.state_size)]
        self.built = True

    def get_initial_state(self, inputs):
        first = nest.flatten(inputs)[0]
        batch = array_ops.shape(first)[1 if self.time_major else 0]
        if hasattr(self.cell, "get_initial_state"):
            state = self.cell.get_initial_state(inputs=None, batch_size=batch, dtype=first.dtype)
        else:
            state = _zero_state(self.cell, None, batch, first.dtype)
        return list(state) if isinstance(state, (list, tuple)) else [state]

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        if isinstance(inputs, (list, tuple)) and initial_state is None and constants is None:
            # The states may come beside the inputs.
            n = self._num_constants or 0
            inputs, more = inputs[0], list(inputs[1:])
            if n:
                constants, more = more[-n:], more[:-n]
            initial_state = more or None
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        states = list(nest.flatten(initial_state)) if initial_state is not None else []
        constants = list(nest.flatten(constants)) if constants is not None else []
        self._num_constants = len(constants) or None
        tensors = states + constants
        if all(hasattr(t, "_keras_history") for t in tensors) and hasattr(inputs, "_keras_history"):
            self._state_count = len(states)
            spec, self.input_spec = self.input_spec, None  # which is of the sequence alone
            try:
                return super().__call__([inputs] + tensors, **kwargs)
            finally:
                self.input_spec = spec
        if states:
            kwargs["initial_state"] = states
        if constants:
            kwargs["constants"] = constants
        return super().__call__(inputs, **kwargs)

    def call(self, inputs, mask=None, training=None, initial_state=None, constants=None):
        if isinstance(inputs, list):
            n = self._num_constants or 0
            rest = inputs[1:]
            constants = rest[len(rest) - n :] if n else constants
            initial_state = rest[: len(rest) - n] or initial_state
            inputs = inputs[0]
        if isinstance(mask, list):
            mask = mask[0]
        if initial_state is None or len(initial_state) == 0:
            initial_state = self._states if self.stateful else self.get_initial_state(inputs)
        initial_state = list(nest.flatten(initial_state))
        wanted = len(nest.flatten(self.cell.state_size))
        if len(initial_state) != wanted:
            raise ValueError(f"Layer has {wanted} states but was passed {len(initial_state)} initial states.")
        for cell in getattr(self.cell, "cells", [self.cell]):
            for reset in ("reset_dropout_mask", "reset_recurrent_dropout_mask"):
                if hasattr(cell, reset):
                    getattr(cell, reset)()
        kwargs = {}
        names = getattr(self.cell, "_call_fn_args", None)
        if names is None or "training" in names or isinstance(self.cell, StackedRNNCells):
            if names is not None:
                kwargs["training"] = training
        steps = inputs.shape.as_list()[0 if self.time_major else 1]
        if self.unroll and steps is None:
            raise ValueError("Cannot unroll a RNN if the time dimension is undefined.")
        if constants:

            def step(x, states):
                states, own = states[: -len(constants)], states[-len(constants) :]
                return self._stepped(x, states, constants=list(own), **kwargs)

        else:

            def step(x, states):
                return self._stepped(x, states, **kwargs)

        last, outputs, states = K.rnn(
            step,
            inputs,
            initial_state,
            constants=constants,
            go_backwards=self.go_backwards,
            mask=mask,
            unroll=self.unroll,
            input_length=steps,
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        if self.stateful:
            updates = [state_ops.assign(own, new) for own, new in zip(self._states, nest.flatten(states))]
            self.add_update(control_flow_ops.group(*updates))
        output = outputs if self.return_sequences else last
        return [output] + list(states) if self.return_state else output

    def _stepped(self, x, states, **kwargs):
        states = list(states) if isinstance(self.cell, Layer) else states
        return self.cell.call(x, _states_of(self.cell, states), **kwargs)

    def reset_states(self, states=None):
        """Sets the states to zero, or to arrays."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if not self.built:
            raise ValueError("A layer must be built before its states are reset")
        if states is None:
            K.batch_set_value([(s, np.zeros(s.shape.as_list())) for s in self._states])
            return
        states = list(nest.flatten(states))
        if len(states) != len(self._states):
            raise ValueError(
                f"Layer {self.name} expects {len(self._states)} states, but it received {len(states)} state "
                "values."
            )
        for i, (value, state) in enumerate(zip(states, self._states)):
            if tuple(np.shape(value)) != tuple(state.shape.as_list()):
                raise ValueError(
                    f"State {i} is incompatible with layer {self.name}: expected shape="
                    f"{tuple(state.shape.as_list())}, found shape={np.shape(value)}"
                )
        K.batch_set_value(list(zip(self._states, states)))

    def get_config(self):
        config = {
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "unroll": self.unroll,
            "time_major": self.time_major,
        }
        if type(self) is RNN:
            config["cell"] = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        if "cell" not in config:
            return cls(**config)
        from braid.tensorflow.python.keras.layers import deserialize

        config = dict(config)
        return cls(deserialize(config.pop("cell"), custom_objects=custom_objects), **config)


class DropoutRNNCellMixin:
    """Masks that are the same at all steps."""

    def reset_dropout_mask(self):
        self._dropout_mask = None

    def reset_recurrent_dropout_mask(self):
        self._recurrent_dropout_mask = None

    def _mask(self, attribute, like, rate, training):
        if not rate:
            return None
        if self.__dict__.get(attribute) is None:
            ones = array_ops.ones_like(like)
            mask = K.in_train_phase(lambda: K.dropout(ones, rate), ones, training=training)
            self.__dict__[attribute] = mask
        return self.__dict__[attribute]

    def _dropped(self, inputs, h, training):
        """Inputs and state, with the masks of training."""
        mask = self._mask("_dropout_mask", inputs, self.dropout, training)
        recurrent = self._mask("_recurrent_dropout_mask", h, self.recurrent_dropout, training)
        return inputs if mask is None else inputs * mask, h if recurrent is None else h * recurrent


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
        if inputs is not None:
            batch_size, dtype = array_ops.shape(inputs)[0], inputs.dtype
        made = [
            array_ops.zeros(array_ops.stack([batch_size, size]), dtype=dtype)
            for size in _sizes(self.state_size)
        ]
        for state, size in zip(made, _sizes(self.state_size)):
            state.set_shape([None, size])
        return made if isinstance(self.state_size, (list, tuple)) else made[0]

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
        x, h = self._dropped(inputs, nest.flatten(states)[0], training)
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
        *args,
        **kwargs,
    ):
        self._implementation = kwargs.pop("implementation", 1)
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            *args,
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
        x, h = self._dropped(inputs, h, training)
        z = K.dot(x, self.kernel) + K.dot(h, self.recurrent_kernel)
        if self.use_bias:
            z = K.bias_add(z, self.bias)
        i, f, g, o = array_ops.split(z, num_or_size_splits=4, axis=1)
        c, o = self._carried(i, f, g, o, c)
        h = o * self.activation(c)
        return h, [h, c]

    def _carried(self, i, f, g, o, c):
        """(the new carry, the output gate)."""
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(g)
        return c, self.recurrent_activation(o)

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

    def _carried(self, i, f, g, o, c):
        i = self.recurrent_activation(i + self.input_gate_peephole_weights * c)
        f = self.recurrent_activation(f + self.forget_gate_peephole_weights * c)
        c = f * c + i * self.activation(g)
        return c, self.recurrent_activation(o + self.output_gate_peephole_weights * c)


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
        *args,
        reset_after=False,
        **kwargs,
    ):
        self._implementation = kwargs.pop("implementation", 1)
        super().__init__(units, activation, use_bias, *args, **kwargs)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after
        self.implementation = self._implementation

    def _bias_shape(self):
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs, states, training=None):
        before = nest.flatten(states)[0]
        x, h = self._dropped(inputs, before, training)
        u = self.units
        bias = recurrent_bias = None
        if self.use_bias:
            bias = self.bias
            if self.reset_after:
                bias, recurrent_bias = array_ops.unstack(self.bias)
        xs = K.dot(x, self.kernel)
        if bias is not None:
            xs = K.bias_add(xs, bias)
        x_z, x_r, x_h = array_ops.split(xs, 3, axis=-1)
        if self.reset_after:
            inner = K.dot(h, self.recurrent_kernel)
            if recurrent_bias is not None:
                inner = K.bias_add(inner, recurrent_bias)
            h_z, h_r, h_h = array_ops.split(inner, 3, axis=-1)
            z = self.recurrent_activation(x_z + h_z)
            r = self.recurrent_activation(x_r + h_r)
            new = self.activation(x_h + r * h_h)
        else:
            gates = K.dot(h, self.recurrent_kernel[:, : 2 * u])
            h_z, h_r = array_ops.split(gates, 2, axis=-1)
            z = self.recurrent_activation(x_z + h_z)
            r = self.recurrent_activation(x_r + h_r)
            new = self.activation(x_h + K.dot(r * h, self.recurrent_kernel[:, 2 * u :]))
        h = z * before + (1 - z) * new
        return h, [h]

    def get_config(self):
        return {
            **super().get_config(),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            "reset_after": self.reset_after,
            "implementation": self.implementation,
        }


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
        cell = self.cell.get_config()
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

    def __init__(self, units, activation="tanh", use_bias=True, **kwargs):
        if "implementation" in kwargs:
            kwargs.pop("implementation")
        self._init_with({"units": units, "activation": activation, "use_bias": use_bias}, kwargs)


@keras_export(v1=["keras.layers.LSTM"])
class LSTM(_CellRNN):
    """An RNN of LSTMCell."""

    _CELL = LSTMCell

    def __init__(
        self, units, activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True, **kwargs
    ):
        arguments = {
            "units": units,
            "activation": activation,
            "recurrent_activation": recurrent_activation,
            "use_bias": use_bias,
        }
        self._init_with(arguments, kwargs)


@keras_export(v1=["keras.layers.GRU"])
class GRU(_CellRNN):
    """An RNN of GRUCell."""

    _CELL = GRUCell

    def __init__(
        self, units, activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True, **kwargs
    ):
        arguments = {
            "units": units,
            "activation": activation,
            "recurrent_activation": recurrent_activation,
            "use_bias": use_bias,
        }
        self._init_with(arguments, kwargs)


def _refuse(name, instead):
    raise NotImplementedError(f"tf.keras.layers.{name}: {instead}")


@keras_export(v1=["keras.layers.CuDNNLSTM"])
class CuDNNLSTM(RNN):
    """Refused: it needs a GPU."""

    def __init__(self, *args, **kwargs):
        _refuse("CuDNNLSTM", "use LSTM(recurrent_activation='sigmoid')")


@keras_export(v1=["keras.layers.CuDNNGRU"])
class CuDNNGRU(RNN):
    """Refused: it needs a GPU."""

    def __init__(self, *args, **kwargs):
        _refuse("CuDNNGRU", "use GRU(recurrent_activation='sigmoid', reset_after=True)")


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
        if inputs is not None:
            batch_size, dtype = array_ops.shape(inputs)[0], inputs.dtype
        return nest.map_structure(
            lambda size: array_ops.zeros(array_ops.stack([batch_size] + _length(size)), dtype=dtype),
            self.state_size,
        )

"""Cells of recurrent networks: tf.nn.rnn_cell.BasicLSTMCell and its kind, and what wraps them."""

import collections
import hashlib
import sys
import types

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.layers import base as base_layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import partitioned_variables
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.ops import variables as tf_variables
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

_BIAS_VARIABLE_NAME = "bias"
_WEIGHTS_VARIABLE_NAME = "kernel"

ASSERT_LIKE_RNNCELL_ERROR_REGEXP = "is not an RNNCell"


def _hasattr(obj, attr_name):
    try:
        getattr(obj, attr_name)
    except AttributeError:
        return False
    return True


def assert_like_rnncell(cell_name, cell):
    """TypeError: `cell` lacks what a cell has."""
    missing = []
    if not _hasattr(cell, "output_size"):
        missing.append("'output_size' property is missing")
    if not _hasattr(cell, "state_size"):
        missing.append("'state_size' property is missing")
    if not _hasattr(cell, "zero_state") and not _hasattr(cell, "get_initial_state"):
        missing.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        missing.append("is not callable")
    if missing:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")


def _part(value, what):
    """A part of a shape as a tensor (None if it is not known) and as it is known statically."""
    if isinstance(value, ops.Tensor):
        static = tensor_util.constant_value(value)
        if value.shape.ndims == 0:
            value = array_ops.expand_dims(value, 0)
            static = None if static is None else [int(static)]
        elif value.shape.ndims != 1:
            raise ValueError(f"{what} tensor must be either a scalar or vector, but saw tensor: {value}")
        if static is None and value.shape.ndims == 1 and value.shape.is_fully_defined():
            static = [None] * value.shape.as_list()[0]
        return value, static
    shape = tensor_shape.as_shape(value)
    static = shape.as_list() if shape.ndims is not None else None
    known = constant_op.constant(static, dtype=dtypes.int32) if shape.is_fully_defined() else None
    return known, static


def _concat(prefix, suffix, static=False):
    """The shape of `prefix` followed by `suffix`: a tensor, or with `static` a list in which None is unknown."""
    prefix, prefix_static = _part(prefix, "prefix")
    suffix, suffix_static = _part(suffix, "suffix")
    if static:
        if prefix_static is None or suffix_static is None:
            return None
        return list(prefix_static) + list(suffix_static)
    if prefix is None or suffix is None:
        raise ValueError(
            f"Provided a prefix or suffix of None: {prefix} and {suffix}; the shape must be known"
        )
    return array_ops.concat((prefix, suffix), 0)


def _zero_state_tensors(state_size, batch_size, dtype):
    """Zeros of the structure of `state_size`, each [batch_size, size...]."""

    def zeros(size):
        made = array_ops.zeros(_concat(batch_size, size), dtype=dtype)
        made.set_shape(_concat(batch_size, size, static=True))
        return made

    return nest.map_structure(zeros, state_size)


@tf_export(v1=["nn.rnn_cell.RNNCell"])
class RNNCell(base_layer.Layer):
    """A function (inputs [batch, ...], state) -> (output, new state) with weights.

    `state_size` is an integer, a TensorShape, or a structure of these; `output_size` likewise.
    """

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs):
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._is_tf_rnn_cell = True

    def __call__(self, inputs, state, scope=None):
        """Runs the cell. Variables that it gets are in the current scope, or in `scope`."""
        if scope is not None:
            with vs.variable_scope(scope, custom_getter=self._rnn_get_variable) as scope:
                return super().__call__(inputs, state, scope=scope)
        scope = self.__dict__.get("rnncell_scope")
        if scope is None:
            scope = vs.variable_scope(vs.get_variable_scope(), custom_getter=self._rnn_get_variable)
            self.rnncell_scope = scope
        with scope:
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter, *args, **kwargs):
        variable = getter(*args, **kwargs)
        parts = list(variable) if isinstance(variable, tf_variables.PartitionedVariable) else [variable]
        held = self._trainable_weights if parts[0].trainable else self._non_trainable_weights
        if not any(variable is other for other in held):
            held.append(variable)
        return variable

    @property
    def state_size(self):
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        raise NotImplementedError("Abstract method")

    def build(self, _):
        """Subclasses make their weights here, or in call()."""

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """The state to begin with: zeros. The batch size and type are those of `inputs` where it is given."""
        if inputs is not None:
            inputs = ops.convert_to_tensor(inputs, name="inputs")
            if batch_size is not None:
                static = (
                    tensor_util.constant_value(batch_size, partial=True)
                    if isinstance(batch_size, ops.Tensor)
                    else batch_size
                )
                if tensor_shape.dimension_value(inputs.shape.dims[0]) != static:
                    raise ValueError(
                        f"batch size from input tensor is different from the input param. Input tensor batch: "
                        f"{inputs.shape.dims[0]}, batch_size: {batch_size}"
                    )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    f"dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype}, dtype: {dtype}"
                )
            batch_size = tensor_shape.dimension_value(inputs.shape.dims[0])
            if batch_size is None:
                batch_size = array_ops.shape(inputs)[0]
            dtype = inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size, dtype):
        """Zeros in the structure of the state."""
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return _zero_state_tensors(self.state_size, batch_size, dtype)

    def get_config(self):
        return {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}

    @property
    def _use_input_spec_as_call_signature(self):
        return False


class LayerRNNCell(RNNCell):
    """A cell that is called as a layer: it makes its weights in build()."""

    def __call__(self, inputs, state, scope=None, *args, **kwargs):
        return base_layer.Layer.__call__(self, inputs, state, scope=scope, *args, **kwargs)


def _activation(activation, default):
    """A function of tensors: the one that is given, of that name in keras, or the default."""
    if not activation:
        return default
    if callable(activation):
        return activation
    from braid.tensorflow.python.keras import activations

    return activations.get(activation)


def _activation_config(function):
    from braid.tensorflow.python.keras import activations

    return activations.serialize(function)


def _initializer(initializer):
    """An initializer: the one that is given, or of that name in keras."""
    if initializer is None or callable(initializer):
        return initializer
    from braid.tensorflow.python.keras import initializers

    return initializers.get(initializer)


def _initializer_config(initializer):
    from braid.tensorflow.python.keras import initializers

    return initializers.serialize(initializer)


def _check_depth(inputs_shape):
    if inputs_shape[-1] is None or tensor_shape.dimension_value(inputs_shape[-1]) is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return tensor_shape.dimension_value(inputs_shape[-1])


def _check_dtype(dtype):
    if dtype is not None and not dtypes.as_dtype(dtype).is_floating and not dtypes.as_dtype(dtype).is_complex:
        raise ValueError(
            f"RNN cell only supports floating point inputs, but saw dtype: {dtypes.as_dtype(dtype)}"
        )


def _check_inputs(inputs):
    for tensor in nest.flatten(inputs):
        _check_dtype(tensor.dtype)


@tf_export(v1=["nn.rnn_cell.BasicRNNCell"])
class BasicRNNCell(LayerRNNCell):
    """output = new state = activation(W [input, state] + b). `activation` is tanh."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        _check_dtype(dtype)
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = _activation(activation, math_ops.tanh)

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        depth = _check_depth(inputs_shape)
        self._kernel = self.add_variable(
            _WEIGHTS_VARIABLE_NAME, shape=[depth + self._num_units, self._num_units]
        )
        self._bias = self.add_variable(
            _BIAS_VARIABLE_NAME,
            shape=[self._num_units],
            initializer=init_ops.zeros_initializer(dtype=self.dtype),
        )
        self.built = True

    def call(self, inputs, state):
        _check_inputs([inputs, state])
        gate_inputs = math_ops.matmul(array_ops.concat([inputs, state], 1), self._kernel)
        output = self._activation(nn_ops.bias_add(gate_inputs, self._bias))
        return output, output

    def get_config(self):
        config = {
            "num_units": self._num_units,
            "activation": _activation_config(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **config}


@tf_export(v1=["nn.rnn_cell.GRUCell"])
class GRUCell(LayerRNNCell):
    """A gated recurrent unit (Cho et al. 2014)."""

    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        _check_dtype(dtype)
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = _activation(activation, math_ops.tanh)
        self._kernel_initializer = _initializer(kernel_initializer)
        self._bias_initializer = _initializer(bias_initializer)

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        depth, units = _check_depth(inputs_shape), self._num_units
        self._gate_kernel = self.add_variable(
            "gates/" + _WEIGHTS_VARIABLE_NAME,
            shape=[depth + units, 2 * units],
            initializer=self._kernel_initializer,
        )
        self._gate_bias = self.add_variable(
            "gates/" + _BIAS_VARIABLE_NAME,
            shape=[2 * units],
            initializer=(
                init_ops.constant_initializer(1.0, dtype=self.dtype)
                if self._bias_initializer is None
                else self._bias_initializer
            ),
        )
        self._candidate_kernel = self.add_variable(
            "candidate/" + _WEIGHTS_VARIABLE_NAME,
            shape=[depth + units, units],
            initializer=self._kernel_initializer,
        )
        self._candidate_bias = self.add_variable(
            "candidate/" + _BIAS_VARIABLE_NAME,
            shape=[units],
            initializer=(
                init_ops.zeros_initializer(dtype=self.dtype)
                if self._bias_initializer is None
                else self._bias_initializer
            ),
        )
        self.built = True

    def call(self, inputs, state):
        _check_inputs([inputs, state])
        gates = math_ops.matmul(array_ops.concat([inputs, state], 1), self._gate_kernel)
        value = math_ops.sigmoid(nn_ops.bias_add(gates, self._gate_bias))
        r, u = array_ops.split(value=value, num_or_size_splits=2, axis=1)
        r_state = r * state
        candidate = math_ops.matmul(array_ops.concat([inputs, r_state], 1), self._candidate_kernel)
        c = self._activation(nn_ops.bias_add(candidate, self._candidate_bias))
        new_h = u * state + (1 - u) * c
        return new_h, new_h

    def get_config(self):
        config = {
            "num_units": self._num_units,
            "kernel_initializer": _initializer_config(self._kernel_initializer),
            "bias_initializer": _initializer_config(self._bias_initializer),
            "activation": _activation_config(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **config}


_LSTMStateTuple = collections.namedtuple("LSTMStateTuple", ("c", "h"))


@tf_export(v1=["nn.rnn_cell.LSTMStateTuple"])
class LSTMStateTuple(_LSTMStateTuple):
    """The state (c, h) of an LSTM: the cells, and the last output."""

    __slots__ = ()

    @property
    def dtype(self):
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent dtypes for internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


@tf_export(v1=["nn.rnn_cell.BasicLSTMCell"])
class BasicLSTMCell(LayerRNNCell):
    """An LSTM (Zaremba et al. 2014) without peepholes, clipping and projection.

    `forget_bias` is added to the bias of forget gates. The state is an LSTMStateTuple, or if
    `state_is_tuple` is False a tensor of c and h side by side.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        _check_dtype(dtype)
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = _activation(activation, math_ops.tanh)

    @property
    def state_size(self):
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._num_units)
        return 2 * self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        depth, units = _check_depth(inputs_shape), self._num_units
        self._kernel = self.add_variable(_WEIGHTS_VARIABLE_NAME, shape=[depth + units, 4 * units])
        self._bias = self.add_variable(
            _BIAS_VARIABLE_NAME, shape=[4 * units], initializer=init_ops.zeros_initializer(dtype=self.dtype)
        )
        self.built = True

    def call(self, inputs, state):
        _check_inputs([inputs, state])
        one = constant_op.constant(1, dtype=dtypes.int32)
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = array_ops.split(value=state, num_or_size_splits=2, axis=one)
        gate_inputs = math_ops.matmul(array_ops.concat([inputs, h], 1), self._kernel)
        gate_inputs = nn_ops.bias_add(gate_inputs, self._bias)
        i, j, f, o = array_ops.split(value=gate_inputs, num_or_size_splits=4, axis=one)
        forget_bias = constant_op.constant(self._forget_bias, dtype=f.dtype)
        kept = math_ops.multiply(c, math_ops.sigmoid(math_ops.add(f, forget_bias)))
        new_c = math_ops.add(kept, math_ops.multiply(math_ops.sigmoid(i), self._activation(j)))
        new_h = math_ops.multiply(self._activation(new_c), math_ops.sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, array_ops.concat([new_c, new_h], 1)

    def get_config(self):
        config = {
            "num_units": self._num_units,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": _activation_config(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **config}


@tf_export(v1=["nn.rnn_cell.LSTMCell"])
class LSTMCell(LayerRNNCell):
    """An LSTM (Sak et al. 2014) with peepholes, clipping of cells and a projection, as asked for.

    `num_proj` is the size of the projection, `cell_clip` and `proj_clip` the largest absolute values.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=None,
        num_proj_shards=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=None,
        reuse=None,
        name=None,
        dtype=None,
        **kwargs,
    ):
        _check_dtype(dtype)
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = _initializer(initializer)
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = _activation(activation, math_ops.tanh)
        self._output_size = num_proj or num_units
        if state_is_tuple:
            self._state_size = LSTMStateTuple(num_units, self._output_size)
        else:
            self._state_size = num_units + self._output_size

    @property
    def state_size(self):
        return self._state_size

    @property
    def output_size(self):
        return self._output_size

    def build(self, inputs_shape):
        depth, units = _check_depth(inputs_shape), self._num_units

        def shards(number):
            return partitioned_variables.fixed_size_partitioner(number) if number is not None else None

        self._kernel = self.add_variable(
            _WEIGHTS_VARIABLE_NAME,
            shape=[depth + self._output_size, 4 * units],
            initializer=self._initializer,
            partitioner=shards(self._num_unit_shards),
        )
        self._bias = self.add_variable(
            _BIAS_VARIABLE_NAME,
            shape=[4 * units],
            initializer=init_ops.zeros_initializer(dtype=dtypes.as_dtype(self.dtype or dtypes.float32)),
        )
        if self._use_peepholes:
            self._w_f_diag = self.add_variable("w_f_diag", shape=[units], initializer=self._initializer)
            self._w_i_diag = self.add_variable("w_i_diag", shape=[units], initializer=self._initializer)
            self._w_o_diag = self.add_variable("w_o_diag", shape=[units], initializer=self._initializer)
        if self._num_proj is not None:
            self._proj_kernel = self.add_variable(
                "projection/" + _WEIGHTS_VARIABLE_NAME,
                shape=[units, self._num_proj],
                initializer=self._initializer,
                partitioner=shards(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs, state):
        _check_inputs([inputs, state])
        units = self._num_units
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            c_prev = array_ops.slice(state, [0, 0], [-1, units])
            m_prev = array_ops.slice(state, [0, units], [-1, self._output_size])
        if tensor_shape.dimension_value(inputs.get_shape().with_rank(2).dims[1]) is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        lstm_matrix = math_ops.matmul(array_ops.concat([inputs, m_prev], 1), self._kernel)
        lstm_matrix = nn_ops.bias_add(lstm_matrix, self._bias)
        i, j, f, o = array_ops.split(value=lstm_matrix, num_or_size_splits=4, axis=1)
        sigmoid = math_ops.sigmoid
        if self._use_peepholes:
            c = sigmoid(f + self._forget_bias + self._w_f_diag * c_prev) * c_prev + sigmoid(
                i + self._w_i_diag * c_prev
            ) * self._activation(j)
        else:
            c = sigmoid(f + self._forget_bias) * c_prev + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_ops.clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            m = sigmoid(o + self._w_o_diag * c) * self._activation(c)
        else:
            m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            m = math_ops.matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = clip_ops.clip_by_value(m, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return m, LSTMStateTuple(c, m)
        return m, array_ops.concat([c, m], 1)

    def get_config(self):
        config = {
            "num_units": self._num_units,
            "use_peepholes": self._use_peepholes,
            "cell_clip": self._cell_clip,
            "initializer": _initializer_config(self._initializer),
            "num_proj": self._num_proj,
            "proj_clip": self._proj_clip,
            "num_unit_shards": self._num_unit_shards,
            "num_proj_shards": self._num_proj_shards,
            "forget_bias": self._forget_bias,
            "state_is_tuple": self._state_is_tuple,
            "activation": _activation_config(self._activation),
            "reuse": self._reuse,
        }
        return {**super().get_config(), **config}


class _RNNCellWrapperV1(RNNCell):
    """A cell that calls another."""

    def __init__(self, cell, *args, **kwargs):
        super().__init__(*args, **kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell
        if isinstance(cell, base_layer.Layer):
            self._track_trackable(cell, name="cell")

    @property
    def wrapped_cell(self):
        return self.cell

    @property
    def state_size(self):
        return self.cell.state_size

    @property
    def output_size(self):
        return self.cell.output_size

    def build(self, inputs_shape):
        self.built = True

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        """The wrapped cell in the scope of the caller: the wrapper is in no name."""
        return self._call_wrapped_cell(inputs, state, cell_call_fn=self.cell.__call__, scope=scope)

    def call(self, inputs, state, **kwargs):
        return self._call_wrapped_cell(inputs, state, cell_call_fn=self.cell.call, **kwargs)

    def _call_wrapped_cell(self, inputs, state, cell_call_fn, **kwargs):
        raise NotImplementedError

    def get_config(self):
        config = {"cell": {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}}
        return {**super().get_config(), **config}

    @property
    def trainable_weights(self):
        return self.cell.trainable_weights

    @property
    def non_trainable_weights(self):
        return self.cell.non_trainable_weights


def _default_dropout_state_filter_visitor(substate):
    """Which parts of a state are dropped: not the cells of an LSTM, and no TensorArray."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(substate, tensor_array_ops.TensorArray)


@tf_export(v1=["nn.rnn_cell.DropoutWrapper"])
class DropoutWrapper(_RNNCellWrapperV1):
    """Dropout at inputs, outputs and states of a cell.

    With `variational_recurrent` the same mask is used at all steps of a run (Gal and Ghahramani 2016); then
    `dtype`, and `input_size` where inputs are dropped, must be given.
    """

    def __init__(
        self,
        cell,
        input_keep_prob=1.0,
        output_keep_prob=1.0,
        state_keep_prob=1.0,
        variational_recurrent=False,
        input_size=None,
        dtype=None,
        seed=None,
        dropout_state_filter_visitor=None,
        **kwargs,
    ):
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = dropout_state_filter_visitor or _default_dropout_state_filter_visitor
        with ops.name_scope(None, "DropoutWrapperInit"):
            self._input_keep_prob = self._probability(input_keep_prob, "input_keep_prob")
            self._state_keep_prob = self._probability(state_keep_prob, "state_keep_prob")
            self._output_keep_prob = self._probability(output_keep_prob, "output_keep_prob")
        self._variational_recurrent = variational_recurrent
        self._input_size = input_size
        self._seed = seed
        self._recurrent_input_noise = None
        self._recurrent_state_noise = None
        self._recurrent_output_noise = None
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            self._make_noise(dtype)

    @staticmethod
    def _probability(value, name):
        constant = tensor_util.constant_value(ops.convert_to_tensor(value))
        if constant is None:
            return value
        if not 0 <= constant <= 1:
            raise ValueError(f"Parameter {name} must be between 0 and 1: {constant}")
        return float(constant)

    def _make_noise(self, dtype):
        def noise_of(salt):
            def make(index, size):
                shape = array_ops.concat(([1], tensor_shape.TensorShape(size).as_list()), 0)
                return random_ops.random_uniform(shape, seed=self._gen_seed(salt, index), dtype=dtype)

            return make

        if not isinstance(self._input_keep_prob, float) or self._input_keep_prob < 1.0:
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            self._recurrent_input_noise = _enumerated_map_structure_up_to(
                self._input_size, noise_of("input"), self._input_size
            )
        self._recurrent_state_noise = _enumerated_map_structure_up_to(
            self.cell.state_size, noise_of("state"), self.cell.state_size
        )
        self._recurrent_output_noise = _enumerated_map_structure_up_to(
            self.cell.output_size, noise_of("output"), self.cell.output_size
        )

    def _gen_seed(self, salt_prefix, index):
        if self._seed is None:
            return None
        text = f"{self._seed}{salt_prefix}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _variational_recurrent_dropout_value(self, unused_index, value, noise, keep_prob):
        random_tensor = keep_prob + noise
        binary_tensor = math_ops.floor(random_tensor)
        result = math_ops.divide(value, keep_prob) * binary_tensor
        result.set_shape(value.get_shape())
        return result

    def _dropout(self, values, salt_prefix, recurrent_noise, keep_prob, shallow_filtered_substructure=None):
        if shallow_filtered_substructure is None:
            shallow_filtered_substructure = values

        def dropped(index, do_dropout, value, noise=None):
            if isinstance(do_dropout, bool) and not do_dropout:
                return value
            if noise is not None:
                return self._variational_recurrent_dropout_value(index, value, noise, keep_prob)
            return nn_ops.dropout_v2(value, rate=1.0 - keep_prob, seed=self._gen_seed(salt_prefix, index))

        structures = [shallow_filtered_substructure, values]
        if self._variational_recurrent:
            structures.append(recurrent_noise)
        return _enumerated_map_structure_up_to(shallow_filtered_substructure, dropped, *structures)

    def _call_wrapped_cell(self, inputs, state, cell_call_fn, **kwargs):
        def should_dropout(probability):
            return not isinstance(probability, float) or probability < 1

        if should_dropout(self._input_keep_prob):
            inputs = self._dropout(inputs, "input", self._recurrent_input_noise, self._input_keep_prob)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if should_dropout(self._state_keep_prob):
            shallow = nest.get_traverse_shallow_structure(self._dropout_state_filter, new_state)
            new_state = self._dropout(
                new_state, "state", self._recurrent_state_noise, self._state_keep_prob, shallow
            )
        if should_dropout(self._output_keep_prob):
            output = self._dropout(output, "output", self._recurrent_output_noise, self._output_keep_prob)
        return output, new_state

    def get_config(self):
        config = {
            "input_keep_prob": self._input_keep_prob,
            "output_keep_prob": self._output_keep_prob,
            "state_keep_prob": self._state_keep_prob,
            "variational_recurrent": self._variational_recurrent,
            "input_size": self._input_size,
            "seed": self._seed,
        }
        if self._dropout_state_filter is not _default_dropout_state_filter_visitor:
            keys = ("dropout_fn", "dropout_fn_type", "dropout_fn_module")
            config.update(zip(keys, _dumped(self._dropout_state_filter)))
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        dumped = [config.pop(key, None) for key in ("dropout_fn", "dropout_fn_type", "dropout_fn_module")]
        if dumped[0] is not None:
            config["dropout_state_filter_visitor"] = _loaded(*dumped, custom_objects)
        return cls(**config)


def _enumerated_map_structure_up_to(shallow_structure, map_fn, *args):
    """map_structure_up_to with the number of the element as the first argument."""
    number = [-1]

    def counted(*values):
        number[0] += 1
        return map_fn(number[0], *values)

    return nest.map_structure_up_to(shallow_structure, counted, *args)


def _dumped(function):
    """A function for a config: (its code or name, which of the two, its module)."""
    from braid.tensorflow.python.keras.utils import generic_utils

    if isinstance(function, types.FunctionType):
        return generic_utils.func_dump(function), "lambda", function.__module__
    return function.__name__, "function", function.__module__


def _loaded(dumped, kind, module, custom_objects):
    """The function that `_dumped` has written."""
    from braid.tensorflow.python.keras.utils import generic_utils

    known = {**globals(), **getattr(sys.modules.get(module), "__dict__", {}), **(custom_objects or {})}
    if kind == "lambda":
        return generic_utils.func_load(dumped, globs=known)
    return generic_utils.deserialize_keras_object(
        dumped, custom_objects=custom_objects, printable_module_name="function in wrapper"
    )


@tf_export(v1=["nn.rnn_cell.ResidualWrapper"])
class ResidualWrapper(_RNNCellWrapperV1):
    """Adds the inputs of a cell to its outputs, or what `residual_fn(inputs, outputs)` says."""

    def __init__(self, cell, residual_fn=None, **kwargs):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(self, inputs, state, cell_call_fn, **kwargs):
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)

        def default_residual_fn(inputs, outputs):
            nest.assert_same_structure(inputs, outputs)
            nest.map_structure(
                lambda i, o: i.get_shape().assert_is_compatible_with(o.get_shape()), inputs, outputs
            )
            return nest.map_structure(lambda i, o: i + o, inputs, outputs)

        return (self._residual_fn or default_residual_fn)(inputs, outputs), new_state

    # The third key is TensorFlow's, as it is spelled there.

    def get_config(self):
        config = super().get_config()
        if self._residual_fn is not None:
            keys = ("residual_fn", "residual_fn_type", "residule_fn_module")
            config.update(zip(keys, _dumped(self._residual_fn)))
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        dumped = [config.pop(key, None) for key in ("residual_fn", "residual_fn_type", "residule_fn_module")]
        if dumped[0] is not None:
            config["residual_fn"] = _loaded(*dumped, custom_objects)
        return cls(**config)


@tf_export(v1=["nn.rnn_cell.DeviceWrapper"])
class DeviceWrapper(_RNNCellWrapperV1):
    """Places a cell on a device."""

    def __init__(self, cell, device, **kwargs):
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            with ops.device(self._device):
                return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(self, inputs, state, cell_call_fn, **kwargs):
        with ops.device(self._device):
            return cell_call_fn(inputs, state, **kwargs)

    def get_config(self):
        return {**super().get_config(), "device": self._device}


@tf_export(v1=["nn.rnn_cell.MultiRNNCell"])
class MultiRNNCell(RNNCell):
    """Cells one after the other, each with the output of the one before as its input.

    The state is a tuple of their states, or a tensor of them side by side if `state_is_tuple` is False.
    """

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells = cells
        for number, cell in enumerate(cells):
            if isinstance(cell, base_layer.Layer):
                self._track_trackable(cell, name=f"cell-{number}")
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_sequence(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. State sizes are: "
                f"{[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self):
        if self._state_is_tuple:
            return tuple(cell.state_size for cell in self._cells)
        return sum(cell.state_size for cell in self._cells)

    @property
    def output_size(self):
        return self._cells[-1].output_size

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        return [
            w for cell in self._cells if isinstance(cell, base_layer.Layer) for w in cell.trainable_weights
        ]

    @property
    def non_trainable_weights(self):
        cells = [cell for cell in self._cells if isinstance(cell, base_layer.Layer)]
        weights = [w for cell in cells for w in cell.non_trainable_weights]
        if not self.trainable:
            return [w for cell in cells for w in cell.trainable_weights] + weights
        return weights

    def call(self, inputs, state):
        current = inputs
        position = 0
        new_states = []
        for number, cell in enumerate(self._cells):
            with vs.variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    if not nest.is_sequence(state):
                        raise ValueError(
                            f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}"
                        )
                    cell_state = state[number]
                else:
                    cell_state = array_ops.slice(state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                current, new_state = cell(current, cell_state)
                new_states.append(new_state)
        return current, tuple(new_states) if self._state_is_tuple else array_ops.concat(new_states, 1)

    def get_config(self):
        cells = [{"class_name": type(cell).__name__, "config": cell.get_config()} for cell in self._cells]
        return {**super().get_config(), "cells": cells}

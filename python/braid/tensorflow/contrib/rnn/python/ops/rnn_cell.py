"""Cells that tf.nn.rnn_cell does not have, and what wraps cells."""

import collections
import math

from braid.tensorflow.python.compiler.xla import jit
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import op_def_registry
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.util import nest

__all__ = [
    "AttentionCellWrapper",
    "BidirectionalGridLSTMCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "EmbeddingWrapper",
    "GLSTMCell",
    "GridLSTMCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LayerNormBasicLSTMCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "SRUCell",
    "TimeFreqLSTMCell",
    "UGRNNCell",
]

RNNCell = rnn_cell_impl.RNNCell
LSTMStateTuple = rnn_cell_impl.LSTMStateTuple


def _get_concat_variable(name, shape, dtype, num_shards):
    """The rows of num_shards variables NAME_0, NAME_1, ...; the first have one row more."""
    if num_shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={num_shards}")
    rows, more = divmod(shape[0], num_shards)
    shards = [
        vs.get_variable(f"{name}_{i}", [rows + (i < more), *shape[1:]], dtype=dtype)
        for i in range(num_shards)
    ]
    return shards[0] if num_shards == 1 else array_ops.concat(shards, 0, name=f"{name}/concat")


def linear(args, output_size, bias, bias_initializer=None, kernel_initializer=None):
    """[arguments side by side] * kernel + bias, with variables "kernel" and "bias" of the current scope."""
    args = [args] if not isinstance(args, (list, tuple)) else args
    depth = sum(tensor_shape.dimension_value(arg.shape[1]) for arg in args)
    dtype = args[0].dtype
    with vs.variable_scope(vs.get_variable_scope()) as scope:
        kernel = vs.get_variable("kernel", [depth, output_size], dtype=dtype, initializer=kernel_initializer)
        product = math_ops.matmul(args[0] if len(args) == 1 else array_ops.concat(args, 1), kernel)
        if not bias:
            return product
        with vs.variable_scope(scope) as inner:
            inner.set_partitioner(None)
            if bias_initializer is None:
                bias_initializer = init_ops.constant_initializer(0.0, dtype=dtype)
            biases = vs.get_variable("bias", [output_size], dtype=dtype, initializer=bias_initializer)
        return nn_ops.bias_add(product, biases)


_linear = linear


def _product(x, output_size):
    """linear of one matrix, whose product is in the caller's name scope."""
    depth = tensor_shape.dimension_value(x.shape[1])
    with vs.variable_scope(vs.get_variable_scope(), auxiliary_name_scope=False) as scope:
        kernel = vs.get_variable("kernel", [depth, output_size], dtype=x.dtype)
        with vs.variable_scope(scope, auxiliary_name_scope=False) as inner:
            inner.set_partitioner(None)
            zeros = init_ops.constant_initializer(0.0, dtype=x.dtype)
            bias = vs.get_variable("bias", [output_size], dtype=x.dtype, initializer=zeros)
    return nn_ops.bias_add(math_ops.matmul(x, kernel), bias)


class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM whose input gate is 1 less its forget gate (Greff et al. 2015)."""

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        num_unit_shards=1,
        num_proj_shards=1,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=math_ops.tanh,
        reuse=None,
        layer_norm=False,
        norm_gain=1.0,
        norm_shift=0.0,
    ):
        super().__init__(_reuse=reuse)
        if layer_norm:
            raise NotImplementedError(
                "CoupledInputForgetGateLSTMCell(layer_norm): use LayerNormBasicLSTMCell"
            )
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation
        self._output_size = num_proj or num_units

    @property
    def state_size(self):
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._output_size)
        return self._num_units + self._output_size

    @property
    def output_size(self):
        return self._output_size

    def call(self, inputs, state):
        sigmoid, units, dtype = math_ops.sigmoid, self._num_units, inputs.dtype
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            c_prev = array_ops.slice(state, [0, 0], [-1, units])
            m_prev = array_ops.slice(state, [0, units], [-1, self._output_size])
        depth = tensor_shape.dimension_value(inputs.get_shape().with_rank(2).dims[1])
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        scope = vs.get_variable_scope()
        with vs.variable_scope(scope, initializer=self._initializer, auxiliary_name_scope=False):
            weights = _get_concat_variable(
                "W", [depth + self._output_size, 3 * units], dtype, self._num_unit_shards
            )
            b = vs.get_variable("B", shape=[3 * units], initializer=init_ops.zeros_initializer(), dtype=dtype)
            matrix = nn_ops.bias_add(math_ops.matmul(array_ops.concat([inputs, m_prev], 1), weights), b)
            j, f, o = array_ops.split(value=matrix, num_or_size_splits=3, axis=1)
            if self._use_peepholes:
                f_diag = vs.get_variable("W_F_diag", shape=[units], dtype=dtype)
                o_diag = vs.get_variable("W_O_diag", shape=[units], dtype=dtype)
                forget = sigmoid(f + self._forget_bias + f_diag * c_prev)
            else:
                forget = sigmoid(f + self._forget_bias)
            c = forget * c_prev + (1 - forget) * self._activation(j)
            if self._use_peepholes:
                m = sigmoid(o + o_diag * c) * self._activation(c)
            else:
                m = sigmoid(o) * self._activation(c)
            if self._num_proj is not None:
                projection = _get_concat_variable(
                    "W_P", [units, self._num_proj], dtype, self._num_proj_shards
                )
                m = math_ops.matmul(m, projection)
                if self._proj_clip is not None:
                    m = clip_ops.clip_by_value(m, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return m, LSTMStateTuple(c, m)
        return m, array_ops.concat([c, m], 1)


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM with layer normalization (Ba et al. 2016) and dropout of what is new (Semeniuta et al.
    2016)."""

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        input_size=None,
        activation=math_ops.tanh,
        layer_norm=True,
        norm_gain=1.0,
        norm_shift=0.0,
        dropout_keep_prob=1.0,
        dropout_prob_seed=None,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._activation = activation
        self._forget_bias = forget_bias
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift
        self._reuse = reuse

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def _norm(self, inp, scope, dtype=dtypes.float32):
        from braid.tensorflow.contrib.layers.python.layers import normalization

        shape = inp.get_shape()[-1:]
        with vs.variable_scope(scope):
            # Made here for their initial values; layer_norm finds them.
            vs.get_variable(
                "gamma",
                shape=shape,
                initializer=init_ops.constant_initializer(self._norm_gain),
                dtype=dtype,
            )
            vs.get_variable(
                "beta",
                shape=shape,
                initializer=init_ops.constant_initializer(self._norm_shift),
                dtype=dtype,
            )
        return normalization.layer_norm(inp, reuse=True, scope=scope)

    def call(self, inputs, state):
        c, h = state
        args = array_ops.concat([inputs, h], 1)
        weights = vs.get_variable(
            "kernel", [tensor_shape.dimension_value(args.shape[-1]), 4 * self._num_units], dtype=args.dtype
        )
        concat = math_ops.matmul(args, weights)
        if not self._layer_norm:
            concat = nn_ops.bias_add(concat, vs.get_variable("bias", [4 * self._num_units], dtype=args.dtype))
        i, j, f, o = array_ops.split(value=concat, num_or_size_splits=4, axis=1)
        if self._layer_norm:
            i = self._norm(i, "input", dtype=inputs.dtype)
            j = self._norm(j, "transform", dtype=inputs.dtype)
            f = self._norm(f, "forget", dtype=inputs.dtype)
            o = self._norm(o, "output", dtype=inputs.dtype)
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = nn_ops.dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * math_ops.sigmoid(f + self._forget_bias) + math_ops.sigmoid(i) * g
        if self._layer_norm:
            new_c = self._norm(new_c, "state", dtype=inputs.dtype)
        new_h = self._activation(new_c) * math_ops.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class UGRNNCell(RNNCell):
    """A cell with one gate, between a GRU and a plain one (Collins et al. 2016)."""

    def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=math_ops.tanh, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def call(self, inputs, state):
        if tensor_shape.dimension_value(inputs.get_shape().with_rank(2).dims[1]) is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            rnn_matrix = _product(array_ops.concat([inputs, state], 1), 2 * self._num_units)
            g_act, c_act = array_ops.split(axis=1, num_or_size_splits=2, value=rnn_matrix)
            c = self._activation(c_act)
            g = math_ops.sigmoid(g_act + self._forget_bias)
            new_state = g * state + (1.0 - g) * c
        return new_state, new_state


class IntersectionRNNCell(RNNCell):
    """A cell with gates through time and through depth (Collins et al. 2016)."""

    def __init__(
        self,
        num_units,
        num_in_proj=None,
        initializer=None,
        forget_bias=1.0,
        y_activation=nn_ops.relu,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._num_input_proj = num_in_proj
        self._y_activation = y_activation

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def call(self, inputs, state):
        depth = tensor_shape.dimension_value(inputs.get_shape().with_rank(2).dims[1])
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            if depth != self._num_units:
                if not self._num_input_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, num_in_proj "
                        "should be set to num_units at cell init."
                    )
                with vs.variable_scope("in_projection"):
                    inputs = _product(inputs, self._num_units)
            n_dim = i_dim = self._num_units
            matrix = _product(array_ops.concat([inputs, state], 1), 2 * n_dim + 2 * i_dim)
            gh_act, h_act = matrix[:, :n_dim], matrix[:, n_dim : 2 * n_dim]
            gy_act = matrix[:, 2 * n_dim : 2 * n_dim + i_dim]
            y_act = matrix[:, 2 * n_dim + i_dim : 2 * n_dim + 2 * i_dim]
            h, y = math_ops.tanh(h_act), self._y_activation(y_act)
            gh = math_ops.sigmoid(gh_act + self._forget_bias)
            gy = math_ops.sigmoid(gy_act + self._forget_bias)
            new_state = gh * state + (1.0 - gh) * h
            new_y = gy * inputs + (1.0 - gy) * y
        return new_y, new_state


class NASCell(rnn_cell_impl.LayerRNNCell):
    """The cell that a search found (Zoph and Le 2016)."""

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias
        self._output_size = num_units if num_proj is None else num_proj

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._output_size)

    @property
    def output_size(self):
        return self._output_size

    def build(self, inputs_shape):
        depth = tensor_shape.dimension_value(inputs_shape[-1])
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        self.recurrent_kernel = self.add_variable(
            "recurrent_kernel", [self._output_size, 8 * self._num_units]
        )
        self.kernel = self.add_variable("kernel", [depth, 8 * self._num_units])
        self.bias = None
        if self._use_bias:
            self.bias = self.add_variable(
                "bias",
                shape=[8 * self._num_units],
                initializer=init_ops.zeros_initializer(dtype=self.dtype),
            )
        self.projection_weights = None
        if self._num_proj is not None:
            self.projection_weights = self.add_variable(
                "projection_weights", [self._num_units, self._num_proj]
            )
        self.built = True

    def call(self, inputs, state):
        sigmoid, tanh, relu = math_ops.sigmoid, math_ops.tanh, nn_ops.relu
        c_prev, m_prev = state
        m_matrix = math_ops.matmul(m_prev, self.recurrent_kernel)
        inputs_matrix = math_ops.matmul(inputs, self.kernel)
        if self._use_bias:
            m_matrix = nn_ops.bias_add(m_matrix, self.bias)
        m = array_ops.split(axis=1, num_or_size_splits=8, value=m_matrix)
        i = array_ops.split(axis=1, num_or_size_splits=8, value=inputs_matrix)
        first = [
            sigmoid(i[0] + m[0]),
            relu(i[1] + m[1]),
            sigmoid(i[2] + m[2]),
            relu(i[3] * m[3]),
            tanh(i[4] + m[4]),
            sigmoid(i[5] + m[5]),
            tanh(i[6] + m[6]),
            sigmoid(i[7] + m[7]),
        ]
        second = [
            tanh(first[0] * first[1]),
            tanh(first[2] + first[3]),
            tanh(first[4] * first[5]),
            sigmoid(first[6] + first[7]),
        ]
        second[0] = tanh(second[0] + c_prev)
        new_c = second[0] * second[1]
        new_m = tanh(new_c * tanh(second[2] + second[3]))
        if self.projection_weights is not None:
            new_m = math_ops.matmul(new_m, self.projection_weights)
        return new_m, LSTMStateTuple(new_c, new_m)


class SRUCell(rnn_cell_impl.LayerRNNCell):
    """A cell whose products do not depend on its state (Lei et al. 2017)."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units = num_units
        self._activation = activation or math_ops.tanh
        self.input_spec = input_spec.InputSpec(ndim=2)

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        depth = tensor_shape.dimension_value(inputs_shape[1])
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        self._kernel = self.add_variable("kernel", shape=[depth, 4 * self._num_units])
        self._bias = self.add_variable(
            "bias", shape=[2 * self._num_units], initializer=init_ops.zeros_initializer()
        )
        self.built = True

    def call(self, inputs, state):
        matrix = math_ops.matmul(inputs, self._kernel)
        x_bar, f_intermediate, r_intermediate, x_tx = array_ops.split(
            value=matrix, num_or_size_splits=4, axis=1
        )
        f_r = math_ops.sigmoid(
            nn_ops.bias_add(array_ops.concat([f_intermediate, r_intermediate], 1), self._bias)
        )
        f, r = array_ops.split(value=f_r, num_or_size_splits=2, axis=1)
        c = f * state + (1.0 - f) * x_bar
        h = r * self._activation(c) + (1.0 - r) * x_tx
        return h, c


class PhasedLSTMCell(RNNCell):
    """An LSTM that is open in phases of learned periods (Neil et al. 2016).

    Inputs are (time [batch, 1] of float32 or float64, features). A phase is a time, up to the period at
    first.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        leak=0.001,
        ratio_on=0.1,
        trainable_ratio_on=True,
        period_init_min=1.0,
        period_init_max=1000.0,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._period_init_min = period_init_min
        self._period_init_max = period_init_max

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def _period_initializer(self, shape, dtype=dtypes.float32, partition_info=None):
        del partition_info
        low, high = math_ops.log(self._period_init_min), math_ops.log(self._period_init_max)
        return math_ops.exp(random_ops.random_uniform(shape, low, high, dtype))

    def call(self, inputs, state):
        c_prev, h_prev = state
        time, x = inputs
        parts = [x, h_prev] + ([c_prev] if self._use_peepholes else [])
        with vs.variable_scope("mask_gates"):
            mask_gates = math_ops.sigmoid(linear(parts, 2 * self._num_units, True))
            input_gate, forget_gate = array_ops.split(axis=1, num_or_size_splits=2, value=mask_gates)
        with vs.variable_scope("new_input"):
            new_input = math_ops.tanh(linear([x, h_prev], self._num_units, True))
        new_c = c_prev * forget_gate + input_gate * new_input
        parts = [x, h_prev] + ([new_c] if self._use_peepholes else [])
        with vs.variable_scope("output_gate"):
            output_gate = math_ops.sigmoid(linear(parts, self._num_units, True))
        new_h = math_ops.tanh(new_c) * output_gate

        period = vs.get_variable("period", [self._num_units], initializer=self._period_initializer)
        phase = vs.get_variable(
            "phase",
            [self._num_units],
            initializer=init_ops.random_uniform_initializer(0.0, period.initial_value),
        )
        ratio_on = vs.get_variable(
            "ratio_on",
            [self._num_units],
            initializer=init_ops.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        # In the type of the time, which may need more than float32. The rest of the division counts as the
        # time for gradients.
        shifted, length = time - math_ops.cast(phase, time.dtype), math_ops.cast(period, time.dtype)
        rest = array_ops.stop_gradient(math_ops.mod(shifted, length) - shifted) + shifted
        cycle = math_ops.cast(rest / length, dtypes.float32)
        k_up = 2 * cycle / ratio_on
        k_down = 2 - k_up
        k_closed = self._leak * cycle
        k = array_ops.where(cycle < ratio_on, k_down, k_closed)
        k = array_ops.where(cycle < 0.5 * ratio_on, k_up, k)
        new_c = k * new_c + (1 - k) * c_prev
        new_h = k * new_h + (1 - k) * h_prev
        return new_h, LSTMStateTuple(new_c, new_h)


class HighwayWrapper(RNNCell):
    """A cell whose output is mixed with its input by a gate (Srivastava et al. 2015)."""

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
        super().__init__()
        self._cell = cell
        self._couple_carry_transform_gates = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def _highway(self, inp, out):
        size = tensor_shape.dimension_value(inp.get_shape().with_rank(2).dims[1])

        def gate(name, bias):
            weight = vs.get_variable(name + "_w", [size, size], dtype=inp.dtype)
            biases = vs.get_variable(
                name + "_b",
                [size],
                initializer=init_ops.constant_initializer(bias, dtype=inp.dtype),
                dtype=inp.dtype,
            )
            return math_ops.sigmoid(nn_ops.xw_plus_b(inp, weight, biases))

        carry = gate("carry", self._carry_bias_init)
        if self._couple_carry_transform_gates:
            transform = 1 - carry
        else:
            transform = gate("transform", -self._carry_bias_init)
        return inp * carry + out * transform

    def __call__(self, inputs, state, scope=None):
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._highway, inputs, outputs), new_state


class AttentionCellWrapper(RNNCell):
    """A cell that attends to its last `attn_length` outputs (Bahdanau et al. 2014)."""

    def __init__(
        self,
        cell,
        attn_length,
        attn_size=None,
        attn_vec_size=None,
        input_size=None,
        state_is_tuple=True,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. "
                f"State size is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._state_is_tuple = state_is_tuple
        self._cell = cell
        self._attn_length = attn_length
        self._attn_size = attn_size or cell.output_size
        self._attn_vec_size = attn_vec_size or self._attn_size
        self._input_size = input_size

    @property
    def state_size(self):
        sizes = self._cell.state_size, self._attn_size, self._attn_size * self._attn_length
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        return self._attn_size

    def call(self, inputs, state):
        if not self._state_is_tuple:
            sizes = [self._cell.state_size, self._attn_size, self._attn_size * self._attn_length]
            state = array_ops.split(state, sizes, 1)
        state, attns, attn_states = state
        attn_states = array_ops.reshape(attn_states, [-1, self._attn_length, self._attn_size])
        input_size = self._input_size or tensor_shape.dimension_value(inputs.get_shape().dims[1])
        inputs = linear([inputs, attns], input_size, True)
        cell_output, new_state = self._cell(inputs, state)
        query = array_ops.concat(nest.flatten(new_state), 1)
        new_attns, new_attn_states = self._attention(query, attn_states)
        with vs.variable_scope("attn_output_projection"):
            output = linear([cell_output, new_attns], self._attn_size, True)
        new_attn_states = array_ops.concat([new_attn_states, array_ops.expand_dims(output, 1)], 1)
        new_attn_states = array_ops.reshape(new_attn_states, [-1, self._attn_length * self._attn_size])
        new_states = new_state, new_attns, new_attn_states
        return output, new_states if self._state_is_tuple else array_ops.concat(new_states, 1)

    def _attention(self, query, attn_states):
        with vs.variable_scope("attention"):
            k = vs.get_variable("attn_w", [1, 1, self._attn_size, self._attn_vec_size])
            v = vs.get_variable("attn_v", [self._attn_vec_size])
            hidden = array_ops.reshape(attn_states, [-1, self._attn_length, 1, self._attn_size])
            hidden_features = nn_ops.conv2d(hidden, k, [1, 1, 1, 1], "SAME")
            y = array_ops.reshape(linear(query, self._attn_vec_size, True), [-1, 1, 1, self._attn_vec_size])
            s = math_ops.reduce_sum(v * math_ops.tanh(hidden_features + y), [2, 3])
            a = array_ops.reshape(nn_ops.softmax(s), [-1, self._attn_length, 1, 1])
            d = math_ops.reduce_sum(a * hidden, [1, 2])
            new_attns = array_ops.reshape(d, [-1, self._attn_size])
            return new_attns, array_ops.slice(attn_states, [0, 1, 0], [-1, -1, -1])


class EmbeddingWrapper(RNNCell):
    """A cell whose inputs are ids [batch], embedded."""

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        super().__init__(_reuse=reuse)
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._cell = cell
        self._embedding_classes = embedding_classes
        self._embedding_size = embedding_size
        self._initializer = initializer

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs, state):
        with ops.device("/cpu:0"):
            initializer = self._initializer or vs.get_variable_scope().initializer
            if not initializer:
                bound = math.sqrt(3)
                initializer = init_ops.random_uniform_initializer(-bound, bound)
            dtype = nest.flatten(state)[0].dtype
            embedding = vs.get_variable(
                "embedding",
                [self._embedding_classes, self._embedding_size],
                initializer=initializer,
                dtype=dtype,
            )
            embedded = embedding_ops.embedding_lookup(embedding, array_ops.reshape(inputs, [-1]))
        return self._cell(embedded, state)


class InputProjectionWrapper(RNNCell):
    """A cell whose inputs are projected to `num_proj`."""

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(_reuse=reuse)
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        self._cell = cell
        self._num_proj = num_proj
        self._activation = activation

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs, state):
        projected = linear(inputs, self._num_proj, True)
        if self._activation:
            projected = self._activation(projected)
        return self._cell(projected, state)


class OutputProjectionWrapper(RNNCell):
    """A cell whose outputs are projected to `output_size`."""

    def __init__(self, cell, output_size, activation=None, reuse=None):
        super().__init__(_reuse=reuse)
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._cell = cell
        self._output_size = output_size
        self._activation = activation

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._output_size

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs, state):
        output, new_state = self._cell(inputs, state)
        projected = linear(output, self._output_size, True)
        if self._activation:
            projected = self._activation(projected)
        return projected, new_state


class ConvLSTMCell(RNNCell):
    """An LSTM whose products are convolutions of padding "SAME" in `conv_ndims` dimensions.

    Arguments:
      input_shape: of the inputs without the batch, channels last: a list.
      kernel_shape: of the convolutions' windows.
      skip_connection: whether the outputs have the inputs' channels after theirs.
      initializers: is not used.
    """

    def __init__(
        self,
        conv_ndims,
        input_shape,
        output_channels,
        kernel_shape,
        use_bias=True,
        skip_connection=False,
        forget_bias=1.0,
        initializers=None,
        name="conv_lstm_cell",
    ):
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims = conv_ndims
        self._input_shape = list(input_shape)
        self._output_channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._forget_bias = forget_bias
        self._skip_connection = skip_connection
        self._total_output_channels = output_channels + (self._input_shape[-1] if skip_connection else 0)
        state = tensor_shape.TensorShape(self._input_shape[:-1] + [output_channels])
        self._state_size = LSTMStateTuple(state, state)
        self._output_size = tensor_shape.TensorShape(self._input_shape[:-1] + [self._total_output_channels])

    @property
    def output_size(self):
        return self._output_size

    @property
    def state_size(self):
        return self._state_size

    def _conv(self, args):
        """All gates: the convolution of the arguments side by side, and the bias."""
        axis = self._conv_ndims + 1
        depth = sum(tensor_shape.dimension_value(arg.shape[axis]) for arg in args)
        features = 4 * self._output_channels
        dtype = args[0].dtype
        kernel = vs.get_variable("kernel", self._kernel_shape + [depth, features], dtype=dtype)
        convolve = (nn_ops.conv1d, nn_ops.conv2d, nn_ops.conv3d)[self._conv_ndims - 1]
        strides = 1 if self._conv_ndims == 1 else [1] * (self._conv_ndims + 2)
        made = convolve(array_ops.concat(args, axis), kernel, strides, padding="SAME")
        if not self._use_bias:
            return made
        zeros = init_ops.constant_initializer(0.0, dtype=dtype)
        return made + vs.get_variable("biases", [features], dtype=dtype, initializer=zeros)

    def call(self, inputs, state, scope=None):
        cell, hidden = state
        gates = array_ops.split(self._conv([inputs, hidden]), 4, axis=self._conv_ndims + 1)
        input_gate, new_input, forget_gate, output_gate = gates
        new_cell = math_ops.sigmoid(forget_gate + self._forget_bias) * cell
        new_cell += math_ops.sigmoid(input_gate) * math_ops.tanh(new_input)
        output = math_ops.tanh(new_cell) * math_ops.sigmoid(output_gate)
        if self._skip_connection:
            output = array_ops.concat([output, inputs], axis=-1)
        return output, LSTMStateTuple(new_cell, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell of sequences [batch, x, channels]."""

    def __init__(self, name="conv_1d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell of pictures [batch, y, x, channels]."""

    def __init__(self, name="conv_2d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell of volumes [batch, z, y, x, channels]."""

    def __init__(self, name="conv_3d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=3, name=name, **kwargs)


class _IndyCell(rnn_cell_impl.LayerRNNCell):
    """A cell whose units are independent: a unit's state has one weight for each gate, not a matrix (Li et
    al. 2018)."""

    def __init__(self, num_units, activation, kernel_initializer, bias_initializer, reuse, name, dtype):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation or math_ops.tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def _weights(self, inputs_shape, gates, scope="", kernel="kernel_w", bias=0.0):
        """(kernel of the inputs, weights of the state, bias) of so many gates."""
        depth = tensor_shape.dimension_value(inputs_shape[1])
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        size = gates * self._num_units
        bias_initializer = self._bias_initializer
        if bias_initializer is None:
            bias_initializer = init_ops.zeros_initializer(dtype=self.dtype)
            if bias:
                bias_initializer = init_ops.constant_initializer(bias, dtype=self.dtype)
        uniform = init_ops.random_uniform_initializer(minval=-1, maxval=1, dtype=self.dtype)
        return (
            self.add_variable(scope + kernel, shape=[depth, size], initializer=self._kernel_initializer),
            self.add_variable(f"{scope}kernel_u", shape=[1, size], initializer=uniform),
            self.add_variable(f"{scope}bias", shape=[size], initializer=bias_initializer),
        )

    @staticmethod
    def _gates(inputs, state, weights, count=1):
        kernel, of_state, bias = weights
        product = math_ops.matmul(inputs, kernel)
        state = array_ops.tile(state, [1, count]) if count > 1 else state
        return nn_ops.bias_add(product + state * of_state, bias)


class IndRNNCell(_IndyCell):
    """A plain cell of independent units."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None):
        super().__init__(num_units, activation, None, None, reuse, name, dtype)

    def build(self, inputs_shape):
        self._kernel_w, self._kernel_u, self._bias = self._weights(inputs_shape, 1)
        self.built = True

    def call(self, inputs, state):
        output = self._activation(self._gates(inputs, state, (self._kernel_w, self._kernel_u, self._bias)))
        return output, output


class IndyGRUCell(_IndyCell):
    """A GRU of independent units."""

    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
    ):
        super().__init__(num_units, activation, kernel_initializer, bias_initializer, reuse, name, dtype)

    def build(self, inputs_shape):
        self._of_gates = self._weights(inputs_shape, 2, "gates/", bias=1.0)
        self._of_candidate = self._weights(inputs_shape, 1, "candidate/", kernel="kernel")
        self.built = True

    def call(self, inputs, state):
        gates = math_ops.sigmoid(self._gates(inputs, state, self._of_gates, 2))
        r, u = array_ops.split(value=gates, num_or_size_splits=2, axis=1)
        c = self._activation(self._gates(inputs, r * state, self._of_candidate))
        new_h = u * state + (1 - u) * c
        return new_h, new_h


class IndyLSTMCell(_IndyCell):
    """An LSTM of independent units."""

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
    ):
        super().__init__(num_units, activation, kernel_initializer, bias_initializer, reuse, name, dtype)
        self._forget_bias = forget_bias

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape):
        self._kernel_w, self._kernel_u, self._bias = self._weights(inputs_shape, 4)
        self.built = True

    def call(self, inputs, state):
        axis = constant_op.constant(1, dtype=dtypes.int32)
        c, h = state
        gates = self._gates(inputs, h, (self._kernel_w, self._kernel_u, self._bias), 4)
        i, j, f, o = array_ops.split(value=gates, num_or_size_splits=4, axis=axis)
        forget_bias = constant_op.constant(self._forget_bias, dtype=f.dtype)
        kept = math_ops.multiply(c, math_ops.sigmoid(math_ops.add(f, forget_bias)))
        new_c = math_ops.add(kept, math_ops.multiply(math_ops.sigmoid(i), self._activation(j)))
        new_h = math_ops.multiply(self._activation(new_c), math_ops.sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h)


class _KerasLikeCell(rnn_cell_impl.LayerRNNCell):
    """A cell of one state whose activation and initializers may be names of Keras."""

    def __init__(
        self,
        units,
        activation="tanh",
        kernel_initializer="glorot_uniform",
        bias_initializer="ones",
        name=None,
        dtype=None,
        **kwargs,
    ):
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.input_spec = input_spec.InputSpec(ndim=2)
        self.units = units
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)

    @property
    def state_size(self):
        return self.units

    @property
    def output_size(self):
        return self.units

    @staticmethod
    def _input_size(inputs_shape):
        size = tensor_shape.dimension_value(inputs_shape[-1])
        if size is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        return size


class MinimalRNNCell(_KerasLikeCell):
    """MinimalRNN (Chen et al. 2018): one gate between the last state and a projection of the inputs."""

    def build(self, inputs_shape):
        rows = self._input_size(inputs_shape) + 2 * self.units  # of the projection, then of the gate
        self.kernel = self.add_weight(
            name="kernel", shape=[rows, self.units], initializer=self.kernel_initializer
        )
        self.bias = self.add_weight(name="bias", shape=[self.units], initializer=self.bias_initializer)
        self.built = True

    def call(self, inputs, state):
        sizes = [self._input_size(inputs.shape), 2 * self.units]
        of_projection, of_gate = array_ops.split(self.kernel, sizes, axis=0)
        projected = self.activation(math_ops.matmul(inputs, of_projection))
        gate = math_ops.matmul(array_ops.concat([projected, state], 1), of_gate)
        u = math_ops.sigmoid(nn_ops.bias_add(gate, self.bias))
        new_h = u * state + (1 - u) * projected
        return new_h, new_h


class CFNCell(_KerasLikeCell):
    """A chaos free network (Laurent and von Brecht 2017): one gate for the state, another for the inputs.

    The inputs count by 1 less their gate, so that they count little at first.
    """

    def build(self, inputs_shape):
        units, kernel = self.units, self.kernel_initializer
        # The columns of the kernel are those of both gates, then of the projection.
        shape = [self._input_size(inputs_shape), 3 * units]
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=kernel)
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=[units, 2 * units], initializer=kernel
        )
        self.bias = self.add_weight(name="bias", shape=[2 * units], initializer=self.bias_initializer)
        self.built = True

    def call(self, inputs, state):
        self._input_size(inputs.shape)
        of_gates, of_projection = array_ops.split(self.kernel, [2 * self.units, self.units], axis=1)
        gates = math_ops.matmul(state, self.recurrent_kernel) + math_ops.matmul(inputs, of_gates)
        gates = math_ops.sigmoid(nn_ops.bias_add(gates, self.bias))
        theta, eta = array_ops.split(gates, 2, axis=1)
        projected = math_ops.matmul(inputs, of_projection)
        new_h = theta * self.activation(state) + (1 - eta) * self.activation(projected)
        return new_h, new_h


class _NormalizedLSTMCell(RNNCell):
    """An LSTM with peepholes, clipping and a projection, whose subclass says what is normalized."""

    def __init__(
        self,
        num_units,
        use_peepholes,
        cell_clip,
        initializer,
        num_proj,
        proj_clip,
        forget_bias,
        activation,
        reuse,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or math_ops.tanh

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self):
        return self._num_proj or self._num_units

    def _linear(self, args, output_size, bias):
        """The arguments side by side times the kernel, and the bias, if there is one."""
        raise NotImplementedError

    def _normalized(self, tensor, name):
        """A gate, or the state."""
        return tensor

    def _variables_scope(self):
        return vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer)

    def call(self, inputs, state):
        c, h = state
        if tensor_shape.dimension_value(inputs.get_shape().with_rank(2)[1]) is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        sigmoid = math_ops.sigmoid
        with self._variables_scope():
            gates = array_ops.split(self._linear([inputs, h], 4 * self._num_units, bias=True), 4, axis=1)
            i, j, f, o = (
                self._normalized(*gate) for gate in zip(gates, ("input", "transform", "forget", "output"))
            )
            peepholes = [0.0, 0.0, 0.0]
            if self._use_peepholes:
                peepholes = [
                    vs.get_variable(name, [self._num_units], dtype=inputs.dtype)
                    for name in ("w_f_diag", "w_i_diag", "w_o_diag")
                ]
                f, i = f + peepholes[0] * c, i + peepholes[1] * c
            c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
            c = self._normalized(c, "state")
            if self._cell_clip is not None:
                c = clip_ops.clip_by_value(c, -self._cell_clip, self._cell_clip)
            if self._use_peepholes:
                o = o + peepholes[2] * c
            h = sigmoid(o) * self._activation(c)
            if self._num_proj is not None:
                with vs.variable_scope("projection"):
                    h = self._linear([h], self._num_proj, bias=False)
                if self._proj_clip is not None:
                    h = clip_ops.clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h)


class LayerNormLSTMCell(_NormalizedLSTMCell):
    """An LSTM; with `layer_norm` its gates and its state are normalized (Ba et al. 2016) and have no bias.

    norm_gain, norm_shift: what factors and shifts are at first.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        forget_bias=1.0,
        activation=None,
        layer_norm=False,
        norm_gain=1.0,
        norm_shift=0.0,
        reuse=None,
    ):
        super().__init__(
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias,
            activation,
            reuse,
        )
        self._layer_norm = layer_norm
        self._norm_gain = norm_gain
        self._norm_shift = norm_shift

    _norm = LayerNormBasicLSTMCell._norm

    def _normalized(self, tensor, name):
        return self._norm(tensor, name) if self._layer_norm else tensor

    def _linear(self, args, output_size, bias):
        product = linear(args, output_size, bias=False)
        if not bias:
            return product
        # Checkpoints have the bias also where it is not added.
        value = _unpartitioned_bias(output_size, args[0].dtype)
        return product if self._layer_norm else nn_ops.bias_add(product, value)


class WeightNormLSTMCell(_NormalizedLSTMCell):
    """An LSTM whose columns of weights are vectors of a learned length (Salimans and Kingma 2016).

    norm: False gives an LSTMCell.
    """

    def __init__(
        self,
        num_units,
        norm=True,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        forget_bias=1,
        activation=None,
        reuse=None,
    ):
        super().__init__(
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias,
            activation,
            reuse,
        )
        self._scope = "wn_lstm_cell"
        self._norm = norm

    def _variables_scope(self):
        return vs.variable_scope("wn_lstm_cell", initializer=self._initializer)

    def _linear(self, args, output_size, bias):
        sizes = [tensor_shape.dimension_value(arg.shape[1]) for arg in args]
        weights = vs.get_variable("kernel", [sum(sizes), output_size], dtype=args[0].dtype)
        if self._norm:
            # Outside of loops: the weights are normalized once, not in each step.
            with ops.control_dependencies(None):
                parts = [
                    nn_impl.l2_normalize(part, axis=0)
                    * vs.get_variable(f"norm_{i}", [output_size], dtype=part.dtype)
                    for i, part in enumerate(array_ops.split(weights, sizes, axis=0))
                ]
                weights = array_ops.concat(parts, axis=0)
        product = math_ops.matmul(args[0] if len(args) == 1 else array_ops.concat(args, 1), weights)
        if not bias:
            return product
        return nn_ops.bias_add(product, _unpartitioned_bias(output_size, args[0].dtype))


def _unpartitioned_bias(size, dtype):
    with vs.variable_scope(vs.get_variable_scope()) as scope:
        scope.set_partitioner(None)
        return vs.get_variable("bias", [size], dtype, init_ops.constant_initializer(0.0, dtype=dtype))


class GLSTMCell(RNNCell):
    """An LSTM of groups, each with its part of the inputs and of the output (Kuchaiev and Ginsburg 2017)."""

    def __init__(
        self,
        num_units,
        initializer=None,
        num_proj=None,
        number_of_groups=1,
        forget_bias=1.0,
        activation=math_ops.tanh,
        reuse=None,
    ):
        """num_proj: the size of a projection of the output, or None."""
        super().__init__(_reuse=reuse)
        if num_units % number_of_groups != 0:
            raise ValueError("num_units must be divisible by number_of_groups")
        if num_proj and num_proj % number_of_groups != 0:
            raise ValueError("num_proj must be divisible by number_of_groups")
        self._num_units = num_units
        self._initializer = initializer
        self._num_proj = num_proj
        self._forget_bias = forget_bias
        self._activation = activation
        self._number_of_groups = number_of_groups

    @property
    def state_size(self):
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self):
        return self._num_proj or self._num_units

    def call(self, inputs, state):
        c_prev, m_prev = state
        groups, input_size = self._number_of_groups, tensor_shape.dimension_value(inputs.shape[1])
        if input_size is None:
            raise ValueError("input size must be statically known")
        if input_size % groups != 0:
            raise ValueError(f"input size ({input_size}) must be divisible by number_of_groups ({groups})")
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            parts = []
            both = zip(array_ops.split(inputs, groups, 1), array_ops.split(m_prev, groups, 1))
            for group, (x, m) in enumerate(both):
                with vs.variable_scope(f"group{group}"):
                    product = linear([x, m], 4 * (self._num_units // groups), False)
                    parts.append(array_ops.split(product, 4, 1))

            def gate(name, of_groups):
                zeros = init_ops.constant_initializer(0.0, dtype=inputs.dtype)
                bias = vs.get_variable(
                    f"bias_{name}", shape=[self._num_units], dtype=inputs.dtype, initializer=zeros
                )
                return nn_ops.bias_add(array_ops.concat(of_groups, axis=1), bias)

            i, j, f, o = (gate(name, of_groups) for name, of_groups in zip("ijfo", zip(*parts)))
        c = math_ops.sigmoid(f + self._forget_bias) * c_prev + math_ops.sigmoid(i) * math_ops.tanh(j)
        m = math_ops.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with vs.variable_scope("projection"):
                m = linear(m, self._num_proj, False)
        return m, LSTMStateTuple(c, m)


def _frequency_windows(inputs, begin, size, feature_size, skip):
    """Windows of feature_size columns, each `skip` behind the one before, of `size` columns from `begin`."""
    count = int((size - feature_size) / skip) + 1
    return [inputs[:, begin + f * skip : begin + f * skip + feature_size] for f in range(count)]


def _known_depth(inputs):
    depth = tensor_shape.dimension_value(inputs.get_shape().with_rank(2).dims[-1])
    if depth is None:
        raise ValueError("Cannot infer input_size from static shape inference.")
    return depth


class TimeFreqLSTMCell(RNNCell):
    """An LSTM over windows of the inputs' features, within a step as well as from step to step (Li et al.
    2015).

    The state has the c and the m of each window side by side.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_unit_shards=1,
        forget_bias=1.0,
        feature_size=None,
        frequency_skip=1,
        reuse=None,
    ):
        """feature_size: the size of a window. frequency_skip: by which a window is behind the one before."""
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip

    @property
    def output_size(self):
        return self._num_units

    @property
    def state_size(self):
        return 2 * self._num_units

    def call(self, inputs, state):
        units, dtype, sigmoid = self._num_units, inputs.dtype, math_ops.sigmoid
        windows = _frequency_windows(
            inputs, 0, _known_depth(inputs), self._feature_size, self._frequency_skip
        )
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            w = _get_concat_variable(
                "W", [self._feature_size + 2 * units, 4 * units], dtype, self._num_unit_shards
            )
            b = vs.get_variable("B", [4 * units], dtype=dtype, initializer=init_ops.zeros_initializer())
            peepholes = [0.0, 0.0, 0.0]
            if self._use_peepholes:
                peepholes = [vs.get_variable(f"W_{g}_diag", shape=[units], dtype=dtype) for g in "FIO"]
        of_f, of_i, of_o = peepholes
        m, outputs, states = array_ops.zeros_like(inputs[:, :1]) * array_ops.zeros([1, units], dtype), [], []
        for number, window in enumerate(windows):
            c_prev = state[:, 2 * number * units : (2 * number + 1) * units]
            m_prev = state[:, (2 * number + 1) * units : (2 * number + 2) * units]
            product = nn_ops.bias_add(math_ops.matmul(array_ops.concat([window, m_prev, m], 1), w), b)
            i, j, f, o = array_ops.split(value=product, num_or_size_splits=4, axis=1)
            c = sigmoid(f + self._forget_bias + of_f * c_prev) * c_prev
            c = c + sigmoid(i + of_i * c_prev) * math_ops.tanh(j)
            if self._cell_clip is not None:
                c = clip_ops.clip_by_value(c, -self._cell_clip, self._cell_clip)
            m = sigmoid(o + of_o * c) * math_ops.tanh(c)
            outputs.append(m)
            states += [c, m]
        return array_ops.concat(outputs, 1), array_ops.concat(states, 1)


class GridLSTMCell(RNNCell):
    """Two LSTMs, over time and over windows of the inputs' features, which have each other's states
    (Kalchbrenner et al. 2015; Sainath and Li 2016)."""

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        share_time_frequency_weights=False,
        cell_clip=None,
        initializer=None,
        num_unit_shards=1,
        forget_bias=1.0,
        feature_size=None,
        frequency_skip=None,
        num_frequency_blocks=None,
        start_freqindex_list=None,
        end_freqindex_list=None,
        couple_input_forget_gates=False,
        state_is_tuple=True,
        reuse=None,
    ):
        """feature_size, frequency_skip: as those of TimeFreqLSTMCell. num_frequency_blocks: the number of
        windows of each block of features; the blocks begin and end at the indices of the two lists, or there
        is one. share_time_frequency_weights: both LSTMs have the same weights. couple_input_forget_gates: the
        forget gate is 1 - the input gate. state_is_tuple: the state is a tuple of the c and the m of each
        window.
        """
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._share_time_frequency_weights = share_time_frequency_weights
        self._couple_input_forget_gates = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size = feature_size
        self._frequency_skip = frequency_skip
        self._start_freqindex_list = start_freqindex_list
        self._end_freqindex_list = end_freqindex_list
        self._num_frequency_blocks = [int(n) for n in num_frequency_blocks]
        self._total_blocks = sum(self._num_frequency_blocks)
        self._output_size = num_units * self._total_blocks * 2
        if state_is_tuple:
            names = self._state_names("state")
            self._state_tuple_type = collections.namedtuple("GridLSTMStateTuple", names)
            self._state_size = self._state_tuple_type(*[num_units] * len(names))
        else:
            self._state_tuple_type = None
            self._state_size = self._output_size

    def _state_names(self, prefix):
        return [
            f"{prefix}_f{window:02d}_b{block:02d}_{part}"
            for block, count in enumerate(self._num_frequency_blocks)
            for window in range(count)
            for part in "cm"
        ]

    @property
    def output_size(self):
        return self._output_size

    @property
    def state_size(self):
        return self._state_size

    @property
    def state_tuple_type(self):
        return self._state_tuple_type

    def call(self, inputs, state):
        outputs, states = self._all_blocks(self._make_tf_features(inputs), state, "state")
        state = self._state_tuple_type(*states) if self._state_is_tuple else array_ops.concat(states, 1)
        return array_ops.concat(outputs, 1), state

    def _all_blocks(self, blocks, state, prefix):
        outputs, states = [], []
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
            for block, windows in enumerate(blocks):
                more_outputs, more_states = self._compute(windows, block, state, prefix)
                outputs += more_outputs
                states += more_states
        return outputs, states

    def _state_of(self, state, prefix, block, window):
        if self._state_is_tuple:
            name = f"{prefix}_f{window:02d}_b{block:02d}"
            return getattr(state, f"{name}_c"), getattr(state, f"{name}_m")
        units = self._num_units
        begin = 2 * units * (sum(self._num_frequency_blocks[:block]) + window)
        return state[:, begin : begin + units], state[:, begin + units : begin + 2 * units]

    def _direction(self, which, block, depth, dtype):
        """The kernel and the bias of the LSTM over frequency (f) or time (t)."""
        units, gates = self._num_units, 3 if self._couple_input_forget_gates else 4
        shape = [depth + 2 * units, gates * units]
        kernel = _get_concat_variable(f"W_{which}_{block}", shape, dtype, self._num_unit_shards)
        bias = vs.get_variable(
            f"B_{which}_{block}",
            shape=[gates * units],
            initializer=init_ops.zeros_initializer(),
            dtype=dtype,
        )
        return kernel, bias

    def _peepholes(self, which, block, dtype):
        """For each gate, the weights of the c over frequency and of the c over time."""
        if not self._use_peepholes:
            return {g: (0.0, 0.0) for g in "FIO"}
        return {
            g: [
                vs.get_variable(f"W_{g}_diag_{which}{of}_{block}", shape=[self._num_units], dtype=dtype)
                for of in "ft"
            ]
            for g in ("IO" if self._couple_input_forget_gates else "FIO")
        }

    def _compute(self, windows, block, state, prefix):
        """(the outputs of a block's windows, their new states)."""
        dtype, depth = windows[0].dtype, windows[0].get_shape().as_list()[1]
        of_freq = self._direction("f", block, depth, dtype)
        shares = self._share_time_frequency_weights
        of_time = of_freq if shares else self._direction("t", block, depth, dtype)
        peep_freq = self._peepholes("freq", block, dtype)
        peep_time = peep_freq if shares else self._peepholes("time", block, dtype)
        c_freq = array_ops.zeros_like(windows[0][:, :1]) * array_ops.zeros([1, self._num_units], dtype)
        m_freq, outputs, states = c_freq, [], []
        for number, window in enumerate(windows):
            c_time, m_time = self._state_of(state, prefix, block, number)
            cell_inputs = array_ops.concat([window, m_time, m_freq], 1)
            before = c_freq, c_time
            c_freq, o_freq = self._next_c(cell_inputs, of_freq, peep_freq, before, c_freq)
            c_time, o_time = self._next_c(cell_inputs, of_time, peep_time, before, c_time)
            m_freq = self._output(o_freq, peep_freq, c_freq, c_time, c_freq)
            m_time = self._output(o_time, peep_time, c_freq, c_time, c_time)
            states += [c_time, m_time]
            outputs += [m_time, m_freq]
        return outputs, states

    def _next_c(self, cell_inputs, weights, peepholes, before, c_prev):
        """(the next c, the output gate before its peepholes); before: the two last c's."""

        def gate(value, name):
            of_freq, of_time = peepholes[name]
            return math_ops.sigmoid(value + of_freq * before[0] + of_time * before[1])

        product = nn_ops.bias_add(math_ops.matmul(cell_inputs, weights[0]), weights[1])
        if self._couple_input_forget_gates:
            i, j, o = array_ops.split(value=product, num_or_size_splits=3, axis=1)
            i = gate(i, "I")
            f = 1.0 - i
        else:
            i, j, f, o = array_ops.split(value=product, num_or_size_splits=4, axis=1)
            i, f = gate(i, "I"), gate(f + self._forget_bias, "F")
        c = f * c_prev + i * math_ops.tanh(j)
        if self._cell_clip is not None:
            c = clip_ops.clip_by_value(c, -self._cell_clip, self._cell_clip)
        return c, o

    @staticmethod
    def _output(o, peepholes, c_freq, c_time, c):
        of_freq, of_time = peepholes["O"]
        return math_ops.sigmoid(o + of_freq * c_freq + of_time * c_time) * math_ops.tanh(c)

    def _make_tf_features(self, input_feat, slice_offset=0):
        """The windows of each block; slice_offset: by which they are moved, over zeros at the end."""
        depth, counts = _known_depth(input_feat), self._num_frequency_blocks
        if slice_offset:
            padding = [0, slice_offset] if slice_offset > 0 else [-slice_offset, 0]
            input_feat = array_ops.pad(input_feat, [[0, 0], padding])
            slice_offset = max(slice_offset, 0)
        begins, ends = self._start_freqindex_list, self._end_freqindex_list
        if not begins:
            if len(counts) != 1:
                raise ValueError(f"Length of num_frequency_blocks is not 1, but instead is {len(counts)}")
            begins, ends = [0], [depth]
        if len(begins) != len(ends):
            raise ValueError(
                f"Length of start and end freqindex_list does not match {len(begins)} {len(ends)}"
            )
        if len(counts) != len(begins):
            raise ValueError(
                "Length of num_frequency_blocks is not equal to start_freqindex_list "
                f"{len(counts)} {len(begins)}"
            )
        blocks = []
        for count, begin, end in zip(counts, begins, ends):
            windows = _frequency_windows(
                input_feat, begin + slice_offset, end - begin, self._feature_size, self._frequency_skip
            )
            if len(windows) != count:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {count} but gets {len(windows)}, please check the "
                    "input size and filter config are correct."
                )
            blocks.append(windows)
        return blocks


class BidirectionalGridLSTMCell(GridLSTMCell):
    """GridLSTMCells over the windows of features from the first to the last, and from the last to the
    first."""

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        share_time_frequency_weights=False,
        cell_clip=None,
        initializer=None,
        num_unit_shards=1,
        forget_bias=1.0,
        feature_size=None,
        frequency_skip=None,
        num_frequency_blocks=None,
        start_freqindex_list=None,
        end_freqindex_list=None,
        couple_input_forget_gates=False,
        backward_slice_offset=0,
        reuse=None,
    ):
        """backward_slice_offset: by which the windows of the second are moved."""
        super().__init__(
            num_units,
            use_peepholes,
            share_time_frequency_weights,
            cell_clip,
            initializer,
            num_unit_shards,
            forget_bias,
            feature_size,
            frequency_skip,
            num_frequency_blocks,
            start_freqindex_list,
            end_freqindex_list,
            couple_input_forget_gates,
            True,
            reuse,
        )
        self._backward_slice_offset = int(backward_slice_offset)
        names = self._state_names("fwd_state") + self._state_names("bwd_state")
        self._state_tuple_type = collections.namedtuple("BidirectionalGridLSTMStateTuple", names)
        self._state_size = self._state_tuple_type(*[num_units] * len(names))
        self._output_size *= 2

    def call(self, inputs, state):
        forward = backward = self._make_tf_features(inputs)
        if self._backward_slice_offset:
            backward = self._make_tf_features(inputs, self._backward_slice_offset)
        with vs.variable_scope("fwd"):
            outputs, states = self._all_blocks(forward, state, "fwd_state")
        with vs.variable_scope("bwd"):
            reverse = [windows[::-1] for windows in backward]
            more_outputs, more_states = self._all_blocks(reverse, state, "bwd_state")
        return array_ops.concat(outputs + more_outputs, 1), self._state_tuple_type(*states, *more_states)


class CompiledWrapper(rnn_cell_impl.RNNCell):
    """A cell whose steps are in a scope of tf.xla.experimental.jit_scope.

    compile_stateful: also its nodes of stateful ops, as random ones.
    """

    def __init__(self, cell, compile_stateful=False):
        self._cell = cell
        self._compile_stateful = compile_stateful

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        def is_compiled(node):
            return self._compile_stateful or not op_def_registry.get(node.op).is_stateful

        with jit.experimental_jit_scope(is_compiled):
            return self._cell(inputs, state, scope=scope)

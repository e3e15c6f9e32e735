"""Cells that tf.nn.rnn_cell does not have, and what wraps cells."""

import math

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.util import nest

__all__ = [
    "AttentionCellWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "EmbeddingWrapper",
    "HighwayWrapper",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LayerNormBasicLSTMCell",
    "NASCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "SRUCell",
    "UGRNNCell",
]

RNNCell = rnn_cell_impl.RNNCell
LSTMStateTuple = rnn_cell_impl.LSTMStateTuple


def _get_concat_variable(name, shape, dtype, num_shards):
    if num_shards != 1:
        raise NotImplementedError("cells of contrib.rnn: num_unit_shards and num_proj_shards other than 1")
    return vs.get_variable(name, shape, dtype=dtype)


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
        with vs.variable_scope(vs.get_variable_scope(), initializer=self._initializer):
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
    """An LSTM with layer normalization (Ba et al. 2016) and dropout of what is new (Semeniuta et al. 2016)."""

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
            rnn_matrix = linear([inputs, state], 2 * self._num_units, True)
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
                    inputs = linear(inputs, self._num_units, True)
            n_dim = i_dim = self._num_units
            matrix = linear([inputs, state], 2 * n_dim + 2 * i_dim, True)
            gh_act, h_act, gy_act, y_act = array_ops.split(
                matrix, num_or_size_splits=[n_dim, n_dim, i_dim, i_dim], axis=1
            )
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
    """An LSTM that is open in phases of learned periods; inputs are (time [batch, 1], features) (Neil et al. 2016)."""

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

    def call(self, inputs, state):
        c_prev, h_prev = state
        time, x = inputs
        dtype = x.dtype
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

        def period_initializer(shape, dtype=dtype, partition_info=None):
            from braid.tensorflow.python.ops import random_ops

            low, high = math.log(self._period_init_min), math.log(self._period_init_max)
            return math_ops.exp(random_ops.random_uniform(shape, low, high, dtype))

        period = vs.get_variable("period", [self._num_units], initializer=period_initializer, dtype=dtype)
        phase = vs.get_variable(
            "phase",
            [self._num_units],
            initializer=init_ops.random_uniform_initializer(0.0, 1.0),
            dtype=dtype,
        )
        ratio_on = vs.get_variable(
            "ratio_on",
            [self._num_units],
            initializer=init_ops.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
            dtype=dtype,
        )
        shifted = math_ops.floormod(math_ops.cast(time, dtype) - phase * period, period)
        cycle = shifted / period
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
            raise ValueError("Cell returns tuple of states, but the flag state_is_tuple is not set.")
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            raise NotImplementedError("AttentionCellWrapper(state_is_tuple=False): use the tuple")
        self._cell = cell
        self._attn_length = attn_length
        self._attn_size = attn_size or cell.output_size
        self._attn_vec_size = attn_vec_size or self._attn_size
        self._input_size = input_size

    @property
    def state_size(self):
        return self._cell.state_size, self._attn_size, self._attn_size * self._attn_length

    @property
    def output_size(self):
        return self._attn_size

    def call(self, inputs, state):
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
        return output, (new_state, new_attns, new_attn_states)

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

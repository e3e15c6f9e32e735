"""cuDNN's networks of LSTM, GRU and plain cells, computed on any device, and their weights in checkpoints.

All weights of a network are one vector ("opaque params"), which is laid out as cuDNN's: the weights of all
pseudo-layers (layer by layer, forward before backward), then the biases in the same order. A pseudo-layer
has one matrix [units, inputs] for each gate, one [units, outputs] for each gate, and as many biases of either
kind; with `num_proj` the projection [num_proj, units] follows its matrices. This list is cuDNN's canonical
form. The canonical form of TensorFlow is that of the cells (CudnnCompatibleLSTMCell), by which checkpoints
are written.
"""

import functools

from braid.tensorflow.contrib.rnn.python.ops import lstm_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.utils.generic_utils import to_snake_case
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_rnn_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.training.saving import saveable_object

CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"
CUDNN_LSTM = "lstm"
CUDNN_GRU = "gru"
CUDNN_RNN_RELU = "rnn_relu"
CUDNN_RNN_TANH = "rnn_tanh"
# half of them for the inputs, half for the outputs of the step before
CUDNN_LSTM_PARAMS_PER_LAYER = 8
CUDNN_GRU_PARAMS_PER_LAYER = 6
CUDNN_RNN_TANH_PARAMS_PER_LAYER = 2
CUDNN_RNN_RELU_PARAMS_PER_LAYER = 2
CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_INPUT_SKIP_MODE = "skip_input"
CUDNN_INPUT_AUTO_MODE = "auto_select"

_PARAMS_PER_LAYER = {
    CUDNN_LSTM: CUDNN_LSTM_PARAMS_PER_LAYER,
    CUDNN_GRU: CUDNN_GRU_PARAMS_PER_LAYER,
    CUDNN_RNN_RELU: CUDNN_RNN_RELU_PARAMS_PER_LAYER,
    CUDNN_RNN_TANH: CUDNN_RNN_TANH_PARAMS_PER_LAYER,
}


class CudnnCompatibleLSTMCell(lstm_ops.LSTMBlockCell):
    """The LSTM of cuDNN: nothing is added to the forget gate."""

    def __init__(self, num_units, reuse=None):
        super().__init__(
            num_units,
            forget_bias=0,
            cell_clip=None,
            use_peephole=False,
            reuse=reuse,
            name="cudnn_compatible_lstm_cell",
        )


class CudnnCompatibleGRUCell(rnn_cell_impl.GRUCell):
    """The GRU of cuDNN: the reset gate applies after the product with the state, which has its own bias."""

    def __init__(self, num_units, reuse=None, kernel_initializer=None):
        super().__init__(num_units, activation=None, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, inputs_shape):
        depth = tensor_shape.dimension_value(inputs_shape[1])
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        units = self._num_units

        def kernel(name, shape):
            return self.add_variable(name, shape=shape, initializer=self._kernel_initializer)

        def bias(name, shape, initializer):
            if self._bias_initializer is not None:
                initializer = self._bias_initializer
            return self.add_variable(name, shape=shape, initializer=initializer)

        zeros = init_ops.zeros_initializer(dtype=self.dtype)
        self._gate_kernel = kernel("gates/kernel", [depth + units, 2 * units])
        self._gate_bias = bias(
            "gates/bias", [2 * units], init_ops.constant_initializer(1.0, dtype=self.dtype)
        )
        self._candidate_input_kernel = kernel("candidate/input_projection/kernel", [depth, units])
        self._candidate_hidden_kernel = kernel("candidate/hidden_projection/kernel", [units, units])
        self._candidate_input_bias = bias("candidate/input_projection/bias", [units], zeros)
        self._candidate_hidden_bias = bias("candidate/hidden_projection/bias", [units], zeros)
        self.built = True

    def call(self, inputs, state):
        gates = math_ops.matmul(array_ops.concat([inputs, state], 1), self._gate_kernel)
        value = math_ops.sigmoid(nn_ops.bias_add(gates, self._gate_bias))
        r, u = array_ops.split(value=value, num_or_size_splits=2, axis=1)
        hidden = nn_ops.bias_add(
            math_ops.matmul(state, self._candidate_hidden_kernel), self._candidate_hidden_bias
        )
        candidate = math_ops.matmul(inputs, self._candidate_input_kernel)
        candidate = nn_ops.bias_add(candidate + r * hidden, self._candidate_input_bias)
        new_h = (1 - u) * self._activation(candidate) + u * state
        return new_h, new_h


def _check_rnn_mode(rnn_mode):
    if rnn_mode not in _PARAMS_PER_LAYER:
        modes = ", ".join((CUDNN_LSTM, CUDNN_GRU, CUDNN_RNN_TANH, CUDNN_RNN_RELU))
        raise ValueError(f"Invalid rnn_mode: {rnn_mode}, expect one of ({modes})")


def check_direction(direction):
    """ValueError: not "unidirectional" or "bidirectional"."""
    if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
        raise ValueError(
            f"Invalid direction: {direction}, expecting {CUDNN_RNN_UNIDIRECTION} or {CUDNN_RNN_BIDIRECTION}"
        )


def check_input_mode(input_mode):
    """ValueError: not "linear_input", "skip_input" or "auto_select"."""
    modes = CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_SKIP_MODE, CUDNN_INPUT_AUTO_MODE
    if input_mode not in modes:
        raise ValueError(f"Invalid input_mode: {input_mode}, expect one of ({', '.join(modes)})")


class _Network:
    """What a network is, without its weights."""

    def __init__(self, rnn_mode, num_layers, num_units, input_size, input_mode, direction, num_proj=None):
        _check_rnn_mode(rnn_mode)
        check_direction(direction)
        check_input_mode(input_mode)
        if num_proj and rnn_mode != CUDNN_LSTM:
            raise ValueError(f"num_proj: only an LSTM has a projection, not {rnn_mode}")
        self.rnn_mode, self.num_layers, self.num_units = rnn_mode, num_layers, num_units
        self.input_size, self.num_proj = input_size, num_proj or None
        self.num_dirs = 1 if direction == CUDNN_RNN_UNIDIRECTION else 2
        self.gates = _PARAMS_PER_LAYER[rnn_mode] // 2
        self.output_size = self.num_proj or num_units
        self.skips = input_mode == CUDNN_INPUT_SKIP_MODE or (
            input_mode == CUDNN_INPUT_AUTO_MODE and input_size == num_units
        )
        if self.skips and input_size != num_units:
            raise ValueError(
                f"skip_input: the inputs have {input_size} elements, which are to be {num_units} as the units"
            )

    def _weight_shapes(self, layer):
        """Of a pseudo-layer. The inputs of a layer that skips the product have matrices without elements."""
        depth = self.input_size if layer == 0 else self.num_dirs * self.output_size
        of_inputs = [0, 0] if layer == 0 and self.skips else [self.num_units, depth]
        shapes = [of_inputs] * self.gates + [[self.num_units, self.output_size]] * self.gates
        return shapes + ([[self.num_proj, self.num_units]] if self.num_proj else [])

    def weight_shapes(self):
        shapes = []
        for layer in range(self.num_layers):
            shapes += self._weight_shapes(layer) * self.num_dirs
        return shapes

    def num_biases(self):
        return 2 * self.gates * self.num_dirs * self.num_layers

    def size(self):
        weights = sum(rows * columns for rows, columns in self.weight_shapes())
        return weights + self.num_biases() * self.num_units

    def to_canonical(self, params):
        """(weights, biases) of opaque params."""
        shapes = self.weight_shapes()
        sizes = [rows * columns for rows, columns in shapes] + [self.num_units] * self.num_biases()
        params = array_ops.reshape(ops.convert_to_tensor(params), [-1])
        parts = array_ops.split(params, sizes)
        weights = [array_ops.reshape(part, shape) for part, shape in zip(parts, shapes)]
        return weights, parts[len(shapes) :]

    def to_opaque(self, weights, biases):
        """Opaque params of weights, of which the shape may be any other with as many elements, and biases."""
        shapes = self.weight_shapes()
        if len(weights) != len(shapes) or len(biases) != self.num_biases():
            raise ValueError(
                f"{self.rnn_mode} of {self.num_layers} layers has {len(shapes)} weights and "
                f"{self.num_biases()} biases, saw {len(weights)} and {len(biases)}"
            )
        expected = [rows * columns for rows, columns in shapes] + [self.num_units] * self.num_biases()
        parts = []
        for part, size in zip([*weights, *biases], expected):
            part = ops.convert_to_tensor(part)
            known = part.get_shape().num_elements()
            if known is not None and known != size:
                raise ValueError(f"Params size mismatch. Expected {size}, got {known}")
            parts.append(array_ops.reshape(part, [size]))
        return array_ops.concat(parts, 0)

    def layers(self, params):
        """[[(weights, biases) for each direction] for each layer] of opaque params."""
        weights, biases = self.to_canonical(params)
        per_layer, biases_per_layer = len(self._weight_shapes(0)), 2 * self.gates
        pairs = [
            (
                weights[i * per_layer : (i + 1) * per_layer],
                biases[i * biases_per_layer : (i + 1) * biases_per_layer],
            )
            for i in range(self.num_layers * self.num_dirs)
        ]
        return [pairs[i : i + self.num_dirs] for i in range(0, len(pairs), self.num_dirs)]


class _Step(rnn_cell_impl.RNNCell):
    """A cell that is a function of (inputs, state), without variables."""

    def __init__(self, step, state_size, output_size):
        super().__init__()
        self._step, self._state_size, self._output_size = step, state_size, output_size

    @property
    def state_size(self):
        return self._state_size

    @property
    def output_size(self):
        return self._output_size

    def __call__(self, inputs, state, scope=None):
        return self._step(inputs, state)


def _lstm_step(recurrent, projection, of_inputs, state):
    c, h = state
    i, f, new, o = array_ops.split(of_inputs + math_ops.matmul(h, recurrent), 4, axis=1)
    c = math_ops.sigmoid(f) * c + math_ops.sigmoid(i) * math_ops.tanh(new)
    h = math_ops.sigmoid(o) * math_ops.tanh(c)
    if projection is not None:
        h = math_ops.matmul(h, projection)
    return h, rnn_cell_impl.LSTMStateTuple(c, h)


def _gru_step(recurrent, bias, of_inputs, h):
    of_r, of_u, of_new = array_ops.split(of_inputs, 3, axis=1)
    r, u, new = array_ops.split(nn_ops.bias_add(math_ops.matmul(h, recurrent), bias), 3, axis=1)
    u = math_ops.sigmoid(of_u + u)
    new = math_ops.tanh(of_new + math_ops.sigmoid(of_r + r) * new)
    h = (1 - u) * new + u * h
    return h, h


def _plain_step(recurrent, activation, of_inputs, h):
    h = activation(of_inputs + math_ops.matmul(h, recurrent))
    return h, h


def _transposed(matrices):
    """[columns, rows of all matrices]."""
    return array_ops.transpose(array_ops.concat(matrices, 0))


def _pseudo_layer(network, weights, biases, x, h, c, sequence_lengths):
    """(outputs, h, c) of one direction of a layer whose inputs are [time, batch, depth]."""
    gates, units = network.gates, network.num_units
    of_inputs, recurrent = weights[:gates], _transposed(weights[gates : 2 * gates])
    input_bias, bias = array_ops.concat(biases[:gates], 0), array_ops.concat(biases[gates:], 0)
    skips = of_inputs[0].get_shape().num_elements() == 0
    if network.rnn_mode == CUDNN_LSTM and not skips and not network.num_proj and x.dtype == dtypes.float32:
        return _block_lstm(network, weights, input_bias + bias, x, h, c, sequence_lengths)
    if skips:
        projected = array_ops.tile(x, [1, 1, gates])
    else:
        kernel = _transposed(of_inputs)
        flat = math_ops.matmul(array_ops.reshape(x, [-1, kernel.get_shape()[0].value]), kernel)
        shape = array_ops.concat([array_ops.shape(x)[:2], [gates * units]], 0)
        projected = array_ops.reshape(flat, shape)
        projected.set_shape(x.get_shape()[:2].concatenate([gates * units]))
    if network.rnn_mode == CUDNN_LSTM:
        projection = array_ops.transpose(weights[-1]) if network.num_proj else None
        step = functools.partial(_lstm_step, recurrent, projection)
        sizes, state = rnn_cell_impl.LSTMStateTuple(units, network.output_size), (c, h)
        state = rnn_cell_impl.LSTMStateTuple(*state)
        projected = nn_ops.bias_add(projected, input_bias + bias)
    elif network.rnn_mode == CUDNN_GRU:
        step, sizes, state = functools.partial(_gru_step, recurrent, bias), units, h
        projected = nn_ops.bias_add(projected, input_bias)
    else:
        activation = math_ops.tanh if network.rnn_mode == CUDNN_RNN_TANH else nn_ops.relu
        step, sizes, state = functools.partial(_plain_step, recurrent, activation), units, h
        projected = nn_ops.bias_add(projected, input_bias + bias)
    cell = _Step(step, sizes, network.output_size)
    outputs, state = rnn.dynamic_rnn(
        cell, projected, sequence_length=sequence_lengths, initial_state=state, time_major=True
    )
    return (outputs, state.h, state.c) if network.rnn_mode == CUDNN_LSTM else (outputs, state, None)


def _block_lstm(network, weights, bias, x, h, c, sequence_lengths):
    """_pseudo_layer() of an LSTM by the op for all steps, whose gates are in the order i, ci, f, o."""
    units = network.num_units
    w, r = weights[:4], weights[4:8]
    rows = [array_ops.concat([w[gate], r[gate]], 1) for gate in (0, 2, 1, 3)]
    b = array_ops.split(bias, 4)
    steps = array_ops.shape(x)[0]
    zeros = array_ops.zeros([units], dtype=x.dtype)
    longest = steps if sequence_lengths is None else math_ops.reduce_max(sequence_lengths)
    _, all_c, _, _, _, _, all_h = gen_rnn_ops.block_lstm(
        seq_len_max=math_ops.cast(longest, dtypes.int64),
        x=x,
        cs_prev=c,
        h_prev=h,
        w=_transposed(rows),
        wci=zeros,
        wcf=zeros,
        wco=zeros,
        b=array_ops.concat([b[0], b[2], b[1], b[3]], 0),
        forget_bias=0.0,
        cell_clip=-1.0,
        use_peephole=False,
    )
    if sequence_lengths is None:
        return all_h, all_h[-1], all_c[-1]
    mask = array_ops.transpose(array_ops.sequence_mask(sequence_lengths, steps, dtype=x.dtype))
    all_h *= array_ops.expand_dims(mask, -1)
    rows = math_ops.range(array_ops.shape(x)[1], dtype=sequence_lengths.dtype)
    last = array_ops.stack([sequence_lengths - 1, rows], axis=1)
    return all_h, array_ops.gather_nd(all_h, last), array_ops.gather_nd(all_c, last)


def _reversed(x, sequence_lengths):
    """x of [time, batch, depth] from its last step to its first."""
    if sequence_lengths is None:
        return array_ops.reverse(x, [0])
    return array_ops.reverse_sequence(x, sequence_lengths, seq_axis=0, batch_axis=1)


def _run(network, x, h, c, params, dropout, seed, sequence_lengths):
    """(outputs, h, c) of inputs [time, batch, depth] and states [layers * directions, batch, units]."""
    x = array_ops.ensure_shape(x, [None, None, network.input_size])
    h = array_ops.ensure_shape(h, [network.num_layers * network.num_dirs, None, network.output_size])
    hs, cs = array_ops.unstack(h), None
    if network.rnn_mode == CUDNN_LSTM:
        c = array_ops.ensure_shape(c, [len(hs), None, network.num_units])
        cs = array_ops.unstack(c)
    last_h, last_c = [], []
    for layer, directions in enumerate(network.layers(params)):
        if layer and dropout:
            x = nn_ops.dropout(x, rate=dropout, seed=None if seed is None else seed + layer - 1)
        outputs = []
        for direction, (weights, biases) in enumerate(directions):
            with ops.name_scope(f"layer_{layer}_{'bw' if direction else 'fw'}"):
                at = layer * network.num_dirs + direction
                inputs = _reversed(x, sequence_lengths) if direction else x
                output, new_h, new_c = _pseudo_layer(
                    network, weights, biases, inputs, hs[at], cs and cs[at], sequence_lengths
                )
                outputs.append(_reversed(output, sequence_lengths) if direction else output)
                last_h.append(new_h)
                last_c.append(new_c)
        x = outputs[0] if len(outputs) == 1 else array_ops.concat(outputs, 2)
    new_c = array_ops.stack(last_c) if cs else array_ops.constant([], dtype=x.dtype)
    return x, array_ops.stack(last_h), new_c


def _network_of_shapes(rnn_mode, inputs, input_h, input_c, time_major, input_mode, direction, num_proj):
    """The network of functions that do not get its sizes."""
    depth = tensor_shape.dimension_value(inputs.get_shape().with_rank(3)[2])
    state = input_h.get_shape().with_rank(3)
    count = tensor_shape.dimension_value(state[0 if time_major else 1])
    units = tensor_shape.dimension_value(state[2])
    if rnn_mode == CUDNN_LSTM and num_proj:
        units = tensor_shape.dimension_value(input_c.get_shape().with_rank(3)[2])
    if None in (depth, count, units):
        raise ValueError(
            "CudnnRNN: the depth of the inputs, the layers and the units of the states need to be known: "
            f"{inputs.get_shape()}, {state}"
        )
    num_dirs = 1 if direction == CUDNN_RNN_UNIDIRECTION else 2
    return _Network(rnn_mode, count // num_dirs, units, depth, input_mode, direction, num_proj)


def _cudnn_rnn(
    inputs,
    input_h,
    input_c,
    params,
    is_training,
    rnn_mode,
    sequence_lengths=None,
    time_major=True,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0.0,
    seed=0,
    num_proj=None,
    name=None,
    network=None,
):
    """(outputs, h, c) of a network with opaque params.

    network: what the arguments and shapes say otherwise.
    time_major: inputs and outputs are [time, batch, depth], states [layers * directions, batch, units];
    False: [batch, time, depth] and [batch, layers * directions, units].
    sequence_lengths: [batch]: later outputs are zero, and the states are those of the last steps.
    """
    with ops.name_scope(name, "CudnnRNN", [inputs, input_h, input_c, params, sequence_lengths]):
        inputs = ops.convert_to_tensor(inputs)
        input_h = ops.convert_to_tensor(input_h, dtype=inputs.dtype)
        if rnn_mode == CUDNN_LSTM:
            input_c = ops.convert_to_tensor(input_c, dtype=inputs.dtype)
        if network is None:
            network = _network_of_shapes(
                rnn_mode, inputs, input_h, input_c, time_major, input_mode, direction, num_proj
            )
        if sequence_lengths is not None:
            sequence_lengths = ops.convert_to_tensor(sequence_lengths)
        if not time_major:
            inputs, input_h = (array_ops.transpose(t, [1, 0, 2]) for t in (inputs, input_h))
            if rnn_mode == CUDNN_LSTM:
                input_c = array_ops.transpose(input_c, [1, 0, 2])
        outputs, output_h, output_c = _run(
            network, inputs, input_h, input_c, params, dropout if is_training else 0, seed, sequence_lengths
        )
        if not time_major:
            outputs, output_h = (array_ops.transpose(t, [1, 0, 2]) for t in (outputs, output_h))
            if rnn_mode == CUDNN_LSTM:
                output_c = array_ops.transpose(output_c, [1, 0, 2])
        return outputs, output_h, output_c


def cudnn_lstm(
    inputs,
    input_h,
    input_c,
    params,
    is_training,
    sequence_lengths=None,
    time_major=True,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0.0,
    seed=0,
    num_proj=None,
    name=None,
):
    """(outputs, h, c) of an LSTM: see _cudnn_rnn()."""
    return _cudnn_rnn(
        inputs,
        input_h,
        input_c,
        params,
        is_training,
        CUDNN_LSTM,
        sequence_lengths,
        time_major,
        input_mode,
        direction,
        dropout,
        seed,
        num_proj,
        name,
    )


def _cudnn_rnn_no_input_c(
    inputs,
    input_h,
    params,
    is_training,
    rnn_mode,
    sequence_lengths=None,
    time_major=True,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0.0,
    seed=0,
    name=None,
):
    """(outputs, h) of a network whose cells have one state."""
    outputs, output_h, _ = _cudnn_rnn(
        inputs,
        input_h,
        None,
        params,
        is_training,
        rnn_mode,
        sequence_lengths,
        time_major,
        input_mode,
        direction,
        dropout,
        seed,
        None,
        name,
    )
    return outputs, output_h


def cudnn_gru(
    inputs,
    input_h,
    params,
    is_training,
    sequence_lengths=None,
    time_major=True,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0.0,
    seed=0,
    name=None,
):
    """(outputs, h) of a GRU: see _cudnn_rnn()."""
    return _cudnn_rnn_no_input_c(
        inputs,
        input_h,
        params,
        is_training,
        CUDNN_GRU,
        sequence_lengths,
        time_major,
        input_mode,
        direction,
        dropout,
        seed,
        name,
    )


def cudnn_rnn_relu(
    inputs,
    input_h,
    params,
    is_training,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0.0,
    seed=0,
    sequence_lengths=None,
    time_major=True,
    name=None,
):
    """(outputs, h) of plain cells with relu: see _cudnn_rnn()."""
    return _cudnn_rnn_no_input_c(
        inputs,
        input_h,
        params,
        is_training,
        CUDNN_RNN_RELU,
        sequence_lengths,
        time_major,
        input_mode,
        direction,
        dropout,
        seed,
        name,
    )


def cudnn_rnn_tanh(
    inputs,
    input_h,
    params,
    is_training,
    sequence_lengths=None,
    time_major=True,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0.0,
    seed=0,
    name=None,
):
    """(outputs, h) of plain cells with tanh: see _cudnn_rnn()."""
    return _cudnn_rnn_no_input_c(
        inputs,
        input_h,
        params,
        is_training,
        CUDNN_RNN_TANH,
        sequence_lengths,
        time_major,
        input_mode,
        direction,
        dropout,
        seed,
        name,
    )


def cudnn_rnn_opaque_params_to_canonical(
    rnn_mode,
    num_layers,
    num_units,
    input_size,
    params,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0,
    seed=0,
    num_proj=None,
    name=None,
):
    """(weights, biases) of opaque params, in cuDNN's canonical form."""
    network = _Network(rnn_mode, num_layers, num_units, input_size, input_mode, direction, num_proj)
    with ops.name_scope(name, "CudnnRNNParamsToCanonical", [params]):
        return network.to_canonical(params)


def cudnn_rnn_canonical_to_opaque_params(
    rnn_mode,
    num_layers,
    num_units,
    input_size,
    weights,
    biases,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dropout=0,
    seed=0,
    num_proj=None,
    name=None,
):
    """Opaque params of weights and biases in cuDNN's canonical form."""
    network = _Network(rnn_mode, num_layers, num_units, input_size, input_mode, direction, num_proj)
    with ops.name_scope(name, "CudnnRNNCanonicalToParams", [*weights, *biases]):
        return network.to_opaque(weights, biases)


def cudnn_rnn_opaque_params_size(
    rnn_mode,
    num_layers,
    num_units,
    input_size,
    input_mode=CUDNN_INPUT_LINEAR_MODE,
    direction=CUDNN_RNN_UNIDIRECTION,
    dtype=dtypes.float32,
    dropout=0,
    seed=0,
    num_proj=None,
    name=None,
):
    """The number of elements of the opaque params: a tensor."""
    network = _Network(rnn_mode, num_layers, num_units, input_size, input_mode, direction, num_proj)
    return array_ops.constant(network.size(), dtype=dtypes.int32, name=name or "CudnnRNNParamsSize")


class CudnnParamsFormatConverter:
    """Opaque params to weights as TensorFlow's cells have them, and back.

    A subclass has `_rnn_mode`, `_num_params_per_layer` and the conversion of a pseudo-layer.
    """

    _rnn_mode = _num_params_per_layer = None

    def __init__(
        self,
        num_layers,
        num_units,
        input_size,
        num_proj=None,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
    ):
        self._num_layers, self._num_units, self._input_size = num_layers, num_units, input_size
        self._num_proj, self._input_mode, self._direction = num_proj, input_mode, direction
        self._num_dirs = 1 if direction == CUDNN_RNN_UNIDIRECTION else 2
        self._num_params = self._num_params_per_layer * num_layers * self._num_dirs

    def _network(self):
        return _Network(
            self._rnn_mode,
            self._num_layers,
            self._num_units,
            self._input_size,
            self._input_mode,
            self._direction,
            self._num_proj,
        )

    def tf_canonical_to_opaque(self, tf_canonicals, weights_proj=None):
        """Opaque params. tf_canonicals: the weights, then the biases. weights_proj: those of projections."""
        return self._cu_canonical_to_opaque(*self._tf_canonical_to_cu_canonical(tf_canonicals, weights_proj))

    def opaque_to_tf_canonical(self, opaque_param):
        """(weights, biases), and the weights of projections where there are some."""
        return self._cu_canonical_to_tf_canonical(*self._opaque_to_cu_canonical(opaque_param))

    def _opaque_to_cu_canonical(self, opaque_param):
        return self._network().to_canonical(opaque_param)

    def _cu_canonical_to_opaque(self, cu_weights, cu_biases):
        return self._network().to_opaque(cu_weights, cu_biases)

    def _cu_canonical_to_tf_canonical(self, cu_weights, cu_biases):
        pseudo_layers = self._num_layers * self._num_dirs
        per_weights, per_biases = len(cu_weights) // pseudo_layers, len(cu_biases) // pseudo_layers
        tf_weights, tf_biases, tf_weights_proj = [], [], []
        for i in range(pseudo_layers):
            self._cu_canonical_to_tf_canonical_single_layer(
                cu_weights[i * per_weights : (i + 1) * per_weights],
                cu_biases[i * per_biases : (i + 1) * per_biases],
                tf_weights,
                tf_biases,
                tf_weights_proj,
            )
        return (tf_weights, tf_biases, tf_weights_proj) if self._num_proj else (tf_weights, tf_biases)

    def _cu_canonical_to_tf_canonical_single_layer(
        self, cu_weights, cu_biases, tf_weights, tf_biases, tf_weights_proj=None
    ):
        """Adds what a pseudo-layer has to the lists."""
        weights = list(self._cudnn_to_tf_weights(*cu_weights))
        if self._num_proj:
            tf_weights_proj.append(weights.pop())
        tf_weights.extend(weights)
        tf_biases.extend(self._cudnn_to_tf_biases(*cu_biases))

    def _tf_canonical_to_cu_canonical(self, tf_canonicals, weights_proj):
        half = len(tf_canonicals) // 2
        weights, biases = tf_canonicals[:half], tf_canonicals[half:]
        pseudo_layers = self._num_layers * self._num_dirs
        per = half // pseudo_layers
        cu_weights, cu_biases = [], []
        for i in range(pseudo_layers):
            part = slice(i * per, (i + 1) * per)
            cu_weights.extend(self._tf_to_cudnn_weights(i // self._num_dirs, *weights[part]))
            if weights_proj is not None:
                cu_weights.append(array_ops.transpose(weights_proj[i]))
            cu_biases.extend(self._tf_to_cudnn_biases(*biases[part]))
        return cu_weights, cu_biases

    def _widths(self, layer):
        """The number of inputs, and of outputs of the step before, of a layer."""
        width = self._num_proj or self._num_units
        return [self._input_size if layer == 0 else width * self._num_dirs, width]

    def _cudnn_to_tf_weights(self, *cu_weights):
        raise NotImplementedError("Abstract method")

    def _tf_to_cudnn_weights(self, layer, *tf_weights):
        raise NotImplementedError("Abstract method")

    def _cudnn_to_tf_biases(self, *biases):
        raise NotImplementedError("Abstract method")

    def _tf_to_cudnn_biases(self, *tf_biases):
        raise NotImplementedError("Abstract method")


class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    """The weights of LSTMs: "kernel" [inputs + outputs, 4 * units] and "bias" of the gates i, c, f, o."""

    _rnn_mode = CUDNN_LSTM
    _num_params_per_layer = CUDNN_LSTM_PARAMS_PER_LAYER

    def _cudnn_to_tf_gate_params(self, *cu_gate_order):
        i, f, c, o = cu_gate_order
        return [i, c, f, o]

    def _tf_to_cudnn_gate_params(self, *tf_gate_order):
        i, c, f, o = tf_gate_order
        return [i, f, c, o]

    def _cudnn_to_tf_weights(self, *cu_weights):
        gates = [array_ops.concat([cu_weights[i], cu_weights[4 + i]], 1) for i in range(4)]
        kernel = _transposed(self._cudnn_to_tf_gate_params(*gates))
        return (kernel, array_ops.transpose(cu_weights[8])) if self._num_proj else (kernel,)

    def _tf_to_cudnn_weights(self, layer, *tf_weights):
        (kernel,) = tf_weights
        gates = self._tf_to_cudnn_gate_params(*array_ops.split(array_ops.transpose(kernel), 4, axis=0))
        pairs = [array_ops.split(gate, self._widths(layer), axis=1) for gate in gates]
        return tuple(w for w, _ in pairs) + tuple(r for _, r in pairs)

    def _cudnn_to_tf_biases(self, *cu_biases):
        sums = [cu_biases[i] + cu_biases[4 + i] for i in range(4)]
        return (array_ops.concat(self._cudnn_to_tf_gate_params(*sums), 0),)

    def _tf_to_cudnn_biases(self, *tf_biases):
        (bias,) = tf_biases
        halves = tuple(0.5 * b for b in self._tf_to_cudnn_gate_params(*array_ops.split(bias, 4, axis=0)))
        return halves + halves


class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """The weights of CudnnCompatibleGRUCell: of the gates r, u, of candidates by inputs and by state."""

    _rnn_mode = CUDNN_GRU
    _num_params_per_layer = CUDNN_GRU_PARAMS_PER_LAYER

    def _cudnn_to_tf_weights(self, *cu_weights):
        w_r, w_u, w_h, r_r, r_u, r_h = cu_weights
        gates = [array_ops.concat([w_r, r_r], 1), array_ops.concat([w_u, r_u], 1)]
        return _transposed(gates), array_ops.transpose(w_h), array_ops.transpose(r_h)

    def _tf_to_cudnn_weights(self, layer, *tf_weights):
        gates, w_h, r_h = (array_ops.transpose(w) for w in tf_weights)
        pairs = [array_ops.split(g, self._widths(layer), axis=1) for g in array_ops.split(gates, 2, axis=0)]
        (w_r, r_r), (w_u, r_u) = pairs
        return w_r, w_u, w_h, r_r, r_u, r_h

    def _cudnn_to_tf_biases(self, *biases):
        w_r, w_u, w_h, r_r, r_u, r_h = biases
        return array_ops.concat([w_r, w_u], 0) + array_ops.concat([r_r, r_u], 0), w_h, r_h

    def _tf_to_cudnn_biases(self, *tf_biases):
        gates, w_h, r_h = tf_biases
        r, u = array_ops.split(gates * 0.5, 2, axis=0)
        return r, u, w_h, r, u, r_h


class CudnnParamsFormatConverterBasic(CudnnParamsFormatConverterLSTM):
    """The weights of BasicRNNCell."""

    def _cudnn_to_tf_weights(self, *cu_weights):
        return (array_ops.transpose(array_ops.concat(cu_weights, 1)),)

    def _tf_to_cudnn_weights(self, layer, *tf_weights):
        (kernel,) = tf_weights
        return tuple(array_ops.split(array_ops.transpose(kernel), self._widths(layer), axis=1))

    def _cudnn_to_tf_biases(self, *cu_biases):
        of_inputs, of_outputs = cu_biases
        return (of_inputs + of_outputs,)

    def _tf_to_cudnn_biases(self, *tf_biases):
        (bias,) = tf_biases
        return (bias * 0.5,) * 2


class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverterBasic):
    _rnn_mode = CUDNN_RNN_TANH
    _num_params_per_layer = CUDNN_RNN_TANH_PARAMS_PER_LAYER


class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverterBasic):
    _rnn_mode = CUDNN_RNN_RELU
    _num_params_per_layer = CUDNN_RNN_RELU_PARAMS_PER_LAYER


class CudnnOpaqueParamsSaveable(saveable_object.SaveableObject):
    """Opaque params that checkpoints have as the weights of TensorFlow's cells.

    The names are those of a MultiRNNCell under dynamic_rnn, or of stack_bidirectional_dynamic_rnn, with a
    scope before them: cells read what the network has learned.
    """

    _format_converter_cls = _rnn_cell_name = None

    def __init__(
        self,
        opaque_params,
        num_layers,
        num_units,
        input_size,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
        scope=None,
        name="cudnn_rnn_saveable",
    ):
        self._num_layers, self._num_units, self._input_size = num_layers, num_units, input_size
        self._input_mode, self._direction = input_mode, direction
        self._scope = (scope.name if isinstance(scope, vs.VariableScope) else scope) or None
        self._variables = opaque_params
        self._num_dirs = 1 if direction == CUDNN_RNN_UNIDIRECTION else 2
        self._format_converter = None
        weights, biases = self.format_converter.opaque_to_tf_canonical(self._variables)
        self._weight_names, self._bias_names = self._tf_canonical_names()
        self._param_names = self._weight_names + self._bias_names
        prefix = f"{self._scope}/" if self._scope else ""
        specs = [
            saveable_object.SaveSpec(param, "", prefix + param_name)
            for param, param_name in zip(weights + biases, self._param_names)
        ]
        super().__init__(array_ops.identity(self._variables), specs, name)

    @property
    def format_converter(self):
        if self._format_converter is None:
            self._format_converter = self._format_converter_cls(
                self._num_layers,
                self._num_units,
                self._input_size,
                input_mode=self._input_mode,
                direction=self._direction,
            )
        return self._format_converter

    def restore(self, restored_tensors, restored_shapes):
        opaque_params = self.format_converter.tf_canonical_to_opaque(restored_tensors)
        return state_ops.assign(self._variables, opaque_params, validate_shape=False)

    def _tf_canonical_names(self):
        weights, biases = [], []
        for layer in range(self._num_layers):
            for direction in range(self._num_dirs):
                prefix = self._tf_canonical_name_prefix(layer, is_fwd=direction == 0)
                self._tf_canonical_names_single_layer(prefix, weights, biases)
        return weights, biases

    def _tf_canonical_name_prefix(self, layer, is_fwd=True):
        if self._direction == CUDNN_RNN_UNIDIRECTION:
            return f"rnn/multi_rnn_cell/cell_{layer}/{self._rnn_cell_name}"
        direction = "fw" if is_fwd else "bw"
        return f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{direction}/{self._rnn_cell_name}"

    def _tf_canonical_names_single_layer(self, prefix, tf_weights_names, tf_biases_names):
        raise NotImplementedError("Abstract method")


class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    _format_converter_cls = CudnnParamsFormatConverterLSTM
    _rnn_cell_name = to_snake_case(CudnnCompatibleLSTMCell.__name__)

    def _tf_canonical_names_single_layer(self, prefix, tf_weights_names, tf_biases_names):
        tf_weights_names.append(prefix + "/kernel")
        tf_biases_names.append(prefix + "/bias")


class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    _format_converter_cls = CudnnParamsFormatConverterGRU
    _rnn_cell_name = to_snake_case(CudnnCompatibleGRUCell.__name__)

    def _tf_canonical_names_single_layer(self, prefix, tf_weights_names, tf_biases_names):
        for part in ("gates", "candidate/input_projection", "candidate/hidden_projection"):
            tf_weights_names.append(f"{prefix}/{part}/kernel")
            tf_biases_names.append(f"{prefix}/{part}/bias")


class CudnnRNNTanhSaveable(CudnnLSTMSaveable):
    _format_converter_cls = CudnnParamsFormatConverterTanh
    _rnn_cell_name = to_snake_case(rnn_cell_impl.BasicRNNCell.__name__)


class CudnnRNNReluSaveable(CudnnLSTMSaveable):
    _format_converter_cls = CudnnParamsFormatConverterRelu
    _rnn_cell_name = to_snake_case(rnn_cell_impl.BasicRNNCell.__name__)


class _CudnnRNN:
    """A network whose opaque params the program keeps. tf.contrib.cudnn_rnn's layers make them."""

    _NUM_PARAMS_PER_LAYER = None

    def __init__(
        self,
        rnn_mode,
        num_layers,
        num_units,
        input_size,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
        dtype=dtypes.float32,
        dropout=0.0,
        seed=0,
        num_proj=None,
    ):
        self._rnn_mode, self._num_layers, self._num_units = rnn_mode, num_layers, num_units
        self._input_size, self._input_mode, self._direction = input_size, input_mode, direction
        self._dtype, self._dropout, self._seed, self._num_proj = dtype, dropout, seed, num_proj

    input_mode = property(lambda self: self._input_mode)
    input_size = property(lambda self: self._input_size)
    num_units = property(lambda self: self._num_units)
    num_layers = property(lambda self: self._num_layers)
    rnn_mode = property(lambda self: self._rnn_mode)
    direction = property(lambda self: self._direction)
    num_proj = property(lambda self: self._num_proj)

    def _network(self):
        return {
            "rnn_mode": self._rnn_mode,
            "num_layers": self._num_layers,
            "num_units": self._num_units,
            "input_size": self._input_size,
            "input_mode": self._input_mode,
            "direction": self._direction,
            "num_proj": self._num_proj,
        }

    def params_size(self):
        """The number of elements of the opaque params: a tensor."""
        return cudnn_rnn_opaque_params_size(dtype=self._dtype, **self._network())

    def params_to_canonical(self, params):
        """(weights, biases) of opaque params."""
        return cudnn_rnn_opaque_params_to_canonical(params=params, **self._network())

    def canonical_to_params(self, weights, biases):
        """Opaque params of weights and biases."""
        return cudnn_rnn_canonical_to_opaque_params(weights=weights, biases=biases, **self._network())

    def __call__(
        self, input_data, input_h, input_c, params, is_training=True, sequence_lengths=None, time_major=True
    ):
        """(outputs, h, c): see _cudnn_rnn()."""
        return _cudnn_rnn(
            input_data,
            input_h,
            input_c,
            params,
            is_training,
            self._rnn_mode,
            sequence_lengths=sequence_lengths,
            time_major=time_major,
            input_mode=self._input_mode,
            direction=self._direction,
            dropout=self._dropout,
            seed=self._seed,
            num_proj=self._num_proj,
            network=_Network(**self._network()),
        )


class CudnnLSTM(_CudnnRNN):
    """An LSTM whose opaque params the program keeps."""

    _NUM_PARAMS_PER_LAYER = CUDNN_LSTM_PARAMS_PER_LAYER

    def __init__(
        self,
        num_layers,
        num_units,
        input_size,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
        dtype=dtypes.float32,
        dropout=0.0,
        seed=0,
        num_proj=None,
    ):
        super().__init__(
            CUDNN_LSTM,
            num_layers,
            num_units,
            input_size,
            input_mode=input_mode,
            direction=direction,
            dtype=dtype,
            dropout=dropout,
            seed=seed,
            num_proj=num_proj,
        )

    def __call__(
        self, input_data, input_h, input_c, params, sequence_lengths=None, time_major=True, is_training=True
    ):
        return super().__call__(
            input_data,
            input_h,
            input_c,
            params,
            sequence_lengths=sequence_lengths,
            time_major=time_major,
            is_training=is_training,
        )


class _CudnnRNNNoInputC(_CudnnRNN):
    """Networks whose cells have one state. A subclass has `_rnn_mode`."""

    def __init__(
        self,
        num_layers,
        num_units,
        input_size,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
        dtype=dtypes.float32,
        dropout=0.0,
        seed=0,
    ):
        if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
            raise ValueError(f"Invalid direction: {direction}")
        super().__init__(
            self._rnn_mode,
            num_layers,
            num_units,
            input_size,
            input_mode=input_mode,
            direction=direction,
            dtype=dtype,
            dropout=dropout,
            seed=seed,
        )

    def __call__(self, input_data, input_h, params, sequence_lengths=None, time_major=True, is_training=True):
        """(outputs, h)."""
        return super().__call__(
            input_data,
            input_h,
            None,
            params,
            sequence_lengths=sequence_lengths,
            time_major=time_major,
            is_training=is_training,
        )[:2]


class CudnnGRU(_CudnnRNNNoInputC):
    """A GRU whose opaque params the program keeps."""

    _rnn_mode = CUDNN_GRU
    _NUM_PARAMS_PER_LAYER = CUDNN_GRU_PARAMS_PER_LAYER


class CudnnRNNTanh(_CudnnRNNNoInputC):
    """Plain cells with tanh whose opaque params the program keeps."""

    _rnn_mode = CUDNN_RNN_TANH
    _NUM_PARAMS_PER_LAYER = CUDNN_RNN_TANH_PARAMS_PER_LAYER


class CudnnRNNRelu(_CudnnRNNNoInputC):
    """Plain cells with relu whose opaque params the program keeps."""

    _rnn_mode = CUDNN_RNN_RELU
    _NUM_PARAMS_PER_LAYER = CUDNN_RNN_RELU_PARAMS_PER_LAYER

"""LSTMs of which one op computes a step, or all steps."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.layers import base as base_layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_rnn_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import rnn_cell_impl

__all__ = ["LSTMBlockCell", "LSTMBlockFusedCell", "LSTMBlockWrapper"]


def _add_variables(layer, depth, units):
    """The weights "kernel" and "bias" of the gates i, ci, f, o, and those of peepholes."""
    layer._kernel = layer.add_variable("kernel", [depth + units, 4 * units])
    layer._bias = layer.add_variable("bias", [4 * units], initializer=init_ops.constant_initializer(0.0))
    if layer._use_peephole:
        layer._w_i_diag = layer.add_variable("w_i_diag", [units])
        layer._w_f_diag = layer.add_variable("w_f_diag", [units])
        layer._w_o_diag = layer.add_variable("w_o_diag", [units])
    layer.built = True


def _arguments(layer, dtype):
    """What both ops get of a layer."""
    if layer._use_peephole:
        wci, wcf, wco = layer._w_i_diag, layer._w_f_diag, layer._w_o_diag
    else:
        wci = wcf = wco = array_ops.zeros([layer._num_units], dtype=dtype)
    return {
        "w": layer._kernel,
        "b": layer._bias,
        "wci": wci,
        "wcf": wcf,
        "wco": wco,
        "forget_bias": layer._forget_bias,
        "cell_clip": layer._cell_clip,
        "use_peephole": layer._use_peephole,
    }


class LSTMBlockCell(rnn_cell_impl.LayerRNNCell):
    """An LSTM with the weights "kernel" and "bias" whose gates are in the order i, ci, f, o.

    cell_clip: the greatest absolute value of the cell's state.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole=False,
        dtype=None,
        reuse=None,
        name="lstm_cell",
    ):
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._use_peephole = use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self.input_spec = input_spec.InputSpec(ndim=2)

    @property
    def state_size(self):
        return rnn_cell_impl.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        depth = tensor_shape.dimension_value(inputs_shape.dims[1])
        if depth is None:
            raise ValueError(f"Expecting inputs_shape[1] to be set: {inputs_shape}")
        _add_variables(self, depth, self._num_units)

    def call(self, inputs, state):
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        arguments = _arguments(self, self.dtype)
        cs_prev, h_prev = state
        _, cs, _, _, _, _, h = gen_rnn_ops.lstm_block_cell(
            x=inputs, cs_prev=cs_prev, h_prev=h_prev, **arguments
        )
        return h, rnn_cell_impl.LSTMStateTuple(cs, h)


class LSTMBlockWrapper(base_layer.Layer):
    """An LSTM of all steps: a subclass has num_units and `_call_cell`, which gives all states and outputs."""

    @property
    def num_units(self):
        raise NotImplementedError("LSTMBlockWrapper: a subclass has num_units")

    def _call_cell(self, inputs, initial_cell_state, initial_output, dtype, sequence_length):
        raise NotImplementedError("LSTMBlockWrapper: a subclass has _call_cell()")

    def call(self, inputs, initial_state=None, dtype=None, sequence_length=None):
        """(outputs, state) of inputs [time, batch, depth].

        initial_state: (cell state, output), zeros of `dtype` by default. sequence_length: [batch]: later
        outputs are zero, and the state is that of the last step.
        """
        steps, batch, depth = (d.value for d in inputs.get_shape().with_rank(3).dims)
        if not depth:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {inputs.get_shape()}")
        if batch is None:
            batch = array_ops.shape(inputs)[1]
        if steps is None:
            steps = array_ops.shape(inputs)[0]
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zeros = array_ops.zeros(array_ops.stack([batch, self.num_units]), dtype=dtype)
            initial_state = zeros, zeros
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        elif dtype is None:
            dtype = initial_state[0].dtype
        if sequence_length is not None:
            sequence_length = ops.convert_to_tensor(sequence_length)
        first_state, first_output = initial_state
        states, outputs = self._call_cell(inputs, first_state, first_output, dtype, sequence_length)
        if sequence_length is None:
            last_state, last_output = states[-1], outputs[-1]
        else:
            mask = array_ops.transpose(array_ops.sequence_mask(sequence_length, steps, dtype=dtype), [1, 0])
            outputs *= array_ops.tile(array_ops.expand_dims(mask, [-1]), [1, 1, self.num_units])
            all_states = array_ops.concat([array_ops.expand_dims(first_state, [0]), states], 0)
            all_outputs = array_ops.concat([array_ops.expand_dims(first_output, [0]), outputs], 0)
            last_state = self._gather_states(all_states, sequence_length, batch)
            last_output = self._gather_states(all_outputs, sequence_length, batch)
        return outputs, rnn_cell_impl.LSTMStateTuple(last_state, last_output)

    def _gather_states(self, data, indices, batch_size):
        """data[indices[i], i] for each i of the batch."""
        rows = math_ops.range(batch_size, dtype=indices.dtype)
        return array_ops.gather_nd(data, array_ops.stack([indices, rows], axis=1))


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM of all steps in one op, with LSTMBlockCell's weights."""

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole=False,
        reuse=None,
        dtype=None,
        name="lstm_fused_cell",
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole
        self.input_spec = input_spec.InputSpec(ndim=3)

    @property
    def num_units(self):
        return self._num_units

    def build(self, input_shape):
        _add_variables(self, tensor_shape.dimension_value(input_shape.dims[2]), self._num_units)

    def _call_cell(
        self, inputs, initial_cell_state=None, initial_output=None, dtype=None, sequence_length=None
    ):
        steps = inputs.get_shape().with_rank(3).dims[0].value
        if steps is None:
            steps = array_ops.shape(inputs)[0]
        arguments = _arguments(self, dtype)
        longest = steps if sequence_length is None else math_ops.reduce_max(sequence_length)
        _, cs, _, _, _, _, h = gen_rnn_ops.block_lstm(
            seq_len_max=math_ops.cast(longest, dtypes.int64),
            x=inputs,
            cs_prev=initial_cell_state,
            h_prev=initial_output,
            **arguments,
        )
        return cs, h

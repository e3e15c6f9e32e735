"""LSTMBlockCell: an LSTM of the names of its variables that one op computes in TensorFlow."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn_cell_impl

__all__ = ["LSTMBlockCell"]


class LSTMBlockCell(rnn_cell_impl.LayerRNNCell):
    """An LSTM with the weights "kernel" and "bias" whose gates are in the order i, ci, f, o; computed by many ops."""

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
        self._cell_clip = cell_clip
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
        units = self._num_units
        self._kernel = self.add_variable("kernel", [depth + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=init_ops.constant_initializer(0.0))
        if self._use_peephole:
            self._w_i_diag = self.add_variable("w_i_diag", [units])
            self._w_f_diag = self.add_variable("w_f_diag", [units])
            self._w_o_diag = self.add_variable("w_o_diag", [units])
        self.built = True

    def call(self, inputs, state):
        cs_prev, h_prev = state
        gates = math_ops.matmul(array_ops.concat([inputs, h_prev], 1), self._kernel)
        i, ci, f, o = array_ops.split(nn_ops.bias_add(gates, self._bias), 4, axis=1)
        if self._use_peephole:
            i += cs_prev * self._w_i_diag
            f += cs_prev * self._w_f_diag
        cs = math_ops.tanh(ci) * math_ops.sigmoid(i) + cs_prev * math_ops.sigmoid(f + self._forget_bias)
        if self._cell_clip is not None and self._cell_clip > 0:
            cs = clip_ops.clip_by_value(cs, -self._cell_clip, self._cell_clip)
        if self._use_peephole:
            o += cs * self._w_o_diag
        h = math_ops.tanh(cs) * math_ops.sigmoid(o)
        return h, rnn_cell_impl.LSTMStateTuple(cs, h)

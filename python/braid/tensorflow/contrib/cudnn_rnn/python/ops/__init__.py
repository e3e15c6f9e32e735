"""CudnnCompatibleLSTMCell and CudnnCompatibleGRUCell."""

from braid.tensorflow.contrib.rnn.python.ops import lstm_ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn_cell_impl

__all__ = ["CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell"]


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
    """The GRU of cuDNN: the reset gate applies after the product with the state, which has a bias of its own."""

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

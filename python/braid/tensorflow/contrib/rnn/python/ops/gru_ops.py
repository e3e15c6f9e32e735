"""GRUs of which one op computes a step."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import input_spec
from braid.tensorflow.python.ops import gen_rnn_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import rnn_cell_impl

__all__ = ["GRUBlockCell", "GRUBlockCellV2"]


class GRUBlockCell(rnn_cell_impl.LayerRNNCell):
    """A GRU with the weights "w_ru", "b_ru", "w_c" and "b_c", the candidate's gate before the product.

    cell_size: the former name of num_units.
    """

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(self, num_units=None, cell_size=None, reuse=None, name="gru_cell"):
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size = cell_size if num_units is None else num_units
        self.input_spec = input_spec.InputSpec(ndim=2)

    @property
    def state_size(self):
        return self._cell_size

    @property
    def output_size(self):
        return self._cell_size

    def build(self, input_shape):
        depth = tensor_shape.dimension_value(input_shape[1])
        if depth is None:
            raise ValueError("Expecting input_size to be set.")
        units = self._cell_size
        gate_kernel, gate_bias, kernel, bias = self._names
        self._gate_kernel = self.add_variable(gate_kernel, [depth + units, 2 * units])
        self._gate_bias = self.add_variable(
            gate_bias, [2 * units], initializer=init_ops.constant_initializer(1.0)
        )
        self._candidate_kernel = self.add_variable(kernel, [depth + units, units])
        self._candidate_bias = self.add_variable(
            bias, [units], initializer=init_ops.constant_initializer(0.0)
        )
        self.built = True

    def call(self, inputs, h_prev):
        size = tensor_shape.dimension_value(h_prev.get_shape().with_rank(2).dims[1])
        if size != self._cell_size:
            raise ValueError(f"Shape of h_prev[1] incorrect: cell_size {self._cell_size} vs {size}")
        h = gen_rnn_ops.gru_block_cell(
            x=inputs,
            h_prev=h_prev,
            w_ru=self._gate_kernel,
            w_c=self._candidate_kernel,
            b_ru=self._gate_bias,
            b_c=self._candidate_bias,
        )[3]
        return h, h


class GRUBlockCellV2(GRUBlockCell):
    """A GRUBlockCell with the names of tf.nn.rnn_cell.GRUCell's weights."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")

"""The products of cells, and wrappers with such a product."""

from braid.tensorflow.contrib.rnn.python.ops.rnn_cell import EmbeddingWrapper  # noqa: F401
from braid.tensorflow.contrib.rnn.python.ops.rnn_cell import InputProjectionWrapper  # noqa: F401
from braid.tensorflow.contrib.rnn.python.ops.rnn_cell import OutputProjectionWrapper  # noqa: F401
from braid.tensorflow.contrib.rnn.python.ops.rnn_cell import _linear  # noqa: F401
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import variable_scope as vs

RNNCell = rnn_cell_impl.RNNCell
_WEIGHTS_VARIABLE_NAME = rnn_cell_impl._WEIGHTS_VARIABLE_NAME
_BIAS_VARIABLE_NAME = rnn_cell_impl._BIAS_VARIABLE_NAME


class _Linear:
    """[arguments side by side] * kernel + bias, with variables that are made once, of the current scope.

    Arguments:
      args: a matrix or a list of matrices like those that the product gets.
      build_bias: whether there is a bias.
    """

    def __init__(self, args, output_size, build_bias, bias_initializer=None, kernel_initializer=None):
        self._build_bias = build_bias
        self._is_sequence = isinstance(args, (list, tuple))
        args = list(args) if self._is_sequence else [args]
        if not args or args[0] is None:
            raise ValueError("`args` must be specified")
        shapes = [arg.get_shape() for arg in args]
        for shape in shapes:
            if shape.ndims != 2:
                raise ValueError(f"linear is expecting 2D arguments: {shapes}")
            if shape.dims[1].value is None:
                raise ValueError(f"linear expects shape[1] to be provided for shape {shape}")
        dtype = args[0].dtype
        depth = sum(shape.dims[1].value for shape in shapes)
        with vs.variable_scope(vs.get_variable_scope()) as scope:
            self._weights = vs.get_variable(
                _WEIGHTS_VARIABLE_NAME, [depth, output_size], dtype=dtype, initializer=kernel_initializer
            )
            if build_bias:
                with vs.variable_scope(scope) as inner:
                    inner.set_partitioner(None)
                    if bias_initializer is None:
                        bias_initializer = init_ops.constant_initializer(0.0, dtype=dtype)
                    self._biases = vs.get_variable(
                        _BIAS_VARIABLE_NAME, [output_size], dtype=dtype, initializer=bias_initializer
                    )

    def __call__(self, args):
        args = list(args) if self._is_sequence else [args]
        product = math_ops.matmul(args[0] if len(args) == 1 else array_ops.concat(args, 1), self._weights)
        return nn_ops.bias_add(product, self._biases) if self._build_bias else product

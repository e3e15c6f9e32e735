"""Grid cells (arXiv:1507.01526): a cell along each dimension, whose inputs are the outputs of the others.

State and output are those of the dimensions that have them. Dimensions with priority come after the others,
and see their new outputs.
"""

import functools

from braid.tensorflow.contrib.layers.python.layers import initializers
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import rnn_cell_impl as rnn
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.platform import tf_logging as logging

__all__ = [
    "Grid1BasicLSTMCell",
    "Grid1BasicRNNCell",
    "Grid1LSTMCell",
    "Grid2BasicLSTMCell",
    "Grid2BasicRNNCell",
    "Grid2GRUCell",
    "Grid2LSTMCell",
    "Grid3LSTMCell",
    "GridRNNCell",
]


def _dimensions(given, count):
    """A number, a list or None as a sorted list of dimensions."""
    given = [] if given is None else given
    found = sorted(set(given if isinstance(given, (list, tuple)) else [given]))
    if any(not 0 <= d < count for d in found):
        raise ValueError(f"Invalid dims: {found}. Must be in [0, {count})")
    return found


class GridRNNCell(rnn.RNNCell):
    """A cell of `num_dims` dimensions.

    Args:
      num_units: units of the cell along each dimension.
      num_dims: how many dimensions there are.
      input_dims: those that get a part of the input: a number, a list, or None.
      output_dims: those whose outputs are the cell's.
      priority_dims: those that come after the others.
      non_recurrent_dims: those without a state: `non_recurrent_fn` of a fully connected layer.
      tied: whether all dimensions have the same weights.
      cell_fn: makes the cell along a dimension, cell_fn(num_units); if it is None, an LSTMCell.
      non_recurrent_fn: tf.nn.relu if it is None.
      state_is_tuple: whether the state is a tuple with that of each dimension, and not one tensor.
      output_is_tuple: whether the output is.
    """

    def __init__(
        self,
        num_units,
        num_dims=1,
        input_dims=None,
        output_dims=None,
        priority_dims=None,
        non_recurrent_dims=None,
        tied=False,
        cell_fn=None,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        for what, is_tuple in (("state", state_is_tuple), ("output", output_is_tuple)):
            if not is_tuple:
                logging.warning(
                    f"{self}: Using a concatenated {what} is slower and will soon be deprecated.  Use "
                    f"{what}_is_tuple=True."
                )
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        self._num_units, self._num_dims, self._tied = num_units, num_dims, tied
        self._inputs = _dimensions(input_dims, num_dims)
        self._outputs = _dimensions(output_dims, num_dims)
        self._priority = _dimensions(priority_dims, num_dims)
        self._non_recurrent = _dimensions(non_recurrent_dims, num_dims)
        self._recurrent = [d for d in range(num_dims) if d not in self._non_recurrent]
        self._non_recurrent_fn = non_recurrent_fn or nn.relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple
        if cell_fn is None:
            make = functools.partial(rnn.LSTMCell, num_units=num_units, state_is_tuple=state_is_tuple)
        else:
            make = functools.partial(cell_fn, num_units)
        self._cells = [make()] * num_dims if tied else [make() for _ in range(num_dims)]
        if not isinstance(self._cells[0], rnn.RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(self._cells[0])}")
        size, count = self._cells[0].output_size, len(self._outputs)
        self._output_size = (size,) * count if output_is_tuple else size * count
        size, count = self._cells[0].state_size, len(self._recurrent)
        self._state_size = (size,) * count if state_is_tuple else self._cell_state_size() * count

    @property
    def output_size(self):
        return self._output_size

    @property
    def state_size(self):
        return self._state_size

    def _cell_state_size(self):
        """Units of the state of a cell, all its parts together."""
        size = self._cells[0].state_size
        return sum(size) if isinstance(size, tuple) else size

    def __call__(self, inputs, state, scope=None):
        """(output, new state). inputs: [batch, size], or None."""
        memories, outputs = self._extract_states(state)
        new_outputs, new_states = [None] * self._num_dims, [None] * self._num_dims
        with variable_scope.variable_scope(scope or type(self).__name__):
            self._project_input(inputs, memories, outputs)
            rest = [d for d in range(self._num_dims) if d not in self._priority]
            self._propagate(rest, memories, outputs, new_outputs, new_states, True)
            self._propagate(self._priority, memories, outputs, new_outputs, new_states, False)
            output = tuple(new_outputs[d] for d in self._outputs)
            if not self._output_is_tuple:
                output = self._side_by_side(output, inputs)
            state = tuple(new_states[d] for d in self._recurrent)
            if not self._state_is_tuple:
                state = self._side_by_side([part for parts in state for part in parts], inputs)
        return output, state

    @staticmethod
    def _side_by_side(tensors, inputs):
        return array_ops.concat(tensors, 1) if tensors else array_ops.zeros([0, 0], inputs.dtype)

    def _has_memory(self):
        """Whether a state has a memory beside the output, as an LSTM's."""
        return self._cell_state_size() > self._num_units

    def _extract_states(self, state):
        """Lists of the memories and the last outputs of the dimensions, with None where there is none."""
        memories, outputs = [None] * self._num_dims, [None] * self._num_dims
        size, units = self._cell_state_size(), self._num_units
        if self._state_is_tuple:
            if len(state) != len(self._recurrent):
                raise ValueError(f"Expected state as a tuple of {len(self._recurrent)} element")
            for d, part in zip(self._recurrent, state):
                if self._has_memory():
                    memories[d], outputs[d] = part
                else:
                    outputs[d] = part
            return memories, outputs
        for i, d in enumerate(self._recurrent):
            start = i * size
            if self._has_memory():
                memories[d] = array_ops.slice(state, [0, start], [-1, units])
                outputs[d] = array_ops.slice(state, [0, start + units], [-1, size - units])
            else:
                outputs[d] = array_ops.slice(state, [0, start], [-1, units])
        return memories, outputs

    def _project_input(self, inputs, memories, outputs):
        """Puts projections of the input in place of the memories and last outputs of its dimensions."""
        if inputs is None or not self._inputs:
            return
        if isinstance(inputs, tuple):
            if len(inputs) != len(self._inputs):
                raise ValueError(f"Expect inputs as a tuple of {len(self._inputs)} tensors")
            parts = inputs
        elif tensor_shape.dimension_value(inputs.shape.with_rank(2)[1]) == 0:
            return
        else:
            parts = array_ops.split(value=inputs, num_or_size_splits=len(self._inputs), axis=1)
        shape = [tensor_shape.dimension_value(parts[0].shape.with_rank(2)[1]), self._num_units]
        for part, d in zip(parts, self._inputs):

            def projected(name, part=part, d=d):
                weights = variable_scope.get_variable(f"{name}_{d}", shape, dtype=part.dtype)
                return math_ops.matmul(part, weights)

            outputs[d] = projected("project_m")
            if self._has_memory():
                memories[d] = projected("project_c")

    def _propagate(self, dims, memories, outputs, new_outputs, new_states, is_first):
        """The cells of some dimensions. The output of the last dimension is the state of each cell."""
        if not dims:
            return

        def latest(d):
            return outputs[d] if new_outputs[d] is None else new_outputs[d]

        if self._num_dims > 1:
            inputs = array_ops.concat([latest(d) for d in range(self._num_dims - 1)], 1)
        else:
            inputs = array_ops.zeros([outputs[0].shape.as_list()[0], 0], outputs[0].dtype)
        last = latest(self._num_dims - 1)
        for d in dims:
            kind = "non_recurrent" if d in self._non_recurrent else "recurrent"
            if kind == "non_recurrent":
                both = array_ops.concat([inputs, last], 1) if self._num_dims > 1 else last
            with variable_scope.variable_scope(kind if self._tied else f"{kind}/cell_{d}") as scope:
                if self._tied and not (is_first and d == dims[0]):
                    scope.reuse_variables()
                if kind == "recurrent":
                    state = last if memories[d] is None else (memories[d], last)
                    new_outputs[d], new_states[d] = self._cells[d](inputs, state)
                else:
                    new_outputs[d] = layers.fully_connected(
                        both,
                        num_outputs=self._num_units,
                        activation_fn=self._non_recurrent_fn,
                        weights_initializer=scope.initializer or initializers.xavier_initializer(),
                        weights_regularizer=scope.regularizer,
                    )


# ---- Cells whose first dimension has the input, the output and priority ----


class _FirstDimensionCell(GridRNNCell):
    def __init__(self, num_units, num_dims, cell_fn, tied, non_recurrent_fn, state_is_tuple, output_is_tuple):
        super().__init__(
            num_units=num_units,
            num_dims=num_dims,
            input_dims=0,
            output_dims=0,
            priority_dims=0,
            tied=tied,
            non_recurrent_dims=None if non_recurrent_fn is None else 0,
            cell_fn=cell_fn,
            non_recurrent_fn=non_recurrent_fn,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid1BasicRNNCell(_FirstDimensionCell):
    """One dimension of BasicRNNCell."""

    def __init__(self, num_units, state_is_tuple=True, output_is_tuple=True):
        super().__init__(num_units, 1, rnn.BasicRNNCell, False, None, state_is_tuple, output_is_tuple)


class Grid2BasicRNNCell(_FirstDimensionCell):
    """Two dimensions of BasicRNNCell; with `non_recurrent_fn` the first is not recurrent."""

    def __init__(
        self, num_units, tied=False, non_recurrent_fn=None, state_is_tuple=True, output_is_tuple=True
    ):
        super().__init__(
            num_units, 2, rnn.BasicRNNCell, tied, non_recurrent_fn, state_is_tuple, output_is_tuple
        )


class Grid1BasicLSTMCell(_FirstDimensionCell):
    """One dimension of BasicLSTMCell."""

    def __init__(self, num_units, forget_bias=1, state_is_tuple=True, output_is_tuple=True):
        cell_fn = functools.partial(rnn.BasicLSTMCell, forget_bias=forget_bias)
        super().__init__(num_units, 1, cell_fn, False, None, state_is_tuple, output_is_tuple)


class Grid2BasicLSTMCell(_FirstDimensionCell):
    """Two dimensions of BasicLSTMCell; with `non_recurrent_fn` the first is not recurrent."""

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        forget_bias=1,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        cell_fn = functools.partial(rnn.BasicLSTMCell, forget_bias=forget_bias)
        super().__init__(num_units, 2, cell_fn, tied, non_recurrent_fn, state_is_tuple, output_is_tuple)


class Grid1LSTMCell(_FirstDimensionCell):
    """One dimension of LSTMCell."""

    def __init__(
        self, num_units, use_peepholes=False, forget_bias=1.0, state_is_tuple=True, output_is_tuple=True
    ):
        cell_fn = functools.partial(rnn.LSTMCell, use_peepholes=use_peepholes, forget_bias=forget_bias)
        super().__init__(num_units, 1, cell_fn, False, None, state_is_tuple, output_is_tuple)


class Grid2LSTMCell(_FirstDimensionCell):
    """Two dimensions of LSTMCell; with `non_recurrent_fn` the first is not recurrent."""

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        use_peepholes=False,
        forget_bias=1.0,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        cell_fn = functools.partial(rnn.LSTMCell, use_peepholes=use_peepholes, forget_bias=forget_bias)
        super().__init__(num_units, 2, cell_fn, tied, non_recurrent_fn, state_is_tuple, output_is_tuple)


class Grid3LSTMCell(_FirstDimensionCell):
    """Three dimensions of LSTMCell; with `non_recurrent_fn` the first is not recurrent."""

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        use_peepholes=False,
        forget_bias=1.0,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        cell_fn = functools.partial(rnn.LSTMCell, use_peepholes=use_peepholes, forget_bias=forget_bias)
        super().__init__(num_units, 3, cell_fn, tied, non_recurrent_fn, state_is_tuple, output_is_tuple)


class Grid2GRUCell(_FirstDimensionCell):
    """Two dimensions of GRUCell; with `non_recurrent_fn` the first is not recurrent."""

    def __init__(
        self, num_units, tied=False, non_recurrent_fn=None, state_is_tuple=True, output_is_tuple=True
    ):
        super().__init__(num_units, 2, rnn.GRUCell, tied, non_recurrent_fn, state_is_tuple, output_is_tuple)

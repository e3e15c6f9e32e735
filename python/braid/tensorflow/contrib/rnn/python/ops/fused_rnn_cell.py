"""Cells that take all steps at once: adaptors of those that take one."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import rnn

__all__ = ["FusedRNNCell", "FusedRNNCellAdaptor", "TimeReversedFusedRNN"]


class FusedRNNCell:
    """A function (inputs [time, batch, ...], initial_state, dtype, sequence_length, scope) -> (outputs, state)."""

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        raise NotImplementedError


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell over all steps, by dynamic_rnn() or static_rnn()."""

    def __init__(self, cell, use_dynamic_rnn=False):
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        is_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            if is_list:
                inputs = array_ops.stack(inputs)
            outputs, state = rnn.dynamic_rnn(
                self._cell,
                inputs,
                sequence_length=sequence_length,
                initial_state=initial_state,
                dtype=dtype,
                time_major=True,
                scope=scope,
            )
            return (array_ops.unstack(outputs) if is_list else outputs), state
        if not is_list:
            inputs = array_ops.unstack(inputs)
        outputs, state = rnn.static_rnn(
            self._cell,
            inputs,
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return (outputs if is_list else array_ops.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """Another such cell from the last step to the first."""

    def __init__(self, cell):
        self._cell = cell

    def _reverse(self, t, lengths):
        if isinstance(t, list):
            return list(reversed(t))
        if lengths is None:
            return array_ops.reverse_v2(t, [0])
        return array_ops.reverse_sequence(t, lengths, 0, 1)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        inputs = self._reverse(inputs, sequence_length)
        outputs, state = self._cell(
            inputs, initial_state=initial_state, dtype=dtype, sequence_length=sequence_length, scope=scope
        )
        return self._reverse(outputs, sequence_length), state

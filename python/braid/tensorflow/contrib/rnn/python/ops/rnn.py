"""Bidirectional networks one above the other, and the network over time of a block cell."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import variable_scope as vs

__all__ = ["stack_bidirectional_rnn", "stack_bidirectional_dynamic_rnn"]


def _checked(cells_fw, cells_bw, states_fw, states_bw):
    if not cells_fw or not cells_bw:
        raise ValueError("Must specify at least one fw cell and one bw cell.")
    for cells in (cells_fw, cells_bw):
        if not isinstance(cells, list):
            raise ValueError("cells_fw and cells_bw must be lists of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states in (states_fw, states_bw):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError("initial_states must be a list of state tensors (one per layer).")
    none = [None] * len(cells_fw)
    return states_fw or none, states_bw or none


def stack_bidirectional_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """static_bidirectional_rnn() of each pair of cells, each layer over the outputs of the one below.

    Returns the outputs of the last, and the tuples of the final states of all.
    """
    initial_states_fw, initial_states_bw = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    layer = inputs
    with vs.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with vs.variable_scope(f"cell_{number}") as cell_scope:
                layer, state_fw, state_bw = rnn.static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    layer,
                    initial_state_fw=initial_states_fw[number],
                    initial_state_bw=initial_states_bw[number],
                    sequence_length=sequence_length,
                    dtype=dtype,
                    scope=cell_scope,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_dynamic_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    parallel_iterations=None,
    time_major=False,
    scope=None,
    swap_memory=False,
):
    """bidirectional_dynamic_rnn() of each pair of cells, each layer over the outputs of the one below.

    Returns the outputs of the last side by side, and the tuples of the final states of all.
    """
    initial_states_fw, initial_states_bw = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    layer = inputs
    with vs.variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            rnn_cell_impl.assert_like_rnncell("cell_fw", cell_fw)
            with vs.variable_scope(f"cell_{number}"):
                outputs, (state_fw, state_bw) = rnn.bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    layer,
                    initial_state_fw=initial_states_fw[number],
                    initial_state_bw=initial_states_bw[number],
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                layer = array_ops.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)

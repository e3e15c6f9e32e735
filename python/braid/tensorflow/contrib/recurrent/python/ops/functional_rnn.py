"""Networks of cells by the interface of tf.contrib.recurrent: what tf.nn.dynamic_rnn computes."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest


def _turned(x):
    return array_ops.transpose(x, [1, 0, 2])


def functional_rnn(
    cell,
    inputs,
    sequence_length=None,
    initial_state=None,
    dtype=None,
    time_major=False,
    scope=None,
    use_tpu=False,
    reverse=False,
):
    """(outputs, state) as of tf.nn.dynamic_rnn; the state of an empty sequence is zero.

    reverse: from the last step of the longest sequence to the first one; what is behind the end of a shorter
    sequence is read, too, and the state is that after the first step.
    """
    if use_tpu:
        raise NotImplementedError("functional_rnn(use_tpu=True): Braid has no TPUs")
    with variable_scope.variable_scope(scope or "rnn") as scope:
        if not time_major:
            inputs = _turned(inputs)
        steps = array_ops.shape(inputs)[0]
        arguments = {"initial_state": initial_state, "dtype": dtype, "time_major": True, "scope": scope}
        if not reverse:
            outputs, state = rnn.dynamic_rnn(cell, inputs, sequence_length=sequence_length, **arguments)
            if sequence_length is not None:
                some = math_ops.cast(sequence_length > 0, outputs.dtype)
                state = nest.map_structure(lambda s: s * array_ops.expand_dims(some, -1), state)
        else:
            longest = steps if sequence_length is None else math_ops.reduce_max(sequence_length)
            made, state = rnn.dynamic_rnn(cell, array_ops.reverse(inputs[:longest], [0]), **arguments)
            outputs = array_ops.pad(array_ops.reverse(made, [0]), [[0, steps - longest], [0, 0], [0, 0]])
            if sequence_length is not None:
                mask = array_ops.sequence_mask(sequence_length, steps, dtype=outputs.dtype)
                outputs *= array_ops.expand_dims(array_ops.transpose(mask), -1)
            outputs.set_shape(inputs.get_shape()[:2].concatenate(made.get_shape()[2:]))
        return outputs if time_major else _turned(outputs), state


def bidirectional_functional_rnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    sequence_length=None,
    time_major=False,
    use_tpu=False,
    fast_reverse=False,
    scope=None,
):
    """((outputs, outputs backward), (state, state backward)) as of tf.nn.bidirectional_dynamic_rnn.

    fast_reverse: backward from the last step of the longest sequence, for all sequences.
    """
    time, batch = (0, 1) if time_major else (1, 0)

    def reversed_(x):
        if sequence_length is None:
            return array_ops.reverse(x, [time])
        return array_ops.reverse_sequence(x, sequence_length, seq_axis=time, batch_axis=batch)

    arguments = {"dtype": dtype, "sequence_length": sequence_length, "time_major": time_major}
    arguments["use_tpu"] = use_tpu
    with variable_scope.variable_scope(scope or "bidirectional_rnn"):
        with variable_scope.variable_scope("fw") as of_fw:
            fw, state_fw = functional_rnn(
                cell_fw, inputs, initial_state=initial_state_fw, scope=of_fw, **arguments
            )
        with variable_scope.variable_scope("bw") as of_bw:
            bw, state_bw = functional_rnn(
                cell_bw,
                inputs if fast_reverse else reversed_(inputs),
                initial_state=initial_state_bw,
                scope=of_bw,
                reverse=fast_reverse,
                **arguments,
            )
    return (fw, bw if fast_reverse else reversed_(bw)), (state_fw, state_bw)

"""Decoder: what makes outputs step by step, and dynamic_decode, the loop over it."""

import abc

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest

__all__ = ["Decoder", "dynamic_decode"]


class Decoder(metaclass=abc.ABCMeta):
    """What a decoder has. output_size and output_dtype are structures of shapes and types of an output."""

    @property
    def batch_size(self):
        raise NotImplementedError

    @property
    def output_size(self):
        raise NotImplementedError

    @property
    def output_dtype(self):
        raise NotImplementedError

    @abc.abstractmethod
    def initialize(self, name=None):
        """(finished [batch], the first inputs, the first state)."""

    @abc.abstractmethod
    def step(self, time, inputs, state, name=None):
        """(outputs, next state, next inputs, finished)."""

    def finalize(self, outputs, final_state, sequence_lengths):
        """The outputs of all steps and the state, changed once the loop has ended."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self):
        """Whether a sequence that has finished may be unfinished again, as beams are."""
        return False


def _zero_outputs(size, dtype, batch_size):
    def zeros(s, d):
        return rnn_cell_impl._zero_state_tensors(s, batch_size, d)

    return nest.map_structure(zeros, size, dtype)


def _transpose_batch_time(x):
    return rnn._transpose_batch_time(x) if x.get_shape().ndims is None or x.get_shape().ndims >= 2 else x


def _where(condition, old, new):
    """`old` where a sequence has ended. A scalar or a TensorArray is taken as new."""
    if isinstance(old, tensor_array_ops.TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else array_ops.where(condition, old, new)


def dynamic_decode(
    decoder,
    output_time_major=False,
    impute_finished=False,
    maximum_iterations=None,
    parallel_iterations=32,
    swap_memory=False,
    scope=None,
    **kwargs,
):
    """Runs a decoder until all sequences have finished. Returns outputs, the final state and the lengths.

    `impute_finished`: sequences that have finished keep their state, and have outputs of zeros.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope.variable_scope(scope, "decoder") as varscope:
        rnn._cache_variables(varscope)
        if maximum_iterations is not None:
            maximum_iterations = ops.convert_to_tensor(
                maximum_iterations, dtype=dtypes.int32, name="maximum_iterations"
            )
            if maximum_iterations.get_shape().ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        initial_finished, initial_inputs, initial_state = decoder.initialize(**kwargs)
        zero_outputs = _zero_outputs(decoder.output_size, decoder.output_dtype, decoder.batch_size)
        if maximum_iterations is not None:
            initial_finished = math_ops.logical_or(initial_finished, 0 >= maximum_iterations)
        initial_lengths = array_ops.zeros_like(initial_finished, dtype=dtypes.int32)
        initial_time = constant_op.constant(0, dtype=dtypes.int32)
        batch = decoder.batch_size
        if isinstance(batch, ops.Tensor):
            batch = tensor_util.constant_value(batch)

        def make_array(size, dtype):
            element = tensor_shape.TensorShape([batch]).concatenate(tensor_shape.as_shape(size))
            return tensor_array_ops.TensorArray(dtype=dtype, size=0, dynamic_size=True, element_shape=element)

        initial_arrays = nest.map_structure(make_array, decoder.output_size, decoder.output_dtype)

        def condition(unused_time, unused_arrays, unused_state, unused_inputs, finished, unused_lengths):
            return math_ops.logical_not(math_ops.reduce_all(finished))

        def body(time, arrays, state, inputs, finished, lengths):
            next_outputs, decoder_state, next_inputs, decoder_finished = decoder.step(time, inputs, state)
            if decoder.tracks_own_finished:
                next_finished = decoder_finished
            else:
                next_finished = math_ops.logical_or(decoder_finished, finished)
            if maximum_iterations is not None:
                next_finished = math_ops.logical_or(next_finished, time + 1 >= maximum_iterations)
            next_lengths = array_ops.where(
                math_ops.logical_not(finished), array_ops.fill(array_ops.shape(lengths), time + 1), lengths
            )
            nest.assert_same_structure(state, decoder_state)
            nest.assert_same_structure(arrays, next_outputs)
            nest.assert_same_structure(inputs, next_inputs)
            emit, next_state = next_outputs, decoder_state
            if impute_finished:
                emit = nest.map_structure(
                    lambda out, zero: array_ops.where(finished, zero, out), next_outputs, zero_outputs
                )
                next_state = nest.map_structure(
                    lambda old, new: _where(finished, old, new), state, decoder_state
                )
            arrays = nest.map_structure(lambda array, out: array.write(time, out), arrays, emit)
            return time + 1, arrays, next_state, next_inputs, next_finished, next_lengths

        _, final_arrays, final_state, _, _, final_lengths = control_flow_ops.while_loop(
            condition,
            body,
            loop_vars=(
                initial_time,
                initial_arrays,
                initial_state,
                initial_inputs,
                initial_finished,
                initial_lengths,
            ),
            parallel_iterations=parallel_iterations,
            maximum_iterations=maximum_iterations,
            swap_memory=swap_memory,
        )
        final_outputs = nest.map_structure(lambda array: array.stack(), final_arrays)
        try:
            final_outputs, final_state = decoder.finalize(final_outputs, final_state, final_lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            final_outputs = nest.map_structure(_transpose_batch_time, final_outputs)
    return final_outputs, final_state, final_lengths

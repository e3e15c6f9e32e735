"""Beam search: the likeliest sequences of `beam_width` that are kept at each step."""

import collections
import functools

import numpy as np

from braid.tensorflow.contrib.seq2seq.python.ops import attention_wrapper
from braid.tensorflow.contrib.seq2seq.python.ops import decoder
from braid.tensorflow.contrib.seq2seq.python.ops import helper
from braid.tensorflow.contrib.seq2seq.python.ops.beam_search_ops import gather_tree
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.util import nest

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "gather_tree",
    "gather_tree_from_array",
    "tile_batch",
]


class BeamSearchDecoderState(
    collections.namedtuple(
        "BeamSearchDecoderState",
        ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
    )
):
    """The state of the beams [batch, beam_width, ...]."""


class BeamSearchDecoderOutput(
    collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))
):
    """What a step has: the scores, the ids and the beams that they continue."""


class FinalBeamSearchDecoderOutput(
    collections.namedtuple("FinalBeamDecoderOutput", ["predicted_ids", "beam_search_decoder_output"])
):
    """The sequences [batch, time, beam_width], the best first, and the outputs of the steps."""


def tile_batch(t, multiplier, name=None):
    """Each entry of the batch `multiplier` times, one after the other."""

    def tiled(tensor):
        tensor = ops.convert_to_tensor(tensor, name="t")
        if tensor.shape.ndims is None:
            raise ValueError("t must have statically known rank")
        shape = array_ops.shape(tensor)
        tiling = [1] * (tensor.shape.ndims + 1)
        tiling[1] = multiplier
        static = tensor_shape.dimension_value(tensor.shape.dims[0])
        result = array_ops.tile(array_ops.expand_dims(tensor, 1), tiling)
        result = array_ops.reshape(result, array_ops.concat(([shape[0] * multiplier], shape[1:]), 0))
        result.set_shape(
            tensor_shape.TensorShape([None if static is None else static * multiplier]).concatenate(
                tensor.shape[1:]
            )
        )
        return result

    with ops.name_scope(name, "tile_batch", nest.flatten(t) + [multiplier]):
        return nest.map_structure(tiled, t)


def gather_tree_from_array(t, parent_ids, sequence_length):
    """What steps had for beams, in the order of the final sequences.

    t: [time, batch, beam, ...] or [time, batch * beam, ...]. parent_ids: [time, batch, beam].
    sequence_length: [batch, beam], steps after which stay as they are.
    """
    t, parent_ids = ops.convert_to_tensor(t), ops.convert_to_tensor(parent_ids)
    time, batch, beam = array_ops.unstack(array_ops.shape(parent_ids), num=3)
    ids = array_ops.tile(math_ops.range(beam)[None, None], [time, batch, 1])
    longest = math_ops.cast(math_ops.reduce_max(sequence_length, axis=1), dtypes.int32)
    order = gather_tree(step_ids=ids, parent_ids=parent_ids, max_sequence_lengths=longest, end_token=beam + 1)
    is_within = array_ops.transpose(array_ops.sequence_mask(sequence_length, maxlen=time), perm=[2, 0, 1])
    order = array_ops.where(is_within, order, ids)
    of_beams = array_ops.reshape(t, [time * batch, beam, -1])
    ordered = array_ops.batch_gather(of_beams, array_ops.reshape(order, [time * batch, beam]))
    result = array_ops.reshape(ordered, array_ops.shape(t))
    result.set_shape(t.shape)
    return result


def _length_penalty(sequence_lengths, penalty_factor):
    """((5 + length) / 6) ^ factor (Wu et al. 2016)."""
    penalty_factor = ops.convert_to_tensor(penalty_factor, name="penalty_factor")
    penalty_factor.set_shape(())
    return math_ops.div(
        (5.0 + math_ops.cast(sequence_lengths, dtypes.float32)) ** penalty_factor,
        (5.0 + 1.0) ** penalty_factor,
    )


def _attention_of(cell_state):
    """The alignments of a cell's state, their mean where there are several."""
    states = cell_state if type(cell_state) is tuple else (cell_state,)
    alignments = []
    for state in states:
        if isinstance(state, attention_wrapper.AttentionWrapperState):
            of_state = state.alignments
            of_state = of_state if isinstance(of_state, tuple) else (of_state,)
            alignments.append(math_ops.add_n(of_state) / len(of_state) if len(of_state) > 1 else of_state[0])
    if not alignments:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return math_ops.add_n(alignments) / len(alignments) if len(alignments) > 1 else alignments[0]


class BeamSearchDecoder(decoder.Decoder):
    """Decodes with a cell over beams. `initial_state` and what the cell attends to must be of tile_batch().

    `length_penalty_weight` favours long sequences: scores are log probabilities by a power of the length.
    `coverage_penalty_weight` favours sequences that attend to all of the memory (Wu et al. 2016).
    `reorder_tensor_arrays`: TensorArrays of the final state, as alignment_history, become tensors in the
    order of the sequences.
    """

    def __init__(
        self,
        cell,
        embedding,
        start_tokens,
        end_token,
        initial_state,
        beam_width,
        output_layer=None,
        length_penalty_weight=0.0,
        coverage_penalty_weight=0.0,
        reorder_tensor_arrays=True,
    ):
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._cell = cell
        self._output_layer = output_layer
        self._embedding_fn = helper._embedder(embedding)
        self._start_tokens = ops.convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        if self._start_tokens.get_shape().ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = ops.convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._end_token.get_shape().ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = array_ops.size(start_tokens)
        self._static_batch_size = tensor_util.constant_value(self._batch_size)
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._has_coverage = not (
            isinstance(coverage_penalty_weight, (int, float)) and coverage_penalty_weight == 0
        )
        self._initial_cell_state = nest.map_structure(
            self._maybe_split_batch_beams, initial_state, self._cell.state_size
        )
        self._start_tokens = array_ops.tile(
            array_ops.expand_dims(self._start_tokens, 1), [1, self._beam_width]
        )
        self._start_inputs = self._embedding_fn(self._start_tokens)
        self._finished = array_ops.one_hot(
            array_ops.zeros([self._batch_size], dtype=dtypes.int32),
            depth=self._beam_width,
            on_value=False,
            off_value=True,
            dtype=dtypes.bool,
        )

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def tracks_own_finished(self):
        return True

    @property
    def output_size(self):
        width = tensor_shape.TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(scores=width, predicted_ids=width, parent_ids=width)

    @property
    def output_dtype(self):
        return BeamSearchDecoderOutput(
            scores=nest.flatten(self._initial_cell_state)[0].dtype,
            predicted_ids=dtypes.int32,
            parent_ids=dtypes.int32,
        )

    def initialize(self, name=None):
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        # All beams are the same at first: only one of them counts.
        log_probs = array_ops.one_hot(
            array_ops.zeros([self._batch_size], dtype=dtypes.int32),
            depth=self._beam_width,
            on_value=ops.convert_to_tensor(0.0, dtype=dtype),
            off_value=ops.convert_to_tensor(-np.inf, dtype=dtype),
            dtype=dtype,
        )
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=array_ops.zeros([self._batch_size, self._beam_width], dtype=dtypes.int64),
            accumulated_attention_probs=(
                array_ops.zeros_like(_attention_of(self._initial_cell_state)) if self._has_coverage else ()
            ),
        )
        return self._finished, self._start_inputs, state

    def finalize(self, outputs, final_state, sequence_lengths):
        longest = math_ops.cast(math_ops.reduce_max(final_state.lengths, axis=1), dtypes.int32)
        if self._reorder_tensor_arrays:
            sort = functools.partial(self._maybe_sort_array_beams, outputs.parent_ids, final_state.lengths)
            final_state = final_state._replace(cell_state=nest.map_structure(sort, final_state.cell_state))
        predicted_ids = gather_tree(
            outputs.predicted_ids,
            outputs.parent_ids,
            max_sequence_lengths=longest,
            end_token=self._end_token,
        )
        return (
            FinalBeamSearchDecoderOutput(beam_search_decoder_output=outputs, predicted_ids=predicted_ids),
            final_state,
        )

    def _maybe_sort_array_beams(self, parent_ids, lengths, t):
        """The elements [time, batch * beam, ...] of a TensorArray in the order of the sequences; others:
        t."""
        if not isinstance(t, tensor_array_ops.TensorArray):
            return t
        shape = tensor_shape.TensorShape(t.element_shape)
        if not shape.ndims:
            tf_logging.warning(
                f"The TensorArray {t.handle.name} in the cell state is not amenable to sorting based on the beam "
                "search result. For a TensorArray to be sorted, its elements shape must be defined and have at "
                f"least a rank of 1, but saw shape: {shape}"
            )
            return t
        size = shape.as_list()[0]
        if None not in (size, self._static_batch_size) and size != self._static_batch_size * self._beam_width:
            tf_logging.warning(
                f"TensorArray reordering expects elements to be reshapable to [{self._static_batch_size}, "
                f"{self._beam_width}, -1] which is incompatible with the element shape {shape}."
            )
            return t
        return gather_tree_from_array(t.stack(), parent_ids, lengths)

    def _merge_batch_beams(self, t, s=None):
        """[batch, beam, ...] as [batch * beam, ...]."""
        shape = array_ops.shape(t)
        static = tensor_shape.dimension_value(t.shape.dims[0])
        merged = array_ops.reshape(t, array_ops.concat(([self._batch_size * self._beam_width], shape[2:]), 0))
        merged.set_shape(
            tensor_shape.TensorShape([None if static is None else static * self._beam_width]).concatenate(
                t.shape[2:]
            )
        )
        return merged

    def _split_batch_beams(self, t, s=None):
        """[batch * beam, ...] as [batch, beam, ...]."""
        shape = array_ops.shape(t)
        split = array_ops.reshape(t, array_ops.concat(([self._batch_size, self._beam_width], shape[1:]), 0))
        split.set_shape(
            tensor_shape.TensorShape([self._static_batch_size, self._beam_width]).concatenate(t.shape[1:])
        )
        return split

    def _is_per_beam(self, t):
        if isinstance(t, tensor_array_ops.TensorArray):
            return False
        if t.shape.ndims is None:
            raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")
        return t.shape.ndims > 0

    def _maybe_split_batch_beams(self, t, s):
        return self._split_batch_beams(t, s) if self._is_per_beam(t) else t

    def _maybe_merge_batch_beams(self, t, s):
        return self._merge_batch_beams(t, s) if self._is_per_beam(t) else t

    def step(self, time, inputs, state, name=None):
        with ops.name_scope(name, "BeamSearchDecoderStep", (time, inputs, state)):
            cell_state = nest.map_structure(
                self._maybe_merge_batch_beams, state.cell_state, self._cell.state_size
            )
            inputs = nest.map_structure(self._merge_batch_beams, inputs)
            outputs, next_cell_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(self._split_batch_beams, outputs)
            next_cell_state = nest.map_structure(
                self._maybe_split_batch_beams, next_cell_state, self._cell.state_size
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, next_state = self._search(outputs, next_cell_state, state)
            finished, ids = next_state.finished, output.predicted_ids
            next_inputs = control_flow_ops.cond(
                math_ops.reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(ids)
            )
        return output, next_state, next_inputs, finished

    def _coverage_penalty(self, attention, finished):
        """What finished beams lose for parts of the memory whose attention is below 1 in all."""
        weight = ops.convert_to_tensor(self._coverage_penalty_weight, name="coverage_penalty_weight")
        if weight.shape.ndims != 0:
            raise ValueError(f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}")
        # What has none at all is behind the end of the memory.
        attention = array_ops.where(math_ops.equal(attention, 0.0), array_ops.ones_like(attention), attention)
        penalty = math_ops.reduce_sum(math_ops.log(math_ops.minimum(attention, 1.0)), 2)
        return array_ops.expand_dims(penalty * math_ops.cast(finished, dtypes.float32) * weight, 2)

    def _search(self, logits, next_cell_state, state):
        """The best continuations of the beams."""
        classes = tensor_shape.dimension_value(logits.shape[-1])
        if classes is None:
            classes = array_ops.shape(logits)[-1]
        step_log_probs = nn_ops.log_softmax(logits)
        # A beam that has finished goes on with end_token alone.
        is_end = array_ops.one_hot(
            self._end_token, classes, on_value=0.0, off_value=logits.dtype.min, dtype=logits.dtype
        )
        finished_probs = array_ops.tile(
            array_ops.reshape(is_end, [1, 1, -1]), [self._batch_size, self._beam_width, 1]
        )
        finished_mask = array_ops.tile(array_ops.expand_dims(state.finished, 2), [1, 1, classes])
        step_log_probs = array_ops.where(finished_mask, finished_probs, step_log_probs)
        total_probs = array_ops.expand_dims(state.log_probs, 2) + step_log_probs
        grows = array_ops.one_hot(
            self._end_token,
            classes,
            on_value=np.int64(0),
            off_value=np.int64(1),
            dtype=dtypes.int64,
        )
        is_open = math_ops.cast(math_ops.logical_not(state.finished), dtypes.int64)
        new_lengths = array_ops.expand_dims(is_open, 2) * grows + array_ops.expand_dims(state.lengths, 2)
        scores = total_probs
        if not isinstance(self._length_penalty_weight, (int, float)) or self._length_penalty_weight != 0:
            scores = total_probs / math_ops.cast(
                _length_penalty(new_lengths, self._length_penalty_weight), total_probs.dtype
            )
        attention = ()
        if self._has_coverage:
            now = array_ops.expand_dims(
                math_ops.cast(math_ops.logical_not(state.finished), dtypes.float32), 2
            )
            attention = state.accumulated_attention_probs + _attention_of(next_cell_state) * now
            scores += self._coverage_penalty(attention, state.finished)
        flat_scores = array_ops.reshape(scores, [self._batch_size, -1])
        next_scores, indices = nn_ops.top_k(flat_scores, k=self._beam_width)
        next_scores.set_shape([self._static_batch_size, self._beam_width])
        indices.set_shape([self._static_batch_size, self._beam_width])
        flat_probs = array_ops.reshape(total_probs, [self._batch_size, -1])
        next_probs = array_ops.batch_gather(flat_probs, indices)
        word_ids = math_ops.floormod(indices, classes, name="next_beam_word_ids")
        beam_ids = math_ops.floordiv(indices, classes, name="next_beam_parent_ids")
        was_finished = array_ops.batch_gather(state.finished, beam_ids)
        next_finished = math_ops.logical_or(
            was_finished, math_ops.equal(word_ids, self._end_token), name="next_beam_finished"
        )
        lengths = array_ops.batch_gather(state.lengths, beam_ids)
        next_lengths = lengths + math_ops.cast(math_ops.logical_not(was_finished), dtypes.int64)

        def of_parents(tensor):
            if not self._is_per_beam(tensor):
                return tensor
            gathered = array_ops.batch_gather(tensor, beam_ids)
            gathered.set_shape(tensor.shape)
            return gathered

        for tensor in (next_probs, next_finished, next_lengths):
            tensor.set_shape([self._static_batch_size, self._beam_width])
        next_state = BeamSearchDecoderState(
            cell_state=nest.map_structure(of_parents, next_cell_state),
            log_probs=next_probs,
            finished=next_finished,
            lengths=next_lengths,
            accumulated_attention_probs=of_parents(attention) if self._has_coverage else (),
        )
        output = BeamSearchDecoderOutput(scores=next_scores, predicted_ids=word_ids, parent_ids=beam_ids)
        return output, next_state

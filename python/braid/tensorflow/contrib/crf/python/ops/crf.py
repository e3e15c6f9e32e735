"""Linear-chain conditional random fields (Lafferty et al. 2001): scores, likelihoods and the best tags.

`inputs` are the scores [batch, length, tags] of the tags by themselves, `transition_params` [tags, tags]
those of one after the other.
"""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import variable_scope as vs

__all__ = [
    "CrfDecodeBackwardRnnCell",
    "CrfDecodeForwardRnnCell",
    "CrfForwardRnnCell",
    "crf_binary_score",
    "crf_decode",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_multitag_sequence_score",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]


def _length(inputs):
    return tensor_shape.dimension_value(inputs.shape[1]) or array_ops.shape(inputs)[1]


def _is_one_long(inputs):
    return math_ops.equal(_length(inputs), 1)


def _one_or_more(inputs, one, more):
    """one() for sequences of one step, more() for longer ones."""
    length = tensor_shape.dimension_value(inputs.shape[1])
    if length is not None:
        return one() if length == 1 else more()
    return smart_cond.smart_cond(_is_one_long(inputs), one, more)


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    """[batch]: the score of the tags [batch, length], not normalized."""

    def one():
        batch = array_ops.shape(inputs, out_type=tag_indices.dtype)[0]
        indices = array_ops.stack([math_ops.range(batch), tag_indices[:, 0]], axis=1)
        scores = array_ops.gather_nd(array_ops.squeeze(inputs, [1]), indices)
        return array_ops.where(math_ops.less_equal(sequence_lengths, 0), array_ops.zeros_like(scores), scores)

    def more():
        return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
            tag_indices, sequence_lengths, transition_params
        )

    return _one_or_more(inputs, one, more)


def crf_multitag_sequence_score(inputs, tag_bitmap, sequence_lengths, transition_params):
    """[batch]: the logarithm of the sum over all sequences of tags that the bools [batch, length, tags] allow."""
    filtered = array_ops.where(tag_bitmap, inputs, array_ops.fill(array_ops.shape(inputs), float("-inf")))
    return _one_or_more(
        inputs,
        lambda: math_ops.reduce_logsumexp(filtered, axis=[1, 2], keepdims=False),
        lambda: crf_log_norm(filtered, sequence_lengths, transition_params),
    )


def crf_log_norm(inputs, sequence_lengths, transition_params):
    """[batch]: the logarithm of the sum over all sequences of tags."""
    first_input = array_ops.squeeze(array_ops.slice(inputs, [0, 0, 0], [-1, 1, -1]), [1])

    def masked(log_norm):
        return array_ops.where(
            math_ops.less_equal(sequence_lengths, 0), array_ops.zeros_like(log_norm), log_norm
        )

    def more():
        rest = array_ops.slice(inputs, [0, 1, 0], [-1, -1, -1])
        lengths = math_ops.maximum(array_ops.constant(0, dtype=sequence_lengths.dtype), sequence_lengths - 1)
        _, alphas = rnn.dynamic_rnn(
            cell=CrfForwardRnnCell(transition_params),
            inputs=rest,
            sequence_length=lengths,
            initial_state=first_input,
            dtype=dtypes.float32,
        )
        return masked(math_ops.reduce_logsumexp(alphas, [1]))

    return _one_or_more(inputs, lambda: masked(math_ops.reduce_logsumexp(first_input, [1])), more)


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    """([batch] log likelihoods of the tags, the transitions, which are the variable "transitions" if None)."""
    tags = tensor_shape.dimension_value(inputs.shape[2])
    tag_indices = math_ops.cast(tag_indices, dtype=dtypes.int32)
    sequence_lengths = math_ops.cast(sequence_lengths, dtype=dtypes.int32)
    if transition_params is None:
        transition_params = vs.get_variable("transitions", [tags, tags])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    log_norm = crf_log_norm(inputs, sequence_lengths, transition_params)
    return scores - log_norm, transition_params


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    """[batch]: the sum of the scores of the tags by themselves."""
    batch, length, tags = array_ops.unstack(array_ops.shape(inputs), num=3)
    offsets = array_ops.expand_dims(math_ops.range(batch) * length * tags, 1)
    offsets += array_ops.expand_dims(math_ops.range(length) * tags, 0)
    offsets = math_ops.cast(offsets, tag_indices.dtype)
    flat_indices = array_ops.reshape(offsets + tag_indices, [-1])
    scores = array_ops.reshape(
        array_ops.gather(array_ops.reshape(inputs, [-1]), flat_indices), [batch, length]
    )
    mask = array_ops.sequence_mask(
        sequence_lengths, maxlen=array_ops.shape(tag_indices)[1], dtype=dtypes.float32
    )
    return math_ops.reduce_sum(scores * mask, 1)


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """[batch]: the sum of the scores of the tags one after the other."""
    tags = tensor_shape.dimension_value(transition_params.shape[0]) or array_ops.shape(transition_params)[0]
    number = array_ops.shape(tag_indices)[1] - 1
    start = array_ops.slice(tag_indices, [0, 0], [-1, number])
    end = array_ops.slice(tag_indices, [0, 1], [-1, number])
    flat = array_ops.reshape(transition_params, [-1])
    scores = array_ops.gather(flat, start * tags + end)
    mask = array_ops.sequence_mask(
        sequence_lengths, maxlen=array_ops.shape(tag_indices)[1], dtype=dtypes.float32
    )
    return math_ops.reduce_sum(scores * array_ops.slice(mask, [0, 1], [-1, -1]), 1)


class CrfForwardRnnCell(rnn_cell_impl.RNNCell):
    """Sums over all tags before: the forward algorithm."""

    def __init__(self, transition_params):
        super().__init__()
        self._transition_params = array_ops.expand_dims(transition_params, 0)
        self._num_tags = tensor_shape.dimension_value(transition_params.shape[0])

    @property
    def state_size(self):
        return self._num_tags

    @property
    def output_size(self):
        return self._num_tags

    def __call__(self, inputs, state, scope=None):
        scores = array_ops.expand_dims(state, 2) + self._transition_params
        alphas = inputs + math_ops.reduce_logsumexp(scores, [1])
        return alphas, alphas


class CrfDecodeForwardRnnCell(rnn_cell_impl.RNNCell):
    """The best scores, and which tag before they come from."""

    def __init__(self, transition_params):
        super().__init__()
        self._transition_params = array_ops.expand_dims(transition_params, 0)
        self._num_tags = tensor_shape.dimension_value(transition_params.shape[0])

    @property
    def state_size(self):
        return self._num_tags

    @property
    def output_size(self):
        return self._num_tags

    def __call__(self, inputs, state, scope=None):
        scores = array_ops.expand_dims(state, 2) + self._transition_params
        new_state = inputs + math_ops.reduce_max(scores, [1])
        return math_ops.cast(math_ops.argmax(scores, 1), dtype=dtypes.int32), new_state


class CrfDecodeBackwardRnnCell(rnn_cell_impl.RNNCell):
    """The tag before, by the pointers back."""

    def __init__(self, num_tags):
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self):
        return 1

    @property
    def output_size(self):
        return 1

    def __call__(self, inputs, state, scope=None):
        tags = array_ops.squeeze(state, axis=[1])
        batch = math_ops.range(array_ops.shape(inputs)[0])
        indices = array_ops.stack([batch, tags], axis=1)
        new_tags = array_ops.expand_dims(array_ops.gather_nd(inputs, indices), axis=-1)
        return new_tags, new_tags


def viterbi_decode(score, transition_params):
    """(the best tags as a list, their score), of arrays [length, tags] and [tags, tags]."""
    trellis = np.zeros_like(score)
    backpointers = np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for t in range(1, score.shape[0]):
        v = np.expand_dims(trellis[t - 1], 1) + transition_params
        trellis[t] = score[t] + np.max(v, 0)
        backpointers[t] = np.argmax(v, 0)
    viterbi = [np.argmax(trellis[-1])]
    for bp in reversed(backpointers[1:]):
        viterbi.append(bp[viterbi[-1]])
    viterbi.reverse()
    return viterbi, np.max(trellis[-1])


def crf_decode(potentials, transition_params, sequence_length):
    """(the best tags int32 [batch, length], their scores [batch])."""

    def one():
        squeezed = array_ops.squeeze(potentials, [1])
        tags = array_ops.expand_dims(math_ops.argmax(squeezed, axis=1), 1)
        return math_ops.cast(tags, dtype=dtypes.int32), math_ops.reduce_max(squeezed, axis=1)

    def more():
        num_tags = tensor_shape.dimension_value(potentials.shape[2])
        initial = array_ops.squeeze(array_ops.slice(potentials, [0, 0, 0], [-1, 1, -1]), axis=[1])
        inputs = array_ops.slice(potentials, [0, 1, 0], [-1, -1, -1])
        lengths = math_ops.maximum(array_ops.constant(0, dtype=sequence_length.dtype), sequence_length - 1)
        backpointers, last_score = rnn.dynamic_rnn(
            CrfDecodeForwardRnnCell(transition_params),
            inputs=inputs,
            sequence_length=lengths,
            initial_state=initial,
            time_major=False,
            dtype=dtypes.int32,
        )
        backpointers = array_ops.reverse_sequence(backpointers, lengths, seq_axis=1)
        last = array_ops.expand_dims(
            math_ops.cast(math_ops.argmax(last_score, axis=1), dtype=dtypes.int32), axis=-1
        )
        tags, _ = rnn.dynamic_rnn(
            CrfDecodeBackwardRnnCell(num_tags),
            inputs=backpointers,
            sequence_length=lengths,
            initial_state=last,
            time_major=False,
            dtype=dtypes.int32,
        )
        tags = array_ops.concat([last, array_ops.squeeze(tags, axis=[2])], axis=1)
        tags = array_ops.reverse_sequence(tags, sequence_length, seq_axis=1)
        return tags, math_ops.reduce_max(last_score, axis=1)

    return _one_or_more(potentials, one, more)

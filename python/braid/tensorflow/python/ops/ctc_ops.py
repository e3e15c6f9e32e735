"""Connectionist temporal classification (Graves et al. 2006).

ctc_loss is an op of the engine. The loss of dense labels (ctc_loss_v2) is a loop over time in the graph: the
forward recursion in logarithms, whose gradient is the loop's.
"""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import functional_ops
from braid.tensorflow.python.ops import gen_ctc_ops
from braid.tensorflow.python.ops import map_fn
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export

_NEVER = -1e30  # the logarithm of a probability of zero; sums with it have gradients, those with -inf do not


def _log_sum(*terms):
    """log(sum(exp(term)))"""
    most = array_ops.stop_gradient(_maximum(terms))
    return most + math_ops.log(math_ops.add_n([math_ops.exp(t - most) for t in terms]))


def _maximum(terms):
    most = terms[0]
    for term in terms[1:]:
        most = math_ops.maximum(most, term)
    return most


def _moved(alpha, by):
    """The probabilities of the states before, by this distance."""
    return array_ops.pad(alpha[:, :-by], [[0, 0], [by, 0]], constant_values=_NEVER)


def _states(labels, blank):
    """The labels with blanks between and around them, [batch, 2 * length + 1]."""
    blanks = array_ops.fill(array_ops.shape(labels), blank)
    pairs = array_ops.reshape(
        array_ops.stack([blanks, labels], 2), array_ops.stack([array_ops.shape(labels)[0], -1])
    )
    return array_ops.concat([pairs, blanks[:, :1]], 1)


def _loss(labels, lengths, log_probs, logit_lengths, blank):
    """-log of the probability of each sequence of labels.

    labels: int32 [batch, length] of `lengths`, at least one column; log_probs: [time, batch, classes].
    """
    states = _states(labels, blank)
    seen = array_ops.batch_gather(array_ops.transpose(log_probs, [1, 2, 0]), states)
    seen = array_ops.transpose(seen, [2, 0, 1])
    is_blank = math_ops.equal(states, blank)
    before = array_ops.pad(states[:, :-2], [[0, 0], [2, 0]], constant_values=-1)
    may_skip = math_ops.logical_and(math_ops.logical_not(is_blank), math_ops.not_equal(states, before))
    places = math_ops.range(array_ops.shape(states)[1])
    never = array_ops.fill(array_ops.shape(states), math_ops.cast(_NEVER, log_probs.dtype))
    is_first = math_ops.logical_and(places < 2, array_ops.ones_like(is_blank))
    alpha = array_ops.where(is_first, seen[0], never)

    def step(alpha, element):
        emission, time = element
        made = emission + _log_sum(
            alpha,
            _moved(alpha, 1),
            array_ops.where(may_skip, _moved(alpha, 2), never),
        )
        return array_ops.where(time < logit_lengths, made, alpha)

    times = math_ops.range(1, array_ops.shape(seen)[0])
    alpha = functional_ops.foldl(step, (seen[1:], times), initializer=alpha)
    rows = math_ops.range(array_ops.shape(states)[0])
    last = 2 * lengths
    ends = array_ops.gather_nd(alpha, array_ops.stack([rows, last], 1))
    label_ends = array_ops.gather_nd(alpha, array_ops.stack([rows, math_ops.maximum(last - 1, 0)], 1))
    label_ends = array_ops.where(lengths > 0, label_ends, never[:, 0])
    return -_log_sum(ends, label_ends)


def _with_a_column(labels):
    """The labels with one column more, so that there is one, and states to move by two."""
    return array_ops.pad(labels, [[0, 0], [0, 1]])


def _is_repeated(labels, lengths):
    """Which labels are those before them, [batch, length]."""
    before = array_ops.pad(labels[:, :-1], [[0, 0], [1, 0]], constant_values=-1)
    is_there = math_ops.range(array_ops.shape(labels)[1]) < array_ops.expand_dims(lengths, 1)
    return math_ops.logical_and(math_ops.equal(labels, before), is_there)


@tf_export(v1=["nn.ctc_loss"])
def ctc_loss(
    labels,
    inputs=None,
    sequence_length=None,
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=False,
    time_major=True,
    logits=None,
):
    """The loss of each sequence, [batch].

    labels: int32 SparseTensor [batch, time]; inputs: logits [time, batch, classes] (time_major) whose last
    class is the blank; sequence_length: int32 [batch], how many times there are. ctc_merge_repeated: equal
    labels one after another are one, unless there is a blank between them. A sequence that is too short for
    its labels is an error, or has no loss (ignore_longer_outputs_than_inputs).
    """
    if not isinstance(labels, sparse_tensor.SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    inputs = deprecation.deprecated_argument_lookup("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = array_ops.transpose(inputs, [1, 0, 2])
    loss, _ = gen_ctc_ops.ctc_loss(
        inputs,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return loss


@tf_export(v1=["nn.ctc_loss_v2"])
def ctc_loss_v2(
    labels,
    logits,
    label_length,
    logit_length,
    logits_time_major=True,
    unique=None,
    blank_index=None,
    name=None,
):
    """The loss of each sequence of labels, a Tensor [batch, length] of `label_length`, or a SparseTensor.

    blank_index: the class of the blank, the first one by default (of a SparseTensor it must be given).
    """
    if not isinstance(labels, sparse_tensor.SparseTensor):
        return ctc_loss_dense(
            labels, logits, label_length, logit_length, logits_time_major, unique, blank_index or 0, name
        )
    if blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    classes = _size(logits, 2)
    if blank_index < 0:
        blank_index += classes
    if blank_index != classes - 1:  # ctc_loss has the blank last
        logits = array_ops.concat(
            [
                logits[:, :, :blank_index],
                logits[:, :, blank_index + 1 :],
                logits[:, :, blank_index : blank_index + 1],
            ],
            axis=2,
        )
        values = array_ops.where(labels.values < blank_index, labels.values, labels.values - 1)
        labels = sparse_tensor.SparseTensor(labels.indices, values, labels.dense_shape)
    return ctc_loss(labels=labels, inputs=logits, sequence_length=logit_length, time_major=logits_time_major)


def _size(x, axis):
    """The size along an axis: a number where it is known."""
    return tensor_shape.dimension_value(x.shape[axis]) or array_ops.shape(x)[axis]


def ctc_loss_dense(
    labels,
    logits,
    label_length,
    logit_length,
    logits_time_major=True,
    unique=None,
    blank_index=0,
    name=None,
):
    """The loss of each sequence of dense labels: ctc_loss_v2 of a Tensor."""
    del unique
    with ops.name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = math_ops.cast(ops.convert_to_tensor(labels, name="labels"), dtypes.int32)
        label_length = math_ops.cast(ops.convert_to_tensor(label_length, name="label_length"), dtypes.int32)
        logit_length = math_ops.cast(ops.convert_to_tensor(logit_length, name="logit_length"), dtypes.int32)
        if not logits_time_major:
            logits = array_ops.transpose(logits, [1, 0, 2])
        if blank_index < 0:
            blank_index += _size(logits, 2)
        log_probs = nn_ops.log_softmax(logits)
        return _loss(_with_a_column(labels), label_length, log_probs, logit_length, blank_index)


@tf_export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True):
    """The most likely class at each time: ([SparseTensor int64 [batch, time]], -sum of the logits [batch,
    1]).

    inputs: logits [time, batch, classes], of which the last is the blank, which is left out; merge_repeated:
    so are classes that are those of the time before.
    """
    indices, values, shape, scores = gen_ctc_ops.ctc_greedy_decoder(
        inputs, sequence_length, merge_repeated=merge_repeated
    )
    return [sparse_tensor.SparseTensor(indices, values, shape)], scores


@tf_export(v1=["nn.ctc_beam_search_decoder"])
def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """The most likely sequences of labels: ([SparseTensor int64 [batch, time]], log probabilities [batch,
    top_paths]).

    inputs: logits [time, batch, classes], of which the last is the blank. merge_repeated: equal labels one
    after another in a path are made one.
    """
    indices, values, shapes, scores = gen_ctc_ops.ctc_beam_search_decoder(
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    return [sparse_tensor.SparseTensor(*parts) for parts in zip(indices, values, shapes)], scores


@tf_export("nn.ctc_beam_search_decoder", v1=["nn.ctc_beam_search_decoder_v2"])
def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    """tf.nn.ctc_beam_search_decoder whose paths keep equal labels one after another."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


def _size(tensor, axis):
    """A dimension, a number where the program knows it."""
    known = tensor.get_shape().dims[axis].value
    return array_ops.shape(tensor)[axis] if known is None or known == 0 else known


@tf_export("nn.collapse_repeated")
def collapse_repeated(labels, seq_length, name=None):
    """(labels without those that are the same as the one before, [batch, length]; how many are left)."""
    with ops.name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = ops.convert_to_tensor(labels, name="labels")
        seq_length = ops.convert_to_tensor(seq_length, name="seq_length")
        first = array_ops.ones_like(labels[:, :1], dtypes.bool)
        is_kept = array_ops.concat([first, math_ops.not_equal(labels[:, 1:], labels[:, :-1])], axis=1)
        is_there = array_ops.sequence_mask(seq_length, maxlen=_size(labels, 1))
        is_kept = math_ops.logical_and(is_kept, is_there)
        lengths = math_ops.reduce_sum(math_ops.cast(is_kept, dtypes.int32), axis=1)
        width = math_ops.reduce_max(lengths)
        is_filled = array_ops.sequence_mask(lengths, maxlen=width)
        flat = array_ops.reshape(labels, [-1])
        is_kept = array_ops.reshape(is_kept, [-1])
        is_filled = array_ops.reshape(is_filled, [-1])
        places = math_ops.range(_size(is_filled, 0))
        made = array_ops.scatter_nd(
            array_ops.expand_dims(array_ops.boolean_mask(places, is_filled), axis=1),
            array_ops.boolean_mask(flat, is_kept),
            array_ops.shape(is_filled),
        )
        made = array_ops.reshape(made, [_size(labels, 0), width])
        return made, math_ops.cast(lengths, seq_length.dtype)


def dense_labels_to_sparse(dense, length):
    """The first `length` labels of each row as an int32 SparseTensor as wide as the longest one.

    dense: [batch, width]; length: [batch].
    """
    mask = array_ops.sequence_mask(length, maxlen=array_ops.shape(dense)[1])
    batch = array_ops.shape(dense, out_type=dtypes.int64)[0]
    values = math_ops.cast(array_ops.boolean_mask(dense, mask), dtypes.int32)
    width = math_ops.cast(math_ops.reduce_max(length), dtypes.int64)
    return sparse_tensor.SparseTensor(array_ops.where(mask), values, array_ops.stack([batch, width]))


@tf_export("nn.ctc_unique_labels")
def ctc_unique_labels(labels, name=None):
    """(The different labels of each row, padded with 0; the place of each label among them).

    labels: [batch, length], padded with 0. The results are int64 and int32, of the same shape.
    """
    with ops.name_scope(name, "ctc_unique_labels", [labels]):
        labels = ops.convert_to_tensor(labels, name="labels")

        def unique(row):
            values, places = array_ops.unique(row)
            missing = _size(places, 0) - _size(values, 0)
            return [math_ops.cast(array_ops.pad(values, [[0, missing]]), dtypes.int64), places]

        return map_fn.map_fn(unique, labels, dtype=[dtypes.int64, dtypes.int32])

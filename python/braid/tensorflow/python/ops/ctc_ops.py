"""Connectionist temporal classification (Graves et al. 2006), by a loop over time in the graph.

The loss is the forward recursion in logarithms; its gradient is the loop's.
"""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import functional_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import script_ops
from braid.tensorflow.python.ops import sparse_ops
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


def _loss(labels, lengths, log_probs, logit_lengths, blank, merges):
    """-log of the probability of each sequence of labels.

    labels: int32 [batch, length] of `lengths`, at least one column; log_probs: [time, batch, classes].
    """
    states = _states(labels, blank)
    seen = array_ops.batch_gather(array_ops.transpose(log_probs, [1, 2, 0]), states)
    seen = array_ops.transpose(seen, [2, 0, 1])
    is_blank = math_ops.equal(states, blank)
    before = array_ops.pad(states[:, :-2], [[0, 0], [2, 0]], constant_values=-1)
    may_skip = math_ops.logical_not(is_blank)
    if merges:
        may_skip = math_ops.logical_and(may_skip, math_ops.not_equal(states, before))
        may_stay = array_ops.ones_like(is_blank)
    else:
        may_stay = is_blank
    places = math_ops.range(array_ops.shape(states)[1])
    never = array_ops.fill(array_ops.shape(states), math_ops.cast(_NEVER, log_probs.dtype))
    is_first = math_ops.logical_and(places < 2, array_ops.ones_like(is_blank))
    alpha = array_ops.where(is_first, seen[0], never)

    def step(alpha, element):
        emission, time = element
        made = emission + _log_sum(
            array_ops.where(may_stay, alpha, never),
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
    inputs = deprecation.deprecated_argument_lookup("logits", logits, "inputs", inputs)
    if not isinstance(labels, sparse_tensor.SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    with ops.name_scope(None, "CTCLoss", [labels, inputs, sequence_length]):
        inputs = ops.convert_to_tensor(inputs, name="inputs")
        sequence_length = ops.convert_to_tensor(sequence_length, dtypes.int32, name="sequence_length")
        if not time_major:
            inputs = array_ops.transpose(inputs, [1, 0, 2])
        classes = array_ops.shape(inputs)[2]
        batch = array_ops.shape(inputs)[1]
        places = math_ops.cast(labels.indices, dtypes.int32)
        ones = array_ops.ones_like(labels.values)
        lengths = math_ops.unsorted_segment_sum(ones, places[:, 0], batch)
        width = math_ops.cast(labels.dense_shape[1], dtypes.int32)
        dense = array_ops.scatter_nd(places, labels.values, array_ops.stack([batch, width]))
        if preprocess_collapse_repeated:
            dense, lengths = collapse_repeated(dense, lengths)
        dense = _with_a_column(dense)
        repeats = math_ops.cast(_is_repeated(dense, lengths), dtypes.int32)
        needed = lengths + math_ops.reduce_sum(repeats, 1) if ctc_merge_repeated else lengths
        is_long_enough = needed <= sequence_length
        if not ignore_longer_outputs_than_inputs:
            check = control_flow_ops.Assert(
                math_ops.reduce_all(is_long_enough),
                [
                    "Not enough time for target transition sequence. Needed: ",
                    needed,
                    "there: ",
                    sequence_length,
                ],
            )
            with ops.control_dependencies([check]):
                inputs = array_ops.identity(inputs)
        log_probs = nn_ops.log_softmax(inputs)
        losses = _loss(dense, lengths, log_probs, sequence_length, classes - 1, ctc_merge_repeated)
        return array_ops.where(is_long_enough, losses, array_ops.zeros_like(losses))


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
    del unique
    if isinstance(labels, sparse_tensor.SparseTensor):
        if blank_index is None:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        places = math_ops.cast(labels.indices, dtypes.int32)
        batch = math_ops.cast(labels.dense_shape[0], dtypes.int32)
        label_length = math_ops.unsorted_segment_sum(array_ops.ones_like(labels.values), places[:, 0], batch)
        labels = sparse_ops.sparse_tensor_to_dense(labels)
    with ops.name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = math_ops.cast(ops.convert_to_tensor(labels, name="labels"), dtypes.int32)
        label_length = math_ops.cast(ops.convert_to_tensor(label_length, name="label_length"), dtypes.int32)
        logit_length = math_ops.cast(ops.convert_to_tensor(logit_length, name="logit_length"), dtypes.int32)
        if not logits_time_major:
            logits = array_ops.transpose(logits, [1, 0, 2])
        blank = 0 if blank_index is None else blank_index
        if blank < 0:
            blank = blank + array_ops.shape(logits)[2]
        log_probs = nn_ops.log_softmax(logits)
        return _loss(_with_a_column(labels), label_length, log_probs, logit_length, blank, True)


@tf_export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True):
    """The most likely class at each time: ([SparseTensor int64 [batch, time]], -sum of the logits [batch,
    1]).

    inputs: logits [time, batch, classes], of which the last is the blank, which is left out; merge_repeated:
    so are classes that are those of the time before.
    """
    with ops.name_scope(None, "CTCGreedyDecoder", [inputs, sequence_length]):
        inputs = ops.convert_to_tensor(inputs, name="inputs")
        sequence_length = ops.convert_to_tensor(sequence_length, dtypes.int32, name="sequence_length")
        best = array_ops.transpose(math_ops.argmax(inputs, 2))
        is_there = array_ops.sequence_mask(sequence_length, array_ops.shape(inputs)[0])
        logits = array_ops.transpose(math_ops.reduce_max(inputs, 2))
        logits = array_ops.where(is_there, logits, array_ops.zeros_like(logits))
        blank = array_ops.shape(inputs, out_type=dtypes.int64)[2] - 1
        is_kept = math_ops.logical_and(is_there, math_ops.not_equal(best, blank))
        if merge_repeated:
            before = array_ops.pad(best[:, :-1], [[0, 0], [1, 0]], constant_values=-1)
            is_kept = math_ops.logical_and(is_kept, math_ops.not_equal(best, before))
        kept = array_ops.where(is_kept)
        columns = math_ops.cumsum(math_ops.cast(is_kept, dtypes.int64), 1) - 1
        places = array_ops.stack([kept[:, 0], array_ops.gather_nd(columns, kept)], 1)
        counts = math_ops.reduce_sum(math_ops.cast(is_kept, dtypes.int64), 1)
        width = math_ops.maximum(math_ops.reduce_max(counts), 0)
        shape = array_ops.stack([array_ops.shape(best, out_type=dtypes.int64)[0], width])
        decoded = sparse_tensor.SparseTensor(places, array_ops.gather_nd(best, kept), shape)
        return [decoded], -math_ops.reduce_sum(logits, 1, keepdims=True)


def _log_probs(logits):
    most = logits.max(-1, keepdims=True)
    return logits - most - np.log(np.exp(logits - most).sum(-1, keepdims=True))


class _Beams:
    """The best prefixes of one sequence so far.

    For each there are its node, and the logarithms of the probabilities of paths that end in a blank, and in
    its last label.
    """

    def __init__(self):
        self.nodes = [(-1, -1)]  # of all prefixes: the node before, and the label
        self.numbers = {}  # the node of a prefix by these two
        self.node = np.zeros(1, np.int64)
        self.blank = np.zeros(1)
        self.label = np.full(1, -np.inf)

    def _last(self):
        return np.array([self.nodes[n][1] for n in self.node])

    def step(self, log_probs, width):
        """Goes on by the probabilities of the classes at one time; the last class is the blank."""
        count, classes = len(self.node), len(log_probs) - 1
        last, total = self._last(), np.logaddexp(self.blank, self.label)
        longer = total[:, None] + log_probs[None, :classes]
        has_label = np.flatnonzero(last >= 0)
        longer[has_label, last[has_label]] = self.blank[has_label] + log_probs[last[has_label]]
        label = np.where(last >= 0, self.label + log_probs[last], -np.inf)
        place = {n: k for k, n in enumerate(self.node.tolist())}
        for k in has_label.tolist():  # prefixes that go on from another one of the beam to one of the beam
            before = place.get(self.nodes[self.node[k]][0])
            if before is not None:
                label[k] = np.logaddexp(label[k], longer[before, last[k]])
                longer[before, last[k]] = -np.inf
        blank = total + log_probs[classes]
        scores = np.concatenate([np.logaddexp(blank, label), longer.ravel()])
        kept = np.argsort(-scores, kind="stable")[:width]
        kept = kept[scores[kept] > -np.inf]
        old, new = kept[kept < count], kept[kept >= count] - count
        made = [self._longer(self.node[k // classes], k % classes) for k in new]
        self.node = np.concatenate([self.node[old], np.array(made, np.int64)])
        self.blank = np.concatenate([blank[old], np.full(len(new), -np.inf)])
        self.label = np.concatenate([label[old], longer.ravel()[new]])

    def _longer(self, node, label):
        key = (int(node), int(label))
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return self.numbers[key]

    def best(self, count):
        """The labels of the best prefixes and the logarithms of their probabilities."""
        total = np.logaddexp(self.blank, self.label)
        found = []
        for k in np.argsort(-total, kind="stable")[:count]:
            labels, node = [], int(self.node[k])
            while node > 0:
                node, label = self.nodes[node]
                labels.append(label)
            found.append((labels[::-1], total[k]))
        return found


def _search(logits, lengths, width, top_paths, merge_repeated):
    """The parts of the SparseTensors of the best paths, and their probabilities, of arrays."""
    paths, scores = [[] for _ in range(top_paths)], []
    for b, length in enumerate(lengths):
        beams = _Beams()
        for log_probs in _log_probs(logits[:length, b].astype(np.float64)):
            beams.step(log_probs, width)
        found = beams.best(top_paths)
        if len(found) < top_paths:
            raise ValueError("there are fewer than top_paths = %d paths: beam_width is too small" % top_paths)
        scores.append([score for _, score in found])
        for path, (labels, _) in zip(paths, found):
            if merge_repeated:
                labels = [k for i, k in enumerate(labels) if i == 0 or k != labels[i - 1]]
            path.append(labels)
    results = []
    for path in paths:
        places = [(b, i) for b, labels in enumerate(path) for i in range(len(labels))]
        results.append(np.array(places, np.int64).reshape(-1, 2))
        results.append(np.array([k for labels in path for k in labels], np.int64))
        results.append(np.array([len(path), max(map(len, path), default=0)], np.int64))
    return [*results, np.array(scores, logits.dtype).reshape(-1, top_paths)]


@tf_export(v1=["nn.ctc_beam_search_decoder"])
def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """The most likely sequences of labels: ([SparseTensor int64 [batch, time]], log probabilities [batch,
    top_paths]).

    inputs: logits [time, batch, classes], of which the last is the blank. merge_repeated: equal labels one
    after another in a path are made one. A function of the program (tf.py_func) searches, not the engine.
    """
    if beam_width < top_paths:
        raise ValueError("beam_width must be at least top_paths")
    with ops.name_scope(None, "CTCBeamSearchDecoder", [inputs, sequence_length]):
        inputs = ops.convert_to_tensor(inputs, name="inputs")
        sequence_length = ops.convert_to_tensor(sequence_length, dtypes.int32, name="sequence_length")
        parts = script_ops.py_func(
            lambda logits, lengths: _search(logits, lengths, beam_width, top_paths, merge_repeated),
            [inputs, sequence_length],
            [dtypes.int64] * (3 * top_paths) + [inputs.dtype.base_dtype],
            stateful=False,
        )
        decoded = []
        for i in range(top_paths):
            places, values, shape = parts[3 * i : 3 * i + 3]
            places.set_shape([None, 2])
            values.set_shape([None])
            shape.set_shape([2])
            decoded.append(sparse_tensor.SparseTensor(places, values, shape))
        parts[-1].set_shape([inputs.get_shape().with_rank(3).dims[1].value, top_paths])
        return decoded, parts[-1]


@tf_export("nn.ctc_beam_search_decoder", v1=["nn.ctc_beam_search_decoder_v2"])
def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    """tf.nn.ctc_beam_search_decoder whose paths keep equal labels one after another."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


@tf_export("nn.collapse_repeated")
def collapse_repeated(labels, seq_length, name=None):
    """(labels without those that are the same as the one before, [batch, length]; how many are left)."""
    with ops.name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = ops.convert_to_tensor(labels, name="labels")
        seq_length = ops.convert_to_tensor(seq_length, name="seq_length")
        width = array_ops.shape(labels)[1]
        is_there = array_ops.sequence_mask(seq_length, width)
        is_kept = math_ops.logical_and(
            is_there, math_ops.logical_not(_is_repeated(labels, math_ops.cast(seq_length, dtypes.int32)))
        )
        lengths = math_ops.reduce_sum(math_ops.cast(is_kept, seq_length.dtype), 1)
        is_filled = array_ops.sequence_mask(
            lengths, math_ops.cast(math_ops.reduce_max(lengths), dtypes.int32)
        )
        made = array_ops.scatter_nd(
            array_ops.where(is_filled),
            array_ops.boolean_mask(labels, is_kept),
            array_ops.shape(is_filled, out_type=dtypes.int64),
        )
        return made, lengths

"""Batches of segments of sequences, with states that are kept from one segment of a sequence to its next.

A Barrier holds the segments. The element of a segment has the key "INDEX_of_COUNT:KEY OF THE SEQUENCE". It is
complete when its states are there. The first segment has the initial states, a later one those that
`save_state` has been given for the segment before. A queue holds one token for each sequence that is not at
its end, and so bounds their number.
"""

import numbers

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import gen_sparse_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import queue_runner

__all__ = ["batch_sequences_with_states", "NextQueuedSequenceBatch", "SequenceQueueingStateSaver"]

_TOKEN = 21051976  # what the queue of tokens holds; nothing reads it


# ---- Checks ----


def _check_names(kind, names):
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{kind} must be string: {name}")
        if ":" in name:
            raise ValueError(f"{kind} may not have a colon: '{name}'")


class _SequenceInputWrapper:
    """The tensors of one sequence."""

    def __init__(self, length, key, sequences, context):
        self.length = ops.convert_to_tensor(length, name="length")
        self.key = ops.convert_to_tensor(key, name="key")
        for what, values in (("sequences", sequences), ("context", context)):
            if not isinstance(values, dict):
                raise TypeError(f"{what} must be a dict")
        if not sequences:
            raise ValueError("must have at least one sequence tensor")
        _check_names("sequence key", sequences)
        _check_names("context key", context)
        self.sequences = {k: ops.convert_to_tensor(v, name=f"sequence_{k}") for k, v in sequences.items()}
        self.context = {k: ops.convert_to_tensor(v, name=f"context_{k}") for k, v in context.items()}


def _checked(value, assertions, name):
    """`value`, which is there when `assertions()` hold."""
    with ops.control_dependencies(assertions()):
        return array_ops.identity(value, name=name)


def _not_a_multiple(subject, value, multiple_of):
    """The assertion that `value` is a multiple of `multiple_of`, and not 0."""
    holds = math_ops.logical_and(
        math_ops.equal(math_ops.mod(value, multiple_of), 0), math_ops.not_equal(value, 0)
    )
    parts = [
        f"{subject} should be a multiple of: ",
        string_ops.as_string(multiple_of),
        ", but saw value: ",
        string_ops.as_string(value),
        ". Consider setting pad=True.",
    ]
    return control_flow_ops.Assert(holds, [string_ops.string_join(parts)])


def _check_multiple_of(value, multiple_of):
    return _checked(
        value,
        lambda: [_not_a_multiple(f"Tensor {value.name}", value, multiple_of)],
        "multiple_of_checked",
    )


def _static(expected, convert):
    """What a tensor's constant value is, if it has one; else `expected`."""
    if isinstance(expected, ops.Tensor):
        value = tensor_util.constant_value(expected)
        if value is not None:
            return convert(value)
    return expected


def _check_rank(value, expected_rank):
    """`value` with a static rank, if the expected one is known. An assertion holds it in a step."""

    def assertions():
        is_expected = math_ops.equal(expected_rank, array_ops.rank(value))
        text = string_ops.string_join(
            [
                f"Rank of tensor {value.name} should be: ",
                string_ops.as_string(expected_rank),
                ", shape received:",
            ]
        )
        return [control_flow_ops.Assert(is_expected, [text, array_ops.shape(value)])]

    checked = _checked(value, assertions, "rank_checked")
    rank = _static(expected_rank, int)
    if not isinstance(rank, ops.Tensor):
        try:
            checked.set_shape(checked.shape.with_rank(rank))
        except ValueError as error:
            raise ValueError(f"Rank check failed for {value.name}: {error}") from None
    return checked


def _check_shape(value, expected_shape):
    """`value` with the static shape that is expected, if it is known. An assertion holds it in a step."""
    if isinstance(expected_shape, tensor_shape.TensorShape):
        expected_shape = expected_shape.as_list()
    expected_shape = _static(expected_shape, lambda dims: [int(d) for d in dims])
    is_tensor = isinstance(expected_shape, ops.Tensor)
    value = _check_rank(value, array_ops.size(expected_shape) if is_tensor else len(expected_shape))

    def assertions():
        is_expected = math_ops.reduce_all(math_ops.equal(expected_shape, array_ops.shape(value)))
        parts = [
            f"Shape of tensor {value.name} should be: ",
            string_ops.as_string(expected_shape),
            ", shape received: ",
            string_ops.as_string(array_ops.shape(value)),
        ]
        return [control_flow_ops.Assert(is_expected, [string_ops.string_join(parts)])]

    checked = _checked(value, assertions, "shape_checked")
    if not is_tensor:
        try:
            checked.set_shape(checked.shape.merge_with(expected_shape))
        except ValueError as error:
            raise ValueError(f"Shape check failed for {value.name}: {error}") from None
    return checked


def _check_dimensions(value, dimensions, expected_sizes, debug_prefix):
    """`value` whose dimensions have the sizes that are expected: numbers, or scalars that a step has."""
    if not isinstance(dimensions, (list, tuple)):
        raise TypeError("dimensions must be a list or tuple")
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if not isinstance(value, ops.Tensor):
        raise TypeError(f"value is not a Tensor: {value}")
    if not isinstance(expected_sizes, ops.Tensor):
        _set_dimensions(value, dimensions, expected_sizes, debug_prefix)

    def assertions():
        return [
            control_flow_ops.Assert(
                math_ops.equal(size, array_ops.shape(value)[dimension]),
                [
                    string_ops.string_join(
                        [
                            f"Dimension {dimension} of tensor labeled {debug_prefix} should be: ",
                            string_ops.as_string(size),
                            ", shape received: ",
                            string_ops.as_string(array_ops.shape(value)),
                        ]
                    )
                ],
            )
            for size, dimension in zip(expected_sizes, dimensions)
        ]

    return _checked(value, assertions, f"dims_checked_{debug_prefix}")


def _set_dimensions(value, dimensions, expected_sizes, debug_prefix):
    """Gives `value` the sizes that are numbers."""
    if len(dimensions) != len(expected_sizes):
        raise ValueError(
            f"len(dimensions) != len(expected_sizes): {len(dimensions)} vs. {len(expected_sizes)}"
        )
    ndims = value.shape.ndims
    if ndims is None:
        return
    if ndims <= max(dimensions):
        raise ValueError(
            f"{debug_prefix}: rank of input is not greater than max(dimensions): {ndims} vs. {max(dimensions)}"
        )
    sizes = value.shape.as_list()
    for dimension, size in zip(dimensions, expected_sizes):
        if not isinstance(size, ops.Tensor):
            sizes[dimension] = size
    try:
        value.set_shape(value.shape.merge_with(sizes))
    except ValueError as error:
        raise ValueError(f"Dimensions check failed for {debug_prefix}: {error}") from None


def _assert_fully_defined(kind, values, but_time=False):
    for name, value in values.items():
        shape = value.shape[1:] if but_time else value.shape
        if not shape.is_fully_defined():
            which = "(ignoring first dimension)" if but_time else ""
            raise ValueError(f"Shape for {kind} {name} is not fully defined {which}: {value.shape}")


def _prepare_sequence_inputs(inputs, states):
    """Length and key, checked, and the states, sequences and contexts as dicts in the order of their names."""
    states = {k: ops.convert_to_tensor(v, name=f"state_{k}") for k, v in states.items()}
    _assert_fully_defined("state", states)
    _assert_fully_defined("context", inputs.context)
    _assert_fully_defined("sequence", inputs.sequences, but_time=True)
    length, key = _check_rank(inputs.length, 0), _check_rank(inputs.key, 0)
    for tensor, name, dtype in ((length, "length", dtypes.int32), (key, "key", dtypes.string)):
        if tensor.dtype != dtype:
            raise TypeError(f"{name} dtype must be {dtype.name}, but received: {tensor.dtype}")
    return length, key, *(dict(sorted(d.items())) for d in (states, inputs.sequences, inputs.context))


# ---- Segments ----


class NextQueuedSequenceBatch:
    """The segments of a batch, one of each of `batch_size` sequences, and their states."""

    def __init__(self, state_saver):
        self._state_saver = state_saver

    @property
    def total_length(self):
        """The lengths of the sequences without padding, int32."""
        return self._state_saver._received_total_length

    @property
    def length(self):
        """The lengths of the segments without padding, int32: `num_unroll` or less."""
        return self._state_saver._received_length

    @property
    def batch_size(self):
        """How many segments there are, a scalar: fewer at the end of the input, with `allow_small_batch`."""
        return self._state_saver._received_batch_size

    @property
    def insertion_index(self):
        """Numbers of the sequences, int64, in the order in which they came, from -2**63 on."""
        return self._state_saver._received_indices

    @property
    def key(self):
        """Keys of the segments: "%05d_of_%05d:%s" of the segment's index, their number, and the input's key."""
        return self._state_saver._received_keys

    @property
    def next_key(self):
        """Keys of the segments that come next in their sequences; behind the last one, "STOP:%s"."""
        return self._state_saver._received_next_key

    @property
    def sequence(self):
        """Indices of the segments in their sequences, int32."""
        return self._state_saver._received_sequence

    @property
    def sequence_count(self):
        """How many segments the sequences have, int32."""
        return self._state_saver._received_sequence_count

    @property
    def context(self):
        """What holds for whole sequences, by the names of `input_context`: [batch_size, ...]."""
        return self._state_saver._received_context

    @property
    def sequences(self):
        """The segments, by the names of `input_sequences`: [batch_size, num_unroll, ...]."""
        return self._state_saver._received_sequences

    def state(self, state_name):
        """The states of the segments, [batch_size, ...]: the initial ones, or those of the segments before."""
        return self._state_saver._received_states[state_name]

    def save_state(self, state_name, value, name=None):
        """An op that keeps `value`, [batch_size, ...], for the segments that come next.

        It has to run for all states with each batch, or the next segments of these sequences never come.
        """
        saver = self._state_saver
        if state_name not in saver._received_states:
            raise KeyError(f"state was not declared: {state_name}")
        with ops.name_scope(name, "InputQueueingStateSaver_SaveState", values=[value]):
            with ops.colocate_with(saver._capacity_queue.queue_ref):
                unfinished = array_ops.reshape(
                    array_ops.where_v2(math_ops.logical_not(saver._sequence_is_done)), [-1]
                )
                next_keys = array_ops.gather(saver._received_next_key, unfinished)
                value = _check_shape(
                    array_ops.identity(value, name=f"convert_{state_name}"),
                    array_ops.shape(saver._received_states[state_name]),
                )
                return saver._insert(
                    f"__state__{state_name}",
                    next_keys,
                    array_ops.gather(value, unfinished),
                    f"BarrierInsertState_{state_name}",
                )


class SequenceQueueingStateSaver:
    """Splits sequences into segments of `num_unroll` steps, makes batches of segments, and keeps states.

    `prefetch_op` takes one sequence; it belongs in a QueueRunner with this object as its queue. `next_batch`
    is a batch of segments of different sequences.

    Args:
      batch_size: how many segments a batch has, a number or a scalar.
      num_unroll: steps of a segment.
      input_length: the length of the sequence without padding, an int32 scalar.
      input_key: what names the sequence, a string scalar. No two sequences that are here have the same.
      input_sequences: dict of tensors with time in the first dimension, whose size is a multiple of
        `num_unroll`. The other dimensions are static.
      input_context: dict of tensors of static shapes which each segment has.
      initial_states: dict of the states of the first segment, of static shapes.
      capacity: how many sequences there may be, at least `batch_size`; None is any number.
      allow_small_batch: whether batches become smaller at the end of the input.
    """

    def __init__(
        self,
        batch_size,
        num_unroll,
        input_length,
        input_key,
        input_sequences,
        input_context,
        initial_states,
        capacity=None,
        allow_small_batch=False,
        name=None,
    ):
        if capacity is not None and isinstance(batch_size, ops.Tensor):
            is_enough = check_ops.assert_greater_equal(
                math_ops.cast(capacity, dtype=dtypes.int64),
                math_ops.cast(batch_size, dtype=dtypes.int64),
                message="capacity needs to be >= batch_size.",
            )
            with ops.control_dependencies([is_enough]):
                input_key = array_ops.identity(input_key)
        elif capacity is not None and capacity < batch_size:
            raise ValueError(f"capacity {capacity} needs to be >= batch_size {batch_size}")
        self._batch_size, self._num_unroll = batch_size, num_unroll
        self._allow_small_batch = allow_small_batch
        self._prefetch_op = self._next_batch = None
        self._capacity_queue = data_flow_ops.FIFOQueue(capacity=capacity, dtypes=[dtypes.int32], shapes=[[]])
        with ops.colocate_with(self._capacity_queue.queue_ref):
            if not isinstance(initial_states, dict):
                raise TypeError("initial_states must be a dictionary")
            if not initial_states:
                raise ValueError(
                    "initial_states may not be empty: at least one state variable is required to properly "
                    "enqueue split sequences to run in separate iterations"
                )
            for state in initial_states:
                if not isinstance(state, str):
                    raise TypeError(f"state name must be a string: {state}")
                if ":" in state:
                    raise ValueError(f"state name may not have a colon: '{state}'")
            values = [input_length, input_key, *input_sequences.values(), *input_context.values()]
            with ops.name_scope(name, "InputQueueingStateSaver", values) as scope:
                self._name = scope
                self._take(
                    _SequenceInputWrapper(input_length, input_key, input_sequences, input_context),
                    initial_states,
                )
                self._create_barrier()

    def _take(self, inputs, initial_states):
        """The tensors of the input, checked."""
        length, self._key, self._states, sequences, self._context = _prepare_sequence_inputs(
            inputs, initial_states
        )
        padded = array_ops.identity(array_ops.shape(next(iter(sequences.values())))[0], name="padded_length")
        self._padded_length = _check_multiple_of(padded, self._num_unroll)
        self._sequences = {
            k: _check_dimensions(v, [0], [self._padded_length], debug_prefix=f"sorted_sequences_{k}")
            for k, v in sequences.items()
        }
        self._length = _checked(
            length,
            lambda: [
                control_flow_ops.Assert(
                    math_ops.less_equal(length, self._padded_length),
                    [
                        "Input length should be <= than length from sequences:",
                        length,
                        " vs. ",
                        self._padded_length,
                    ],
                )
            ],
            None,
        )

    @property
    def name(self):
        return self._name

    @property
    def barrier(self):
        return self._barrier

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def num_unroll(self):
        return self._num_unroll

    @property
    def prefetch_op(self):
        """The op that takes one sequence. It waits while there are `capacity`."""
        if not self._prefetch_op:
            with ops.name_scope(None), ops.name_scope(self._name, values=[self._barrier.barrier_ref]):
                self._create_prefetch_op()
        return self._prefetch_op

    @property
    def next_batch(self):
        """The NextQueuedSequenceBatch, always the same. It waits for `batch_size` segments."""
        self.prefetch_op  # pylint: disable=pointless-statement
        if not self._next_batch:
            with ops.name_scope(None), ops.name_scope(self._name, values=[self._barrier.barrier_ref]):
                self._prepare_barrier_reads()
        return self._next_batch

    def close(self, cancel_pending_enqueues=False, name=None):
        """An op that ends the input: sequences that are here come to their end, unless it cancels them."""
        with ops.name_scope(name, "SQSSClose", [self._prefetch_op]) as name:
            barrier_close = self._barrier.close(cancel_pending_enqueues, "BarrierClose")
            queue_close = self._capacity_queue.close(cancel_pending_enqueues, "FIFOClose")
            return control_flow_ops.group(barrier_close, queue_close, name=name)

    def _create_barrier(self):
        components = {
            "__length": (dtypes.int32, []),
            "__total_length": (dtypes.int32, []),
            "__next_key": (dtypes.string, []),
            "__sequence": (dtypes.int32, []),
            "__sequence_count": (dtypes.int32, []),
        }
        for k, v in self._sequences.items():
            components[f"__sequence__{k}"] = (v.dtype, [self._num_unroll, *v.shape.as_list()[1:]])
        for k, v in self._context.items():
            components[f"__context__{k}"] = (v.dtype, v.shape.as_list())
        for k, v in self._states.items():
            components[f"__state__{k}"] = (v.dtype, v.shape.as_list())
        self._index = {name: i for i, name in enumerate(components)}
        types, shapes = zip(*components.values())
        self._barrier = data_flow_ops.Barrier(types=types, shapes=shapes)

    def _insert(self, component, keys, values, name):
        return self._barrier.insert_many(self._index[component], keys, values, name=name)

    def _create_prefetch_op(self):
        unroll = self._num_unroll
        count = math_ops.div(self._padded_length, unroll)
        count_vector = array_ops.expand_dims(count, 0)
        ones = array_ops.ones(count_vector, dtype=dtypes.int32)
        index = math_ops.range(count)
        length = math_ops.maximum(0, self._length - unroll * index)
        length = math_ops.minimum(unroll, length)
        total_length = self._length * ones
        counts = count * ones
        keys = string_ops.string_join(
            [
                string_ops.as_string(index, width=5, fill="0"),
                "_of_",
                string_ops.as_string(count, width=5, fill="0"),
                ":",
                self._key,
            ],
            name="StringJoinCurrentKeys",
        )
        later_keys = array_ops.slice(keys, [1], [-1])
        stop = array_ops.expand_dims(string_ops.string_join(["STOP:", self._key], name="StringJoinStop"), 0)
        next_keys = array_ops.concat([later_keys, stop], 0, name="concat_next_keys")
        segments = {k: self._segments_of(k, v, count) for k, v in self._sequences.items()}
        contexts = {k: self._context_of_segments(k, v, count) for k, v in self._context.items()}

        insert_sequence = self._insert("__sequence", keys, index, "BarrierInsertSequence")
        inserts = [
            self._insert("__sequence_count", keys, counts, "BarrierInsertSequenceCount"),
            self._insert("__next_key", keys, next_keys, "BarrierInsertNextKey"),
            self._insert("__length", keys, length, "BarrierInsertLength"),
            self._insert("__total_length", keys, total_length, "BarrierInsertTotalLength"),
        ]
        for k, v in contexts.items():
            inserts.append(self._insert(f"__context__{k}", keys, v, f"BarrierInsertContext_{k}"))
        for k, v in segments.items():
            inserts.append(self._insert(f"__sequence__{k}", keys, v, f"BarrierInsertSequences_{k}"))
        enqueue_token = self._capacity_queue.enqueue((_TOKEN,))
        # The barrier numbers elements when it sees their keys first. All segments of a sequence have to be
        # seen together, so that they have one number and come before the segments of later sequences.
        with ops.control_dependencies([insert_sequence, enqueue_token]):
            for k, v in self._states.items():
                inserts.append(
                    self._insert(
                        f"__state__{k}",
                        array_ops.stack([keys[0]]),
                        array_ops.stack([v]),
                        f"BarrierInitialInsertState_{k}",
                    )
                )
        self._prefetch_op = control_flow_ops.group(
            enqueue_token, insert_sequence, *inserts, name="StateSaverPrefetchGroup"
        )

    def _segments_of(self, name, value, count):
        """A sequence as `count` rows, the segments."""
        inner = value.shape.as_list()[1:]
        shape = array_ops.concat(
            [array_ops.expand_dims(count, 0), array_ops.expand_dims(self._num_unroll, 0), inner],
            0,
            name=f"concat_sequences_{name}",
        )
        rows = array_ops.reshape(value, shape, name=f"reshape_sequences_{name}")
        return _check_dimensions(
            rows,
            list(range(2 + len(inner))),
            [count, self._num_unroll, *inner],
            debug_prefix=f"reshaped_sequences_{name}",
        )

    @staticmethod
    def _context_of_segments(name, value, count):
        """The context of a sequence as `count` equal rows."""
        row = array_ops.expand_dims(value, 0)
        multiples = array_ops.concat(
            [array_ops.expand_dims(count, 0), [1] * value.shape.ndims], 0, name=f"concat_context_{name}"
        )
        rows = array_ops.tile(row, multiples, name=f"tile_context_{name}")
        return _check_dimensions(
            rows,
            list(range(1 + value.shape.ndims)),
            [count, *value.shape.as_list()],
            debug_prefix=f"expanded_context_{name}",
        )

    def _prepare_barrier_reads(self):
        self._received_indices, self._received_keys, values = self._barrier.take_many(
            self._batch_size, self._allow_small_batch, name="BarrierTakeMany"
        )
        got = {name: values[i] for name, i in self._index.items()}
        self._received_sequence = got["__sequence"]
        self._received_sequence_count = got["__sequence_count"]
        self._received_next_key = got["__next_key"]
        self._received_length = got["__length"]
        self._received_total_length = got["__total_length"]
        self._received_context = {k: got[f"__context__{k}"] for k in self._context}
        self._received_sequences = {k: got[f"__sequence__{k}"] for k in self._sequences}
        self._received_batch_size = array_ops.squeeze(array_ops.shape(self._received_length))
        self._sequence_is_done = self._received_sequence + 1 >= self._received_sequence_count
        finished = math_ops.reduce_sum(math_ops.cast(self._sequence_is_done, dtypes.int32))
        # Whoever reads a state gives back the tokens of the sequences that are at their end.
        with ops.control_dependencies([self._capacity_queue.dequeue_many(finished)]):
            self._received_states = {k: array_ops.identity(got[f"__state__{k}"]) for k in self._states}
        self._next_batch = NextQueuedSequenceBatch(self)


# ---- Batches with a queue runner, padding and sparse tensors ----


def _is_sparse(value):
    return isinstance(value, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue))


def batch_sequences_with_states(
    input_key,
    input_sequences,
    input_context,
    input_length,
    initial_states,
    num_unroll,
    batch_size,
    num_threads=3,
    capacity=1000,
    allow_small_batch=True,
    pad=True,
    make_keys_unique=False,
    make_keys_unique_seed=None,
    name=None,
):
    """A SequenceQueueingStateSaver with a queue runner: its NextQueuedSequenceBatch.

    Sequences and contexts may be SparseTensors.

    Args:
      input_key, input_sequences, input_context, initial_states: as those of SequenceQueueingStateSaver.
      input_length: the length without padding, an int32 scalar; None with `pad` is that of the sequences.
      num_unroll: steps of a segment.
      batch_size: how many segments a batch has.
      num_threads: threads that take sequences.
      capacity: how many sequences there may be, at least `batch_size`. If the input is repeated with the same
        keys, fewer than it has.
      allow_small_batch: whether batches become smaller at the end of the input.
      pad: whether sequences are padded to a multiple of `num_unroll`. Otherwise that is what they have to be.
      make_keys_unique: whether a random number is put behind the key.
      make_keys_unique_seed: its seed.
    """
    values = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with ops.name_scope(name, "batch_sequences_with_states", values) as name:
        if pad:
            length, input_sequences = _padding(input_sequences, num_unroll)
            input_length = length if input_length is None else input_length
        elif input_sequences:
            input_sequences = {k: _whole_segments(k, v, num_unroll) for k, v in input_sequences.items()}
        _move_sparse_tensor_out_context(input_context, input_sequences, num_unroll)
        dense, sparse_keys, map_ops = _deconstruct_sparse_tensor_seq(input_sequences)
        if make_keys_unique:
            number = random_ops.random_uniform(
                (), minval=0, maxval=100000000, dtype=dtypes.int32, seed=make_keys_unique_seed
            )
            input_key = string_ops.string_join([input_key, string_ops.as_string(number)])
        saver = SequenceQueueingStateSaver(
            batch_size,
            num_unroll,
            input_length=input_length,
            input_key=input_key,
            input_sequences=dense,
            input_context=input_context,
            initial_states=initial_states,
            capacity=capacity,
            allow_small_batch=allow_small_batch,
        )
        barrier = saver.barrier
        summary.scalar(
            f"queue/{barrier.name}/ready_segment_batches_",
            math_ops.cast(barrier.ready_size(), dtypes.float32),
        )
        queue_runner.add_queue_runner(
            queue_runner.QueueRunner(
                saver,
                [saver.prefetch_op] * num_threads,
                queue_closed_exception_types=(errors.OutOfRangeError, errors.CancelledError),
            )
        )
        batch = saver.next_batch
        _reconstruct_sparse_tensor_seq(batch.sequences, sparse_keys, map_ops, batch_size, num_unroll)
        _move_sparse_tensor_in_context(batch.context, batch.sequences)
        return batch


def _whole_segments(key, value, num_unroll):
    """A sequence whose length is checked to be a multiple of `num_unroll`."""
    checked = "multiple_of_checked"
    if _is_sparse(value):
        length = value.dense_shape[0]
        assertion = _not_a_multiple(f"SparseTensor {key} first dimension", length, num_unroll)
        with ops.control_dependencies([assertion]):
            parts = (value.indices, value.values, value.dense_shape)
            return sparse_tensor.SparseTensor(*(array_ops.identity(p, name=checked) for p in parts))
    if not isinstance(value, ops.Tensor):
        try:
            value = ops.convert_to_tensor(value)
        except TypeError:
            raise TypeError(
                "Unsupported input_sequences expected Tensor or SparseTensor values, got: "
                f"{type(value)} for key {key}"
            ) from None
    assertion = _not_a_multiple(f"Tensor {key} first dimension", array_ops.shape(value)[0], num_unroll)
    with ops.control_dependencies([assertion]):
        return array_ops.identity(value, name=checked)


def _padding(sequences, num_unroll):
    """The length of the sequences, and the sequences padded to a multiple of `num_unroll`."""
    if not isinstance(num_unroll, numbers.Integral):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, dict):
        raise TypeError(f"Unsupported sequences expected dict, got: {sequences}")
    for key in sequences:
        if not isinstance(key, str):
            raise TypeError(f"Unsupported sequences key expected string, got: {key}")
    if not sequences:
        return 0, {}
    sequences = {k: v if _is_sparse(v) else ops.convert_to_tensor(v) for k, v in sorted(sequences.items())}
    lengths = [array_ops.shape(v)[0] for v in sequences.values() if isinstance(v, ops.Tensor)]
    if lengths:
        length = lengths[0]
        all_equal = []
        for own in lengths:
            is_equal = math_ops.equal(own, length)
            text = ["All sequence lengths must match, but received lengths: ", string_ops.as_string(lengths)]
            all_equal.append(control_flow_ops.Assert(is_equal, [string_ops.string_join(text)]))
        length = control_flow_ops.with_dependencies(all_equal, length)
    else:
        lengths = [v.dense_shape[0] for v in sequences.values() if isinstance(v, sparse_tensor.SparseTensor)]
        length = math_ops.reduce_max(math_ops.cast(lengths, dtypes.int32))
    unroll = constant_op.constant(num_unroll)
    padded_length = length + ((unroll - (length % unroll)) % unroll)
    return length, {k: _padded(v, padded_length) for k, v in sequences.items()}


def _padded(value, length):
    """A sequence with zeros or empty strings behind it."""
    if not isinstance(value, ops.Tensor):
        shape = array_ops.concat([[math_ops.cast(length, dtypes.int64)], value.dense_shape[1:]], 0)
        return sparse_tensor.SparseTensor(value.indices, value.values, shape)
    missing = [length - array_ops.shape(value)[0]]
    shape = array_ops.concat((missing, array_ops.shape(value)[1:]), 0)
    filler = constant_op.constant("" if value.dtype == dtypes.string else 0, dtype=value.dtype)
    return array_ops.concat([value, array_ops.fill(dims=shape, value=filler)], 0)


# ---- Sparse tensors: a map keeps them, the barrier has their handles ----

_SPARSE_CONTEXT_PREFIX_KEY = "_context_in_seq_"


def _move_sparse_tensor_out_context(input_context, input_sequences, num_unroll):
    """Makes sequences of the context's SparseTensors: each segment has the whole in its first step."""
    length = constant_op.constant(1)
    if input_sequences:
        first = next(iter(input_sequences.values()))
        if isinstance(first, ops.Tensor):
            with ops.control_dependencies([first]):
                length = array_ops.shape(first)[0]
        else:
            length = first.dense_shape[0]
    length = math_ops.cast(length, dtype=dtypes.int64)
    for key in sorted(k for k, v in input_context.items() if _is_sparse(v)):
        input_sequences[_SPARSE_CONTEXT_PREFIX_KEY + key] = _in_each_segment(
            input_context.pop(key), length, num_unroll
        )


def _in_each_segment(value, length, num_unroll):
    """A SparseTensor of `length` rows, of which each `num_unroll`th is `value`."""
    count = math_ops.cast(length // num_unroll, dtype=dtypes.int32)
    values = array_ops.tile(value.values, array_ops.expand_dims(count, 0))
    shape = array_ops.concat([array_ops.expand_dims(length, 0), value.dense_shape], 0)
    inner = array_ops.tile(array_ops.expand_dims(value.indices, 0), array_ops.stack([count, 1, 1]))
    size, rank = array_ops.shape(value.indices)[0], array_ops.shape(value.indices)[1]
    rows = math_ops.range(start=0, limit=length, delta=num_unroll)
    rows = array_ops.tile(array_ops.expand_dims(array_ops.expand_dims(rows, 1), 2), [1, size, 1])
    indices = array_ops.reshape(array_ops.concat([rows, inner], 2), [size * count, rank + 1])
    return sparse_tensor.SparseTensor(indices, values, shape)


def _move_sparse_tensor_in_context(context, sequences):
    """Gives the context's SparseTensors back to it, without their dimension of time."""
    for key in sorted(k for k in sequences if k.startswith(_SPARSE_CONTEXT_PREFIX_KEY)):
        value = sequences.pop(key)
        size, inner = value.dense_shape[0], value.dense_shape[2:]
        first_steps = sparse_tensor.SparseTensor(
            value.indices, value.values, array_ops.concat([[size], [1], inner], 0)
        )
        # TensorFlow reads the sizes from the tensor of first steps.
        size, inner = first_steps.dense_shape[0], first_steps.dense_shape[2:]
        context[key.removeprefix(_SPARSE_CONTEXT_PREFIX_KEY)] = sparse_ops.sparse_reshape(
            first_steps, array_ops.concat([[size], inner], 0)
        )


def _deconstruct_sparse_tensor_seq(input_sequence, shared_name=None):
    """The sequences with handles for the SparseTensors, the names of these, and the ops that keep them."""
    sparse_keys = sorted(k for k, v in input_sequence.items() if _is_sparse(v))
    if not sparse_keys:
        return input_sequence, None, []
    dense = dict(input_sequence)
    for key in sparse_keys:
        value = input_sequence[key]
        if isinstance(value, sparse_tensor.SparseTensorValue):
            value = sparse_tensor.SparseTensor.from_value(value)
        dense[key] = gen_sparse_ops.add_many_sparse_to_tensors_map(
            value.indices, value.values, value.dense_shape, shared_name=shared_name
        )
    return dense, sparse_keys, [dense[key].op for key in sparse_keys]


def _reconstruct_sparse_tensor_seq(sequence, sparse_tensor_keys, tensor_op_list, batch_size, num_unroll):
    """Puts SparseTensors, [batch_size, num_unroll, ...], where their handles are, [batch_size, num_unroll]."""
    if not sparse_tensor_keys:
        return
    flat = [
        _taken(map_op, array_ops.reshape(sequence[key], [-1]))
        for key, map_op in zip(sparse_tensor_keys, tensor_op_list)
    ]
    num_unroll = ops.convert_to_tensor(num_unroll, dtype=dtypes.int64, name="num_unroll_int64")
    for key, value in zip(sparse_tensor_keys, flat):
        segment = math_ops.cast(math_ops.floor(value.indices[:, 0] / num_unroll), dtypes.int64)
        step = math_ops.mod(value.indices[:, 0], num_unroll)
        indices = array_ops.concat(
            [array_ops.expand_dims(segment, 1), array_ops.expand_dims(step, 1), value.indices[:, 1:]], axis=1
        )
        shape = array_ops.concat(
            [
                [math_ops.cast(batch_size, dtype=dtypes.int64)],
                [math_ops.cast(num_unroll, dtype=dtypes.int64)],
                value.dense_shape[1:],
            ],
            axis=0,
        )
        sequence[key] = sparse_tensor.SparseTensor(indices, value.values, shape)


def _taken(map_op, handles):
    """The SparseTensor of handles, whose rows are one dimension more."""
    with ops.colocate_with(map_op):
        parts = gen_sparse_ops.take_many_sparse_from_tensors_map(
            handles,
            dtype=map_op.get_attr("T"),
            shared_name=map_op.get_attr("shared_name").decode() or map_op.name,
        )
        return sparse_tensor.SparseTensor(*parts)

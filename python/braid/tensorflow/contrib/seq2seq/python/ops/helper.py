"""Helpers: what the next inputs of a decoder are."""

import abc

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import rnn
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.util import nest

__all__ = [
    "Helper",
    "TrainingHelper",
    "GreedyEmbeddingHelper",
    "SampleEmbeddingHelper",
    "CustomHelper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "InferenceHelper",
]


class Helper(metaclass=abc.ABCMeta):
    """What a helper has. Sample ids are [batch] + sample_ids_shape of sample_ids_dtype."""

    @property
    @abc.abstractmethod
    def batch_size(self):
        """A scalar int32 tensor."""

    @property
    @abc.abstractmethod
    def sample_ids_shape(self):
        """A TensorShape, without the batch."""

    @property
    @abc.abstractmethod
    def sample_ids_dtype(self):
        """A DType."""

    @abc.abstractmethod
    def initialize(self, name=None):
        """(finished, the first inputs)."""

    @abc.abstractmethod
    def sample(self, time, outputs, state, name=None):
        """The sample ids."""

    @abc.abstractmethod
    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """(finished, next inputs, next state)."""


class _IdHelper(Helper):
    """A helper whose samples are ids [batch]."""

    _batch_size = None

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def sample_ids_shape(self):
        return tensor_shape.TensorShape([])

    @property
    def sample_ids_dtype(self):
        return dtypes.int32


class CustomHelper(Helper):
    """A helper of three functions."""

    def __init__(
        self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None, sample_ids_dtype=None
    ):
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size = None
        self._sample_ids_shape = tensor_shape.TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self):
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self):
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self):
        return self._sample_ids_dtype

    def initialize(self, name=None):
        with ops.name_scope(name, "CustomHelperInitialize"):
            finished, next_inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = array_ops.size(finished)
        return finished, next_inputs

    def sample(self, time, outputs, state, name=None):
        with ops.name_scope(name, "CustomHelperSample", (time, outputs, state)):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        with ops.name_scope(name, "CustomHelperNextInputs", (time, outputs, state)):
            return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


def _unstack_ta(tensor):
    """A TensorArray of the tensor's parts along the first dimension."""
    return tensor_array_ops.TensorArray(
        dtype=tensor.dtype,
        size=array_ops.shape(tensor)[0],
        element_shape=tensor.get_shape()[1:],
    ).unstack(tensor)


class TrainingHelper(_IdHelper):
    """The inputs are given: [batch, time, ...], or [time, batch, ...] if `time_major`."""

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        with ops.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            inputs = nest.map_structure(ops.convert_to_tensor, inputs)
            self._inputs = inputs
            if not time_major:
                inputs = nest.map_structure(rnn._transpose_batch_time, inputs)

            self._input_tas = nest.map_structure(_unstack_ta, inputs)
            self._sequence_length = ops.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.get_shape().ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.get_shape()}"
                )
            self._zero_inputs = nest.map_structure(lambda inp: array_ops.zeros_like(inp[0, :]), inputs)
            self._batch_size = array_ops.size(sequence_length)

    @property
    def inputs(self):
        return self._inputs

    @property
    def sequence_length(self):
        return self._sequence_length

    def _inputs_at(self, time, finished):
        return control_flow_ops.cond(
            math_ops.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: nest.map_structure(lambda array: array.read(time), self._input_tas),
        )

    def initialize(self, name=None):
        with ops.name_scope(name, "TrainingHelperInitialize"):
            finished = math_ops.equal(0, self._sequence_length)
            return finished, self._inputs_at(0, finished)

    def sample(self, time, outputs, name=None, **unused_kwargs):
        with ops.name_scope(name, "TrainingHelperSample", [time, outputs]):
            return math_ops.cast(math_ops.argmax(outputs, axis=-1), dtypes.int32)

    def next_inputs(self, time, outputs, state, name=None, **unused_kwargs):
        with ops.name_scope(name, "TrainingHelperNextInputs", [time, outputs, state]):
            next_time = time + 1
            finished = next_time >= self._sequence_length
            return finished, self._inputs_at(next_time, finished), state


def _embedder(embedding):
    if callable(embedding) and not hasattr(embedding, "initializer"):
        return embedding
    return lambda ids: embedding_ops.embedding_lookup(embedding, ids)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """With `sampling_probability` an input is the embedding of a sample of the last output (Bengio et al.
    2015)."""

    def __init__(
        self,
        inputs,
        sequence_length,
        embedding,
        sampling_probability,
        time_major=False,
        seed=None,
        scheduling_seed=None,
        name=None,
    ):
        with ops.name_scope(name, "ScheduledEmbeddingSamplingWrapper", [embedding, sampling_probability]):
            self._embedding_fn = _embedder(embedding)
            self._sampling_probability = ops.convert_to_tensor(
                sampling_probability, name="sampling_probability"
            )
            if self._sampling_probability.get_shape().ndims not in (0, 1):
                raise ValueError("sampling_probability must be either a scalar or a vector")
            self._seed = seed
            self._scheduling_seed = scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time, outputs, state, name=None):
        """The sampled ids, -1 where the input is the given one."""
        with ops.name_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs, state]):
            drawn = random_ops.random_uniform([self.batch_size], seed=self._scheduling_seed)
            sampled = math_ops.cast(
                array_ops.reshape(random_ops.multinomial(outputs, 1, seed=self._seed), [-1]), dtypes.int32
            )
            return array_ops.where(
                drawn < self._sampling_probability, sampled, array_ops.fill([self.batch_size], -1)
            )

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        with ops.name_scope(
            name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs, state, sample_ids]
        ):
            finished, given, state = super().next_inputs(time=time, outputs=outputs, state=state, name=name)

            def mixed():
                is_sampled = sample_ids > -1
                embedded = self._embedding_fn(math_ops.maximum(sample_ids, 0))
                return array_ops.where(is_sampled, embedded, given)

            next_inputs = control_flow_ops.cond(math_ops.reduce_all(finished), lambda: given, mixed)
            return finished, next_inputs, state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """With `sampling_probability` an input is the last output, or next_inputs_fn of it.

    auxiliary_inputs: tensors that follow each input, sampled or given, in its last dimension. Samples say
    whether the output is the input.
    """

    def __init__(
        self,
        inputs,
        sequence_length,
        sampling_probability,
        time_major=False,
        seed=None,
        next_inputs_fn=None,
        auxiliary_inputs=None,
        name=None,
    ):
        given = [inputs, auxiliary_inputs, sampling_probability]
        with ops.name_scope(name, "ScheduledOutputTrainingHelper", given):
            self._sampling_probability = ops.convert_to_tensor(
                sampling_probability, name="sampling_probability"
            )
            if self._sampling_probability.get_shape().ndims not in (0, 1):
                raise ValueError(
                    "sampling_probability must be either a scalar or a vector. "
                    f"saw shape: {self._sampling_probability.get_shape()}"
                )
            self._auxiliary_input_tas = None
            if auxiliary_inputs is not None:
                inputs = ops.convert_to_tensor(inputs, name="inputs")
                auxiliary_inputs = ops.convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = array_ops.concat((inputs, auxiliary_inputs), -1)
                if not time_major:
                    auxiliary_inputs = rnn._transpose_batch_time(auxiliary_inputs)
                self._auxiliary_input_tas = _unstack_ta(auxiliary_inputs)
            self._seed = seed
            self._next_inputs_fn = next_inputs_fn
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time, outputs, state, name=None):
        with ops.name_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs, state]):
            drawn = random_ops.random_uniform([self.batch_size], seed=self._seed)
            return math_ops.cast(drawn < self._sampling_probability, dtypes.int32)

    def _sampled_inputs(self, time, outputs):
        sampled = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
        if self._auxiliary_input_tas is None:
            return sampled
        return array_ops.concat((sampled, self._auxiliary_input_tas.read(time + 1)), -1)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        given = [time, outputs, state, sample_ids]
        with ops.name_scope(name, "ScheduledOutputTrainingHelperNextInputs", given):
            finished, base, state = super().next_inputs(time=time, outputs=outputs, state=state, name=name)
            is_sampled = math_ops.cast(sample_ids, dtypes.bool)
            uses_base = math_ops.logical_or(
                math_ops.reduce_all(finished), math_ops.logical_not(math_ops.reduce_any(is_sampled))
            )
            next_inputs = control_flow_ops.cond(
                uses_base,
                lambda: base,
                lambda: array_ops.where(is_sampled, self._sampled_inputs(time, outputs), base),
            )
            return finished, next_inputs, state


class GreedyEmbeddingHelper(_IdHelper):
    """An input is the embedding of the most probable class of the last output, until that is `end_token`."""

    def __init__(self, embedding, start_tokens, end_token):
        self._embedding_fn = _embedder(embedding)
        self._start_tokens = ops.convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end_token = ops.convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start_tokens.get_shape().ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._batch_size = array_ops.size(start_tokens)
        if self._end_token.get_shape().ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name=None):
        return array_ops.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        if not isinstance(outputs, ops.Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        return math_ops.argmax(outputs, axis=-1, output_type=dtypes.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished = math_ops.equal(sample_ids, self._end_token)
        next_inputs = control_flow_ops.cond(
            math_ops.reduce_all(finished),
            lambda: self._start_inputs,  # of no use, as all have finished
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, next_inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """An input is the embedding of a sample of the last output, by logits / `softmax_temperature`."""

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time, outputs, state, name=None):
        if not isinstance(outputs, ops.Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        logits = outputs if self._softmax_temperature is None else outputs / self._softmax_temperature
        drawn = random_ops.multinomial(logits, 1, seed=self._seed)
        return math_ops.cast(array_ops.reshape(drawn, [-1]), dtypes.int32)


class InferenceHelper(Helper):
    """A helper of a function that samples, and one that says what ends."""

    def __init__(self, sample_fn, sample_shape, sample_dtype, start_inputs, end_fn, next_inputs_fn=None):
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._sample_shape = tensor_shape.TensorShape(sample_shape)
        self._sample_dtype = sample_dtype
        self._next_inputs_fn = next_inputs_fn
        self._batch_size = array_ops.shape(start_inputs)[0]
        self._start_inputs = ops.convert_to_tensor(start_inputs, name="start_inputs")

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def sample_ids_shape(self):
        return self._sample_shape

    @property
    def sample_ids_dtype(self):
        return self._sample_dtype

    def initialize(self, name=None):
        return array_ops.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample_fn(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        next_inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), next_inputs, state

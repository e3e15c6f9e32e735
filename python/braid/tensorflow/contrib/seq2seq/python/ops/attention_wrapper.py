"""Attention to a memory, and a cell with it (Bahdanau et al. 2014; Luong et al. 2015)."""

import collections
import functools
import math

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.layers import core as layers_core
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import functional_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import rnn_cell_impl
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
    "BahdanauAttention",
    "BahdanauMonotonicAttention",
    "LuongAttention",
    "LuongMonotonicAttention",
    "hardmax",
    "monotonic_attention",
    "safe_cumprod",
]

_zero_state_tensors = rnn_cell_impl._zero_state_tensors


class AttentionMechanism:
    """What gives weights to the parts of a memory for a query."""

    @property
    def alignments_size(self):
        raise NotImplementedError

    @property
    def state_size(self):
        raise NotImplementedError


def _prepare_memory(memory, memory_sequence_length, check_inner_dims_defined):
    """The memory [batch, time, ...] with zeros beyond the lengths."""
    memory = nest.map_structure(lambda m: ops.convert_to_tensor(m, name="memory"), memory)
    if memory_sequence_length is not None:
        memory_sequence_length = ops.convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
    if check_inner_dims_defined:
        for m in nest.flatten(memory):
            if not m.get_shape()[2:].is_fully_defined():
                raise ValueError(
                    f"Expected memory {m.name} to have fully defined inner dims, but saw shape: {m.get_shape()}"
                )
    if memory_sequence_length is None:
        return memory
    flat = nest.flatten(memory)[0]
    mask = array_ops.sequence_mask(memory_sequence_length, maxlen=array_ops.shape(flat)[1], dtype=flat.dtype)

    def masked(m):
        rank = m.get_shape().ndims
        ones = array_ops.ones(rank - 2, dtype=dtypes.int32)
        shape = array_ops.concat((array_ops.shape(mask), ones), 0)
        return m * array_ops.reshape(mask, shape)

    return nest.map_structure(masked, memory)


def _maybe_mask_score(score, memory_sequence_length, score_mask_value):
    if memory_sequence_length is None:
        return score
    message = "All values in memory_sequence_length must be greater than zero."
    with ops.control_dependencies([check_ops.assert_positive(memory_sequence_length, message=message)]):
        mask = array_ops.sequence_mask(memory_sequence_length, maxlen=array_ops.shape(score)[1])
    return array_ops.where(mask, score, score_mask_value * array_ops.ones_like(score))


class _BaseAttentionMechanism(AttentionMechanism):
    """An attention whose state is its alignments."""

    def __init__(
        self,
        query_layer,
        memory,
        probability_fn,
        memory_sequence_length=None,
        memory_layer=None,
        check_inner_dims_defined=True,
        score_mask_value=None,
        custom_key_value_fn=None,
        name=None,
    ):
        for layer, what in ((query_layer, "query_layer"), (memory_layer, "memory_layer")):
            if layer is not None and not hasattr(layer, "apply"):
                raise TypeError(f"{what} is not a Layer: {type(layer).__name__}")
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self.dtype = memory_layer.dtype if memory_layer is not None else None
        if score_mask_value is None:
            score_mask_value = dtypes.as_dtype(self.dtype or dtypes.float32).as_numpy_dtype(-np.inf)
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, saw type: {type(probability_fn).__name__}")
        self._probability_fn = lambda score, prev: probability_fn(
            _maybe_mask_score(score, memory_sequence_length, score_mask_value), prev
        )
        with ops.name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = _prepare_memory(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = self.memory_layer(self._values) if self.memory_layer else self._values
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = (
                tensor_shape.dimension_value(self._keys.shape[0]) or array_ops.shape(self._keys)[0]
            )
            self._alignments_size = (
                tensor_shape.dimension_value(self._keys.shape[1]) or array_ops.shape(self._keys)[1]
            )

    @property
    def memory_layer(self):
        return self._memory_layer

    @property
    def query_layer(self):
        return self._query_layer

    @property
    def values(self):
        return self._values

    @property
    def keys(self):
        return self._keys

    @property
    def batch_size(self):
        return self._batch_size

    @property
    def alignments_size(self):
        return self._alignments_size

    @property
    def state_size(self):
        return self._alignments_size

    def initial_alignments(self, batch_size, dtype):
        return _zero_state_tensors(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size, dtype):
        return self.initial_alignments(batch_size, dtype)


def _luong_score(query, keys, scale):
    """Products of the query and the keys, times a learned number if `scale`."""
    depth, key_units = query.get_shape()[-1], keys.get_shape()[-1]
    if tensor_shape.dimension_value(depth) != tensor_shape.dimension_value(key_units):
        raise ValueError(
            f"Incompatible or unknown inner dimensions between query and keys. Query ({query}) has units: "
            f"{depth}. Keys ({keys}) have units: {key_units}. Perhaps you need to set num_units to "
            f"the keys' dimension ({key_units})?"
        )
    if scale:
        g = variable_scope.get_variable(
            "attention_g", dtype=query.dtype, initializer=init_ops.ones_initializer(), shape=()
        )
    score = math_ops.matmul(array_ops.expand_dims(query, 1), keys, transpose_b=True)
    score = array_ops.squeeze(score, [1])
    return g * score if scale else score


class LuongAttention(_BaseAttentionMechanism):
    """Scores are products of the query and the keys, times a learned number if `scale`."""

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        custom_key_value_fn=None,
        name="LuongAttention",
    ):
        if probability_fn is None:
            probability_fn = nn_ops.softmax
        super().__init__(
            query_layer=None,
            memory_layer=layers_core.Dense(
                num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32
            ),
            memory=memory,
            probability_fn=lambda score, _: probability_fn(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._name = name

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, "luong_attention", [query]):
            score = _luong_score(query, self._keys, self._scale)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def _bahdanau_score(processed_query, keys, num_units, normalize):
    """v * tanh(keys + processed query), with a normalized v if `normalize`."""
    dtype = processed_query.dtype
    v = variable_scope.get_variable("attention_v", [num_units], dtype=dtype)
    if normalize:
        g = variable_scope.get_variable(
            "attention_g",
            dtype=dtype,
            initializer=init_ops.constant_initializer(math.sqrt(1.0 / num_units), dtype=dtype),
            shape=(),
        )
        b = variable_scope.get_variable(
            "attention_b", [num_units], dtype=dtype, initializer=init_ops.zeros_initializer()
        )
    processed = array_ops.expand_dims(processed_query, 1)
    if not normalize:
        return math_ops.reduce_sum(v * math_ops.tanh(keys + processed), [2])
    v = g * v * math_ops.rsqrt(math_ops.reduce_sum(math_ops.square(v)))
    return math_ops.reduce_sum(v * math_ops.tanh(keys + processed + b), [2])


class BahdanauAttention(_BaseAttentionMechanism):
    """Scores are v * tanh(keys + W query), with a normalized v if `normalize` (Salimans and Kingma 2016)."""

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        probability_fn=None,
        score_mask_value=None,
        dtype=None,
        custom_key_value_fn=None,
        name="BahdanauAttention",
    ):
        if probability_fn is None:
            probability_fn = nn_ops.softmax
        dtype = dtype or dtypes.float32
        super().__init__(
            query_layer=layers_core.Dense(num_units, name="query_layer", use_bias=False, dtype=dtype),
            memory_layer=layers_core.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
            memory=memory,
            probability_fn=lambda score, _: probability_fn(score),
            memory_sequence_length=memory_sequence_length,
            custom_key_value_fn=custom_key_value_fn,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._name = name

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, "bahdanau_attention", [query]):
            processed = self.query_layer(query) if self.query_layer else query
            score = _bahdanau_score(processed, self._keys, self._num_units, self._normalize)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def safe_cumprod(x, *args, **kwargs):
    """cumprod() of values in [0, 1] by sums of logarithms."""
    with ops.name_scope(None, "SafeCumprod", [x]):
        x = ops.convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return math_ops.exp(
            math_ops.cumsum(math_ops.log(clip_ops.clip_by_value(x, tiny, 1)), *args, **kwargs)
        )


def monotonic_attention(p_choose_i, previous_attention, mode):
    """The alignments of an attention that never goes back (Raffel et al. 2017).

    p_choose_i: the probability of choosing each part of the memory. previous_attention: the last alignments,
    at the beginning 1 for the first part. mode: "recursive" (exact, by a loop), "parallel" (by cumulative
    sums and products) or "hard" (the probabilities are 0 or 1).
    """
    p = ops.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = ops.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch_size = tensor_shape.dimension_value(p.shape[0]) or array_ops.shape(p)[0]
        not_before = array_ops.concat([array_ops.ones((batch_size, 1), p.dtype), 1 - p[:, :-1]], 1)
        reached = functional_ops.scan(
            lambda q, now: array_ops.reshape(now[0] * q + now[1], (batch_size,)),
            [array_ops.transpose(not_before), array_ops.transpose(previous)],
            array_ops.zeros((batch_size,), p.dtype),
        )
        return p * array_ops.transpose(reached)
    if mode == "parallel":
        not_before = safe_cumprod(1 - p, axis=1, exclusive=True)
        ratios = previous / clip_ops.clip_by_value(not_before, 1e-10, 1.0)
        return p * not_before * math_ops.cumsum(ratios, axis=1)
    if mode == "hard":
        p = p * math_ops.cumsum(previous, axis=1)
        return p * math_ops.cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _monotonic_probability_fn(score, previous_alignments, sigmoid_noise, mode, seed=None):
    """Alignments from scores, to which normal noise is added."""
    if sigmoid_noise > 0:
        noise = random_ops.random_normal(array_ops.shape(score), dtype=score.dtype, seed=seed)
        score = score + sigmoid_noise * noise
    p_choose_i = math_ops.cast(score > 0, score.dtype) if mode == "hard" else math_ops.sigmoid(score)
    return monotonic_attention(p_choose_i, previous_alignments, mode)


class _BaseMonotonicAttentionMechanism(_BaseAttentionMechanism):
    """A monotonic attention: its scores have a learned bias, and it begins at the first part of the
    memory."""

    _scope = None

    def __init__(
        self,
        query_layer,
        memory_layer,
        memory,
        memory_sequence_length,
        score_mask_value,
        sigmoid_noise,
        sigmoid_noise_seed,
        score_bias_init,
        mode,
        name,
    ):
        super().__init__(
            query_layer=query_layer,
            memory_layer=memory_layer,
            memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability_fn, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._score_bias_init = score_bias_init
        self._name = name

    def initial_alignments(self, batch_size, dtype):
        first = array_ops.zeros((batch_size,), dtype=dtypes.int32)
        return array_ops.one_hot(first, self._alignments_size, dtype=dtype)

    def _score(self, query):
        raise NotImplementedError

    def __call__(self, query, state):
        with variable_scope.variable_scope(None, self._scope, [query]):
            score = self._score(query)
            score = score + variable_scope.get_variable(
                "attention_score_bias",
                dtype=query.dtype,
                initializer=init_ops.constant_initializer(self._score_bias_init, dtype=query.dtype),
                shape=(),
            )
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class BahdanauMonotonicAttention(_BaseMonotonicAttentionMechanism):
    """A monotonic attention with BahdanauAttention's scores.

    sigmoid_noise: the standard deviation of noise that makes the scores large while training. mode: as that
    of monotonic_attention.
    """

    _scope = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        normalize=False,
        score_mask_value=None,
        sigmoid_noise=0.0,
        sigmoid_noise_seed=None,
        score_bias_init=0.0,
        mode="parallel",
        dtype=None,
        name="BahdanauMonotonicAttention",
    ):
        dtype = dtype or dtypes.float32
        super().__init__(
            layers_core.Dense(num_units, name="query_layer", use_bias=False, dtype=dtype),
            layers_core.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
            memory,
            memory_sequence_length,
            score_mask_value,
            sigmoid_noise,
            sigmoid_noise_seed,
            score_bias_init,
            mode,
            name,
        )
        self._num_units = num_units
        self._normalize = normalize

    def _score(self, query):
        return _bahdanau_score(self.query_layer(query), self._keys, self._num_units, self._normalize)


class LuongMonotonicAttention(_BaseMonotonicAttentionMechanism):
    """A monotonic attention with LuongAttention's scores."""

    _scope = "luong_monotonic_attention"

    def __init__(
        self,
        num_units,
        memory,
        memory_sequence_length=None,
        scale=False,
        score_mask_value=None,
        sigmoid_noise=0.0,
        sigmoid_noise_seed=None,
        score_bias_init=0.0,
        mode="parallel",
        dtype=None,
        name="LuongMonotonicAttention",
    ):
        super().__init__(
            None,
            layers_core.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32),
            memory,
            memory_sequence_length,
            score_mask_value,
            sigmoid_noise,
            sigmoid_noise_seed,
            score_bias_init,
            mode,
            name,
        )
        self._num_units = num_units
        self._scale = scale

    def _score(self, query):
        return _luong_score(query, self._keys, self._scale)


def hardmax(logits, name=None):
    """1 for the largest of the last axis, 0 for the others."""
    with ops.name_scope(name, "Hardmax", [logits]):
        logits = ops.convert_to_tensor(logits, name="logits")
        depth = tensor_shape.dimension_value(logits.get_shape()[-1])
        if depth is None:
            depth = array_ops.shape(logits)[-1]
        return array_ops.one_hot(math_ops.argmax(logits, -1), depth, dtype=logits.dtype)


class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
    )
):
    """The state of an AttentionWrapper. `alignment_history` is a TensorArray, or ()."""

    def clone(self, **kwargs):
        """A copy with other parts, of the same shapes."""

        def with_same_shape(old, new):
            if isinstance(old, ops.Tensor) and isinstance(new, ops.Tensor):
                if not new.shape.is_compatible_with(old.shape):
                    raise ValueError(
                        f"The shape of the AttentionWrapperState is expected to be {old.shape}, got {new.shape}"
                    )
                new.set_shape(old.shape)
            return new

        return nest.map_structure(with_same_shape, self, super()._replace(**kwargs))


def _compute_attention(attention_mechanism, cell_output, attention_state, attention_layer):
    """The attention, the alignments and the next state of a mechanism."""
    alignments, next_state = attention_mechanism(cell_output, state=attention_state)
    context = math_ops.matmul(array_ops.expand_dims(alignments, 1), attention_mechanism.values)
    context = array_ops.squeeze(context, [1])
    if attention_layer is not None:
        return attention_layer(array_ops.concat([cell_output, context], 1)), alignments, next_state
    return context, alignments, next_state


class AttentionWrapper(rnn_cell_impl.RNNCell):
    """A cell whose inputs have the last attention beside them, and which attends with its outputs.

    attention_mechanism: one, or a list. attention_layer_size: the size of a layer over outputs and
    contexts; the contexts themselves are the attention if it is None. output_attention: whether the output
    is the attention.
    """

    def __init__(
        self,
        cell,
        attention_mechanism,
        attention_layer_size=None,
        alignment_history=False,
        cell_input_fn=None,
        output_attention=True,
        initial_cell_state=None,
        name=None,
        attention_layer=None,
        attention_fn=None,
        dtype=None,
    ):
        super().__init__(name=name, dtype=dtype)
        rnn_cell_impl.assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        mechanisms = list(attention_mechanism) if self._is_multi else [attention_mechanism]
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must contain only instances of AttentionMechanism, saw type: "
                    f"{type(mechanism).__name__}"
                )
        if cell_input_fn is None:
            cell_input_fn = lambda inputs, attention: array_ops.concat([inputs, attention], -1)  # noqa: E731
        elif not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        layers = [None] * len(mechanisms)
        if attention_layer_size is not None:
            sizes = (
                attention_layer_size
                if isinstance(attention_layer_size, (list, tuple))
                else (attention_layer_size,)
            )
            if len(sizes) != len(mechanisms):
                raise ValueError(
                    "If provided, attention_layer_size must contain exactly one integer per mechanism"
                )
            layers = [
                layers_core.Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(sizes, mechanisms)
            ]
            self._attention_layer_size = sum(sizes)
        elif attention_layer is not None:
            layers = (
                list(attention_layer) if isinstance(attention_layer, (list, tuple)) else [attention_layer]
            )
            if len(layers) != len(mechanisms):
                raise ValueError("If provided, attention_layer must contain exactly one layer per mechanism")
            self._attention_layer_size = sum(
                tensor_shape.dimension_value(
                    layer.compute_output_shape(
                        [None, cell.output_size + tensor_shape.dimension_value(mechanism.values.shape[-1])]
                    )[-1]
                )
                for layer, mechanism in zip(layers, mechanisms)
            )
        else:
            self._attention_layer_size = sum(
                tensor_shape.dimension_value(mechanism.values.get_shape()[-1]) for mechanism in mechanisms
            )
        self._attention_layers = layers
        self._attention_fn = attention_fn or _compute_attention
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._cell_input_fn = cell_input_fn
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state = None
        with ops.name_scope(name, "AttentionWrapperInit"):
            if initial_cell_state is not None:
                final = nest.flatten(initial_cell_state)[-1]
                batch = tensor_shape.dimension_value(final.shape[0]) or array_ops.shape(final)[0]
                with ops.control_dependencies(self._batch_size_checks(batch, "initial cell state")):
                    self._initial_cell_state = nest.map_structure(
                        functools.partial(array_ops.identity, name="check_initial_cell_state"),
                        initial_cell_state,
                    )

    def _batch_size_checks(self, batch_size, what):
        return [
            check_ops.assert_equal(
                batch_size,
                mechanism.batch_size,
                message=f"When calling AttentionWrapper: Non-matching batch sizes between the memory (encoder "
                f"output) and {what}. For beam search, tile the memory by tf.contrib.seq2seq.tile_batch.",
            )
            for mechanism in self._attention_mechanisms
        ]

    def _item_or_tuple(self, values):
        values = tuple(values)
        return values if self._is_multi else values[0]

    @property
    def output_size(self):
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self):
        sizes = [mechanism.alignments_size for mechanism in self._attention_mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tensor_shape.TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(sizes),
            attention_state=self._item_or_tuple(m.state_size for m in self._attention_mechanisms),
            alignment_history=self._item_or_tuple(size if self._alignment_history else () for size in sizes),
        )

    def zero_state(self, batch_size, dtype):
        """The state to begin with. The attention is zeros."""
        with ops.name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._initial_cell_state is not None:
                cell_state = self._initial_cell_state
            else:
                cell_state = self._cell.zero_state(batch_size, dtype)
            with ops.control_dependencies(self._batch_size_checks(batch_size, "zero_state()")):
                cell_state = nest.map_structure(
                    lambda s: array_ops.identity(s, name="checked_cell_state"), cell_state
                )
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=array_ops.zeros([], dtype=dtypes.int32),
                attention=_zero_state_tensors(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(
                    m.initial_state(batch_size, dtype) for m in self._attention_mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    tensor_array_ops.TensorArray(
                        dtype, size=0, dynamic_size=True, element_shape=alignment.shape
                    )
                    if self._alignment_history
                    else ()
                    for alignment in alignments
                ),
            )

    def call(self, inputs, state):
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        cell_output, next_cell_state = self._cell(cell_inputs, state.cell_state)
        batch = tensor_shape.dimension_value(cell_output.shape[0]) or array_ops.shape(cell_output)[0]
        with ops.control_dependencies(self._batch_size_checks(batch, "the query")):
            cell_output = array_ops.identity(cell_output, name="checked_cell_output")
        states = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        attentions, alignments, next_states, next_histories = [], [], [], []
        for mechanism, attention_state, history, layer in zip(
            self._attention_mechanisms, states, histories, self._attention_layers
        ):
            attention, alignment, next_state = self._attention_fn(
                mechanism, cell_output, attention_state, layer
            )
            attentions.append(attention)
            alignments.append(alignment)
            next_states.append(next_state)
            next_histories.append(history.write(state.time, alignment) if self._alignment_history else ())
        attention = array_ops.concat(attentions, 1)
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=next_cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(next_states),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(next_histories),
        )
        return (attention if self._output_attention else cell_output), next_state

"""Attention between sequences of vectors."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.util.tf_export import keras_export


class BaseDenseAttention(Layer):
    """Means of values, weighted by the softmax of scores. Inputs: [query, value] or [query, value, key].

    query [batch, Tq, n], value [batch, Tv, n], key as value. Masks are [query's, value's]. causal: a step
    sees no later ones.
    """

    def __init__(self, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.causal = causal
        self.supports_masking = True

    def _calculate_scores(self, query, key):
        raise NotImplementedError(f"{type(self).__name__}._calculate_scores")

    def call(self, inputs, mask=None):
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._calculate_scores(query=query, key=key)
        padding = None
        if mask and mask[1] is not None:
            padding = array_ops.expand_dims(mask[1], axis=-2)
        if self.causal:
            sizes = array_ops.shape(scores)
            lower = _lower_triangular_mask(
                array_ops.concat([array_ops.ones_like(sizes[:-2]), sizes[-2:]], axis=0)
            )
            padding = lower if padding is None else math_ops.logical_and(padding, lower)
        result = self._apply_scores(scores=scores, value=value, scores_mask=padding)
        if mask and mask[0] is not None:
            result *= math_ops.cast(array_ops.expand_dims(mask[0], axis=-1), dtype=result.dtype)
        return result

    def _apply_scores(self, scores, value, scores_mask=None):
        """Means of values, weighted by the softmax of the scores that the mask leaves."""
        if scores_mask is not None:
            scores -= 1.0e9 * math_ops.cast(math_ops.logical_not(scores_mask), dtype=K.floatx())
        return math_ops.matmul(nn.softmax(scores), value)

    def compute_mask(self, inputs, mask=None):
        self._check(inputs, mask)
        return ops.convert_to_tensor(mask[0]) if mask and mask[0] is not None else None

    def _check(self, inputs, mask):
        name = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(
                f"{name} layer must be called on a list of inputs, namely [query, value] or [query, value, key]."
            )
        if len(inputs) not in (2, 3):
            raise ValueError(
                f"{name} layer accepts inputs list of length 2 or 3, namely [query, value] or [query, value, "
                f"key]. Given length: {len(inputs)}"
            )
        if mask and not isinstance(mask, list):
            raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask].")
        if mask and (len(mask) < 2 or len(mask) > len(inputs)):
            raise ValueError(
                f"{name} layer mask must be a list of length 2, namely [query_mask, value_mask]. Given length: "
                f"{len(mask)}"
            )

    def get_config(self):
        return {**super().get_config(), "causal": self.causal}


@keras_export("keras.layers.Attention")
class Attention(BaseDenseAttention):
    """Scores are products of query and key (Luong et al. 2015). use_scale: times a learned number."""

    def __init__(self, use_scale=False, **kwargs):
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, input_shape):
        self.scale = None
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones", dtype=self.dtype)
        self.built = True

    def _calculate_scores(self, query, key):
        scores = math_ops.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale

    def get_config(self):
        return {**super().get_config(), "use_scale": self.use_scale}


@keras_export("keras.layers.AdditiveAttention")
class AdditiveAttention(BaseDenseAttention):
    """Scores are sums of tanh(query + key) (Bahdanau et al. 2015), with learned weights if use_scale."""

    def __init__(self, use_scale=True, **kwargs):
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, input_shape):
        self.scale = None
        if self.use_scale:
            size = tensor_shape.TensorShape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight(
                name="scale", shape=[size], initializer="glorot_uniform", dtype=self.dtype
            )
        self.built = True

    def _calculate_scores(self, query, key):
        total = math_ops.tanh(array_ops.expand_dims(query, axis=-2) + array_ops.expand_dims(key, axis=-3))
        return math_ops.reduce_sum(total if self.scale is None else self.scale * total, axis=-1)

    def get_config(self):
        return {**super().get_config(), "use_scale": self.use_scale}


def _lower_triangular_mask(shape):
    """Booleans of a shape: whether the last index is not above the one before."""
    ones = array_ops.ones(shape=shape, dtype=dtypes.int32)
    return math_ops.greater_equal(math_ops.cumsum(ones, axis=-2), math_ops.cumsum(ones, axis=-1))

"""Attention between sequences of vectors."""

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
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} layer must be called on a list of inputs, namely [query, value] or "
                "[query, value, key]."
            )
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._calculate_scores(query=query, key=key)
        padding = None
        if mask is not None and len(mask) > 1 and mask[1] is not None:
            padding = array_ops.expand_dims(mask[1], axis=-2)
        if self.causal:
            ones = array_ops.ones_like(scores[:1], dtype="int32")
            lower = math_ops.greater_equal(math_ops.cumsum(ones, axis=1), math_ops.cumsum(ones, axis=2))
            padding = lower if padding is None else math_ops.logical_and(padding, lower)
        if padding is not None:
            scores -= 1.0e9 * math_ops.cast(math_ops.logical_not(padding), dtype=K.floatx())
        result = math_ops.matmul(nn.softmax(scores), value)
        if mask is not None and mask[0] is not None:
            result *= math_ops.cast(array_ops.expand_dims(mask[0], axis=-1), dtype=result.dtype)
        return result

    def compute_mask(self, inputs, mask=None):
        return mask[0] if mask else None

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
            size = input_shape[1].as_list()[-1]
            self.scale = self.add_weight(
                name="scale", shape=[size], initializer="glorot_uniform", dtype=self.dtype
            )
        self.built = True

    def _calculate_scores(self, query, key):
        total = math_ops.tanh(array_ops.expand_dims(query, axis=-2) + array_ops.expand_dims(key, axis=-3))
        return math_ops.reduce_sum(total if self.scale is None else self.scale * total, axis=-1)

    def get_config(self):
        return {**super().get_config(), "use_scale": self.use_scale}

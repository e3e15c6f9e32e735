"""Embedding: a learned vector for each id."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.layers.Embedding")
class Embedding(Layer):
    """Vectors [..., output_dim] of ids [...] below input_dim. mask_zero: id 0 is masked."""

    def __init__(
        self,
        input_dim,
        output_dim,
        embeddings_initializer="uniform",
        embeddings_regularizer=None,
        activity_regularizer=None,
        embeddings_constraint=None,
        mask_zero=False,
        input_length=None,
        **kwargs,
    ):
        if "input_shape" not in kwargs:
            if input_length:
                lengths = input_length if isinstance(input_length, (list, tuple)) else (input_length,)
                kwargs["input_shape"] = tuple(lengths)
            else:
                kwargs["input_shape"] = (None,)
        super().__init__(dtype=kwargs.pop("dtype", K.floatx()), **kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = mask_zero
        self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape):
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            name="embeddings",
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )
        self.built = True

    def compute_mask(self, inputs, mask=None):
        return math_ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape):
        return tensor_shape.TensorShape(input_shape).concatenate([self.output_dim])

    def call(self, inputs):
        if K.dtype(inputs) not in ("int32", "int64"):
            inputs = math_ops.cast(inputs, "int32")
        return embedding_ops.embedding_lookup(self.embeddings, inputs)

    def get_config(self):
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "embeddings_initializer": initializers.serialize(self.embeddings_initializer),
            "embeddings_regularizer": regularizers.serialize(self.embeddings_regularizer),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "embeddings_constraint": constraints.serialize(self.embeddings_constraint),
            "mask_zero": self.mask_zero,
            "input_length": self.input_length,
        }

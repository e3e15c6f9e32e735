"""Noise, in training only."""

import numpy as np

from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import keras_export


class _Noise(Layer):
    """Outputs of the shape of the inputs, which training changes."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape):
        return input_shape


@keras_export("keras.layers.GaussianNoise")
class GaussianNoise(_Noise):
    """Adds normal numbers."""

    def __init__(self, stddev, **kwargs):
        super().__init__(**kwargs)
        self.stddev = stddev

    def call(self, inputs, training=None):
        noisy = lambda: inputs + K.random_normal(  # noqa: E731
            shape=array_ops.shape(inputs), mean=0.0, stddev=self.stddev, dtype=inputs.dtype
        )
        return K.in_train_phase(noisy, inputs, training=training)

    def get_config(self):
        return {**super().get_config(), "stddev": self.stddev}


@keras_export("keras.layers.GaussianDropout")
class GaussianDropout(_Noise):
    """Multiplies by normal numbers of mean 1 and deviation sqrt(rate / (1 - rate))."""

    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs, training=None):
        if not 0 < self.rate < 1:
            return inputs
        stddev = np.sqrt(self.rate / (1.0 - self.rate))
        noisy = lambda: inputs * K.random_normal(  # noqa: E731
            shape=array_ops.shape(inputs), mean=1.0, stddev=stddev, dtype=inputs.dtype
        )
        return K.in_train_phase(noisy, inputs, training=training)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}


@keras_export("keras.layers.AlphaDropout")
class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance of SELU's outputs (Klambauer et al. 2017, arXiv:1706.02515)."""

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=None):
        if not 0.0 < self.rate < 1.0:
            return inputs
        shape = self.noise_shape if self.noise_shape else array_ops.shape(inputs)
        low = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946

        def dropped():
            kept = math_ops.cast(
                math_ops.greater_equal(K.random_uniform(shape, seed=self.seed), self.rate), inputs.dtype
            )
            a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
            b = -a * low * self.rate
            return a * (inputs * kept + low * (1 - kept)) + b

        return K.in_train_phase(dropped, inputs, training=training)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}

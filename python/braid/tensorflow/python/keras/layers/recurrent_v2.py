"""Recurrent layers with TensorFlow 2's defaults. Weights are those of layers that cuDNN computes."""

from braid.tensorflow.python.keras.layers import recurrent
from braid.tensorflow.python.util.tf_export import keras_export


def _with_defaults(kwargs, **defaults):
    return {**defaults, **kwargs}


@keras_export("keras.layers.GRUCell", v1=[])
class GRUCell(recurrent.GRUCell):
    """GRUCell with a sigmoid for gates, which resets after the product."""

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True, **kwargs):
        kwargs = _with_defaults(kwargs, implementation=2, reset_after=True)
        super().__init__(units, activation, recurrent_activation, use_bias, **kwargs)


@keras_export("keras.layers.GRU", v1=[])
class GRU(recurrent.GRU):
    """GRU with a sigmoid for gates, which resets after the product."""

    _CELL = GRUCell

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True, **kwargs):
        kwargs = _with_defaults(kwargs, implementation=2, reset_after=True)
        super().__init__(units, activation, recurrent_activation, use_bias, **kwargs)


@keras_export("keras.layers.LSTMCell", v1=[])
class LSTMCell(recurrent.LSTMCell):
    """LSTMCell with a sigmoid for gates."""

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True, **kwargs):
        kwargs = _with_defaults(kwargs, implementation=2)
        super().__init__(units, activation, recurrent_activation, use_bias, **kwargs)


@keras_export("keras.layers.LSTM", v1=[])
class LSTM(recurrent.LSTM):
    """LSTM with a sigmoid for gates."""

    _CELL = LSTMCell

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True, **kwargs):
        kwargs = _with_defaults(kwargs, implementation=2)
        super().__init__(units, activation, recurrent_activation, use_bias, **kwargs)

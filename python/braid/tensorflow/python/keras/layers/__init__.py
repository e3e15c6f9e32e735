"""The layers of tf.keras.layers."""

# flake8: noqa
from braid.tensorflow.python.keras.engine.base_layer import AddLoss, AddMetric, Layer, TensorFlowOpLayer
from braid.tensorflow.python.keras.engine.input_layer import Input, InputLayer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.layers.advanced_activations import ELU, LeakyReLU, PReLU, ReLU, Softmax
from braid.tensorflow.python.keras.layers.advanced_activations import ThresholdedReLU
from braid.tensorflow.python.keras.layers.convolutional import *
from braid.tensorflow.python.keras.layers.convolutional_recurrent import ConvLSTM2D
from braid.tensorflow.python.keras.layers.core import *
from braid.tensorflow.python.keras.layers.dense_attention import AdditiveAttention, Attention
from braid.tensorflow.python.keras.layers.embeddings import Embedding
from braid.tensorflow.python.keras.layers.local import LocallyConnected1D, LocallyConnected2D
from braid.tensorflow.python.keras.layers.merge import *
from braid.tensorflow.python.keras.layers.noise import AlphaDropout, GaussianDropout, GaussianNoise
from braid.tensorflow.python.keras.layers.normalization import BatchNormalization, LayerNormalization
from braid.tensorflow.python.keras.layers.pooling import *
from braid.tensorflow.python.keras.layers.recurrent import (
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    SimpleRNN,
    SimpleRNNCell,
)
from braid.tensorflow.python.keras.layers.recurrent import (
    AbstractRNNCell,
    CuDNNGRU,
    CuDNNLSTM,
    StackedRNNCells,
)
from braid.tensorflow.python.keras.layers.serialization import deserialize, serialize
from braid.tensorflow.python.keras.layers.wrappers import Bidirectional, TimeDistributed, Wrapper


def __getattr__(name):
    from braid.tensorflow.python.keras import _find

    return _find(__name__, name)

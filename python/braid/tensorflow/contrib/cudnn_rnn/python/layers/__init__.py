"""tf.contrib.cudnn_rnn's layers, and what else its package has."""

from braid.tensorflow.contrib.cudnn_rnn.python.layers.cudnn_rnn import *  # noqa: F401,F403
from braid.tensorflow.contrib.cudnn_rnn.python.ops.cudnn_rnn_ops import (  # noqa: F401
    CudnnCompatibleGRUCell,
    CudnnCompatibleLSTMCell,
    CudnnGRUSaveable,
    CudnnLSTMSaveable,
    CudnnParamsFormatConverterGRU,
    CudnnParamsFormatConverterLSTM,
    CudnnParamsFormatConverterRelu,
    CudnnParamsFormatConverterTanh,
    CudnnRNNReluSaveable,
    CudnnRNNTanhSaveable,
)

"""tf.contrib.cudnn_rnn: cuDNN's networks, computed on any device, and cells that read what they have learned."""

from braid.tensorflow.contrib.cudnn_rnn.python.layers.cudnn_rnn import (  # noqa: F401
    CudnnGRU,
    CudnnLSTM,
    CudnnRNNRelu,
    CudnnRNNTanh,
)
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

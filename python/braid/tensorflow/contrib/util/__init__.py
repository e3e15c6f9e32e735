"""tf.contrib.util: tensors and arrays as messages."""

from braid.tensorflow.python.framework.tensor_util import MakeNdarray as make_ndarray  # noqa: F401
from braid.tensorflow.python.framework.tensor_util import constant_value  # noqa: F401
from braid.tensorflow.python.framework.tensor_util import make_tensor_proto  # noqa: F401

"""tf.contrib.slim.nets: networks for pictures."""

from braid.tensorflow.contrib.slim.python.slim.nets import alexnet  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets import inception  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets import overfeat  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets import resnet_utils  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets import resnet_v1  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets import resnet_v2  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets import vgg  # noqa: F401

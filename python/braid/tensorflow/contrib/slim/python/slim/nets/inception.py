"""The networks Inception."""

from braid.tensorflow.contrib.slim.python.slim.nets.inception_v1 import inception_v1  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v1 import inception_v1_arg_scope  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v1 import inception_v1_base  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v2 import inception_v2  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v2 import inception_v2_arg_scope  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v2 import inception_v2_base  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v3 import inception_v3  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v3 import inception_v3_arg_scope  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.nets.inception_v3 import inception_v3_base  # noqa: F401

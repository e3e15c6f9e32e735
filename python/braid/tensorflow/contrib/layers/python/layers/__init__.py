"""The functions of tf.contrib.layers."""

from braid.tensorflow.contrib.layers.python.layers.embedding_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.encoders import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.feature_column import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.feature_column_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.initializers import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.layers import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.normalization import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.optimizers import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.regularizers import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.rev_block_lib import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers.summaries import *  # noqa: F401,F403

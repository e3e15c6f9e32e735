"""tf.contrib.slim: models by layers, arg_scope and losses, and a loop that trains them."""

from braid.tensorflow.contrib import losses  # noqa: F401
from braid.tensorflow.contrib import metrics  # noqa: F401
from braid.tensorflow.contrib.framework.python.ops.arg_scope import *  # noqa: F401,F403
from braid.tensorflow.contrib.framework.python.ops.variables import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers import utils  # noqa: F401
from braid.tensorflow.contrib.slim import nets  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim import evaluation  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim import learning  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim import model_analyzer  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim import queues  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim import summaries  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import data_decoder  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import data_provider  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import dataset  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import dataset_data_provider  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import parallel_reader  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import prefetch_queue  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.data import tfexample_decoder  # noqa: F401
from braid.tensorflow.contrib.slim.python.slim.queues import *  # noqa: F401,F403


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.slim.{name}"))

"""The modules of tf.contrib.timeseries, and the names that TensorFlow's package has."""

from braid.tensorflow.contrib.timeseries.python.timeseries import saved_model_utils  # noqa: F401
from braid.tensorflow.contrib.timeseries.python.timeseries.ar_model import *  # noqa: F401,F403
from braid.tensorflow.contrib.timeseries.python.timeseries.estimators import *  # noqa: F401,F403
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import *  # noqa: F401,F403
from braid.tensorflow.contrib.timeseries.python.timeseries.head import *  # noqa: F401,F403
from braid.tensorflow.contrib.timeseries.python.timeseries.input_pipeline import *  # noqa: F401,F403

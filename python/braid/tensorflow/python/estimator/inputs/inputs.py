"""tf.estimator.inputs."""

# flake8: noqa
from braid.tensorflow.python.estimator.inputs.numpy_io import numpy_input_fn
from braid.tensorflow.python.estimator.inputs.pandas_io import pandas_input_fn

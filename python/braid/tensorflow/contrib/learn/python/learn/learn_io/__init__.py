"""Inputs from files of Examples."""

from braid.tensorflow.contrib.learn.python.learn.learn_io.graph_io import (  # noqa: F401
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_examples_shared_queue,
    read_keyed_batch_features,
    read_keyed_batch_features_shared_queue,
)
from braid.tensorflow.contrib.learn.python.learn.learn_io.numpy_io import numpy_input_fn  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn.learn_io.pandas_io import pandas_input_fn  # noqa: F401

"""Inputs from files of Examples, arrays, generators and tables."""

from braid.tensorflow.contrib.learn.python.learn.learn_io.dask_io import (  # noqa: F401
    HAS_DASK,
    extract_dask_data,
    extract_dask_labels,
)
from braid.tensorflow.contrib.learn.python.learn.learn_io.generator_io import (  # noqa: F401
    generator_input_fn,
)
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
from braid.tensorflow.contrib.learn.python.learn.learn_io.pandas_io import (  # noqa: F401
    HAS_PANDAS,
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
    pandas_input_fn,
)

"""tf.contrib.input_pipeline: elements of a list in turn, whichever session asks."""

from braid.tensorflow.contrib.input_pipeline.python.ops.input_pipeline_ops import (  # noqa: F401
    obtain_next,
    seek_next,
)

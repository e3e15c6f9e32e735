"""tf.contrib.staging: the StagingArea, which holds values for the next step."""

from braid.tensorflow.python.ops.data_flow_ops import StagingArea  # noqa: F401

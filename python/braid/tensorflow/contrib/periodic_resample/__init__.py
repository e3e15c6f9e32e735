"""tf.contrib.periodic_resample: moves elements from one dimension to others, as sub-pixel convolutions do."""

from braid.tensorflow.contrib.periodic_resample.python.ops.periodic_resample_op import (  # noqa: F401
    periodic_resample,
)

"""tf.contrib.reduce_slice_ops: sums, products and extremes of slices."""

from braid.tensorflow.contrib.reduce_slice_ops.python.ops.reduce_slice_ops import (  # noqa: F401
    reduce_slice_max,
    reduce_slice_min,
    reduce_slice_prod,
    reduce_slice_sum,
)

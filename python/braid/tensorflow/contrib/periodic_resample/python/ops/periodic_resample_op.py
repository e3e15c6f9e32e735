"""periodic_resample(values, shape, name=None): a dimension of `shape` is None."""

from braid.tensorflow.python.ops.gen_periodic_resample_op import (  # noqa: F401
    periodic_resample,
    periodic_resample_op_grad,
)

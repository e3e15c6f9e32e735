"""A former place of tensorflow.python.tpu.ops.tpu_ops: one module under both names."""

import sys

from braid.tensorflow.python.tpu.ops import tpu_ops

sys.modules[__name__] = tpu_ops

"""See python/tpu/tpu_function.py."""

from braid.tensorflow.python.tpu.tpu_function import TpuContext, get_tpu_context  # noqa: F401

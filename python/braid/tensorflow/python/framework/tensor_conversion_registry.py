"""Where 1.15 has the functions that make tensors of a program's types."""

from braid.tensorflow.python.framework.ops import register_tensor_conversion_function  # noqa: F401

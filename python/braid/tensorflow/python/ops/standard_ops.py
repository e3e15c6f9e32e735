"""The modules that a program has after `import tensorflow`; standard_ops.NAME is found in those that
TensorFlow has."""

import importlib

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gradients_impl, math_ops

_MODULES = (
    "math_ops",
    "array_ops",
    "control_flow_ops",
    "data_flow_ops",
    "check_ops",
    "clip_ops",
    "functional_ops",
    "gradients_impl",
    "histogram_ops",
    "init_ops",
    "io_ops",
    "linalg_ops",
    "logging_ops",
    "lookup_ops",
    "manip_ops",
    "map_fn",
    "numerics",
    "parsing_ops",
    "partitioned_variables",
    "random_ops",
    "script_ops",
    "sort_ops",
    "sparse_ops",
    "special_math_ops",
    "state_ops",
    "string_ops",
    "template",
    "tensor_array_ops",
    "variable_scope",
    "variables",
    "confusion_matrix",
    "bitwise_ops",
)


def __getattr__(name):
    if not name.startswith("__"):
        for module in _MODULES:
            found = importlib.import_module(f"braid.tensorflow.python.ops.{module}")
            if hasattr(found, name):
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

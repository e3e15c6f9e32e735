"""Inputs of estimators that serve."""

import collections

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import parsing_ops

# features: what the model gets. labels: None. default_inputs: the tensors that requests are fed to, by name.
InputFnOps = collections.namedtuple("InputFnOps", ["features", "labels", "default_inputs"])


def build_parsing_serving_input_fn(feature_spec, default_batch_size=None):
    """A function that makes the features of serialized Examples."""

    def input_fn():
        serialized = array_ops.placeholder(
            dtypes.string, shape=[default_batch_size], name="input_example_tensor"
        )
        features = parsing_ops.parse_example(serialized, feature_spec)
        return InputFnOps(features, None, {"examples": serialized})

    return input_fn


def build_default_serving_input_fn(features, default_batch_size=None):
    """A function that makes placeholders like the features."""

    def input_fn():
        placeholders = {
            name: array_ops.placeholder(
                t.dtype, shape=[default_batch_size] + t.shape.as_list()[1:], name=t.op.name
            )
            for name, t in features.items()
        }
        return InputFnOps(placeholders, None, placeholders)

    return input_fn

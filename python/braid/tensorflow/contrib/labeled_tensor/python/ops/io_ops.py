"""Inputs as LabeledTensors."""

from braid.tensorflow.contrib.labeled_tensor.python.ops import _typecheck as tc
from braid.tensorflow.contrib.labeled_tensor.python.ops import core
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, parsing_ops


class FixedLenFeature:
    """tf.FixedLenFeature with axes, Axis objects or pairs (name, value), in place of a shape."""

    def __init__(self, axes, dtype, default_value=None):
        self._axes = [core.as_axis(axis) for axis in axes]
        self._dtype = dtype
        self._default_value = default_value

    @property
    def axes(self):
        return self._axes

    @property
    def dtype(self):
        return self._dtype

    @property
    def default_value(self):
        return self._default_value


_Features = tc.Mapping(str, FixedLenFeature)


def _unlabeled(features):
    result = {}
    for key, feature in features.items():
        shape = [axis.size for axis in feature.axes]
        if None in shape:
            raise ValueError("axes with unknown size are not supported")
        result[key] = parsing_ops.FixedLenFeature(shape, feature.dtype, feature.default_value)
    return result


def _parse(function, serialized, features, name, example_names):
    serialized = core.convert_to_labeled_tensor(serialized)
    parsed = function(serialized.tensor, _unlabeled(features), name, example_names)
    outer = list(serialized.axes.values())
    return {key: core.LabeledTensor(tensor, outer + features[key].axes) for key, tensor in parsed.items()}


@tc.accepts(core.LabeledTensorLike, _Features, tc.Optional(str), object)
def parse_example(serialized, features, name=None, example_names=None):
    """tf.parse_example: a dict of LabeledTensors, with the axis of `serialized` before those of a feature.

    features: a dict of FixedLenFeature objects of this module. ValueError: the size of an axis is not known.
    """
    return _parse(parsing_ops.parse_example, serialized, features, name, example_names)


@tc.accepts(core.LabeledTensorLike, _Features, tc.Optional(str), object)
def parse_single_example(serialized, features, name=None, example_names=None):
    """tf.parse_single_example, as parse_example; `serialized` is a scalar."""
    return _parse(parsing_ops.parse_single_example, serialized, features, name, example_names)


@tc.accepts(dtypes.DType, tc.Collection(tc.Union(str, core.AxisLike)), tc.Optional(str))
def placeholder(dtype, axes, name=None):
    """tf.placeholder with axes: Axis objects, pairs (name, value), or names, if a size is not known."""
    with ops.name_scope(name, "lt_placeholder", []) as scope:
        axes = core.Axes([(axis, None) if isinstance(axis, str) else axis for axis in axes])
        shape = [axis.size for axis in axes.values()]
        return core.LabeledTensor(array_ops.placeholder(dtype, shape, name=scope), axes)

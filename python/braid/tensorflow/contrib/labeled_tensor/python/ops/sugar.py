"""Reshapes there and back."""

from braid.tensorflow.contrib.labeled_tensor.python.ops import _typecheck as tc
from braid.tensorflow.contrib.labeled_tensor.python.ops import core, ops
from braid.tensorflow.python.framework import ops as tf_ops


class ReshapeCoder:
    """Gives a tensor the axes that a function expects, and its result the axes of the tensor.

    coder = ReshapeCoder(["channel", "mask"], ["depth"]); coder.decode(function(coder.encode(image)))
    """

    @tc.accepts(object, tc.Collection(str), tc.Collection(tc.Union(str, core.AxisLike)), tc.Optional(str))
    def __init__(self, existing_axis_names, new_axes, name=None):
        """The arguments of reshape."""
        self._names = existing_axis_names
        self._new_axes = new_axes
        self._name = name
        self._existing_axes = None

    @tc.accepts(object, core.LabeledTensorLike)
    def encode(self, labeled_tensor):
        """With the new axes. ValueError: an earlier call had other axes in their place."""
        with tf_ops.name_scope(self._name, "lt_reshape_encode", [labeled_tensor]) as scope:
            labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
            encoded = ops.reshape(labeled_tensor, self._names, self._new_axes, name=scope)
            axes = [labeled_tensor.axes[axis] for axis in self._names]
            if self._existing_axes not in (None, axes):
                raise ValueError(
                    "input axes %r do not match axes from previous method call %r"
                    % (axes, self._existing_axes)
                )
            self._existing_axes = axes
            return encoded

    @tc.accepts(object, core.LabeledTensorLike)
    def decode(self, labeled_tensor):
        """With the axes that encode was given. ValueError: it was not called."""
        if self._existing_axes is None:
            raise ValueError("decode called before encode")
        with tf_ops.name_scope(self._name, "lt_reshape_decode", [labeled_tensor]) as scope:
            names = [axis if isinstance(axis, str) else core.as_axis(axis).name for axis in self._new_axes]
            return ops.reshape(labeled_tensor, names, self._existing_axes, name=scope)

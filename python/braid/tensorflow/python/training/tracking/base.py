"""Trackable: an object whose variables, and those of the objects it depends on, a tf.train.Checkpoint saves."""

import collections
import contextlib
import functools

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.training.saving import saveable_object

# A checkpoint has the graph of objects, a TrackableObjectGraph, under this key.
OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
# The attribute of a variable that holds its value.
VARIABLE_VALUE_KEY = "VARIABLE_VALUE"

# An edge: the name that an object has for another.
TrackableReference = collections.namedtuple("TrackableReference", ["name", "ref"])


class Trackable:
    """An object with named dependencies on others. Subclasses need not call __init__."""

    # The number of the last restore that gave the object a value; see util.TrackableSaver.
    _update_uid = -1

    def _maybe_initialize_trackable(self):
        """There is nothing to prepare; TensorFlow's programs call it."""

    @property
    def _unconditional_checkpoint_dependencies(self):
        return list(_dependencies(self).values())

    @property
    def _unconditional_dependency_names(self):
        return {name: reference.ref for name, reference in _dependencies(self).items()}

    @property
    def _checkpoint_dependencies(self):
        """The TrackableReferences of the objects to save with this one."""
        return self._unconditional_checkpoint_dependencies

    def _lookup_dependency(self, name):
        """The dependency of this name, or None."""
        return next((ref for n, ref in self._checkpoint_dependencies if n == name), None)

    def _track_trackable(self, trackable, name, overwrite=False):
        """Adds a dependency, and returns it. ValueError: the name belongs to another object."""
        if not isinstance(trackable, Trackable):
            raise TypeError(
                f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable: {trackable}"
            )
        known = _dependencies(self).get(name)
        if known is not None and known.ref is not trackable and not overwrite:
            raise ValueError(
                f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is "
                "already declared as a dependency. Names must be unique (or overwrite=True)."
            )
        _dependencies(self)[name] = TrackableReference(name, trackable)
        restore = self.__dict__.get("_self_deferred", {}).pop(name, None)
        if restore is not None:
            restore()
        return trackable

    # The names of before.
    _track_checkpointable = _track_trackable

    def _add_variable_with_custom_getter(
        self, name, shape=None, dtype=dtypes.float32, initializer=None, getter=None, overwrite=False, **kwargs
    ):
        """Makes a variable by `getter`, and depends on it."""
        variable = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs)
        if overwrite and not isinstance(variable, Trackable):
            return variable
        return self._track_trackable(variable, name=name, overwrite=overwrite)

    def _list_extra_dependencies_for_serialization(self, view):
        """{name: object} of those that only tf.saved_model.save writes; view: what it writes."""
        return {}

    def _list_functions_for_serialization(self, view):
        """{name: function} of those that tf.saved_model.save writes with the object; view: what it writes."""
        return {}

    def _no_dependency(self, value):
        return value

    def _gather_saveables_for_checkpoint(self):
        """What the object itself saves: {name: a variable, or a function of `name` that returns a
        SaveableObject of that name}.
        """
        return {}


def _dependencies(trackable):
    """{name: reference}, in the order in which they were added."""
    return trackable.__dict__.setdefault("_self_checkpoint_dependencies", {})


def _deferred(trackable):
    """{name: what restores state of Python from the last checkpoint that has a dependency of that name}."""
    return trackable.__dict__.setdefault("_self_deferred", {})


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj):
    """Attributes that are set within are no dependencies."""
    before = obj.__dict__.get("_self_setattr_tracking", True)
    object.__setattr__(obj, "_self_setattr_tracking", False)
    try:
        yield
    finally:
        object.__setattr__(obj, "_self_setattr_tracking", before)


def no_automatic_dependency_tracking(method):
    """Decorates a method: attributes that it sets are no dependencies."""

    @functools.wraps(method)
    def without_tracking(self, *args, **kwargs):
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)

    return without_tracking


class NoRestoreSaveable(saveable_object.SaveableObject):
    """A tensor that is saved, and not restored."""

    def __init__(self, tensor, name, dtype=None, device=None):
        spec = saveable_object.SaveSpec(tensor, "", name, dtype=dtype, device=device)
        super().__init__(tensor, [spec], name)

    def restore(self, restored_tensors, restored_shapes):
        from braid.tensorflow.python.ops import control_flow_ops

        return control_flow_ops.no_op()


class PythonStateSaveable(saveable_object.SaveableObject):
    """State of Python, fed when it is saved and read when it is restored."""

    def feed_dict_additions(self):
        """{tensor: its value now}."""
        raise NotImplementedError

    def python_restore(self, restored_strings):
        """Takes the values of the specs from the checkpoint."""
        raise NotImplementedError


class PythonStringStateSaveable(PythonStateSaveable):
    """State that functions turn into a string and back."""

    def __init__(self, name, state_callback, restore_callback=None):
        """restore_callback: None where nothing is to be restored."""
        from braid.tensorflow.python.framework import constant_op

        self._state_callback = state_callback
        self._restore_callback = restore_callback
        with ops.device("/cpu:0"):
            self._save_string = constant_op.constant("", dtype=dtypes.string)
        spec = saveable_object.SaveSpec(self._save_string, "", name, dtype=dtypes.string)
        super().__init__(self._save_string, [spec], name)

    @property
    def optional_restore(self):
        return self._restore_callback is None

    def feed_dict_additions(self):
        return {self._save_string: self._state_callback()}

    def python_restore(self, restored_strings):
        if self._restore_callback:
            self._restore_callback(restored_strings[0])

"""AutoTrackable: an object whose attributes are its dependencies."""

import functools
import weakref

from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures


class NotTrackable:
    """A mark of objects that checkpoints of objects cannot have."""


class AutoTrackable(base.Trackable):
    """Depends on the trackable objects, and the lists and dictionaries of them, in its attributes."""

    def __setattr__(self, name, value):
        if self.__dict__.get("_self_setattr_tracking", True):
            value = data_structures.sticky_attribute_assignment(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        data_structures._forget(self, name)
        super().__delattr__(name)

    def _no_dependency(self, value):
        return data_structures.NoDependency(value)


class TrackableResource(base.Trackable):
    """An object of a checkpoint that is a resource. Subclasses set `_resource_handle`."""

    @property
    def resource_handle(self):
        return self._resource_handle


def delete_tracking(obj, name):
    """Removes the dependency of a name."""
    data_structures._forget(obj, name)


def cached_per_instance(f):
    """A method that is computed once an object."""
    cache = weakref.WeakKeyDictionary()

    @functools.wraps(f)
    def wrapped(item):
        if item not in cache:
            cache[item] = f(item)
        return cache[item]

    wrapped.cache = cache
    return wrapped

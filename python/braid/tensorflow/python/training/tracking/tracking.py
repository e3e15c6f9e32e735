"""AutoTrackable: an object whose attributes are its dependencies."""

import contextlib
import functools
import weakref

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
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

    def _list_functions_for_serialization(self, view):
        from braid.tensorflow.python.saved_model import restored_functions

        kinds = (restored_functions.Function, restored_functions.ConcreteFunction)
        return {name: value for name, value in vars(self).items() if isinstance(value, kinds)}


class ResourceTracker:
    """A list of the TrackableResources that are made in its `resource_tracker_scope`."""

    def __init__(self):
        self._resources = []

    @property
    def resources(self):
        return self._resources

    def add_resource(self, resource):
        self._resources.append(resource)


_trackers = []  # those of the scopes that are entered


@contextlib.contextmanager
def resource_tracker_scope(resource_tracker):
    """A context in which resource_tracker takes the TrackableResources that are made, also within further
    scopes.
    """
    _trackers.append(resource_tracker)
    try:
        yield
    finally:
        _trackers.pop()


class CapturableResource(base.Trackable):
    """An object of a checkpoint that is a resource.

    Subclasses make the handle in `_create_resource`, or set `_resource_handle`. device: where it is made.
    """

    def __init__(self, device=""):
        self._resource_handle = None
        self._resource_device = device

    def _create_resource(self):
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self):
        """Builds the op that initializes the resource, if there is one."""

    @property
    def resource_handle(self):
        if self._resource_handle is None:
            with ops.device(self._resource_device):
                self._resource_handle = self._create_resource()
        return self._resource_handle


class TrackableAsset(base.Trackable):
    """A file that saved models take along. asset_path: the tensor with its path."""

    def __init__(self, path):
        with ops.init_scope(), ops.device("CPU"):
            self._path = ops.convert_to_tensor(path, dtype=dtypes.string, name="asset_path")

    @property
    def asset_path(self):
        return self._path


class TrackableResource(CapturableResource):
    """A resource that ResourceTrackers are told of."""

    def __init__(self, device=""):
        for tracker in _trackers:
            tracker.add_resource(self)
        super().__init__(device=device)


class NamedResource(TrackableResource):
    """A resource of a graph, made by an op that the graph has once.

    A subclass has _create_resource(), which gives the handle by self._name and self._container, and
    _initialize(), which gives the op that makes the resource.
    """

    def __init__(self, name, container=None):
        self._name = name
        self._container = container
        self._init_op = None
        super().__init__()
        self._resource_handle = self._create_resource()

    @property
    def initializer(self):
        if self._init_op is None:
            self._init_op = self._initialize()
        return self._init_op


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

"""Lists and dictionaries that are trackable by themselves, and NoDependency.

A list or a dictionary that is an attribute of a trackable object stays what it is: what it holds is looked
for when a checkpoint is saved or restored. `nodes_of` says what that is.
"""

import collections
import collections.abc

from braid.tensorflow.python.training.tracking import base


class NoDependency:
    """A value for an attribute of a trackable object that is to be no dependency."""

    def __init__(self, value):
        self.value = value


def is_container(value):
    """Whether it is a list or a dictionary of Python, whose elements are tracked."""
    return type(value) in (list, tuple, dict, collections.OrderedDict)


def nodes_of(value):
    """The references from a list or a dictionary to the trackable objects, and containers of some, in it."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [base.TrackableReference(str(k), v) for k, v in pairs if holds_trackables(v)]


def holds_trackables(value):
    """Whether it is trackable, or a container of trackable objects."""
    if is_container(value):
        return any(map(holds_trackables, value.values() if isinstance(value, dict) else value))
    return isinstance(value, base.Trackable)


def sticky_attribute_assignment(trackable, name, value):
    """Tracks an attribute's value. Returns what the attribute is to hold."""
    if isinstance(value, NoDependency):
        _forget(trackable, name)
        return value.value
    if isinstance(value, base.Trackable):
        trackable._track_trackable(value, name=name, overwrite=True)
    elif is_container(value):
        base._dependencies(trackable)[name] = base.TrackableReference(name, value)
    else:
        _forget(trackable, name)
    return value


def _forget(trackable, name):
    base._dependencies(trackable).pop(name, None)


class TrackableDataStructure(base.Trackable):
    """The base of List and Mapping: it has the weights, updates and losses of the layers in it."""

    @property
    def _values(self):
        raise NotImplementedError

    def _check(self, value):
        value = value.value if isinstance(value, NoDependency) else value
        if not isinstance(value, base.Trackable) and not is_container(value):
            raise ValueError(
                f"Only trackable objects (such as Layers or Optimizers) may be stored in a "
                f"{type(self).__name__} object. Got {value}, which does not inherit from Trackable."
            )
        return value

    trainable = True

    @property
    def layers(self):
        from braid.tensorflow.python.keras.engine import base_layer

        found = []
        for value in self._values:
            base_layer._collect_layers(value, found)
        return found

    def _weights(self, attribute, trainable):
        from braid.tensorflow.python.ops import variables

        own = [
            v
            for v in self._values
            if isinstance(v, variables.Variable) and (trainable is None or v.trainable == trainable)
        ]
        return [w for layer in self.layers for w in getattr(layer, attribute)] + own

    @property
    def trainable_weights(self):
        return self._weights("trainable_weights", True) if self.trainable else []

    @property
    def non_trainable_weights(self):
        weights = self._weights("non_trainable_weights", False)
        return weights if self.trainable else self._weights("trainable_weights", True) + weights

    @property
    def weights(self):
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def updates(self):
        return [u for layer in self.layers for u in getattr(layer, "updates", ())]

    @property
    def losses(self):
        return [u for layer in self.layers for u in getattr(layer, "losses", ())]

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other


class List(TrackableDataStructure, collections.abc.Sequence):
    """A list of trackable objects that only grows."""

    def __init__(self, *args, **kwargs):
        self._storage = [self._check(value) for value in list(*args, **kwargs)]

    @property
    def _values(self):
        return self._storage

    @property
    def _checkpoint_dependencies(self):
        return nodes_of(self._storage)

    def copy(self):
        return type(self)(self._storage)

    __copy__ = copy

    def append(self, value):
        self._storage.append(self._check(value))

    def extend(self, values):
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def __add__(self, other):
        return type(self)(self._storage + list(other))

    def __radd__(self, other):
        return type(self)(list(other) + self._storage)

    def __mul__(self, n):
        return type(self)(self._storage * n)

    __rmul__ = __mul__

    def __imul__(self, n):
        if n <= 0:
            raise ValueError(f"List only supports append, multiplying in place by {n} removes elements.")
        self.extend(self._storage * (n - 1))
        return self

    def __getitem__(self, key):
        return self._storage[key]

    def __len__(self):
        return len(self._storage)

    def __repr__(self):
        return f"List({self._storage!r})"


class Mapping(TrackableDataStructure, collections.abc.Mapping):
    """A dictionary from strings to trackable objects whose entries stay what they are."""

    def __init__(self, *args, **kwargs):
        self._storage = {}
        self.update(*args, **kwargs)

    @property
    def _values(self):
        return [self._storage[key] for key in sorted(self._storage)]

    @property
    def _checkpoint_dependencies(self):
        return nodes_of(self._storage)

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        value = self._check(value)
        if self._storage.setdefault(key, value) is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value "
                f"{value}, but it already contains {self._storage[key]}"
            )

    def __getitem__(self, key):
        return self._storage[key]

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter(self._storage)

    def __repr__(self):
        return f"Mapping({self._storage!r})"

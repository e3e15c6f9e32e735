"""Lists and dictionaries that are trackable, and NoDependency.

A list or a dictionary that becomes an attribute of a trackable object is replaced by a ListWrapper or a
_DictWrapper of it, as are those in it. Both share what they hold with the list or the dictionary that they
wrap. A checkpoint names elements by their places: a wrapper whose elements have moved cannot be saved.

A tuple is not tracked, as in TensorFlow 1.15: a checkpoint does not have what it holds.
"""

import collections
import collections.abc
import copy

from braid.tensorflow.python.training.tracking import base


class NoDependency:
    """A value for an attribute of a trackable object that is to be no dependency."""

    def __init__(self, value):
        self.value = value


def is_container(value):
    """Whether it is a list or a dictionary of Python, whose elements are tracked."""
    return type(value) in (list, dict, collections.OrderedDict)


def nodes_of(value):
    """The references from a list or a dictionary to the trackable objects, and containers of some, in it."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [base.TrackableReference(str(k), v) for k, v in pairs if holds_trackables(v)]


def holds_trackables(value):
    """Whether it is trackable, or a container of trackable objects."""
    if is_container(value):
        return any(map(holds_trackables, value.values() if isinstance(value, dict) else value))
    return isinstance(value, base.Trackable)


def _wrap_or_unwrap(value):
    """What is stored in place of a value: a wrapper of a list or a dictionary, the value of a NoDependency."""
    if isinstance(value, NoDependency):
        return value.value
    wrapper = _WRAPPERS.get(type(value))
    return value if wrapper is None else wrapper(value)


def sticky_attribute_assignment(trackable, name, value):
    """Tracks an attribute's value. Returns what the attribute is to hold."""
    is_dependency = not isinstance(value, NoDependency)
    value = _wrap_or_unwrap(value)
    if is_dependency and isinstance(value, base.Trackable):
        trackable._track_trackable(value, name=name, overwrite=True)
    elif is_dependency and is_container(value):
        base._dependencies(trackable)[name] = base.TrackableReference(name, value)
    else:
        _forget(trackable, name)
    return value


def _forget(trackable, name):
    base._dependencies(trackable).pop(name, None)


def _is_layer(value):
    return hasattr(value, "trainable_weights") and hasattr(value, "non_trainable_weights")


class TrackableDataStructure(base.Trackable):
    """The base of lists and dictionaries: it has the weights, updates and losses of the layers in it."""

    @property
    def _values(self):
        raise NotImplementedError

    def _track_value(self, value, name):
        """Tracks what is to be an element. Returns what is stored. ValueError: it is not trackable."""
        value = sticky_attribute_assignment(self, name, value)
        if not isinstance(value, base.Trackable) and not is_container(value):
            raise ValueError(
                "Only trackable objects (such as Layers or Optimizers) may be stored in a List object. "
                f"Got {value}, which does not inherit from Trackable."
            )
        _use_resource_variables(value)
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

        own = [v for v in self._values if isinstance(v, variables.Variable) and v.trainable == trainable]
        nested = [v for v in self._values if isinstance(v, TrackableDataStructure) or _is_layer(v)]
        return [w for value in nested for w in getattr(value, attribute)] + own

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


def _use_resource_variables(value):
    """Has a layer of tf.layers make resource variables: it belongs to an object that is tracked."""
    if hasattr(value, "_use_resource_variables"):
        value._use_resource_variables = True


class List(TrackableDataStructure, collections.abc.Sequence):
    """A list of trackable objects that only grows."""

    def __init__(self, *args, **kwargs):
        self._storage = self._make_storage(*args, **kwargs)
        for index, value in enumerate(self._storage):
            self._storage[index] = self._track_value(value, str(index))

    def _make_storage(self, *args, **kwargs):
        return list(*args, **kwargs)

    @property
    def _values(self):
        return self

    def copy(self):
        return self.__copy__()

    def __copy__(self):
        return type(self)(copy.copy(self._storage))

    def __deepcopy__(self, memo):
        return type(self)(copy.deepcopy(self._storage, memo))

    def append(self, value):
        self._storage.append(self._track_value(value, str(len(self._storage))))

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

    def __sizeof__(self):
        return object.__sizeof__(self) + self._storage.__sizeof__()


_ADVICE = (
    "If you don't need this {} checkpointed, wrap it in a tf.contrib.checkpoint.NoDependency object; it will "
    "be automatically un-wrapped and subsequently ignored."
)


class ListWrapper(List, collections.abc.MutableSequence, list):
    """A list that shares its elements with the one it wraps, and depends on the trackable ones.

    What moves or replaces elements can be done, but the list cannot be saved then; nor when the wrapped list
    was changed other than through this one. The elements are also those of this object as a list of Python,
    for functions in C that look at them there.
    """

    def __init__(self, wrapped_list=()):
        self._has_moved = self._is_modified = False
        super().__init__(wrapped_list)
        self._update()

    def _make_storage(self, wrapped_list):
        return wrapped_list if type(wrapped_list) is list else list(wrapped_list)

    def _track_value(self, value, name):
        try:
            return super()._track_value(value, name)
        except ValueError:
            return _wrap_or_unwrap(value)

    def _update(self):
        """Has changes that went through this object be known ones."""
        list.__setitem__(self, slice(None), self._storage)
        self._known = list(self._storage)

    def _check(self):
        """Finds changes of the wrapped list that did not go through this object."""
        if not self._has_moved and not self._is_modified:
            self._is_modified = self._storage != self._known

    def _move(self):
        self._check()
        self._has_moved = True

    @property
    def _checkpoint_dependencies(self):
        self._check()
        start = (
            f"Unable to save the object {self!r} (a list wrapper constructed to track trackable TensorFlow "
            "objects). "
        )
        if self._has_moved:
            raise ValueError(
                f"{start}A list element was replaced (__setitem__, __setslice__), deleted (__delitem__, "
                "__delslice__), or moved (sort). In order to support restoration on object creation, tracking "
                "is exclusively for append-only data structures.\n\n" + _ADVICE.format("list")
            )
        if self._is_modified:
            raise ValueError(
                f"{start}The wrapped list was modified outside the wrapper (its final value was "
                f"{self._storage}, its value when a checkpoint dependency was added was {self._known}), which "
                "breaks restoration on object creation.\n\n" + _ADVICE.format("list")
            )
        return super()._checkpoint_dependencies

    def _with_state_of(self, other):
        self._has_moved, self._is_modified = other._has_moved, other._is_modified
        return self

    def __copy__(self):
        return super().__copy__()._with_state_of(self)

    def __deepcopy__(self, memo):
        return super().__deepcopy__(memo)._with_state_of(self)

    def __reduce_ex__(self, protocol):
        return type(self), (self._storage,)

    def append(self, value):
        self._check()
        super().append(value)
        self._update()

    def extend(self, values):
        self._check()
        for value in list(values):
            super().append(value)
        self._update()

    def __setitem__(self, key, value):
        self._check()
        if not isinstance(key, slice):
            self._set_one(range(len(self._storage))[key], value)
            return
        before = list(self._storage)
        self._storage[key] = value
        for i, old in enumerate(before):
            is_there = i < len(self._storage) and self._storage[i] is old
            self._has_moved = self._has_moved or (isinstance(old, base.Trackable) and not is_there)
        for i, new in enumerate(self._storage):
            if i >= len(before) or new is not before[i]:
                self._storage[i] = self._track_value(new, str(i))
        self._update()

    def _set_one(self, index, value):
        old = self._storage[index]
        if value is not old:
            self._has_moved = self._has_moved or isinstance(old, base.Trackable)
            self._storage[index] = self._track_value(value, str(index))
        self._update()

    def __delitem__(self, key):
        self._move()
        del self._storage[key]
        self._update()

    def insert(self, index, value):
        self._move()
        self._storage.insert(index, _wrap_or_unwrap(value))
        self._update()

    def pop(self, index=-1):
        value = self._storage[index]
        del self[index]
        return value

    def remove(self, value):
        del self[self._storage.index(value)]

    def clear(self):
        del self[:]

    def sort(self, *, key=None, reverse=False):
        self._move()
        self._storage.sort(key=key, reverse=reverse)
        self._update()

    def reverse(self):
        self._move()
        self._storage.reverse()
        self._update()

    def __imul__(self, n):
        if n > 0:
            return super().__imul__(n)
        self.clear()
        return self

    def __eq__(self, other):
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other):
        return self._storage != getattr(other, "_storage", other)

    def __lt__(self, other):
        return self._storage < getattr(other, "_storage", other)

    def __le__(self, other):
        return self._storage <= getattr(other, "_storage", other)

    def __gt__(self, other):
        return self._storage > getattr(other, "_storage", other)

    def __ge__(self, other):
        return self._storage >= getattr(other, "_storage", other)

    def __hash__(self):
        raise TypeError("unhashable type: 'ListWrapper'")

    def __repr__(self):
        return f"ListWrapper({self._storage!r})"


class Mapping(TrackableDataStructure, collections.abc.Mapping):
    """A dictionary from strings to trackable objects whose entries stay what they are."""

    def __init__(self, *args, **kwargs):
        self._storage = {}
        self.update(*args, **kwargs)

    @property
    def _values(self):
        return [self._storage[key] for key in sorted(self._storage)]

    def __copy__(self):
        return type(self)(copy.copy(self._storage))

    def __deepcopy__(self, memo):
        return type(self)(copy.deepcopy(self._storage, memo))

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if key in self._storage and self._storage[key] is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value "
                f"{value}, but it already contains {self._storage[key]}"
            )
        self._storage[key] = self._track_value(value, key)

    def __getitem__(self, key):
        return self._storage[key]

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter(self._storage)

    def __repr__(self):
        return f"Mapping({self._storage!r})"


class _DictWrapper(TrackableDataStructure, collections.abc.MutableMapping, dict):
    """A dictionary that shares its entries with the one it wraps, and depends on the trackable values.

    It cannot be saved when a key of a trackable value is no string, nor when entries were removed by another
    way than `del` or the wrapped dictionary was changed other than through this one. The entries are also
    those of this object as a dictionary of Python, for functions in C that look at them there.
    """

    _python = dict  # which dictionary of Python this is

    def __init__(self, wrapped_dict=()):
        if not isinstance(wrapped_dict, collections.abc.Mapping):
            wrapped_dict = self._python(wrapped_dict)
        self._storage = wrapped_dict
        self._self_has_other_key = self._self_is_modified = False
        for key, value in list(wrapped_dict.items()):
            self._storage[key] = self._track_value(value, key)
        self._update()

    @property
    def _values(self):
        return [value for _, value in sorted(self._storage.items(), key=lambda item: item[0])]

    def _track_value(self, value, name):
        if not isinstance(name, str):
            is_dependency = not isinstance(value, NoDependency)
            value = _wrap_or_unwrap(value)
            if is_dependency and isinstance(value, base.Trackable):
                self._self_has_other_key = True
            return value
        try:
            return super()._track_value(value, name)
        except ValueError:
            return _wrap_or_unwrap(value)

    def _update(self):
        """Has changes that went through this object be known ones."""
        self._set_own_entries()
        self._self_known = dict(self._storage)

    def _set_own_entries(self):
        self._python.clear(self)
        for key, value in self._storage.items():
            self._python.__setitem__(self, key, value)

    def _check(self):
        """Finds changes of the wrapped dictionary that did not go through this object."""
        if not self._self_has_other_key and not self._self_is_modified:
            self._self_is_modified = self._storage != self._self_known

    @property
    def _checkpoint_dependencies(self):
        self._check()
        start = (
            f"Unable to save the object {self!r} (a dictionary wrapper constructed automatically on attribute "
            "assignment). "
        )
        if self._self_has_other_key:
            raise ValueError(
                f"{start}The wrapped dictionary contains a non-string key which maps to a trackable object or "
                "mutable data structure.\n\n" + _ADVICE.format("dictionary")
            )
        if self._self_is_modified:
            raise ValueError(
                f"{start}The wrapped dictionary was modified outside the wrapper (its final value was {self!r}, "
                f"its value when a checkpoint dependency was added was {self._self_known}), which breaks "
                "restoration on object creation.\n\n" + _ADVICE.format("dictionary")
            )
        return super()._checkpoint_dependencies

    def _with_state_of(self, other):
        self._self_has_other_key = other._self_has_other_key
        self._self_is_modified = other._self_is_modified
        return self

    def copy(self):
        return self.__copy__()

    def __copy__(self):
        return type(self)(copy.copy(self._storage))._with_state_of(self)

    def __deepcopy__(self, memo):
        return type(self)(copy.deepcopy(self._storage, memo))._with_state_of(self)

    def __reduce_ex__(self, protocol):
        return type(self), (self._storage,)

    def __getitem__(self, key):
        return self._storage[key]

    def __setitem__(self, key, value):
        self._check()
        self._storage[key] = value = self._track_value(value, key)
        entries = self._python.__len__(self) + (not self._python.__contains__(self, key))
        if self._self_has_other_key or self._self_is_modified or entries != len(self._storage):
            self._update()
        else:
            self._python.__setitem__(self, key, value)
            self._self_known[key] = value

    def __delitem__(self, key):
        self._check()
        del self._storage[key]
        _forget(self, key)
        self._update()

    def pop(self, *args):
        value = self._storage.pop(*args)
        self._set_own_entries()
        return value

    def popitem(self, *args, **kwargs):
        item = self._storage.popitem(*args, **kwargs)
        self._set_own_entries()
        return item

    def clear(self):
        self._storage.clear()
        self._set_own_entries()

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter(self._storage)

    def __reversed__(self):
        return reversed(self._storage)

    def __contains__(self, key):
        return key in self._storage

    def __eq__(self, other):
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other):
        return self._storage != getattr(other, "_storage", other)

    def __or__(self, other):
        return self._storage | getattr(other, "_storage", other)

    def __ror__(self, other):
        return other | self._storage

    def __ior__(self, other):
        self.update(other)
        return self

    def __hash__(self):
        raise TypeError("unhashable type: 'DictWrapper'")

    def __repr__(self):
        return f"DictWrapper({self._storage!r})"


class _OrderedDictWrapper(_DictWrapper, collections.OrderedDict):
    """A _DictWrapper of a collections.OrderedDict."""

    _python = collections.OrderedDict

    def move_to_end(self, key, last=True):
        self._storage.move_to_end(key, last)
        self._set_own_entries()


_WRAPPERS = {list: ListWrapper, dict: _DictWrapper, collections.OrderedDict: _OrderedDictWrapper}

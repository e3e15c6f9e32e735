"""Sets and dictionaries that tell objects by identity: tensors, whose == builds ops."""

import collections.abc
import weakref


class _ObjectIdentityWrapper:
    """An object that equals only itself. TypeError: it is compared with one that is not wrapped."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped):
        self._wrapped = wrapped

    @property
    def unwrapped(self):
        return self._wrapped

    def __eq__(self, other):
        return self.unwrapped is _unwrapped(other)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return id(self.unwrapped)

    def __repr__(self):
        return f"<{type(self).__name__} wrapping {self._wrapped!r}>"


def _unwrapped(other):
    if not isinstance(other, _ObjectIdentityWrapper):
        raise TypeError("Cannot compare wrapped object with unwrapped object")
    return other.unwrapped


class _WeakObjectIdentityWrapper(_ObjectIdentityWrapper):
    """As above, without keeping the object."""

    __slots__ = ("_hash",)

    def __init__(self, wrapped, callback=None):
        super().__init__(weakref.ref(wrapped, callback and (lambda _: callback(self))))
        self._hash = id(wrapped)

    @property
    def unwrapped(self):
        return self._wrapped()

    def __eq__(self, other):
        if self is other:
            return True
        own, others = self.unwrapped, _unwrapped(other)
        return own is not None and own is others

    def __hash__(self):
        return self._hash


class Reference(_ObjectIdentityWrapper):
    """An object as a key: Reference(x) == Reference(y) if x is y."""

    __slots__ = ()

    def deref(self):
        return self._wrapped


class ObjectIdentityDictionary(collections.abc.MutableMapping):
    """A dictionary whose keys are told by identity."""

    __slots__ = ("_storage", "__weakref__")

    def __init__(self):
        self._storage = {}

    def _wrap_key(self, key):
        return _ObjectIdentityWrapper(key)

    def __getitem__(self, key):
        return self._storage[self._wrap_key(key)]

    def __setitem__(self, key, value):
        self._storage[self._wrap_key(key)] = value

    def __delitem__(self, key):
        del self._storage[self._wrap_key(key)]

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter([key.unwrapped for key in self._storage])

    def __repr__(self):
        return f"{type(self).__name__}({self._storage!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """As above; an entry goes when nothing else has its key."""

    __slots__ = ()

    def __setitem__(self, key, value):
        storage = self._storage
        storage[_WeakObjectIdentityWrapper(key, lambda wrapper: storage.pop(wrapper, None))] = value

    def __iter__(self):
        keys = [key.unwrapped for key in list(self._storage)]
        return iter([key for key in keys if key is not None])


class ObjectIdentitySet(collections.abc.MutableSet):
    """A set whose members are told by identity, in the order in which they came."""

    __slots__ = ("_storage", "__weakref__")

    def __init__(self, *args):
        self._storage = {}
        for item in args[0] if args else ():
            self.add(item)

    @staticmethod
    def _from_storage(storage):
        made = ObjectIdentitySet()
        made._storage = dict.fromkeys(storage)
        return made

    def _wrap_key(self, key):
        return _ObjectIdentityWrapper(key)

    def __contains__(self, key):
        return self._wrap_key(key) in self._storage

    def add(self, key):
        self._storage[self._wrap_key(key)] = None

    def discard(self, key):
        self._storage.pop(self._wrap_key(key), None)

    def update(self, items):
        for item in items:
            self.add(item)

    def clear(self):
        self._storage.clear()

    def intersection(self, items):
        others = {self._wrap_key(item) for item in items}
        return self._from_storage(key for key in self._storage if key in others)

    def difference(self, items):
        others = {self._wrap_key(item) for item in items}
        return self._from_storage(key for key in self._storage if key not in others)

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter([key.unwrapped for key in self._storage])


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """As above; a member goes when nothing else has it."""

    __slots__ = ()

    def add(self, key):
        storage = self._storage
        storage.setdefault(_WeakObjectIdentityWrapper(key, lambda wrapper: storage.pop(wrapper, None)))

    def __iter__(self):
        members = [key.unwrapped for key in list(self._storage)]
        return iter([member for member in members if member is not None])

"""Walks through nested structures: what util/nest.py and data/util/nest.py share.

They differ in what is a structure and what is a leaf. A `Nest` knows that; for each class of objects it asks
once.
"""

import collections
import collections.abc
import sys

LEAF, SEQUENCE, NAMEDTUPLE, MAPPING, VIEW, ATTRS, COMPOSITE, SPEC = range(8)
# What is wrong where one structure should begin as another, the shallow one, does.
INPUT_IS_NO_SEQUENCE = (
    "If shallow structure is a sequence, input must also be a sequence. Input has type: {}."
)
MISMATCHING_TYPES = (
    "The two structures don't have the same sequence type. Input structure has type {input_type}, while shallow "
    "structure has type {shallow_type}."
)
MISMATCHING_LENGTHS = (
    "The two structures don't have the same sequence length. Input structure has length {input_length}, while "
    "shallow structure has length {shallow_length}."
)
INPUT_IS_SMALLER = (
    "The input_tree has fewer elements than the shallow_tree. Input structure has length {input_size}, while "
    "shallow structure has length {shallow_size}."
)
INVALID_KEYS = (
    "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the following keys "
    "that are not in the input_tree: {}"
)
_FRAMEWORK = "braid.tensorflow.python.framework."


def is_namedtuple_class(cls):
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and isinstance(fields, collections.abc.Sequence)
        and all(isinstance(f, str) for f in fields)
    )


def _is_a(cls, module, name):
    """Whether `cls` is a class of TensorFlow's. While its module is not loaded, nothing can be one."""
    loaded = sys.modules.get(_FRAMEWORK + module)
    base = getattr(loaded, name, None)
    return base is not None and issubclass(cls, base)


def _kind_of_class(cls):
    """The kind of structure without tensors that have components."""
    if issubclass(cls, (str, bytes, bytearray)):
        return LEAF
    if issubclass(cls, collections.abc.Mapping):
        return MAPPING
    if issubclass(cls, collections.abc.MappingView):
        return VIEW
    if hasattr(cls, "__attrs_attrs__"):
        return ATTRS
    if is_namedtuple_class(cls):
        return NAMEDTUPLE
    return SEQUENCE if issubclass(cls, collections.abc.Sequence) else LEAF


class PlainKinds(dict):
    """The kind of each class: sequences (but strings), mappings, namedtuples and classes of attrs are
    structures.
    """

    def __missing__(self, cls):
        kind = self[cls] = _kind_of_class(cls)
        return kind


class CompositeKinds(dict):
    """As PlainKinds, and tensors that have components (SparseTensor) are structures of these."""

    def __missing__(self, cls):
        if _is_a(cls, "composite_tensor", "CompositeTensor"):
            kind = COMPOSITE
        elif _is_a(cls, "type_spec", "TypeSpec") and not _is_a(cls, "tensor_spec", "TensorSpec"):
            kind = SPEC
        else:
            kind = _kind_of_class(cls)
        self[cls] = kind
        return kind


class DataKinds(dict):
    """As PlainKinds, but a list stands for a tensor."""

    def __missing__(self, cls):
        kind = _kind_of_class(cls)
        if issubclass(cls, list) or _is_a(cls, "sparse_tensor", "SparseTensorValue"):
            kind = LEAF
        self[cls] = kind
        return kind


def _sorted_keys(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def values(kind, structure):
    """The children of a structure, those of a mapping by sorted key."""
    if kind in (SEQUENCE, NAMEDTUPLE):
        return structure
    if kind == MAPPING:
        return [structure[key] for key in _sorted_keys(structure)]
    if kind == VIEW:
        return list(structure)
    if kind == ATTRS:
        return [getattr(structure, a.name) for a in structure.__attrs_attrs__]
    if kind == COMPOSITE:
        return [structure._type_spec._to_components(structure)]
    return [structure._component_specs]


def items(kind, structure):
    """Pairs of key and child in the order of `values`."""
    if kind == NAMEDTUPLE:
        keys = structure._fields
    elif kind == MAPPING:
        keys = _sorted_keys(structure)
    elif kind == ATTRS:
        keys = [a.name for a in structure.__attrs_attrs__]
    elif kind in (COMPOSITE, SPEC):
        keys = [type(structure).__name__]
    else:
        return list(enumerate(structure))
    return list(zip(keys, values(kind, structure)))


def rebuild(kind, structure, children):
    """A structure like this one with other children, which are a list in the order of `values`."""
    cls = type(structure)
    if kind == MAPPING:
        by_key = dict(zip(_sorted_keys(structure), children))
        pairs = [(key, by_key[key]) for key in structure]
        if isinstance(structure, collections.defaultdict):
            return cls(structure.default_factory, pairs)
        return cls(pairs)
    if kind == VIEW or cls is range:
        return list(children)
    if kind in (NAMEDTUPLE, ATTRS):
        return cls(*children)
    if kind == COMPOSITE:
        return structure._type_spec._from_components(children[0])
    if kind == SPEC:
        return structure._from_components(children[0])
    return cls(children)


def same_namedtuples(a, b):
    """Whether the classes of two namedtuples have one name and the same fields."""
    return type(a).__name__ == type(b).__name__ and type(a)._fields == type(b)._fields


def _same_type(kind, a, b):
    """Whether structure `b` may stand where `a` is."""
    if type(a) is type(b):
        return True
    other = CompositeKinds()[type(b)]
    if kind == NAMEDTUPLE and other == NAMEDTUPLE:
        return same_namedtuples(a, b)
    if kind == MAPPING and other == MAPPING or isinstance(a, list) and isinstance(b, list):
        return True
    if kind in (COMPOSITE, SPEC) and other in (COMPOSITE, SPEC):
        specs = [x._type_spec if k == COMPOSITE else x for k, x in ((kind, a), (other, b))]
        return specs[0].is_compatible_with(specs[1]) or specs[1].is_compatible_with(specs[0])
    return False


def _describe(x):
    return f"type={type(x).__name__} str={x}"


class Nest:
    """The walks. kinds: the kind of structure of each class."""

    def __init__(self, kinds, word="a sequence"):
        self._kinds = kinds
        self._word = word

    def is_nested(self, x):
        return self._kinds[type(x)] != LEAF

    def kind(self, x):
        return self._kinds[type(x)]

    def flatten_into(self, x, leaves):
        kind = self._kinds[type(x)]
        if kind == LEAF:
            leaves.append(x)
            return
        for child in values(kind, x):
            self.flatten_into(child, leaves)

    def flatten(self, x):
        leaves = []
        self.flatten_into(x, leaves)
        return leaves

    def pack(self, structure, leaves):
        """The structure with the next leaves of an iterator."""
        kind = self._kinds[type(structure)]
        if kind == LEAF:
            return next(leaves)
        return rebuild(kind, structure, [self.pack(child, leaves) for child in values(kind, structure)])

    def flatten_up_to(self, shallow, x, path, found):
        """Appends (path, part of `x` where `shallow` has a leaf) to `found`, for all leaves of `shallow`."""
        kind = self._kinds[type(shallow)]
        if kind == LEAF:
            found.append((path, x))
            return
        parts = dict(items(self._kinds[type(x)], x))
        for i, (key, child) in enumerate(items(kind, shallow)):
            part = parts[key] if key in parts else list(parts.values())[i]
            self.flatten_up_to(child, part, path + (key,), found)

    def check_shallow(self, shallow, x, check_types, check_lengths=True):
        """TypeError or ValueError: `x` does not begin as `shallow` does.

        check_lengths: it may not have more.
        """
        kind, other = self._kinds[type(shallow)], self._kinds[type(x)]
        if kind == LEAF:
            return
        if other == LEAF:
            raise TypeError(INPUT_IS_NO_SEQUENCE.format(type(x)))
        if check_types and not isinstance(x, type(shallow)) and not _same_type(kind, shallow, x):
            raise TypeError(MISMATCHING_TYPES.format(input_type=type(x), shallow_type=type(shallow)))
        inner, outer = items(kind, shallow), items(other, x)
        if check_lengths and len(inner) != len(outer):
            raise ValueError(MISMATCHING_LENGTHS.format(input_length=len(outer), shallow_length=len(inner)))
        if len(inner) > len(outer):
            raise ValueError(INPUT_IS_SMALLER.format(input_size=len(outer), shallow_size=len(inner)))
        parts = dict(outer)
        if check_types and MAPPING in (kind, other) and any(key not in parts for key, _ in inner):
            raise ValueError(INVALID_KEYS.format([k for k, _ in inner if k not in parts]))
        for i, (key, child) in enumerate(inner):
            self.check_shallow(child, parts.get(key, outer[i][1]), check_types, check_lengths)

    def check_same(self, a, b, check_types):
        """TypeError (types) or ValueError: the structures differ."""
        kind, other = self._kinds[type(a)], self._kinds[type(b)]
        if (kind == LEAF) != (other == LEAF):
            one, two = (a, b) if other == LEAF else (b, a)
            raise ValueError(
                f'Substructure "{_describe(one)}" is {self._word}, '
                f'while substructure "{_describe(two)}" is not'
            )
        if kind == LEAF:
            return
        if check_types and not _same_type(kind, a, b):
            raise TypeError(
                "The two structures don't have the same sequence type. "
                f"First structure has type {type(a)}, while second structure has type {type(b)}."
            )
        if kind == COMPOSITE and other == COMPOSITE:
            a._type_spec.most_specific_compatible_type(b._type_spec)  # ValueError: there is none
        inner, outer = items(kind, a), items(other, b)
        if check_types and kind == MAPPING and [k for k, _ in inner] != [k for k, _ in outer]:
            raise ValueError(
                "The two dictionaries don't have the same set of keys. "
                f"First structure has keys {[k for k, _ in inner]}, "
                f"while second structure has keys {[k for k, _ in outer]}"
            )
        for (_, child), (_, part) in zip(inner, outer):
            self.check_same(child, part, check_types)
        if len(inner) != len(outer):
            raise ValueError(
                "The two structures don't have the same number of elements. "
                f"First structure: {_describe(a)}. Second structure: {_describe(b)}"
            )

    def assert_same_structure(self, a, b, check_types):
        try:
            self.check_same(a, b, check_types)
        except (TypeError, ValueError) as e:
            raise type(e)(
                "The two structures don't have the same nested structure.\n\n"
                f"First structure: {_describe(a)}\n\nSecond structure: {_describe(b)}\n\n"
                f"More specifically: {e}\n"
                f"Entire first structure:\n{self.shape(a)}\nEntire second structure:\n{self.shape(b)}"
            ) from None

    def shape(self, x):
        """The structure as text with a dot for each leaf."""

        class Dot:
            def __repr__(self):
                return "."

        dot = Dot()
        try:
            return str(self.pack(x, iter([dot] * len(self.flatten(x)))))
        except Exception:  # a class may refuse dots
            return str(x)

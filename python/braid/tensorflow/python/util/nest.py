"""Nested structures: lists, tuples, namedtuples, mappings and classes of attrs, to any depth (tf.nest).

Mappings are walked by sorted key. With `expand_composites`, tensors that have components (SparseTensor,
IndexedSlices) are structures of these.
"""

from braid.tensorflow.python.util import nest_util
from braid.tensorflow.python.util.tf_export import tf_export

_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ = nest_util.INPUT_IS_NO_SEQUENCE
_STRUCTURES_HAVE_MISMATCHING_TYPES = nest_util.MISMATCHING_TYPES
_STRUCTURES_HAVE_MISMATCHING_LENGTHS = nest_util.MISMATCHING_LENGTHS
_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE = nest_util.INPUT_IS_SMALLER
_SHALLOW_TREE_HAS_INVALID_KEYS = nest_util.INVALID_KEYS
_PLAIN = nest_util.Nest(nest_util.PlainKinds())
_EXPANDED = nest_util.Nest(nest_util.CompositeKinds())


def _nest(expand_composites):
    return _EXPANDED if expand_composites else _PLAIN


@tf_export("nest.is_nested")
def is_sequence(seq):
    """Whether a value is a structure. Strings and sets are none."""
    return _PLAIN.is_nested(seq)


is_nested = is_sequence


def is_sequence_or_composite(seq):
    """Whether a value is a structure or a tensor that has components."""
    return _EXPANDED.is_nested(seq)


is_nested_or_composite = is_sequence_or_composite


def is_namedtuple(instance, strict=False):
    """Whether a value is a namedtuple; strict: of a class that derives from tuple alone."""
    cls = type(instance)
    return nest_util.is_namedtuple_class(cls) and (not strict or cls.__base__ is tuple)


_is_namedtuple = is_namedtuple
same_namedtuples = nest_util.same_namedtuples


def is_mapping(obj):
    return _PLAIN.kind(obj) == nest_util.MAPPING


def is_attrs(obj):
    return _PLAIN.kind(obj) == nest_util.ATTRS


_is_mapping = is_mapping
_is_attrs = is_attrs


def _sequence_like(instance, args):
    """A structure of the type of `instance` with the children `args`."""
    return nest_util.rebuild(_EXPANDED.kind(instance), instance, list(args))


def _yield_value(iterable):
    return iter(nest_util.values(_EXPANDED.kind(iterable), iterable))


def _yield_sorted_items(iterable):
    return iter(nest_util.items(_EXPANDED.kind(iterable), iterable))


@tf_export("nest.assert_same_structure")
def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """ValueError or TypeError: the structures differ. check_types: types of sequences count as well."""
    _nest(expand_composites).assert_same_structure(nest1, nest2, check_types)


@tf_export("nest.flatten")
def flatten(structure, expand_composites=False):
    """The leaves as a list. A value that is no structure is its only leaf."""
    return _nest(expand_composites).flatten(structure)


@tf_export("nest.pack_sequence_as")
def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """A structure like `structure` with other leaves. ValueError: their number is wrong."""
    nest = _nest(expand_composites)
    if not is_sequence(flat_sequence):
        raise TypeError(f"flat_sequence must be a sequence, not {type(flat_sequence)}:\n{flat_sequence}")
    if not nest.is_nested(structure):
        if len(flat_sequence) != 1:
            raise ValueError("Structure is a scalar but len(flat_sequence) == %d > 1" % len(flat_sequence))
        return flat_sequence[0]
    count = len(nest.flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            "Could not pack sequence. Structure had %d elements, but flat_sequence had %d elements.  "
            "Structure: %s, flat_sequence: %s." % (count, len(flat_sequence), structure, flat_sequence)
        )
    return nest.pack(structure, iter(flat_sequence))


def _options(kwargs):
    """check_types and expand_composites of a function that takes any number of structures."""
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: `%s`"
            % "`, `".join(kwargs)
        )
    return check_types, expand_composites


def _check_callable(func):
    if not callable(func):
        raise TypeError("func must be callable, got: %s" % func)


@tf_export("nest.map_structure")
def map_structure(func, *structure, **kwargs):
    """func(leaf of each structure), in the structure of the first. kwargs: check_types, expand_composites."""
    _check_callable(func)
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types, expand_composites = _options(kwargs)
    nest = _nest(expand_composites)
    for other in structure[1:]:
        nest.assert_same_structure(structure[0], other, check_types)
    made = [func(*leaves) for leaves in zip(*[nest.flatten(s) for s in structure])]
    return nest.pack(structure[0], iter(made))


def map_structure_with_tuple_paths(func, *structure, **kwargs):
    """As map_structure, with func((key, index, ...), leaves...)."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func, *structure, **kwargs):
    """As map_structure, with func("key/index/...", leaves...)."""

    def with_text(path, *leaves):
        return func("/".join(str(key) for key in path), *leaves)

    return map_structure_with_tuple_paths(with_text, *structure, **kwargs)


def map_structure_up_to(shallow_tree, func, *inputs, **kwargs):
    """func(parts of the inputs where `shallow_tree` has a leaf), in the structure of `shallow_tree`."""
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *parts: func(*parts), *inputs, **kwargs
    )


def map_structure_with_tuple_paths_up_to(shallow_tree, func, *inputs, **kwargs):
    """As map_structure_up_to, with func((key, index, ...), parts...)."""
    _check_callable(func)
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_lengths = kwargs.pop("check_subtrees_length", True)
    check_types, expand_composites = _options(kwargs)
    found = [_up_to(shallow_tree, x, check_types, expand_composites, check_lengths) for x in inputs]
    made = [func(parts[0][0], *[part for _, part in parts]) for parts in zip(*found)]
    return _nest(expand_composites).pack(shallow_tree, iter(made))


def _up_to(shallow_tree, input_tree, check_types, expand_composites, check_lengths=True):
    nest = _nest(expand_composites)
    nest.check_shallow(shallow_tree, input_tree, check_types, check_lengths)
    found = []
    nest.flatten_up_to(shallow_tree, input_tree, (), found)
    return found


def assert_shallow_structure(
    shallow_tree, input_tree, check_types=True, expand_composites=False, check_subtrees_length=True
):
    """TypeError or ValueError: `input_tree` does not begin as `shallow_tree` does."""
    _nest(expand_composites).check_shallow(shallow_tree, input_tree, check_types, check_subtrees_length)


def flatten_up_to(
    shallow_tree, input_tree, check_types=True, expand_composites=False, check_subtrees_length=True
):
    """The parts of `input_tree` where `shallow_tree` has a leaf."""
    found = _up_to(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return [part for _, part in found]


def flatten_with_tuple_paths_up_to(
    shallow_tree, input_tree, check_types=True, expand_composites=False, check_subtrees_length=True
):
    """As flatten_up_to, but pairs of path and part."""
    return _up_to(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)


def flatten_with_tuple_paths(structure, expand_composites=False):
    """Pairs of path, a tuple of keys and indices, and leaf."""
    return _up_to(structure, structure, True, expand_composites)


def yield_flattened_paths(nest, expand_composites=False):
    """The paths of the leaves."""
    return iter([path for path, _ in flatten_with_tuple_paths(nest, expand_composites)])


yield_flat_paths = yield_flattened_paths


def flatten_with_joined_string_paths(structure, separator="/", expand_composites=False):
    """Pairs of path as text and leaf."""
    return [
        (separator.join(str(key) for key in path), leaf)
        for path, leaf in flatten_with_tuple_paths(structure, expand_composites)
    ]


def flatten_dict_items(dictionary):
    """A dictionary whose keys and values are structures, as one of their leaves. {(a, b): (1, 2)}: {a: 1, b:
    2}.

    ValueError: a key and its value have not as many leaves, or a key is there twice.
    """
    if not is_mapping(dictionary):
        raise TypeError("input must be a dictionary")
    flat = {}
    for key, value in dictionary.items():
        if is_sequence(key):
            pairs = list(zip(flatten(key), flatten(value)))
            if len(pairs) < max(len(flatten(key)), len(flatten(value))):
                raise ValueError(
                    "Could not flatten dictionary. Key had %d elements, but value had %d elements. Key: %s, value: "
                    "%s." % (len(flatten(key)), len(flatten(value)), key, value)
                )
        else:
            pairs = [(key, value)]
        for k, v in pairs:
            if k in flat:
                raise ValueError("Could not flatten dictionary: key %s is not unique." % (k,))
            flat[k] = v
    return flat


def get_traverse_shallow_structure(traverse_fn, structure, expand_composites=False):
    """The part of a structure into which `traverse_fn` goes: with True where it did not.

    traverse_fn(structure) gives a bool, or for a structure a structure of bools for its children.
    """
    nest = _nest(expand_composites)
    answer = traverse_fn(structure)
    if not nest.is_nested(structure):
        if not isinstance(answer, bool):
            raise TypeError(f"traverse_fn returned structure: {answer} for non-structure: {structure}")
        return answer
    kind = nest.kind(structure)
    children = list(nest_util.values(kind, structure))
    if isinstance(answer, bool):
        if not answer:
            return False
        answers = [True] * len(children)
    elif not nest.is_nested(answer):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {answer} for input: {structure}")
    else:
        assert_shallow_structure(answer, structure, expand_composites=expand_composites)
        answers = list(nest_util.values(nest.kind(answer), answer))
    shallow = []
    for child, goes_on in zip(children, answers):
        if not isinstance(goes_on, bool):
            raise TypeError(f"traverse_fn didn't return a depth=1 structure of bools. saw: {answers}")
        shallow.append(
            get_traverse_shallow_structure(traverse_fn, child, expand_composites) if goes_on else False
        )
    return nest_util.rebuild(kind, structure, shallow)


def list_to_tuple(structure):
    """The structure with tuples in place of lists."""
    if isinstance(structure, list):
        return tuple(list_to_tuple(child) for child in structure)
    kind = _PLAIN.kind(structure)
    if kind == nest_util.LEAF:
        return structure
    return nest_util.rebuild(
        kind, structure, [list_to_tuple(child) for child in nest_util.values(kind, structure)]
    )

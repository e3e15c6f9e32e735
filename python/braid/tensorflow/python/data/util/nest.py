"""The structures of tf.data's elements: tuples, mappings and classes of attrs. A list stands for a tensor."""

from braid.tensorflow.python.util import nest_util

_NEST = nest_util.Nest(nest_util.DataKinds(), "a sequence")


def is_sequence(seq):
    """Whether a value is a structure: lists, sets and SparseTensorValue are none."""
    return _NEST.is_nested(seq)


is_nested = is_sequence


def flatten(nest):
    """The leaves as a list."""
    return _NEST.flatten(nest)


def assert_same_structure(nest1, nest2, check_types=True):
    """ValueError or TypeError: the structures differ."""
    _NEST.assert_same_structure(nest1, nest2, check_types)


def pack_sequence_as(structure, flat_sequence):
    """A structure like `structure` with other leaves. ValueError: their number is wrong."""
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError(f"flat_sequence must be a sequence, not {type(flat_sequence)}")
    count = len(flatten(structure))
    if not is_sequence(structure) and len(flat_sequence) != 1:
        raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1")
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _NEST.pack(structure, iter(flat_sequence))


def map_structure(func, *structure, **check_types_dict):
    """func(leaf of each structure), in the structure of the first.

    check_types: types of sequences count as well.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = check_types_dict.pop("check_types", True)
    if check_types_dict:
        raise ValueError("Only valid keyword argument is check_types")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    made = [func(*leaves) for leaves in zip(*[flatten(s) for s in structure])]
    return _NEST.pack(structure[0], iter(made))


def assert_shallow_structure(shallow_tree, input_tree, check_types=True):
    """TypeError or ValueError: `input_tree` does not begin as `shallow_tree` does."""
    _NEST.check_shallow(shallow_tree, input_tree, check_types)


def flatten_up_to(shallow_tree, input_tree):
    """The parts of `input_tree` where `shallow_tree` has a leaf."""
    assert_shallow_structure(shallow_tree, input_tree)
    found = []
    _NEST.flatten_up_to(shallow_tree, input_tree, (), found)
    return [part for _, part in found]


def map_structure_up_to(shallow_tree, func, *inputs):
    """func(parts of the inputs where `shallow_tree` has a leaf), in the structure of `shallow_tree`."""
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    parts = zip(*[flatten_up_to(shallow_tree, x) for x in inputs])
    return pack_sequence_as(shallow_tree, [func(*part) for part in parts])

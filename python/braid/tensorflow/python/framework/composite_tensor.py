"""Values that are made of several tensors (SparseTensor, IndexedSlices)."""

import abc


class CompositeTensor(metaclass=abc.ABCMeta):
    """A value that nest takes apart into tensors where `expand_composites` is set."""

    @property
    @abc.abstractmethod
    def _type_spec(self):
        """The TypeSpec by which it is taken apart and put together."""

    def _shape_invariant_to_type_spec(self, shape):
        """The TypeSpec that allows `shape`, in a loop."""
        raise NotImplementedError(f"{type(self).__name__} has no shape invariants")

    def consumers(self):
        """The operations that take one of the tensors."""
        raise NotImplementedError(f"{type(self).__name__} has no consumers()")

    @property
    def _is_graph_tensor(self):
        return True


def is_composite_or_composite_value(tensor):
    """Whether it is made of several tensors, or of their arrays."""
    from braid.tensorflow.python.framework import ops, sparse_tensor

    return isinstance(tensor, (CompositeTensor, sparse_tensor.SparseTensorValue, ops.IndexedSlicesValue))


def replace_composites_with_components(structure):
    """A structure with lists of tensors in the places of values made of several."""
    from braid.tensorflow.python.util import nest

    if isinstance(structure, CompositeTensor):
        return replace_composites_with_components(structure._type_spec._to_components(structure))
    if not nest.is_sequence(structure):
        return structure
    return nest.map_structure(replace_composites_with_components, structure, expand_composites=False)

"""tf.map_fn of ragged tensors."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.util import nest


def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
):
    """tf.map_fn, where elements and results may be ragged.

    dtype: a structure of the results' types, with a RaggedTensorType for each ragged one. None: those of
    elems, and no result is ragged.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    flat = [ragged_tensor.convert_to_tensor_or_ragged_tensor(e, name="elem") for e in nest.flatten(elems)]
    flat = list(ragged_tensor.match_row_splits_dtypes(*flat))
    single = not nest.is_sequence(elems)
    if dtype is None:
        types = [e.dtype for e in flat]
        structure = elems
    else:
        types, structure = nest.flatten(dtype), dtype
    parallel_iterations = parallel_iterations or 10
    with ops.name_scope(name, "map", flat):
        count = flat[0].nrows() if _ragged(flat[0]) else array_ops.shape(flat[0], out_type="int64")[0]
        checks = [
            check_ops.assert_equal(math_ops.cast(_nrows(e), "int64"), math_ops.cast(count, "int64"))
            for e in flat[1:]
        ]
        with ops.control_dependencies(checks):
            count = math_ops.cast(count, "int32")
        elements = [_Elements(e, count) for e in flat]
        arrays = [_arrays(t, count, infer_shape) for t in types]

        def body(i, state):
            values = [e.read(i) for e in elements]
            made = fn(values[0] if single else nest.pack_sequence_as(elems, values))
            if nest.is_sequence(structure):
                nest.assert_same_structure(structure, made)
            state = nest.pack_sequence_as(arrays, state)
            written = [
                _write(part, i, value, kind) for part, value, kind in zip(state, nest.flatten(made), types)
            ]
            return i + 1, nest.flatten(written)

        _, state = control_flow_ops.while_loop(
            lambda i, _: i < count,
            body,
            (ops.convert_to_tensor(0), nest.flatten(arrays)),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        made = [_collect(part, kind) for part, kind in zip(nest.pack_sequence_as(arrays, state), types)]
        first = flat[0].shape[:1]
        for value in made:
            if not _ragged(value) and value.shape.ndims is not None:
                value.set_shape(first.concatenate(value.shape[1:]))
        return nest.pack_sequence_as(structure, made) if nest.is_sequence(structure) else made[0]


def _ragged(value):
    return isinstance(value, ragged_tensor.RaggedTensor)


def _nrows(value):
    return value.nrows() if _ragged(value) else array_ops.shape(value, out_type="int64")[0]


class _Elements:
    """The elements of a tensor, one after the other."""

    def __init__(self, tensor, count):
        self._tensor = tensor
        if not _ragged(tensor):
            self._array = tensor_array_ops.TensorArray(
                tensor.dtype, count, element_shape=tensor.shape[1:]
            ).unstack(tensor)

    def read(self, i):
        return self._tensor[i] if _ragged(self._tensor) else self._array.read(i)


def _arrays(kind, count, infer_shape):
    """The arrays of a result: of a ragged one, of its innermost values, the lengths of each dimension and its
    number of rows."""
    if not isinstance(kind, ragged_tensor.RaggedTensorType):
        return [tensor_array_ops.TensorArray(kind, count, infer_shape=infer_shape)]
    splits = kind.row_splits_dtype
    return [
        tensor_array_ops.TensorArray(kind.dtype, count, infer_shape=False),
        *[
            tensor_array_ops.TensorArray(splits, count, infer_shape=False)
            for _ in range(max(kind.ragged_rank - 1, 0))
        ],
        tensor_array_ops.TensorArray(splits, count, element_shape=[1]),
    ]


def _write(arrays, i, value, kind):
    if not isinstance(kind, ragged_tensor.RaggedTensorType):
        if _ragged(value):
            raise ValueError(f"The declared ragged rank (0) mismatches the result ({value.ragged_rank})")
        return [arrays[0].write(i, value)]
    value = ragged_tensor.convert_to_tensor_or_ragged_tensor(value)
    rank = value.ragged_rank if _ragged(value) else 0
    if rank + 1 != kind.ragged_rank:
        raise ValueError(f"The declared ragged rank ({kind.ragged_rank}) mismatches the result ({rank + 1})")
    if not _ragged(value):
        parts = [value]
        count = array_ops.shape(value, out_type=kind.row_splits_dtype)[0]
    else:
        if value.row_splits.dtype != kind.row_splits_dtype:
            raise ValueError("The declared row_splits_dtype mismatches that of the result")
        parts = [value.flat_values, *value.nested_row_lengths()]
        count = value.nrows()
    parts.append(array_ops.expand_dims(count, 0))
    return [array.write(i, part) for array, part in zip(arrays, parts)]


def _collect(arrays, kind):
    if not isinstance(kind, ragged_tensor.RaggedTensorType):
        return arrays[0].stack()
    flat, *lengths, counts = [array.concat() for array in arrays]
    flat.set_shape(tensor_shape.unknown_shape(flat.shape.ndims) if flat.shape.ndims else None)
    return ragged_tensor.RaggedTensor.from_nested_row_lengths(flat, [counts, *lengths], validate=False)

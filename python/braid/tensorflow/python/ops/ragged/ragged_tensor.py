"""Tensors whose rows have different lengths (tf.RaggedTensor)."""

from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_ragged_conversion_ops
from braid.tensorflow.python.ops import gen_ragged_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor_value
from braid.tensorflow.python.ops.ragged import segment_id_ops
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


def _row_numbers(values, name=None):
    """Numbers of rows or of places: int64, or int32 where they are given as such a tensor."""
    values = ops.convert_to_tensor(values, preferred_dtype=dtypes.int64, name=name)
    return values if values.dtype in (dtypes.int32, dtypes.int64) else math_ops.cast(values, dtypes.int64)


def convert_to_tensor_or_ragged_tensor(value, dtype=None, preferred_dtype=None, name=None):
    """A RaggedTensor from one or its value, and a Tensor from anything else."""
    if isinstance(value, RaggedTensor):
        return value
    if isinstance(value, ragged_tensor_value.RaggedTensorValue):
        flat = ops.convert_to_tensor(value.flat_values, dtype=dtype, name="flat_values")
        return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits)
    return ops.convert_to_tensor(value, dtype=dtype, preferred_dtype=preferred_dtype, name=name)


def is_ragged(value):
    """Whether it is a RaggedTensor or a RaggedTensorValue."""
    return isinstance(value, (RaggedTensor, ragged_tensor_value.RaggedTensorValue))


@tf_export("RaggedTensor")
class RaggedTensor:
    """Rows of different lengths: row i is values[row_splits[i]:row_splits[i + 1]].

    values: a Tensor, or another RaggedTensor, whose rows are one dimension deeper. Functions of tensors are
    applied to all innermost values by tf.ragged.map_flat_values; the arithmetic operators do it.
    """

    def __init__(self, values, row_splits, internal=False):
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        if not isinstance(row_splits, ops.Tensor):
            raise TypeError("Row-partitioning argument must be a Tensor, got %r" % (row_splits,))
        if not isinstance(values, (ops.Tensor, RaggedTensor)):
            raise TypeError("values must be a Tensor or RaggedTensor, got %r" % (values,))
        row_splits.get_shape().assert_has_rank(1)
        values.get_shape().with_rank_at_least(1)
        self._values = values
        self._row_splits = row_splits

    # ---- Making ----

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i is values[row_splits[i]:row_splits[i + 1]]."""
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with ops.name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values = convert_to_tensor_or_ragged_tensor(values, name="values")
            return cls(values, _row_numbers(row_splits, "row_splits"), internal=True)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """The rows have these lengths."""
        with ops.name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values = convert_to_tensor_or_ragged_tensor(values, name="values")
            lengths = _row_numbers(row_lengths)
            splits = array_ops.concat([[0], math_ops.cumsum(lengths)], axis=0)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Row i begins at row_starts[i] and ends where the next one begins."""
        with ops.name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values = convert_to_tensor_or_ragged_tensor(values, name="values")
            starts = _row_numbers(row_starts)
            count = _first_size(values, starts.dtype)
            splits = array_ops.concat([starts, array_ops.expand_dims(count, 0)], axis=0)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Row i ends before row_limits[i] and begins where the one before ends."""
        with ops.name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values = convert_to_tensor_or_ragged_tensor(values, name="values")
            limits = _row_numbers(row_limits)
            return cls(values, array_ops.concat([[0], limits], axis=0), internal=True)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Each value is in the row that value_rowids names, whose numbers do not fall."""
        with ops.name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values = convert_to_tensor_or_ragged_tensor(values, name="values")
            rowids = _row_numbers(value_rowids)
            splits = segment_id_ops.segment_ids_to_row_splits(rowids, nrows, out_type=rowids.dtype)
            if isinstance(nrows, int):
                splits.set_shape([nrows + 1])
            return cls(values, splits, internal=True)

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Several ragged dimensions, the outermost splits first."""
        if isinstance(nested_row_splits, ops.Tensor):
            raise TypeError("nested_row_splits must be a list of Tensors")
        with ops.name_scope(name, "RaggedFromNestedRowSplits", [flat_values] + list(nested_row_splits)):
            made = convert_to_tensor_or_ragged_tensor(flat_values)
            for splits in reversed(nested_row_splits):
                made = cls.from_row_splits(made, splits)
            return made

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Several ragged dimensions, the outermost lengths first."""
        if isinstance(nested_row_lengths, ops.Tensor):
            raise TypeError("nested_row_lengths must be a list of Tensors")
        with ops.name_scope(name, "RaggedFromNestedRowlengths", [flat_values] + list(nested_row_lengths)):
            made = convert_to_tensor_or_ragged_tensor(flat_values)
            for lengths in reversed(nested_row_lengths):
                made = cls.from_row_lengths(made, lengths)
            return made

    @classmethod
    def from_tensor(
        cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=dtypes.int64
    ):
        """The rows of a tensor: whole, of these lengths, or without the padding at their ends."""
        if ragged_rank != 1:
            raise NotImplementedError("RaggedTensor.from_tensor: Braid has it for ragged_rank = 1")
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        with ops.name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            tensor = ops.convert_to_tensor(tensor, name="tensor")
            tensor.get_shape().with_rank_at_least(2)
            sizes = array_ops.shape(tensor, out_type=row_splits_dtype)
            rows, columns = sizes[0], sizes[1]
            if padding is not None:
                is_value = math_ops.not_equal(tensor, ops.convert_to_tensor(padding, dtype=tensor.dtype))
                for _ in range(tensor.get_shape().ndims - 2):
                    is_value = math_ops.reduce_any(is_value, axis=-1)
                places = math_ops.cast(is_value, row_splits_dtype) * math_ops.range(1, columns + 1)
                lengths = math_ops.reduce_max(places, axis=1)
            if lengths is None:
                flat = array_ops.reshape(tensor, array_ops.concat([[-1], array_ops.shape(tensor)[2:]], 0))
                return cls.from_row_splits(flat, math_ops.range(rows + 1) * columns)
            lengths = math_ops.maximum(math_ops.minimum(math_ops.cast(lengths, row_splits_dtype), columns), 0)
            mask = array_ops.sequence_mask(lengths, columns)
            return cls.from_row_lengths(array_ops.boolean_mask(tensor, mask), lengths)

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=dtypes.int64):
        """The rows of a SparseTensor of rank 2, which has values at the begin of each row."""
        if not sparse_tensor.is_sparse(st_input):
            raise TypeError("Expected SparseTensor, got %s" % type(st_input).__name__)
        with ops.name_scope(name, "RaggedFromSparse", [st_input]):
            st_input = sparse_tensor.convert_to_tensor_or_sparse_tensor(st_input, name="st_input")
            if st_input.get_shape().ndims not in (2, None):
                raise ValueError("rank(st_input) must be 2")
            rowids = math_ops.cast(st_input.indices[:, 0], row_splits_dtype)
            return cls.from_value_rowids(st_input.values, rowids, st_input.dense_shape[0])

    # ---- Parts ----

    @property
    def values(self):
        """The rows one after the other."""
        return self._values

    @property
    def row_splits(self):
        """Where rows begin and end in `values`."""
        return self._row_splits

    @property
    def flat_values(self):
        """The Tensor of all innermost values."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def nested_row_splits(self):
        """The splits of all ragged dimensions, the outermost first."""
        inner = self._values
        return (self._row_splits,) + (inner.nested_row_splits if isinstance(inner, RaggedTensor) else ())

    @property
    def ragged_rank(self):
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def graph(self):
        return self._row_splits.graph

    @property
    def shape(self):
        count = self._row_splits.get_shape().dims[0].value
        inner = self._values.get_shape()[1:]
        return tensor_shape.TensorShape([None if count is None else count - 1, None]).concatenate(inner)

    def get_shape(self):
        return self.shape

    def value_rowids(self, name=None):
        """The row of each value."""
        with ops.name_scope(name, "RaggedValueRowIds", [self.row_splits]):
            return segment_id_ops.row_splits_to_segment_ids(self.row_splits)

    def nrows(self, out_type=None, name=None):
        """How many rows there are."""
        out_type = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with ops.name_scope(name, "RaggedNRows", [self.row_splits]):
            return array_ops.shape(self.row_splits, out_type=out_type)[0] - 1

    def row_starts(self, name=None):
        """Where each row begins in `values`."""
        with ops.name_scope(name, "RaggedRowStarts", [self.row_splits]):
            return self.row_splits[:-1]

    def row_limits(self, name=None):
        """Where each row ends in `values`."""
        with ops.name_scope(name, "RaggedRowLimits", [self.row_splits]):
            return self.row_splits[1:]

    def row_lengths(self, axis=1, name=None):
        """The lengths of the rows along a ragged dimension."""
        if axis < 1:
            raise ValueError("axis must be at least 1")
        with ops.name_scope(name, "RaggedRowLengths", [self.row_splits]):
            if axis == 1:
                return self.row_splits[1:] - self.row_splits[:-1]
            if not isinstance(self._values, RaggedTensor):
                raise NotImplementedError("RaggedTensor.row_lengths: Braid has it for ragged dimensions")
            return self.with_values(self._values.row_lengths(axis - 1))

    def nested_row_lengths(self, name=None):
        """The lengths of the rows of all ragged dimensions, the outermost first."""
        with ops.name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(splits[1:] - splits[:-1] for splits in self.nested_row_splits)

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The shape of the least tensor that holds all rows, or its sizes along `axis`."""
        out_type = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with ops.name_scope(name, "RaggedBoundingBox", [self]):
            longest = [
                math_ops.maximum(math_ops.reduce_max(n), 0) if n.get_shape().num_elements() != 0 else n
                for n in self.nested_row_lengths()
            ]
            inner = array_ops.shape(self.flat_values, out_type=self.row_splits.dtype)[1:]
            sizes = array_ops.concat([array_ops.stack([self.nrows()] + longest), inner], axis=0)
            sizes = math_ops.cast(sizes, out_type)
            return sizes if axis is None else array_ops.gather(sizes, axis)

    def with_values(self, new_values):
        """The same rows with other values."""
        new_values = convert_to_tensor_or_ragged_tensor(new_values)
        return RaggedTensor(new_values, self._row_splits, internal=True)

    def with_flat_values(self, new_values):
        """The same rows in all ragged dimensions with other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype):
        """The same rows with splits of type int32 or int64."""
        splits = [math_ops.cast(s, dtype) for s in self.nested_row_splits]
        return RaggedTensor.from_nested_row_splits(self.flat_values, splits)

    def consumers(self):
        """The operations that take one of the parts."""
        found = []
        for part in self.nested_row_splits + (self.flat_values,):
            found += [op for op in part.consumers() if op not in found]
        return found

    # ---- Other tensors ----

    def to_tensor(self, default_value=None, name=None):
        """A Tensor with `default_value` (zero) after the ends of rows."""
        with ops.name_scope(name, "RaggedToTensor", [self, default_value]):
            flat = self.flat_values
            if default_value is None:
                default_value = array_ops.zeros((), self.dtype)
            default_value = ops.convert_to_tensor(default_value, dtype=self.dtype, name="default_value")
            made = gen_ragged_conversion_ops.ragged_tensor_to_tensor(
                shape=ops.convert_to_tensor(-1, dtypes.int64),
                values=flat,
                default_value=default_value,
                row_partition_tensors=list(self.nested_row_splits),
                row_partition_types=["ROW_SPLITS"] * self.ragged_rank,
            )
            made.set_shape(self.shape)
            return made

    def to_sparse(self, name=None):
        """A SparseTensor with the values in the begin of its rows."""
        with ops.name_scope(name, "RaggedToSparse", [self]):
            return sparse_tensor.SparseTensor(
                *gen_ragged_conversion_ops.ragged_tensor_to_sparse(
                    list(self.nested_row_splits), self.flat_values
                )
            )

    def eval(self, feed_dict=None, session=None):
        """The RaggedTensorValue of a step of the session, or of the default one."""
        session = ops.get_default_session() if session is None else session
        if session is None:
            raise ValueError("Cannot evaluate a RaggedTensor: no default session is registered.")
        return session.run(self, feed_dict)

    def __str__(self):
        return "tf.RaggedTensor(values=%s, row_splits=%s)" % (self._values, self._row_splits)

    __repr__ = __str__

    # ---- Slices and operators ----

    def __getitem__(self, key):
        keys = list(key) if isinstance(key, tuple) else [key]
        with ops.name_scope(None, "RaggedGetItem", [self]):
            return self._item(keys)

    def _item(self, keys):
        if not keys or (len(keys) == 1 and _is_all(keys[0])):
            return self
        first, rest = keys[0], keys[1:]
        if not isinstance(first, slice):
            row = self._values[self._row_splits[first] : self._row_splits[first + 1]]
            return row[tuple(rest)] if rest else row
        if first.step not in (None, 1):
            raise NotImplementedError("slices of ragged tensors: Braid has steps of 1")
        rows = self if _is_all(first) else self._rows(first)
        if not rest:
            return rows
        if _is_all(rest[0]):
            inner = rows._values
            return rows.with_values(inner[tuple([slice(None)] + rest[1:])] if len(rest) > 1 else inner)
        if not isinstance(rest[0], slice) or rest[0].step not in (None, 1):
            raise ValueError("Cannot index into an inner ragged dimension.")
        rows = rows._columns(rest[0])
        return rows if len(rest) == 1 else rows._item([slice(None), slice(None)] + rest[1:])

    def _rows(self, which):
        starts, limits = self._row_splits[:-1][which], self._row_splits[1:][which]
        zero = array_ops.zeros([1], self._row_splits.dtype)
        first = array_ops.concat([starts[:1], zero], 0)[0]  # 0 where there are no rows
        last = array_ops.concat([zero, limits], 0)[-1]
        splits = array_ops.concat([array_ops.expand_dims(first, 0), limits], 0)
        return RaggedTensor(
            self._values[first : math_ops.maximum(first, last)], splits - first, internal=True
        )

    def _columns(self, which):
        """The same part of each row."""
        starts, limits = self._row_splits[:-1], self._row_splits[1:]

        def place(index, otherwise):
            if index is None:
                return otherwise
            index = math_ops.cast(index, self._row_splits.dtype)
            from_start = math_ops.minimum(starts + index, limits)
            from_end = math_ops.maximum(limits + index, starts)
            return from_start if _is_at_least_zero(index) else from_end

        begin, end = place(which.start, starts), place(which.stop, limits)
        end = math_ops.maximum(begin, end)
        one = ops.convert_to_tensor(1, dtype=begin.dtype)
        splits, places = gen_ragged_math_ops.ragged_range(begin, end, one, Tsplits=self._row_splits.dtype)
        inner = self._values
        if isinstance(inner, RaggedTensor):
            raise NotImplementedError(
                "slices of an inner ragged dimension: Braid has them for the innermost one"
            )
        return RaggedTensor(array_ops.gather(inner, places), splits, internal=True)

    def _ragged_reduce(self, name, input_op, axis, keepdims):
        """tf.reduce_sum and so on; input_op(values, axis) is that of a Tensor."""
        count = self.shape.ndims
        if axis is None and keepdims:
            axis = range(count)
        if axis is None and name != "mean":
            return input_op(self.flat_values, None)
        if name in ("any", "all"):
            numbers = self.with_flat_values(math_ops.cast(self.flat_values, dtypes.int32))
            made = (math_ops.reduce_sum if name == "any" else math_ops.reduce_prod)(numbers, axis, keepdims)
            return map_flat_values(math_ops.cast, made, dtypes.bool) if is_ragged(made) else made > 0
        if name == "mean":
            ones = self.with_flat_values(array_ops.ones_like(self.flat_values))
            return math_ops.reduce_sum(self, axis, keepdims) / math_ops.reduce_sum(ones, axis, keepdims)
        axes = {int(i) for i in (axis if isinstance(axis, (list, tuple, range)) else [axis])}
        if count is not None:
            if any(not -count <= i < count for i in axes):
                raise ValueError(f"axis={axis} out of bounds: expected {-count}<=axis<{count}")
            axes = {i % count for i in axes}
        elif min(axes) < 0:
            raise ValueError("axis may only be negative if the number of dimensions is known")
        made = self
        for i in sorted(axes, reverse=True):
            made = made._reduce_one(name, i, input_op) if is_ragged(made) else input_op(made, i)
            if keepdims:
                made = array_ops.expand_dims(made, i)
        return made

    def _reduce_one(self, name, axis, input_op):
        inner = self._values
        if axis > 1:
            if is_ragged(inner):
                return self.with_values(inner._reduce_one(name, axis - 1, input_op))
            return self.with_values(input_op(inner, axis - 1))
        if is_ragged(inner):
            raise NotImplementedError(
                "reductions of ragged tensors: Braid has those of the last ragged dimension, and after it"
            )
        segments, size = self.value_rowids(), self.nrows()
        if axis == 0:  # the places in the rows
            starts, lengths = self._row_splits[:-1], self.row_lengths()
            places = math_ops.range(self._row_splits[-1])
            segments = places - array_ops.gather(starts, segments)
            size = math_ops.maximum(math_ops.reduce_max(lengths), 0)
        return getattr(math_ops, f"unsorted_segment_{name}")(inner, segments, size)


def _is_all(key):
    return isinstance(key, slice) and key == slice(None)


def _is_at_least_zero(index):
    known = tensor_util.constant_value(index)
    if known is None:
        raise NotImplementedError("slices of ragged dimensions: Braid needs to know their bounds")
    return known >= 0


def _first_size(values, dtype):
    if isinstance(values, RaggedTensor):
        return values.nrows(dtype)
    return array_ops.shape(values, out_type=dtype)[0]


def map_flat_values(op, *args, **kwargs):
    """op(*args) of the innermost values of ragged tensors, which have the same rows:
    tf.ragged.map_flat_values."""
    found = []

    def flat(value):
        if not is_ragged(value):
            return value
        value = convert_to_tensor_or_ragged_tensor(value)
        found.append(value)
        return value.flat_values

    args = [flat(a) for a in args]
    kwargs = {k: flat(v) for k, v in kwargs.items()}
    if not found:
        return op(*args, **kwargs)
    first = found[0].nested_row_splits
    checks = []
    for other in found[1:]:
        if len(other.nested_row_splits) != len(first):
            raise ValueError("All ragged inputs must have the same ragged_rank.")
        checks += [
            check_ops.assert_equal(a, b, message="Inputs must have identical ragged splits")
            for a, b in zip(first, other.nested_row_splits)
            if a is not b
        ]
    with ops.control_dependencies(checks):
        return found[0].with_flat_values(op(*args, **kwargs))


def _define_operator(name):
    tensor_operator = getattr(ops.Tensor, name)

    def operator(self, *others):
        return map_flat_values(tensor_operator, self, *others)

    setattr(RaggedTensor, name, operator)


dispatch.RAGGED_TYPES.update([RaggedTensor, ragged_tensor_value.RaggedTensorValue])

for _name in ("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor"):
    _define_operator(f"__{_name}__")
    _define_operator(f"__r{_name}__")
for _name in ("neg", "abs", "invert", "lt", "le", "gt", "ge"):
    _define_operator(f"__{_name}__")


def _session_parts(rt):
    def value(parts):
        made = parts[0]
        for splits in reversed(parts[1:]):
            made = ragged_tensor_value.RaggedTensorValue(made, splits)
        return made

    return [rt.flat_values] + list(rt.nested_row_splits), value


def _session_feed(rt, value):
    if not isinstance(value, ragged_tensor_value.RaggedTensorValue):
        raise TypeError("A RaggedTensor is fed a RaggedTensorValue, not %r" % type(value))
    keys = [rt.flat_values] + list(rt.nested_row_splits)
    return list(zip(keys, [value.flat_values] + list(value.nested_row_splits)))


session.register_session_run_conversion_functions(
    RaggedTensor, _session_parts, _session_feed, lambda rt: _session_parts(rt)[0]
)

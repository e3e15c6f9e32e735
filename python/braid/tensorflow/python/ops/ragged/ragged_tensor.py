"""Tensors whose rows have different lengths (tf.RaggedTensor)."""

import numpy as np

from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_ragged_conversion_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor_value
from braid.tensorflow.python.ops.ragged import segment_id_ops
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


def convert_to_tensor_or_ragged_tensor(value, dtype=None, preferred_dtype=None, name=None):
    """A RaggedTensor from one or its value, and a Tensor from anything else."""
    if isinstance(value, RaggedTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for RaggedTensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, ragged_tensor_value.RaggedTensorValue):
        with ops.name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = ops.convert_to_tensor(
                value.flat_values, dtype=dtype, preferred_dtype=preferred_dtype, name="flat_values"
            )
            return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)
    return ops.convert_to_tensor(value, dtype=dtype, preferred_dtype=preferred_dtype, name=name)


def is_ragged(value):
    """Whether it is a RaggedTensor or a RaggedTensorValue."""
    return isinstance(value, (RaggedTensor, ragged_tensor_value.RaggedTensorValue))


def match_row_splits_dtypes(*tensors, return_dtype=False):
    """The tensors, of which the ragged ones have splits of one type. ValueError: they have not."""
    found = {t.row_splits.dtype for t in tensors if isinstance(t, RaggedTensor)}
    if len(found) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to "
            "convert them to compatible dtypes."
        )
    return (found.pop() if found else dtypes.int64, tensors) if return_dtype else tensors


@tf_export("RaggedTensor")
class RaggedTensor(composite_tensor.CompositeTensor):
    """Rows of different lengths: row i is values[row_splits[i]:row_splits[i + 1]].

    values: a Tensor, or another RaggedTensor, whose rows are one dimension deeper. Functions of tensors are
    applied to all innermost values by tf.ragged.map_flat_values; the arithmetic operators do it.
    """

    def __init__(
        self,
        values,
        row_splits,
        cached_row_lengths=None,
        cached_value_rowids=None,
        cached_nrows=None,
        internal=False,
    ):
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        specs = (tensor_spec.TensorSpec,)
        if not isinstance(row_splits, (ops.Tensor, *specs)):
            raise TypeError("Row-partitioning argument must be a Tensor, got %r" % (row_splits,))
        if not isinstance(values, (ops.Tensor, RaggedTensor, *specs)):
            raise TypeError("values must be a Tensor or RaggedTensor, got %r" % (values,))
        if row_splits.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        if isinstance(row_splits, ops.Tensor):
            row_splits.set_shape([None])
        for known in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if known is not None and not isinstance(known, ops.Tensor):
                raise TypeError("Cached value must be a Tensor or None.")
        self._values = values
        self._row_splits = row_splits
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids = cached_value_rowids
        self._cached_nrows = cached_nrows

    # ---- Making ----

    @classmethod
    def _parts(cls, values, partition, name):
        """(values, the tensor of rows), whose types of row numbers agree: int64, or int32 where given so."""
        values = convert_to_tensor_or_ragged_tensor(values, name="values")
        inner = values.row_splits.dtype if isinstance(values, RaggedTensor) else None
        if isinstance(partition, (np.ndarray, ops.Tensor)) and partition.dtype in (np.int32, dtypes.int32):
            partition = ops.convert_to_tensor(partition, name=name)
        else:
            preferred = inner or dtypes.int64
            partition = ops.convert_to_tensor(partition, preferred_dtype=preferred, name=name)
        if partition.dtype not in (dtypes.int32, dtypes.int64):
            partition = math_ops.cast(partition, dtypes.int64)  # [] is a tensor of floats
        if inner not in (None, partition.dtype):
            raise ValueError(
                f"dtype mismatch: {name} is of {partition.dtype.name}, the splits of values are of {inner.name}"
            )
        return values, partition

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Each value is in the row that value_rowids names, whose numbers do not fall."""
        _check_validate(validate)
        with ops.name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, rowids = cls._parts(values, value_rowids, "value_rowids")
            known_ids = tensor_util.constant_value(rowids)
            least = None
            if known_ids is not None:
                least = int(known_ids.flat[-1]) + 1 if known_ids.size else 0
            if nrows is not None:
                nrows = ops.convert_to_tensor(nrows, rowids.dtype, "nrows")
                known = tensor_util.constant_value(nrows)
                if known is not None and known.ndim == 0:
                    if known < 0:
                        raise ValueError("Expected nrows >= 0; got %d" % known)
                    if least is not None and known < least:
                        raise ValueError(
                            f"Expected nrows >= value_rowids[-1] + 1; got nrows={known}, value_rowids[-1]={least - 1}"
                        )
            elif least is not None:
                known, nrows = least, ops.convert_to_tensor(least, rowids.dtype, name="nrows")
            else:
                known, nrows = None, array_ops.concat([rowids[-1:], [-1]], axis=0)[0] + 1
            rowids.shape.assert_has_rank(1)
            nrows.shape.assert_has_rank(0)
            values.shape[:1].assert_is_compatible_with(rowids.shape)
            if validate:
                message = "Arguments to from_value_rowids do not form a valid RaggedTensor"
                checks = [
                    check_ops.assert_rank(rowids, 1, message=message),
                    check_ops.assert_rank(nrows, 0, message=message),
                    check_ops.assert_equal(_nrows(values), _nrows(rowids), message=message),
                    check_ops.assert_non_negative(rowids[:1], message=message),
                    _assert_not_falling(rowids, message),
                    check_ops.assert_less(rowids[-1:], nrows, message=message),
                    *_rank_checks(values),
                ]
                rowids = control_flow_ops.with_dependencies(checks, rowids)
            count = math_ops.cast(nrows, dtypes.int32)
            lengths = math_ops.bincount(
                math_ops.cast(rowids, dtypes.int32), minlength=count, maxlength=count, dtype=rowids.dtype
            )
            splits = _splits_of_lengths(lengths)
            if known is not None:
                lengths.set_shape([known])
                splits.set_shape([known + 1])
            return cls(values, splits, lengths, rowids, nrows, internal=True)

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i is values[row_splits[i]:row_splits[i + 1]]."""
        _check_validate(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        if isinstance(row_splits, tensor_spec.TensorSpec):
            return cls(values, row_splits, internal=True)
        with ops.name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = cls._parts(values, row_splits, "row_splits")
            splits.shape.assert_has_rank(1)
            if validate:
                message = "Arguments to from_row_splits do not form a valid RaggedTensor"
                checks = [
                    check_ops.assert_rank(splits, 1, message=message),
                    _assert_zero(splits[0], message),
                    _assert_not_falling(splits, message),
                    check_ops.assert_equal(splits[-1], _nrows(values, splits.dtype), message=message),
                    *_rank_checks(values),
                ]
                splits = control_flow_ops.with_dependencies(checks, splits)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """The rows have these lengths."""
        _check_validate(validate)
        with ops.name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = cls._parts(values, row_lengths, "row_lengths")
            lengths.shape.assert_has_rank(1)
            if validate:
                message = "Arguments to from_row_lengths do not form a valid RaggedTensor"
                total = math_ops.reduce_sum(lengths)
                checks = [
                    check_ops.assert_rank(lengths, 1, message=message),
                    check_ops.assert_non_negative(lengths, message=message),
                    check_ops.assert_equal(total, _nrows(values, lengths.dtype), message=message),
                    *_rank_checks(values),
                ]
                lengths = control_flow_ops.with_dependencies(checks, lengths)
            return cls(values, _splits_of_lengths(lengths), cached_row_lengths=lengths, internal=True)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Row i begins at row_starts[i] and ends where the next one begins."""
        _check_validate(validate)
        with ops.name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = cls._parts(values, row_starts, "row_starts")
            starts.shape.assert_has_rank(1)
            count = _nrows(values, starts.dtype)
            if validate:
                message = "Arguments to from_row_starts do not form a valid RaggedTensor"
                checks = [
                    check_ops.assert_rank(starts, 1, message=message),
                    _assert_zero(starts[:1], message),
                    _assert_not_falling(starts, message),
                    check_ops.assert_less_equal(starts[-1:], count, message=message),
                    *_rank_checks(values),
                ]
                starts = control_flow_ops.with_dependencies(checks, starts)
            return cls(values, array_ops.concat([starts, [count]], axis=0), internal=True)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Row i ends before row_limits[i] and begins where the one before ends."""
        _check_validate(validate)
        with ops.name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = cls._parts(values, row_limits, "row_limits")
            limits.shape.assert_has_rank(1)
            if validate:
                message = "Arguments to from_row_limits do not form a valid RaggedTensor"
                count = _nrows(values, limits.dtype)
                checks = [
                    check_ops.assert_rank(limits, 1, message=message),
                    check_ops.assert_non_negative(limits[:1], message=message),
                    _assert_not_falling(limits, message),
                    check_ops.assert_equal(limits[-1:], count, message=message),
                    *_rank_checks(values),
                ]
                limits = control_flow_ops.with_dependencies(checks, limits)
            zero = array_ops.zeros([1], limits.dtype)
            return cls(values, array_ops.concat([zero, limits], axis=0), internal=True)

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True
    ):
        """Several ragged dimensions, the outermost rows first."""
        _check_validate(validate)
        _check_list(nested_value_rowids, "nested_value_rowids")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        else:
            _check_list(nested_nrows, "nested_nrows")
            if len(nested_nrows) != len(nested_value_rowids):
                raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        inputs = [flat_values, *nested_value_rowids, *nested_nrows]
        with ops.name_scope(name, "RaggedFromNestedValueRowIds", inputs):
            made = flat_values
            for rowids, nrows in zip(reversed(nested_value_rowids), reversed(nested_nrows)):
                made = cls.from_value_rowids(made, rowids, nrows, validate=validate)
            return made

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Several ragged dimensions, the outermost splits first."""
        _check_validate(validate)
        _check_list(nested_row_splits, "nested_row_splits")
        with ops.name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
            made = flat_values
            for splits in reversed(nested_row_splits):
                made = cls.from_row_splits(made, splits, validate=validate)
            return made

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Several ragged dimensions, the outermost lengths first."""
        _check_validate(validate)
        _check_list(nested_row_lengths, "nested_row_lengths")
        with ops.name_scope(name, "RaggedFromNestedRowlengths", [flat_values, *nested_row_lengths]):
            made = flat_values
            for lengths in reversed(nested_row_lengths):
                made = cls.from_row_lengths(made, lengths, validate=validate)
            return made

    @classmethod
    def from_tensor(
        cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=dtypes.int64
    ):
        """The rows of a tensor: whole, of these lengths, or without the padding at their ends.

        lengths: of the rows; or a tuple of the lengths of each ragged dimension, as nested_row_lengths()
        gives them.
        """
        dtype = dtypes.as_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank expected int, got %r" % ragged_rank)
        if ragged_rank <= 0:
            raise ValueError("ragged_rank must be greater than 0; got %s" % ragged_rank)
        with ops.name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            tensor = ops.convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            if isinstance(lengths, (list, tuple)) and lengths and not isinstance(lengths[0], (int, float)):
                if ragged_rank not in (1, len(lengths)):
                    raise ValueError(
                        f"If lengths is a tuple of row_lengths, then ragged_rank must be len(lengths): {len(lengths)} "
                        f"vs {ragged_rank}"
                    )
                tensor.shape.with_rank_at_least(len(lengths) + 1)
                return cls._from_tensor_and_nested_lengths(tensor, lengths, dtype)
            if ragged_rank > 1:
                return cls._from_tensor_of_rank(tensor, lengths, padding, ragged_rank, dtype)
            sizes = array_ops.shape(tensor, out_type=dtype)
            rows, columns = sizes[0], sizes[1]
            if padding is not None:
                lengths = _lengths_before_padding(tensor, padding, columns, dtype)
            if lengths is not None:
                lengths = ops.convert_to_tensor(lengths, preferred_dtype=dtype, name="lengths")
                if not lengths.dtype.is_integer:
                    raise TypeError("lengths must be an integer tensor; dtype=%s" % lengths.dtype)
                lengths = math_ops.cast(lengths, dtype)
                lengths.shape.assert_has_rank(1)
                lengths = math_ops.maximum(math_ops.minimum(lengths, columns), 0)
                mask = array_ops.sequence_mask(lengths, columns)
                return cls.from_row_lengths(array_ops.boolean_mask(tensor, mask), lengths, validate=False)
            shape = tensor.shape
            flat = array_ops.reshape(tensor, array_ops.concat([[-1], sizes[2:]], axis=0))
            if shape.ndims is not None:
                known = None not in shape[:2].as_list()
                first = shape.dims[0].value * shape.dims[1].value if known else None
                flat.set_shape(tensor_shape.TensorShape([first]).concatenate(shape[2:]))
            splits = math_ops.range(rows + 1) * columns
            if shape.ndims is not None and shape.dims[0].value is not None:
                splits.set_shape([shape.dims[0].value + 1])
            return cls.from_row_splits(flat, splits, validate=False)

    @classmethod
    def _from_tensor_and_nested_lengths(cls, tensor, nested, dtype):
        """Takes one dimension after the other off the tensor."""
        values = tensor
        made_lengths = []
        for lengths in nested:
            part = cls.from_tensor(values, lengths, row_splits_dtype=dtype)
            made_lengths.append(part.row_splits)
            values = part.values
        return cls.from_nested_row_splits(values, made_lengths, validate=False)

    @classmethod
    def _from_tensor_of_rank(cls, tensor, lengths, padding, ragged_rank, dtype):
        """The outer dimensions are whole, the innermost one has lengths or padding."""
        sizes = array_ops.shape(tensor, out_type=dtype)
        inner = array_ops.reshape(
            tensor,
            array_ops.concat([[math_ops.reduce_prod(sizes[:ragged_rank])], sizes[ragged_rank:]], axis=0),
        )
        shape = tensor.shape
        if shape.ndims is not None:
            inner.set_shape(
                tensor_shape.TensorShape([shape[:ragged_rank].num_elements()]).concatenate(
                    shape[ragged_rank:]
                )
            )
        made = cls.from_tensor(inner, lengths, padding, row_splits_dtype=dtype)
        for axis in range(ragged_rank - 1, 0, -1):
            rows = math_ops.reduce_prod(sizes[:axis])
            splits = math_ops.range(rows + 1) * sizes[axis]
            known = shape[:axis].num_elements() if shape.ndims is not None else None
            if known is not None:
                splits.set_shape([known + 1])
            made = cls.from_row_splits(made, splits, validate=False)
        return made

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=dtypes.int64):
        """The rows of a SparseTensor of rank 2, which has values at the begin of each row."""
        dtype = dtypes.as_dtype(row_splits_dtype)
        if not sparse_tensor.is_sparse(st_input):
            raise TypeError("Expected SparseTensor, got %s" % type(st_input).__name__)
        with ops.name_scope(name, "RaggedFromSparse", [st_input]):
            st_input = sparse_tensor.convert_to_tensor_or_sparse_tensor(st_input, name="st_input")
            known = tensor_util.constant_value_as_shape(st_input.dense_shape)
            ranks = {known.ndims, st_input.dense_shape.shape.num_elements()}
            indices = st_input.indices.shape
            if indices.ndims is not None:
                ranks.add(indices.dims[1].value)
            if ranks - {None} != {2}:
                raise ValueError("rank(st_input) must be 2")
            with ops.control_dependencies(_assert_rows_have_no_holes(st_input.indices)):
                rows = math_ops.cast(st_input.indices[:, 0], dtype)
                count = math_ops.cast(st_input.dense_shape[0], dtype)
                return cls.from_value_rowids(st_input.values, rows, count, validate=False)

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
        return tuple(level._row_splits for level in self._levels())

    def _levels(self):
        """This tensor, its values if they are ragged, and so on."""
        found, inner = [], self
        while isinstance(inner, RaggedTensor):
            found.append(inner)
            inner = inner._values
        return found

    @property
    def ragged_rank(self):
        """How many dimensions are ragged."""
        return len(self._levels())

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def op(self):
        return self.flat_values.op

    @property
    def graph(self):
        return self._row_splits.graph

    @property
    def shape(self):
        count = self._row_splits.shape.dims[0].value
        inner = self._values.shape[1:]
        return tensor_shape.TensorShape([None if count is None else count - 1, None]).concatenate(inner)

    def get_shape(self):
        return self.shape

    def value_rowids(self, name=None):
        """The row of each value."""
        if self._cached_value_rowids is not None:
            return self._cached_value_rowids
        with ops.name_scope(name, "RaggedValueRowIds", [self]):
            return segment_id_ops.row_splits_to_segment_ids(self.row_splits)

    def nested_value_rowids(self, name=None):
        """The row of each value in all ragged dimensions, the outermost first."""
        with ops.name_scope(name, "RaggedNestedValueRowIds", [self]):
            return tuple(level.value_rowids() for level in self._levels())

    def nrows(self, out_type=None, name=None):
        """How many rows there are."""
        out_type = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        if self._cached_nrows is not None:
            return math_ops.cast(self._cached_nrows, out_type)
        with ops.name_scope(name, "RaggedNRows", [self]):
            return array_ops.shape(self.row_splits, out_type=out_type)[0] - 1

    def row_starts(self, name=None):
        """Where each row begins in `values`."""
        with ops.name_scope(name, "RaggedRowStarts", [self]):
            return self.row_splits[:-1]

    def row_limits(self, name=None):
        """Where each row ends in `values`."""
        with ops.name_scope(name, "RaggedRowLimits", [self]):
            return self.row_splits[1:]

    def row_lengths(self, axis=1, name=None):
        """The lengths of the rows along a dimension."""
        if axis < 0 and self.shape.ndims is not None:
            axis += self.shape.ndims
        if axis == 0:
            return self.nrows()
        if axis == 1:
            if self._cached_row_lengths is not None:
                return self._cached_row_lengths
            with ops.name_scope(name, "RaggedRowLengths", [self]):
                return self.row_splits[1:] - self.row_splits[:-1]
        with ops.name_scope(name, "RaggedRowLengths", [self]):
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = array_ops.shape(self._values, out_type=self.row_splits.dtype)
            each = array_ops.ones(sizes[: axis - 1], self.row_splits.dtype) * sizes[axis - 1]
            return self.with_values(each)

    def nested_row_lengths(self, name=None):
        """The lengths of the rows of all ragged dimensions, the outermost first."""
        with ops.name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple(level.row_lengths() for level in self._levels())

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The shape of the least tensor that holds all rows, or its sizes along `axis`."""
        out_type = self.row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with ops.name_scope(name, "RaggedBoundingBox", [self, axis]):
            if isinstance(axis, int) and axis == 0:
                return self.nrows(out_type)
            longest = [  # 0 where there are no rows
                math_ops.maximum(math_ops.reduce_max(lengths), 0) for lengths in self.nested_row_lengths()
            ]
            inner = array_ops.shape(self.flat_values, out_type=self.row_splits.dtype)[1:]
            sizes = array_ops.concat([array_ops.stack([self.nrows()] + longest), inner], axis=0)
            sizes = math_ops.cast(sizes, out_type)
            return sizes if axis is None else array_ops.gather(sizes, axis)

    def with_values(self, new_values):
        """The same rows with other values."""
        new_values = convert_to_tensor_or_ragged_tensor(new_values)
        new_values.shape.with_rank_at_least(1)
        self.values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if isinstance(new_values, RaggedTensor):
            new_values = self._with_my_type(new_values)
        return RaggedTensor(
            new_values,
            self._row_splits,
            self._cached_row_lengths,
            self._cached_value_rowids,
            self._cached_nrows,
            internal=True,
        )

    def _with_my_type(self, other):
        if other.row_splits.dtype != self.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use with_row_splits_dtype()"
            )
        return other

    def with_flat_values(self, new_values):
        """The same rows in all ragged dimensions with other innermost values."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype):
        """The same rows with splits of type int32 or int64."""
        dtype = dtypes.as_dtype(dtype)
        if dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype == dtype:
            return self
        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(dtype)
        parts = (
            part if part is None else math_ops.cast(part, dtype)
            for part in (
                self._row_splits,
                self._cached_row_lengths,
                self._cached_value_rowids,
                self._cached_nrows,
            )
        )
        return RaggedTensor(inner, *parts, internal=True)

    def consumers(self):
        """The operations that take one of the parts."""
        found = []
        for part in self.nested_row_splits + (self.flat_values,):
            found += [op for op in part.consumers() if op not in found]
        return found

    @property
    def _type_spec(self):
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def _shape_invariant_to_type_spec(self, shape):
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    # ---- Other tensors ----

    def to_tensor(self, default_value=None, name=None):
        """A Tensor with `default_value` (zero) after the ends of rows."""
        from braid.tensorflow.python.ops.ragged import ragged_conversion_ops

        with ops.name_scope(name, "RaggedToTensor", [self, default_value]):
            return ragged_conversion_ops.ragged_to_dense(self, default_value)

    def to_sparse(self, name=None):
        """A SparseTensor with the values in the begin of its rows."""
        with ops.name_scope(name, "RaggedToSparse", [self]):
            made = gen_ragged_conversion_ops.ragged_tensor_to_sparse(
                list(self.nested_row_splits), self.flat_values, name=name
            )
            return sparse_tensor.SparseTensor(*made)

    @classmethod
    def _from_variant(cls, variant, dtype, output_ragged_rank, input_ragged_rank=None, name=None):
        """The RaggedTensor of a variant, or of a tensor of them, which are stacked."""
        variant = ops.convert_to_tensor(variant, name="variant", dtype=dtypes.variant)
        if variant.shape.ndims is not None and input_ragged_rank is not None:
            if output_ragged_rank != input_ragged_rank + variant.shape.ndims:
                raise ValueError(
                    f"output_ragged_rank must be equal to input_ragged_rank + variant.shape.ndims; variant.shape.ndims "
                    f"is {variant.shape.ndims}, input_ragged_rank {input_ragged_rank}, output_ragged_rank "
                    f"{output_ragged_rank}"
                )
        with ops.name_scope(name, "RaggedFromVariant", [variant, dtype, output_ragged_rank]):
            splits, flat = gen_ragged_conversion_ops.ragged_tensor_from_variant(
                variant,
                -1 if input_ragged_rank is None else input_ragged_rank,
                output_ragged_rank,
                dtype,
                dtypes.int64,
            )
            return cls.from_nested_row_splits(flat, splits, validate=False)

    def _to_variant(self, batched_input=False, name=None):
        """A scalar variant, or one of each row."""
        with ops.name_scope(name, "RaggedToVariant", [self, batched_input]):
            return gen_ragged_conversion_ops.ragged_tensor_to_variant(
                list(self.nested_row_splits), self.flat_values, batched_input, name=name
            )

    def eval(self, feed_dict=None, session=None):
        """The RaggedTensorValue of a step of the session, or of the default one."""
        session = ops.get_default_session() if session is None else session
        if session is None:
            raise ValueError("Cannot evaluate a RaggedTensor: no default session is registered.")
        return session.run(self, feed_dict)

    def _as_graph_element(self):
        return self.values if not isinstance(self.values, RaggedTensor) else self.values._as_graph_element()

    def __str__(self):
        return "tf.RaggedTensor(values=%s, row_splits=%s)" % (self._values, self._row_splits)

    __repr__ = __str__

    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __iter__(self):
        raise TypeError("RaggedTensor: iterating over a ragged tensor needs eager execution")

    def __getitem__(self, key):
        from braid.tensorflow.python.ops.ragged import ragged_getitem

        return ragged_getitem.ragged_tensor_getitem(self, key)


def _check_validate(validate):
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _check_list(parts, name):
    if isinstance(parts, ops.Tensor):
        raise TypeError(f"{name} must be a list of Tensors")


def _nrows(tensor, out_type=dtypes.int32):
    if isinstance(tensor, RaggedTensor):
        return tensor.nrows(out_type)
    return array_ops.shape(tensor, out_type=out_type)[0]


def _splits_of_lengths(lengths):
    return array_ops.concat([array_ops.zeros([1], lengths.dtype), math_ops.cumsum(lengths)], axis=0)


def _rank_checks(values):
    return [] if isinstance(values, RaggedTensor) else [check_ops.assert_rank_at_least(values, 1)]


def _assert_not_falling(tensor, message):
    return check_ops.assert_non_negative(tensor[1:] - tensor[:-1], message=message)


def _assert_zero(tensor, message):
    return check_ops.assert_equal(tensor, array_ops.zeros([], tensor.dtype), message=message)


def _lengths_before_padding(tensor, padding, columns, dtype):
    """The lengths of rows up to the last element that is not the padding."""
    padding = ops.convert_to_tensor(padding, name="padding", dtype=tensor.dtype)
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    is_value = math_ops.not_equal(tensor, padding)
    if tensor.shape.ndims is None:
        is_value = array_ops.reshape(is_value, array_ops.concat([array_ops.shape(tensor)[:2], [-1]], axis=0))
        is_value = math_ops.reduce_any(is_value, axis=2)
    elif tensor.shape.ndims > 2:
        is_value = math_ops.reduce_any(is_value, axis=list(range(2, tensor.shape.ndims)))
    places = math_ops.cast(is_value, dtype) * math_ops.range(1, columns + 1)
    return math_ops.maximum(math_ops.reduce_max(places, axis=1), 0)


def _assert_rows_have_no_holes(indices):
    """Checks that each row of a SparseTensor begins at 0 and goes on by 1."""
    rows, places = indices[:, 0], indices[:, 1]
    expected = array_ops.where(
        math_ops.equal(rows[1:], rows[:-1]), places[:-1] + 1, array_ops.zeros_like(places[1:])
    )
    holds = math_ops.logical_and(
        math_ops.reduce_all(math_ops.equal(places[:1], 0)),
        math_ops.reduce_all(math_ops.equal(places[1:], expected)),
    )
    message = ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices]
    return [control_flow_ops.Assert(holds, message)]


def map_flat_values(op, *args, **kwargs):
    """op(*args) of the innermost values of ragged tensors, which have the same rows:
    tf.ragged.map_flat_values."""
    found = []

    def flat(value):
        if isinstance(value, (list, tuple)):
            return type(value)([flat(v) for v in value]) if not hasattr(value, "_fields") else value
        if isinstance(value, dict):
            return {k: flat(v) for k, v in value.items()}
        if not is_ragged(value):
            return value
        value = convert_to_tensor_or_ragged_tensor(value)
        found.append(value)
        return value.flat_values

    args = [flat(a) for a in args]
    kwargs = {k: flat(v) for k, v in kwargs.items()}
    if not found:
        return op(*args, **kwargs)
    found = match_row_splits_dtypes(*found)
    from braid.tensorflow.python.ops.ragged import ragged_util

    with ops.control_dependencies(ragged_util.assert_splits_match([f.nested_row_splits for f in found])):
        return found[0].with_flat_values(op(*args, **kwargs))


class RaggedTensorType:
    """The declared type of a ragged result of tf.map_fn."""

    def __init__(self, dtype, ragged_rank, row_splits_dtype=dtypes.int64):
        self.dtype, self.ragged_rank = dtype, ragged_rank
        self.row_splits_dtype = dtypes.as_dtype(row_splits_dtype)


@tf_export("RaggedTensorSpec")
class RaggedTensorSpec(type_spec.BatchableTypeSpec):
    """The shape, dtype and ragged_rank of a RaggedTensor. ragged_rank: all dimensions but the last, if None."""

    __slots__ = ["_shape", "_dtype", "_ragged_rank", "_row_splits_dtype"]

    def __init__(self, shape=None, dtype=dtypes.float32, ragged_rank=None, row_splits_dtype=dtypes.int64):
        self._shape = tensor_shape.as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    @property
    def value_type(self):
        return RaggedTensor if self._ragged_rank > 0 else ops.Tensor

    def _serialize(self):
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self):
        if self._ragged_rank == 0:
            return [tensor_spec.TensorSpec(self._shape, self._dtype)]
        flat = tensor_shape.TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        count = self._shape.dims[0].value if self._shape.dims else None
        counts = [None if count is None else count + 1] + [None] * (self._ragged_rank - 1)
        splits = [tensor_spec.TensorSpec([n], self._row_splits_dtype) for n in counts]
        return [tensor_spec.TensorSpec(flat, self._dtype)] + splits

    def _to_components(self, value):
        return [value.flat_values, *value.nested_row_splits] if is_ragged(value) else [value]

    def _from_components(self, components):
        made, splits = components[0], components[1:]
        arrays = all(isinstance(c, np.ndarray) for c in components)
        for part in reversed(splits):
            if arrays:
                made = ragged_tensor_value.RaggedTensorValue(made, part)
            else:
                made = RaggedTensor(made, part, internal=True)
        return made

    @property
    def _flat_tensor_specs(self):
        return [tensor_spec.TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value):
        return [value._to_variant(batched_input=False)]

    def _to_batched_tensor_list(self, value):
        return [value._to_variant(batched_input=True)]

    def _from_compatible_tensor_list(self, tensor_list):
        if self._ragged_rank <= 0:
            raise ValueError("ragged_rank must be non-negative; got %s." % self._ragged_rank)
        made = RaggedTensor._from_variant(tensor_list[0], self._dtype, self._ragged_rank)
        if self._shape.ndims is not None:
            count = self._shape.dims[0].value
            if count is not None:
                made.row_splits.set_shape([count + 1])
            inner = self._shape[1 + self._ragged_rank :]
            made.flat_values.set_shape(tensor_shape.TensorShape([None]).concatenate(inner))
        return made

    def _batch(self, batch_size):
        shape = tensor_shape.TensorShape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1)

    def _unbatch(self):
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self):
        return self._dtype

    def _to_legacy_output_shapes(self):
        return self._shape

    def _to_legacy_output_classes(self):
        return self

    @classmethod
    def from_value(cls, value):
        return cls(value.shape, value.values.dtype, value.ragged_rank, value.row_splits.dtype)


type_spec.register_type_spec_from_value_converter(
    ragged_tensor_value.RaggedTensorValue, RaggedTensorSpec.from_value
)

dispatch.RAGGED_TYPES.update([RaggedTensor, ragged_tensor_value.RaggedTensorValue])


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


def _set_operators():
    """The operators of RaggedTensor are the functions of math_ops."""

    def right(function):
        return lambda self, other: function(other, self)

    for name, function in (
        ("add", math_ops.add),
        ("div", math_ops.div),
        ("floordiv", math_ops.floordiv),
        ("mod", math_ops.floormod),
        ("mul", math_ops.multiply),
        ("pow", math_ops.pow),
        ("sub", math_ops.subtract),
        ("truediv", math_ops.truediv),
        ("and", math_ops.logical_and),
        ("or", math_ops.logical_or),
        ("xor", math_ops.logical_xor),
    ):
        setattr(RaggedTensor, f"__{name}__", function)
        setattr(RaggedTensor, f"__r{name}__", right(function))
    for name, function in (
        ("ge", math_ops.greater_equal),
        ("gt", math_ops.greater),
        ("le", math_ops.less_equal),
        ("lt", math_ops.less),
        ("abs", math_ops.abs),
        ("neg", math_ops.negative),
        ("invert", math_ops.logical_not),
    ):
        setattr(RaggedTensor, f"__{name}__", lambda *args, function=function: function(*args))


_set_operators()

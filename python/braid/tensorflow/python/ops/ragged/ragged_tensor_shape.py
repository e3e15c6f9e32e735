"""Shapes of ragged tensors, and broadcasting."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util


class RaggedTensorDynamicShape:
    """The sizes of all dimensions: a number for a uniform one, the lengths of the rows for a ragged one.

    partitioned_dim_sizes: those up to the last ragged dimension; inner_dim_sizes: a vector of the others.
    """

    def __init__(self, partitioned_dim_sizes, inner_dim_sizes, dim_size_dtype=None):
        if not isinstance(partitioned_dim_sizes, (list, tuple)):
            raise TypeError("partitioned_dim_sizes must be a list or tuple")
        if dim_size_dtype is None:
            given = [p.dtype for p in partitioned_dim_sizes if isinstance(p, ops.Tensor)]
            given += [inner_dim_sizes.dtype] if isinstance(inner_dim_sizes, ops.Tensor) else []
            dim_size_dtype = dtypes.int64 if dtypes.int64 in given or not given else dtypes.int32
        with ops.name_scope("RaggedTensorDynamicShape"):
            self._partitioned = tuple(
                ragged_util.convert_to_int_tensor(size, f"partitioned_dimension_{i}", dim_size_dtype)
                for i, size in enumerate(partitioned_dim_sizes)
            )
            self._inner = _sizes(inner_dim_sizes, dim_size_dtype)
        if self._partitioned:
            for axis, size in enumerate(self._partitioned):
                if size.shape.ndims is None:
                    raise ValueError("rank of partitioned_dim_sizes[%d] is unknown" % axis)
                size.shape.with_rank_at_most(1)
            if self._partitioned[0].shape.ndims == 1:
                raise ValueError("outermost partitioned dimension must be uniform")
            if self._partitioned[-1].shape.ndims == 0:
                raise ValueError("innermost partitioned dimension must be ragged")
        self._inner.shape.assert_has_rank(1)

    def __repr__(self):
        return "RaggedTensorDynamicShape(partitioned_dim_sizes=%r, inner_dim_sizes=%r)" % (
            self._partitioned,
            self._inner,
        )

    @staticmethod
    def from_dim_sizes(dim_sizes):
        """A shape of a list of sizes, one of each dimension."""
        with ops.name_scope("RaggedTensorDynamicShapeFromDimensionSizes", values=[dim_sizes]):
            sizes = [
                ragged_util.convert_to_int_tensor(
                    size, f"dim_size_{i}", size.dtype if isinstance(size, ops.Tensor) else dtypes.int64
                )
                for i, size in enumerate(dim_sizes)
            ]
            dtype = dtypes.int64 if any(s.dtype == dtypes.int64 for s in sizes) or not sizes else dtypes.int32
            return _shape([math_ops.cast(s, dtype) for s in sizes], dtype)

    @classmethod
    def from_tensor(cls, rt_input, dim_size_dtype=None):
        """The shape of a tensor."""
        with ops.name_scope("RaggedTensorDynamicShapeFromTensor", values=[rt_input]):
            rt_input = ragged_tensor.convert_to_tensor_or_ragged_tensor(rt_input)
            if not ragged_tensor.is_ragged(rt_input):
                dtype = dtypes.int64 if dim_size_dtype is None else dim_size_dtype
                return cls([], array_ops.shape(rt_input, out_type=dtype), dtype)
            dtype = rt_input.row_splits.dtype
            inner = array_ops.shape(rt_input.flat_values, out_type=dtype)[1:]
            made = cls([rt_input.nrows(), *rt_input.nested_row_lengths()], inner, dtype)
            return made if dim_size_dtype is None else made.with_dim_size_dtype(dim_size_dtype)

    def dimension_size(self, axis):
        """The size of a dimension: a number or a vector."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        count = len(self._partitioned)
        return self._partitioned[axis] if axis < count else self._inner[axis - count]

    def is_ragged(self, axis):
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0:
            raise ValueError("Negative axis values are not supported")
        if self.rank is not None and axis >= self.rank:
            raise ValueError("Expected axis=%s < rank=%s" % (axis, self.rank))
        return axis < len(self._partitioned) and self._partitioned[axis].shape.ndims == 1

    @property
    def rank(self):
        """How many dimensions there are, None if unknown."""
        inner = self._inner.shape.dims[0].value
        return None if inner is None else len(self._partitioned) + inner

    partitioned_dim_sizes = property(lambda self: self._partitioned)
    inner_dim_sizes = property(lambda self: self._inner)
    num_partitioned_dimensions = property(lambda self: len(self._partitioned))
    num_inner_dimensions = property(lambda self: self._inner.shape.dims[0].value)
    dim_size_dtype = property(lambda self: self._inner.dtype)

    def _all_sizes(self):
        return [self.dimension_size(axis) for axis in range(self.rank)]

    def with_dim_size_dtype(self, dtype):
        """The same shape in another type of integers."""
        if dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("dtype must be int32 or int64")
        if self.dim_size_dtype == dtype:
            return self
        sizes = [math_ops.cast(p, dtype) for p in self._partitioned]
        return RaggedTensorDynamicShape(sizes, math_ops.cast(self._inner, dtype), dtype)

    def broadcast_to_rank(self, rank):
        """The shape with dimensions of size 1 in front."""
        if self.rank is None:
            raise ValueError("Unable to broadcast: self.rank is unknown")
        missing = rank - self.rank
        if missing < 0:
            raise ValueError(
                "Unable to broadcast: rank=%d must be greater than self.rank=%d." % (rank, self.rank)
            )
        if missing == 0:
            return self
        ones = [1] * missing
        if self._partitioned:
            return RaggedTensorDynamicShape([*ones, *self._partitioned], self._inner, self.dim_size_dtype)
        inner = array_ops.concat([array_ops.ones([missing], self.dim_size_dtype), self._inner], axis=0)
        return RaggedTensorDynamicShape([], inner, self.dim_size_dtype)

    def num_slices_in_dimension(self, axis):
        """How many slices dimensions 0 to axis have together."""
        count = ops.convert_to_tensor(1, self.dim_size_dtype)
        for size in self._all_sizes()[: axis + 1]:
            count = math_ops.reduce_sum(size) if size.shape.ndims == 1 else count * size
        return count

    def broadcast_dimension(self, axis, lengths):
        """The shape with a dimension of size 1 made `lengths`: a number, or a vector of its rows' lengths."""
        lengths = ragged_util.convert_to_int_tensor(lengths, "lengths", self.dim_size_dtype)
        if lengths.shape.ndims is None:
            raise ValueError("lengths must have a known rank.")
        if lengths.shape.ndims > 1:
            raise ValueError("lengths must be a scalar or vector")
        old = self.dimension_size(axis)
        vector = lengths.shape.ndims == 1
        if vector and axis == 0:
            raise ValueError("Unable to broadcast: outermost dimension must be uniform.")
        if self.is_ragged(axis):
            holds = (
                math_ops.reduce_all(math_ops.equal(lengths, old)) if vector else math_ops.equal(lengths, 1)
            )
        else:
            holds = math_ops.equal(old, 1)
            if not vector:
                holds = holds | math_ops.equal(lengths, 1) | math_ops.equal(old, lengths)
        message = "Unable to broadcast: dimension size mismatch in dimension"
        check = control_flow_ops.Assert(
            holds, [message, axis, "lengths=", lengths, "dim_size=", old], summarize=10
        )
        with ops.control_dependencies([check]):
            if self.is_ragged(axis):
                new = array_ops.identity(old)
            elif vector:
                new = array_ops.identity(lengths)
            else:
                new = array_ops.where_v2(math_ops.equal(old, 1), lengths, old)
        sizes = self._all_sizes()
        last = len(self._partitioned)
        if self.is_ragged(axis) or axis >= last:  # the dimensions after it are uniform, or stay
            return _shape([*sizes[:axis], new, *sizes[axis + 1 :]], self.dim_size_dtype)
        if not vector:  # a dimension whose size stays has its slices once
            known = tensor_util.constant_value(new), tensor_util.constant_value(old)
            if None not in known and known[0] == known[1]:
                return _shape([*sizes[:axis], new, *sizes[axis + 1 :]], self.dim_size_dtype)
        slices = _Slices(self.dim_size_dtype)
        made = []
        for place, size in enumerate(sizes[:last]):
            made.append(new if place == axis else slices.lengths(size))
            slices.enter(size, made[-1])
        return _shape(made + sizes[last:], self.dim_size_dtype)


def _sizes(sizes, dtype):
    if isinstance(sizes, (list, tuple)) and not sizes:
        return array_ops.zeros([0], dtype)
    return ragged_util.convert_to_int_tensor(sizes, "inner_dim_sizes", dtype)


def _shape(sizes, dtype):
    """A shape of tensors of sizes."""
    count = max((i + 1 for i, size in enumerate(sizes) if size.shape.ndims == 1), default=0)
    inner = sizes[count:]
    inner = array_ops.stack(inner) if inner else array_ops.zeros([0], dtype)
    return RaggedTensorDynamicShape(sizes[:count], inner, dtype)


class _Slices:
    """Walks through the dimensions of a source whose slices a larger target takes, from the outermost.

    It knows which slice of the source each slice of the target is.
    """

    def __init__(self, dtype):
        self._dtype = dtype
        self._places = array_ops.zeros([1], dtype)

    def lengths(self, size):
        """The size of the source's next dimension in each slice of the target: a number, or a vector."""
        return size if size.shape.ndims == 0 else array_ops.gather(size, self._places)

    def enter(self, size, wanted):
        """Goes into the next dimension, which has `size` in the source and `wanted` in the target."""
        count = array_ops.size(self._places, out_type=self._dtype)
        if size.shape.ndims == 0:
            starts, lengths = self._places * size, array_ops.fill([count], size)
        else:
            starts = array_ops.gather(ragged_util.lengths_to_splits(size), self._places)
            lengths = array_ops.gather(size, self._places)
        if wanted.shape.ndims == 0:
            wanted = array_ops.fill([count], wanted)
        self._places = ragged_util.cyclic_places(starts, lengths, wanted)

    places = property(lambda self: self._places)


def _check_shape(shape, name):
    if not isinstance(shape, RaggedTensorDynamicShape):
        raise TypeError(f"{name} must be a RaggedTensorDynamicShape")


def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape that both broadcast to."""
    _check_shape(shape_x, "shape_x")
    _check_shape(shape_y, "shape_y")
    if shape_x.rank is None or shape_y.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank = max(shape_x.rank, shape_y.rank)
    shape_x, shape_y = shape_x.broadcast_to_rank(rank), shape_y.broadcast_to_rank(rank)
    for axis in range(rank):
        shape_x = shape_x.broadcast_dimension(axis, shape_y.dimension_size(axis))
        shape_y = shape_y.broadcast_dimension(axis, shape_x.dimension_size(axis))
    return shape_x


def broadcast_to(rt_input, shape, broadcast_inner_dimensions=True):
    """A tensor in a larger shape. Without broadcast_inner_dimensions those after the ragged ones stay."""
    _check_shape(shape, "shape")
    rt_input = ragged_tensor.convert_to_tensor_or_ragged_tensor(rt_input)
    ragged = ragged_tensor.is_ragged(rt_input)
    count = shape.num_partitioned_dimensions
    if count == 0:
        if ragged:
            raise ValueError("Incompatible with shape: ragged rank mismatch")
        if not broadcast_inner_dimensions:
            return rt_input
        return array_ops.broadcast_to(rt_input, shape.inner_dim_sizes)
    if ragged and rt_input.row_splits.dtype != shape.dim_size_dtype:
        raise ValueError(
            "rt_input and dst_shape have different row_split dtypes; use RaggedTensor.with_row_splits_dtype() or "
            "RaggedTensorDynamicShape.with_dim_size_dtype() to convert to a compatible dtype."
        )
    if rt_input.shape.ndims is None or shape.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    if rt_input.shape.ndims > shape.rank:
        raise ValueError("Incompatible with shape: rank mismatch")
    if ragged and rt_input.ragged_rank >= count:
        raise ValueError("Incompatible with shape: ragged rank mismatch")
    dtype = shape.dim_size_dtype
    source = RaggedTensorDynamicShape.from_tensor(rt_input, dtype).broadcast_to_rank(shape.rank)
    slices, checks, lengths = _Slices(dtype), [], []
    for axis in range(count):
        size, wanted = source.dimension_size(axis), shape.dimension_size(axis)
        own = slices.lengths(size)
        fits = math_ops.equal(own, 1) | math_ops.equal(own, wanted)
        message = "Unable to broadcast: dimension size mismatch in dimension"
        checks.append(control_flow_ops.Assert(math_ops.reduce_all(fits), [message, axis]))
        if axis:
            rows = array_ops.size(slices.places, out_type=dtype)
            lengths.append(wanted if wanted.shape.ndims == 1 else array_ops.fill([rows], wanted))
        slices.enter(size, wanted)
    flat = rt_input.flat_values if ragged else rt_input
    inner = shape.rank - count
    own = flat.shape.ndims - ragged  # of which the last `inner` stay, and the others become one
    sizes = array_ops.shape(flat)[max(own - inner, 0) + ragged :]
    ones = array_ops.ones([max(inner - own, 0)], dtypes.int32)
    flat = array_ops.reshape(flat, array_ops.concat([[-1], ones, sizes], axis=0))
    with ops.control_dependencies(checks):
        flat = array_ops.gather(flat, slices.places)
    if broadcast_inner_dimensions:
        size = array_ops.shape(slices.places, out_type=dtype)
        flat = array_ops.broadcast_to(flat, array_ops.concat([size, shape.inner_dim_sizes], axis=0))
    made = ragged_tensor.RaggedTensor.from_nested_row_lengths(flat, lengths, validate=False)
    known = tensor_util.constant_value(shape.dimension_size(0))
    if known is not None:
        made.row_splits.set_shape([int(known) + 1])
    return made

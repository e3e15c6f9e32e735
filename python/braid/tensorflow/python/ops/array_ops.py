"""Shapes and contents of tensors: tf.reshape, tf.concat, slices by [], placeholders, and their like.

Ops without a wrapper here (array_ops.matrix_band_part) are those of gen_array_ops.
"""

import builtins
import functools
import operator
import sys

import numpy as np

from braid.tensorflow.python.framework import common_shapes
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework.constant_op import constant
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_array_ops, "reverse_v2" if name == "reverse" else name)


newaxis = None
tf_export("newaxis").export_constant(__name__, "newaxis")

_LARGE = 1000  # a constant with so many elements is made by Fill, which keeps it out of the graph
_INDEX_TYPES = (dtypes.int32, dtypes.int64)


# ---- Shapes ----


@tf_export(v1=["shape"])
def shape(input, name=None, out_type=dtypes.int32):
    """The shape of a tensor or SparseTensor as a vector: a constant where it is known."""
    return shape_internal(input, name, optimize=True, out_type=out_type)


def shape_internal(input, name=None, optimize=True, out_type=dtypes.int32):
    with ops.name_scope(name, "Shape", [input]) as name:
        if _is_sparse(input):
            return _cast(ops.convert_to_tensor(input.dense_shape), out_type)
        tensor = ops.convert_to_tensor(input)
        known = tensor.get_shape()
        if optimize and known.is_fully_defined():
            return constant(known.as_list(), out_type, name=name)
        return gen_array_ops.shape(tensor, out_type=out_type, name=name)


@tf_export("shape_n")
def shape_n(input, out_type=dtypes.int32, name=None):
    """The shapes of several tensors, as a list of vectors."""
    return gen_array_ops.shape_n(input=input, out_type=out_type, name=name)


@tf_export(v1=["size"])
@dispatch.or_ragged
def size(input, name=None, out_type=dtypes.int32):
    """The number of elements of a tensor or SparseTensor: a constant where it is known."""
    return size_internal(input, name, optimize=True, out_type=out_type)


def size_v2(input, out_type=dtypes.int32, name=None):
    return size(input, name, out_type)


def size_internal(input, name=None, optimize=True, out_type=dtypes.int32):
    with ops.name_scope(name, "Size", [input]) as name:
        if _is_sparse(input):
            return gen_math_ops.prod(_cast(ops.convert_to_tensor(input.dense_shape), out_type), 0, name=name)
        tensor = ops.convert_to_tensor(input)
        known = tensor.get_shape()
        if optimize and known.is_fully_defined():
            return constant(known.num_elements(), out_type, name=name)
        return gen_array_ops.size(tensor, out_type=out_type, name=name)


@tf_export("rank")
@dispatch.or_ragged
def rank(input, name=None):
    """The number of dimensions of a tensor or SparseTensor, an int32: a constant where it is known."""
    return rank_internal(input, name, optimize=True)


def rank_internal(input, name=None, optimize=True):
    with ops.name_scope(name, "Rank", [input]) as name:
        if _is_sparse(input):
            return gen_array_ops.size(input.dense_shape, name=name)
        tensor = ops.convert_to_tensor(input)
        known = tensor.get_shape()
        if optimize and known.ndims is not None:
            return constant(known.ndims, dtypes.int32, name=name)
        return gen_array_ops.rank(tensor, name=name)


def _cast(x, dtype):
    return x if x.dtype.base_dtype == dtype else gen_math_ops.cast(x, dtype)


def _is_sparse(value):
    return isinstance(value, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue))


@tf_export("reshape", v1=["reshape", "manip.reshape"])
def reshape(tensor, shape, name=None):
    """The same elements in another shape; one size of it may be -1, for what is left."""
    return gen_array_ops.reshape(tensor, shape, name)


@tf_export(v1=["expand_dims"])
@dispatch.or_ragged
def expand_dims(input, axis=None, name=None, dim=None):
    """Inserts a dimension of size 1 at `axis`; -1 is after the last."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return expand_dims_v2(input, axis, name)


@dispatch.or_ragged
def expand_dims_v2(input, axis, name=None):
    return gen_array_ops.expand_dims(input, axis, name)


@tf_export(v1=["squeeze"])
@dispatch.or_ragged
def squeeze(input, axis=None, name=None, squeeze_dims=None):
    """Removes the dimensions of size 1: all, or those of `axis` (a number or a list)."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "squeeze_dims", squeeze_dims)
    if np.isscalar(axis):
        axis = [axis]
    return gen_array_ops.squeeze(input, axis, name)


@dispatch.or_ragged
def squeeze_v2(input, axis=None, name=None):
    return squeeze(input, axis, name)


@tf_export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape of the result of an operation on tensors of two shapes, which are vectors of integers."""
    return gen_array_ops.broadcast_args(shape_x, shape_y)


@tf_export("broadcast_static_shape")
def broadcast_static_shape(shape_x, shape_y):
    """The TensorShape of the result of an operation on tensors of two TensorShapes."""
    return common_shapes.broadcast_shape(shape_x, shape_y)


@tf_export("identity")
@dispatch.elementwise
def identity(input, name=None):
    """A tensor with the same content. A SparseTensor's parts are copied one by one."""
    if _is_sparse(input):
        with ops.name_scope(name, "Identity", [input]):
            return sparse_tensor.SparseTensor(
                indices=gen_array_ops.identity(input.indices),
                values=gen_array_ops.identity(input.values),
                dense_shape=gen_array_ops.identity(input.dense_shape),
            )
    made = gen_array_ops.identity(input, name=name)
    if hasattr(input, "_handle_data"):
        made._handle_data = input._handle_data
    return made


# ---- Slices ----


_SLICE_TYPE_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
    "valid indices"
)


def _check_index(index):
    """TypeError: it is no index of a tensor."""
    if isinstance(index, (int, np.integer, tensor_shape.Dimension)):
        return
    dtype = getattr(index, "dtype", None)
    known = getattr(index, "shape", None)
    if (
        dtype is None
        or dtypes.as_dtype(dtype).base_dtype not in _INDEX_TYPES
        or (known is not None and tensor_shape.as_shape(known).ndims == 1)
    ):
        raise TypeError(f"{_SLICE_TYPE_ERROR}, got {index!r}")


def _is_mask(value):
    return isinstance(value, (bool, np.bool_)) or (
        isinstance(value, (ops.Tensor, np.ndarray)) and dtypes.as_dtype(value.dtype).is_bool
    )


def _is_the_end(index):
    return isinstance(index, int) and index == sys.maxsize  # what some programs write for "all"


class _Slices:
    """The arguments of StridedSlice, gathered from what stands between the brackets."""

    def __init__(self, spec):
        self.begin, self.end, self.strides = [], [], []
        self.masks = dict(begin_mask=0, end_mask=0, shrink_axis_mask=0, new_axis_mask=0, ellipsis_mask=0)
        for part in spec:
            self._add(part)

    def _add(self, part):
        bit = 1 << len(self.begin)
        begin, end, stride = 0, 0, 1
        if isinstance(part, builtins.slice):
            if part.start is None or _is_the_end(part.start):
                self.masks["begin_mask"] |= bit
            else:
                _check_index(part.start)
                begin = part.start
            if part.stop is None or _is_the_end(part.stop):
                self.masks["end_mask"] |= bit
            else:
                _check_index(part.stop)
                end = part.stop
            if part.step is not None:
                _check_index(part.step)
                stride = part.step
        elif part is Ellipsis:
            self.masks["ellipsis_mask"] |= bit
        elif part is newaxis:
            self.masks["new_axis_mask"] |= bit
            end = 1
        else:
            _check_index(part)
            begin, end = part, part + 1
            self.masks["shrink_axis_mask"] |= bit
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _slice_helper(tensor, slice_spec, var=None):
    """tensor[slice_spec]: numbers, slices, `...`, tf.newaxis, or a mask of booleans.

    var: the variable, where the result is to have `assign`.
    """
    if _is_mask(slice_spec):
        return boolean_mask(tensor=tensor, mask=slice_spec)
    if not isinstance(slice_spec, (list, tuple)):
        slice_spec = [slice_spec]
    parts = _Slices(slice_spec)
    with ops.name_scope(None, "strided_slice", [tensor] + parts.begin + parts.end + parts.strides) as name:
        if parts.begin:
            packed = [stack(part) for part in (parts.begin, parts.end, parts.strides)]
            if any(p.dtype == dtypes.int64 for p in packed):
                packed = [
                    p if p.dtype == dtypes.int64 else gen_math_ops.cast(p, dtypes.int64) for p in packed
                ]
        else:
            packed = [constant([], dtype=dtypes.int32)] * 3
        return strided_slice(tensor, *packed, var=var, name=name, **parts.masks)


def _SliceHelperVar(var, slice_spec):
    """var[slice_spec], whose `assign` changes that part of the variable."""
    return _slice_helper(var.value(), slice_spec, var)


_SliceHelper = _slice_helper
ops.Tensor._override_operator("__getitem__", _slice_helper)


@tf_export("slice")
def slice(input_, begin, size, name=None):
    """The part of a tensor that begins at `begin` and has the sizes `size`, of which -1 is all that is
    left."""
    return gen_array_ops._slice(input_, begin, size, name=name)


@tf_export("strided_slice")
def strided_slice(
    input_,
    begin,
    end,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    var=None,
    name=None,
):
    """What tensor[...] makes: the elements from `begin` to before `end` in steps of `strides`.

    A bit of a mask is for the index at its place: begin and end of which are not looked at, an ellipsis, a
    new axis, one element whose dimension goes. var: the variable for the result's `assign`.
    """
    if strides is None:
        strides = ones_like(begin)
    masks = dict(
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )
    made = gen_array_ops.strided_slice(input_, begin, end, strides, name=name, **masks)
    slice_name = name

    def assign(val, name=None):
        """Assigns to the part of the variable."""
        if var is None:
            raise ValueError("Sliced assignment is only supported for variables")
        if name is None:
            name = (slice_name or "strided_slice") + "_assign"
        return var._strided_slice_assign(begin=begin, end=end, strides=strides, value=val, name=name, **masks)

    made.assign = assign
    return made


# ---- Joining and taking apart ----


@tf_export("stack")
@dispatch.or_ragged
def stack(values, axis=0, name="stack"):
    """Joins tensors of one shape along a new dimension."""
    if axis == 0:
        try:  # one constant, where there is no tensor among them
            return ops.convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    known = ops.convert_to_tensor(values[0], name=name).get_shape()
    if known.ndims is not None:
        count = known.ndims + 1
        if axis < -count or axis >= count:
            raise ValueError("axis = %d not in [%d, %d)" % (axis, -count, count))
    return gen_array_ops.pack(values, axis=axis, name=name)


def _tensors_among(nested):
    for item in nested:
        if isinstance(item, (list, tuple)):
            yield from _tensors_among(item)
        elif ops.is_dense_tensor_like(item):
            yield item


def _pack(items, dtype, name):
    """A list that may hold tensors: one tensor if it holds any, or else the list."""
    must_pack = False
    made = []
    with ops.name_scope(name) as scope:
        for i, item in enumerate(items):
            if ops.is_dense_tensor_like(item):
                if dtype is not None and item.dtype.base_dtype != dtype:
                    raise TypeError(
                        "Cannot convert a list containing a tensor of dtype %s to %s (Tensor is: %r)"
                        % (item.dtype, dtype, item)
                    )
                must_pack = True
            elif isinstance(item, (list, tuple)):
                item = _pack(item, dtype, str(i))
                must_pack = must_pack or ops.is_dense_tensor_like(item)
            made.append(item)
        if not must_pack:
            return made
        tensors = []
        for i, item in enumerate(made):
            if not ops.is_dense_tensor_like(item):
                item = constant_op.constant(item, dtype=dtype, name=str(i))
            tensors.append(item)
        return gen_array_ops.pack(tensors, name=scope)


def _autopacking_helper(list_or_tuple, dtype, name):
    return _pack(list_or_tuple, dtype, name)


def _plain(value):
    return isinstance(value, (int, float, complex, str, bytes, np.generic, np.ndarray))


def _autopacking_conversion_function(v, dtype=None, name=None, as_ref=False):
    """The tensor of a list with tensors in it; NotImplemented where there is none."""
    if as_ref or not v or all(_plain(item) for item in v):
        return NotImplemented
    first = next(_tensors_among(v), None)
    if first is None:
        return NotImplemented
    inferred = first.dtype.base_dtype
    if dtype is None:
        dtype = inferred
    elif dtype != inferred:
        v = nest.map_structure(lambda item: _cast_tensor(item, dtype), v)
    return _pack(v, dtype, name or "packed")


def _cast_tensor(item, dtype):
    is_other = ops.is_dense_tensor_like(item) and item.dtype.base_dtype != dtype
    return gen_math_ops.cast(item, dtype) if is_other else item


ops.register_tensor_conversion_function((list, tuple), _autopacking_conversion_function, 99)


@tf_export("unstack")
def unstack(value, num=None, axis=0, name="unstack"):
    """The list of the parts of a tensor along a dimension, which they lack.

    num: how many; None: as is known.
    """
    if num is None:
        value = ops.convert_to_tensor(value)
        known = value.get_shape()
        if known.ndims is not None:
            if axis < -known.ndims or axis >= known.ndims:
                raise ValueError("axis = %d not in [%d, %d)" % (axis, -known.ndims, known.ndims))
            num = known.dims[axis].value
    if num is None:
        raise ValueError("Cannot infer num from shape %s" % known)
    return gen_array_ops.unpack(value, num=num, axis=axis, name=name)


@tf_export("parallel_stack")
def parallel_stack(values, name="parallel_stack"):
    """Joins tensors along a new first dimension, piece by piece as they come. Their shapes are known."""
    with ops.name_scope(name):
        first = ops.convert_to_tensor(values[0]).get_shape()
        joined = tensor_shape.TensorShape([len(values)]).concatenate(first)
        rows = [expand_dims(value, 0) for value in values]
        return gen_array_ops.parallel_concat(rows, shape=joined)


@tf_export("concat")
@dispatch.or_ragged
def concat(values, axis, name="concat"):
    """Joins tensors along one of their dimensions, in which alone their sizes may differ."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with ops.name_scope(name):
            dim = ops.convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
            dim.get_shape().assert_has_rank(0)
            return identity(values[0], name=name)
    return gen_array_ops.concat_v2(values=values, axis=axis, name=name)


@tf_export("split")
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Cuts a tensor along a dimension: into a number of equal parts, or into parts of given sizes.

    num: how many sizes there are, where it is not known from their shape.
    """
    sizes = ops.convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, np.integer, tensor_shape.Dimension)):
        return gen_array_ops.split(axis=axis, num_split=int(num_or_size_splits), value=value, name=name)
    known = sizes.get_shape()
    if known.ndims == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = known.dims[0].value if known.ndims else None
        if num is None:
            raise ValueError("Cannot infer num from shape %s" % num_or_size_splits)
    return gen_array_ops.split_v(value=value, size_splits=sizes, axis=axis, num_split=num, name=name)


@tf_export(v1=["transpose"])
def transpose(a, perm=None, name="transpose", conjugate=False):
    """Permutes the dimensions; without `perm` it reverses their order.

    conjugate: the complex conjugate too.
    """
    with ops.name_scope(name, "transpose", [a]) as name:
        if not tensor_util.is_tensor(a):
            a = ops.convert_to_tensor(a, name="a")
        if conjugate and a.dtype.is_complex:
            permute = gen_array_ops.conjugate_transpose
        else:
            permute = gen_array_ops.transpose
        if perm is None:
            count = a.get_shape().ndims
            if not count:  # so is a scalar's, as in 1.15
                count = gen_array_ops.rank(a)
                perm = (count - 1) - gen_math_ops._range(0, count, 1)
            else:
                perm = np.arange(count - 1, -1, -1, dtype=np.int32)
        return permute(a, perm, name=name)


@tf_export("linalg.matrix_transpose", v1=["linalg.transpose", "linalg.matrix_transpose", "matrix_transpose"])
def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """Transposes the matrices in the last two dimensions. conjugate: the complex conjugate too."""
    with ops.name_scope(name, values=[a]):
        a = ops.convert_to_tensor(a, name="a")
        count = a.get_shape().ndims
        if count is None:
            number = rank(a)
            perm = concat((gen_math_ops._range(0, number - 2, 1), [number - 1, number - 2]), 0)
        elif count < 2:
            raise ValueError(
                "Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: %s" % a.get_shape()
            )
        else:
            perm = list(range(count - 2)) + [count - 1, count - 2]
        return transpose(a, perm=perm, conjugate=conjugate)


@tf_export("repeat")
def repeat(input, repeats, axis=None, name=None):
    """Repeats each element along a dimension; without one, those of the flat tensor.

    repeats: how often, a number or one for each index of the dimension.
    """
    if axis is None:
        input = reshape(input, [-1])
        axis = 0
    return repeat_with_axis(input, repeats, axis, name)


def repeat_with_axis(data, repeats, axis, name=None):
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    with ops.name_scope(name, "Repeat", [data, repeats]):
        data = ops.convert_to_tensor(data, name="data")
        repeats = ops.convert_to_tensor(repeats, name="repeats")
        repeats = gen_math_ops.cast(repeats, dtypes.int32)
        repeats.shape.with_rank_at_most(1)
        data = _with_a_dimension(data)
        sizes = shape(data)
        ndims = data.shape.ndims
        if ndims is None:
            if axis < 0:
                raise ValueError("axis may only be negative if ndims is statically known.")
        elif not -ndims <= axis < ndims:
            raise ValueError(f"axis={axis} out of bounds: expected {-ndims}<=axis<{ndims}")
        else:
            axis %= ndims
        if repeats.shape.ndims == 1 and ndims is not None:
            if repeats.shape.dims[0].value == 1 and data.shape.dims[axis].value != 1:
                repeats = reshape(repeats, [])  # one number for all, as numpy takes it
            else:
                data.shape.dims[axis].assert_is_compatible_with(repeats.shape.dims[0])
        if repeats.shape.ndims == 0:
            tiled = _tile_one_dimension(expand_dims(data, axis + 1), axis + 1, repeats)
            return reshape(tiled, concat([sizes[:axis], [-1], sizes[axis + 1 :]], axis=0))
        if repeats.shape.ndims != axis + 1:
            own, own_count = shape(repeats), rank(repeats)
            repeats = gen_array_ops.broadcast_to(
                repeats, concat([sizes[: axis + 1 - own_count], own], axis=0)
            )
            repeats.set_shape([None] * (axis + 1))
        if repeats.shape.ndims is None:
            every = gen_math_ops._range(0, rank(repeats), 1)
        else:
            every = constant(np.arange(repeats.shape.ndims), dtype=dtypes.int32)
        most = gen_math_ops.maximum(0, gen_math_ops._max(repeats, every))
        mask = sequence_mask(repeats, most)
        made = boolean_mask(_tile_one_dimension(expand_dims(data, axis + 1), axis + 1, most), mask)
        if axis:
            made = reshape(made, concat([sizes[:axis], [-1], sizes[axis + 1 :]], axis=0))
        if ndims is not None:
            known = data.shape
            made.set_shape(known[:axis].concatenate([None]).concatenate(known[axis + 1 :]))
        return made


def _with_a_dimension(data):
    """A scalar as a vector; other tensors as they are."""
    if data.shape.ndims is not None:
        return stack([data]) if data.shape.ndims == 0 else data
    sizes, count = shape(data), rank(data)
    return reshape(data, concat([[1], sizes], axis=0)[-count:])


def _tile_one_dimension(data, axis, multiple):
    if data.shape.ndims is not None:
        multiples = [1] * data.shape.ndims
        multiples[axis] = multiple
    else:
        once = ones(rank(data), dtypes.int32)
        multiples = concat([once[:axis], [multiple], once[axis + 1 :]], axis=0)
    return gen_array_ops.tile(data, multiples)


@tf_export("stop_gradient")
@dispatch.elementwise
def stop_gradient(input, name=None):
    """The same tensor, which no gradient goes through."""
    return gen_array_ops.stop_gradient(input, name=name)


@tf_export("guarantee_const")
def guarantee_const(input, name=None):
    """The same tensor, of which the program promises that it never changes."""
    return gen_array_ops.guarantee_const(input, name=name)


@tf_export("meshgrid")
def meshgrid(*args, **kwargs):
    """The coordinates of a grid from those along its axes, as numpy.meshgrid.

    indexing: "xy" (the first two dimensions of the results are swapped) or "ij".
    """
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError("'{}' is an invalid keyword argument for this function".format(key))
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with ops.name_scope(name, "meshgrid", args) as name:
        count = len(args)
        along = [reshape(stack(x), (1,) * i + (-1,) + (1,) * (count - i - 1)) for i, x in enumerate(args)]
        sizes = [size(x) for x in args]
        dtype = ops.convert_to_tensor(args[0]).dtype.base_dtype if args else None
        if indexing == "xy" and count > 1:
            along[0] = reshape(along[0], (1, -1) + (1,) * (count - 2))
            along[1] = reshape(along[1], (-1, 1) + (1,) * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        factor = ones(sizes, dtype)
        return [x * factor for x in along]


# ---- Content ----


def _constant_if_small(value, shape, dtype, name):
    if isinstance(shape, (list, tuple)) and any(isinstance(size, ops.Tensor) for size in shape):
        # 1.15 builds this comparison, which cannot be a bool. Seeds are numbers of nodes: it has to be there.
        _ = functools.reduce(operator.mul, shape) < _LARGE
        return None
    try:
        if tensor_shape.TensorShape(shape).num_elements() < _LARGE:
            return constant(value, shape=shape, dtype=dtype, name=name)
    except (TypeError, ValueError):  # None among the sizes
        pass
    return None


def _filled(value, shape, dtype, name):
    """A tensor full of one value, as a constant where it is small."""
    if not isinstance(shape, ops.Tensor):
        made = _constant_if_small(value, shape, dtype, name)
        if made is not None:
            return made
        try:
            shape = ops.convert_to_tensor(tensor_shape.TensorShape(shape))
        except (TypeError, ValueError):
            shape = ops.convert_to_tensor(shape, dtype=dtypes.int32)
    if shape.get_shape().ndims == 0:
        shape = reshape(shape, [-1])
    return gen_array_ops.fill(shape, constant(value, dtype=dtype), name=name)


@tf_export("zeros")
def zeros(shape, dtype=dtypes.float32, name=None):
    """A tensor of zeros (False, or empty strings). shape: numbers, or a vector of integers."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    with ops.name_scope(name, "zeros", [shape]) as name:
        if dtype == dtypes.bool:
            zero = False
        elif dtype == dtypes.string:
            zero = ""
        else:
            zero = 0
        return _filled(zero, shape, dtype, name)


@tf_export("ones")
def ones(shape, dtype=dtypes.float32, name=None):
    """A tensor of ones (True). shape: numbers, or a vector of integers."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    with ops.name_scope(name, "ones", [shape]) as name:
        return _filled(True if dtype == dtypes.bool else 1, shape, dtype, name)


@tf_export(v1=["zeros_like"])
@dispatch.elementwise
def zeros_like(tensor, dtype=None, name=None, optimize=True):
    """Zeros in the shape, and the type unless another is given, of a tensor."""
    return zeros_like_impl(tensor, dtype, name, optimize)


def zeros_like_v2(input, dtype=None, name=None):
    return zeros_like_impl(input, dtype, name, optimize=True)


def zeros_like_impl(tensor, dtype, name, optimize=True):
    with ops.name_scope(name, "zeros_like", [tensor]) as name:
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        dtype = tensor.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype)
        if optimize and tensor.shape.is_fully_defined() and dtype != dtypes.variant:
            return zeros(tensor.shape, dtype=dtype, name=name)
        if dtype != tensor.dtype.base_dtype and dtype != dtypes.variant:
            return zeros(shape_internal(tensor, optimize=optimize), dtype=dtype, name=name)
        return gen_array_ops.zeros_like(tensor, name=name)


@tf_export(v1=["ones_like"])
@dispatch.elementwise
def ones_like(tensor, dtype=None, name=None, optimize=True):
    """Ones in the shape, and the type unless another is given, of a tensor."""
    return ones_like_impl(tensor, dtype, name, optimize)


def ones_like_v2(input, dtype=None, name=None):
    return ones_like_impl(input, dtype, name, optimize=True)


def ones_like_impl(tensor, dtype, name, optimize=True):
    with ops.name_scope(name, "ones_like", [tensor]) as name:
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        sizes = shape_internal(tensor, optimize=optimize)
        made = ones(sizes, dtype=tensor.dtype if dtype is None else dtype, name=name)
        made.set_shape(tensor.get_shape())
        return made


@tf_export("fill")
def fill(dims, value, name=None):
    """A tensor of the shape `dims` full of one value."""
    return gen_array_ops.fill(dims, value, name=name)


@tf_export("one_hot")
@dispatch.or_ragged
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """`on_value` (1) at each index of a new dimension of size `depth`, and `off_value` (0) elsewhere.

    axis: where the dimension goes; None or -1: last. dtype: of the result, float32 where nothing says
    otherwise.
    """
    with ops.name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as name:
        given = {}
        for key, value in (("on_value", on_value), ("off_value", off_value)):
            if value is not None:
                # An array keeps its type, which must be the one that is asked for.
                wanted = None if dtype is None or hasattr(value, "dtype") else dtypes.as_dtype(dtype)
                given[key] = ops.convert_to_tensor(value, wanted)
                if dtype is not None and given[key].dtype.base_dtype != dtype:
                    raise TypeError(
                        f"dtype {given[key].dtype} of {key} does not match dtype parameter {dtype}"
                    )
        types = [tensor.dtype.base_dtype for tensor in given.values()]
        if len(set(types)) > 1:
            raise TypeError(f"dtype {types[0]} of on_value does not match dtype {types[1]} of off_value")
        if dtype is None:
            dtype = types[0] if types else dtypes.float32

        def value(key, value, default):
            if value is None:
                return ops.convert_to_tensor(default, dtype, name=key)
            return (
                value if hasattr(value, "dtype") else np.asarray(value, dtypes.as_dtype(dtype).as_numpy_dtype)
            )

        on_value, off_value = value("on_value", on_value, 1), value("off_value", off_value, 0)
        axis = -1 if axis is None else axis
        return gen_array_ops.one_hot(indices, depth, on_value, off_value, axis, name)


@tf_export(v1=["pad"])
def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Adds elements before and after those of each dimension.

    paddings: [rank, 2], the numbers before and after. mode: "CONSTANT" adds `constant_values`, "REFLECT"
    mirrors the tensor without its outermost elements, "SYMMETRIC" with them.
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not tensor_util.is_tensor(constant_values) and constant_values == 0:
            made = gen_array_ops.pad(tensor, paddings, name=name)
        else:
            made = gen_array_ops.pad_v2(tensor, paddings, constant_values, name=name)
    elif mode in ("REFLECT", "SYMMETRIC"):
        made = gen_array_ops.mirror_pad(tensor, paddings, mode=mode, name=name)
    else:
        raise ValueError("Unknown padding mode: %s" % mode)
    # The sizes of which the paddings are known, where not all are.
    widths, before = made.op.inputs[1], made.op.inputs[0].shape
    if not made.shape.is_fully_defined() and before.ndims is not None:
        parts = tensor_util.constant_value(widths, partial=True)
        if parts is not None and len(parts) == before.ndims:
            sizes = []
            for size, pair in zip(before.as_list(), parts):
                is_known = size is not None and pair is not None and all(n is not None for n in pair)
                sizes.append(size + sum(int(n) for n in pair) if is_known else None)
            made.set_shape(sizes)
    return made


def pad_v2(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    return pad(tensor, paddings, mode, name, constant_values)


@tf_export(v1=["placeholder"])
def placeholder(dtype, shape=None, name=None):
    """A tensor that each step is fed. shape: None takes any."""
    return gen_array_ops.placeholder(dtype=dtype, shape=shape, name=name)


@tf_export(v1=["placeholder_with_default"])
def placeholder_with_default(input, shape, name=None):
    """A tensor that a step may be fed, and that is `input` otherwise."""
    return gen_array_ops.placeholder_with_default(input, shape, name)


@tf_export(v1=["sparse.placeholder", "sparse_placeholder"])
def sparse_placeholder(dtype, shape=None, name=None):
    """A SparseTensor that each step is fed.

    shape: numbers of which some may be None, or a vector of int64.
    """

    def part(what):
        return None if name is None else f"{name}/{what}"

    count = None
    if shape is not None:
        if isinstance(shape, ops.Tensor):
            count = tensor_shape.dimension_value(shape.get_shape()[0])
        else:
            shape = tuple(tensor_shape.dimension_value(size) for size in shape)
            count = len(shape)
            if None in shape:
                shape = None
    if shape is None:
        shape = placeholder(dtypes.int64, shape=[count], name=part("shape"))
    else:
        shape = ops.convert_to_tensor(shape, dtype=dtypes.int64, name=part("shape"))
    return sparse_tensor.SparseTensor(
        values=placeholder(dtype, shape=[None], name=part("values")),
        indices=placeholder(dtypes.int64, shape=[None, count], name=part("indices")),
        dense_shape=shape,
    )


# ---- Selection ----


def _number(value):
    """The number that is given as such or as a tensor; None where it is known only to a step."""
    return tensor_util.constant_value(value) if tensor_util.is_tensor(value) else value


@tf_export(v1=["boolean_mask"])
@dispatch.or_ragged
def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """The elements (or parts) where the mask is true. The mask's dimensions are those from `axis` (0) on."""
    with ops.name_scope(name, values=[tensor, mask]):
        tensor = ops.convert_to_tensor(tensor, name="tensor")
        mask = ops.convert_to_tensor(mask, name="mask")
        mask_shape, tensor_static = mask.get_shape(), tensor.get_shape()
        count = mask_shape.ndims
        if count == 0:
            raise ValueError("mask cannot be scalar.")
        if count is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        axis = 0 if axis is None else axis
        axis_value = _number(axis)
        if axis_value is not None:
            axis = axis_value
            tensor_static[axis : axis + count].assert_is_compatible_with(mask_shape)
        elements = gen_math_ops.prod(shape(tensor)[axis : axis + count], [0])
        tensor = reshape(tensor, concat([shape(tensor)[:axis], [elements], shape(tensor)[axis + count :]], 0))
        if axis_value is not None and tensor_static.ndims is not None:
            first = tensor_static[axis : axis + count].num_elements()
            known = tensor_static[:axis].concatenate([first]).concatenate(tensor_static[axis + count :])
            tensor.set_shape(known)
        indices = squeeze(where(reshape(mask, [-1])), axis=[1])
        return gather(tensor, indices, axis=axis)


def boolean_mask_v2(tensor, mask, axis=None, name="boolean_mask"):
    return boolean_mask(tensor, mask, name, axis)


@tf_export(v1=["sparse.mask", "sparse_mask"])
def sparse_mask(a, mask_indices, name=None):
    """The IndexedSlices without those whose indices are in `mask_indices`."""
    with ops.name_scope(name, "sparse_mask", [a, mask_indices]) as name:
        kept, places = setdiff1d(a.indices, mask_indices)
        return ops.IndexedSlices(gather(a.values, places, name=name), kept, a.dense_shape)


@tf_export(v1=["where"])
@dispatch.or_ragged
def where(condition, x=None, y=None, name=None):
    """x where the condition holds and y elsewhere; without them, the coordinates of what is true, [count,
    rank].

    The condition has the shape of x and y, or is a vector that selects rows.
    """
    if x is None and y is None:
        with ops.name_scope(name, "Where", [condition]) as name:
            condition = ops.convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")
            return gen_array_ops.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return gen_math_ops.select(condition, x, y, name=name)


@tf_export("where_v2", v1=["where_v2"])
def where_v2(condition, x=None, y=None, name=None):
    """As tf.where, with the shapes of all three broadcast."""
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return gen_math_ops.select_v2(condition, x, y, name=name)


@tf_export(v1=["gather"])
@dispatch.or_ragged
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """The slices of a tensor along a dimension that the indices name.

    axis: None is the one after the first `batch_dims` dimensions, which params and indices share.
    """
    del validate_indices
    if axis is None:
        axis = batch_dims
    is_first = not tensor_util.is_tensor(axis) and axis == 0
    if is_first and batch_dims == 0:
        try:
            return params.sparse_read(indices, name=name)  # a resource variable: only the rows are read
        except AttributeError:
            pass
    if batch_dims and not tensor_util.is_tensor(axis):
        with ops.name_scope(name, "GatherV2", [params, indices]) as scope:
            indices = ops.convert_to_tensor(indices, name="indices")
            params = ops.convert_to_tensor(params, name="params")
            counts = indices.shape.ndims, params.shape.ndims
            if None not in counts:
                if batch_dims < 0:
                    batch_dims += counts[0]
                made = _gather_with_batch_dims(params, indices, axis % counts[1], batch_dims)
                return identity(made, name=scope)
    return gen_array_ops.gather_v2(params, indices, axis, batch_dims=batch_dims, name=name)


def _gather_with_batch_dims(params, indices, axis, batch_dims):
    """gather along any dimension after the first `batch_dims` ones, in ops that have gradients."""
    if axis == batch_dims:
        return _batch_gather(params, indices, batch_dims)
    count, new = params.shape.ndims, indices.shape.ndims - batch_dims
    order = list(range(batch_dims)) + [axis] + [i for i in range(batch_dims, count) if i != axis]
    made = _batch_gather(transpose(params, order), indices, batch_dims)
    before = axis - batch_dims  # how many dimensions go back in front of the new ones
    first = batch_dims + new
    back = list(range(batch_dims)) + list(range(first, first + before)) + list(range(batch_dims, first))
    return transpose(made, back + list(range(first + before, count - 1 + new)))


@dispatch.or_ragged
def gather_v2(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    return gather(params, indices, validate_indices, name, axis, batch_dims)


@tf_export(v1=["batch_gather"])
@dispatch.or_ragged
def batch_gather(params, indices, name=None):
    """The slices along the last dimension of `indices`, whose other dimensions are params' first ones."""
    with ops.name_scope(name, "BatchGather", [params, indices]):
        indices = ops.convert_to_tensor(indices, name="indices")
        params = ops.convert_to_tensor(params, name="params")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return _batch_gather(params, indices, indices.shape.ndims - 1)


def _batch_gather(params, indices, batch_dims):
    """gather along the dimension after the first `batch_dims` ones, in ops that have gradients."""
    dtype = indices.dtype.base_dtype
    asked = shape(indices)
    sizes = shape(params)
    rows = indices
    stride = ones((), dtype=dtype)
    counts = gen_math_ops.cast(sizes, dtype)
    for i in reversed(range(batch_dims)):
        count = counts[i]
        stride *= counts[i + 1]
        first, step = zeros((), dtype=dtype), ones((), dtype=dtype)
        places = gen_math_ops._range(first, count, step) * stride
        rows += reshape(places, stack([1] * i + [count] + [1] * (indices.shape.ndims - i - 1), axis=0))
    rows = reshape(rows, [-1])
    inner = sizes[batch_dims + 1 :]
    count = gen_math_ops.prod(sizes[: batch_dims + 1], [0], False)
    made = gather(reshape(params, concat([[count], inner], axis=0)), rows)
    made = reshape(made, concat([asked, inner], axis=0))
    batch = params.shape[:batch_dims].merge_with(indices.shape[:batch_dims])
    made.set_shape(batch.concatenate(indices.shape[batch_dims:]).concatenate(params.shape[batch_dims + 1 :]))
    return made


@tf_export(v1=["gather_nd", "manip.gather_nd"])
@dispatch.or_ragged
def gather_nd(params, indices, name=None, batch_dims=0):
    """The slices of a tensor at coordinates, which are in the last dimension of `indices`.

    batch_dims: how many first dimensions params and indices share.
    """
    known = _number(batch_dims)
    if known is not None:
        batch_dims = known = int(np.reshape(known, ()))
    if known == 0:
        try:
            return params.gather_nd(indices, name=name)
        except AttributeError:
            return gen_array_ops.gather_nd(params, indices, name=name)
    return batch_gather_nd(params, indices, batch_dims=batch_dims, name=name)


def gather_nd_v2(params, indices, batch_dims=0, name=None):
    return gather_nd(params, indices, name, batch_dims)


def batch_gather_nd(params, indices, batch_dims, name=None):
    with ops.name_scope(name, "BatchGatherND", [params, indices]):
        indices = ops.convert_to_tensor(indices, name="indices")
        params = ops.convert_to_tensor(params, name="params")
        if batch_dims == 0:
            return gen_array_ops.gather_nd(params, indices)
        count = indices.shape.ndims
        if batch_dims < 0 or (count is not None and batch_dims >= count):
            raise ValueError(
                f"batch_dims = {batch_dims} must be at least 0 and less than rank(indices) = {count}"
            )
        sizes = unstack(shape(indices)[:batch_dims], num=batch_dims)
        grid = meshgrid(*[gen_math_ops._range(0, n, 1) for n in sizes], indexing="ij")
        columns = []
        for place in grid:
            place = _cast(place, indices.dtype)
            after = ones(expand_dims(rank(indices) - batch_dims, 0), dtypes.int32)
            place = reshape(place, concat([shape(place), after], 0))
            columns.append(gen_array_ops.broadcast_to(place, concat([shape(indices)[:-1], [1]], 0)))
        made = gen_array_ops.gather_nd(params, concat(columns + [indices], -1))
        depth = None if count is None else tensor_shape.dimension_value(indices.shape[-1])
        if depth is not None and params.shape.ndims is not None:
            batch = params.shape[:batch_dims].merge_with(indices.shape[:batch_dims])
            made.set_shape(
                batch.concatenate(indices.shape[batch_dims:-1]).concatenate(
                    params.shape[batch_dims + depth :]
                )
            )
        return made


@tf_export("sequence_mask")
def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    """True (or 1) for the first elements, as many as each length says, of a new last dimension of size
    `maxlen`.

    maxlen: None is the greatest length.
    """
    with ops.name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = ops.convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = gen_math_ops._max(lengths, _all_dimensions(lengths))
            maxlen = gen_math_ops.maximum(constant(0, maxlen.dtype), maxlen)
        else:
            maxlen = ops.convert_to_tensor(maxlen)
        if maxlen.get_shape().ndims not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        row = gen_math_ops._range(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        column = gen_math_ops.cast(expand_dims(lengths, -1), maxlen.dtype)
        made = row < column
        if dtype is None or made.dtype.base_dtype == dtypes.as_dtype(dtype).base_dtype:
            return made
        return gen_math_ops.cast(made, dtype)


def _all_dimensions(x):
    """The numbers of all dimensions of a tensor, for a reduction."""
    if x.get_shape().ndims is not None:
        return constant_op.constant(np.arange(x.get_shape().ndims, dtype=np.int32))
    return gen_math_ops._range(0, rank(x), 1)


@tf_export("unique")
def unique(x, out_idx=dtypes.int32, name=None):
    """The different elements of a vector in the order in which they come, and where each element is in
    them."""
    return gen_array_ops.unique(x, out_idx, name)


@tf_export("unique_with_counts")
def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    """As tf.unique, and how often each element is there."""
    return gen_array_ops.unique_with_counts(x, out_idx, name)


@tf_export(v1=["setdiff1d"])
def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """The elements of a vector that are not in another, and where they are in the first."""
    return gen_array_ops.list_diff(x, y, index_dtype, name)


listdiff = setdiff1d


@tf_export("searchsorted")
def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    """Where each value goes into the sorted rows, before ("left") or after ("right") those equal to it."""
    count = shape_internal(sorted_sequence)[-1]
    wanted_count = shape_internal(values)[-1]
    rows = reshape(sorted_sequence, [-1, count])
    wanted = reshape(values, [-1, wanted_count])
    if side == "right":
        found = gen_array_ops.upper_bound(rows, wanted, out_type, name)
    elif side == "left":
        found = gen_array_ops.lower_bound(rows, wanted, out_type, name)
    else:
        raise ValueError("side must be either 'right' or 'left'.  Saw: %s." % side)
    return reshape(found, shape_internal(values))


@tf_export("edit_distance")
def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """The Levenshtein distance between the sequences of two SparseTensors, along their last dimension.

    normalize: it is divided by the length of the truth.
    """
    for what, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not _is_sparse(value):
            raise TypeError(f"{what} must be a SparseTensor.")
    return gen_array_ops.edit_distance(
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize=normalize,
        name=name,
    )


@tf_export(v1=["reverse_sequence"])
def reverse_sequence(
    input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None
):
    """Reverses the first elements of each sequence, as many as its length says."""
    seq_axis = deprecation.deprecated_argument_lookup("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = deprecation.deprecated_argument_lookup("batch_axis", batch_axis, "batch_dim", batch_dim)
    if seq_axis is None:
        raise ValueError("seq_axis (or seq_dim) must be given")
    return gen_array_ops.reverse_sequence(
        input=input, seq_lengths=seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name
    )


def reverse_sequence_v2(input, seq_lengths, seq_axis=None, batch_axis=None, name=None):
    return reverse_sequence(input, seq_lengths, seq_axis, batch_axis, name)


# ---- Diagonals ----


def _is_main_diagonal(*numbers):
    return all(isinstance(n, (int, np.integer)) for n in numbers)


def _padding(value, dtype):
    """The value around diagonals as a tensor; the default, 0, is False among bools."""
    if dtype.base_dtype == dtypes.bool and not isinstance(value, ops.Tensor):
        value = bool(value)
    return ops.convert_to_tensor(value, dtype=dtype)


@tf_export("linalg.diag", v1=["linalg.diag", "matrix_diag"])
def matrix_diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0):
    """Matrices with the given diagonals, and `padding_value` elsewhere.

    k: the number of the diagonal, above the main one if positive, or the first and last of a band.
    """
    if _is_main_diagonal(k, num_rows, num_cols, padding_value) and (k, num_rows, num_cols, padding_value) == (
        0,
        -1,
        -1,
        0,
    ):
        return gen_array_ops.matrix_diag(diagonal, name=name)
    diagonal = ops.convert_to_tensor(diagonal)
    padding_value = _padding(padding_value, diagonal.dtype)
    return gen_array_ops.matrix_diag_v2(diagonal, k, num_rows, num_cols, padding_value, name=name)


@tf_export("linalg.diag_part", v1=["linalg.diag_part", "matrix_diag_part"])
@dispatch.add_dispatch_support
def matrix_diag_part(input, name="diag_part", k=0, padding_value=0):
    """A diagonal, or a band of diagonals, of the matrices in the last two dimensions."""
    if _is_main_diagonal(k, padding_value) and (k, padding_value) == (0, 0):
        return gen_array_ops.matrix_diag_part(input, name=name)
    input = ops.convert_to_tensor(input)
    padding_value = _padding(padding_value, input.dtype)
    return gen_array_ops.matrix_diag_part_v2(input, k, padding_value, name=name)


@tf_export("linalg.set_diag", v1=["linalg.set_diag", "matrix_set_diag"])
def matrix_set_diag(input, diagonal, name="set_diag", k=0):
    """The matrices with other values on a diagonal, or on a band of diagonals."""
    if _is_main_diagonal(k) and k == 0:
        return gen_array_ops.matrix_set_diag(input, diagonal, name=name)
    return gen_array_ops.matrix_set_diag_v2(input, diagonal, k, name=name)


# ---- Space and depth ----


@tf_export(v1=["space_to_batch", "nn.space_to_batch"])
def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """Moves the places within blocks of a picture's plane, [batch, y, x, ...], into the batch."""
    block = deprecation.deprecated_argument_lookup("block_shape", block_shape, "block_size", block_size)
    block = [block, block] if np.isscalar(block) else block
    made = gen_array_ops.space_to_batch_nd(input, paddings=paddings, block_shape=block, name=name)
    made.set_shape(made.get_shape().with_rank(4))
    return made


@tf_export(v1=["batch_to_space"])
def batch_to_space(input, crops, block_size, name=None, block_shape=None):
    """Moves parts of the batch back into the plane: what undoes tf.space_to_batch."""
    block = deprecation.deprecated_argument_lookup("block_shape", block_shape, "block_size", block_size)
    block = np.array([block, block], dtype=np.int64) if np.isscalar(block) else block
    made = gen_array_ops.batch_to_space_nd(input, crops=crops, block_shape=block, name=name)
    made.set_shape(made.get_shape().with_rank(4))
    return made


@tf_export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """Paddings and crops with which a plane can be cut into blocks: (paddings, crops), each [dimensions,
    2]."""
    with ops.name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        input_shape = ops.convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        block_shape = ops.convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        block_shape.get_shape().assert_is_fully_defined()
        block_shape.get_shape().assert_has_rank(1)
        count = block_shape.get_shape().dims[0].value
        if count == 0:
            return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
        input_shape.get_shape().assert_is_compatible_with([count])
        if base_paddings is None:
            base_paddings = zeros([count, 2], dtypes.int32)
        else:
            base_paddings = ops.convert_to_tensor(base_paddings, dtype=dtypes.int32, name="base_paddings")
            base_paddings.get_shape().assert_is_compatible_with([count, 2])
        known = [tensor_util.constant_value(t) for t in (block_shape, base_paddings, input_shape)]
        if all(value is not None for value in known):
            block_shape, base_paddings, input_shape = known
        start, end = base_paddings[:, 0], base_paddings[:, 1]
        whole = input_shape + start + end
        end_extra = (block_shape - whole % block_shape) % block_shape
        paddings = stack([[start[i], end[i] + end_extra[i]] for i in range(count)], name="paddings")
        crops = stack([[0, end_extra[i]] for i in range(count)], name="crops")
        return paddings, crops


@tf_export(v1=["nn.space_to_depth", "space_to_depth"])
def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    """Moves the places within blocks of the plane into the channels."""
    return gen_array_ops.space_to_depth(input, block_size, data_format, name=name)


@tf_export(v1=["nn.depth_to_space", "depth_to_space"])
def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    """Moves channels back into the plane: what undoes tf.space_to_depth."""
    return gen_array_ops.depth_to_space(input, block_size, data_format, name=name)


@tf_export(v1=["image.extract_image_patches", "extract_image_patches"])
def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None):
    """The parts of pictures under a window, with the window's content in the channels."""
    ksizes = deprecation.deprecated_argument_lookup("sizes", sizes, "ksizes", ksizes)
    return gen_array_ops.extract_image_patches(images, ksizes, strides, rates, padding, name)


@tf_export("image.extract_patches")
def extract_image_patches_v2(images, sizes, strides, rates, padding, name=None):
    """The parts of pictures under a window, with the window's content in the channels."""
    return gen_array_ops.extract_image_patches(images, sizes, strides, rates, padding, name)


@tf_export("fingerprint")
def fingerprint(data, method="farmhash64", name=None):
    """A hash of each row of a tensor, as 8 bytes."""
    return gen_array_ops.fingerprint(data, method, name)


# ---- Numbers of few bits ----


@tf_export("quantization.quantize_and_dequantize", v1=["quantization.quantize_and_dequantize"])
def quantize_and_dequantize(
    input,
    input_min,
    input_max,
    signed_input=True,
    num_bits=8,
    range_given=False,
    round_mode="HALF_TO_EVEN",
    name=None,
    narrow_range=False,
):
    """The numbers after rounding to those that `num_bits` bits can tell apart."""
    return gen_array_ops.quantize_and_dequantize_v2(
        input,
        input_min=input_min,
        input_max=input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        name=name,
        **({"narrow_range": True} if narrow_range else {}),
    )


@tf_export(v1=["quantize_v2"])
def quantize_v2(
    input, min_range, max_range, T, mode="MIN_COMBINED", name=None, round_mode="HALF_AWAY_FROM_ZERO"
):
    """Floating-point numbers of a range as integers of the quantized type T: (output, its min, its max)."""
    return gen_array_ops.quantize_v2(
        input, min_range, max_range, T=T, mode=mode, name=name, round_mode=round_mode
    )


@tf_export("quantization.quantize", v1=["quantization.quantize", "quantize"])
def quantize(
    input, min_range, max_range, T, mode="MIN_COMBINED", round_mode="HALF_AWAY_FROM_ZERO", name=None
):
    """Floating-point numbers of a range as integers of the quantized type T: (output, its min, its max)."""
    return quantize_v2(input, min_range, max_range, T, mode, name, round_mode)

"""Operations on SparseTensors."""

import collections.abc
import numbers

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework.sparse_tensor import SparseTensor
from braid.tensorflow.python.framework.sparse_tensor import SparseTensorValue
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_sparse_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_sparse_ops, name)


def _convert_to_sparse_tensor(sp_input):
    if isinstance(sp_input, SparseTensorValue):
        return SparseTensor.from_value(sp_input)
    if not isinstance(sp_input, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return sp_input


def _convert_to_sparse_tensors(sp_inputs):
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    return [_convert_to_sparse_tensor(sp_input) for sp_input in sp_inputs]


def _make_int64_tensor(value, name):
    if isinstance(value, (int, np.integer)):
        return ops.convert_to_tensor(value, name=name, dtype=dtypes.int64)
    if not isinstance(value, ops.Tensor):
        raise TypeError("{} must be an integer value".format(name))
    return value if value.dtype == dtypes.int64 else math_ops.cast(value, dtypes.int64)


# ---- Making and joining ----


@tf_export("sparse.from_dense")
def from_dense(tensor, name=None):
    """The SparseTensor of the elements that are not zero."""
    with ops.name_scope(name, "dense_to_sparse"):
        tensor = ops.convert_to_tensor(tensor)
        zero = "" if tensor.dtype == dtypes.string else 0
        places = array_ops.where_v2(math_ops.not_equal(tensor, constant_op.constant(zero, tensor.dtype)))
        values = array_ops.gather_nd(tensor, places)
        sizes = array_ops.shape(tensor, out_type=dtypes.int64)
        return SparseTensor(places, values, sizes)


@tf_export("sparse.eye")
def sparse_eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """A matrix with ones on its main diagonal."""
    with ops.name_scope(name, default_name="eye", values=[num_rows, num_columns]):
        num_rows = _make_int64_tensor(num_rows, "num_rows")
        num_columns = num_rows if num_columns is None else _make_int64_tensor(num_columns, "num_columns")
        count = math_ops.minimum(num_rows, num_columns)
        places = math_ops.range(count, dtype=dtypes.int64)
        return SparseTensor(
            indices=array_ops.stack([places, places], axis=1),
            values=array_ops.ones(count, dtype=dtype),
            dense_shape=[num_rows, num_columns],
        )


@tf_export("sparse.expand_dims")
def sparse_expand_dims(sp_input, axis=None, name=None):
    """Inserts a dimension of size 1 at `axis` (-1: after the last)."""
    rank = sp_input.dense_shape.get_shape().dims[0].value
    axis = -1 if axis is None else axis
    with ops.name_scope(name, default_name="expand_dims", values=[sp_input]):
        if isinstance(axis, (int, np.integer)):
            if rank is not None and not -rank - 1 <= axis <= rank:
                raise ValueError("axis value out of bounds: %d" % axis)
            axis = ops.convert_to_tensor(axis, name="axis", dtype=dtypes.int32)
        elif not isinstance(axis, ops.Tensor):
            raise TypeError("axis must be an integer value")
        if rank is None:
            rank = math_ops.cast(array_ops.shape(sp_input.dense_shape)[0], axis.dtype)
        axis = array_ops.where_v2(axis >= 0, axis, axis + rank + 1)
        columns, sizes = sp_input.indices, sp_input.dense_shape
        zeros = array_ops.zeros([array_ops.shape(columns)[0], 1], dtype=dtypes.int64)
        before = array_ops.slice(columns, [0, 0], [-1, axis])
        after = array_ops.slice(columns, [0, axis], [-1, -1])
        indices = array_ops.concat([before, zeros, after], axis=1)
        before = array_ops.slice(sizes, [0], [axis])
        after = array_ops.slice(sizes, [axis], [-1])
        one = ops.convert_to_tensor([1], name="new_shape", dtype=dtypes.int64)
        shape = array_ops.concat([before, one, after], axis=0)
        return SparseTensor(indices=indices, values=sp_input.values, dense_shape=shape)


@tf_export(v1=["sparse.concat", "sparse_concat"])
def sparse_concat(
    axis,
    sp_inputs,
    name=None,
    expand_nonconcat_dim=False,
    concat_dim=None,
    expand_nonconcat_dims=None,
):
    """Joins SparseTensors along a dimension.

    expand_nonconcat_dims: the other dimensions may differ, and the result has the greatest sizes.
    """
    expand = deprecation.deprecated_argument_lookup(
        "expand_nonconcat_dims", expand_nonconcat_dims, "expand_nonconcat_dim", expand_nonconcat_dim or None
    )
    axis = deprecation.deprecated_argument_lookup("axis", axis, "concat_dim", concat_dim)
    return sparse_concat_v2(axis, sp_inputs, bool(expand), name)


def sparse_concat_v2(axis, sp_inputs, expand_nonconcat_dims=False, name=None):
    inputs = _convert_to_sparse_tensors(sp_inputs)
    if len(inputs) == 1:
        return inputs[0]
    shapes = [x.dense_shape for x in inputs]
    if expand_nonconcat_dims:
        greatest = math_ops.reduce_max(array_ops.stack(shapes), axis=0)
        shapes = [
            array_ops.concat(
                [
                    greatest[:axis],
                    s[-1:] if axis == -1 else s[axis : axis + 1],
                    [] if axis == -1 else greatest[axis + 1 :],
                ],
                axis=0,
            )
            for s in shapes
        ]
    indices, values, dense_shape = gen_sparse_ops.sparse_concat(
        [x.indices for x in inputs], [x.values for x in inputs], shapes, axis, name=name
    )
    known = [tensor_util.constant_value(shape) for shape in shapes]
    if all(shape is not None for shape in known):
        dense_shape = known[0].copy()
        dense_shape[axis] = sum(shape[axis] for shape in known)
    return SparseTensor(indices, values, dense_shape)


@tf_export(v1=["sparse.add", "sparse_add"])
def sparse_add(a, b, threshold=None, thresh=None):
    """The sum of two SparseTensors, or of one and a Tensor.

    threshold: sums of smaller magnitude are left out of a SparseTensor.
    """
    threshold = deprecation.deprecated_argument_lookup("threshold", threshold, "thresh", thresh)
    return sparse_add_v2(a, b, 0 if threshold is None else threshold)


def sparse_add_v2(a, b, threshold=0):
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, kinds) and isinstance(b, kinds):
        a, b = _convert_to_sparse_tensor(a), _convert_to_sparse_tensor(b)
        threshold = ops.convert_to_tensor(threshold, dtype=a.values.dtype.real_dtype, name="threshold")
        indices, values, dense_shape = gen_sparse_ops.sparse_add(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, threshold
        )
        shape = a.get_shape().merge_with(b.get_shape())
        return SparseTensor(indices, values, shape.as_list() if shape.is_fully_defined() else dense_shape)
    if isinstance(b, kinds):
        a, b = b, a
    a = _convert_to_sparse_tensor(a)
    return gen_sparse_ops.sparse_tensor_dense_add(a.indices, a.values, a.dense_shape, b)


@tf_export("sparse.cross")
def sparse_cross(inputs, name=None, separator=None):
    """All combinations of one feature from each input in a row, as strings joined by "_X_"."""
    if separator not in (None, "_X_"):
        raise NotImplementedError(
            "sparse.cross: Braid joins features by '_X_' only; strings.join takes any separator"
        )
    return _sparse_cross_internal(inputs=inputs, hashed_output=False, name=name)


@tf_export("sparse.cross_hashed")
def sparse_cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """All combinations of one feature from each input in a row, as hashes below `num_buckets`."""
    return _sparse_cross_internal(
        inputs=inputs, hashed_output=True, num_buckets=num_buckets, hash_key=hash_key, name=name
    )


_DEFAULT_HASH_KEY = 0xDECAFCAFFE


def _sparse_cross_internal(inputs, hashed_output=False, num_buckets=0, hash_key=None, name=None):
    if not isinstance(inputs, (tuple, list)):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(i, (SparseTensor, ops.Tensor)) for i in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [i for i in inputs if isinstance(i, SparseTensor)]
    dense = [i for i in inputs if not isinstance(i, SparseTensor)]

    def of_two_types(tensor):
        return tensor if tensor.dtype == dtypes.string else math_ops.cast(tensor, dtypes.int64)

    internal = dtypes.int64 if any(i.dtype != dtypes.string for i in inputs) else dtypes.string
    indices, values, shape = gen_sparse_ops.sparse_cross(
        indices=[s.indices for s in sparse],
        values=[of_two_types(s.values) for s in sparse],
        shapes=[s.dense_shape for s in sparse],
        dense_inputs=[of_two_types(d) for d in dense],
        hashed_output=hashed_output,
        num_buckets=num_buckets,
        hash_key=hash_key or _DEFAULT_HASH_KEY,
        out_type=dtypes.int64 if hashed_output else dtypes.string,
        internal_type=internal,
        name=name,
    )
    return SparseTensor(indices, values, shape)


def sparse_dense_cwise_add(sp_t, dense_t):
    """The sum of a SparseTensor and the elements of a Tensor at its places."""
    values = gen_sparse_ops.sparse_dense_cwise_add(sp_t.indices, sp_t.values, sp_t.dense_shape, dense_t)
    return SparseTensor(sp_t.indices, values, sp_t.dense_shape)


# ---- Other places ----


@tf_export("sparse.reorder", v1=["sparse.reorder", "sparse_reorder"])
def sparse_reorder(sp_input, name=None):
    """The same elements in row-major order."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    indices, values = gen_sparse_ops.sparse_reorder(
        sp_input.indices, sp_input.values, sp_input.dense_shape, name=name
    )
    known = sp_input.get_shape()
    shape = known.as_list() if known.is_fully_defined() else array_ops.identity(sp_input.dense_shape)
    return SparseTensor(indices, values, shape)


# The ops of whose results TensorFlow 1.15 knows as much as Braid does when it builds a graph: the first ones
# whatever their inputs are.
_KNOWN_ALONE = {"Const", "Placeholder", "Rank", "Shape", "Size"}
_KNOWN_BY_INPUTS = set(
    "Cast Concat ConcatOffset ConcatV2 Equal Fill NotEqual Pack Range StridedSlice".split()
)


def _is_known_in_115(tensor):
    """Whether TensorFlow 1.15 knows as much of the tensor's value as Braid does."""
    if tensor.op.type in _KNOWN_BY_INPUTS:
        return all(_is_known_in_115(t) for t in tensor.op.inputs)
    return tensor.op.type in _KNOWN_ALONE


@tf_export("sparse.reshape", v1=["sparse.reshape", "sparse_reshape"])
def sparse_reshape(sp_input, shape, name=None):
    """The same elements in another shape; one size of it may be -1, for what is left."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    shape = math_ops.cast(shape, dtype=dtypes.int64)
    with ops.name_scope(name, "SparseReshape", [sp_input]) as name:
        indices, made_shape = gen_sparse_ops.sparse_reshape(
            sp_input.indices, sp_input.dense_shape, shape, name=name
        )
        asked, before = tensor_util.constant_value_as_shape(shape), sp_input.get_shape()
        if asked.ndims is not None and before.is_fully_defined() and _is_known_in_115(shape):
            given = tensor_util.constant_value(shape)
            if given is not None and (given == -1).sum() > 1:
                raise ValueError("At most one dimension can be inferred (-1). Found: %s" % given)
            count, sizes = before.num_elements(), asked.as_list()
            if sizes.count(None) == 1:
                others = int(np.prod([n for n in sizes if n is not None]))
                sizes[sizes.index(None)] = count // max(1, others)
            if None not in sizes:
                made = int(np.prod(sizes))
                if made != count:
                    raise ValueError(
                        "Cannot reshape a tensor with %d elements to shape %s (%d elements)."
                        % (count, asked.as_list(), made)
                    )
                made_shape = constant_op.constant(sizes, dtype=dtypes.int64)
        return SparseTensor(indices, array_ops.identity(sp_input.values), made_shape)


@tf_export("sparse.transpose", v1=["sparse.transpose", "sparse_transpose"])
def sparse_transpose(sp_input, perm=None, name=None):
    """Permutes the dimensions; without `perm` it reverses their order."""
    with ops.name_scope(name, "SparseTranspose", [sp_input]):
        if perm is None:
            rank = array_ops.rank(sp_input)
            perm = (rank - 1) - math_ops.range(0, rank, 1)
        indices = array_ops.transpose(array_ops.gather(array_ops.transpose(sp_input.indices), perm))
        known = tensor_util.constant_value(ops.convert_to_tensor(perm))
        before = sp_input.get_shape()
        if known is not None and before.is_fully_defined():
            shape = [before.dims[int(i)].value for i in known]
        else:
            shape = array_ops.gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, shape))


@tf_export(v1=["sparse.split", "sparse_split"])
def sparse_split(keyword_required=None, sp_input=None, num_split=None, axis=None, name=None, split_dim=None):
    """Cuts along a dimension into parts, the first ones of which may be greater by 1."""
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    axis = deprecation.deprecated_argument_lookup("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    sp_input = _convert_to_sparse_tensor(sp_input)
    parts = gen_sparse_ops.sparse_split(
        axis, sp_input.indices, sp_input.values, sp_input.dense_shape, num_split, name=name
    )
    return [SparseTensor(*part) for part in zip(*parts)]


def sparse_split_v2(sp_input=None, num_split=None, axis=None, name=None):
    return sparse_split(sp_input=sp_input, num_split=num_split, axis=axis, name=name)


@tf_export("sparse.slice", v1=["sparse.slice", "sparse_slice"])
def sparse_slice(sp_input, start, size, name=None):
    """The part that begins at `start` and has the sizes `size`."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    start = ops.convert_to_tensor(start, dtypes.int64)
    size = ops.convert_to_tensor(size, dtypes.int64)
    with ops.name_scope(name, "SparseSlice", [sp_input]) as name:
        return SparseTensor(
            *gen_sparse_ops.sparse_slice(
                sp_input.indices, sp_input.values, sp_input.dense_shape, start, size, name=name
            )
        )


@tf_export("sparse.retain", v1=["sparse.retain", "sparse_retain"])
def sparse_retain(sp_input, to_retain):
    """The elements for which a vector of booleans is true."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    to_retain = ops.convert_to_tensor(to_retain)
    known = to_retain.get_shape()
    known.assert_has_rank(1)
    count = sp_input.values.get_shape()
    if known.ndims is not None and count.ndims is not None:
        count.dims[0].merge_with(known.dims[0])
    kept = array_ops.reshape(array_ops.where(to_retain), [-1])
    return SparseTensor(
        array_ops.gather(sp_input.indices, kept),
        array_ops.gather(sp_input.values, kept),
        array_ops.identity(sp_input.dense_shape),
    )


@tf_export("sparse.reset_shape", v1=["sparse.reset_shape", "sparse_reset_shape"])
def sparse_reset_shape(sp_input, new_shape=None):
    """The same elements in a larger shape; None: in the smallest that holds them."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    indices = array_ops.identity(sp_input.indices)
    values = array_ops.identity(sp_input.values)
    before = array_ops.identity(sp_input.dense_shape)
    if new_shape is None:
        lowest = -array_ops.ones([1, array_ops.shape(before)[0]], dtypes.int64)  # of no elements
        highest = math_ops.reduce_max(array_ops.concat([lowest, sp_input.indices], 0), axis=0)
        return SparseTensor(indices, values, highest + array_ops.ones_like(before))
    shape = math_ops.cast(ops.convert_to_tensor(new_shape), dtypes.int64)
    shape.get_shape().assert_has_rank(1)
    before.get_shape().merge_with(shape.get_shape())
    static = sp_input.get_shape()
    new_static = tensor_util.constant_value_as_shape(shape)
    if static.is_fully_defined() and new_static.is_fully_defined():
        if any(a.value > b.value for a, b in zip(static.dims, new_static.dims)):
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape (%s), "
                "sp_input.shape (%s)." % (new_static, static)
            )
        return SparseTensor(indices, values, shape)
    same_rank = check_ops.assert_equal(array_ops.shape(before), array_ops.shape(shape))
    with ops.control_dependencies([same_rank]):
        fits = check_ops.assert_less_equal(before, array_ops.identity(shape))
    with ops.control_dependencies([fits]):
        shape = array_ops.identity(shape)
    return SparseTensor(indices, values, shape)


@tf_export("sparse.fill_empty_rows", v1=["sparse.fill_empty_rows", "sparse_fill_empty_rows"])
def sparse_fill_empty_rows(sp_input, default_value, name=None):
    """The matrix with a value in the first column of empty rows: (matrix, which rows were empty)."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    with ops.name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default_value = ops.convert_to_tensor(default_value, dtype=sp_input.values.dtype)
        indices, values, is_empty, _ = gen_sparse_ops.sparse_fill_empty_rows(
            indices=sp_input.indices,
            values=sp_input.values,
            dense_shape=sp_input.dense_shape,
            default_value=default_value,
        )
        return SparseTensor(indices, values, sp_input.dense_shape), is_empty


# ---- Dense tensors ----


@tf_export(v1=["sparse_to_dense"])
def sparse_to_dense(
    sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None
):
    """A tensor with values at places and `default_value` elsewhere; one value may be for all places."""
    return gen_sparse_ops.sparse_to_dense(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value=default_value,
        validate_indices=validate_indices,
        name=name,
    )


@tf_export("sparse.to_dense", v1=["sparse.to_dense", "sparse_tensor_to_dense"])
def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The dense tensor, with `default_value` (zero) where there is no element."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    if default_value is None:
        default_value = array_ops.zeros([], dtype=sp_input.dtype)
    return gen_sparse_ops.sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value=default_value,
        validate_indices=validate_indices,
        name=name,
    )


@tf_export("sparse.to_indicator", v1=["sparse.to_indicator", "sparse_to_indicator"])
def sparse_to_indicator(sp_input, vocab_size, name=None):
    """For each row of numbers a vector of booleans that is true at them, [..., vocab_size]."""
    sp_input = _convert_to_sparse_tensor(sp_input)
    with ops.name_scope(name, "SparseToIndicator", [sp_input]) as name:
        count = array_ops.shape(sp_input.indices)[0]
        true_values = array_ops.fill(array_ops.expand_dims(count, 0), True)
        values = SparseTensor(sp_input.indices, true_values, sp_input.dense_shape)
        made = sparse_merge_impl(sp_input, values, vocab_size)
        return sparse_tensor_to_dense(made, default_value=False, validate_indices=False, name=name)


@tf_export(v1=["sparse.merge", "sparse_merge"])
def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    """The values at the places that the ids name in a last dimension of size `vocab_size`."""
    return sparse_merge_impl(sp_ids, sp_values, vocab_size, name, already_sorted)


def sparse_merge_impl(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    if isinstance(sp_ids, (SparseTensorValue, SparseTensor)):
        sp_ids = [sp_ids]
        if isinstance(vocab_size, ops.Tensor) or isinstance(vocab_size, numbers.Integral):
            vocab_size = [vocab_size]
        else:
            raise TypeError("vocab_size has to be a Tensor or Python int. Found %s" % type(vocab_size))
    elif not isinstance(sp_ids, collections.abc.Iterable):
        raise TypeError("sp_ids has to be a SparseTensor or list thereof. Found %s" % type(sp_ids))
    elif not isinstance(vocab_size, collections.abc.Iterable):
        raise TypeError("vocab_size has to be a list of Tensors or Python ints. Found %s" % type(vocab_size))
    if len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with ops.name_scope(name, "SparseMerge", [sp_ids, sp_values]):
        sp_ids = [_convert_to_sparse_tensor(ids) for ids in sp_ids]
        sp_values = _convert_to_sparse_tensor(sp_values)
        columns = []
        for ids in sp_ids:
            values = ids.values
            if values.dtype != dtypes.int64:
                values = math_ops.cast(values, dtypes.int64)
            columns.append(array_ops.expand_dims(values, axis=1))
        sizes = [math_ops.cast(n, dtypes.int64) for n in vocab_size]
        indices = array_ops.concat([sp_ids[0].indices[:, :-1]] + columns, axis=1)
        shape = array_ops.concat([sp_ids[0].dense_shape[:-1], sizes], axis=0)
        made = SparseTensor(indices, sp_values.values, shape)
        return made if already_sorted else sparse_reorder(made)


# ---- Reductions ----


def _reduction(build, sp_input, axis, keepdims, name=None):
    sp_input = _convert_to_sparse_tensor(sp_input)
    return build(
        sp_input.indices,
        sp_input.values,
        sp_input.dense_shape,
        math_ops._ReductionDims(sp_input, axis),
        bool(keepdims),
        name=name,
    )


def _axis_and_keepdims(axis, keepdims, reduction_axes, keep_dims):
    keepdims = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecation.deprecated_argument_lookup("axis", axis, "reduction_axes", reduction_axes)
    return axis, bool(keepdims)


@tf_export(v1=["sparse.reduce_sum", "sparse_reduce_sum"])
def sparse_reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """The sum along the dimensions of `axis`, None for all, as a Tensor."""
    axis, keepdims = _axis_and_keepdims(axis, keepdims, reduction_axes, keep_dims)
    return _reduction(gen_sparse_ops.sparse_reduce_sum, sp_input, axis, keepdims)


@tf_export(v1=["sparse.reduce_max", "sparse_reduce_max"])
def sparse_reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """The greatest of the elements that are there along the dimensions of `axis`, as a Tensor."""
    axis, keepdims = _axis_and_keepdims(axis, keepdims, reduction_axes, keep_dims)
    return _reduction(gen_sparse_ops.sparse_reduce_max, sp_input, axis, keepdims)


@tf_export(v1=["sparse.reduce_sum_sparse", "sparse_reduce_sum_sparse"])
def sparse_reduce_sum_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """The sum along the dimensions of `axis` as a SparseTensor."""
    axis, keepdims = _axis_and_keepdims(axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*_reduction(gen_sparse_ops.sparse_reduce_sum_sparse, sp_input, axis, keepdims))


@tf_export(v1=["sparse.reduce_max_sparse", "sparse_reduce_max_sparse"])
def sparse_reduce_max_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """The greatest of the elements that are there along the dimensions of `axis`, as a SparseTensor."""
    axis, keepdims = _axis_and_keepdims(axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*_reduction(gen_sparse_ops.sparse_reduce_max_sparse, sp_input, axis, keepdims))


def sparse_reduce_sum_v2(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    reduce = sparse_reduce_sum_sparse if output_is_sparse else sparse_reduce_sum
    return reduce(sp_input, axis, keepdims)


def sparse_reduce_max_v2(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    reduce = sparse_reduce_max_sparse if output_is_sparse else sparse_reduce_max
    return reduce(sp_input, axis, keepdims)


# ---- Serialization ----


@tf_export(v1=["io.serialize_sparse", "serialize_sparse"])
def serialize_sparse(sp_input, name=None, out_type=dtypes.string):
    """The parts of a SparseTensor as a vector of 3 strings or variants."""
    return serialize_sparse_v2(sp_input, out_type, name)


def serialize_sparse_v2(sp_input, out_type=dtypes.string, name=None):
    sp_input = _convert_to_sparse_tensor(sp_input)
    return gen_sparse_ops.serialize_sparse(
        sp_input.indices, sp_input.values, sp_input.dense_shape, name=name, out_type=out_type
    )


@tf_export(v1=["io.serialize_many_sparse", "serialize_many_sparse"])
def serialize_many_sparse(sp_input, name=None, out_type=dtypes.string):
    """The parts of each row of a SparseTensor as strings or variants, [rows, 3]."""
    return serialize_many_sparse_v2(sp_input, out_type, name)


def serialize_many_sparse_v2(sp_input, out_type=dtypes.string, name=None):
    sp_input = _convert_to_sparse_tensor(sp_input)
    return gen_sparse_ops.serialize_many_sparse(
        sp_input.indices, sp_input.values, sp_input.dense_shape, name=name, out_type=out_type
    )


def _of_rank(parts, rank):
    indices, values, shape = parts
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def deserialize_sparse(serialized_sparse, dtype, rank=None, name=None):
    """A SparseTensor from strings or variants of tf.io.serialize_sparse, [..., 3]."""
    parts = gen_sparse_ops.deserialize_sparse(serialized_sparse, dtype, name=name)
    return _of_rank(parts, rank)


@tf_export("io.deserialize_many_sparse", v1=["io.deserialize_many_sparse", "deserialize_many_sparse"])
def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
    """A SparseTensor from strings, [rows, 3]. rank: of the result."""
    parts = gen_sparse_ops.deserialize_many_sparse(serialized_sparse, dtype, name=name)
    return _of_rank(parts, rank)


def _add_sparse_to_tensors_map(sp_input, container=None, shared_name=None, name=None):
    sp_input = _convert_to_sparse_tensor(sp_input)
    return gen_sparse_ops.add_sparse_to_tensors_map(
        sp_input.indices,
        sp_input.values,
        sp_input.dense_shape,
        container=container or "",
        shared_name=shared_name or "",
        name=name,
    )


def _add_many_sparse_to_tensors_map(sp_input, container=None, shared_name=None, name=None):
    sp_input = _convert_to_sparse_tensor(sp_input)
    return gen_sparse_ops.add_many_sparse_to_tensors_map(
        sp_input.indices,
        sp_input.values,
        sp_input.dense_shape,
        container=container or "",
        shared_name=shared_name or "",
        name=name,
    )


def _take_many_sparse_from_tensors_map(sparse_map_op, sparse_handles, rank=None, name=None):
    """The SparseTensors of handles, which an op has put into its map, joined along a new first dimension."""
    if not isinstance(sparse_map_op, ops.Operation):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.type not in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
        raise TypeError("sparse_map_op must be one of AddSparseToTensorsMap, AddSparseToTensorsMap")
    with ops.colocate_with(sparse_map_op):
        parts = gen_sparse_ops.take_many_sparse_from_tensors_map(
            sparse_handles,
            dtype=sparse_map_op.get_attr("T"),
            container=compat.as_text(sparse_map_op.get_attr("container")),
            shared_name=compat.as_text(sparse_map_op.get_attr("shared_name")) or sparse_map_op.name,
            name=name,
        )
    return _of_rank(parts, rank)


# ---- Products and others ----


@tf_export(
    "sparse.sparse_dense_matmul",
    v1=["sparse.sparse_dense_matmul", "sparse.matmul", "sparse_tensor_dense_matmul"],
)
def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a SparseTensor and a Tensor, both matrices. adjoint_a, adjoint_b: of their adjoints."""
    sp_a = _convert_to_sparse_tensor(sp_a)
    with ops.name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]) as name:
        b = ops.convert_to_tensor(b, name="b")
        return gen_sparse_ops.sparse_tensor_dense_mat_mul(
            a_indices=sp_a.indices,
            a_values=sp_a.values,
            a_shape=sp_a.dense_shape,
            b=b,
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
        )


@tf_export("sparse.softmax", v1=["sparse.softmax", "sparse_softmax"])
def sparse_softmax(sp_input, name=None):
    """The softmax of the elements that are there along the last dimension."""
    with ops.name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]) as name:
        values = gen_sparse_ops.sparse_softmax(sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


@tf_export("sparse.maximum", v1=["sparse.maximum", "sparse_maximum"])
def sparse_maximum(sp_a, sp_b, name=None):
    """The greater of the elements of two SparseTensors; what is not there is 0."""
    return _of_both(gen_sparse_ops.sparse_sparse_maximum, "SparseSparseMaximum", sp_a, sp_b, name)


@tf_export("sparse.minimum", v1=["sparse.minimum", "sparse_minimum"])
def sparse_minimum(sp_a, sp_b, name=None):
    """The lesser of the elements of two SparseTensors; what is not there is 0."""
    return _of_both(gen_sparse_ops.sparse_sparse_minimum, "SparseSparseMinimum", sp_a, sp_b, name)


def _of_both(build, scope, sp_a, sp_b, name):
    with ops.name_scope(name, scope, [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]) as name:
        indices, values = build(
            sp_a.indices,
            sp_a.values,
            sp_a.dense_shape,
            sp_b.indices,
            sp_b.values,
            sp_b.dense_shape,
            name=name,
        )
    return SparseTensor(indices, values, sp_a.dense_shape)

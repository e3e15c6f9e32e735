"""What the distributions share."""

import functools
import hashlib
import inspect
import math

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops

# ---- Parameters ----


def positive(validate_args, *values, message=None):
    """A block whose ops run after the check that all values are positive, if arguments are validated."""
    checks = [check_ops.assert_positive(value, message=message) for value in values if validate_args]
    return ops.control_dependencies(checks)


def positive_parameter(value, name, validate_args, message=None):
    """A parameter as a tensor, which is checked in the step if arguments are validated."""
    value = ops.convert_to_tensor(value, name=name)
    if not validate_args:
        return value
    return control_flow_ops.with_dependencies([check_ops.assert_positive(value, message=message)], value)


def same_float_dtype(*tensors):
    """The one type of all tensors."""
    return check_ops.assert_same_float_dtype(list(tensors))


def get_logits_and_probs(
    logits=None,
    probs=None,
    multidimensional=False,
    validate_args=False,
    name="get_logits_and_probs",
    dtype=None,
):
    """(logits, probabilities) from one of both. multidimensional: of classes, in the last dimension."""
    with ops.name_scope(name or "get_logits_and_probs", values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = ops.convert_to_tensor(logits, name="logits", dtype=dtype)
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if not multidimensional:
                return logits, math_ops.sigmoid(logits, name="probs")
            if validate_args:
                logits = embed_check_categorical_event_shape(logits)
            return logits, nn_ops.softmax(logits, name="probs")
        probs = ops.convert_to_tensor(probs, name="probs", dtype=dtype)
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            with ops.name_scope("validate_probs"):
                one = ops.convert_to_tensor(1.0, probs.dtype.base_dtype)
                checks = [check_ops.assert_non_negative(probs)]
                if multidimensional:
                    probs = embed_check_categorical_event_shape(probs)
                    total = math_ops.reduce_sum(probs, -1)
                    checks.append(check_ops.assert_near(total, one, message="probs does not sum to 1."))
                else:
                    message = "probs has components greater than 1."
                    checks.append(check_ops.assert_less_equal(probs, one, message=message))
                probs = control_flow_ops.with_dependencies(checks, probs)
        with ops.name_scope("logits"):
            if multidimensional:
                return math_ops.log(probs), probs
            return math_ops.log(probs) - math_ops.log1p(-1.0 * probs), probs


# ---- Checks ----


def assert_integer_form(
    x, data=None, summarize=None, message=None, int_dtype=None, name="assert_integer_form"
):
    """An operation that fails in the step unless all of x are whole numbers. `int_dtype`: holds them."""
    with ops.name_scope(name, values=[x, data]):
        x = ops.convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return control_flow_ops.no_op()
        if int_dtype is None:
            wholes = {
                dtypes.float16: dtypes.int16,
                dtypes.float32: dtypes.int32,
                dtypes.float64: dtypes.int64,
            }
            if x.dtype.base_dtype not in wholes:
                raise TypeError(f"Unrecognized type {x.dtype.name}")
            int_dtype = wholes[x.dtype.base_dtype]
        message = message or f"{x.op.name} has non-integer components"
        whole = math_ops.cast(math_ops.cast(x, int_dtype), x.dtype)
        return check_ops.assert_equal(x, whole, data=data, summarize=summarize, message=message, name=name)


def assert_symmetric(matrix):
    """The matrix, which is checked in the step."""
    same = check_ops.assert_equal(matrix, array_ops.matrix_transpose(matrix))
    return control_flow_ops.with_dependencies([same], matrix)


def embed_check_nonnegative_integer_form(x, name="embed_check_nonnegative_integer_form"):
    """x, whose elements are checked in the step to be whole and not negative."""
    with ops.name_scope(name, values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        checks = [check_ops.assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not x.dtype.is_integer:
            checks.append(assert_integer_form(x, message=f"'{x}' cannot contain fractional components."))
        return control_flow_ops.with_dependencies(checks, x)


def _is_known(dtype):
    return dtype.is_floating or dtype.is_integer or dtype.base_dtype == dtypes.bool


def _is_integer_like_by_dtype(dtype):
    if not _is_known(dtype):
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    return dtype.is_integer or dtype.base_dtype == dtypes.bool


def _largest_integer_by_dtype(dtype):
    """The greatest n such that all whole numbers from 0 to n have a value of the type."""
    if not _is_known(dtype):
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    if dtype.is_floating:
        return 2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1)
    return 1 if dtype.base_dtype == dtypes.bool else int(np.iinfo(dtype.as_numpy_dtype).max)


def _smallest_integer_by_dtype(dtype):
    if not _is_known(dtype):
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    if dtype.base_dtype == dtypes.bool or (dtype.is_integer and dtype.is_unsigned):
        return 0
    return -_largest_integer_by_dtype(dtype)


def embed_check_categorical_event_shape(categorical_param, name="embed_check_categorical_event_shape"):
    """Parameters of classes, whose number is checked: two at least, and no more than the type can count.

    ValueError: the static shape says that it is not so; TypeError: the type counts nothing.
    """
    with ops.name_scope(name, values=[categorical_param]):
        x = ops.convert_to_tensor(categorical_param, name="categorical_param")
        dtype = x.dtype.base_dtype
        if not _is_known(dtype):
            raise TypeError(f"Unable to validate size of unrecognized dtype ({dtype.name}).")
        most = _largest_integer_by_dtype(dtype)
        rank_error = "A categorical-distribution parameter must have at least 1 dimension."
        few_error = "A categorical-distribution parameter must have at least 2 events."
        if x.shape.ndims == 0:
            raise ValueError(rank_error)
        events = None if x.shape.ndims is None else x.shape.as_list()[-1]
        if events is not None:
            if events < 2:
                raise ValueError(few_error)
            if events > most:
                raise ValueError(
                    f"Number of classes exceeds `dtype` precision, i.e., {dtype.name} implies shape ({events}) "
                    f"cannot exceed {most}."
                )
            return x
        events = array_ops.shape(x, out_type=dtypes.int64, name="x_shape")[-1]
        many_error = f"Number of classes exceeds `dtype` precision, i.e., {dtype.name} dtype cannot exceed {most} shape."
        checks = [
            check_ops.assert_rank_at_least(x, 1, message=rank_error),
            check_ops.assert_greater_equal(events, np.int64(2), message=few_error),
            check_ops.assert_less_equal(events, np.int64(min(most, 2**63 - 1)), message=many_error),
        ]
        return control_flow_ops.with_dependencies(checks, x)


def embed_check_integer_casting_closed(
    x, target_dtype, assert_nonnegative=True, name="embed_check_casting_closed"
):
    """x, whose elements are checked in the step to be whole numbers that the target type has, too."""
    with ops.name_scope(name, values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        target_dtype = dtypes.as_dtype(target_dtype)
        if not _is_known(x.dtype):
            raise TypeError(f"{x.dtype.name}.dtype must be floating- or integer-type.")
        if not _is_known(target_dtype):
            raise TypeError(f"target_dtype ({target_dtype.name}) must be floating- or integer-type.")
        if not _is_integer_like_by_dtype(x.dtype) and not _is_integer_like_by_dtype(target_dtype):
            raise TypeError(
                f"At least one of {x}.dtype ({x.dtype.name}) and target_dtype ({target_dtype.name}) must be "
                "integer-type."
            )
        checks = []
        if assert_nonnegative:
            checks.append(check_ops.assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            message = f"Elements must be {target_dtype.name}-equivalent."
            checks.append(assert_integer_form(x, int_dtype=target_dtype, message=message))
        else:
            most, least = _largest_integer_by_dtype(target_dtype), _smallest_integer_by_dtype(target_dtype)
            if _largest_integer_by_dtype(x.dtype) > most:
                checks.append(check_ops.assert_less_equal(x, most, message=f"Elements cannot exceed {most}."))
            if not assert_nonnegative and _smallest_integer_by_dtype(x.dtype) < least:
                message = f"Elements cannot be smaller than {least}."
                checks.append(check_ops.assert_greater_equal(x, least, message=message))
        return control_flow_ops.with_dependencies(checks, x)


# ---- Values and shapes, at once where they are known ----


def maybe_get_static_value(x, dtype=None):
    """The value of a tensor as an array of numpy, None where it is known only in the step; another x itself."""
    value = tensor_util.constant_value(x) if tensor_util.is_tensor(x) else x
    return value if value is None or dtype is None else np.array(value, dtype)


def same_dynamic_shape(a, b):
    """Whether two tensors have the same shape, as a tensor."""
    a, b = ops.convert_to_tensor(a, name="a"), ops.convert_to_tensor(b, name="b")
    shape_a, shape_b = array_ops.shape(a), array_ops.shape(b)
    # Put together, the shapes have one length whatever the ranks are.
    both, turned = array_ops.concat([shape_a, shape_b], 0), array_ops.concat([shape_b, shape_a], 0)
    return math_ops.logical_and(
        math_ops.equal(array_ops.rank(a), array_ops.rank(b)),
        math_ops.reduce_all(math_ops.equal(both, turned)),
    )


def prefer_static_rank(x):
    """The rank, an array of numpy where it is known."""
    return prefer_static_value(array_ops.rank(x))


def prefer_static_shape(x):
    """The shape, an array of numpy where it is known."""
    return prefer_static_value(array_ops.shape(x))


def prefer_static_value(x):
    """The value of a tensor, an array of numpy where it is known."""
    static = tensor_util.constant_value(x)
    return x if static is None else static


def prefer_static_broadcast_shape(shape1, shape2, name="prefer_static_broadcast_shape"):
    """The shape of what is broadcast: a TensorShape where it is known, else a tensor."""

    def static(shape):
        known = tensor_util.constant_value_as_shape(ops.convert_to_tensor(shape, dtypes.int32))
        return known if known.is_fully_defined() else None

    def dynamic(shape):
        return ops.convert_to_tensor(
            shape.as_list() if isinstance(shape, tensor_shape.TensorShape) else shape
        )

    with ops.name_scope(name, values=[shape1, shape2]):
        known = [s if isinstance(s, tensor_shape.TensorShape) else static(s) for s in (shape1, shape2)]
        if all(s is not None and s.ndims is not None for s in known):
            return array_ops.broadcast_static_shape(*known)
        if any(
            isinstance(s, tensor_shape.TensorShape) and not s.is_fully_defined() for s in (shape1, shape2)
        ):
            raise ValueError("Cannot broadcast from partially defined `TensorShape`.")
        return array_ops.broadcast_dynamic_shape(dynamic(shape1), dynamic(shape2))


def dimension_size(x, axis):
    """The size of a dimension, a number where it is known."""
    known = tensor_shape.dimension_value(x.shape.with_rank_at_least(abs(axis))[axis])
    return array_ops.shape(x)[axis] if known is None else known


def pick_vector(cond, true_vector, false_vector, name="pick_vector"):
    """One of two vectors, by a scalar condition."""
    with ops.name_scope(name, values=(cond, true_vector, false_vector)):
        cond = ops.convert_to_tensor(cond, name="cond")
        if cond.dtype != dtypes.bool:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {dtypes.bool}")
        static = tensor_util.constant_value(cond)
        if static is not None:
            return true_vector if static else false_vector
        true_vector = ops.convert_to_tensor(true_vector, name="true_vector")
        false_vector = ops.convert_to_tensor(false_vector, name="false_vector")
        if true_vector.dtype != false_vector.dtype:
            raise TypeError(
                f"{true_vector}.dtype={true_vector.dtype} does not match {false_vector}.dtype={false_vector.dtype}"
            )
        size = array_ops.shape(true_vector)[0]
        both = array_ops.concat([true_vector, false_vector], 0)
        begin = array_ops.where_v2(cond, 0, size)
        return array_ops.slice(both, [begin], [array_ops.where_v2(cond, size, -1)])


def gen_new_seed(seed, salt):
    """Another seed that follows from a seed and a word; None of None."""
    if seed is None:
        return None
    return int(hashlib.md5((str(seed) + salt).encode("utf-8")).hexdigest()[:8], 16) & 0x7FFFFFFF


# ---- Matrices ----


def matrix_diag_transform(matrix, transform=None, name=None):
    """A matrix whose diagonal is transform(diagonal)."""
    with ops.name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = ops.convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return array_ops.matrix_set_diag(matrix, transform(array_ops.matrix_diag_part(matrix)))


def rotate_transpose(x, shift, name="rotate_transpose"):
    """x with its dimensions rotated to the right by shift."""
    with ops.name_scope(name, values=[x, shift]):
        x = ops.convert_to_tensor(x, name="x")
        shift = ops.convert_to_tensor(shift, name="shift")
        check_ops.assert_integer(shift)
        static, rank = tensor_util.constant_value(shift), x.shape.ndims
        if rank is not None and static is not None:
            if rank < 2 or static % rank == 0:
                return x
            return array_ops.transpose(x, np.roll(np.arange(rank), static))
        rank = array_ops.rank(x)
        left = array_ops.where_v2(
            shift < 0, math_ops.floormod(-shift, rank), rank - math_ops.floormod(shift, rank)
        )
        first, last = math_ops.range(0, left), math_ops.range(left, rank)
        return array_ops.transpose(x, array_ops.concat([last, first], 0))


def fill_triangular(x, upper=False, name=None):
    """Triangular matrices of the vectors in the last dimension, which have n * (n + 1) / 2 elements.

    The rows are filled from the vector and its reverse, as in a clockwise spiral. ValueError: no n fits.
    """
    with ops.name_scope(name, "fill_triangular", values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        length = tensor_shape.dimension_value(x.shape.with_rank_at_least(1)[-1])
        if length is not None:
            n = int(math.sqrt(0.25 + 2 * length) - 0.5)
            if n * (n + 1) // 2 != length:
                raise ValueError(
                    f"Input right-most shape ({length}) does not correspond to a triangular matrix."
                )
            shape = x.shape[:-1].concatenate([n, n])
        else:
            length = array_ops.shape(x)[-1]
            whole = math_ops.sqrt(0.25 + math_ops.cast(2 * length, dtypes.float32))
            n = math_ops.cast(whole - 0.5 + 1e-3, dtypes.int32)
            shape = x.shape.with_rank_at_least(1)[:-1].concatenate([None, None])
        # The n * n numbers are the vector without its first n elements, and the whole of it, reversed.
        last = prefer_static_rank(x) - 1
        tail = x[..., n:]
        numbers = (
            [x, array_ops.reverse(tail, axis=[last])] if upper else [tail, array_ops.reverse(x, axis=[last])]
        )
        if shape.is_fully_defined():
            whole = shape.as_list()
        else:
            whole = array_ops.concat([array_ops.shape(x)[:-1], [n, n]], axis=0)
        made = array_ops.reshape(array_ops.concat(numbers, axis=-1), whole)
        made = array_ops.matrix_band_part(made, num_lower=0 if upper else -1, num_upper=-1 if upper else 0)
        made.set_shape(shape)
        return made


def fill_triangular_inverse(x, upper=False, name=None):
    """The vectors of which fill_triangular makes the matrices."""
    with ops.name_scope(name, "fill_triangular_inverse", values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        n = tensor_shape.dimension_value(x.shape.with_rank_at_least(2)[-1])
        if n is not None:
            length = n * (n + 1) // 2
            shape = x.shape[:-2].concatenate([length])
        else:
            n = array_ops.shape(x)[-1]
            length = n * (n + 1) // 2
            shape = x.shape.with_rank_at_least(2)[:-2].concatenate([None])
        # One row holds the first n numbers. Of the others, each place of the triangle and the opposite place
        # (which is 0) hold one number; the sum of both, from the front, is the rest of the vector.
        rank = prefer_static_rank(x)
        if upper:
            first, rows = x[..., 0, :], x[..., 1:, :]
        else:
            first, rows = array_ops.reverse(x[..., -1, :], axis=[rank - 2]), x[..., :-1, :]
        both = rows + array_ops.reverse(array_ops.reverse(rows, axis=[rank - 1]), axis=[rank - 2])
        flat = array_ops.reshape(both, array_ops.concat([array_ops.shape(x)[:-2], [n * (n - 1)]], axis=0))
        made = array_ops.concat([first, flat[..., : length - n]], axis=-1)
        made.set_shape(shape)
        return made


def tridiag(below=None, diag=None, above=None, name=None):
    """A matrix with nonzeros in three diagonals: [..., n - 1], [..., n] and [..., n - 1] of them.

    ValueError: none is given.
    """

    def band(values, part, rows, columns):
        """The matrix of a vector with zeros at its ends on the diagonal, without a row and a column."""
        values = ops.convert_to_tensor(values, name=part)
        zeros = array_ops.concat([array_ops.shape(values)[:-1], [1]], axis=0)
        zeros = array_ops.zeros(zeros, dtype=values.dtype)
        return array_ops.matrix_diag(array_ops.concat([zeros, values, zeros], axis=-1))[..., rows, columns]

    with ops.name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            parts.append(band(below, "below", slice(None, -1), slice(1, None)))
        if diag is not None:
            parts.append(array_ops.matrix_diag(ops.convert_to_tensor(diag, name="diag")))
        if above is not None:
            parts.append(band(above, "above", slice(1, None), slice(None, -1)))
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        return functools.reduce(lambda a, b: a + b, parts)


# ---- Functions ----


def log_combinations(n, counts, name="log_combinations"):
    """The logarithm of n! / (counts[0]! ... counts[-1]!), by the last dimension of counts."""
    with ops.name_scope(name, values=[n, counts]):
        n, counts = ops.convert_to_tensor(n, name="n"), ops.convert_to_tensor(counts, name="counts")
        return math_ops.lgamma(n + 1) - math_ops.reduce_sum(math_ops.lgamma(counts + 1), axis=[-1])


def reduce_weighted_logsumexp(logx, w=None, axis=None, keep_dims=False, return_sign=False, name=None):
    """log(abs(sum(w * exp(logx)))), with the sum's sign as a second result if it is asked for."""
    with ops.name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = ops.convert_to_tensor(logx, name="logx")
        if w is None:
            total = math_ops.reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (total, array_ops.ones_like(total)) if return_sign else total
        w = ops.convert_to_tensor(w, dtype=logx.dtype, name="w")
        log_abs = logx + math_ops.log(math_ops.abs(w))
        most = math_ops.reduce_max(log_abs, axis=axis, keepdims=True)
        # The result is the same for each finite number in place of the maximum: no gradient goes through it.
        finite = math_ops.is_finite(most)
        most = array_ops.stop_gradient(array_ops.where_v2(finite, most, array_ops.zeros_like(most)))
        terms = math_ops.sign(w) * math_ops.exp(log_abs - most)
        total = math_ops.reduce_sum(terms, axis=axis, keepdims=keep_dims)
        sign = math_ops.sign(total)
        if not keep_dims:
            most = array_ops.squeeze(most, axis)
        result = most + math_ops.log(sign * total)
        return (result, sign) if return_sign else result


def softplus_inverse(x, name=None):
    """The y at which log(1 + exp(y)) is x."""
    with ops.name_scope(name, "softplus_inverse", values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        # For small x, exp(y) is x up to the type's accuracy; for large x, y is x.
        threshold = math.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        small, large = x < math.exp(threshold), x > -threshold
        at_small = math_ops.log(x)
        inner = array_ops.where_v2(math_ops.logical_or(small, large), array_ops.ones_like(x), x)
        middle = inner + math_ops.log(-math_ops.expm1(-inner))
        return array_ops.where_v2(small, at_small, array_ops.where_v2(large, x, middle))


def process_quadrature_grid_and_probs(quadrature_grid_and_probs, dtype, validate_args, name=None):
    """(grid, probabilities) of a quadrature: those given, or Gauss's and Hermite's of 20 points."""
    with ops.name_scope(name, "process_quadrature_grid_and_probs", [quadrature_grid_and_probs]):
        if quadrature_grid_and_probs is None:
            grid, probs = np.polynomial.hermite.hermgauss(deg=20)
            probs = probs.astype(dtype.as_numpy_dtype)
            probs /= np.linalg.norm(probs, ord=1, keepdims=True)
            return (
                ops.convert_to_tensor(grid.astype(dtype.as_numpy_dtype), name="grid"),
                ops.convert_to_tensor(probs, name="probs", dtype=dtype),
            )
        grid, probs = quadrature_grid_and_probs
        grid = ops.convert_to_tensor(grid, name="grid", dtype=dtype)
        probs = ops.convert_to_tensor(probs, name="unnormalized_probs", dtype=dtype)
        probs /= linalg_ops.norm(probs, ord=1, axis=-1, keepdims=True, name="probs")
        sizes = dimension_size(grid, -1), dimension_size(probs, -1)
        if all(isinstance(size, int) for size in sizes):
            if sizes[0] != sizes[1]:
                raise ValueError(
                    "`quadrature_grid_and_probs` must be a `tuple` of same-length zero-th-dimension `Tensor`s "
                    f"(saw lengths {sizes[0]}, {sizes[1]})"
                )
        elif validate_args:
            message = (
                "`quadrature_grid_and_probs` must be a `tuple` of same-length zero-th-dimension `Tensor`s"
            )
            grid = control_flow_ops.with_dependencies([check_ops.assert_equal(*sizes, message=message)], grid)
        return grid, probs


def pad(x, axis, front=False, back=False, value=0, count=1, name=None):
    """x with `count` values more in front of one dimension, behind it, or both. ValueError: neither."""
    with ops.name_scope(name, "pad", [x, value, count]):
        x = ops.convert_to_tensor(x, name="x")
        value = ops.convert_to_tensor(value, dtype=x.dtype, name="value")
        count = ops.convert_to_tensor(count, name="count")
        if not count.dtype.is_integer:
            raise TypeError(f"`count.dtype` (`{count.dtype.name}`) must be `int`-like.")
        if not front and not back:
            raise ValueError("At least one of `front`, `back` must be `True`.")
        rank = array_ops.rank(x) if x.shape.ndims is None else x.shape.ndims
        axis = ops.convert_to_tensor(axis, name="axis")
        static_axis, static_count = tensor_util.constant_value(axis), tensor_util.constant_value(count)
        if static_axis is None:
            place = array_ops.where_v2(axis < 0, rank + axis, axis)
        else:
            place = rank + static_axis if static_axis < 0 else static_axis
        widths = array_ops.one_hot(
            indices=array_ops.stack([place if front else -1, place if back else -1]),
            depth=rank,
            axis=0,
            on_value=count,
            dtype=dtypes.int32,
        )
        made = array_ops.pad(x, widths, constant_values=value)
        if x.shape.ndims is not None and static_axis is not None:
            shape = x.shape.as_list()
            size = shape[int(static_axis)]
            known = size is not None and static_count is not None
            shape[int(static_axis)] = size + int(static_count) * (bool(front) + bool(back)) if known else None
            made.set_shape(shape)
        return made


# ---- Python ----


def parent_frame_arguments():
    """The arguments, by their names, of the function that calls this one; those of ** as if they were named."""
    frame = inspect.currentframe().f_back
    try:
        names, varargs, keywords, values = inspect.getargvalues(frame)
        return {**{n: values[n] for n in names}, **(values[keywords] if keywords else {})}
    finally:
        del frame


class AppendDocstring:
    """A decorator that adds a note, and the keyword arguments of a dictionary, to a docstring."""

    def __init__(self, additional_note="", kwargs_dict=None):
        notes = [additional_note] if additional_note else []
        if kwargs_dict:
            lines = []
            for key, value in kwargs_dict.items():
                if "\n" in value:
                    raise ValueError(f"Parameter description for '{key}' contains newlines.")
                lines.append(f"*  `{key}`: {value}")
            notes.append("##### `kwargs`:\n\n" + "\n".join(lines))
        self._note = "\n\n".join(notes)

    def __call__(self, fn):
        @functools.wraps(fn)
        def function(*args, **kwargs):
            return fn(*args, **kwargs)

        function.__doc__ = f"{fn.__doc__}\n{self._note}" if fn.__doc__ else self._note
        return function

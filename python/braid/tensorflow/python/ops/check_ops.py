"""Assertions about tensors: at once where their values are known, and in the step otherwise.

A function returns the operation that checks; a program runs it, or makes others depend on it.
"""

import collections.abc

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export

NUMERIC_TYPES = frozenset(
    [
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.uint8,
        dtypes.uint16,
        dtypes.uint32,
        dtypes.uint64,
        dtypes.qint8,
        dtypes.qint16,
        dtypes.qint32,
        dtypes.quint8,
        dtypes.quint16,
        dtypes.complex64,
        dtypes.complex128,
        dtypes.bfloat16,
    ]
)


def _maybe_constant_value_string(t):
    if not isinstance(t, ops.Tensor):
        return str(t)
    known = tensor_util.constant_value(t)
    return str(t if known is None else known)


def _assert_static(condition, data):
    """InvalidArgumentError: the condition does not hold."""
    if not condition:
        raise errors.InvalidArgumentError(
            node_def=None, op=None, message="\n".join(_maybe_constant_value_string(x) for x in data)
        )


# ---- Comparisons ----


def _binary_assert(sym, opname, op_func, static_func, x, y, data, summarize, message, name):
    with ops.name_scope(name, opname, [x, y, data]):
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y")
        if data is None:
            data = [
                "Condition x %s y did not hold element-wise:" % sym,
                "x (%s) = " % x.name,
                x,
                "y (%s) = " % y.name,
                y,
            ]
        if message is not None:
            data = [message] + list(data)
        if x is y and sym == "==":
            return control_flow_ops.no_op()
        condition = math_ops.reduce_all(op_func(x, y))
        x_known, y_known = tensor_util.constant_value(x), tensor_util.constant_value(y)
        if x_known is not None and y_known is not None:
            _assert_static(np.all(static_func(x_known, y_known)), data)
        return control_flow_ops.Assert(condition, data, summarize=summarize)


@tf_export(v1=["debugging.assert_equal", "assert_equal"])
def assert_equal(x, y, data=None, summarize=None, message=None, name=None):
    """Checks that x == y for all elements."""
    with ops.name_scope(name, "assert_equal", [x, y, data]):
        if x is y:
            return control_flow_ops.no_op("static_checks_determined_all_ok")
    return _binary_assert(
        "==", "assert_equal", math_ops.equal, np.equal, x, y, data, summarize, message, name
    )


@tf_export(v1=["debugging.assert_none_equal", "assert_none_equal"])
def assert_none_equal(x, y, data=None, summarize=None, message=None, name=None):
    """Checks that x != y for all elements."""
    return _binary_assert(
        "!=", "assert_none_equal", math_ops.not_equal, np.not_equal, x, y, data, summarize, message, name
    )


@tf_export(v1=["debugging.assert_less", "assert_less"])
def assert_less(x, y, data=None, summarize=None, message=None, name=None):
    """Checks that x < y for all elements."""
    return _binary_assert("<", "assert_less", math_ops.less, np.less, x, y, data, summarize, message, name)


@tf_export(v1=["debugging.assert_less_equal", "assert_less_equal"])
def assert_less_equal(x, y, data=None, summarize=None, message=None, name=None):
    """Checks that x <= y for all elements."""
    return _binary_assert(
        "<=", "assert_less_equal", math_ops.less_equal, np.less_equal, x, y, data, summarize, message, name
    )


@tf_export(v1=["debugging.assert_greater", "assert_greater"])
def assert_greater(x, y, data=None, summarize=None, message=None, name=None):
    """Checks that x > y for all elements."""
    return _binary_assert(
        ">", "assert_greater", math_ops.greater, np.greater, x, y, data, summarize, message, name
    )


@tf_export(v1=["debugging.assert_greater_equal", "assert_greater_equal"])
def assert_greater_equal(x, y, data=None, summarize=None, message=None, name=None):
    """Checks that x >= y for all elements."""
    return _binary_assert(
        ">=",
        "assert_greater_equal",
        math_ops.greater_equal,
        np.greater_equal,
        x,
        y,
        data,
        summarize,
        message,
        name,
    )


def _sign_assert(opname, words, compare, x, data, summarize, message, name):
    """compare(0, x) as an assertion of its own."""
    with ops.name_scope(name, opname, [x, data]):
        x = ops.convert_to_tensor(x, name="x")
        if data is None:
            condition = "Condition x %s 0 did not hold element-wise:" % words
            tensor = "x (%s) = " % x.name
            # 1.15's assert_non_positive says both in one string.
            texts = [condition + tensor] if opname == "assert_non_positive" else [condition, tensor]
            data = [message or ""] + texts + [x]
        zero = constant_op.constant(0, dtype=x.dtype)
        return compare(zero, x, data, summarize)


@tf_export(v1=["debugging.assert_positive", "assert_positive"])
def assert_positive(x, data=None, summarize=None, message=None, name=None):
    """Checks that all elements are above 0."""

    def compare(zero, x, data, summarize):
        return assert_less(zero, x, data=data, summarize=summarize)

    return _sign_assert("assert_positive", ">", compare, x, data, summarize, message, name)


@tf_export(v1=["debugging.assert_negative", "assert_negative"])
def assert_negative(x, data=None, summarize=None, message=None, name=None):
    """Checks that all elements are below 0."""

    def compare(zero, x, data, summarize):
        return assert_less(x, zero, data=data, summarize=summarize)

    return _sign_assert("assert_negative", "<", compare, x, data, summarize, message, name)


@tf_export(v1=["debugging.assert_non_negative", "assert_non_negative"])
def assert_non_negative(x, data=None, summarize=None, message=None, name=None):
    """Checks that no element is below 0."""

    def compare(zero, x, data, summarize):
        return assert_less_equal(zero, x, data=data, summarize=summarize)

    return _sign_assert("assert_non_negative", ">=", compare, x, data, summarize, message, name)


@tf_export(v1=["debugging.assert_non_positive", "assert_non_positive"])
def assert_non_positive(x, data=None, summarize=None, message=None, name=None):
    """Checks that no element is above 0."""

    def compare(zero, x, data, summarize):
        return assert_less_equal(x, zero, data=data, summarize=summarize)

    return _sign_assert("assert_non_positive", "<=", compare, x, data, summarize, message, name)


@tf_export(v1=["debugging.assert_near", "assert_near"])
def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    """Checks that |x - y| < atol + rtol * |y| for all elements; both are 10 times the type's epsilon by
    default."""
    message = message or ""
    with ops.name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=x.dtype)
        epsilon = np.finfo(x.dtype.as_numpy_dtype).eps
        rtol = ops.convert_to_tensor(10 * epsilon if rtol is None else rtol, name="rtol", dtype=x.dtype)
        atol = ops.convert_to_tensor(10 * epsilon if atol is None else atol, name="atol", dtype=x.dtype)
        if data is None:
            data = [message, "x and y not equal to tolerance rtol = %s, atol = %s" % (rtol, atol)]
            data += ["x (%s) = " % x.name, x, "y (%s) = " % y.name, y]
        tolerance = atol + rtol * math_ops.abs(y)
        condition = math_ops.reduce_all(math_ops.less(math_ops.abs(x - y), tolerance))
        return control_flow_ops.Assert(condition, data, summarize=summarize)


# ---- Ranks and shapes ----


def _assert_rank_condition(x, rank, static_condition, dynamic_condition, data, summarize):
    assert_type(rank, dtypes.int32)
    rank_known = tensor_util.constant_value(rank)
    if rank_known is not None:
        if rank_known.ndim != 0:
            raise ValueError("Rank must be a scalar.")
        known = x.get_shape().ndims
        if known is not None:
            if not static_condition(known, rank_known):
                raise ValueError("Static rank condition failed", known, rank_known)
            return control_flow_ops.no_op(name="static_checks_determined_all_ok")
    condition = dynamic_condition(array_ops.rank(x), rank)
    if rank_known is None:
        check = assert_rank(rank, 0, data=["Rank must be a scalar. Received rank: ", rank])
        condition = control_flow_ops.with_dependencies([check], condition)
    return control_flow_ops.Assert(condition, data, summarize=summarize)


def _rank_assert(opname, words, static, dynamic, x, rank, data, summarize, message, name):
    with ops.name_scope(name, opname, (x, rank) + tuple(data or [])):
        if not isinstance(x, sparse_tensor.SparseTensor):
            x = ops.convert_to_tensor(x, name="x")
        rank = ops.convert_to_tensor(rank, name="rank")
        message = message or ""
        which = getattr(x, "name", "")
        if data is None:
            data = [message, "Tensor %s must have rank%s" % (which, words), rank, "Received shape: "]
            data.append(array_ops.shape(x))
        try:
            return _assert_rank_condition(x, rank, static, dynamic, data, summarize)
        except ValueError as e:
            if e.args[0] != "Static rank condition failed":
                raise
            raise ValueError(
                "%s.  Tensor %s must have rank%s %d.  Received rank %d, shape %s"
                % (message, which, words, e.args[2], e.args[1], x.get_shape())
            ) from None


@tf_export(v1=["debugging.assert_rank", "assert_rank"])
def assert_rank(x, rank, data=None, summarize=None, message=None, name=None):
    """Checks that x has `rank` dimensions. ValueError: it is known to have another number."""
    return _rank_assert(
        "assert_rank", "", lambda a, b: a == b, math_ops.equal, x, rank, data, summarize, message, name
    )


@tf_export(v1=["debugging.assert_rank_at_least", "assert_rank_at_least"])
def assert_rank_at_least(x, rank, data=None, summarize=None, message=None, name=None):
    """Checks that x has `rank` dimensions or more. ValueError: it is known to have fewer."""
    return _rank_assert(
        "assert_rank_at_least",
        " at least",
        lambda a, b: a >= b,
        math_ops.greater_equal,
        x,
        rank,
        data,
        summarize,
        message,
        name,
    )


@tf_export(v1=["debugging.assert_rank_in", "assert_rank_in"])
def assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None):
    """Checks that the number of x's dimensions is among `ranks`. ValueError: it is known not to be."""
    with ops.name_scope(name, "assert_rank_in", (x,) + tuple(ranks) + tuple(data or [])):
        if not isinstance(x, sparse_tensor.SparseTensor):
            x = ops.convert_to_tensor(x, name="x")
        ranks = tuple(ops.convert_to_tensor(rank, name="rank") for rank in ranks)
        message = message or ""
        which = getattr(x, "name", "")
        if data is None:
            data = [message, "Tensor %s must have rank in" % which] + list(ranks)
            data += ["Received shape: ", array_ops.shape(x)]
        for rank in ranks:
            assert_type(rank, dtypes.int32)
        known = tuple(tensor_util.constant_value(rank) for rank in ranks)
        if all(rank is not None for rank in known):
            if any(rank.ndim != 0 for rank in known):
                raise ValueError("Rank must be a scalar.")
            count = x.get_shape().ndims
            if count is not None:
                if count not in [int(rank) for rank in known]:
                    raise ValueError(
                        "%s.  Tensor %s must have rank in %s.  Received rank %d, shape %s"
                        % (message, which, tuple(int(rank) for rank in known), count, x.get_shape())
                    )
                return control_flow_ops.no_op(name="static_checks_determined_all_ok")
        scalars = [
            assert_rank(rank, 0, message="Rank must be a scalar.")
            for rank, value in zip(ranks, known)
            if value is None
        ]
        count = control_flow_ops.with_dependencies(scalars, array_ops.rank(x))
        condition = None
        for is_it in [math_ops.equal(rank, count) for rank in ranks]:
            condition = is_it if condition is None else math_ops.logical_or(condition, is_it)
        return control_flow_ops.Assert(condition, data, summarize=summarize)


@tf_export(v1=["debugging.assert_scalar", "assert_scalar"])
def assert_scalar(tensor, name=None, message=None):
    """The tensor. ValueError: it has dimensions, or it is not known."""
    with ops.name_scope(name, "assert_scalar", [tensor]) as name_scope:
        tensor = ops.convert_to_tensor(tensor, name=name_scope)
        shape = tensor.get_shape()
        if shape.ndims != 0:
            raise ValueError(
                "%sExpected scalar shape for %s, saw shape: %s."
                % ("" if message is None else message + " ", tensor.name, shape)
            )
        return tensor


def _symbols_of(shape, x):
    """(the dimensions: a number, a symbol or None for any; whether any number of others is before them)."""
    if not hasattr(shape, "__iter__") and not hasattr(shape, "__getitem__"):
        raise ValueError(
            f"Tensor {x.name}.  Specified shape must be an iterable.  An iterable has the attribute `__iter__` or "
            f"`__getitem__`.  Received specified shape: {shape}"
        )
    dims = []
    for i, given in enumerate(shape):
        if given is Ellipsis or (isinstance(given, str) and given == "*"):
            if i > 0:
                raise ValueError(
                    f"Tensor {x.name} specified shape index {i}.  Symbol `...` or `*` for a variable number of "
                    "unspecified dimensions is only allowed as the first entry"
                )
            continue
        given = tensor_shape.dimension_value(given)
        try:
            dims.append(None if given is None or given == "." else int(given))
        except ValueError:
            dims.append(str(given))
    has_others = len(dims) < len(list(shape))
    return ([1] if not dims and not has_others else dims), has_others


def _check_rank(x, dims, has_others, data, summarize, message):
    """Checks the rank. A scalar counts as a vector of one element."""
    if not has_others and len(dims) == 1:
        if x.shape.ndims is not None and x.shape.ndims <= 1:
            return []
        return [assert_rank_at_most_1(x, data, summarize, message)]
    return [(assert_rank_at_least if has_others else assert_rank)(x, len(dims), data, summarize, message)]


def assert_rank_at_most_1(x, data, summarize, message):
    return _rank_assert(
        "assert_rank", "", lambda a, b: a <= b, math_ops.less_equal, x, 1, data, summarize, message, None
    )


@tf_export(v1=["debugging.assert_shapes"])
def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Checks that dimensions with one symbol have one size, and those with a number that size.

    shapes: {tensor: (dimensions)} or pairs; a dimension is a number, a string, or None or "." for any; "*" or
    ... stands first for any number of dimensions. A tensor with the shape None is not looked at. ValueError:
    the static shapes say that it is not so.
    """
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    message_prefix = f"{message}.  " if message else ""
    with ops.name_scope(name, "assert_shapes", [pair[0] for pair in pairs]):
        checks, sizes = [], {}
        for x, shape in pairs:
            if shape is None:
                continue
            x = ops.convert_to_tensor(x)
            dims, has_others = _symbols_of(shape, x)
            checks += _check_rank(x, dims, has_others, data, summarize, message)
            static = x.shape.as_list() if x.shape.ndims is not None else [None] * len(dims)
            static = static or [1]
            actual = array_ops.shape(x)
            if x.shape.ndims is None or x.shape.ndims == 0:
                actual = array_ops.concat([actual, [1]], 0)
            for i, symbol in enumerate(dims):
                place = i - len(dims) if has_others else i
                if symbol is None:
                    continue
                size = (static[place], actual[place])
                if isinstance(symbol, int):
                    wanted, source = (symbol, symbol), "Specified explicitly"
                elif symbol not in sizes:
                    sizes[symbol] = (size, f"Specified by tensor {x.name} dimension {place}")
                    continue
                else:
                    wanted, source = sizes[symbol]
                if size[0] is not None and wanted[0] is not None:
                    if size[0] != wanted[0]:
                        raise ValueError(
                            f"{message_prefix}{source}.  Tensor {x.name} dimension {place} must have size {wanted[0]}."
                            f"  Received size {size[0]}, shape {x.shape}"
                        )
                    continue
                said = [source, f"Tensor {x.name} dimension", place, "must have size", wanted[1]]
                said += ["Received shape: ", array_ops.shape(x)]
                if message:
                    said.insert(0, message)
                holds = math_ops.equal(size[1], wanted[1])
                checks.append(control_flow_ops.Assert(holds, data or said, summarize=summarize))
        return control_flow_ops.group(*checks, name="shape_checks")


@tf_export("ensure_shape")
def ensure_shape(x, shape, name=None):
    """The tensor, which has this shape from now on; a step in which it has another one fails."""
    if not isinstance(shape, tensor_shape.TensorShape):
        shape = tensor_shape.TensorShape(shape)
    return gen_array_ops.ensure_shape(x, shape, name=name)


# ---- Types ----


@tf_export(v1=["debugging.assert_integer", "assert_integer"])
def assert_integer(x, message=None, name=None):
    """TypeError: the tensor's elements are no integers."""
    message = message or ""
    with ops.name_scope(name, "assert_integer", [x]):
        x = ops.convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError('%s  Expected "x" to be integer type.  Found: %s' % (message, x.dtype))
        return control_flow_ops.no_op("statically_determined_was_integer")


@tf_export(v1=["debugging.assert_type", "assert_type"])
def assert_type(tensor, tf_type, message=None, name=None):
    """TypeError: the tensor has another type."""
    message = message or ""
    with ops.name_scope(name, "assert_type", [tensor]):
        if not isinstance(tensor, sparse_tensor.SparseTensor):
            tensor = ops.convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != tf_type:
            raise TypeError("%s  %s must be of type %s" % (message, getattr(tensor, "name", tensor), tf_type))
        return control_flow_ops.no_op("statically_determined_correct_type")


@tf_export("debugging.is_numeric_tensor", v1=["debugging.is_numeric_tensor", "is_numeric_tensor"])
def is_numeric_tensor(tensor):
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, ops.Tensor) and tensor.dtype.base_dtype in NUMERIC_TYPES


def _assert_same_base_type(items, expected_type=None):
    """The one type of all items that are not None."""
    first = None
    for item in items:
        if item is None:
            continue
        found = dtypes.as_dtype(item.dtype).base_dtype
        if expected_type is None:
            expected_type, first = found, item
        elif found != expected_type:
            raise ValueError(
                "Tensor %s must be of the same type as %s: %s, not %s."
                % (getattr(item, "name", item), getattr(first, "name", "expected"), expected_type, found)
                if first is not None
                else "Expected %s, got %s (type of %s)." % (expected_type, found, getattr(item, "name", item))
            )
    return expected_type


@tf_export(
    "debugging.assert_same_float_dtype", v1=["debugging.assert_same_float_dtype", "assert_same_float_dtype"]
)
def assert_same_float_dtype(tensors=None, dtype=None):
    """The type of floating-point tensors, float32 if there is none. ValueError: they differ."""
    if tensors:
        dtype = _assert_same_base_type(tensors, dtype)
    if not dtype:
        return dtypes.float32
    if not dtype.is_floating:
        raise ValueError("Expected floating point type, got %s." % dtype)
    return dtype


@tf_export(
    "debugging.assert_proper_iterable", v1=["debugging.assert_proper_iterable", "assert_proper_iterable"]
)
def assert_proper_iterable(values):
    """TypeError: it cannot be iterated over, or is a tensor, an array or a string."""
    improper = (ops.Tensor, sparse_tensor.SparseTensor, np.ndarray, bytes, str)
    if isinstance(values, improper):
        raise TypeError("Expected argument 'values' to be a 'proper' iterable.  Found: %s" % type(values))
    if not isinstance(values, collections.abc.Iterable):
        raise TypeError("Expected argument 'values' to be iterable.  Found: %s" % type(values))


# ---- Order ----


def _diff_for_monotonic_comparison(x):
    """The differences of neighbours in the flat tensor."""
    x = array_ops.reshape(x, [-1])
    if not is_numeric_tensor(x):
        raise TypeError("Expected x to be numeric, instead found: %s" % x)
    is_short = math_ops.less(array_ops.size(x), 2)
    count = array_ops.shape(x) - 1

    def differences():
        after = array_ops.strided_slice(x, [1], [1] + count)
        return after - array_ops.strided_slice(x, [0], count)

    return control_flow_ops.cond(is_short, lambda: ops.convert_to_tensor([], dtype=x.dtype), differences)


@tf_export(
    "math.is_non_decreasing",
    v1=["math.is_non_decreasing", "debugging.is_non_decreasing", "is_non_decreasing"],
)
def is_non_decreasing(x, name=None):
    """Whether no element of the flat tensor is less than the one before."""
    with ops.name_scope(name, "is_non_decreasing", [x]):
        diff = _diff_for_monotonic_comparison(x)
        zero = ops.convert_to_tensor(0, dtype=diff.dtype)
        return math_ops.reduce_all(math_ops.less_equal(zero, diff))


@tf_export(
    "math.is_strictly_increasing",
    v1=["math.is_strictly_increasing", "debugging.is_strictly_increasing", "is_strictly_increasing"],
)
def is_strictly_increasing(x, name=None):
    """Whether each element of the flat tensor is greater than the one before."""
    with ops.name_scope(name, "is_strictly_increasing", [x]):
        diff = _diff_for_monotonic_comparison(x)
        zero = ops.convert_to_tensor(0, dtype=diff.dtype)
        return math_ops.reduce_all(math_ops.less(zero, diff))

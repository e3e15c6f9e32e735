"""Arithmetic on tensors, their operators (+, *, <, ...), reductions and products of matrices.

Ops without a wrapper here (math_ops.exp) are those of gen_math_ops.
"""

import builtins

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_data_flow_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import gen_nn_ops
from braid.tensorflow.python.ops import gen_sparse_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

_resource_variable_type = ()  # resource_variable_ops, which imports this module, sets it


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_math_ops, _OTHER_NAMES.get(name, name))


# Names that tf.math has for an op besides its own.
_OTHER_NAMES = {
    "mod": "floor_mod",
    "nextafter": "next_after",
    "realdiv": "real_div",
    "truncatediv": "truncate_div",
    "truncatemod": "truncate_mod",
    "floormod": "floor_mod",
}


# ---- One tensor ----


@tf_export("math.abs", "abs")
@dispatch.elementwise
def abs(x, name=None):
    """The absolute value, of complex numbers the magnitude."""
    with ops.name_scope(name, "Abs", [x]) as name:
        if isinstance(x, sparse_tensor.SparseTensor):
            return _elementwise(abs, x, name)
        x = ops.convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return gen_math_ops.complex_abs(x, Tout=x.dtype.real_dtype, name=name)
        return gen_math_ops._abs(x, name=name)


def _elementwise(op, x, name):
    """op(x, name); of a SparseTensor for the elements that are there."""
    if isinstance(x, sparse_tensor.SparseTensor):
        return sparse_tensor.SparseTensor(x.indices, op(x.values, name=name), x.dense_shape)
    return op(x, name=name)


@tf_export("math.sign", "sign")
@dispatch.elementwise
def sign(x, name=None):
    """-1, 0 or 1 for each element."""
    return _elementwise(gen_math_ops.sign, x, name)


@tf_export("math.negative", "negative")
@dispatch.elementwise
def negative(x, name=None):
    """-x for each element."""
    return _elementwise(gen_math_ops.neg, x, name)


@tf_export("math.square", "square")
@dispatch.elementwise
def square(x, name=None):
    """x * x for each element."""
    return _elementwise(gen_math_ops.square, x, name)


@tf_export("math.tanh", "nn.tanh", "tanh")
@dispatch.elementwise
def tanh(x, name=None):
    """The hyperbolic tangent."""
    return _elementwise(gen_math_ops.tanh, x, name)


@tf_export("math.erf", v1=["math.erf", "erf"])
def erf(x, name=None):
    """The error function of Gauss."""
    return _elementwise(gen_math_ops.erf, x, name)


@tf_export("math.round", "round")
@dispatch.elementwise
def round(x, name=None):
    """The nearest whole number, the even one of two. Integers are as they are."""
    x = ops.convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else gen_math_ops.round(x, name=name)


@tf_export("math.sigmoid", "nn.sigmoid", "sigmoid")
@dispatch.elementwise
def sigmoid(x, name=None):
    """1 / (1 + exp(-x))"""
    with ops.name_scope(name, "Sigmoid", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_math_ops.sigmoid(x, name=name)


@tf_export("math.log_sigmoid", v1=["math.log_sigmoid", "log_sigmoid"])
@dispatch.elementwise
def log_sigmoid(x, name=None):
    """log(1 / (1 + exp(-x)))"""
    with ops.name_scope(name, "LogSigmoid", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_math_ops.neg(gen_nn_ops.softplus(-x), name=name)


@tf_export("dtypes.complex", "complex")
@dispatch.elementwise
def complex(real, imag, name=None):
    """Complex numbers from their real and imaginary parts, both float32 or both float64."""
    real = ops.convert_to_tensor(real, name="real")
    imag = ops.convert_to_tensor(imag, name="imag")
    with ops.name_scope(name, "Complex", [real, imag]) as name:
        made = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}.get(
            real.dtype.base_dtype
        )
        if made is None or imag.dtype.base_dtype != real.dtype.base_dtype:
            raise TypeError(
                "real and imag have incorrect types: {} {}".format(real.dtype.name, imag.dtype.name)
            )
        return gen_math_ops._complex(real, imag, Tout=made, name=name)


@tf_export("math.real", v1=["math.real", "real"])
@dispatch.elementwise
def real(input, name=None):
    """The real part; real numbers as they are."""
    with ops.name_scope(name, "Real", [input]) as name:
        if not hasattr(input, "dtype"):
            input = ops.convert_to_tensor(input, name="input")
        if not dtypes.as_dtype(input.dtype).is_complex:
            return input
        return gen_math_ops.real(input, Tout=dtypes.as_dtype(input.dtype).real_dtype, name=name)


@tf_export("math.imag", v1=["math.imag", "imag"])
@dispatch.elementwise
def imag(input, name=None):
    """The imaginary part; of real numbers zero."""
    with ops.name_scope(name, "Imag", [input]) as name:
        input = ops.convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return array_ops.zeros_like(input)
        return gen_math_ops.imag(input, Tout=input.dtype.real_dtype, name=name)


@tf_export("math.angle", v1=["math.angle", "angle"])
@dispatch.elementwise
def angle(input, name=None):
    """The argument of complex numbers, in radians; of real numbers 0 or pi."""
    with ops.name_scope(name, "Angle", [input]) as name:
        input = ops.convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return array_ops.where(input < 0, np.pi * array_ops.ones_like(input), array_ops.zeros_like(input))
        return gen_math_ops.angle(input, Tout=input.dtype.real_dtype, name=name)


@tf_export("math.conj", v1=["math.conj", "conj"])
@dispatch.elementwise
def conj(x, name=None):
    """The complex conjugate; real numbers as they are."""
    if isinstance(x, ops.Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with ops.name_scope(name, "Conj", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype == dtypes.variant:
            return gen_math_ops.conj(x, name=name)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError("Expected numeric or variant tensor, got dtype %r" % x.dtype)


# ---- Types ----


@tf_export("cast", "dtypes.cast")
@dispatch.elementwise
def cast(x, dtype, name=None):
    """The elements as numbers of another type; SparseTensor and IndexedSlices too."""
    base = dtypes.as_dtype(dtype).base_dtype
    # A resource variable is read where its value is used.
    if isinstance(x, (ops.Tensor, _resource_variable_type)) and x.dtype == base:
        return x
    with ops.name_scope(name, "Cast", [x]) as name:
        if isinstance(x, sparse_tensor.SparseTensor):
            return sparse_tensor.SparseTensor(x.indices, cast(x.values, base, name=name), x.dense_shape)
        if isinstance(x, ops.IndexedSlices):
            return ops.IndexedSlices(cast(x.values, base, name=name), x.indices, x.dense_shape)
        x = ops.convert_to_tensor(x, name="x")
        if x.dtype.base_dtype == base:
            return x
        if x.dtype.is_complex and base.is_floating:
            logging.warn("Casting complex to real discards imaginary part.")
        return gen_math_ops.cast(x, base, name=name)


@tf_export("dtypes.saturate_cast", "saturate_cast")
@dispatch.elementwise
def saturate_cast(value, dtype, name=None):
    """As tf.cast; what the type cannot hold becomes its lowest or highest number."""
    with ops.name_scope(name, "saturate_cast", [value]) as name:
        value = ops.convert_to_tensor(value, name="value")
        dtype = dtypes.as_dtype(dtype).base_dtype
        if value.dtype.min < dtype.min:
            lowest = ops.convert_to_tensor(dtype.min, dtype=value.dtype, name="min")
            value = gen_math_ops.maximum(value, lowest)
        if value.dtype.max > dtype.max:
            highest = ops.convert_to_tensor(dtype.max, dtype=value.dtype, name="max")
            value = gen_math_ops.minimum(value, highest)
        return cast(value, dtype, name=name)


@tf_export(v1=["to_float"])
@dispatch.elementwise
def to_float(x, name="ToFloat"):
    """tf.cast to float32."""
    return cast(x, dtypes.float32, name=name)


@tf_export(v1=["to_double"])
@dispatch.elementwise
def to_double(x, name="ToDouble"):
    """tf.cast to float64."""
    return cast(x, dtypes.float64, name=name)


@tf_export(v1=["to_int32"])
@dispatch.elementwise
def to_int32(x, name="ToInt32"):
    """tf.cast to int32."""
    return cast(x, dtypes.int32, name=name)


@tf_export(v1=["to_int64"])
@dispatch.elementwise
def to_int64(x, name="ToInt64"):
    """tf.cast to int64."""
    return cast(x, dtypes.int64, name=name)


@tf_export(v1=["to_bfloat16"])
def to_bfloat16(x, name="ToBFloat16"):
    """tf.cast to bfloat16."""
    return cast(x, dtypes.bfloat16, name=name)


@tf_export(v1=["to_complex64"])
def to_complex64(x, name="ToComplex64"):
    """tf.cast to complex64."""
    return cast(x, dtypes.complex64, name=name)


@tf_export(v1=["to_complex128"])
def to_complex128(x, name="ToComplex128"):
    """tf.cast to complex128."""
    return cast(x, dtypes.complex128, name=name)


@tf_export("math.exp", "exp")
def exp(x, name=None):
    """e to the power of x."""
    return gen_math_ops.exp(x, name=name)


@tf_export("math.sqrt", "sqrt")
def sqrt(x, name=None):
    """The square root."""
    return _elementwise(gen_math_ops.sqrt, x, name)


@tf_export("math.rsqrt", v1=["math.rsqrt", "rsqrt"])
def rsqrt(x, name=None):
    """1 / sqrt(x)"""
    return gen_math_ops.rsqrt(x, name=name)


@tf_export("math.floor", "floor")
def floor(x, name=None):
    """The greatest whole number that is not above x."""
    return gen_math_ops.floor(x, name=name)


@tf_export("math.ceil", v1=["math.ceil", "ceil"])
def ceil(x, name=None):
    """The least whole number that is not below x."""
    return gen_math_ops.ceil(x, name=name)


@tf_export("math.acos", "acos")
def acos(x, name=None):
    """The angle whose cosine is x, in radians."""
    return gen_math_ops.acos(x, name=name)


@tf_export("math.softplus", "nn.softplus", v1=["math.softplus", "nn.softplus"])
@dispatch.elementwise
def softplus(features, name=None):
    """log(1 + exp(x))"""
    return gen_nn_ops.softplus(features, name=name)


@tf_export("math.erfinv", v1=["math.erfinv"])
def erfinv(x, name=None):
    """The inverse of tf.math.erf."""
    return gen_math_ops.erfinv(x, name=name)


@tf_export("math.ndtri", v1=["math.ndtri"])
def ndtri(x, name=None):
    """The inverse of the cumulative distribution of the standard normal distribution."""
    return gen_math_ops.ndtri(x, name=name)


# ---- Two tensors ----


@tf_export("math.xdivy")
def xdivy(x, y, name=None):
    """x / y for each element, and 0 where x is 0."""
    return gen_math_ops.xdivy(x, y, name=name)


@tf_export("math.xlog1py")
def xlog1py(x, y, name=None):
    """x * log(1 + y) for each element, and 0 where x is 0."""
    return gen_math_ops.xlog1py(x, y, name=name)


class DivideDelegateWithName:
    """An operand whose `/` gives its result a name."""

    def __init__(self, x, name):
        self.x = x
        self.name = name

    def __truediv__(self, y):
        return _truediv_python3(self.x, y, self.name)

    def __floordiv__(self, y):
        return floordiv(self.x, y, self.name)

    def __div__(self, y):
        return _div_python2(self.x, y, self.name)


@tf_export("math.divide", "divide")
@dispatch.elementwise
def divide(x, y, name=None):
    """x / y, as Python divides tensors."""
    if name is not None:
        return DivideDelegateWithName(x, name) / y
    return x / y


@tf_export("math.multiply", "multiply")
@dispatch.elementwise
def multiply(x, y, name=None):
    """x * y for each element."""
    return gen_math_ops.mul(x, y, name)


@tf_export("math.subtract", "subtract")
@dispatch.elementwise
def subtract(x, y, name=None):
    """x - y for each element."""
    return gen_math_ops.sub(x, y, name)


@tf_export("math.scalar_mul", v1=["math.scalar_mul", "scalar_mul"])
def scalar_mul(scalar, x, name=None):
    """A number times a Tensor or IndexedSlices."""
    scalar = ops.convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    known = scalar.get_shape()
    if known.ndims not in (0, None):
        raise ValueError("Only scalar multiply works, got shape %s" % known)
    if isinstance(x, ops.IndexedSlices):
        return ops.IndexedSlices(gen_math_ops.mul(scalar, x.values, name), x.indices, x.dense_shape)
    return gen_math_ops.mul(scalar, x, name)


@tf_export("math.pow", "pow")
@dispatch.elementwise
def pow(x, y, name=None):
    """x to the power of y for each element."""
    with ops.name_scope(name, "Pow", [x]) as name:
        return gen_math_ops._pow(x, y, name=name)


# What numbers of each type are divided as; None: as they are.
_DIVIDED_AS = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.bfloat16: None,
    dtypes.float16: None,
    dtypes.float32: None,
    dtypes.float64: None,
    dtypes.complex64: None,
    dtypes.complex128: None,
}


def _to_divide(x, y):
    """Both operands in the type in which they are divided."""
    a, b = x.dtype.base_dtype, y.dtype.base_dtype
    if a != b:
        raise TypeError("x and y must have the same dtype, got %r != %r" % (a, b))
    if a not in _DIVIDED_AS:
        raise TypeError("Invalid dtype %r in __truediv__" % a)
    if _DIVIDED_AS[a] is not None:
        x = cast(x, _DIVIDED_AS[a])
        y = cast(y, _DIVIDED_AS[a])
    return x, y


def _truediv_python3(x, y, name=None):
    with ops.name_scope(name, "truediv", [x, y]) as name:
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=None if tensor_like(y) else x.dtype.base_dtype)
        x, y = _to_divide(x, y)
        return gen_math_ops.real_div(x, y, name=name)


def tensor_like(value):
    """Whether it has a type of its own, which a plain number takes from the other operand."""
    return hasattr(value, "dtype")


def _div_python2(x, y, name=None):
    with ops.name_scope(name, "div", [x, y]) as name:
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        if x.dtype.is_floating or x.dtype.is_complex:
            return gen_math_ops.real_div(x, y, name=name)
        return gen_math_ops.floor_div(x, y, name=name)


@tf_export("math.truediv", "truediv")
@dispatch.elementwise
def truediv(x, y, name=None):
    """x / y for each element; integers are divided as floating-point numbers."""
    return _truediv_python3(x, y, name)


@tf_export(v1=["div"])
@dispatch.elementwise
def div(x, y, name=None):
    """x / y for each element; of integers the quotient that is rounded down."""
    return _div_python2(x, y, name)


@tf_export("math.divide_no_nan", v1=["math.divide_no_nan", "div_no_nan"])
@dispatch.elementwise
def div_no_nan(x, y, name=None):
    """x / y for each element, and 0 where y is 0."""
    with ops.name_scope(name, "div_no_nan", [x, y]) as name:
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return gen_math_ops.div_no_nan(x, y, name=name)


@tf_export("math.multiply_no_nan", v1=["math.multiply_no_nan"])
def multiply_no_nan(x, y, name=None):
    """x * y for each element, and 0 where y is 0, even if x is infinite or no number."""
    with ops.name_scope(name, "multiply_no_nan", [x, y]) as name:
        x = ops.convert_to_tensor(x, name="x")
        y = ops.convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return gen_math_ops.mul_no_nan(x, y, name=name)


@tf_export("math.reciprocal_no_nan")
def reciprocal_no_nan(x, name=None):
    """1 / x for each element, and 0 where x is 0."""
    with ops.name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = ops.convert_to_tensor(x, name="x")
        one = constant_op.constant(1, dtype=x.dtype.base_dtype, name="one")
        return gen_math_ops.div_no_nan(one, x, name=scope)


@tf_export("math.floordiv", v1=["math.floordiv", "floordiv"])
@dispatch.elementwise
def floordiv(x, y, name=None):
    """x / y for each element, rounded down."""
    with ops.name_scope(name, "floordiv", [x, y]) as name:
        return gen_math_ops.floor_div(x, y, name=name)


@tf_export("math.logical_xor", v1=["math.logical_xor", "logical_xor"])
@dispatch.elementwise
def logical_xor(x, y, name="LogicalXor"):
    """Whether one of both is true."""
    return gen_math_ops.logical_and(
        gen_math_ops.logical_or(x, y),
        gen_math_ops.logical_not(gen_math_ops.logical_and(x, y)),
        name=name,
    )


@tf_export("math.equal", "equal")
@dispatch.elementwise
def equal(x, y, name=None):
    """x == y for each element."""
    return gen_math_ops.equal(x, y, name=name)


@tf_export("math.not_equal", "not_equal")
@dispatch.elementwise
def not_equal(x, y, name=None):
    """x != y for each element."""
    return gen_math_ops.not_equal(x, y, name=name)


@tf_export("math.polyval")
def polyval(coeffs, x, name=None):
    """The polynomial with the coefficients, the highest power's first, at x. By Horner's scheme."""
    with ops.name_scope(name, "polyval", nest.flatten(coeffs) + [x]):
        x = ops.convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return array_ops.zeros_like(x, name=name)
        coeffs = [ops.convert_to_tensor(c, name="coeff_%d" % i) for i, c in enumerate(coeffs)]
        made = coeffs[0]
        for c in coeffs[1:]:
            made = c + made * x
        return made


# ---- Operators ----


def _add_dispatch(x, y, name=None):
    if x.dtype.base_dtype == dtypes.string:
        return gen_math_ops.add(x, y, name=name)
    return gen_math_ops.add_v2(x, y, name=name)


def _mul_dispatch(x, y, name=None):
    if not isinstance(y, sparse_tensor.SparseTensor):
        return gen_math_ops.mul(x, y, name=name)
    values = gen_sparse_ops.sparse_dense_cwise_mul(y.indices, y.values, y.dense_shape, x, name)
    return sparse_tensor.SparseTensor(y.indices, values, y.dense_shape)


def _sparse_dense_truediv(sp_indices, sp_values, sp_shape, y, name=None):
    with ops.name_scope(name, "truediv", [sp_indices, sp_values, sp_shape, y]) as name:
        sp_values, y = _to_divide(
            ops.convert_to_tensor(sp_values, name="sp_values"), ops.convert_to_tensor(y, name="y")
        )
        return gen_sparse_ops.sparse_dense_cwise_div(sp_indices, sp_values, sp_shape, y, name=name)


def _OverrideBinaryOperatorHelper(func, op_name, clazz_object=ops.Tensor):
    """Has tensors take func(x, y, name) as their operator `op_name`, and as the one from the right."""

    def binary_op_wrapper(x, y):
        with ops.name_scope(None, op_name, [x, y]) as name:
            if not isinstance(y, (ops.Tensor, sparse_tensor.SparseTensor)):
                try:
                    y = ops.convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
                except TypeError:
                    if hasattr(type(y), "__r%s__" % op_name):  # it may know what to do with a tensor
                        return NotImplemented
                    raise
            return func(x, y, name=name)

    def r_binary_op_wrapper(y, x):
        with ops.name_scope(None, op_name, [x, y]) as name:
            x = ops.convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return func(x, y, name=name)

    def binary_op_wrapper_sparse(sp_x, y):
        with ops.name_scope(None, op_name, [sp_x, y]) as name:
            y = ops.convert_to_tensor(y, dtype=sp_x.dtype.base_dtype, name="y")
            values = func(sp_x.indices, sp_x.values, sp_x.dense_shape, y, name=name)
            return sparse_tensor.SparseTensor(sp_x.indices, values, sp_x.dense_shape)

    if clazz_object is ops.Tensor:
        clazz_object._override_operator("__%s__" % op_name, binary_op_wrapper)
        clazz_object._override_operator("__r%s__" % op_name, r_binary_op_wrapper)
    else:
        clazz_object._override_operator("__%s__" % op_name, binary_op_wrapper_sparse)


def _matmul_operator(x, y, name=None):
    return matmul(x, y, name=name)


def _install_operators():
    sparse = sparse_tensor.SparseTensor
    _OverrideBinaryOperatorHelper(gen_sparse_ops.sparse_dense_cwise_div, "div", sparse)
    _OverrideBinaryOperatorHelper(_sparse_dense_truediv, "truediv", sparse)
    _OverrideBinaryOperatorHelper(gen_sparse_ops.sparse_dense_cwise_mul, "mul", sparse)
    for op_name, func in (
        ("add", _add_dispatch),
        ("sub", gen_math_ops.sub),
        ("mul", _mul_dispatch),
        ("div", _div_python2),
        ("truediv", _truediv_python3),
        ("floordiv", floordiv),
        ("mod", gen_math_ops.floor_mod),
        ("pow", pow),
        ("and", gen_math_ops.logical_and),
        ("or", gen_math_ops.logical_or),
        ("xor", logical_xor),
        ("matmul", _matmul_operator),
    ):
        _OverrideBinaryOperatorHelper(func, op_name)
    for operator, func in (
        ("__abs__", abs),
        ("__neg__", gen_math_ops.neg),
        ("__invert__", gen_math_ops.logical_not),
        ("__lt__", gen_math_ops.less),
        ("__le__", gen_math_ops.less_equal),
        ("__gt__", gen_math_ops.greater),
        ("__ge__", gen_math_ops.greater_equal),
    ):
        ops.Tensor._override_operator(operator, func)


_install_operators()


# ---- Ranges ----


def _as_indexed_slices(x, optimize=True):
    """A tensor as tf.IndexedSlices of all its rows; IndexedSlices as they are."""
    if isinstance(x, ops.IndexedSlices):
        return x
    if not isinstance(x, ops.Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}")
    shape = array_ops.shape_internal(x, optimize=optimize)
    return ops.IndexedSlices(x, range(0, shape[0]), shape)


def _as_indexed_slices_list(inputs, optimize=True):
    """_as_indexed_slices of each, with indices of one type: int64 where they differ."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    made = [_as_indexed_slices(x, optimize=optimize) for x in inputs]
    if len({x.indices.dtype for x in made}) < 2:
        return made
    return [ops.IndexedSlices(x.values, cast(x.indices, dtypes.int64), x.dense_shape) for x in made]


@tf_export("range")
def range(start, limit=None, delta=1, dtype=None, name="range"):
    """The numbers from start to before limit in steps of delta; range(n) begins at 0.

    dtype: None is the widest of the arguments' types.
    """
    if limit is None:
        start, limit = 0, start
    with ops.name_scope(name, "Range", [start, limit, delta]) as name:
        start, limit, delta = [
            cast(x, dtype)
            if dtype is not None and isinstance(x, ops.Tensor)
            else ops.convert_to_tensor(x, dtype=dtype, name=what)
            for x, what in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        if dtype is None:
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            given = [t.dtype.base_dtype for t in (start, limit, delta)]
            if not all(t in order for t in given):
                raise TypeError(f"tf.range takes int32, int64, float32 and float64, not {given}")
            widest = max(given, key=order.index)
            start, limit, delta = cast(start, widest), cast(limit, widest), cast(delta, widest)
        return gen_math_ops._range(start, limit, delta, name=name)


def _bucketize(input, boundaries, name=None):
    return gen_math_ops.bucketize(input=input, boundaries=boundaries, name=name)


@tf_export("math.cumsum", "cumsum")
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Sums along a dimension up to each element.

    exclusive: without the element itself. reverse: from the last element on.
    """
    with ops.name_scope(name, "Cumsum", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_math_ops.cumsum(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@tf_export("math.cumprod", v1=["math.cumprod", "cumprod"])
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Products along a dimension up to each element; see tf.cumsum."""
    with ops.name_scope(name, "Cumprod", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_math_ops.cumprod(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@tf_export("math.cumulative_logsumexp", v1=["math.cumulative_logsumexp"])
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """log(sum(exp(...))) along a dimension up to each element; see tf.cumsum."""
    with ops.name_scope(name, "CumulativeLogsumexp", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return gen_math_ops.cumulative_logsumexp(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@tf_export("linspace", v1=["linspace", "lin_space"])
def linspace(start, stop, num, name=None):
    """`num` numbers at equal distances from start to stop, both included."""
    return gen_math_ops.lin_space(start, stop, num, name=name)


lin_space = linspace


# ---- Reductions ----


def _ReductionDims(x, axis, reduction_indices=None):
    """The axis, or the numbers of all dimensions where it is None."""
    if reduction_indices is not None:
        if axis is not None:
            raise ValueError("Can't specify both axis' and 'reduction_indices'.")
        axis = reduction_indices
    if axis is not None:
        return axis
    known = None
    if isinstance(x, ops.Tensor):
        known = x.get_shape().ndims
    elif isinstance(x, sparse_tensor.SparseTensor):
        known = x.get_shape().ndims
    if known is not None:
        return constant_op.constant(np.arange(known, dtype=np.int32))
    return range(0, array_ops.rank(x))


def _may_reduce_to_scalar(keepdims, axis, output):
    if not keepdims and axis is None and not output.get_shape().is_fully_defined():
        output.set_shape(())
    return output


def _has_fully_defined_shape(tensor):
    return tensor.get_shape().is_fully_defined()


def _reduce(op, input_tensor, axis, keepdims, name):
    dims = _ReductionDims(input_tensor, axis)
    keepdims = bool(keepdims)
    return _may_reduce_to_scalar(keepdims, axis, op(input_tensor, dims, keepdims, name=name))


def _old_arguments(axis, keepdims, reduction_indices, keep_dims):
    """axis and keepdims, which have had other names."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    return axis, bool(keepdims)


@dispatch.or_ragged
def reduce_sum(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops._sum, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_sum", "reduce_sum"])
@dispatch.or_ragged
def reduce_sum_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """The sum along the dimensions of `axis`, None for all. keepdims: they stay, with size 1."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_sum(input_tensor, axis, keepdims, name)


def reduce_sum_with_dims(input_tensor, axis=None, keepdims=False, name=None, dims=None):
    keepdims = bool(keepdims)
    return _may_reduce_to_scalar(keepdims, axis, gen_math_ops._sum(input_tensor, dims, keepdims, name=name))


@dispatch.or_ragged
def reduce_mean(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops.mean, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_mean", "reduce_mean"])
@dispatch.or_ragged
def reduce_mean_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """The mean along the dimensions of `axis`; see tf.reduce_sum. Of integers it is rounded."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_mean(input_tensor, axis, keepdims, name)


@dispatch.or_ragged
def reduce_prod(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops.prod, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_prod", "reduce_prod"])
@dispatch.or_ragged
def reduce_prod_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """The product along the dimensions of `axis`; see tf.reduce_sum."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_prod(input_tensor, axis, keepdims, name)


@dispatch.or_ragged
def reduce_min(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops._min, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_min", "reduce_min"])
@dispatch.or_ragged
def reduce_min_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """The least element along the dimensions of `axis`; see tf.reduce_sum."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_min(input_tensor, axis, keepdims, name)


@dispatch.or_ragged
def reduce_max(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops._max, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_max", "reduce_max"])
@dispatch.or_ragged
def reduce_max_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """The greatest element along the dimensions of `axis`; see tf.reduce_sum."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_max(input_tensor, axis, keepdims, name)


def reduce_max_with_dims(input_tensor, axis=None, keepdims=False, name=None, dims=None):
    keepdims = bool(keepdims)
    return _may_reduce_to_scalar(keepdims, axis, gen_math_ops._max(input_tensor, dims, keepdims, name=name))


@dispatch.or_ragged
def reduce_all(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops._all, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_all", "reduce_all"])
@dispatch.or_ragged
def reduce_all_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Whether all elements along the dimensions of `axis` are true; see tf.reduce_sum."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_all(input_tensor, axis, keepdims, name)


@dispatch.or_ragged
def reduce_any(input_tensor, axis=None, keepdims=False, name=None):
    return _reduce(gen_math_ops._any, input_tensor, axis, keepdims, name)


@tf_export(v1=["math.reduce_any", "reduce_any"])
@dispatch.or_ragged
def reduce_any_v1(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Whether an element along the dimensions of `axis` is true; see tf.reduce_sum."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_any(input_tensor, axis, keepdims, name)


def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):
    input_tensor = ops.convert_to_tensor(input_tensor)
    with ops.name_scope(name, "ReduceLogSumExp", [input_tensor]):
        raw = reduce_max(input_tensor, axis=axis, keepdims=True)
        finite = gen_math_ops.select(gen_math_ops.is_finite(raw), raw, array_ops.zeros_like(raw))
        shift = array_ops.stop_gradient(finite)
        powers = gen_math_ops.exp(gen_math_ops.sub(input_tensor, shift))
        made = gen_math_ops.log(reduce_sum(powers, axis=axis, keepdims=keepdims))
        if not keepdims:
            shift = array_ops.reshape(shift, array_ops.shape(made))
        return _may_reduce_to_scalar(keepdims, axis, gen_math_ops.add(made, shift))


@tf_export(v1=["math.reduce_logsumexp", "reduce_logsumexp"])
def reduce_logsumexp_v1(
    input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None
):
    """log(sum(exp(...))) along the dimensions of `axis`, computed without overflow; see tf.reduce_sum."""
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return reduce_logsumexp(input_tensor, axis, keepdims, name)


@tf_export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    """The square root of the sum of squares along the dimensions of `axis`; see tf.reduce_sum."""
    return _reduce(gen_math_ops.euclidean_norm, input_tensor, axis, keepdims, name)


@tf_export("math.reduce_variance")
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The mean square of the distances from the mean along the dimensions of `axis`."""
    with ops.name_scope(name or "reduce_variance"):
        means = reduce_mean(input_tensor, axis=axis, keepdims=True)
        if means.dtype.is_integer:
            raise TypeError("Input must be either real or complex")
        distances = input_tensor - means
        if distances.dtype.is_complex:
            squares = real(distances * conj(distances))
        else:
            squares = gen_math_ops.square(distances)
        return reduce_mean(squares, axis=axis, keepdims=keepdims)


@tf_export("math.reduce_std")
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The square root of tf.math.reduce_variance."""
    with ops.name_scope(name or "reduce_std"):
        return gen_math_ops.sqrt(reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


def count_nonzero_v2(input, axis=None, keepdims=None, dtype=dtypes.int64, name=None):
    with ops.name_scope(name, "count_nonzero", [input]):
        input = ops.convert_to_tensor(input, name="input")
        zero = array_ops.zeros([], dtype=input.dtype)
        is_other = cast(gen_math_ops.not_equal(input, zero), dtypes.int64)
        return cast(reduce_sum(is_other, axis=axis, keepdims=bool(keepdims)), dtype=dtype)


@tf_export(v1=["math.count_nonzero", "count_nonzero"])
def count_nonzero(
    input_tensor=None,
    axis=None,
    keepdims=None,
    dtype=dtypes.int64,
    name=None,
    reduction_indices=None,
    keep_dims=None,
    input=None,
):
    """How many elements along the dimensions of `axis` are not zero (or empty strings)."""
    input_tensor = deprecation.deprecated_argument_lookup("input", input, "input_tensor", input_tensor)
    axis, keepdims = _old_arguments(axis, keepdims, reduction_indices, keep_dims)
    return count_nonzero_v2(input_tensor, axis, keepdims, dtype, name)


def argmax_v2(input, axis=None, output_type=dtypes.int64, name=None):
    return gen_math_ops.arg_max(input, 0 if axis is None else axis, name=name, output_type=output_type)


@tf_export(v1=["math.argmax", "argmax"])
def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """The index of the greatest element along a dimension (0), the first of equal ones."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return argmax_v2(input, axis, output_type, name)


def argmin_v2(input, axis=None, output_type=dtypes.int64, name=None):
    return gen_math_ops.arg_min(input, 0 if axis is None else axis, name=name, output_type=output_type)


@tf_export(v1=["math.argmin", "argmin"])
def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """The index of the least element along a dimension (0), the first of equal ones."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return argmin_v2(input, axis, output_type, name)


@tf_export("linalg.trace", v1=["linalg.trace", "trace"])
@dispatch.add_dispatch_support
def trace(x, name=None):
    """The sums of the main diagonals of the matrices in the last two dimensions."""
    with ops.name_scope(name, "Trace", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        return reduce_sum(array_ops.matrix_diag_part(x), [-1], name=name)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None):
    with ops.name_scope(name or "bincount"):
        arr = ops.convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        has_some = reduce_prod(array_ops.shape(arr)) > 0
        count = cast(has_some, dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            minlength = ops.convert_to_tensor(minlength, name="minlength", dtype=dtypes.int32)
            count = gen_math_ops.maximum(minlength, count)
        if maxlength is not None:
            maxlength = ops.convert_to_tensor(maxlength, name="maxlength", dtype=dtypes.int32)
            count = gen_math_ops.minimum(maxlength, count)
        if weights is not None:
            weights = ops.convert_to_tensor(weights, name="weights")
            return gen_math_ops.unsorted_segment_sum(weights, arr, count)
        return gen_math_ops.bincount(arr, count, constant_op.constant([], dtype))


@tf_export(v1=["math.bincount", "bincount"])
def bincount_v1(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32):
    """How often each number is among int32 numbers that are not negative, or the sum of their weights.

    minlength, maxlength: bounds of the result's size; greater numbers do not count.
    """
    return bincount(arr, weights, minlength, maxlength, dtype)


# ---- Segments ----


def _unsorted_segment_N(data, segment_ids, num_segments):
    """How many rows each segment has, at least 1, in a shape that divides the segments' sums."""
    ones = array_ops.ones(array_ops.shape_internal(segment_ids), dtype=data.dtype)
    counts = gen_math_ops.unsorted_segment_sum(ones, segment_ids, num_segments)
    ranks = data.shape.ndims, segment_ids.shape.ndims
    if None not in ranks:
        counts = array_ops.reshape(counts, [num_segments] + [1] * (ranks[0] - ranks[1]))
        return gen_math_ops.maximum(counts, 1)
    num_segments = ops.convert_to_tensor(num_segments)
    inner = array_ops.rank(data) - array_ops.rank(segment_ids)
    sizes = array_ops.concat(
        [num_segments[array_ops.newaxis], array_ops.ones([inner], dtype=num_segments.dtype)], axis=0
    )
    return gen_math_ops.maximum(array_ops.reshape(counts, sizes), 1)


@tf_export("math.unsorted_segment_mean", v1=["math.unsorted_segment_mean", "unsorted_segment_mean"])
@dispatch.or_ragged
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """The mean of the rows of each segment, 0 where it has none."""
    with ops.name_scope(name, "UnsortedSegmentMean"):
        data = ops.convert_to_tensor(data)
        segment_ids = ops.convert_to_tensor(segment_ids)
        counts = _unsorted_segment_N(data, segment_ids, num_segments)
        return gen_math_ops.unsorted_segment_sum(data, segment_ids, num_segments) / counts


@tf_export("math.unsorted_segment_sqrt_n", v1=["math.unsorted_segment_sqrt_n", "unsorted_segment_sqrt_n"])
@dispatch.or_ragged
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """The sum of the rows of each segment by the square root of how many there are."""
    with ops.name_scope(name, "UnsortedSegmentSqrtN"):
        data = ops.convert_to_tensor(data)
        segment_ids = ops.convert_to_tensor(segment_ids)
        counts = _unsorted_segment_N(data, segment_ids, num_segments)
        sums = gen_math_ops.unsorted_segment_sum(data, segment_ids, num_segments)
        return sums / gen_math_ops.sqrt(counts)


@tf_export(v1=["sparse.segment_sum", "sparse_segment_sum"])
def sparse_segment_sum(data, indices, segment_ids, name=None, num_segments=None):
    """The sums of the rows of `data` that `indices` name, by segments, whose numbers do not fall."""
    if num_segments is None:
        return gen_math_ops.sparse_segment_sum(data, indices, segment_ids, name=name)
    return gen_math_ops.sparse_segment_sum_with_num_segments(
        data, indices, segment_ids, num_segments, name=name
    )


@tf_export(v1=["sparse.segment_mean", "sparse_segment_mean"])
def sparse_segment_mean(data, indices, segment_ids, name=None, num_segments=None):
    """As tf.sparse.segment_sum, with means."""
    if num_segments is None:
        return gen_math_ops.sparse_segment_mean(data, indices, segment_ids, name=name)
    return gen_math_ops.sparse_segment_mean_with_num_segments(
        data, indices, segment_ids, num_segments, name=name
    )


@tf_export(v1=["sparse.segment_sqrt_n", "sparse_segment_sqrt_n"])
def sparse_segment_sqrt_n(data, indices, segment_ids, name=None, num_segments=None):
    """As tf.sparse.segment_sum, with the sums divided by the square root of the number of rows."""
    if num_segments is None:
        return gen_math_ops.sparse_segment_sqrt_n(data, indices, segment_ids, name=name)
    return gen_math_ops.sparse_segment_sqrt_n_with_num_segments(
        data, indices, segment_ids, num_segments, name=name
    )


def sparse_segment_sum_v2(data, indices, segment_ids, num_segments=None, name=None):
    return sparse_segment_sum(data, indices, segment_ids, name, num_segments)


def sparse_segment_mean_v2(data, indices, segment_ids, num_segments=None, name=None):
    return sparse_segment_mean(data, indices, segment_ids, name, num_segments)


def sparse_segment_sqrt_n_v2(data, indices, segment_ids, num_segments=None, name=None):
    return sparse_segment_sqrt_n(data, indices, segment_ids, name, num_segments)


# ---- Sums of tensors ----


@tf_export("math.add_n", "add_n")
@dispatch.elementwise
def add_n(inputs, name=None):
    """The sum of tensors or IndexedSlices of one shape and type."""
    problem = "inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape"
    try:
        inputs = list(inputs)
    except TypeError:
        raise ValueError(problem) from None
    if not inputs:
        raise ValueError(problem)
    inputs = ops.convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(x, (ops.Tensor, ops.IndexedSlices)) for x in inputs):
        raise ValueError(problem)
    if len(inputs) == 1:
        only = inputs[0]
        if isinstance(only, ops.IndexedSlices):
            only = ops.convert_to_tensor(only)
        return array_ops.identity(only, name=name) if name else only
    return gen_math_ops.add_n(inputs, name=name)


@tf_export("math.accumulate_n", v1=["math.accumulate_n", "accumulate_n"])
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of tensors of one shape, which is known or given."""
    problem = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(problem)
    inputs = ops.convert_n_to_tensor_or_indexed_slices(inputs)
    if not all(isinstance(x, ops.Tensor) and x.dtype == inputs[0].dtype for x in inputs):
        raise ValueError(problem)
    shape = tensor_shape.as_shape(shape)
    for x in inputs:
        shape = shape.merge_with(x.get_shape())
    if tensor_dtype is not None and tensor_dtype != inputs[0].dtype:
        raise TypeError("tensor_dtype is {}, but input is of type {}".format(tensor_dtype, inputs[0].dtype))
    if len(inputs) == 1:
        return inputs[0] if name is None else array_ops.identity(inputs[0], name=name)
    return gen_math_ops.accumulate_nv2(inputs, name=name, shape=shape)


# ---- Products of matrices ----


def _matmul_of_operators(a, b, transpose, adjoint_a, adjoint_b):
    """The product where a or b is a tf.linalg.LinearOperator."""
    if transpose:
        raise ValueError("Transposing not supported at this time.")
    if hasattr(type(a), "_matmul"):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b)
    product = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a)
    return array_ops.matrix_transpose(product, conjugate=True)


@tf_export("linalg.matmul", "matmul")
def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """The products of the matrices in the last two dimensions; the other dimensions are broadcast.

    transpose_a, adjoint_a: a is transposed (and conjugated) first. a_is_sparse: many of its elements are
    zero.
    """
    if hasattr(type(a), "_matmul") or hasattr(type(b), "_matmul"):
        return _matmul_of_operators(a, b, transpose_a or transpose_b, adjoint_a, adjoint_b)
    with ops.name_scope(name, "MatMul", [a, b]) as name:
        for which, transposes, conjugates in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
            if transposes and conjugates:
                raise ValueError(f"Only one of transpose_{which} and adjoint_{which} can be True.")
        a = ops.convert_to_tensor(a, name="a")
        b = ops.convert_to_tensor(b, name="b")
        is_sparse = a_is_sparse or b_is_sparse
        if not is_sparse and any(t.get_shape().ndims is None or t.get_shape().ndims > 2 for t in (a, b)):
            if transpose_a:  # the op of batches only has the adjoint
                a, adjoint_a = conj(a), True
            if transpose_b:
                b, adjoint_b = conj(b), True
            return gen_math_ops.batch_mat_mul_v2(a, b, adj_x=adjoint_a, adj_y=adjoint_b, name=name)
        if adjoint_a:  # and these only have the transpose
            a, transpose_a = conj(a), True
        if adjoint_b:
            b, transpose_b = conj(b), True
        sparse_types = (dtypes.bfloat16, dtypes.float32)
        if a.dtype in sparse_types and b.dtype in sparse_types and (is_sparse or a.dtype != b.dtype):
            made = gen_math_ops.sparse_mat_mul(
                a,
                b,
                transpose_a=transpose_a,
                transpose_b=transpose_b,
                a_is_sparse=a_is_sparse,
                b_is_sparse=b_is_sparse,
                name=name,
            )
            both = a.dtype == dtypes.bfloat16 and b.dtype == dtypes.bfloat16
            return cast(made, dtypes.bfloat16) if both else made
        return gen_math_ops.mat_mul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


@tf_export("linalg.matvec")
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """The products of matrices and vectors, those in the last dimension of b."""
    with ops.name_scope(name, "MatVec", [a, b]):
        made = matmul(
            a,
            array_ops.expand_dims(b, axis=-1),
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return array_ops.squeeze(made, axis=-1)


def _static_axes(axes, count):
    return [i + count if i < 0 else i for i in axes]


def _tensordot_matrix(x, axes, is_left):
    """x as a matrix whose columns (rows, of the right operand) are the contracted dimensions.

    Returns the matrix, the sizes of the other dimensions as a list or a tensor, and as far as they are known.
    """

    def ordered(free, contracted):
        return (free, contracted) if is_left else (contracted, free)

    known = x.get_shape()
    is_listed = known.ndims is not None and isinstance(axes, (list, tuple))
    static = None
    if is_listed:
        axes = _static_axes(axes, known.ndims)
        free = [i for i in builtins.range(known.ndims) if i not in axes]
        static = [known.dims[i].value for i in free]
    if is_listed and known.is_fully_defined():
        inner = int(np.prod([known.dims[i].value for i in axes], dtype=np.int64))
        outer = int(np.prod(static, dtype=np.int64))
        before, after = ordered(free, axes)
        turned = array_ops.transpose(x, before + list(after))
        return array_ops.reshape(turned, ordered(outer, inner)), static, static
    if is_listed:
        axes = ops.convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        free = ops.convert_to_tensor(free, dtype=dtypes.int32, name="free")
        sizes = array_ops.shape(x)
    else:
        sizes = array_ops.shape(x)
        count = array_ops.rank(x)
        axes = ops.convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        axes = array_ops.where(axes >= 0, axes, axes + count)
        free, _ = array_ops.setdiff1d(range(count), axes)
    free_sizes = array_ops.gather(sizes, free)
    axes_sizes = array_ops.gather(sizes, axes)
    outer = reduce_prod(free_sizes)
    inner = reduce_prod(axes_sizes)
    order = array_ops.concat(list(ordered(free, axes)), 0)
    shape = array_ops.stack(list(ordered(outer, inner)))
    matrix = array_ops.reshape(array_ops.transpose(x, order), shape)
    return matrix, free_sizes, static


def _tensordot_axes(a, axes):
    """The contracted dimensions of the left and of the right operand."""
    if isinstance(axes, (int, np.integer)) and not isinstance(axes, bool):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        count = a.get_shape().ndims
        if count is not None:
            if axes > count:
                raise ValueError("'axes' must not be larger than the number of dimensions of tensor %s." % a)
            return list(builtins.range(count - axes, count)), list(builtins.range(axes))
        count = array_ops.rank(a)
        return range(count - axes, count, dtype=dtypes.int32), range(axes, dtype=dtypes.int32)
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError("'axes' must be an integer or have length 2.")
        left, right = ([part] if isinstance(part, (int, np.integer)) else part for part in axes)
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)) and len(left) != len(right):
            raise ValueError("Different number of contraction axes 'a' and 'b', %s != %s." % (left, right))
        return left, right
    axes = ops.convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    return axes[0], axes[1]


@tf_export("tensordot", "linalg.tensordot")
def tensordot(a, b, axes, name=None):
    """The contraction of two tensors: sums of products over dimensions of both, as numpy.tensordot.

    axes: how many last dimensions of a and first ones of b, or two lists of them.
    """
    with ops.name_scope(name, "Tensordot", [a, b, axes]) as name:
        a = ops.convert_to_tensor(a, name="a")
        b = ops.convert_to_tensor(b, name="b")
        a_axes, b_axes = _tensordot_axes(a, axes)
        a_matrix, a_sizes, a_known = _tensordot_matrix(a, a_axes, True)
        b_matrix, b_sizes, b_known = _tensordot_matrix(b, b_axes, False)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_sizes, list) and isinstance(b_sizes, list):
            return array_ops.reshape(product, a_sizes + b_sizes, name=name)
        a_sizes = ops.convert_to_tensor(a_sizes, dtype=dtypes.int32)
        b_sizes = ops.convert_to_tensor(b_sizes, dtype=dtypes.int32)
        made = array_ops.reshape(product, array_ops.concat([a_sizes, b_sizes], 0), name=name)
        if a_known is not None and b_known is not None:
            made.set_shape(a_known + b_known)
        return made


# ---- Shapes of results ----


def reduced_shape(input_shape, axes):
    """The shape of a reduction with keepdims: sizes of 1 in the dimensions of `axes`."""
    input_shape = cast(input_shape, dtypes.int32)
    axes = cast(axes, dtypes.int32)
    count = array_ops.size(input_shape)
    axes = (axes + count) % count
    return gen_data_flow_ops.dynamic_stitch(
        [range(count), axes], [input_shape, array_ops.fill(array_ops.shape(axes), 1)]
    )


def tensor_equals(self, other):
    """Whether both are the same tensor: in a graph, `==` compares no elements."""
    return self is other


def tensor_not_equals(self, other):
    return self is not other

"""Functions of the normal and of Laplace's distribution, accurate and with finite gradients in the tails."""

import math

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops

__all__ = ["erfinv", "ndtr", "ndtri", "log_ndtr", "log_cdf_laplace"]

# Where log_ndtr changes its formula. Below the lower bounds ndtr loses its accuracy, above the upper ones it
# is 1 up to a small difference.
LOGNDTR_FLOAT64_LOWER = np.array(-20, np.float64)
LOGNDTR_FLOAT32_LOWER = np.array(-10, np.float32)
LOGNDTR_FLOAT64_UPPER = np.array(8, np.float64)
LOGNDTR_FLOAT32_UPPER = np.array(5, np.float32)


def _real(x, name):
    """A tensor of float or double. TypeError: of another type."""
    x = ops.convert_to_tensor(x, name=name)
    if x.dtype.as_numpy_dtype not in (np.float32, np.float64):
        raise TypeError(f"{name}.dtype={x.dtype} is not handled: float32 and float64 are.")
    return x


def ndtr(x, name="ndtr"):
    """The probability that a standard normal variable is at most x."""
    with ops.name_scope(name, values=[x]):
        return _ndtr(_real(x, "x"))


def _ndtr(x):
    bound = ops.convert_to_tensor(0.5 * math.sqrt(2.0), dtype=x.dtype, name="half_sqrt_2")
    w = x * bound
    z = math_ops.abs(w)
    is_middle, middle = z < bound, 1.0 + math_ops.erf(w)
    is_above, above = w > 0.0, 2.0 - math_ops.erfc(z)
    outside = array_ops.where_v2(is_above, above, math_ops.erfc(z))
    return 0.5 * array_ops.where_v2(is_middle, middle, outside)


# Moshier's rational approximations of ndtri (Cephes): numerators and denominators, from the highest power.
# In the middle, of (p - 1/2)^2; in the tails, of 1 / sqrt(-2 log p), where that square root is below 8 and
# where it is not.
_NDTRI_MIDDLE = (
    (
        -5.99633501014107895267e1,
        9.80010754185999661536e1,
        -5.66762857469070293439e1,
        1.39312609387279679503e1,
        -1.23916583867381258016e0,
    ),
    (
        1.0,
        1.95448858338141759834e0,
        4.67627912898881538453e0,
        8.63602421390890590575e1,
        -2.25462687854119370527e2,
        2.00260212380060660359e2,
        -8.20372256168333339912e1,
        1.59056225126211695515e1,
        -1.18331621121330003142e0,
    ),
)
_NDTRI_TAIL = (
    (
        4.05544892305962419923e0,
        3.15251094599893866154e1,
        5.71628192246421288162e1,
        4.40805073893200834700e1,
        1.46849561928858024014e1,
        2.18663306850790267539e0,
        -1.40256079171354495875e-1,
        -3.50424626827848203418e-2,
        -8.57456785154685413611e-4,
    ),
    (
        1.0,
        1.57799883256466749731e1,
        4.53907635128879210584e1,
        4.13172038254672030440e1,
        1.50425385692907503408e1,
        2.50464946208309415979e0,
        -1.42182922854787788574e-1,
        -3.80806407691578277194e-2,
        -9.33259480895457427372e-4,
    ),
)
_NDTRI_FAR_TAIL = (
    (
        3.23774891776946035970e0,
        6.91522889068984211695e0,
        3.93881025292474443415e0,
        1.33303460815807542389e0,
        2.01485389549179081538e-1,
        1.23716634817820021358e-2,
        3.01581553508235416007e-4,
        2.65806974686737550832e-6,
        6.23974539184983293730e-9,
    ),
    (
        1.0,
        6.02427039364742014255e0,
        3.67983563856160859403e0,
        1.37702099489081330271e0,
        2.16236993594496635890e-1,
        1.34204006088543189037e-2,
        3.28014464682127739104e-4,
        2.89247864745380683936e-6,
        6.79019408009981274425e-9,
    ),
)


def _polynomial(x, coefficients):
    """The value at x, by Horner's rule."""
    value = array_ops.zeros_like(x)
    for coefficient in coefficients:
        value = x.dtype.as_numpy_dtype(coefficient) + value * x
    return value


def _ratio(x, coefficients):
    return _polynomial(x, coefficients[0]) / _polynomial(x, coefficients[1])


def ndtri(p, name="ndtri"):
    """The x at which ndtr(x) is p. Its gradient is finite everywhere."""
    with ops.name_scope(name, values=[p]):
        p = _real(p, "p")
        kind = p.dtype.as_numpy_dtype
        # By the symmetry only 0 < q <= 1 - exp(-2) is needed.
        q = array_ops.where_v2(p > -math.expm1(-2.0), 1.0 - p, p)
        is_out, inside = q <= 0.0, array_ops.fill(array_ops.shape(p), kind(0.5))
        q = array_ops.where_v2(is_out, inside, q)
        w = q - 0.5
        square = w**2
        middle = w + w * square * _ratio(square, _NDTRI_MIDDLE)
        middle *= -math.sqrt(2.0 * math.pi)
        z = math_ops.sqrt(-2.0 * math_ops.log(q))
        first = z - math_ops.log(z) / z
        # Each 1 / z is a node of its own, as in TensorFlow.
        far = _polynomial(1.0 / z, _NDTRI_FAR_TAIL[0]) / _polynomial(1.0 / z, _NDTRI_FAR_TAIL[1]) / z
        near = _polynomial(1.0 / z, _NDTRI_TAIL[0]) / _polynomial(1.0 / z, _NDTRI_TAIL[1]) / z
        far, near = first - far, first - near
        is_middle = q > math.exp(-2.0)
        x = array_ops.where_v2(is_middle, middle, array_ops.where_v2(z >= 8.0, far, near))
        x = array_ops.where_v2(p > 1.0 - math.exp(-2.0), x, -x)
        infinity = ops.convert_to_tensor(np.inf, dtype=p.dtype)
        infinity = array_ops.fill(array_ops.shape(p), infinity)
        is_zero, below = p <= 0.0, -infinity
        return array_ops.where_v2(is_zero, below, array_ops.where_v2(p >= 1.0, infinity, x))


def log_ndtr(x, series_order=3, name="log_ndtr"):
    """The logarithm of ndtr(x).

    Far below 0 it is the logarithm of an asymptotic series (Abramowitz and Stegun, 26.2.12) of series_order
    terms, far above 0 it is -ndtr(-x). TypeError: series_order is no integer; ValueError: it is not in
    [0, 30].
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    with ops.name_scope(name, values=[x]):
        x = _real(x, "x")
        lower, upper = (
            (LOGNDTR_FLOAT64_LOWER, LOGNDTR_FLOAT64_UPPER)
            if x.dtype.as_numpy_dtype is np.float64
            else (LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER)
        )
        # Each formula gets an x that it can take, so that no gradient is NaN.
        is_above, above = x > upper, -_ndtr(-x)
        is_middle, middle = x > lower, math_ops.log(_ndtr(math_ops.maximum(x, lower)))
        below = _log_ndtr_series(math_ops.minimum(x, lower), series_order)
        return array_ops.where_v2(is_above, above, array_ops.where_v2(is_middle, middle, below))


def _log_ndtr_series(x, order):
    scale = -0.5 * math_ops.square(x) - math_ops.log(-x) - 0.5 * math.log(2.0 * math.pi)
    kind = x.dtype.as_numpy_dtype
    if order == 0:
        return scale + math_ops.log(kind(1))
    square = math_ops.square(x)
    even, odd, power = array_ops.zeros_like(x), array_ops.zeros_like(x), square
    for n in range(1, order + 1):
        term = kind(np.prod(np.arange(2 * n - 1, 1, -2, dtype=np.float64))) / power
        even, odd = (even, odd + term) if n % 2 else (even + term, odd)
        power = power * square
    return scale + math_ops.log(1.0 + even - odd)


def erfinv(x, name="erfinv"):
    """The y at which erf(y) is x."""
    with ops.name_scope(name, values=[x]):
        return ndtri((_real(x, "x") + 1.0) / 2.0) / math.sqrt(2.0)


def log_cdf_laplace(x, name="log_cdf_laplace"):
    """The logarithm of the probability that a variable of Laplace's distribution (0, 1) is at most x."""
    with ops.name_scope(name, values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        below = -math.log(2.0) + x
        above = math_ops.log1p(-0.5 * math_ops.exp(-math_ops.abs(x)))
        return array_ops.where_v2(x < 0.0, below, above)

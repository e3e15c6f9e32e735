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
    z = x * math.sqrt(0.5)
    tail = 0.5 * math_ops.erfc(math_ops.abs(z))
    return array_ops.where_v2(
        math_ops.abs(z) < math.sqrt(0.5),
        0.5 + 0.5 * math_ops.erf(z),
        array_ops.where_v2(z > 0.0, 1.0 - tail, tail),
    )


def ndtri(p, name="ndtri"):
    """The x at which ndtr(x) is p. Its gradient is taken as 0 where x is infinite."""
    with ops.name_scope(name, values=[p]):
        p = _real(p, "p")
        inside = math_ops.logical_and(p > 0.0, p < 1.0)
        x = math_ops.ndtri(array_ops.where_v2(inside, p, 0.5 * array_ops.ones_like(p)))
        infinity = np.array(np.inf, p.dtype.as_numpy_dtype)
        ends = array_ops.where_v2(p <= 0.0, -infinity, infinity)
        return array_ops.where_v2(inside, x, ends)


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
        middle = math_ops.log(_ndtr(math_ops.maximum(x, lower)))
        below = _log_ndtr_series(math_ops.minimum(x, lower), series_order)
        return array_ops.where_v2(x > upper, -_ndtr(-x), array_ops.where_v2(x > lower, middle, below))


def _log_ndtr_series(x, order):
    square, term, total = math_ops.square(x), 1.0, 1.0
    for n in range(1, order + 1):
        term = -term * (2 * n - 1) / square
        total = total + term
    log_total = math_ops.log(total) if order else 0.0
    return -0.5 * square - math_ops.log(-x) - 0.5 * math.log(2.0 * math.pi) + log_total


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

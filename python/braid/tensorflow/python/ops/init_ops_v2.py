"""Initial values of variables as TensorFlow 2 has them: called with a shape and a type. With a seed, each
call gives the same values.
"""

import math

import numpy as np

from braid.tensorflow.python.framework import constant_op, dtypes
from braid.tensorflow.python.ops import (
    array_ops,
    gen_linalg_ops,
    linalg_ops_impl,
    math_ops,
    random_ops,
    stateless_random_ops,
)

_STDDEV_OF_TRUNCATED = 0.87962566103423978  # of a normal distribution that is cut at two standard deviations


def _float_type(dtype):
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point dtype, got {dtype}.")
    return dtype


_assert_float_dtype = _float_type


def _fans(shape):
    """How many inputs and outputs a unit of weights of this shape has: (..., inputs, outputs)."""
    shape = [int(size) for size in shape]
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


_compute_fans = _fans


class _RandomGenerator:
    """Random numbers: with a seed those of a stateless op, the same at each call."""

    def __init__(self, seed=None):
        self.seed = None if seed is None else [seed, 0]

    def _draw(self, stateful, stateless, shape, first, second, dtype):
        if self.seed is None:
            return stateful(shape, first, second, dtype)
        return stateless(shape, self.seed, first, second, dtype)

    def random_normal(self, shape, mean=0.0, stddev=1, dtype=dtypes.float32):
        ops = random_ops.random_normal, stateless_random_ops.stateless_random_normal
        return self._draw(*ops, shape, mean, stddev, dtype)

    def random_uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32):
        ops = random_ops.random_uniform, stateless_random_ops.stateless_random_uniform
        return self._draw(*ops, shape, minval, maxval, dtype)

    def truncated_normal(self, shape, mean=0, stddev=1, dtype=dtypes.float32):
        ops = random_ops.truncated_normal, stateless_random_ops.stateless_truncated_normal
        return self._draw(*ops, shape, mean, stddev, dtype)


class Initializer:
    """What is called with (shape, dtype) and returns a tensor."""

    def __call__(self, shape, dtype=None):
        raise NotImplementedError

    def get_config(self):
        """The arguments of the constructor."""
        return {}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        config.pop("dtype", None)  # of an initializer of TensorFlow 1
        return cls(**config)


class _Filled(Initializer):
    _fill = None

    def __call__(self, shape, dtype=dtypes.float32):
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_numpy_compatible or dtype == dtypes.string:
            raise ValueError(f"Expected numeric or boolean dtype, got {dtype}.")
        return type(self)._fill(shape, dtype)


class Zeros(_Filled):
    """Zeros."""

    _fill = staticmethod(array_ops.zeros)


class Ones(_Filled):
    """Ones."""

    _fill = staticmethod(array_ops.ones)


class Constant(Initializer):
    """One value everywhere, or the values of a list or an array, as many as the shape has."""

    def __init__(self, value=0):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of values, or "
                "numpy.ndarray)."
            )
        self.value = value

    def __call__(self, shape, dtype=None):
        dtype = None if dtype is None else dtypes.as_dtype(dtype)
        return constant_op.constant(self.value, dtype=dtype, shape=shape)

    def get_config(self):
        return {"value": self.value}


class RandomUniform(Initializer):
    """Uniform between minval and maxval: integers, or real numbers without maxval."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self._random_generator = _RandomGenerator(seed)

    def __call__(self, shape, dtype=dtypes.float32):
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_floating and not dtype.is_integer:
            raise ValueError(f"Expected float or integer dtype, got {dtype}.")
        return self._random_generator.random_uniform(shape, self.minval, self.maxval, dtype)

    def get_config(self):
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


class RandomNormal(Initializer):
    """Normally distributed."""

    _truncated = False

    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self._random_generator = _RandomGenerator(seed)

    def __call__(self, shape, dtype=dtypes.float32):
        generator = self._random_generator
        draw = generator.truncated_normal if self._truncated else generator.random_normal
        return draw(shape, self.mean, self.stddev, _float_type(dtype))

    def get_config(self):
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


class TruncatedNormal(RandomNormal):
    """Normally distributed within two standard deviations."""

    _truncated = True


class VarianceScaling(Initializer):
    """Random numbers with the variance scale / n.

    Args:
      mode: n is the number of a unit's inputs ("fan_in"), of its outputs ("fan_out"), or their mean ("fan_avg").
      distribution: "truncated_normal", "untruncated_normal" or "uniform".
    """

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None):
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        distribution = "truncated_normal" if distribution.lower() == "normal" else distribution.lower()
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self._random_generator = _RandomGenerator(seed)

    def __call__(self, shape, dtype=dtypes.float32):
        dtype = _float_type(dtype)
        inputs, outputs = _fans(shape)
        n = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self._random_generator.random_uniform(shape, -limit, limit, dtype)
        if self.distribution == "untruncated_normal":
            return self._random_generator.random_normal(shape, 0.0, math.sqrt(variance), dtype)
        stddev = math.sqrt(variance) / _STDDEV_OF_TRUNCATED
        return self._random_generator.truncated_normal(shape, 0.0, stddev, dtype)

    def get_config(self):
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
        }


class Orthogonal(Initializer):
    """An orthogonal matrix times `gain`: of a random one's QR decomposition. All but the last dimension are one."""

    def __init__(self, gain=1.0, seed=None):
        self.gain, self.seed = gain, seed
        self._random_generator = _RandomGenerator(seed)

    def __call__(self, shape, dtype=dtypes.float32):
        dtype = _float_type(dtype)
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(int(size) for size in shape[:-1]), int(shape[-1])
        normal = self._random_generator.random_normal((max(columns, rows), min(columns, rows)), dtype=dtype)
        q, r = gen_linalg_ops.qr(normal, full_matrices=False)
        q *= math_ops.sign(array_ops.diag_part(r))  # makes it uniform
        if rows < columns:
            q = array_ops.matrix_transpose(q)
        return self.gain * array_ops.reshape(q, shape)

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed}


class Identity(Initializer):
    """The identity matrix times `gain`."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def __call__(self, shape, dtype=dtypes.float32):
        dtype = _float_type(dtype)
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        matrix = linalg_ops_impl.eye(*[int(size) for size in shape], dtype=dtype)
        return matrix if self.gain == 1.0 else self.gain * matrix

    def get_config(self):
        return {"gain": self.gain}


class GlorotUniform(VarianceScaling):
    """Uniform, with the variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed=None):
        super().__init__(scale=1.0, mode="fan_avg", distribution="uniform", seed=seed)

    def get_config(self):
        return {"seed": self.seed}


class GlorotNormal(VarianceScaling):
    """Normally distributed, with the variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed=None):
        super().__init__(scale=1.0, mode="fan_avg", distribution="truncated_normal", seed=seed)

    def get_config(self):
        return {"seed": self.seed}


def lecun_normal(seed=None):
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="truncated_normal", seed=seed)


def lecun_uniform(seed=None):
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="uniform", seed=seed)


def he_normal(seed=None):
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="truncated_normal", seed=seed)


def he_uniform(seed=None):
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="uniform", seed=seed)


zero = zeros = zeros_initializer = Zeros
one = ones = ones_initializer = Ones
constant = constant_initializer = Constant
uniform = random_uniform = random_uniform_initializer = RandomUniform
normal = random_normal = random_normal_initializer = RandomNormal
truncated_normal = truncated_normal_initializer = TruncatedNormal
variance_scaling_initializer = VarianceScaling
orthogonal = orthogonal_initializer = Orthogonal
identity = identity_initializer = Identity
glorot_uniform = glorot_uniform_initializer = GlorotUniform
glorot_normal = glorot_normal_initializer = GlorotNormal

"""Initializers: callables that make the first values of variables of a shape."""

import functools
import itertools
import math

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["keras.initializers.Initializer"])
class Initializer:
    """What is called with (shape, dtype=None, partition_info=None) and returns a tensor.

    `partition_info` tells which part of a partitioned variable is wanted: `full_shape` and `var_offset`.
    """

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def get_config(self):
        """What from_config() makes an equal initializer of, of plain values."""
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**{key: value for key, value in config.items() if key != "dtype" or value is not None})

    def _type_or(self, dtype):
        return self.dtype if dtype is None else dtype


@tf_export(
    v1=["initializers.zeros", "zeros_initializer", "keras.initializers.Zeros", "keras.initializers.zeros"]
)
class Zeros(Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return array_ops.zeros(shape, self._type_or(dtype))

    def get_config(self):
        return {"dtype": self.dtype.name}


@tf_export(v1=["initializers.ones", "ones_initializer", "keras.initializers.Ones", "keras.initializers.ones"])
class Ones(Initializer):
    def __init__(self, dtype=dtypes.float32):
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return array_ops.ones(shape, self._type_or(dtype))

    def get_config(self):
        return {"dtype": self.dtype.name}


@tf_export(
    v1=[
        "initializers.constant",
        "constant_initializer",
        "keras.initializers.Constant",
        "keras.initializers.constant",
    ]
)
class Constant(Initializer):
    """A number, or a list or an array with as many elements as the shape wants."""

    def __init__(self, value=0, dtype=dtypes.float32, verify_shape=False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of "
                "values, or numpy.ndarray)."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        return constant_op.constant_v1(
            self.value,
            dtype=self._type_or(dtype),
            shape=shape,
            verify_shape=self._verify_shape if verify_shape is None else verify_shape,
        )

    def get_config(self):
        return {"value": self.value, "dtype": self.dtype.name}


@tf_export(v1=["initializers.random_uniform", "random_uniform_initializer"])
class RandomUniform(Initializer):
    """Uniform in [minval, maxval). `maxval` None: 1 for floating types."""

    def __init__(self, minval=0.0, maxval=None, seed=None, dtype=dtypes.float32):
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random_ops.random_uniform(
            shape, self.minval, self.maxval, self._type_or(dtype), seed=self.seed
        )

    def get_config(self):
        return {
            "minval": self.minval,
            "maxval": self.maxval,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


@tf_export(v1=["initializers.random_normal", "random_normal_initializer"])
class RandomNormal(Initializer):
    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def __call__(self, shape, dtype=None, partition_info=None):
        return random_ops.random_normal(shape, self.mean, self.stddev, self._type_or(dtype), seed=self.seed)

    def get_config(self):
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


@tf_export(v1=["initializers.truncated_normal", "truncated_normal_initializer"])
class TruncatedNormal(Initializer):
    """A normal distribution without what is more than two standard deviations from the mean."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def __call__(self, shape, dtype=None, partition_info=None):
        return random_ops.truncated_normal(
            shape, self.mean, self.stddev, self._type_or(dtype), seed=self.seed
        )

    def get_config(self):
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed, "dtype": self.dtype.name}


@tf_export(v1=["initializers.uniform_unit_scaling", "uniform_unit_scaling_initializer"])
class UniformUnitScaling(Initializer):
    """Uniform in ±factor * sqrt(3 / n), n the product of all sizes but the last (Sussillo and Abbott 2014)."""

    def __init__(self, factor=1.0, seed=None, dtype=dtypes.float32):
        self.factor = factor
        self.seed = seed
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def __call__(self, shape, dtype=None, partition_info=None):
        whole = shape if partition_info is None else partition_info.full_shape
        inputs = max(1.0, float(math.prod(int(size) for size in whole[:-1])))
        limit = math.sqrt(3 / inputs) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, self._type_or(dtype), seed=self.seed)

    def get_config(self):
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


# What the standard deviation of the unit normal distribution is when it is cut off at two.
_TRUNCATED_STDDEV = 0.87962566103423978


@tf_export(
    v1=["initializers.variance_scaling", "variance_scaling_initializer", "keras.initializers.VarianceScaling"]
)
class VarianceScaling(Initializer):
    """Values of the variance scale / n, n the number of inputs, of outputs, or their mean.

    `mode` is "fan_in", "fan_out" or "fan_avg"; `distribution` is "truncated_normal" (also "normal"),
    "untruncated_normal" or "uniform".
    """

    def __init__(
        self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype=dtypes.float32
    ):
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError("Invalid `mode` argument:", mode)
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._type_or(dtype)
        fan_in, fan_out = _compute_fans(shape if partition_info is None else partition_info.full_shape)
        count = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        stddev = math.sqrt(variance) / _TRUNCATED_STDDEV
        return random_ops.truncated_normal(shape, 0.0, stddev, dtype, seed=self.seed)

    def get_config(self):
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


@tf_export(v1=["initializers.orthogonal", "orthogonal_initializer", "keras.initializers.Orthogonal"])
class Orthogonal(Initializer):
    """`gain` times an orthogonal matrix of all sizes but the last to the last (Saxe et al. 2013).

    It is Q of the QR decomposition of a normal matrix, with the signs that make the distribution uniform.
    """

    def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
        self.gain = gain
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))
        self.seed = seed

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._type_or(dtype)
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(int(size) for size in shape[:-1]), int(shape[-1])
        size = (max(columns, rows), min(columns, rows))
        normal = random_ops.random_normal(size, dtype=dtype, seed=self.seed)
        q, r = gen_linalg_ops.qr(normal, full_matrices=False)
        q *= math_ops.sign(array_ops.diag_part(r))
        if rows < columns:
            q = array_ops.matrix_transpose(q)
        return self.gain * array_ops.reshape(q, shape)

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class ConvolutionDeltaOrthogonal(Initializer):
    """A kernel with an orthogonal matrix in its middle and zeros around (Xiao et al. 2018)."""

    def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
        self.gain = gain
        self.seed = seed
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._type_or(dtype)
        shape = [int(size) for size in shape]
        if not 3 <= len(shape) <= 5:
            raise ValueError("The tensor to initialize must be at least three-dimensional and at most five")
        if shape[-2] > shape[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        q, r = gen_linalg_ops.qr(
            random_ops.random_normal([shape[-1], shape[-1]], dtype=dtype, seed=self.seed),
            full_matrices=False,
        )
        q *= math_ops.sign(array_ops.diag_part(r))
        q = q[: shape[-2], :] * math_ops.cast(self.gain, dtype)
        middle = [(size - 1) // 2 for size in shape[:-2]]
        return array_ops.scatter_nd([middle], array_ops.expand_dims(q, 0), shape)

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


class _ConvolutionOrthogonal(Initializer):
    """A kernel of `dims` dimensions whose convolution keeps the norm (Xiao et al. 2018, algorithms 1 and 2).

    It is the convolution of kernels of the size 2 in each dimension, which are made of random projections.
    """

    dims, words = None, None

    def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
        self.gain = gain
        self.seed = seed
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def get_config(self):
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}

    def __call__(self, shape, dtype=None, partition_info=None):
        dtype = self._type_or(dtype)
        shape = [int(size) for size in shape]
        if len(shape) != self.dims + 2:
            raise ValueError(
                f"The tensor to initialize, specified by argument `shape` must be {self.words}-dimensional"
            )
        if shape[-2] > shape[-1]:
            raise ValueError("In_filters cannot be greater than out_filters.")
        if len(set(shape[:-2])) > 1:
            raise ValueError("Kernel sizes must be equal.")
        channels, seeds = shape[-1], itertools.count(self.seed) if self.seed else itertools.repeat(None)
        first = self._orthogonal(channels, dtype, next(seeds))[: shape[-2], :]
        kernel = {(0,) * self.dims: first}
        if shape[0] > 1:
            parts = [self._block(channels, dtype, seeds) for _ in range(shape[0] - 1)]
            joined = functools.reduce(self._convolved, parts)
            kernel = {place: math_ops.matmul(first, part) for place, part in joined.items()}
        places = sorted(kernel)
        made = array_ops.reshape(array_ops.stack([kernel[place] for place in places]), shape)
        return made * math_ops.cast(self.gain, dtype)

    @staticmethod
    def _orthogonal(n, dtype, seed):
        """An orthogonal matrix, all of which are as likely."""
        q, r = gen_linalg_ops.qr(
            random_ops.random_normal([n, n], dtype=dtype, seed=seed), full_matrices=False
        )
        return q * math_ops.sign(array_ops.diag_part(r))

    def _projection(self, n, dtype, seeds):
        """A symmetric projection on a random subspace."""
        q = self._orthogonal(n, dtype, next(seeds))
        is_in = random_ops.random_normal([n], seed=next(seeds)) > 0
        kept = q * math_ops.cast(is_in, dtype)
        return math_ops.matmul(kept, kept, transpose_b=True)

    def _block(self, n, dtype, seeds):
        """A kernel of the size 2: the product, for each dimension, of a projection or of what it leaves out."""
        whole = array_ops.diag(array_ops.ones([n], dtype))
        projections = [self._projection(n, dtype, seeds) for _ in range(self.dims)]
        pairs = [(p, whole - p) for p in projections]
        return {
            place: functools.reduce(math_ops.matmul, [pair[i] for pair, i in zip(pairs, place)])
            for place in itertools.product((0, 1), repeat=self.dims)
        }

    @staticmethod
    def _convolved(a, b):
        """The convolution of two kernels, whose elements are matrices by their places."""
        made = {}
        for (at, x), (by, y) in itertools.product(a.items(), b.items()):
            place = tuple(i + j for i, j in zip(at, by))
            product = math_ops.matmul(x, y)
            made[place] = made[place] + product if place in made else product
        return made


class ConvolutionOrthogonal1D(_ConvolutionOrthogonal):
    """A kernel for conv1d, [size, channels, channels], that keeps the norm."""

    dims, words = 1, "three"


class ConvolutionOrthogonal2D(_ConvolutionOrthogonal):
    """A kernel for conv2d, [size, size, channels, channels], that keeps the norm."""

    dims, words = 2, "four"


class ConvolutionOrthogonal3D(_ConvolutionOrthogonal):
    """A kernel for conv3d, [size, size, size, channels, channels], that keeps the norm."""

    dims, words = 3, "five"


@tf_export(v1=["initializers.identity", "keras.initializers.Identity", "keras.initializers.identity"])
class Identity(Initializer):
    """`gain` times the identity matrix, which need not be square."""

    def __init__(self, gain=1.0, dtype=dtypes.float32):
        self.gain = gain
        self.dtype = _assert_float_dtype(dtypes.as_dtype(dtype))

    def __call__(self, shape, dtype=None, partition_info=None):
        full_shape = shape if partition_info is None else partition_info.full_shape
        if len(full_shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        from braid.tensorflow.python.ops import linalg_ops_impl

        initializer = linalg_ops_impl.eye(*full_shape, dtype=self._type_or(dtype))
        if partition_info is not None:
            initializer = array_ops.slice(initializer, partition_info.var_offset, shape)
        return self.gain * initializer

    def get_config(self):
        return {"gain": self.gain, "dtype": self.dtype.name}


@tf_export(
    v1=["glorot_uniform_initializer", "initializers.glorot_uniform", "keras.initializers.glorot_uniform"]
)
class GlorotUniform(VarianceScaling):
    """Uniform in ±sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010)."""

    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(scale=1.0, mode="fan_avg", distribution="uniform", seed=seed, dtype=dtype)

    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


@tf_export(v1=["glorot_normal_initializer", "initializers.glorot_normal", "keras.initializers.glorot_normal"])
class GlorotNormal(VarianceScaling):
    """Truncated normal of the variance 2 / (inputs + outputs) (Glorot and Bengio 2010)."""

    def __init__(self, seed=None, dtype=dtypes.float32):
        super().__init__(scale=1.0, mode="fan_avg", distribution="truncated_normal", seed=seed, dtype=dtype)

    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
identity_initializer = Identity
convolutional_orthogonal_1d = ConvolutionOrthogonal1D
convolutional_orthogonal_2d = ConvolutionOrthogonal2D
convolutional_orthogonal_3d = ConvolutionOrthogonal3D
convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal


@tf_export(v1=["initializers.lecun_normal", "keras.initializers.lecun_normal"])
def lecun_normal(seed=None):
    """Truncated normal of the variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="truncated_normal", seed=seed)


@tf_export(v1=["initializers.lecun_uniform", "keras.initializers.lecun_uniform"])
def lecun_uniform(seed=None):
    """Uniform in ±sqrt(3 / inputs) (LeCun et al. 1998)."""
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="uniform", seed=seed)


@tf_export(v1=["initializers.he_normal", "keras.initializers.he_normal"])
def he_normal(seed=None):
    """Truncated normal of the variance 2 / inputs (He et al. 2015)."""
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="truncated_normal", seed=seed)


@tf_export(v1=["initializers.he_uniform", "keras.initializers.he_uniform"])
def he_uniform(seed=None):
    """Uniform in ±sqrt(6 / inputs) (He et al. 2015)."""
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="uniform", seed=seed)


def _compute_fans(shape):
    """The numbers of inputs and of outputs of a unit whose weights have the shape."""
    shape = [int(size) for size in shape]
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


def _assert_float_dtype(dtype):
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype

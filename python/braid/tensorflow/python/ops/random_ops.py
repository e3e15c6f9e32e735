"""Random tensors: tf.random_uniform, tf.random_normal and their kind."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_random_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


def _shape_tensor(shape):
    """The shape as a tensor of integers, named "shape" if it is new."""
    dtype = dtypes.int32 if isinstance(shape, (tuple, list)) and not shape else None
    return ops.convert_to_tensor(shape, dtype=dtype, name="shape")


_ShapeTensor = _shape_tensor


def _with_shape(tensor, shape):
    """The tensor, with the static shape that `shape` tells."""
    known = tensor_util.constant_value_as_shape(shape) if isinstance(shape, ops.Tensor) else None
    if known is not None and tensor.get_shape().ndims is None:
        tensor.set_shape(known)
    return tensor


@tf_export("random.normal", v1=["random.normal", "random_normal"])
def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed values."""
    with ops.name_scope(name, "random_normal", [shape, mean, stddev]) as name:
        shape_tensor = _shape_tensor(shape)
        mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
        seed1, seed2 = random_seed.get_seed(seed)
        drawn = gen_random_ops.random_standard_normal(shape_tensor, dtype, seed=seed1, seed2=seed2)
        return math_ops.add(drawn * stddev, mean, name=name)


@tf_export("random.truncated_normal", "truncated_normal")
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed values, drawn again where they are two standard deviations or more from the mean."""
    with ops.name_scope(name, "truncated_normal", [shape, mean, stddev]) as name:
        shape_tensor = _shape_tensor(shape)
        mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
        seed1, seed2 = random_seed.get_seed(seed)
        drawn = gen_random_ops.truncated_normal(shape_tensor, dtype, seed=seed1, seed2=seed2)
        return math_ops.add(drawn * stddev, mean, name=name)


def parameterized_truncated_normal(
    shape,
    means=0.0,
    stddevs=1.0,
    minvals=-2.0,
    maxvals=2.0,
    dtype=dtypes.float32,
    seed=None,
    name=None,
):
    """Normally distributed values between limits, with parameters for each of the first axis."""
    with ops.name_scope(name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]):
        shape_tensor = _shape_tensor(shape)
        seed1, seed2 = random_seed.get_seed(seed)
        return gen_random_ops.parameterized_truncated_normal(
            shape_tensor,
            ops.convert_to_tensor(means, dtype=dtype, name="means"),
            ops.convert_to_tensor(stddevs, dtype=dtype, name="stddevs"),
            ops.convert_to_tensor(minvals, dtype=dtype, name="minvals"),
            ops.convert_to_tensor(maxvals, dtype=dtype, name="maxvals"),
            seed=seed1,
            seed2=seed2,
        )


@tf_export("random.uniform", v1=["random.uniform", "random_uniform"])
def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Values in [minval, maxval). `maxval` is 1 for floating types, and must be given for integers."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.float64,
        dtypes.int32,
        dtypes.int64,
    ):
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with ops.name_scope(name, "random_uniform", [shape, minval, maxval]) as name:
        shape = _shape_tensor(shape)
        minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
        seed1, seed2 = random_seed.get_seed(seed)
        if dtype.is_integer:
            return gen_random_ops.random_uniform_int(
                shape, minval, maxval, seed=seed1, seed2=seed2, name=name
            )
        drawn = gen_random_ops.random_uniform(shape, dtype, seed=seed1, seed2=seed2)
        return math_ops.add(drawn * (maxval - minval), minval, name=name)


@tf_export("random.shuffle", v1=["random.shuffle", "random_shuffle"])
def random_shuffle(value, seed=None, name=None):
    """`value` with its first axis in another order."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_random_ops.random_shuffle(value, seed=seed1, seed2=seed2, name=name)


@tf_export("image.random_crop", v1=["image.random_crop", "random_crop"])
def random_crop(value, size, seed=None, name=None):
    """A part of `value` of the shape `size`, from anywhere in it."""
    with ops.name_scope(name, "random_crop", [value, size]) as name:
        value = ops.convert_to_tensor(value, name="value")
        size = ops.convert_to_tensor(size, dtype=dtypes.int32, name="size")
        shape = array_ops.shape(value)
        check = control_flow_ops.Assert(
            math_ops.reduce_all(shape >= size),
            ["Need value.shape >= size, got ", shape, size],
            summarize=1000,
        )
        shape = control_flow_ops.with_dependencies([check], shape)
        limit = shape - size + 1
        offset = (
            random_uniform(array_ops.shape(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        )
        return array_ops.slice(value, offset, size, name=name)


@tf_export(v1=["random.multinomial", "multinomial"])
def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    """Classes [batch, num_samples] drawn with the log-odds `logits` [batch, classes]."""
    with ops.name_scope(name, "multinomial", [logits]):
        return multinomial_categorical_impl(logits, num_samples, output_dtype, seed)


@tf_export("random.categorical")
def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Classes [batch, num_samples] drawn with the log-odds `logits` [batch, classes]."""
    with ops.name_scope(name, "categorical", [logits]):
        return multinomial_categorical_impl(logits, num_samples, dtype, seed)


def multinomial_categorical_impl(logits, num_samples, dtype, seed):
    logits = ops.convert_to_tensor(logits, name="logits")
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_random_ops.multinomial(
        logits, num_samples, seed=seed1, seed2=seed2, output_dtype=dtypes.int64 if dtype is None else dtype
    )


@tf_export("random.gamma", v1=["random.gamma", "random_gamma"])
def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Values [shape..., alpha...] of gamma distributions with the shape `alpha` and the rate `beta` (1)."""
    with ops.name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = ops.convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        alpha = ops.convert_to_tensor(alpha, name="alpha", dtype=dtype)
        beta = ops.convert_to_tensor(1 if beta is None else beta, name="beta", dtype=dtype)
        alpha_broadcast = alpha + array_ops.zeros_like(beta)
        seed1, seed2 = random_seed.get_seed(seed)
        drawn = gen_random_ops.random_gamma(shape, alpha_broadcast, seed=seed1, seed2=seed2)
        return math_ops.maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, drawn / beta)


@tf_export(v1=["random.poisson", "random_poisson"])
def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    """Values [shape..., lam...] of Poisson distributions with the means `lam`."""
    return random_poisson_v2(shape, lam, dtype, seed, name)


def random_poisson_v2(shape, lam, dtype=dtypes.float32, seed=None, name=None):
    """random_poisson() with its arguments in the order of others."""
    with ops.name_scope(name, "random_poisson", [lam, shape]):
        shape = ops.convert_to_tensor(shape, name="shape", dtype=dtypes.int32)
        seed1, seed2 = random_seed.get_seed(seed)
        return gen_random_ops.random_poisson_v2(shape, lam, dtype=dtype, seed=seed1, seed2=seed2)

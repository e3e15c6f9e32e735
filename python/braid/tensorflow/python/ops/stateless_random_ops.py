"""Random tensors that depend on a seed of two integers alone (tf.random.stateless_uniform and its kind)."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_stateless_random_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("random.stateless_uniform")
def stateless_random_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    """Values in [minval, maxval). Both None: all values of an integer type."""
    dtype = dtypes.as_dtype(dtype)
    if dtype.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {dtype!r}, minval and maxval must be both `None` or both non-`None`; got "
                f"minval={minval!r} and maxval={maxval!r}"
            )
        if minval is not None and dtype in (dtypes.uint32, dtypes.uint64):
            raise ValueError(f"Invalid dtype for bounded uniform integers: {dtype!r}")
    elif maxval is None:
        maxval = 1
    with ops.name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as name:
        shape = random_ops._shape_tensor(shape)
        if dtype.is_integer and minval is None:
            return gen_stateless_random_ops.stateless_random_uniform_full_int(
                shape, seed=seed, dtype=dtype, name=name
            )
        minval = ops.convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = ops.convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return gen_stateless_random_ops.stateless_random_uniform_int(
                shape, seed=seed, minval=minval, maxval=maxval, name=name
            )
        drawn = gen_stateless_random_ops.stateless_random_uniform(shape, seed=seed, dtype=dtype)
        return math_ops.add(drawn * (maxval - minval), minval, name=name)


@tf_export("random.stateless_normal")
def stateless_random_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Normally distributed values."""
    with ops.name_scope(name, "stateless_random_normal", [shape, seed, mean, stddev]) as name:
        shape = random_ops._shape_tensor(shape)
        mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
        drawn = gen_stateless_random_ops.stateless_random_normal(shape, seed, dtype)
        return math_ops.add(drawn * stddev, mean, name=name)


@tf_export("random.stateless_truncated_normal")
def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Normally distributed values less than two standard deviations from the mean."""
    with ops.name_scope(name, "stateless_truncated_normal", [shape, seed, mean, stddev]) as name:
        shape = random_ops._shape_tensor(shape)
        mean = ops.convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = ops.convert_to_tensor(stddev, dtype=dtype, name="stddev")
        drawn = gen_stateless_random_ops.stateless_truncated_normal(shape, seed, dtype)
        return math_ops.add(drawn * stddev, mean, name=name)


@tf_export(v1=["random.stateless_multinomial"])
def stateless_multinomial(logits, num_samples, seed, output_dtype=dtypes.int64, name=None):
    """Classes [batch, num_samples] drawn with the log-odds `logits` [batch, classes]."""
    with ops.name_scope(name, "stateless_multinomial", [logits, seed]):
        return stateless_multinomial_categorical_impl(logits, num_samples, output_dtype, seed)


@tf_export("random.stateless_categorical")
def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """Classes [batch, num_samples] drawn with the log-odds `logits` [batch, classes]."""
    with ops.name_scope(name, "stateless_categorical", [logits, seed]):
        return stateless_multinomial_categorical_impl(logits, num_samples, dtype, seed)


def stateless_multinomial_categorical_impl(logits, num_samples, dtype, seed):
    logits = ops.convert_to_tensor(logits, name="logits")
    return gen_stateless_random_ops.stateless_multinomial(logits, num_samples, seed, output_dtype=dtype)

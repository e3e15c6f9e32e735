"""Learning rates that change with the global step.

Each function returns a scalar tensor of the rate's dtype. ValueError: there is no global step.
"""

import math

from braid.tensorflow.python.framework import constant_op, dtypes, ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, random_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


def _require(global_step, function):
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")


def _initial(learning_rate):
    return ops.convert_to_tensor(learning_rate, name="initial_learning_rate")


def _fraction(global_step, decay_steps, staircase):
    """global_step / decay_steps, of decay_steps' dtype, rounded down with staircase."""
    fraction = math_ops.cast(global_step, decay_steps.dtype) / decay_steps
    return math_ops.floor(fraction) if staircase else fraction


def _cosine(fraction, dtype):
    """From 1 at 0 to 0 at 1."""
    return 0.5 * (1.0 + math_ops.cos(constant_op.constant(math.pi, dtype=dtype) * fraction))


@tf_export(v1=["train.exponential_decay"])
def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate * decay_rate ^ (global_step / decay_steps). staircase: the exponent is rounded down."""
    _require(global_step, "exponential_decay")
    with ops.name_scope(name or "ExponentialDecay") as name:
        rate = _initial(learning_rate)
        steps = math_ops.cast(decay_steps, rate.dtype)
        base = math_ops.cast(decay_rate, rate.dtype)
        exponent = _fraction(global_step, steps, staircase)
        return math_ops.multiply(rate, math_ops.pow(base, exponent), name=name)


@tf_export(v1=["train.piecewise_constant_decay", "train.piecewise_constant"])
def piecewise_constant(x, boundaries, values, name=None):
    """values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], ..., values[-1] after the last.

    ValueError: numbers or types do not fit.
    """
    boundaries = [ops.convert_to_tensor(b) for b in nest.flatten(boundaries)]
    tensors = [ops.convert_to_tensor(v) for v in nest.flatten(values)]
    if len(boundaries) != len(tensors) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with ops.name_scope(name or "PiecewiseConstant"):
        x = ops.convert_to_tensor(x)
        dtype = x.dtype.base_dtype
        limits = []
        for limit in boundaries:
            if limit.dtype.base_dtype != dtype:
                if limit.dtype.base_dtype != dtypes.int32 or dtype != dtypes.int64:
                    raise ValueError(
                        f"Boundaries ({limit.dtype.base_dtype}) must have the same dtype as x ({dtype})."
                    )
                limit = math_ops.cast(limit, dtype)
            limits.append(limit)
        for tensor in tensors[1:]:
            if tensor.dtype.base_dtype != tensors[0].dtype.base_dtype:
                raise ValueError(
                    "Values must have elements all with the same dtype "
                    f"({tensors[0].dtype.base_dtype} vs {tensor.dtype.base_dtype})."
                )
        cases = [
            (x <= limits[0], lambda: tensors[0]),
            (x > limits[-1], lambda: tensors[-1]),
        ]
        for low, high, value in zip(limits[:-1], limits[1:], tensors[1:-1]):
            cases.append(((x > low) & (x <= high), lambda value=value: value))
        return control_flow_ops.case(cases, default=lambda: tensors[0], exclusive=True)


@tf_export(v1=["train.polynomial_decay"])
def polynomial_decay(
    learning_rate,
    global_step,
    decay_steps,
    end_learning_rate=0.0001,
    power=1.0,
    cycle=False,
    name=None,
):
    """From learning_rate to end_learning_rate in decay_steps, as (1 - fraction) ^ power.

    cycle: after that, it begins again in twice as many steps, and so on.
    """
    _require(global_step, "polynomial_decay")
    with ops.name_scope(name or "PolynomialDecay") as name:
        rate = _initial(learning_rate)
        dtype = rate.dtype
        end = math_ops.cast(end_learning_rate, dtype)
        power = math_ops.cast(power, dtype)
        step = math_ops.cast(global_step, dtype)
        steps = math_ops.cast(decay_steps, dtype)
        given = steps if isinstance(decay_steps, ops.Tensor) else decay_steps
        if cycle:
            # Step 0 is in the first cycle as well.
            cycles = control_flow_ops.cond(
                math_ops.equal(step, 0),
                lambda: constant_op.constant(1.0, dtype=dtype),
                lambda: math_ops.ceil(step / given),
            )
            steps = math_ops.multiply(steps, cycles)
        else:
            step = math_ops.minimum(step, given)
        fraction = math_ops.divide(step, steps)
        return math_ops.add(math_ops.multiply(rate - end, math_ops.pow(1 - fraction, power)), end, name=name)


@tf_export(v1=["train.natural_exp_decay"])
def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate * exp(-decay_rate * global_step / decay_steps). staircase: the fraction is rounded
    down.
    """
    _require(global_step, "natural_exp_decay")
    base = math_ops.exp(math_ops.negative(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, base, staircase=staircase, name=name)


@tf_export(v1=["train.inverse_time_decay"])
def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate / (1 + decay_rate * global_step / decay_steps). staircase: the fraction is rounded
    down.
    """
    _require(global_step, "inverse_time_decay")
    with ops.name_scope(name or "InverseTimeDecay") as name:
        rate = _initial(learning_rate)
        steps = math_ops.cast(decay_steps, rate.dtype)
        factor = math_ops.cast(decay_rate, rate.dtype)
        fraction = _fraction(global_step, steps, staircase)
        one = math_ops.cast(constant_op.constant(1), rate.dtype)
        return math_ops.divide(rate, math_ops.add(one, math_ops.multiply(factor, fraction)), name=name)


@tf_export(v1=["train.cosine_decay"])
def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """From learning_rate to alpha * learning_rate in decay_steps, by a half cosine (Loshchilov and Hutter,
    2016).
    """
    _require(global_step, "cosine_decay")
    with ops.name_scope(name or "CosineDecay"):
        rate = _initial(learning_rate)
        steps = math_ops.cast(decay_steps, rate.dtype)
        step = math_ops.minimum(math_ops.cast(global_step, rate.dtype), steps)
        decayed = (1 - alpha) * _cosine(step / steps, rate.dtype) + alpha
        return math_ops.multiply(rate, decayed)


@tf_export(v1=["train.cosine_decay_restarts"])
def cosine_decay_restarts(
    learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None
):
    """Cosine decay with warm restarts (SGDR; Loshchilov and Hutter, 2016).

    t_mul: how much longer each period is than the one before. m_mul: how much the rate at the start of a
    period is of that of the one before. alpha: the smallest rate, as a fraction of learning_rate.
    """
    _require(global_step, "cosine_decay_restarts")
    with ops.name_scope(name or "SGDRDecay") as name:
        rate = _initial(learning_rate)
        dtype = rate.dtype
        steps = math_ops.cast(first_decay_steps, dtype)
        alpha = math_ops.cast(alpha, dtype)
        factor = math_ops.cast(t_mul, dtype)
        m_mul = math_ops.cast(m_mul, dtype)
        completed = _fraction(global_step, steps, False)

        def equal_periods():
            restarts = math_ops.floor(completed)
            return restarts, completed - restarts

        def growing_periods():
            restarts = math_ops.floor(math_ops.log(1.0 - completed * (1.0 - factor)) / math_ops.log(factor))
            sum_of_periods = (1.0 - factor**restarts) / (1.0 - factor)
            return restarts, (completed - sum_of_periods) / factor**restarts

        restarts, fraction = control_flow_ops.cond(
            math_ops.equal(factor, 1.0), equal_periods, growing_periods
        )
        half = 0.5 * m_mul**restarts
        decayed = half * (1.0 + math_ops.cos(constant_op.constant(math.pi, dtype=dtype) * fraction))
        return math_ops.multiply(rate, (1 - alpha) * decayed + alpha, name=name)


def _linear_cosine(rate, global_step, decay_steps, num_periods, alpha, beta, noise=()):
    """rate * ((alpha + linear) * cosine + beta).

    noise: (the variance at the first step, the power of its decay) of the deviation of linear.
    """
    dtype = rate.dtype
    steps = math_ops.cast(decay_steps, dtype)
    noise = [math_ops.cast(number, dtype) for number in noise]
    num_periods, alpha, beta = [math_ops.cast(number, dtype) for number in (num_periods, alpha, beta)]
    step = math_ops.minimum(math_ops.cast(global_step, dtype), steps)
    linear = (steps - step) / steps
    if noise:
        deviation = math_ops.sqrt(noise[0] / math_ops.pow(1.0 + step, noise[1]))
        linear = linear + random_ops.random_normal(linear.shape, stddev=deviation, dtype=dtype)
    completed = step / steps
    cosine = _cosine(2.0 * num_periods * completed, dtype)
    return (alpha + linear) * cosine + beta


@tf_export(v1=["train.linear_cosine_decay"])
def linear_cosine_decay(
    learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None
):
    """learning_rate * ((alpha + linear) * cosine + beta) (Bello et al., 2017). linear: from 1 to 0 in
    decay_steps.
    """
    _require(global_step, "linear_cosine_decay")
    with ops.name_scope(name or "LinearCosineDecay") as name:
        rate = _initial(learning_rate)
        decayed = _linear_cosine(rate, global_step, decay_steps, num_periods, alpha, beta)
        return math_ops.multiply(rate, decayed, name=name)


@tf_export(v1=["train.noisy_linear_cosine_decay"])
def noisy_linear_cosine_decay(
    learning_rate,
    global_step,
    decay_steps,
    initial_variance=1.0,
    variance_decay=0.55,
    num_periods=0.5,
    alpha=0.0,
    beta=0.001,
    name=None,
):
    """As linear_cosine_decay, with noise of the variance initial_variance / (1 + global_step) ^
    variance_decay.
    """
    _require(global_step, "noisy_linear_cosine_decay")
    with ops.name_scope(name or "NoisyLinearCosineDecay") as name:
        rate = _initial(learning_rate)
        noise = initial_variance, variance_decay
        decayed = _linear_cosine(rate, global_step, decay_steps, num_periods, alpha, beta, noise)
        return math_ops.multiply(rate, decayed, name=name)

"""Exponential averages of means, variances and logarithms of means."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope


__all__ = ["assign_moving_mean_variance", "assign_log_moving_mean_exp", "moving_mean_variance"]


def _check_float(what, dtype):
    if not dtype.is_floating:
        raise TypeError(f"{what}.base_dtype({dtype.name}) does not have float type `dtype`.")


def assign_moving_mean_variance(mean_var, variance_var, value, decay, name=None):
    """Moves the variables of a mean and a variance towards a value: both, when they are assigned.

    The mean by (1 - decay) * delta, delta = value - mean; the variance by (1 - decay) * (decay * delta^2 -
    variance).
    """
    with ops.name_scope(name, "assign_moving_mean_variance", [variance_var, mean_var, value, decay]):
        with ops.colocate_with(variance_var), ops.colocate_with(mean_var):
            dtype = mean_var.dtype.base_dtype
            _check_float("mean_var", dtype)
            if dtype != variance_var.dtype.base_dtype:
                other = variance_var.dtype.base_dtype
                raise TypeError(f"mean_var.base_dtype({dtype.name}) != variance_var.base_dtype({other.name})")
            value = ops.convert_to_tensor(value, dtype=dtype, name="value")
            decay = ops.convert_to_tensor(decay, dtype=dtype, name="decay")
            delta = value - mean_var
            with ops.control_dependencies([delta]):
                mean = state_ops.assign_add(mean_var, (1.0 - decay) * delta)
                change = (1.0 - decay) * (variance_var - decay * math_ops.square(delta))
                return mean, state_ops.assign_sub(variance_var, change)


def assign_log_moving_mean_exp(log_mean_exp_var, log_value, decay, name=None):
    """Moves the logarithm of a mean: to log(decay * exp(old) + (1 - decay) * exp(log_value))."""
    with ops.name_scope(name, "assign_log_moving_mean_exp", [log_mean_exp_var, log_value, decay]):
        with ops.colocate_with(log_mean_exp_var):
            dtype = log_mean_exp_var.dtype.base_dtype
            _check_float("log_mean_exp_var", dtype)
            log_value = ops.convert_to_tensor(log_value, dtype=dtype, name="log_value")
            decay = ops.convert_to_tensor(decay, dtype=dtype, name="decay")
            delta = log_value - log_mean_exp_var
            parts = [math_ops.log(decay) * array_ops.ones_like(delta), delta + math_ops.log1p(-decay)]
            change = math_ops.reduce_logsumexp(array_ops.stack(parts), axis=0)
            return log_mean_exp_var.assign_add(change)


def moving_mean_variance(value, decay, collections=None, name=None):
    """The moving mean and variance of a tensor, kept in the variables moving_mean and moving_variance."""
    collections = [ops.GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope.variable_scope(name, "moving_mean_variance", [value, decay]):
        value = ops.convert_to_tensor(value, name="value")
        _check_float("value", value.dtype.base_dtype)
        decay = ops.convert_to_tensor(decay, dtype=value.dtype.base_dtype, name="decay")
        variance, mean = [
            variable_scope.get_variable(
                name,
                shape=value.get_shape(),
                dtype=value.dtype,
                initializer=init_ops.zeros_initializer(),
                trainable=False,
                collections=collections,
            )
            for name in ("moving_variance", "moving_mean")
        ]
        return assign_moving_mean_variance(mean, variance, value, decay)

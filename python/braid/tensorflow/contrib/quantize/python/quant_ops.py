"""Layers that round a tensor as integers of few bits would, with a range that they learn."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training import moving_averages


def FixedQuantize(inputs, init_min=-6.0, init_max=6.0, scope=None):
    """The inputs, rounded in a fixed range."""
    with ops.name_scope(scope, "FixedQuantize", values=[inputs]):
        return array_ops.fake_quant_with_min_max_args(inputs, min=init_min, max=init_max)


def LastValueQuantize(
    inputs,
    per_channel=False,
    init_min=-6.0,
    init_max=6.0,
    vars_collection=None,
    name_prefix="LastValueQuant",
    reuse=None,
    is_training=True,
    num_bits=8,
    narrow_range=False,
    symmetric=False,
):
    """The inputs, rounded in the range of the last ones, which the variables `min` and `max` keep.

    per_channel: a range for each channel. vars_collection: for the variables. narrow_range: without the least
    integer. symmetric: a range around 0. In a graph that is not for training the range stays.
    """

    def keep(variable, value, which):
        return state_ops.assign(variable, value, name=f"Assign{which}Last")

    return _quantized(
        inputs,
        keep,
        per_channel,
        (init_min, init_max),
        vars_collection,
        name_prefix,
        reuse,
        is_training,
        num_bits,
        narrow_range,
        symmetric,
    )


def MovingAvgQuantize(
    inputs,
    per_channel=False,
    init_min=-6.0,
    init_max=6.0,
    ema_decay=0.999,
    vars_collection=ops.GraphKeys.MOVING_AVERAGE_VARIABLES,
    name_prefix="MovingAvgQuantize",
    reuse=None,
    is_training=True,
    num_bits=8,
    narrow_range=False,
    symmetric=False,
):
    """The same, with the moving average of ranges."""

    def keep(variable, value, which):
        return moving_averages.assign_moving_average(variable, value, ema_decay, name=f"Assign{which}Ema")

    return _quantized(
        inputs,
        keep,
        per_channel,
        (init_min, init_max),
        vars_collection,
        name_prefix,
        reuse,
        is_training,
        num_bits,
        narrow_range,
        symmetric,
    )


def _quantized(
    inputs,
    keep,
    per_channel,
    init_range,
    vars_collection,
    name_prefix,
    reuse,
    is_training,
    num_bits,
    narrow_range,
    symmetric,
):
    """What both layers do. keep(variable, value, "Min" or "Max"): the new end of the range."""
    with variable_scope.variable_scope(None, default_name=name_prefix, values=[inputs], reuse=reuse) as scope:
        scope.set_partitioner(None)
        shape = inputs.get_shape()
        if per_channel and len(shape) not in (1, 2, 4):
            raise AssertionError(f"Expected 1D, 2D or 4D input, was: {shape} in  scope: {name_prefix}")
        collections = [vars_collection] if vars_collection else []
        ends = [
            variable_scope.get_variable(
                name,
                shape=[shape[-1]] if per_channel else [],
                initializer=init_ops.constant_initializer(value),
                collections=collections + [ops.GraphKeys.GLOBAL_VARIABLES],
                trainable=False,
                aggregation=variable_scope.VariableAggregation.MEAN,
            )
            for name, value in zip(("min", "max"), init_range)
        ]
        if is_training:
            least, greatest = _range(inputs, per_channel, num_bits, narrow_range, symmetric)
            ends = [keep(ends[0], least, "Min"), keep(ends[1], greatest, "Max")]
        fake_quant = array_ops.fake_quant_with_min_max_vars
        if per_channel:
            fake_quant = array_ops.fake_quant_with_min_max_vars_per_channel
        return fake_quant(inputs, *ends, num_bits=num_bits, narrow_range=narrow_range)


def _range(inputs, per_channel, num_bits, narrow_range, symmetric):
    """The range of the inputs, which has 0 in it."""
    if not per_channel:
        least = math_ops.reduce_min(inputs, name="BatchMin")
        greatest = math_ops.reduce_max(inputs, name="BatchMax")
    elif len(inputs.get_shape()) == 1:
        least = greatest = inputs
    else:
        axes = list(range(len(inputs.get_shape()) - 1))
        least = math_ops.reduce_min(inputs, axis=axes, name="BatchMin")
        greatest = math_ops.reduce_max(inputs, axis=axes, name="BatchMax")
    if not symmetric:
        return math_ops.minimum(least, 0.0), math_ops.maximum(greatest, 0.0)
    # There is one negative integer more than positive ones, if all are used.
    ratio = -1 if narrow_range else -((1 << num_bits) - 2) / (1 << num_bits)
    return math_ops.minimum(least, greatest / ratio), math_ops.maximum(greatest, least * ratio)

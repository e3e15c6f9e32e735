"""Resampling of a batch at random."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, math_ops, random_ops, variable_scope
from braid.tensorflow.python.training import moving_averages


def _repeat_range(counts, name=None):
    """0, counts[0] times, then 1, counts[1] times, and so on: int32."""
    with ops.name_scope(name, "repeat_range", [counts]) as scope:
        counts = ops.convert_to_tensor(counts, name="counts")
        ends = math_ops.cumsum(counts)
        places = math_ops.range(math_ops.reduce_sum(counts))
        # The index at a place is the number of ranges that end at it or before.
        has_ended = math_ops.less_equal(ends, array_ops.expand_dims(places, 1))
        return math_ops.reduce_sum(math_ops.cast(has_ended, dtypes.int32), axis=1, name=scope)


def resample_at_rate(inputs, rates, scope=None, seed=None, back_prop=False):
    """The rows of each input, each repeated as often as a Poisson variable of its rate says.

    back_prop: False stops gradients at the indices of the rows, which are integers and have none anyway.
    """
    with ops.name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = ops.convert_to_tensor(rates, name="rates")
        counts = random_ops.random_poisson(rates, (), rates.dtype, seed=seed)
        indices = _repeat_range(math_ops.cast(counts, dtypes.int32))
        if not back_prop:
            indices = array_ops.stop_gradient(indices)
        return [array_ops.gather(x, indices) for x in inputs]


def weighted_resample(inputs, weights, overall_rate, scope=None, mean_decay=0.999, seed=None):
    """(the rows of each input, repeated at rates that are proportional to the weights, the rate of each row).

    The mean rate is overall_rate. A local variable has the moving average of the weights.
    """
    with ops.name_scope(scope, "weighted_resample", inputs) as opscope:
        with variable_scope.variable_scope(scope, "estimate_mean", inputs):
            weights = ops.convert_to_tensor(weights)
            mean = variable_scope.get_local_variable(
                "estimated_mean", initializer=math_ops.cast(0, weights.dtype), dtype=weights.dtype
            )
            mean = moving_averages.assign_moving_average(mean, math_ops.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        results = resample_at_rate([rates, *inputs], rates, scope=opscope, seed=seed, back_prop=False)
        return results[1:], results[0]

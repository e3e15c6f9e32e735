"""What models of time series and their input functions share."""

import numpy

from braid.tensorflow.contrib.timeseries.python.timeseries import feature_keys
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


def fully_connected(inp, inp_size, layer_size, name, activation=nn_ops.relu, dtype=dtypes.float32):
    """A dense layer whose variables are NAME_weight and NAME_bias."""
    weight = variable_scope.get_variable(f"{name}_weight", shape=[inp_size, layer_size], dtype=dtype)
    bias = variable_scope.get_variable(
        f"{name}_bias", shape=[layer_size], initializer=init_ops.zeros_initializer()
    )
    output = nn_ops.xw_plus_b(inp, weight, bias)
    if activation is None:
        return output
    assert callable(activation)
    return activation(output)


def parameter_switch(parameter_overrides):
    """A function from a tensor to its value: that of the dictionary, or what the default session computes."""

    def value_of(parameter):
        return ops.convert_to_tensor(parameter_overrides.get(parameter, parameter)).eval()

    return value_of


def canonicalize_times_or_steps_from_output(times, steps, previous_model_output):
    """The times to predict [batch, n]: those given, or the first `steps` behind the previous output's."""
    if steps is not None and times is not None:
        raise ValueError("Only one of `steps` and `times` may be specified.")
    if steps is None and times is None:
        raise ValueError("One of `steps` and `times` must be specified.")
    before = previous_model_output[feature_keys.FilteringResults.TIMES]
    if times is None:
        return before[:, -1:] + 1 + numpy.arange(steps)[None, :]
    times = numpy.array(times)
    if times.ndim != 2:
        times = times[None, ...]
    if before.shape[0] != times.shape[0]:
        raise ValueError(
            "`times` must have a batch dimension matching the previous model output (got a batch dimension "
            f"of {times.shape[0]} for `times` and {before.shape[0]} for the previous model output)."
        )
    if not (before[:, -1] < times[:, 0]).all():
        raise ValueError("Prediction times must be after the corresponding previous model output.")
    return times

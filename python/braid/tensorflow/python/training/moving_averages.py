"""Exponential moving averages of variables and tensors."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    control_flow_ops,
    init_ops,
    math_ops,
    state_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.training import slot_creator
from braid.tensorflow.python.util.tf_export import tf_export


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """An op: variable -= (1 - decay) * (variable - value). Returns the variable's new value.

    zero_debias: corrects the bias of a variable that begins with 0 (Kingma and Ba, 2014, section 3), with
    the help of the variables VARIABLE/biased and VARIABLE/local_step.
    """
    with ops.name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = ops.convert_to_tensor(1.0 - decay, name="decay")
        if rate.dtype != variable.dtype.base_dtype:
            rate = math_ops.cast(rate, variable.dtype.base_dtype)
        if zero_debias:
            return _zero_debias(variable, value, rate, scope)
        return state_ops.assign_sub(variable, (variable - value) * rate, name=scope)


def _unused_name(name):
    """The name, or NAME_1, ..., such that the variable scope has no variable of it; as it is when reusing."""
    scope = variable_scope.get_variable_scope()
    if scope.reuse:
        return name
    used = {v.op.name for v in scope.global_variables()}
    unused, index = name, 0
    while f"{scope.name}/{unused}" in used:
        index += 1
        unused = f"{name}_{index}"
    return unused


def _zero_debias(unbiased_var, value, rate, scope):
    """An op that averages into `biased` and assigns that divided by 1 - (1 - rate)^steps. rate: 1 - decay."""
    with variable_scope.variable_scope(unbiased_var.op.name, values=[unbiased_var, value, rate]):
        with ops.colocate_with(unbiased_var):
            with ops.init_scope():
                zeros = init_ops.zeros_initializer()
            biased_var = variable_scope.get_variable(
                _unused_name("biased"),
                initializer=zeros,
                shape=unbiased_var.get_shape(),
                dtype=unbiased_var.dtype.base_dtype,
                trainable=False,
            )
            local_step = variable_scope.get_variable(
                _unused_name("local_step"),
                initializer=zeros,
                shape=[],
                dtype=unbiased_var.dtype.base_dtype,
                trainable=False,
            )
    biased = state_ops.assign_sub(biased_var, (biased_var - value) * rate)
    steps = local_step.assign_add(1)
    factor = 1 - math_ops.pow(1.0 - rate, steps)
    return state_ops.assign(unbiased_var, biased / factor, name=scope)


def weighted_moving_average(value, decay, weight, truediv=True, collections=None, name=None):
    """The moving average of value * weight, divided by that of weight. Running it updates both."""
    if collections is None:
        collections = [ops.GraphKeys.GLOBAL_VARIABLES]
    with variable_scope.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:

        def zeros(name, like):
            return variable_scope.get_variable(
                name,
                shape=like.get_shape(),
                dtype=like.dtype,
                initializer=init_ops.zeros_initializer(),
                trainable=False,
                collections=collections,
            )

        value_x_weight_var = zeros("value_x_weight", value)
        weight_var = zeros("weight", weight)
        numerator = assign_moving_average(value_x_weight_var, value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(weight_var, weight, decay, zero_debias=False)
        divide = math_ops.truediv if truediv else math_ops.div
        return divide(numerator, denominator, name=scope.name)


@tf_export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Keeps averages of variables: average = decay * average + (1 - decay) * variable at each run of
    apply()'s op.

    The average of a variable "w" is the variable "w/ExponentialMovingAverage" on the same device.
    """

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        """num_updates: with it the decay is at most (1 + num_updates) / (10 + num_updates).

        zero_debias: the averages of tensors, which begin with 0, are corrected for that.
        """
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages = {}

    @property
    def name(self):
        return self._name

    def apply(self, var_list=None):
        """An op that updates the averages. var_list: variables and tensors; None for the trainable variables.

        TypeError: one is not of a floating point type.
        """
        if var_list is None:
            var_list = variables.trainable_variables()
        debiased = []
        for var in var_list:
            if not var.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if var in self._averages:
                continue
            with ops.init_scope():
                if isinstance(var, variables.Variable):
                    average = slot_creator.create_slot(
                        var, var.initialized_value(), self.name, colocate_with_primary=True
                    )
                    ops.add_to_collection(ops.GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                else:
                    is_variable = var.op.type in ("Variable", "VariableV2", "VarHandleOp")
                    average = slot_creator.create_zeros_slot(
                        var, self.name, colocate_with_primary=is_variable
                    )
                    if self._zero_debias:
                        debiased.append(average)
            self._averages[var] = average
        with ops.name_scope(self.name) as scope:
            decay = ops.convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                num_updates = math_ops.cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = math_ops.minimum(decay, (1.0 + num_updates) / (10.0 + num_updates))
            updates = []
            for var in var_list:
                average = self._averages[var]
                zero_debias = any(average is other for other in debiased)
                updates.append(assign_moving_average(average, var, decay, zero_debias=zero_debias))
            return control_flow_ops.group(*updates, name=scope)

    def average(self, var):
        """The variable that is the average of `var`, or None."""
        return self._averages.get(var)

    def average_name(self, var):
        """The name under which a checkpoint has the average of `var`, also before apply()."""
        if var in self._averages:
            return self._averages[var].op.name
        return ops.get_default_graph().unique_name(f"{var.op.name}/{self.name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables=None):
        """A dict for a Saver that restores averages into their variables, and all other variables as they
        are.
        """
        if moving_avg_variables is None:
            moving_avg_variables = variables.trainable_variables() + variables.moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        name_map = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for v in variables.global_variables():
            if v.name not in names and v.op.name not in name_map:
                name_map[v.op.name] = v
        return name_map

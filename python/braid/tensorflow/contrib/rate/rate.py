"""Rates of change."""

import re

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, math_ops, resource_variable_ops, variable_scope


class Rate:
    """How fast a value changes since the last call: rate = Rate(); rate(examples, seconds).

    The values of the last call are local variables (tf.local_variables_initializer), which begin with 0.
    """

    def __init__(self, name=None):
        """name: of the variables' scope, by default Rate; other characters than letters and digits become "_"."""
        self._built = False
        self._vars = []
        name = name or type(self).__name__
        scope_name = re.sub("[^A-Za-z0-9.]", "_", name)
        with variable_scope.variable_scope(scope_name, use_resource=True, reuse=False) as scope:
            self._name = name + scope.name[scope.name.rfind(scope_name) + len(scope_name) :]
            self._scope = scope

    @property
    def name(self):
        return self._name

    @property
    def variables(self):
        return self._vars

    def build(self, values, denominator):
        """Makes the variables, with the shapes of these tensors. The first call does it, too."""
        self.numer = self._add_variable("numer", values.get_shape(), dtypes.float64)
        self.denom = self._add_variable("denom", denominator.get_shape(), dtypes.float64)
        self.prev_values = self._add_variable("prev_values", values.get_shape(), dtypes.float64)
        self.prev_denominator = self._add_variable(
            "prev_denominator", denominator.get_shape(), dtypes.float64
        )
        self._built = True

    def _add_variable(self, name, shape=None, dtype=None):
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        variable = resource_variable_ops.ResourceVariable(
            lambda: array_ops.zeros(shape, dtype),
            trainable=False,
            validate_shape=True,
            name=name,
            collections=[ops.GraphKeys.LOCAL_VARIABLES],
        )
        self._vars.append(variable)
        return variable

    def __call__(self, *args, **kwargs):
        """A tensor (float64) with the rate; a run of it is a call. See call."""
        if not self._built:
            with variable_scope.variable_scope(self._scope), ops.get_default_graph().as_default():
                self.build(*args, **kwargs)
            self._built = True
        return self.call(*args, **kwargs)

    def call(self, values, denominator):
        """(values - those of the last call) / (denominator - that of the last call); 0 unless the latter has grown."""
        values, denominator = (
            math_ops.cast(ops.convert_to_tensor(x), dtypes.float64) for x in (values, denominator)
        )
        differences = [
            math_ops.subtract(values, self.prev_values.read_value()),
            math_ops.subtract(denominator, self.prev_denominator.read_value()),
        ]
        with ops.control_dependencies(differences):
            updates = [
                self.numer.assign(differences[0], read_value=False),
                self.denom.assign(differences[1], read_value=False),
                self.prev_values.assign(values, read_value=False),
                self.prev_denominator.assign(denominator, read_value=False),
            ]
        with ops.control_dependencies(updates):
            numer, denom = (array_ops.identity(difference) for difference in differences)
            return math_ops.div_no_nan(numer, math_ops.maximum(denom, 0), name="safe_rate")

"""LinearModel: linear_model over columns whose variables are weights of a layer."""

from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


class LinearModel:
    """A linear model [batch, units] of columns.

    The names of its nodes are those of TensorFlow, where a model, its layer and its call each open a scope.
    `bias` is the variable of the bias, `variables` are all of them.
    """

    def __init__(self, feature_columns, units=1, sparse_combiner="sum", trainable=True, name=None, **kwargs):
        self._feature_columns = fc._normalize_feature_columns(feature_columns)
        for column in self._feature_columns:
            if not isinstance(column, (fc.DenseColumn, fc.CategoricalColumn)):
                raise ValueError(
                    "Items of feature_columns must be either a DenseColumn or CategoricalColumn. "
                    f"Given: {column}"
                )
        self.name = name or "linear_model"
        self._units, self._sparse_combiner, self.trainable = units, sparse_combiner, trainable
        self._state_manager = _Variables(trainable)
        self._columns_variables = {}
        self.bias = None

    def cols_to_vars(self):
        """A dict from columns, and "bias", to lists of variables."""
        result = {column: list(variables) for column, variables in self._columns_variables.items()}
        result["bias"] = [self.bias]
        return result

    @property
    def variables(self):
        return [v for variables in self._columns_variables.values() for v in variables] + [self.bias]

    def _build(self):
        with variable_scope.variable_scope(self.name, auxiliary_name_scope=False):
            for column in self._feature_columns:
                name = fc._sanitize_column_name_for_variable_scope(column.name)
                with variable_scope.variable_scope(name, auxiliary_name_scope=False):
                    column.create_state(self._state_manager)
                    if isinstance(column, fc.CategoricalColumn):
                        rows = column.num_buckets
                    else:
                        rows = column.variable_shape.num_elements()
                    self._state_manager.create_variable(
                        column,
                        name="weights",
                        dtype=dtypes.float32,
                        shape=(rows, self._units),
                        initializer=init_ops.zeros_initializer(),
                    )
                    self._columns_variables[column] = self._state_manager.variables_of(column)
            self.bias = variable_scope.get_variable(
                "bias_weights",
                shape=[self._units],
                dtype=dtypes.float32,
                initializer=init_ops.zeros_initializer(),
                trainable=self.trainable,
                use_resource=True,
            )

    def __call__(self, features):
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)
        with ops.name_scope(self.name), ops.name_scope(self.name):
            if self.bias is None:
                self._build()
            with ops.name_scope(self.name):
                cache = fc.FeatureTransformationCache(features)
                sums = []
                for column in self._feature_columns:
                    with ops.name_scope(fc._sanitize_column_name_for_variable_scope(column.name)):
                        weights = self._state_manager.get_variable(column, "weights")
                        sums.append(
                            fc._create_weighted_sum(
                                column, cache, self._state_manager, self._sparse_combiner, weights
                            )
                        )
                fc._verify_static_batch_size_equality(sums, self._feature_columns)
                no_bias = math_ops.add_n(sums, name="weighted_sum_no_bias")
                return nn_ops.bias_add(no_bias, self.bias, name="weighted_sum")


class _Variables(fc.StateManager):
    """The variables of columns in the current variable scope."""

    def __init__(self, trainable):
        self._trainable = trainable
        self._variables = {}

    def create_variable(
        self, feature_column, name, shape, dtype=None, trainable=True, use_resource=True, initializer=None
    ):
        variable = variable_scope.get_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            use_resource=use_resource,
        )
        self._variables[feature_column, name] = variable
        return variable

    def get_variable(self, feature_column, name):
        return self._variables[feature_column, name]

    def variables_of(self, feature_column):
        return [v for (column, _), v in self._variables.items() if column == feature_column]

"""LinearModel: linear_model over columns whose variables are weights of a layer."""

from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


class _LinearModelLayer(base_layer.Layer):
    """The sum of a weight of each column's ids or numbers, and a bias: [batch, units]."""

    def __init__(self, feature_columns, units=1, sparse_combiner="sum", trainable=True, name=None, **kwargs):
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = fc._normalize_feature_columns(feature_columns)
        for column in self._feature_columns:
            if not isinstance(column, (fc.DenseColumn, fc.CategoricalColumn)):
                raise ValueError(
                    "Items of feature_columns must be either a DenseColumn or CategoricalColumn. "
                    f"Given: {column}"
                )
        self._units = units
        self._sparse_combiner = sparse_combiner
        self._state_manager = fc._StateManagerImpl(self, self.trainable)
        self.bias = None

    def build(self, _):
        with variable_scope._pure_variable_scope(self.name):
            for column in self._feature_columns:
                name = fc._sanitize_column_name_for_variable_scope(column.name)
                with variable_scope._pure_variable_scope(name):
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
                        trainable=self.trainable,
                    )
            self.bias = self.add_weight(
                name="bias_weights",
                dtype=dtypes.float32,
                shape=[self._units],
                initializer=init_ops.zeros_initializer(),
                trainable=self.trainable,
                use_resource=True,
                getter=variable_scope.get_variable,
            )
        self.built = True

    def call(self, features):
        if not isinstance(features, dict):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
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

    def get_config(self):
        from braid.tensorflow.python.feature_column import serialization

        return {
            **super().get_config(),
            "feature_columns": serialization.serialize_feature_columns(self._feature_columns),
            "units": self._units,
            "sparse_combiner": self._sparse_combiner,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.feature_column import serialization

        columns = serialization.deserialize_feature_columns(
            config["feature_columns"], custom_objects=custom_objects
        )
        return cls(**{**config, "feature_columns": columns})


class LinearModel(training.Model):
    """A linear model [batch, units] of columns. `bias` is the variable of the bias."""

    def __init__(self, feature_columns, units=1, sparse_combiner="sum", trainable=True, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.layer = _LinearModelLayer(
            feature_columns, units, sparse_combiner, trainable, name=self.name, **kwargs
        )

    def call(self, features):
        return self.layer(features)

    @property
    def bias(self):
        return self.layer.bias

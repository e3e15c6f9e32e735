"""DenseFeatures: dense columns as a layer."""

from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util.tf_export import keras_export


class _BaseFeaturesLayer(base_layer.Layer):
    """Columns with variables of their own."""

    def __init__(self, feature_columns, expected_column_type, trainable, name, **kwargs):
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = fc._normalize_feature_columns(feature_columns)
        self._state_manager = fc._StateManagerImpl(self, self.trainable)
        for column in self._feature_columns:
            if not isinstance(column, expected_column_type):
                raise ValueError(
                    f"Items of feature_columns must be a {expected_column_type}. You can wrap a categorical column "
                    f"with an embedding_column or indicator_column. Given: {column}"
                )

    def build(self, _):
        with variable_scope.variable_scope(_own_scope(self), auxiliary_name_scope=False):
            for column in self._feature_columns:
                with variable_scope.variable_scope(
                    fc._sanitize_column_name_for_variable_scope(column.name), auxiliary_name_scope=False
                ):
                    column.create_state(self._state_manager)
        self.built = True

    def compute_output_shape(self, input_shape):
        size = sum(column.variable_shape.num_elements() for column in self._feature_columns)
        return self._target_shape(input_shape, size)

    def _process_dense_tensor(self, column, tensor):
        elements = column.variable_shape.num_elements()
        return array_ops.reshape(tensor, shape=self._target_shape(array_ops.shape(tensor), elements))

    def _verify_and_concat_tensors(self, tensors):
        fc._verify_static_batch_size_equality(tensors, self._feature_columns)
        return array_ops.concat(tensors, axis=-1)

    def get_config(self):
        from braid.tensorflow.python.feature_column import serialization

        columns = serialization.serialize_feature_columns(self._feature_columns)
        return {**super().get_config(), "feature_columns": columns}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from braid.tensorflow.python.feature_column import serialization

        columns = serialization.deserialize_feature_columns(
            config["feature_columns"], custom_objects=custom_objects
        )
        return cls(**{**config, "feature_columns": columns})


def _own_scope(layer):
    return layer.name


@keras_export(v1=["keras.layers.DenseFeatures"])
class DenseFeatures(_BaseFeaturesLayer):
    """A layer that gives dense columns side by side, [batch, sum of their sizes], of a dict of features."""

    def __init__(self, feature_columns, trainable=True, name=None, **kwargs):
        super().__init__(feature_columns, fc.DenseColumn, trainable, name, **kwargs)

    @property
    def _is_feature_layer(self):
        return True

    def _target_shape(self, input_shape, total_elements):
        return (input_shape[0], total_elements)

    def call(self, features, cols_to_output_tensors=None):
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)
        cache = fc.FeatureTransformationCache(features)
        outputs = []
        for column in self._feature_columns:
            with ops.name_scope(fc._sanitize_column_name_for_variable_scope(column.name)):
                tensor = column.get_dense_tensor(cache, self._state_manager)
                processed = self._process_dense_tensor(column, tensor)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = processed
                outputs.append(processed)
        return self._verify_and_concat_tensors(outputs)

"""DenseFeatures of TensorFlow 2: its variables are not in variable scopes."""

from braid.tensorflow.python.feature_column import dense_features
from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.layers.DenseFeatures", v1=[])
class DenseFeatures(dense_features.DenseFeatures):
    """A layer that gives dense columns side by side, [batch, sum of their sizes], of a dict of features."""

    def __init__(self, feature_columns, trainable=True, name=None, **kwargs):
        super().__init__(feature_columns, trainable, name, **kwargs)
        self._state_manager = fc._StateManagerImplV2(self, self.trainable)

    def build(self, _):
        for column in self._feature_columns:
            with ops.name_scope(column.name):
                column.create_state(self._state_manager)
        self.built = True

"""Layers by the names of their classes."""

from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.layers.serialize")
def serialize(layer):
    """The class's name and the settings."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


@keras_export("keras.layers.deserialize")
def deserialize(config, custom_objects=None):
    """The layer, or the model, of a class's name and settings."""
    from braid.tensorflow.python.feature_column import dense_features
    from braid.tensorflow.python.keras import layers
    from braid.tensorflow.python.keras.engine import sequential
    from braid.tensorflow.python.keras.engine import training

    known = dict(
        vars(layers),
        Model=training.Model,
        Network=training.Network,
        Sequential=sequential.Sequential,
        Functional=training.Model,
        DenseFeatures=dense_features.DenseFeatures,
        BatchNormalizationV1=layers.BatchNormalization,
        BatchNormalizationV2=layers.BatchNormalization,
    )
    return generic_utils.deserialize_keras_object(
        config, module_objects=known, custom_objects=custom_objects, printable_module_name="layer"
    )

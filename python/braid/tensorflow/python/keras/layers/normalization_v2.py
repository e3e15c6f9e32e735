"""Batch normalization as TensorFlow 2 has it."""

from braid.tensorflow.python.keras.layers import normalization


class BatchNormalization(normalization.BatchNormalizationBase):
    """BatchNormalization, fused where it can be."""

    _USE_V2_BEHAVIOR = True

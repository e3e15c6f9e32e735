"""Keras as TensorFlow 1.15 has it."""

from braid.tensorflow.python.util.tf_export import keras_export

__version__ = "2.2.4-tf"
keras_export("keras.__version__").export_constant(__name__, "__version__")

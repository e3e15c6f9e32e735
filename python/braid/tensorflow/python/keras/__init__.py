"""Keras as TensorFlow 1.15 has it."""

import importlib

from braid.tensorflow.python.util.tf_export import keras_export

__version__ = "2.2.4-tf"
keras_export("keras.__version__").export_constant(__name__, "__version__")


def _find(package, name):
    """A module of a package of Keras, or a name that tf.keras has in its place."""
    if name.startswith("__"):
        raise AttributeError(name)
    module = f"{package}.{name}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    found = importlib.import_module("braid.tensorflow")
    for part in [*package.partition(".python.")[2].split("."), name]:
        found = getattr(found, part)
    return found


def __getattr__(name):
    return _find(__name__, name)

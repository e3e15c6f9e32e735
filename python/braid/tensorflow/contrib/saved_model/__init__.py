"""tf.contrib.saved_model: Keras' models as SavedModels."""

from braid.tensorflow.contrib.saved_model.python.saved_model.keras_saved_model import (  # noqa: F401
    load_keras_model,
    save_keras_model,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.saved_model.{name}"))

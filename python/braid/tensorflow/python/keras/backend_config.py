"""Keras' settings for all models: floatx, epsilon, image_data_format."""

from braid.tensorflow.python.keras.backend import epsilon  # noqa: F401
from braid.tensorflow.python.keras.backend import floatx  # noqa: F401
from braid.tensorflow.python.keras.backend import image_data_format  # noqa: F401
from braid.tensorflow.python.keras.backend import set_epsilon  # noqa: F401
from braid.tensorflow.python.keras.backend import set_floatx  # noqa: F401
from braid.tensorflow.python.keras.backend import set_image_data_format  # noqa: F401

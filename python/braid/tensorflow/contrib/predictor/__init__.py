"""tf.contrib.predictor: functions from arrays to arrays, of exported models and of estimators."""

from braid.tensorflow.contrib.predictor.predictor import Predictor  # noqa: F401
from braid.tensorflow.contrib.predictor.predictor_factories import (  # noqa: F401
    from_estimator,
    from_saved_model,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.predictor.{name}"))

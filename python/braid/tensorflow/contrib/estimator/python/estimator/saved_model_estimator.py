"""SavedModelEstimator, which is tf.estimator.experimental's."""

from braid.tensorflow.python.estimator.canned.saved_model_estimator import (  # noqa: F401
    SavedModelEstimator,
)

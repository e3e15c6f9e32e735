"""Names of predictions."""

from braid.tensorflow.contrib.learn.python.learn.estimators import estimators

PredictionKey = estimators.PredictionKey

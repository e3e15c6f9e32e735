"""Estimators of random forests, and their metrics."""

from braid.tensorflow.contrib.tensor_forest.client import eval_metrics, random_forest  # noqa: F401

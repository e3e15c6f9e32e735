"""What is left of tf.contrib.learn: data sets and the preprocessing of text.

Estimators are in tf.estimator.
"""

from braid.tensorflow.contrib.learn.python.learn import datasets  # noqa: F401
from braid.tensorflow.contrib.learn.python.learn import preprocessing  # noqa: F401


def __getattr__(name):
    if name == "ModeKeys":
        from braid.tensorflow.contrib.learn.python.learn.estimators.model_fn import ModeKeys

        return ModeKeys
    raise AttributeError(f"tf.contrib.learn.{name} is not in Braid: estimators are in tf.estimator")

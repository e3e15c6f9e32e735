"""Boosted trees, which Braid has no kernels for."""

from braid.tensorflow.python.util.tf_export import estimator_export


def _refuse(name):
    raise NotImplementedError(
        f"tf.estimator.{name}: Braid has no kernels for boosted trees; use DNNClassifier, LinearClassifier or "
        "DNNLinearCombinedClassifier (or the regressors)"
    )


@estimator_export("estimator.BoostedTreesClassifier")
class BoostedTreesClassifier:
    """Refused: there are no kernels."""

    def __init__(self, *args, **kwargs):
        _refuse(type(self).__name__)


@estimator_export("estimator.BoostedTreesRegressor")
class BoostedTreesRegressor(BoostedTreesClassifier):
    """Refused: there are no kernels."""


@estimator_export("estimator.BoostedTreesEstimator")
class BoostedTreesEstimator(BoostedTreesClassifier):
    """Refused: there are no kernels."""


@estimator_export("estimator.experimental.boosted_trees_classifier_train_in_memory")
def boosted_trees_classifier_train_in_memory(*args, **kwargs):
    """Refused: there are no kernels."""
    _refuse("experimental.boosted_trees_classifier_train_in_memory")


@estimator_export("estimator.experimental.boosted_trees_regressor_train_in_memory")
def boosted_trees_regressor_train_in_memory(*args, **kwargs):
    """Refused: there are no kernels."""
    _refuse("experimental.boosted_trees_regressor_train_in_memory")

"""tf.contrib.estimator: heads, hooks and extenders, most of which are tf.estimator's."""

from braid.tensorflow.contrib.estimator.python.estimator.extenders import (  # noqa: F401
    add_metrics,
    clip_gradients_by_norm,
    forward_features,
)
from braid.tensorflow.python.estimator.canned.dnn import (  # noqa: F401
    DNNEstimator,
    dnn_logit_fn_builder,
)
from braid.tensorflow.python.estimator.canned.baseline import BaselineEstimator  # noqa: F401
from braid.tensorflow.python.estimator.canned.dnn_linear_combined import (  # noqa: F401
    DNNLinearCombinedEstimator,
)
from braid.tensorflow.python.estimator.canned.head import (  # noqa: F401
    _binary_logistic_head_with_sigmoid_cross_entropy_loss as _binary_head,
    _multi_class_head_with_softmax_cross_entropy_loss as _multi_class_head,
    _regression_head as _plain_regression_head,
)
from braid.tensorflow.python.estimator.canned.linear import (  # noqa: F401
    LinearEstimator,
    linear_logit_fn_builder,
)
from braid.tensorflow.python.estimator.early_stopping import (  # noqa: F401
    make_early_stopping_hook,
    read_eval_metrics,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from braid.tensorflow.python.estimator.export.export import (  # noqa: F401
    build_raw_supervised_input_receiver_fn,
    build_supervised_input_receiver_fn_from_input_fn,
)
from braid.tensorflow.python.estimator.head.base_head import (  # noqa: F401
    LogisticRegressionHead as _LogisticRegressionHead,
    MultiHead as _MultiHead,
    MultiLabelHead as _MultiLabelHead,
    PoissonRegressionHead as _PoissonRegressionHead,
)
from braid.tensorflow.python.estimator.hooks.hooks import (  # noqa: F401
    InMemoryEvaluatorHook,
    make_stop_at_checkpoint_step_hook,
)
from braid.tensorflow.python.estimator.model_fn import call_logit_fn  # noqa: F401
from braid.tensorflow.python.ops.losses import losses as _losses

_MEAN = _losses.Reduction.SUM_OVER_BATCH_SIZE


def multi_class_head(
    n_classes, weight_column=None, label_vocabulary=None, loss_reduction=_MEAN, loss_fn=None, name=None
):
    """A head for one of n_classes > 2 classes."""
    return _multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def binary_classification_head(
    weight_column=None, thresholds=None, label_vocabulary=None, loss_reduction=_MEAN, loss_fn=None, name=None
):
    """A head for two classes."""
    return _binary_head(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_label_head(
    n_classes,
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=_MEAN,
    loss_fn=None,
    classes_for_class_based_metrics=None,
    name=None,
):
    """A head for any of n_classes classes."""
    return _MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


def regression_head(
    weight_column=None, label_dimension=1, loss_reduction=_MEAN, loss_fn=None, inverse_link_fn=None, name=None
):
    """A head for numbers."""
    return _plain_regression_head(
        weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name
    )


def poisson_regression_head(
    weight_column=None, label_dimension=1, loss_reduction=_MEAN, compute_full_loss=True, name=None
):
    """A head for counts."""
    return _PoissonRegressionHead(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


def logistic_regression_head(weight_column=None, loss_reduction=_MEAN, name=None):
    """A head for probabilities."""
    return _LogisticRegressionHead(weight_column, loss_reduction, name)


def multi_head(heads, head_weights=None):
    """Several heads with names."""
    return _MultiHead(heads, head_weights)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.estimator.{name}"))

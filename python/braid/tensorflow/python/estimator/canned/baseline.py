"""BaselineClassifier, BaselineRegressor, BaselineEstimator: models that learn the labels' mean only."""

from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export

_LEARNING_RATE = 0.3


def _get_weight_column_key(weight_column):
    if weight_column is None:
        return None
    return weight_column if isinstance(weight_column, str) else weight_column.key


def _get_batch_size_and_size_checks(features, weight_column_key):
    """(the batch size, checks that all features have it)."""
    size, checks = None, []
    for key, feature in features.items():
        if key == weight_column_key:
            continue
        this = array_ops.shape(feature)[0]
        if size is None:
            size = this
        else:
            checks.append(check_ops.assert_equal(size, this))
    return size, checks


def _baseline_logit_fn_builder(num_outputs, weight_column=None):
    """A function that gives each example the same logits, a variable."""

    def baseline_logit_fn(features):
        size, checks = _get_batch_size_and_size_checks(features, _get_weight_column_key(weight_column))
        with ops.control_dependencies(checks):
            with variable_scope.variable_scope("baseline"):
                bias = variable_scope.get_variable(
                    "bias", shape=[num_outputs], initializer=init_ops.zeros_initializer()
                )
                return math_ops.multiply(bias, array_ops.ones([size, num_outputs]))

    return baseline_logit_fn


def _baseline_model_fn(
    features, labels, mode, head, optimizer, weight_column=None, config=None, use_tpu=False
):
    """The model function."""
    del config, use_tpu
    logits = _baseline_logit_fn_builder(head.logits_dimension, weight_column)(features)

    def train_op_fn(loss):
        opt = optimizers.get_optimizer_instance(optimizer, learning_rate=_LEARNING_RATE)
        return opt.minimize(loss, global_step=training_util.get_global_step())

    return head.create_estimator_spec(
        features=features, mode=mode, logits=logits, labels=labels, train_op_fn=train_op_fn
    )


class _Baseline(estimator.Estimator):
    def _init_baseline(self, head, weight_column, optimizer, model_dir, config):
        def _model_fn(features, labels, mode, config):
            return _baseline_model_fn(
                features=features,
                labels=labels,
                mode=mode,
                head=head,
                optimizer=optimizer,
                weight_column=weight_column,
                config=config,
            )

        super().__init__(model_fn=_model_fn, model_dir=model_dir, config=config)


@estimator_export(v1=["estimator.BaselineClassifier"])
class BaselineClassifier(_Baseline):
    """Learns how frequent each of n_classes classes is. Features are not used."""

    def __init__(
        self,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Ftrl",
        config=None,
        loss_reduction=losses.Reduction.SUM,
    ):
        head = head_lib._binary_logistic_or_multi_class_head(
            n_classes, weight_column, label_vocabulary, loss_reduction
        )
        self._init_baseline(head, weight_column, optimizer, model_dir, config)


@estimator_export(v1=["estimator.BaselineEstimator"])
class BaselineEstimator(_Baseline):
    """Learns the best logits without features, for a head of the program's choice."""

    def __init__(self, head, model_dir=None, optimizer="Ftrl", config=None):
        self._init_baseline(head, head._weight_column, optimizer, model_dir, config)


@estimator_export(v1=["estimator.BaselineRegressor"])
class BaselineRegressor(_Baseline):
    """Learns the mean of the labels [batch, label_dimension]. Features are not used."""

    def __init__(
        self,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Ftrl",
        config=None,
        loss_reduction=losses.Reduction.SUM,
    ):
        head = head_lib._regression_head(
            label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        self._init_baseline(head, weight_column, optimizer, model_dir, config)

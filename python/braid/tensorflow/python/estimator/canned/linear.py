"""LinearClassifier, LinearRegressor, LinearEstimator: linear models over feature columns."""

import math

from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.feature_column import feature_column as feature_column_v1
from braid.tensorflow.python.feature_column import feature_column_v2
from braid.tensorflow.python.feature_column import linear_layers
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import partitioned_variables
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import ftrl
from braid.tensorflow.python.util.tf_export import estimator_export

_LEARNING_RATE = 0.2


def _get_default_optimizer(feature_columns):
    return ftrl.FtrlOptimizer(learning_rate=min(_LEARNING_RATE, 1.0 / math.sqrt(len(feature_columns))))


def _get_expanded_variable_list(variables):
    """The variables, with the parts of partitioned ones."""
    result = []
    for variable in variables:
        is_list = isinstance(variable, (list, tuple)) or hasattr(variable, "_get_partitions")
        result.extend(list(variable) if is_list else [variable])
    return result


def _compute_fraction_of_zero(variables):
    """The fraction of zeros in all the variables' values."""
    with ops.name_scope("zero_fraction"):
        parts = _get_expanded_variable_list(variables)
        with ops.name_scope("total_size"):
            sizes = [array_ops.size(v, out_type=dtypes.int64) for v in parts]
            total_size = math_ops.add_n(sizes)
        with ops.name_scope("total_zero"):
            zeros = [
                math_ops.cast(size - math_ops.count_nonzero(v, dtype=dtypes.int64), dtypes.float32)
                for v, size in zip(parts, sizes)
            ]
            total_zero = math_ops.add_n(zeros)
        with ops.name_scope("compute"):
            return math_ops.divide(
                total_zero, math_ops.cast(total_size, dtypes.float32), name="zero_fraction"
            )


@estimator_export(v1=["estimator.experimental.linear_logit_fn_builder"])
def linear_logit_fn_builder(units, feature_columns, sparse_combiner="sum"):
    """A function logit_fn(features) that builds a linear model with `units` logits."""

    def linear_logit_fn(features):
        if feature_column_v2.is_feature_column_v2(feature_columns):
            model = linear_layers.LinearModel(
                feature_columns=feature_columns,
                units=units,
                sparse_combiner=sparse_combiner,
                name="linear_model",
            )
            logits = model(features)
            bias = model.bias
            parts = _get_expanded_variable_list([bias])
            variables = [v for v in model.variables if not any(v is part for part in parts)]
        else:
            model = feature_column_v1._LinearModel(
                feature_columns=feature_columns,
                units=units,
                sparse_combiner=sparse_combiner,
                name="linear_model",
            )
            logits = model(features)
            cols_to_vars = dict(model.cols_to_vars())
            bias = cols_to_vars.pop("bias")
            variables = [v for vs in cols_to_vars.values() for v in vs]
        bias = _get_expanded_variable_list(bias if isinstance(bias, list) else [bias])
        if units > 1:
            summary.histogram("bias", array_ops.concat(bias, axis=0) if len(bias) > 1 else bias[0])
        else:
            summary.scalar("bias", bias[0][0])
        summary.scalar("fraction_of_zero_weights", _compute_fraction_of_zero(variables))
        return logits

    return linear_logit_fn


def _linear_model_fn(
    features, labels, mode, head, feature_columns, optimizer, partitioner, config, sparse_combiner="sum"
):
    """The model function of linear models."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
    num_ps_replicas = config.num_ps_replicas if config else 0
    partitioner = partitioner or partitioned_variables.min_max_variable_partitioner(
        max_partitions=num_ps_replicas, min_slice_size=64 << 20
    )
    with variable_scope.variable_scope("linear", values=tuple(features.values()), partitioner=partitioner):
        logit_fn = linear_logit_fn_builder(
            units=head.logits_dimension, feature_columns=feature_columns, sparse_combiner=sparse_combiner
        )
        logits = logit_fn(features=features)
        optimizer = optimizers.get_optimizer_instance(
            optimizer or _get_default_optimizer(feature_columns), learning_rate=_LEARNING_RATE
        )
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, optimizer=optimizer, logits=logits
        )


def _validate_optimizer(optimizer):
    if type(optimizer).__name__ == "LinearSDCA":
        raise NotImplementedError("LinearSDCA: use an Optimizer, such as tf.train.FtrlOptimizer")


class _Linear(estimator.Estimator):
    """What the linear models share."""

    def _init_linear(self, head, columns, model_dir, config, warm_start_from, **model):
        _validate_optimizer(model["optimizer"])

        def _model_fn(features, labels, mode, config):
            return _linear_model_fn(
                features=features,
                labels=labels,
                mode=mode,
                head=head,
                feature_columns=tuple(columns or []),
                config=config,
                **model,
            )

        super().__init__(
            model_fn=_model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from
        )


@estimator_export(v1=["estimator.LinearClassifier"])
class LinearClassifier(_Linear):
    """A linear model that chooses one of n_classes classes.

    feature_columns: dense or categorical columns. optimizer: see DNNClassifier. partitioner: of the weights.
    sparse_combiner: how the weights of several ids of an example are combined: "sum", "mean", "sqrtn".
    """

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Ftrl",
        config=None,
        partitioner=None,
        warm_start_from=None,
        loss_reduction=losses.Reduction.SUM,
        sparse_combiner="sum",
    ):
        self._init_linear(
            head_lib._binary_logistic_or_multi_class_head(
                n_classes, weight_column, label_vocabulary, loss_reduction
            ),
            feature_columns,
            model_dir,
            config,
            warm_start_from,
            optimizer=optimizer,
            partitioner=partitioner,
            sparse_combiner=sparse_combiner,
        )


@estimator_export(v1=["estimator.LinearEstimator"])
class LinearEstimator(_Linear):
    """A linear model with a head of the program's choice. See LinearClassifier."""

    def __init__(
        self,
        head,
        feature_columns,
        model_dir=None,
        optimizer="Ftrl",
        config=None,
        partitioner=None,
        sparse_combiner="sum",
        warm_start_from=None,
    ):
        self._init_linear(
            head,
            feature_columns,
            model_dir,
            config,
            warm_start_from,
            optimizer=optimizer,
            partitioner=partitioner,
            sparse_combiner=sparse_combiner,
        )


@estimator_export(v1=["estimator.LinearRegressor"])
class LinearRegressor(_Linear):
    """A linear model that predicts numbers [batch, label_dimension]. See LinearClassifier."""

    def __init__(
        self,
        feature_columns,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Ftrl",
        config=None,
        partitioner=None,
        warm_start_from=None,
        loss_reduction=losses.Reduction.SUM,
        sparse_combiner="sum",
    ):
        self._init_linear(
            head_lib._regression_head(
                label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
            ),
            feature_columns,
            model_dir,
            config,
            warm_start_from,
            optimizer=optimizer,
            partitioner=partitioner,
            sparse_combiner=sparse_combiner,
        )

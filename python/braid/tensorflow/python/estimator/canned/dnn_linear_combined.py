"""DNNLinearCombinedClassifier, ...Regressor, ...Estimator: a linear model and a network together."""

import math

from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import dnn
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import linear
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import partitioned_variables
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export

_DNN_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005


def _check_no_sync_replicas_optimizer(optimizer):
    from braid.tensorflow.python.training import sync_replicas_optimizer

    if isinstance(optimizer, sync_replicas_optimizer.SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not "
            "supported in DNNLinearCombined model. If you want to use this optimizer, please use either "
            "DNN or Linear model."
        )


def _linear_learning_rate(num_linear_feature_columns):
    return min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(num_linear_feature_columns))


def _add_layer_summary(value, tag):
    summary.scalar(f"{tag}/fraction_of_zero_values", nn.zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)


def _dnn_linear_combined_model_fn(
    features,
    labels,
    mode,
    head,
    linear_feature_columns=None,
    linear_optimizer="Ftrl",
    dnn_feature_columns=None,
    dnn_optimizer="Adagrad",
    dnn_hidden_units=None,
    dnn_activation_fn=nn.relu,
    dnn_dropout=None,
    input_layer_partitioner=None,
    config=None,
    batch_norm=False,
    linear_sparse_combiner="sum",
):
    """The model function: the logits of both parts are added; each part has its own optimizer."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
    if not linear_feature_columns and not dnn_feature_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    num_ps_replicas = config.num_ps_replicas if config else 0
    input_layer_partitioner = input_layer_partitioner or partitioned_variables.min_max_variable_partitioner(
        max_partitions=num_ps_replicas, min_slice_size=64 << 20
    )
    dnn_scope, linear_scope = "dnn", "linear"
    dnn_logits = linear_logits = None
    if dnn_feature_columns:
        if not dnn_hidden_units:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        dnn_optimizer = optimizers.get_optimizer_instance(dnn_optimizer, learning_rate=_DNN_LEARNING_RATE)
        _check_no_sync_replicas_optimizer(dnn_optimizer)
        partitioner = partitioned_variables.min_max_variable_partitioner(max_partitions=num_ps_replicas)
        with variable_scope.variable_scope(
            dnn_scope, values=tuple(features.values()), partitioner=partitioner
        ) as scope:
            dnn_absolute_scope = scope.name
            logit_fn = dnn.dnn_logit_fn_builder(
                units=head.logits_dimension,
                hidden_units=dnn_hidden_units,
                feature_columns=dnn_feature_columns,
                activation_fn=dnn_activation_fn,
                dropout=dnn_dropout,
                batch_norm=batch_norm,
                input_layer_partitioner=input_layer_partitioner,
            )
            dnn_logits = logit_fn(features=features, mode=mode)
    if linear_feature_columns:
        linear_optimizer = optimizers.get_optimizer_instance(
            linear_optimizer, learning_rate=_linear_learning_rate(len(linear_feature_columns))
        )
        _check_no_sync_replicas_optimizer(linear_optimizer)
        with variable_scope.variable_scope(
            linear_scope, values=tuple(features.values()), partitioner=input_layer_partitioner
        ) as scope:
            linear_absolute_scope = scope.name
            logit_fn = linear.linear_logit_fn_builder(
                units=head.logits_dimension,
                feature_columns=linear_feature_columns,
                sparse_combiner=linear_sparse_combiner,
            )
            linear_logits = logit_fn(features=features)
            _add_layer_summary(linear_logits, scope.name)
    if dnn_logits is not None and linear_logits is not None:
        logits = dnn_logits + linear_logits
    else:
        logits = dnn_logits if dnn_logits is not None else linear_logits

    def _train_op_fn(loss):
        train_ops = []
        global_step = training_util.get_global_step()
        trainable = lambda scope: ops.get_collection(  # noqa: E731
            ops.GraphKeys.TRAINABLE_VARIABLES, scope=scope
        )
        if dnn_logits is not None:
            train_ops.append(dnn_optimizer.minimize(loss, var_list=trainable(dnn_absolute_scope)))
        if linear_logits is not None:
            train_ops.append(linear_optimizer.minimize(loss, var_list=trainable(linear_absolute_scope)))
        train_op = control_flow_ops.group(*train_ops)
        with ops.control_dependencies([train_op]):
            return state_ops.assign_add(global_step, 1).op

    return head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=_train_op_fn, logits=logits
    )


class _Combined(estimator.Estimator):
    """What the combined models share."""

    def _init_combined(self, head, linear_columns, dnn_columns, model_dir, config, warm_start_from, **model):
        linear_columns, dnn_columns = tuple(linear_columns or []), tuple(dnn_columns or [])
        if not linear_columns and not dnn_columns:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")

        def _model_fn(features, labels, mode, config):
            return _dnn_linear_combined_model_fn(
                features=features,
                labels=labels,
                mode=mode,
                head=head,
                linear_feature_columns=linear_columns,
                dnn_feature_columns=dnn_columns,
                config=config,
                **model,
            )

        super().__init__(
            model_fn=_model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from
        )


@estimator_export(v1=["estimator.DNNLinearCombinedClassifier"])
class DNNLinearCombinedClassifier(_Combined):
    """A linear model and a network that choose one of n_classes classes. See LinearClassifier, DNNClassifier."""

    def __init__(
        self,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=nn.relu,
        dnn_dropout=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=losses.Reduction.SUM,
        batch_norm=False,
        linear_sparse_combiner="sum",
    ):
        self._init_combined(
            head_lib._binary_logistic_or_multi_class_head(
                n_classes, weight_column, label_vocabulary, loss_reduction
            ),
            linear_feature_columns,
            dnn_feature_columns,
            model_dir,
            config,
            warm_start_from,
            linear_optimizer=linear_optimizer,
            dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )


@estimator_export(v1=["estimator.DNNLinearCombinedEstimator"])
class DNNLinearCombinedEstimator(_Combined):
    """A linear model and a network with a head of the program's choice."""

    def __init__(
        self,
        head,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=nn.relu,
        dnn_dropout=None,
        input_layer_partitioner=None,
        config=None,
        linear_sparse_combiner="sum",
        batch_norm=False,
    ):
        self._init_combined(
            head,
            linear_feature_columns,
            dnn_feature_columns,
            model_dir,
            config,
            None,
            linear_optimizer=linear_optimizer,
            dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )


@estimator_export(v1=["estimator.DNNLinearCombinedRegressor"])
class DNNLinearCombinedRegressor(_Combined):
    """A linear model and a network that predict numbers [batch, label_dimension]."""

    def __init__(
        self,
        model_dir=None,
        linear_feature_columns=None,
        linear_optimizer="Ftrl",
        dnn_feature_columns=None,
        dnn_optimizer="Adagrad",
        dnn_hidden_units=None,
        dnn_activation_fn=nn.relu,
        dnn_dropout=None,
        label_dimension=1,
        weight_column=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=losses.Reduction.SUM,
        batch_norm=False,
        linear_sparse_combiner="sum",
    ):
        self._init_combined(
            head_lib._regression_head(
                label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
            ),
            linear_feature_columns,
            dnn_feature_columns,
            model_dir,
            config,
            warm_start_from,
            linear_optimizer=linear_optimizer,
            dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn,
            dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )

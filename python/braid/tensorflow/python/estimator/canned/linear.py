"""LinearClassifier, LinearRegressor, LinearEstimator: linear models over feature columns. LinearSDCA."""

import math

from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.estimator.canned.linear_optimizer.python.utils import sdca_ops
from braid.tensorflow.python.estimator.head import binary_class_head
from braid.tensorflow.python.estimator.head import regression_head
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.feature_column import feature_column as feature_column_v1
from braid.tensorflow.python.feature_column import feature_column_v2
from braid.tensorflow.python.feature_column import linear_layers
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import partitioned_variables
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import ftrl
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export

_LEARNING_RATE = 0.2


@estimator_export("estimator.experimental.LinearSDCA")
class LinearSDCA:
    """Stochastic dual coordinate ascent, an optimizer of LinearClassifier and LinearRegressor.

    The classifier has two classes, the regressor one number; sparse_combiner is "sum".

    example_id_column: the feature of the examples' ids, a string each. num_loss_partitions: workers that
    train at the same time. num_table_shards: parts of the table of dual variables. adaptive: examples far
    from their optimum are taken more often (arXiv 1502.08053).
    """

    _model = sdca_ops._SDCAModel

    def __init__(
        self,
        example_id_column,
        num_loss_partitions=1,
        num_table_shards=None,
        symmetric_l1_regularization=0.0,
        symmetric_l2_regularization=1.0,
        adaptive=False,
    ):
        self._example_id_column = example_id_column
        self._num_loss_partitions = num_loss_partitions
        self._num_table_shards = num_table_shards
        self._symmetric_l1_regularization = symmetric_l1_regularization
        self._symmetric_l2_regularization = symmetric_l2_regularization
        self._adaptive = adaptive

    def _prune_and_unique_sparse_ids(self, id_weight_pair):
        """The ids of examples, each once with the sum of its weights, without those below 0 (unknown ones)."""
        id_tensor, weights = id_weight_pair.id_tensor, id_weight_pair.weight_tensor
        if weights is None:
            weights = array_ops.ones([array_ops.shape(id_tensor.indices)[0]], dtypes.float32)
        else:
            weights = weights.values
        ids = math_ops.cast(array_ops.reshape(id_tensor.values, [-1]), dtypes.int64)
        is_known = math_ops.greater_equal(ids, 0)
        examples, ids, weights = (
            array_ops.boolean_mask(x, is_known) for x in (id_tensor.indices[:, 0], ids, weights)
        )
        # A number for each pair of example and id, in the order of examples.
        ids_of_example = math_ops.reduce_max(ids) + 1
        pairs, places = array_ops.unique(ids_of_example * examples + ids)
        count = array_ops.shape(pairs)[0]
        examples = math_ops.unsorted_segment_min(examples, places, count)
        return sdca_ops._SparseFeatureColumn(
            examples,
            pairs - ids_of_example * examples,
            array_ops.reshape(math_ops.unsorted_segment_sum(weights, places, count), [-1]),
        )

    def _features(self, state_manager, feature_columns, features):
        """What the columns make of features: sparse ones, their weights, dense ones, their weights."""
        cache = feature_column_v2.FeatureTransformationCache(features)
        sparse, sparse_weights, dense, dense_weights = [], [], [], []
        for column in sorted(feature_columns, key=lambda c: c.name):
            if isinstance(column, feature_column_v2.CategoricalColumn):
                pair = column.get_sparse_tensors(cache, state_manager)
                sparse.append(self._prune_and_unique_sparse_ids(pair))
                sparse_weights.append(state_manager.get_variable(column, "weights"))
            elif isinstance(column, feature_column_v2.DenseColumn):
                if column.variable_shape.ndims != 1:
                    raise ValueError(
                        f"Column {type(column).__name__} has rank {column.variable_shape.ndims}, larger than 1."
                    )
                dense.append(column.get_dense_tensor(cache, state_manager))
                dense_weights.append(state_manager.get_variable(column, "weights"))
            else:
                raise ValueError(f"LinearSDCA does not support column type {type(column).__name__}.")
        return sparse, sparse_weights, dense, dense_weights

    def get_train_step(
        self,
        state_manager,
        weight_column_name,
        loss_type,
        feature_columns,
        features,
        targets,
        bias_var,
        global_step,
    ):
        """The model that is trained, and the operation that trains it."""
        batch_size = array_ops.shape(targets)[0]
        sparse, sparse_weights, dense, dense_weights = self._features(
            state_manager, feature_columns, features
        )
        # The bias is the weight of a feature that is 1 for each example.
        dense.append(array_ops.ones([batch_size, 1]))
        dense_weights.append(bias_var)
        if weight_column_name:
            example_weights = array_ops.reshape(features[weight_column_name], [-1])
        else:
            example_weights = array_ops.ones([batch_size])
        examples = {
            "sparse_features": sparse,
            "dense_features": dense,
            "example_labels": math_ops.cast(array_ops.reshape(targets, [-1]), dtypes.float32),
            "example_weights": example_weights,
            "example_ids": features[self._example_id_column],
        }
        variables = {"sparse_features_weights": sparse_weights, "dense_features_weights": dense_weights}
        options = {
            "symmetric_l1_regularization": self._symmetric_l1_regularization,
            "symmetric_l2_regularization": self._symmetric_l2_regularization,
            "adaptive": self._adaptive,
            "num_loss_partitions": self._num_loss_partitions,
            "num_table_shards": self._num_table_shards,
            "loss_type": loss_type,
        }
        model = self._model(examples, variables, options)
        return model, model.minimize(global_step=global_step)


class _SDCAUpdateWeightsHook(session_run_hook.SessionRunHook):
    """Gives the model's variables their values after each step."""

    def __init__(self, sdca_model, train_op):
        self._sdca_model = sdca_model
        self._train_op = train_op

    def begin(self):
        self._update_op = self._sdca_model.update_weights(self._train_op)

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs(self._update_op)


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
                control_flow_ops.cond(
                    math_ops.equal(size, constant_op.constant(0, dtype=dtypes.int64)),
                    lambda: constant_op.constant(0, dtype=dtypes.float32),
                    lambda v=v, size=size: nn.zero_fraction(v) * math_ops.to_float(size),
                    name="zero_count",
                )
                for v, size in zip(parts, sizes)
            ]
            total_zero = math_ops.add_n(zeros)
        with ops.name_scope("compute"):
            fraction = total_zero / math_ops.cast(total_size, dtypes.float32, name="float32_size")
        return array_ops.identity(fraction, name="zero_fraction_or_nan")


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


def _sdca_loss_type(head):
    if isinstance(
        head,
        (binary_class_head.BinaryClassHead, head_lib._BinaryLogisticHeadWithSigmoidCrossEntropyLoss),
    ):
        return "logistic_loss"
    if isinstance(head, (regression_head.RegressionHead, head_lib._RegressionHeadWithMeanSquaredErrorLoss)):
        assert head.logits_dimension == 1
        return "squared_loss"
    raise ValueError(f"Unsupported head type: {head}")


def _sdca_model_fn(features, labels, mode, head, feature_columns, optimizer):
    """The model function of linear models whose optimizer is a LinearSDCA."""
    loss_type = _sdca_loss_type(head)
    # The heads of tf.estimator have always had the scope in the model's name.
    is_core = isinstance(head, (binary_class_head.BinaryClassHead, regression_head.RegressionHead))
    model = linear_layers.LinearModel(
        feature_columns=feature_columns,
        units=1,
        sparse_combiner="sum",
        name="linear/linear_model" if is_core else "linear_model",
    )
    logits = model(features)
    bias = _get_expanded_variable_list([model.bias])
    weights = [v for v in model.variables if not any(v is part for part in bias)]
    summary.scalar("bias", bias[0][0])
    summary.scalar("fraction_of_zero_weights", _compute_fraction_of_zero(weights))
    if mode != ModeKeys.TRAIN:
        return head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits)
    sdca_model, train_op = optimizer.get_train_step(
        model.layer._state_manager,
        head._weight_column,
        loss_type,
        feature_columns,
        features,
        labels,
        model.bias,
        training_util.get_global_step(),
    )
    spec = head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=lambda _: train_op, logits=logits
    )
    hook = _SDCAUpdateWeightsHook(sdca_model, train_op)
    return spec._replace(training_chief_hooks=(*spec.training_chief_hooks, hook))


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
        if isinstance(optimizer, LinearSDCA):
            assert sparse_combiner == "sum"
            return _sdca_model_fn(features, labels, mode, head, feature_columns, optimizer)
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


def _check_sdca(optimizer, feature_columns, sparse_combiner):
    """Whether the optimizer is a LinearSDCA, which then can train such a model."""
    if not isinstance(optimizer, LinearSDCA):
        return False
    if sparse_combiner != "sum":
        raise ValueError('sparse_combiner must be "sum" when optimizer is a LinearSDCA object.')
    if not feature_column_v2.is_feature_column_v2(feature_columns):
        raise ValueError("V2 feature columns required when optimizer is a LinearSDCA object.")
    return True


class _Linear(estimator.Estimator):
    """What the linear models share."""

    def _init_linear(self, head, columns, model_dir, config, warm_start_from, **model):
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
        if _check_sdca(optimizer, feature_columns, sparse_combiner) and n_classes > 2:
            raise ValueError("LinearSDCA cannot be used in a multi-class setting.")
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
        if _check_sdca(optimizer, feature_columns, sparse_combiner) and label_dimension > 1:
            raise ValueError("LinearSDCA can only be used with one-dimensional label.")
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

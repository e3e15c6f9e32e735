"""DNNClassifier, DNNRegressor, DNNEstimator: fully connected networks over feature columns."""

from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.feature_column import dense_features
from braid.tensorflow.python.feature_column import feature_column as feature_column_v1
from braid.tensorflow.python.feature_column import feature_column_v2
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.layers import core as core_layers
from braid.tensorflow.python.layers import normalization
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import partitioned_variables
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.util.tf_export import estimator_export

_LEARNING_RATE = 0.05


def _add_hidden_layer_summary(value, tag):
    summary.scalar(f"{tag}/fraction_of_zero_values", nn.zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)


@estimator_export(v1=["estimator.experimental.dnn_logit_fn_builder"])
def dnn_logit_fn_builder(
    units, hidden_units, feature_columns, activation_fn, dropout, input_layer_partitioner, batch_norm
):
    """A function logit_fn(features, mode) that builds a network.

    units: how many logits; a list for several heads. hidden_units: the sizes of the hidden layers.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")

    def dnn_logit_fn(features, mode):
        model = _DNNModel(
            units,
            hidden_units,
            feature_columns,
            activation_fn,
            dropout,
            input_layer_partitioner,
            batch_norm,
            name="dnn",
        )
        return model(features, mode)

    return dnn_logit_fn


class _DNNModel(training.Model):
    """The network, whose variables are resources, since its layers are those of a model of Keras."""

    def __init__(
        self,
        units,
        hidden_units,
        feature_columns,
        activation_fn,
        dropout,
        input_layer_partitioner,
        batch_norm,
        name,
    ):
        super().__init__(name=name)
        self._partitioner = input_layer_partitioner
        if feature_column_v2.is_feature_column_v2(feature_columns):
            self._columns = dense_features.DenseFeatures(feature_columns=feature_columns, name="input_layer")
        else:

            def input_layer(features):
                return feature_column_v1.input_layer(features=features, feature_columns=feature_columns)

            self._columns = input_layer
        self._names, self._dense, self._dropout, self._normalization = [], [], [], []
        for i, size in enumerate(hidden_units):
            with variable_scope.variable_scope(f"hiddenlayer_{i}") as scope:
                self._names.append(scope.name)
                self._dense.append(_dense(size, activation_fn, scope))
                if dropout is not None:
                    self._dropout.append(core_layers.Dropout(rate=dropout))
                if batch_norm:
                    name = f"batchnorm_{i}"
                    layer = normalization.BatchNormalization(momentum=0.999, name=name, _scope=name)
                    self._normalization.append(layer)
        with variable_scope.variable_scope("logits") as scope:
            self._logits_name, self._logits = scope.name, _dense(units, None, scope)

    def call(self, features, mode):
        is_training = mode == ModeKeys.TRAIN
        # The scope around that of the model, whose name is not part of its nodes'.
        with ops.name_scope(ops.get_name_scope().rpartition("/")[0] + "/"):
            with variable_scope.variable_scope("input_from_feature_columns", partitioner=self._partitioner):
                net = self._columns(features)
            for i, dense in enumerate(self._dense):
                net = dense(net)
                if self._dropout and is_training:
                    net = self._dropout[i](net, training=True)
                if self._normalization:
                    net = self._normalization[i](net, training=is_training)
                _add_hidden_layer_summary(net, self._names[i])
            logits = self._logits(net)
            _add_hidden_layer_summary(logits, self._logits_name)
        return logits


def _dense(units, activation, scope):
    return core_layers.Dense(
        units=units,
        activation=activation,
        kernel_initializer=init_ops.glorot_uniform_initializer(),
        name=scope,
        _scope=scope,
    )


def _dnn_model_fn(
    features,
    labels,
    mode,
    head,
    hidden_units,
    feature_columns,
    optimizer="Adagrad",
    activation_fn=nn.relu,
    dropout=None,
    input_layer_partitioner=None,
    config=None,
    use_tpu=False,
    batch_norm=False,
):
    """The model function of networks."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
    optimizer = optimizers.get_optimizer_instance(optimizer, learning_rate=_LEARNING_RATE)
    num_ps_replicas = config.num_ps_replicas if config else 0
    partitioner = partitioned_variables.min_max_variable_partitioner(max_partitions=num_ps_replicas)
    with variable_scope.variable_scope("dnn", values=tuple(features.values()), partitioner=partitioner):
        input_layer_partitioner = (
            input_layer_partitioner
            or partitioned_variables.min_max_variable_partitioner(
                max_partitions=num_ps_replicas, min_slice_size=64 << 20
            )
        )
        logit_fn = dnn_logit_fn_builder(
            units=head.logits_dimension,
            hidden_units=hidden_units,
            feature_columns=feature_columns,
            activation_fn=activation_fn,
            dropout=dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
        )
        logits = logit_fn(features=features, mode=mode)
        return head.create_estimator_spec(
            features=features,
            mode=mode,
            labels=labels,
            optimizer=optimizer,
            logits=logits,
        )


class _DNN(estimator.Estimator):
    """What the networks share."""

    def _init_dnn(self, head, columns, model_dir, config, warm_start_from, **model):
        def _model_fn(features, labels, mode, config):
            return _dnn_model_fn(
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


@estimator_export(v1=["estimator.DNNClassifier"])
class DNNClassifier(_DNN):
    """A network that chooses one of n_classes classes.

    hidden_units: the sizes of the hidden layers. feature_columns: dense columns. label_vocabulary: the values
    of labels that are strings. weight_column: the feature with the weights of examples. optimizer: an
    Optimizer, a function that makes one, or "Adagrad", "Adam", "Ftrl", "RMSProp", "SGD". dropout: the rate,
    in training.
    """

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Adagrad",
        activation_fn=nn.relu,
        dropout=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=losses.Reduction.SUM,
        batch_norm=False,
    ):
        self._init_dnn(
            head_lib._binary_logistic_or_multi_class_head(
                n_classes, weight_column, label_vocabulary, loss_reduction
            ),
            feature_columns,
            model_dir,
            config,
            warm_start_from,
            hidden_units=hidden_units,
            optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
        )


@estimator_export(v1=["estimator.DNNEstimator"])
class DNNEstimator(_DNN):
    """A network with a head of the program's choice. See DNNClassifier."""

    def __init__(
        self,
        head,
        hidden_units,
        feature_columns,
        model_dir=None,
        optimizer="Adagrad",
        activation_fn=nn.relu,
        dropout=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        batch_norm=False,
    ):
        self._init_dnn(
            head,
            feature_columns,
            model_dir,
            config,
            warm_start_from,
            hidden_units=hidden_units,
            optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
        )


@estimator_export(v1=["estimator.DNNRegressor"])
class DNNRegressor(_DNN):
    """A network that predicts numbers [batch, label_dimension]. See DNNClassifier."""

    def __init__(
        self,
        hidden_units,
        feature_columns,
        model_dir=None,
        label_dimension=1,
        weight_column=None,
        optimizer="Adagrad",
        activation_fn=nn.relu,
        dropout=None,
        input_layer_partitioner=None,
        config=None,
        warm_start_from=None,
        loss_reduction=losses.Reduction.SUM,
        batch_norm=False,
    ):
        self._init_dnn(
            head_lib._regression_head(
                label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
            ),
            feature_columns,
            model_dir,
            config,
            warm_start_from,
            hidden_units=hidden_units,
            optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            input_layer_partitioner=input_layer_partitioner,
            batch_norm=batch_norm,
        )

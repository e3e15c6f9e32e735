"""tf.keras.metrics: values over many batches, kept in variables."""

import abc
import inspect

import numpy as np

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.losses import binary_crossentropy
from braid.tensorflow.python.keras.losses import categorical_crossentropy
from braid.tensorflow.python.keras.losses import categorical_hinge
from braid.tensorflow.python.keras.losses import cosine_proximity
from braid.tensorflow.python.keras.losses import hinge
from braid.tensorflow.python.keras.losses import kullback_leibler_divergence
from braid.tensorflow.python.keras.losses import logcosh
from braid.tensorflow.python.keras.losses import mean_absolute_error
from braid.tensorflow.python.keras.losses import mean_absolute_percentage_error
from braid.tensorflow.python.keras.losses import mean_squared_error
from braid.tensorflow.python.keras.losses import mean_squared_logarithmic_error
from braid.tensorflow.python.keras.losses import poisson
from braid.tensorflow.python.keras.losses import sparse_categorical_crossentropy
from braid.tensorflow.python.keras.losses import squared_hinge
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.keras.utils import metrics_utils
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import confusion_matrix
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.ops import weights_broadcast_ops
from braid.tensorflow.python.util.tf_export import keras_export

_Counts = metrics_utils.ConfusionMatrix


@keras_export("keras.metrics.Metric")
class Metric(Layer, metaclass=abc.ABCMeta):
    """A value over many batches. Subclasses define update_state, which returns an op, and result."""

    _is_metric = True
    _object_identifier = "_generic_user_object"
    _tracking_metadata = ""

    def _list_extra_dependencies_for_serialization(self, view):
        return {}

    def _list_functions_for_serialization(self, view):
        return {}

    def __init__(self, name=None, dtype=None, **kwargs):
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.stateful = True
        self.built = True
        self._dtype = K.floatx() if dtype is None else dtypes.as_dtype(dtype).name
        self._call_result = None

    def __new__(cls, *args, **kwargs):
        metric = super().__new__(cls)
        update, result = cls.update_state, cls.result

        is_own = not cls.__module__.startswith("braid.")

        def update_state(*args, **kwargs):
            before = ops.get_default_graph().version
            op = update(metric, *args, **kwargs)
            if is_own:
                op = _with_assignments(op, before, metric)
            if op is not None:
                metric.add_update(op)
            return op

        def computed():
            value = array_ops.identity(result(metric))
            value._metric_obj = metric
            return value

        metric.__dict__["update_state"] = update_state
        metric.__dict__["result"] = computed
        return metric

    def __call__(self, *args, **kwargs):
        """Updates with a batch; returns the value after it."""
        update = self.update_state(*args, **kwargs)
        with ops.control_dependencies([update] if update is not None else []):
            value = self.result()
            value._metric_obj = self
            return value

    def reset_states(self):
        """Sets all variables to zero."""
        K.batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.variables])

    @abc.abstractmethod
    def update_state(self, *args, **kwargs):
        """An op that takes a batch into account."""

    @abc.abstractmethod
    def result(self):
        """The value, a tensor."""

    def add_weight(
        self, name, shape=(), aggregation=None, synchronization=None, initializer=None, dtype=None
    ):
        """A variable of the metric, of zeros. With workers that train together, of the batches of all."""
        more = {}
        if distribution_strategy_context.get_strategy()._in_multi_worker_mode():
            more["synchronization"] = synchronization or variables.VariableSynchronization.ON_READ
            more["aggregation"] = aggregation or variables.VariableAggregation.SUM
        return super().add_weight(
            name=name,
            shape=shape,
            dtype=self._dtype if dtype is None else dtype,
            trainable=False,
            initializer=initializer or "zeros",
            collections=[],
            **more,
        )

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}


def _with_assignments(update, before, metric):
    """An op that runs an update and all assignments to variables from the graph's node `before` on.

    A program's own update_state needs not return what it assigns. It may make the metric's variables.
    """
    graph = ops.get_default_graph()
    here = graph._get_control_flow_context()
    made = [op for op in graph.get_operations()[before:] if op._get_control_flow_context() is here]
    first = {v.initializer.name for v in metric.variables}
    assignments = [
        op for op in made if ("Assign" in op.type or "Scatter" in op.type) and op.name not in first
    ]
    if not assignments:
        return update
    more = [] if update is None else [update]
    return control_flow_ops.group(*assignments, *more)


def _after(update, variable, value):
    """Adds to a variable after an update. A constant value would be added, too, when an input has ended."""
    with ops.control_dependencies([update]):
        return variable.assign_add(value)


class Reduce(Metric):
    """A sum or a mean of values."""

    def __init__(self, reduction, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        self.total = self.add_weight("total", initializer="zeros")
        if reduction != metrics_utils.Reduction.SUM:
            self.count = self.add_weight("count", initializer="zeros")

    def update_state(self, values, sample_weight=None):
        values, sample_weight = metrics_utils.ragged_assert_compatible_and_get_flat_values(
            values, sample_weight
        )
        values = math_ops.cast(values, self._dtype)
        if sample_weight is not None:
            sample_weight = math_ops.cast(sample_weight, self._dtype)
            values, _, sample_weight = losses_utils.squeeze_or_expand_dimensions(values, None, sample_weight)
            try:
                sample_weight = weights_broadcast_ops.broadcast_weights(sample_weight, values)
            except ValueError:
                # Values of several dimensions, weights of examples: the mean of each example.
                axes = list(range(K.ndim(sample_weight), K.ndim(values)))
                if self.reduction == metrics_utils.Reduction.SUM:
                    values = math_ops.reduce_sum(values, axis=axes)
                else:
                    values = math_ops.reduce_mean(values, axis=axes)
            values = math_ops.multiply(values, sample_weight)
        total = self.total.assign_add(math_ops.reduce_sum(values))
        if self.reduction == metrics_utils.Reduction.SUM:
            return total.op if hasattr(total, "op") else total
        if self.reduction == metrics_utils.Reduction.SUM_OVER_BATCH_SIZE or sample_weight is None:
            count = math_ops.cast(array_ops.size(values), self._dtype)
        else:
            count = math_ops.reduce_sum(sample_weight)
        return _after(total, self.count, count)

    def result(self):
        if self.reduction == metrics_utils.Reduction.SUM:
            return array_ops.identity(self.total)
        return math_ops.div_no_nan(self.total, self.count)


@keras_export("keras.metrics.Sum")
class Sum(Reduce):
    """The sum of all values."""

    def __init__(self, name="sum", dtype=None):
        super().__init__(metrics_utils.Reduction.SUM, name, dtype=dtype)


@keras_export("keras.metrics.Mean")
class Mean(Reduce):
    """The mean of all values, by their weights."""

    def __init__(self, name="mean", dtype=None):
        super().__init__(metrics_utils.Reduction.WEIGHTED_MEAN, name, dtype=dtype)

    def _comparable(self, y_true, y_pred, sample_weight):
        """Labels, predictions and weights as tensors of one dtype and shape: flat values of ragged ones."""
        (y_pred, y_true), sample_weight = metrics_utils.ragged_assert_compatible_and_get_flat_values(
            [y_pred, y_true], sample_weight
        )
        y_true, y_pred = math_ops.cast(y_true, self._dtype), math_ops.cast(y_pred, self._dtype)
        y_pred, y_true = losses_utils.squeeze_or_expand_dimensions(y_pred, y_true)
        return y_true, y_pred, sample_weight


@keras_export("keras.metrics.MeanRelativeError")
class MeanRelativeError(Mean):
    """The mean of |label - prediction| / normalizer."""

    def __init__(self, normalizer, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.normalizer = math_ops.cast(normalizer, self._dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, sample_weight = self._comparable(y_true, y_pred, sample_weight)
        relative = math_ops.div_no_nan(math_ops.abs(y_true - y_pred), self.normalizer)
        return Mean.update_state(self, relative, sample_weight=sample_weight)

    def get_config(self):
        value = K.eval(self.normalizer) if isinstance(self.normalizer, ops.Tensor) else self.normalizer
        return {**super().get_config(), "normalizer": value}


@keras_export("keras.metrics.MeanTensor")
class MeanTensor(Metric):
    """The mean of each element of tensors of one shape."""

    def __init__(self, name="mean_tensor", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._shape = None
        self.built = False

    def _make(self, shape):
        self._shape = shape
        self.total = self.add_weight("total", shape=shape, initializer="zeros")
        self.count = self.add_weight("count", shape=shape, initializer="zeros")
        self.built = True
        with ops.init_scope():
            K.get_session()  # in which the variables are initialized

    def update_state(self, values, sample_weight=None):
        values = math_ops.cast(values, self._dtype)
        if not self.built:
            self._make(values.shape)
        elif not self._shape.is_compatible_with(values.shape):
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set during the first "
                f"call): {self._shape}. Got: {values.shape}"
            )
        count = array_ops.ones_like(values)
        if sample_weight is not None:
            sample_weight = math_ops.cast(sample_weight, self._dtype)
            values, _, sample_weight = losses_utils.squeeze_or_expand_dimensions(values, None, sample_weight)
            sample_weight = weights_broadcast_ops.broadcast_weights(sample_weight, values)
            count = math_ops.multiply(count, sample_weight)
            values = math_ops.multiply(values, sample_weight)
        return _after(self.total.assign_add(values), self.count, count)

    def result(self):
        if not self.built:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or use "
                "`.update_state(value)` before retrieving the result."
            )
        return math_ops.div_no_nan(self.total, self.count)


@keras_export("keras.metrics.RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The root of the mean squared error."""

    def __init__(self, name="root_mean_squared_error", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, sample_weight = self._comparable(y_true, y_pred, sample_weight)
        return Mean.update_state(
            self, math_ops.squared_difference(y_pred, y_true), sample_weight=sample_weight
        )

    def result(self):
        return math_ops.sqrt(math_ops.div_no_nan(self.total, self.count))


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name=name, dtype=dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, sample_weight = self._comparable(y_true, y_pred, sample_weight)
        return Mean.update_state(
            self, self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight=sample_weight
        )

    def get_config(self):
        return {**super().get_config(), **losses_utils.values_of(self._fn_kwargs)}


# Functions: labels and predictions to the values of examples.


def accuracy(y_true, y_pred):
    (y_pred, y_true), _ = metrics_utils.ragged_assert_compatible_and_get_flat_values([y_pred, y_true])
    if y_true.dtype != y_pred.dtype:
        y_pred = math_ops.cast(y_pred, y_true.dtype)
    return math_ops.cast(math_ops.equal(y_true, y_pred), K.floatx())


@keras_export("keras.metrics.binary_accuracy")
def binary_accuracy(y_true, y_pred, threshold=0.5):
    threshold = math_ops.cast(threshold, y_pred.dtype)
    y_pred = math_ops.cast(y_pred > threshold, y_pred.dtype)
    return K.mean(math_ops.equal(math_ops.cast(y_true, y_pred.dtype), y_pred), axis=-1)


@keras_export("keras.metrics.categorical_accuracy")
def categorical_accuracy(y_true, y_pred):
    return math_ops.cast(
        math_ops.equal(math_ops.argmax(y_true, axis=-1), math_ops.argmax(y_pred, axis=-1)), K.floatx()
    )


@keras_export("keras.metrics.sparse_categorical_accuracy")
def sparse_categorical_accuracy(y_true, y_pred):
    p, t = K.ndim(y_pred), K.ndim(y_true)
    if t is not None and p is not None and len(K.int_shape(y_true)) == len(K.int_shape(y_pred)):
        y_true = array_ops.squeeze(y_true, [-1])
    y_pred = math_ops.argmax(y_pred, axis=-1)
    if K.dtype(y_pred) != K.dtype(y_true):
        y_pred = math_ops.cast(y_pred, K.dtype(y_true))
    return math_ops.cast(math_ops.equal(y_true, y_pred), K.floatx())


@keras_export("keras.metrics.top_k_categorical_accuracy")
def top_k_categorical_accuracy(y_true, y_pred, k=5):
    return math_ops.cast(nn.in_top_k(y_pred, math_ops.argmax(y_true, axis=-1), k), K.floatx())


@keras_export("keras.metrics.sparse_top_k_categorical_accuracy")
def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5):
    p, t = K.ndim(y_pred), K.ndim(y_true)
    if p is not None and t is not None:
        if p > 2:
            y_pred = array_ops.reshape(y_pred, [-1, y_pred.shape.as_list()[-1]])
        if t > 1:
            y_true = array_ops.reshape(y_true, [-1])
    return math_ops.cast(nn.in_top_k(y_pred, math_ops.cast(y_true, "int32"), k), K.floatx())


def _metric_class(fn, class_name, default_name, **defaults):
    """A Metric class: the mean of a function, with settings of the function as arguments."""

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    settings = [("self", inspect.Parameter.empty), ("name", default_name), ("dtype", None), *defaults.items()]
    signature = inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in settings])

    def __init__(self, *args, **kwargs):
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        _, *values = given.arguments.values()
        MeanMetricWrapper.__init__(self, fn, values[0], values[1], **dict(zip(defaults, values[2:])))

    __init__.__signature__ = signature

    return type(
        class_name,
        (MeanMetricWrapper,),
        {"__init__": __init__, "__module__": __name__, "__doc__": f"The mean of {fn.__name__}."},
    )


Accuracy = _metric_class(accuracy, "Accuracy", "accuracy")
BinaryAccuracy = _metric_class(binary_accuracy, "BinaryAccuracy", "binary_accuracy", threshold=0.5)
CategoricalAccuracy = _metric_class(categorical_accuracy, "CategoricalAccuracy", "categorical_accuracy")
SparseCategoricalAccuracy = _metric_class(
    sparse_categorical_accuracy, "SparseCategoricalAccuracy", "sparse_categorical_accuracy"
)
CosineSimilarity = _metric_class(cosine_proximity, "CosineSimilarity", "cosine_similarity", axis=-1)
MeanAbsoluteError = _metric_class(mean_absolute_error, "MeanAbsoluteError", "mean_absolute_error")
MeanAbsolutePercentageError = _metric_class(
    mean_absolute_percentage_error, "MeanAbsolutePercentageError", "mean_absolute_percentage_error"
)
MeanSquaredError = _metric_class(mean_squared_error, "MeanSquaredError", "mean_squared_error")
MeanSquaredLogarithmicError = _metric_class(
    mean_squared_logarithmic_error, "MeanSquaredLogarithmicError", "mean_squared_logarithmic_error"
)
Hinge = _metric_class(hinge, "Hinge", "hinge")
SquaredHinge = _metric_class(squared_hinge, "SquaredHinge", "squared_hinge")
CategoricalHinge = _metric_class(categorical_hinge, "CategoricalHinge", "categorical_hinge")
LogCoshError = _metric_class(logcosh, "LogCoshError", "logcosh")
Poisson = _metric_class(poisson, "Poisson", "poisson")
KLDivergence = _metric_class(kullback_leibler_divergence, "KLDivergence", "kullback_leibler_divergence")
BinaryCrossentropy = _metric_class(
    binary_crossentropy, "BinaryCrossentropy", "binary_crossentropy", from_logits=False, label_smoothing=0
)
CategoricalCrossentropy = _metric_class(
    categorical_crossentropy,
    "CategoricalCrossentropy",
    "categorical_crossentropy",
    from_logits=False,
    label_smoothing=0,
)
SparseCategoricalCrossentropy = _metric_class(
    sparse_categorical_crossentropy,
    "SparseCategoricalCrossentropy",
    "sparse_categorical_crossentropy",
    from_logits=False,
    axis=-1,
)

keras_export("keras.metrics.Accuracy").export_constant(__name__, "Accuracy")
keras_export("keras.metrics.BinaryAccuracy").export_constant(__name__, "BinaryAccuracy")
keras_export("keras.metrics.CategoricalAccuracy").export_constant(__name__, "CategoricalAccuracy")
keras_export("keras.metrics.SparseCategoricalAccuracy").export_constant(__name__, "SparseCategoricalAccuracy")
keras_export("keras.metrics.CosineSimilarity").export_constant(__name__, "CosineSimilarity")
keras_export("keras.metrics.MeanAbsoluteError").export_constant(__name__, "MeanAbsoluteError")
keras_export("keras.metrics.MeanAbsolutePercentageError").export_constant(
    __name__, "MeanAbsolutePercentageError"
)
keras_export("keras.metrics.MeanSquaredError").export_constant(__name__, "MeanSquaredError")
keras_export("keras.metrics.MeanSquaredLogarithmicError").export_constant(
    __name__, "MeanSquaredLogarithmicError"
)
keras_export("keras.metrics.Hinge").export_constant(__name__, "Hinge")
keras_export("keras.metrics.SquaredHinge").export_constant(__name__, "SquaredHinge")
keras_export("keras.metrics.CategoricalHinge").export_constant(__name__, "CategoricalHinge")
keras_export("keras.metrics.LogCoshError").export_constant(__name__, "LogCoshError")
keras_export("keras.metrics.Poisson").export_constant(__name__, "Poisson")
keras_export("keras.metrics.KLDivergence").export_constant(__name__, "KLDivergence")
keras_export("keras.metrics.BinaryCrossentropy").export_constant(__name__, "BinaryCrossentropy")
keras_export("keras.metrics.CategoricalCrossentropy").export_constant(__name__, "CategoricalCrossentropy")
keras_export("keras.metrics.SparseCategoricalCrossentropy").export_constant(
    __name__, "SparseCategoricalCrossentropy"
)


@keras_export("keras.metrics.TopKCategoricalAccuracy")
class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the class is among the k most probable ones."""

    def __init__(self, k=5, name="top_k_categorical_accuracy", dtype=None):
        super().__init__(top_k_categorical_accuracy, name, dtype=dtype, k=k)


@keras_export("keras.metrics.SparseTopKCategoricalAccuracy")
class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """TopKCategoricalAccuracy for labels that are ids."""

    def __init__(self, k=5, name="sparse_top_k_categorical_accuracy", dtype=None):
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype=dtype, k=k)


class _ConfusionMatrixConditionCount(Metric):
    """How often something is the case, for each threshold."""

    def __init__(self, kind, thresholds=None, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._kind = kind
        self.init_thresholds = thresholds
        self.thresholds = metrics_utils.parse_init_thresholds(thresholds)
        self.accumulator = self.add_weight("accumulator", shape=(len(self.thresholds),), initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        return metrics_utils.update_confusion_matrix_variables(
            {self._kind: self.accumulator}, y_true, y_pred, self.thresholds, sample_weight=sample_weight
        )

    def result(self):
        return self.accumulator[0] if len(self.thresholds) == 1 else ops.convert_to_tensor(self.accumulator)

    def get_config(self):
        return dict(super().get_config(), thresholds=self.init_thresholds)


@keras_export("keras.metrics.FalsePositives")
class FalsePositives(_ConfusionMatrixConditionCount):
    """How many negatives are above the threshold."""

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(_Counts.FALSE_POSITIVES, thresholds, name, dtype)


@keras_export("keras.metrics.FalseNegatives")
class FalseNegatives(_ConfusionMatrixConditionCount):
    """How many positives are not above the threshold."""

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(_Counts.FALSE_NEGATIVES, thresholds, name, dtype)


@keras_export("keras.metrics.TrueNegatives")
class TrueNegatives(_ConfusionMatrixConditionCount):
    """How many negatives are not above the threshold."""

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(_Counts.TRUE_NEGATIVES, thresholds, name, dtype)


@keras_export("keras.metrics.TruePositives")
class TruePositives(_ConfusionMatrixConditionCount):
    """How many positives are above the threshold."""

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(_Counts.TRUE_POSITIVES, thresholds, name, dtype)


class _Ratio(Metric):
    """True positives divided by them and another count."""

    def __init__(self, other, thresholds, top_k, class_id, name, dtype):
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        default = 0.5 if top_k is None else metrics_utils.NEG_INF
        if thresholds is None and top_k is not None:
            self.thresholds = [default]
        else:
            self.thresholds = metrics_utils.parse_init_thresholds(thresholds, 0.5)
        shape = (len(self.thresholds),)
        self.true_positives = self.add_weight("true_positives", shape=shape, initializer="zeros")
        self._other_kind = other
        name = "false_positives" if other == _Counts.FALSE_POSITIVES else "false_negatives"
        self._other = self.add_weight(name, shape=shape, initializer="zeros")
        object.__setattr__(self, name, self._other)

    def update_state(self, y_true, y_pred, sample_weight=None):
        return metrics_utils.update_confusion_matrix_variables(
            {_Counts.TRUE_POSITIVES: self.true_positives, self._other_kind: self._other},
            y_true,
            y_pred,
            self.thresholds,
            top_k=self.top_k,
            class_id=self.class_id,
            sample_weight=sample_weight,
        )

    def result(self):
        ratio = math_ops.div_no_nan(self.true_positives, self.true_positives + self._other)
        return ratio[0] if len(self.thresholds) == 1 else ratio

    def get_config(self):
        return dict(
            super().get_config(), thresholds=self.init_thresholds, top_k=self.top_k, class_id=self.class_id
        )


@keras_export("keras.metrics.Precision")
class Precision(_Ratio):
    """How many of those above the threshold are positives."""

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__(_Counts.FALSE_POSITIVES, thresholds, top_k, class_id, name, dtype)


@keras_export("keras.metrics.Recall")
class Recall(_Ratio):
    """How many of the positives are above the threshold."""

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__(_Counts.FALSE_NEGATIVES, thresholds, top_k, class_id, name, dtype)


class _FourCounts(Metric):
    """All four counts, for many thresholds."""

    def _make_counts(self):
        shape = (len(self.thresholds),)
        for kind in ("true_positives", "true_negatives", "false_positives", "false_negatives"):
            setattr(self, kind, self.add_weight(kind, shape=shape, initializer="zeros"))

    def update_state(self, y_true, y_pred, sample_weight=None):
        return metrics_utils.update_confusion_matrix_variables(
            {
                _Counts.TRUE_POSITIVES: self.true_positives,
                _Counts.TRUE_NEGATIVES: self.true_negatives,
                _Counts.FALSE_POSITIVES: self.false_positives,
                _Counts.FALSE_NEGATIVES: self.false_negatives,
            },
            y_true,
            y_pred,
            self.thresholds,
            sample_weight=sample_weight,
        )


def _even_thresholds(count):
    inner = [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]
    return [0.0 - K.epsilon()] + inner + [1.0 + K.epsilon()]


class SensitivitySpecificityBase(_FourCounts):
    """One of the two, where the other is nearest to a value."""

    def __init__(self, value, num_thresholds=200, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype)
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        if value < 0 or value > 1:
            raise ValueError("the value must be in the range [0, 1].")
        self.value = value
        self.num_thresholds = num_thresholds
        last = num_thresholds - 1
        self.thresholds = [0.5] if last == 0 else [i / last for i in range(num_thresholds)]
        self._make_counts()


@keras_export("keras.metrics.SensitivityAtSpecificity")
class SensitivityAtSpecificity(SensitivitySpecificityBase):
    """The sensitivity where the specificity is nearest to a value."""

    def __init__(self, specificity, num_thresholds=200, name=None, dtype=None):
        if not 0 <= specificity <= 1:
            raise ValueError("`specificity` must be in the range [0, 1].")
        self.specificity = specificity
        self.num_thresholds = num_thresholds
        super().__init__(specificity, num_thresholds, name, dtype)

    def get_config(self):
        own = {"num_thresholds": self.num_thresholds, "specificity": self.specificity}
        return {**super().get_config(), **own}

    def result(self):
        specificities = math_ops.div_no_nan(self.true_negatives, self.true_negatives + self.false_positives)
        at = math_ops.cast(math_ops.argmin(math_ops.abs(specificities - self.value), axis=0), dtypes.int32)
        tp, fn = self.true_positives[at], self.false_negatives[at]
        return math_ops.div_no_nan(tp, tp + fn)


@keras_export("keras.metrics.SpecificityAtSensitivity")
class SpecificityAtSensitivity(SensitivitySpecificityBase):
    """The specificity where the sensitivity is nearest to a value."""

    def __init__(self, sensitivity, num_thresholds=200, name=None, dtype=None):
        if not 0 <= sensitivity <= 1:
            raise ValueError("`sensitivity` must be in the range [0, 1].")
        self.sensitivity = sensitivity
        self.num_thresholds = num_thresholds
        super().__init__(sensitivity, num_thresholds, name, dtype)

    def get_config(self):
        own = {"num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity}
        return {**super().get_config(), **own}

    def result(self):
        sensitivities = math_ops.div_no_nan(self.true_positives, self.true_positives + self.false_negatives)
        at = math_ops.cast(math_ops.argmin(math_ops.abs(sensitivities - self.value), axis=0), dtypes.int32)
        tn, fp = self.true_negatives[at], self.false_positives[at]
        return math_ops.div_no_nan(tn, tn + fp)


@keras_export("keras.metrics.AUC")
class AUC(_FourCounts):
    """The area under a curve of false and true positives (ROC), or of recall and precision (PR)."""

    def __init__(
        self,
        num_thresholds=200,
        curve="ROC",
        summation_method="interpolation",
        name=None,
        dtype=None,
        thresholds=None,
    ):
        super().__init__(name=name, dtype=dtype)
        self.curve = (
            curve if isinstance(curve, metrics_utils.AUCCurve) else metrics_utils.AUCCurve.from_str(curve)
        )
        if isinstance(summation_method, metrics_utils.AUCSummationMethod):
            self.summation_method = summation_method
        else:
            self.summation_method = metrics_utils.AUCSummationMethod.from_str(summation_method)
        if thresholds is not None:
            inner = sorted(thresholds)
            if any(t < 0 or t > 1 for t in inner):
                raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {thresholds}")
            self.thresholds = [0.0 - K.epsilon()] + inner + [1.0 + K.epsilon()]
            num_thresholds = len(self.thresholds)
        else:
            if num_thresholds <= 1:
                raise ValueError("`num_thresholds` must be > 1.")
            self.thresholds = _even_thresholds(num_thresholds)
        self.num_thresholds = num_thresholds
        self._make_counts()

    def _interpolated_pr(self):
        """The area by interpolation of true positives (Davis & Goadrich 2006)."""
        n = self.num_thresholds - 1
        dtp = self.true_positives[:n] - self.true_positives[1:]
        p = self.true_positives + self.false_positives
        dp = p[:n] - p[1:]
        slope = math_ops.div_no_nan(dtp, math_ops.maximum(dp, 0))
        intercept = self.true_positives[1:] - math_ops.multiply(slope, p[1:])
        both = math_ops.logical_and(p[:n] > 0, p[1:] > 0)
        ratio = array_ops.where(
            both, math_ops.div_no_nan(p[:n], math_ops.maximum(p[1:], 0)), array_ops.ones_like(p[1:])
        )
        positives = self.true_positives[1:] + self.false_negatives[1:]
        return math_ops.reduce_sum(
            math_ops.div_no_nan(
                slope * (dtp + intercept * math_ops.log(ratio)), math_ops.maximum(positives, 0)
            )
        )

    def result(self):
        Curve, Method = metrics_utils.AUCCurve, metrics_utils.AUCSummationMethod
        if self.curve == Curve.PR and self.summation_method == Method.INTERPOLATION:
            return self._interpolated_pr()
        recall = math_ops.div_no_nan(self.true_positives, self.true_positives + self.false_negatives)
        if self.curve == Curve.ROC:
            x = math_ops.div_no_nan(self.false_positives, self.false_positives + self.true_negatives)
            y = recall
        else:
            x, y = recall, math_ops.div_no_nan(
                self.true_positives, self.true_positives + self.false_positives
            )
        n = self.num_thresholds - 1
        if self.summation_method == Method.INTERPOLATION:
            heights = (y[:n] + y[1:]) / 2.0
        elif self.summation_method == Method.MINORING:
            heights = math_ops.minimum(y[:n], y[1:])
        else:
            heights = math_ops.maximum(y[:n], y[1:])
        return math_ops.reduce_sum(math_ops.multiply(x[:n] - x[1:], heights))

    def get_config(self):
        return dict(
            super().get_config(),
            num_thresholds=self.num_thresholds,
            curve=self.curve.value,
            summation_method=self.summation_method.value,
            thresholds=self.thresholds[1:-1],
        )


@keras_export("keras.metrics.MeanIoU")
class MeanIoU(Metric):
    """The mean over classes of true positives / (true positives + both kinds of errors)."""

    def __init__(self, num_classes, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight(
            name="total_confusion_matrix",
            shape=(num_classes, num_classes),
            initializer=init_ops.zeros_initializer,
            dtype=dtypes.float64,
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        flat = lambda t: array_ops.reshape(t, [-1])  # noqa: E731
        y_true, y_pred = flat(math_ops.cast(y_true, dtypes.int64)), flat(math_ops.cast(y_pred, dtypes.int64))
        if sample_weight is not None:
            sample_weight = flat(sample_weight)
        matrix = confusion_matrix.confusion_matrix(
            y_true, y_pred, self.num_classes, weights=sample_weight, dtype=dtypes.float64
        )
        return self.total_cm.assign_add(matrix)

    def result(self):
        rows = math_ops.cast(math_ops.reduce_sum(self.total_cm, axis=0), self._dtype)
        columns = math_ops.cast(math_ops.reduce_sum(self.total_cm, axis=1), self._dtype)
        hits = math_ops.cast(array_ops.diag_part(self.total_cm), self._dtype)
        union = rows + columns - hits
        present = math_ops.reduce_sum(math_ops.cast(math_ops.not_equal(union, 0), self._dtype))
        return math_ops.div_no_nan(
            math_ops.reduce_sum(math_ops.div_no_nan(hits, union)), present, name="mean_iou"
        )

    def get_config(self):
        return dict(super().get_config(), num_classes=self.num_classes)


acc = ACC = accuracy
bce = BCE = binary_crossentropy
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
cosine_similarity = cosine_proximity


def clone_metric(metric):
    """Another metric with the same settings."""
    return type(metric).from_config(metric.get_config()) if isinstance(metric, Metric) else metric


def clone_metrics(metrics):
    """The metrics of a list or a dict, with other objects in place of Metrics."""
    if isinstance(metrics, dict):
        return {k: clone_metrics(v) for k, v in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [clone_metrics(m) for m in metrics]
    return clone_metric(metrics)


@keras_export("keras.metrics.serialize")
def serialize(metric):
    return serialize_keras_object(metric)


@keras_export("keras.metrics.deserialize")
def deserialize(config, custom_objects=None):
    return deserialize_keras_object(
        config,
        module_objects=globals(),
        custom_objects=custom_objects,
        printable_module_name="metric function",
    )


@keras_export("keras.metrics.get")
def get(identifier):
    """A metric: of a name or settings, or a function."""
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize(str(identifier))
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")

"""tf.keras.losses."""

import abc
import inspect

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.util.tf_export import keras_export

_AUTO = losses_utils.ReductionV2.AUTO


@keras_export("keras.losses.Loss")
class Loss(metaclass=abc.ABCMeta):
    """A function of labels and predictions, reduced to a scalar. Subclasses define call()."""

    def __init__(self, reduction=_AUTO, name=None):
        losses_utils.ReductionV2.validate(reduction)
        self.reduction = reduction
        self.name = name

    def __call__(self, y_true, y_pred, sample_weight=None):
        scope = "lambda" if self.name == "<lambda>" else self.name
        with K.name_scope(scope or type(self).__name__):
            losses = self.call(y_true, y_pred)
            return losses_utils.compute_weighted_loss(losses, sample_weight, reduction=self.reduction)

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def get_config(self):
        return {"reduction": self.reduction, "name": self.name}

    @abc.abstractmethod
    def call(self, y_true, y_pred):
        """The losses of the examples."""


class LossFunctionWrapper(Loss):
    """A Loss of a function of labels and predictions."""

    def __init__(self, fn, reduction=_AUTO, name=None, **kwargs):
        super().__init__(reduction=reduction, name=name)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true, y_pred):
        if isinstance(y_pred, ops.Tensor) and isinstance(y_true, ops.Tensor):
            y_pred, y_true = losses_utils.squeeze_or_expand_dimensions(y_pred, y_true)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self):
        return {**super().get_config(), **losses_utils.values_of(self._fn_kwargs)}


# Functions: labels and predictions to the losses of examples, the mean over the last axis.


def _pair(y_true, y_pred):
    y_pred = ops.convert_to_tensor(y_pred)
    return math_ops.cast(y_true, y_pred.dtype), y_pred


@keras_export(
    "keras.metrics.mean_squared_error",
    "keras.metrics.mse",
    "keras.metrics.MSE",
    "keras.losses.mean_squared_error",
    "keras.losses.mse",
    "keras.losses.MSE",
)
def mean_squared_error(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(math_ops.squared_difference(y_pred, y_true), axis=-1)


@keras_export(
    "keras.metrics.mean_absolute_error",
    "keras.metrics.mae",
    "keras.metrics.MAE",
    "keras.losses.mean_absolute_error",
    "keras.losses.mae",
    "keras.losses.MAE",
)
def mean_absolute_error(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(math_ops.abs(y_pred - y_true), axis=-1)


@keras_export(
    "keras.metrics.mean_absolute_percentage_error",
    "keras.metrics.mape",
    "keras.metrics.MAPE",
    "keras.losses.mean_absolute_percentage_error",
    "keras.losses.mape",
    "keras.losses.MAPE",
)
def mean_absolute_percentage_error(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    diff = math_ops.abs((y_true - y_pred) / K.maximum(math_ops.abs(y_true), K.epsilon()))
    return 100.0 * K.mean(diff, axis=-1)


@keras_export(
    "keras.metrics.mean_squared_logarithmic_error",
    "keras.metrics.msle",
    "keras.metrics.MSLE",
    "keras.losses.mean_squared_logarithmic_error",
    "keras.losses.msle",
    "keras.losses.MSLE",
)
def mean_squared_logarithmic_error(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    first_log = math_ops.log(K.maximum(y_pred, K.epsilon()) + 1.0)
    second_log = math_ops.log(K.maximum(y_true, K.epsilon()) + 1.0)
    return K.mean(math_ops.squared_difference(first_log, second_log), axis=-1)


def _maybe_convert_labels(y_true):
    """Labels of 0 and 1 as -1 and 1."""
    are_zeros = math_ops.equal(y_true, 0)
    are_ones = math_ops.equal(y_true, 1)
    binary = math_ops.reduce_all(math_ops.logical_or(are_zeros, are_ones))
    return smart_cond.smart_cond(binary, lambda: 2.0 * y_true - 1.0, lambda: array_ops.identity(y_true))


@keras_export("keras.metrics.squared_hinge", "keras.losses.squared_hinge")
def squared_hinge(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    y_true = _maybe_convert_labels(y_true)
    return K.mean(math_ops.square(math_ops.maximum(1.0 - y_true * y_pred, 0.0)), axis=-1)


@keras_export("keras.metrics.hinge", "keras.losses.hinge")
def hinge(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    y_true = _maybe_convert_labels(y_true)
    return K.mean(math_ops.maximum(1.0 - y_true * y_pred, 0.0), axis=-1)


@keras_export("keras.losses.categorical_hinge")
def categorical_hinge(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    pos = math_ops.reduce_sum(y_true * y_pred, axis=-1)
    neg = math_ops.reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return math_ops.maximum(0.0, neg - pos + 1.0)


def huber_loss(y_true, y_pred, delta=1.0):
    y_true, y_pred = _pair(math_ops.cast(y_true, K.floatx()), math_ops.cast(y_pred, K.floatx()))
    error = math_ops.abs(y_pred - y_true)
    quadratic = math_ops.minimum(error, delta)
    linear = error - quadratic
    return 0.5 * quadratic * quadratic + delta * linear


@keras_export("keras.losses.logcosh")
def logcosh(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    x = y_pred - y_true
    return K.mean(x + nn.softplus(-2.0 * x) - math_ops.cast(math_ops.log(2.0), x.dtype), axis=-1)


def _smoothed(y_true, label_smoothing, smooth):
    label_smoothing = ops.convert_to_tensor(label_smoothing, dtype=K.floatx())
    amount = tensor_util.constant_value(label_smoothing)
    if amount is not None:
        return smooth(label_smoothing) if amount else y_true
    return smart_cond.smart_cond(label_smoothing > 0, lambda: smooth(label_smoothing), lambda: y_true)


@keras_export("keras.metrics.categorical_crossentropy", "keras.losses.categorical_crossentropy")
def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0):
    y_true, y_pred = _pair(y_true, y_pred)

    def smooth(amount):
        classes = math_ops.cast(array_ops.shape(y_true)[1], y_pred.dtype)
        return y_true * (1.0 - amount) + amount / classes

    return K.categorical_crossentropy(
        _smoothed(y_true, label_smoothing, smooth), y_pred, from_logits=from_logits
    )


@keras_export("keras.metrics.sparse_categorical_crossentropy", "keras.losses.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, axis=-1):
    return K.sparse_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


@keras_export("keras.metrics.binary_crossentropy", "keras.losses.binary_crossentropy")
def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0):
    y_true, y_pred = _pair(y_true, y_pred)
    smooth = lambda amount: y_true * (1.0 - amount) + 0.5 * amount  # noqa: E731
    y_true = _smoothed(y_true, label_smoothing, smooth)
    return K.mean(K.binary_crossentropy(y_true, y_pred, from_logits=from_logits), axis=-1)


@keras_export(
    "keras.metrics.kullback_leibler_divergence",
    "keras.metrics.kld",
    "keras.metrics.KLD",
    "keras.losses.kullback_leibler_divergence",
    "keras.losses.kld",
    "keras.losses.KLD",
)
def kullback_leibler_divergence(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    y_true = K.clip(y_true, K.epsilon(), 1)
    y_pred = K.clip(y_pred, K.epsilon(), 1)
    return math_ops.reduce_sum(y_true * math_ops.log(y_true / y_pred), axis=-1)


@keras_export("keras.metrics.poisson", "keras.losses.poisson")
def poisson(y_true, y_pred):
    y_true, y_pred = _pair(y_true, y_pred)
    return K.mean(y_pred - y_true * math_ops.log(y_pred + K.epsilon()), axis=-1)


@keras_export(
    v1=[
        "keras.metrics.cosine_proximity",
        "keras.metrics.cosine",
        "keras.losses.cosine_proximity",
        "keras.losses.cosine",
        "keras.losses.cosine_similarity",
    ]
)
def cosine_proximity(y_true, y_pred, axis=-1):
    """The cosine of the angle: as in TensorFlow 1.15, a model that minimizes it turns away from the labels."""
    y_true = nn.l2_normalize(y_true, axis=axis)
    y_pred = nn.l2_normalize(y_pred, axis=axis)
    return math_ops.reduce_sum(y_true * y_pred, axis=axis)


def _loss_class(fn, class_name, default_name, **defaults):
    """A Loss class of a function, with settings of the function as arguments."""

    def __init__(self, *args, **kwargs):
        names = list(defaults) + ["reduction", "name"]
        given = dict(zip(names, args))
        both = set(given) & set(kwargs)
        unknown = set(kwargs) - set(names)
        if both or unknown or len(args) > len(names):
            raise TypeError(f"{class_name}() got unexpected arguments {sorted(both | unknown)}")
        settings = dict(defaults, reduction=_AUTO, name=default_name)
        settings.update(given, **kwargs)
        LossFunctionWrapper.__init__(
            self, fn, name=settings.pop("name"), reduction=settings.pop("reduction"), **settings
        )
        for key, value in settings.items():
            setattr(self, key, value)

    shown = dict({"self": inspect.Parameter.empty}, **defaults, reduction=_AUTO, name=default_name)
    __init__.__signature__ = inspect.Signature(
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=d) for n, d in shown.items()
    )
    return type(
        class_name,
        (LossFunctionWrapper,),
        {"__init__": __init__, "__module__": __name__, "__doc__": f"The loss {fn.__name__}, reduced."},
    )


MeanSquaredError = _loss_class(mean_squared_error, "MeanSquaredError", "mean_squared_error")
MeanAbsoluteError = _loss_class(mean_absolute_error, "MeanAbsoluteError", "mean_absolute_error")
MeanAbsolutePercentageError = _loss_class(
    mean_absolute_percentage_error, "MeanAbsolutePercentageError", "mean_absolute_percentage_error"
)
MeanSquaredLogarithmicError = _loss_class(
    mean_squared_logarithmic_error, "MeanSquaredLogarithmicError", "mean_squared_logarithmic_error"
)
BinaryCrossentropy = _loss_class(
    binary_crossentropy, "BinaryCrossentropy", "binary_crossentropy", from_logits=False, label_smoothing=0
)
CategoricalCrossentropy = _loss_class(
    categorical_crossentropy,
    "CategoricalCrossentropy",
    "categorical_crossentropy",
    from_logits=False,
    label_smoothing=0,
)
SparseCategoricalCrossentropy = _loss_class(
    sparse_categorical_crossentropy,
    "SparseCategoricalCrossentropy",
    "sparse_categorical_crossentropy",
    from_logits=False,
)
Hinge = _loss_class(hinge, "Hinge", "hinge")
SquaredHinge = _loss_class(squared_hinge, "SquaredHinge", "squared_hinge")
CategoricalHinge = _loss_class(categorical_hinge, "CategoricalHinge", "categorical_hinge")
Poisson = _loss_class(poisson, "Poisson", "poisson")
LogCosh = _loss_class(logcosh, "LogCosh", "logcosh")
KLDivergence = _loss_class(kullback_leibler_divergence, "KLDivergence", "kullback_leibler_divergence")
Huber = _loss_class(huber_loss, "Huber", "huber_loss", delta=1.0)
CosineSimilarity = _loss_class(cosine_proximity, "CosineSimilarity", "cosine_similarity", axis=-1)

keras_export("keras.losses.MeanSquaredError").export_constant(__name__, "MeanSquaredError")
keras_export("keras.losses.MeanAbsoluteError").export_constant(__name__, "MeanAbsoluteError")
keras_export("keras.losses.MeanAbsolutePercentageError").export_constant(
    __name__, "MeanAbsolutePercentageError"
)
keras_export("keras.losses.MeanSquaredLogarithmicError").export_constant(
    __name__, "MeanSquaredLogarithmicError"
)
keras_export("keras.losses.BinaryCrossentropy").export_constant(__name__, "BinaryCrossentropy")
keras_export("keras.losses.CategoricalCrossentropy").export_constant(__name__, "CategoricalCrossentropy")
keras_export("keras.losses.SparseCategoricalCrossentropy").export_constant(
    __name__, "SparseCategoricalCrossentropy"
)
keras_export("keras.losses.Hinge").export_constant(__name__, "Hinge")
keras_export("keras.losses.SquaredHinge").export_constant(__name__, "SquaredHinge")
keras_export("keras.losses.CategoricalHinge").export_constant(__name__, "CategoricalHinge")
keras_export("keras.losses.Poisson").export_constant(__name__, "Poisson")
keras_export("keras.losses.LogCosh").export_constant(__name__, "LogCosh")
keras_export("keras.losses.KLDivergence").export_constant(__name__, "KLDivergence")
keras_export("keras.losses.Huber").export_constant(__name__, "Huber")
keras_export("keras.losses.CosineSimilarity").export_constant(__name__, "CosineSimilarity")

bce = BCE = binary_crossentropy
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine_similarity = cosine_proximity


def is_categorical_crossentropy(loss):
    """Whether it is that loss, in any form."""
    return (
        isinstance(loss, CategoricalCrossentropy)
        or (isinstance(loss, LossFunctionWrapper) and loss.fn is categorical_crossentropy)
        or getattr(loss, "__name__", None) == "categorical_crossentropy"
        or loss == "categorical_crossentropy"
    )


@keras_export("keras.losses.serialize")
def serialize(loss):
    return serialize_keras_object(loss)


@keras_export("keras.losses.deserialize")
def deserialize(name, custom_objects=None):
    return deserialize_keras_object(
        name, module_objects=globals(), custom_objects=custom_objects, printable_module_name="loss function"
    )


@keras_export("keras.losses.get")
def get(identifier):
    """A loss: of a name or settings, or a function; None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, str):
        return deserialize(str(identifier))
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError("Could not interpret loss function identifier:", identifier)

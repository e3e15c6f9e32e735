"""Optimizers by name; those of tf.train for models of Keras."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.keras.optimizer_v2.adam import Adam
from braid.tensorflow.python.keras.optimizer_v2.gradient_descent import SGD
from braid.tensorflow.python.keras.optimizer_v2.others import Adadelta
from braid.tensorflow.python.keras.optimizer_v2.others import Adagrad
from braid.tensorflow.python.keras.optimizer_v2.others import Adamax
from braid.tensorflow.python.keras.optimizer_v2.others import Ftrl
from braid.tensorflow.python.keras.optimizer_v2.others import Nadam
from braid.tensorflow.python.keras.optimizer_v2.others import RMSprop
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.training import optimizer as tf_optimizer_module
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util.tf_export import keras_export

Optimizer = optimizer_v2.OptimizerV2


class TFOptimizer(trackable.Trackable):
    """An optimizer of tf.train, for a model of Keras. iterations: the variable that counts steps."""

    def __init__(self, optimizer, iterations=None):
        self.optimizer = optimizer
        self._iterations = iterations
        self.weights = []
        self._track_trackable(optimizer, "optimizer")

    @property
    def iterations(self):
        if self._iterations is None:
            with ops.name_scope("TFOptimizer"):
                self._iterations = K.variable(0, dtype="int64", name="iterations")
            self._track_trackable(self._iterations, "global_step")
        return self._iterations

    def get_grads(self, loss, params):
        return self.optimizer.compute_gradients(loss, params)

    def get_updates(self, loss, params):
        """A list of ops that make a step."""
        if not params:
            return []
        grads = self.optimizer.compute_gradients(loss, params)
        step = self.optimizer.apply_gradients(grads, global_step=self.iterations)
        for v in self.optimizer.variables():
            K.track_variable(v)
        return [step]

    @property
    def lr(self):
        for name in ("_lr", "_learning_rate"):
            if hasattr(self.optimizer, name):
                return getattr(self.optimizer, name)
        raise AttributeError("lr")

    def get_config(self):
        raise NotImplementedError("TFOptimizer.get_config: optimizers of tf.train have no settings to write")

    from_config = None


_CLASSES = {
    "adadelta": Adadelta,
    "adagrad": Adagrad,
    "adam": Adam,
    "adamax": Adamax,
    "nadam": Nadam,
    "rmsprop": RMSprop,
    "sgd": SGD,
    "ftrl": Ftrl,
}

adadelta, adagrad, adam, adamax, nadam, rmsprop, sgd = Adadelta, Adagrad, Adam, Adamax, Nadam, RMSprop, SGD


@keras_export("keras.optimizers.serialize")
def serialize(optimizer):
    return serialize_keras_object(optimizer)


@keras_export("keras.optimizers.deserialize")
def deserialize(config, custom_objects=None):
    config = dict(config)
    known = _CLASSES
    if config["class_name"].lower() in known:
        config["class_name"] = config["class_name"].lower()
    elif config["class_name"] == "LossScaleOptimizer":
        from braid.tensorflow.python.keras.mixed_precision.experimental import loss_scale_optimizer

        known = vars(loss_scale_optimizer)
    return deserialize_keras_object(
        config, module_objects=known, custom_objects=custom_objects, printable_module_name="optimizer"
    )


@keras_export("keras.optimizers.get")
def get(identifier):
    """An optimizer: of a name or settings, one of Keras, or one of tf.train."""
    if isinstance(identifier, (optimizer_v2.OptimizerV2, TFOptimizer)):
        return identifier
    if isinstance(identifier, tf_optimizer_module.Optimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError("Could not interpret optimizer identifier:", identifier)

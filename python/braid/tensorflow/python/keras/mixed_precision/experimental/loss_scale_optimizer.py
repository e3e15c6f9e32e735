"""LossScaleOptimizer: an optimizer of a loss that is scaled up, so that half precision can hold its gradients."""

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import optimizers
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training.experimental import loss_scale as loss_scale_module
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.mixed_precision.experimental.LossScaleOptimizer")
class LossScaleOptimizer(optimizer_v2.OptimizerV2):
    """opt: an OptimizerV2 without limits of gradients. loss_scale: a number, "dynamic" or a LossScale."""

    def __init__(self, opt, loss_scale):
        if not isinstance(opt, optimizer_v2.OptimizerV2):
            raise ValueError(f'"opt" must be an instance of OptimizerV2, but got: {opt}')
        for limit in ("clipnorm", "clipvalue"):
            if hasattr(opt, limit):
                raise ValueError(
                    f"LossScaleOptimizer does not support wrapping optimizers with a {limit}. Optimizer {opt} "
                    f"has {limit} {getattr(opt, limit)}"
                )
        self._hyper = {}
        self._optimizer = opt
        self._loss_scale = loss_scale_module.get(loss_scale)
        for weight in getattr(self._loss_scale, "_weights", {}).values():
            backend.track_variable(weight)
        self._track_trackable(self._optimizer, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")

    @property
    def loss_scale(self):
        return self._loss_scale

    @property
    def _name(self):
        return self._optimizer._name

    def get_scaled_loss(self, loss):
        """The loss, a tensor or a function that gives one, times the scale."""
        scale = self._loss_scale()
        if callable(loss):

            def scaled():
                value = loss()
                return value * math_ops.cast(scale, value.dtype)

            return scaled
        loss = ops.convert_to_tensor(loss)
        return loss * math_ops.cast(scale, loss.dtype)

    def get_unscaled_gradients(self, grads):
        """The gradients, None among them, divided by the scale."""
        inverse = 1.0 / self._loss_scale()
        grads = [None if g is None else ops.convert_to_tensor_or_indexed_slices(g) for g in grads]
        return [None if g is None else g * math_ops.cast(inverse, g.dtype) for g in grads]

    def _compute_gradients(self, loss, var_list, grad_loss=None):
        pairs = self._optimizer._compute_gradients(self.get_scaled_loss(loss), var_list, grad_loss)
        return list(zip(self.get_unscaled_gradients([g for g, _ in pairs]), [v for _, v in pairs]))

    def get_gradients(self, loss, params):
        return self.get_unscaled_gradients(self._optimizer.get_gradients(self.get_scaled_loss(loss), params))

    def apply_gradients(self, grads_and_vars, name=None):
        """An op that makes a step, if all gradients are finite, and changes the scale."""
        if distribution_strategy_context.in_cross_replica_context():
            raise ValueError("apply_gradients() must be called in a replica context.")
        grads_and_vars = tuple(grads_and_vars)
        with ops.init_scope():  # variables are not made in a branch
            _ = self._optimizer.iterations
            self._optimizer._create_hypers()
            with ops.name_scope(self._optimizer._name):
                self._optimizer._create_slots([v for _, v in grads_and_vars])
        change, good = self._loss_scale.update([g for g, _ in grads_and_vars])
        step = smart_cond.smart_cond(
            good, lambda: self._optimizer.apply_gradients(grads_and_vars, name), control_flow_ops.no_op
        )
        return control_flow_ops.group(step, change)

    @property
    def iterations(self):
        return self._optimizer.iterations

    @iterations.setter
    def iterations(self, variable):
        self._optimizer.iterations = variable

    @property
    def learning_rate(self):
        return self._optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value):
        self._optimizer.learning_rate = value

    @property
    def lr(self):
        return self._optimizer.lr

    @lr.setter
    def lr(self, value):
        self._optimizer.lr = value

    def get_slot_names(self):
        return self._optimizer.get_slot_names()

    def get_slot(self, var, slot_name):
        return self._optimizer.get_slot(var, slot_name)

    def add_slot(self, var, slot_name, initializer="zeros"):
        return self._optimizer.add_slot(var, slot_name, initializer)

    @property
    def weights(self):
        return self._optimizer.weights

    def variables(self):
        return self._optimizer.variables()

    def get_weights(self):
        return self._optimizer.get_weights()

    def set_weights(self, weights):
        self._optimizer.set_weights(weights)

    @property
    def _checkpoint_dependencies(self):
        return optimizer_v2.trackable.Trackable._checkpoint_dependencies.fget(self)

    def get_config(self):
        return {
            "optimizer": optimizers.serialize(self._optimizer),
            "loss_scale": {
                "class_name": type(self._loss_scale).__name__,
                "config": self._loss_scale.get_config(),
            },
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        scale = config["loss_scale"]
        if isinstance(scale, dict):
            kinds = dict(vars(loss_scale_module), **(custom_objects or {}))
            scale = kinds[scale["class_name"]].from_config(scale["config"])
        return cls(optimizers.deserialize(config["optimizer"], custom_objects), scale)

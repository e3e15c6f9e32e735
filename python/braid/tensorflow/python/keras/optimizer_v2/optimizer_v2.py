"""OptimizerV2: the base of tf.keras' optimizers.

Hyperparameters are variables, so that callbacks may change them. Slots are variables named after those that
they belong to. A step is one op, after which `iterations` is one more.
"""

import abc

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.distribute import reduce_util
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.keras.optimizer_v2 import learning_rate_schedule
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gradients
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import training_ops
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


def is_resource(var):
    """Whether the variable is a resource, to which ops take its handle."""
    return hasattr(var, "handle") and getattr(var, "handle", None) is not None


def run_apply(name, var, slots, *arguments, **kwargs):
    """The training op `name`, as "Adam", on a variable and its slots, of either kind."""
    if is_resource(var):
        op = getattr(training_ops, f"resource_apply_{name}")
        return op(var.handle, *[s.handle for s in slots], *arguments, **kwargs)
    op = getattr(training_ops, f"apply_{name}")
    return op(_ref(var), *[_ref(s) for s in slots], *arguments, **kwargs).op


def run_sparse_apply(name, var, slots, *arguments, **kwargs):
    """The training op for some rows of a variable."""
    if is_resource(var):
        op = getattr(training_ops, f"resource_sparse_apply_{name}")
        return op(var.handle, *[s.handle for s in slots], *arguments, **kwargs)
    op = getattr(training_ops, f"sparse_apply_{name}")
    return op(_ref(var), *[_ref(s) for s in slots], *arguments, **kwargs).op


def _ref(var):
    return var._ref() if hasattr(var, "_ref") and callable(var._ref) else var


@keras_export("keras.optimizers.Optimizer")
class OptimizerV2(trackable.Trackable, metaclass=abc.ABCMeta):
    """The base. Subclasses define _create_slots, _resource_apply_dense, _resource_apply_sparse and
    get_config.

    kwargs: clipnorm, clipvalue: limits of each gradient; lr for learning_rate; decay.
    """

    def __init__(self, name, **kwargs):
        self._use_locking = True
        self._name = name
        self._hyper = {}
        self._slots = {}
        self._weights = []
        self._iterations = None
        self._hypers_created = False
        for key in kwargs:
            if key not in {"clipnorm", "clipvalue", "lr", "decay"}:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if kwargs[key] is not None and kwargs[key] < 0:
                raise ValueError(f"Expected {key} >= 0, received: {kwargs[key]}")
        self._initial_decay = kwargs.pop("decay", 0.0)
        for key in ("clipnorm", "clipvalue"):
            if key in kwargs:
                setattr(self, key, kwargs[key])

    # Gradients.

    def minimize(self, loss, var_list, grad_loss=None, name=None):
        """An op that makes a step. loss: a tensor, or a function without arguments that gives one."""
        grads_and_vars = self._compute_gradients(loss, var_list=var_list, grad_loss=grad_loss)
        return self.apply_gradients(grads_and_vars, name=name)

    def _compute_gradients(self, loss, var_list, grad_loss=None):
        loss = loss() if callable(loss) else loss
        var_list = nest.flatten(var_list() if callable(var_list) else var_list)
        with ops.name_scope(self._name + "/gradients"):
            grads = gradients.gradients(loss, var_list, grad_loss)
        return list(zip(self._clipped(grads), var_list))

    def get_gradients(self, loss, params, some=False):
        """The gradients of the loss, clipped. ValueError where there is none, unless `some` may be missing."""
        params = nest.flatten(params)
        with backend.get_graph().as_default(), ops.name_scope(self._name + "/gradients"):
            grads = gradients.gradients(loss, params)
            for grad, param in zip(grads, params):
                if grad is None and not some:
                    raise ValueError(
                        f"Variable {param} has `None` for gradient. Please make sure that all of your ops have a "
                        "gradient defined (i.e. are differentiable). Common ops without gradient: K.argmax, "
                        "K.round, K.eval."
                    )
            return self._clipped(grads)

    def _clipped(self, grads):
        if hasattr(self, "clipnorm"):
            grads = [None if g is None else clip_ops.clip_by_norm(g, self.clipnorm) for g in grads]
        if hasattr(self, "clipvalue"):
            grads = [
                None if g is None else clip_ops.clip_by_value(g, -self.clipvalue, self.clipvalue)
                for g in grads
            ]
        return grads

    def apply_gradients(self, grads_and_vars, name=None):
        """An op that makes a step with these gradients; with the sums of those of all replicas."""
        grads_and_vars = _with_gradients(grads_and_vars)
        if distribution_strategy_context.get_strategy().num_replicas_in_sync > 1:
            replica = distribution_strategy_context.get_replica_context()
            if replica is None:
                raise RuntimeError(
                    "`apply_gradients() cannot be called in cross-replica context. Use "
                    "`tf.distribute.Strategy.experimental_run_v2` to enter replica context."
                )
            return replica.merge_call(self._apply_summed, args=(tuple(grads_and_vars), name))
        var_list = [v for _, v in grads_and_vars]
        with ops.name_scope(self._name):
            with ops.init_scope():
                _ = self.iterations
                self._create_hypers()
                self._create_slots(var_list)
            self._prepare(var_list)
            with ops.name_scope(name or self._name):
                updates = []
                for grad, var in grads_and_vars:
                    with ops.name_scope("update_" + var.op.name), ops.colocate_with(var):
                        updates.append(self._apply(grad, var))
                with ops.control_dependencies([control_flow_ops.group(*updates)]):
                    return self.iterations.assign_add(1).op

    def _apply_summed(self, strategy, grads_and_vars, name):
        sums = strategy.extended.batch_reduce_to(reduce_util.ReduceOp.SUM, grads_and_vars)
        pairs = [(grad, var) for grad, (_, var) in zip(sums, grads_and_vars)]
        return self.apply_across_replicas(strategy, pairs, name)

    def apply_across_replicas(self, strategy, grads_and_vars, name=None):
        """An op that makes a step with gradients of all replicas together, on the copies of each variable."""
        grads_and_vars = _with_gradients(grads_and_vars)
        var_list = [v for _, v in grads_and_vars]
        with ops.name_scope(self._name):
            _ = self.iterations
            self._create_hypers()
            self._create_slots(var_list)
            self._prepare(var_list)
            with ops.name_scope(name or self._name):
                updates = []
                for grad, var in grads_and_vars:
                    with ops.name_scope("update_" + var.op.name):
                        update = strategy.extended.update(var, lambda v, g: self._apply(g, v), args=(grad,))
                        updates.append(update)
                with ops.control_dependencies(updates):
                    return self.iterations.assign_add(1, read_value=False)

    def _apply(self, grad, var):
        if isinstance(grad, ops.IndexedSlices):
            if var.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)
        update = self._resource_apply_dense(grad, var)
        if getattr(var, "constraint", None) is not None:
            with ops.control_dependencies([update]):
                return var.assign(var.constraint(var)).op
        return update

    def get_updates(self, loss, params):
        """A list of ops that make a step."""
        grads = self.get_gradients(loss, params)
        return [self.apply_gradients(list(zip(grads, params)))]

    # Hyperparameters.

    def _set_hyper(self, name, value):
        if isinstance(value, (ops.Tensor, learning_rate_schedule.LearningRateSchedule)) or callable(value):
            self._hyper[name] = value
        elif name not in self._hyper or not self._hypers_created:
            self._hyper[name] = value
        elif backend.is_variable(self._hyper[name]):
            backend.set_value(self._hyper[name], value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name, dtype=None):
        if not self._hypers_created:
            self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, learning_rate_schedule.LearningRateSchedule):
            return value
        if callable(value) and not backend.is_variable(value):
            value = value()
        return math_ops.cast(value, dtype) if dtype else value

    def __getattribute__(self, name):
        try:
            return super().__getattribute__(name)
        except AttributeError:
            if name == "_hyper":
                raise
            if name == "lr":
                name = "learning_rate"
            if name in self._hyper:
                return self._get_hyper(name)
            raise

    def __setattr__(self, name, value):
        if name == "lr":
            name = "learning_rate"
        if "_hyper" in self.__dict__ and name in self._hyper:
            self._set_hyper(name, value)
        else:
            super().__setattr__(name, value)

    def _create_hypers(self):
        if self._hypers_created:
            return
        for name, value in sorted(self._hyper.items()):
            if isinstance(value, (ops.Tensor, learning_rate_schedule.LearningRateSchedule)) or callable(
                value
            ):
                continue
            self._hyper[name] = self._new_variable(name, (), initializers.Constant(value), dtypes.float32)
        self._hypers_created = True

    def _decayed_lr(self, var_dtype):
        """The learning rate of this step, a tensor."""
        rate = self._get_hyper("learning_rate", var_dtype)
        if isinstance(rate, learning_rate_schedule.LearningRateSchedule):
            rate = math_ops.cast(rate(math_ops.cast(self.iterations, var_dtype)), var_dtype)
        if self._initial_decay > 0.0:
            step = math_ops.cast(self.iterations, var_dtype)
            rate = rate / (1.0 + math_ops.cast(self._initial_decay, var_dtype) * step)
        return rate

    def _prepare(self, var_list):
        """Computes what all variables share."""

    # Variables.

    def _new_variable(self, name, shape, initializer, dtype, use_resource=True, trainable=False):
        v = base_layer_utils.make_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            use_resource=use_resource,
        )
        backend.track_variable(v)
        return v

    def add_weight(self, name, shape, dtype=None, initializer="zeros", trainable=None, **kwargs):
        """A variable of the optimizer, trainable unless told otherwise."""
        return self._new_variable(
            name,
            shape,
            initializers.get(initializer),
            dtypes.as_dtype(dtype or dtypes.float32),
            trainable=trainable is not False,
        )

    @property
    def iterations(self):
        """How many steps were made, a variable."""
        if self._iterations is None:
            self._iterations = self._new_variable("iter", (), initializers.Zeros(), dtypes.int64)
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable):
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been " "created"
            )
        self._iterations = variable
        self._weights.append(variable)

    @property
    def _checkpoint_dependencies(self):
        own = {"iter": self._iterations, **dict(sorted(self._hyper.items()))}
        return [
            trackable.TrackableReference(name, v) for name, v in own.items() if backend.is_variable(v)
        ] + super()._checkpoint_dependencies

    def _create_slots(self, var_list):
        """Makes the slots."""

    def add_slot(self, var, slot_name, initializer="zeros"):
        """Makes a slot of a variable, or finds it."""
        slots = self._slots.setdefault(_key(var), {})
        if slot_name in slots:
            return slots[slot_name]
        if isinstance(initializer, str) or callable(initializer):
            initializer = initializers.get(initializer)
        slot = self._new_variable(
            f"{var.op.name}/{slot_name}",
            var.shape,
            initializer,
            var.dtype.base_dtype,
            use_resource=is_resource(var),
        )
        backend.track_variable(slot)
        slots[slot_name] = slot
        self._weights.append(slot)
        return slot

    def get_slot(self, var, slot_name):
        return self._slots[_key(var)][slot_name]

    def get_slot_names(self):
        """The names of slots, in the order in which they were made."""
        names = []
        for slots in self._slots.values():
            names += [n for n in slots if n not in names]
        return names

    @property
    def weights(self):
        return self._weights

    def variables(self):
        return self._weights

    def get_weights(self):
        """The values of the optimizer's variables."""
        return backend.batch_get_value(self.weights)

    def set_weights(self, weights):
        """Sets the optimizer's variables."""
        if len(self.weights) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list of length "
                f"{len(weights)}, but the optimizer was expecting {len(self.weights)} weights."
            )
        backend.batch_set_value(list(zip(self.weights, weights)))

    # Settings.

    @abc.abstractmethod
    def get_config(self):
        """The settings."""
        config = {"name": self._name}
        for key in ("clipnorm", "clipvalue"):
            if hasattr(self, key):
                config[key] = getattr(self, key)
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = learning_rate_schedule.deserialize(
                config["learning_rate"], custom_objects=custom_objects
            )
        return cls(**config)

    def _serialize_hyperparameter(self, name):
        value = self._hyper[name]
        if isinstance(value, learning_rate_schedule.LearningRateSchedule):
            return learning_rate_schedule.serialize(value)
        if backend.is_variable(value) or isinstance(value, ops.Tensor):
            return float(backend.get_value(value))
        return value() if callable(value) else value

    # The step of one variable.

    def _resource_apply_dense(self, grad, var):
        raise NotImplementedError(f"{type(self).__name__}._resource_apply_dense")

    def _resource_apply_sparse_duplicate_indices(self, grad, var, indices):
        """The step of some rows, whose numbers may come twice: their gradients are added."""
        unique, positions = array_ops.unique(indices)
        summed = math_ops.unsorted_segment_sum(grad, positions, array_ops.shape(unique)[0])
        return self._resource_apply_sparse(summed, var, unique)

    def _resource_apply_sparse(self, grad, var, indices):
        raise NotImplementedError(f"{type(self).__name__}._resource_apply_sparse")


def _key(var):
    """What slots are kept by: the variable, or the one of which it is the copy of a replica."""
    return id(getattr(var, "_distributed_container", var))


def _with_gradients(grads_and_vars):
    """Those of the pairs that have a gradient. ValueError: none has."""
    pairs = tuple(grads_and_vars)
    found = tuple((g, v) for g, v in pairs if g is not None)
    missing = [v.name for g, v in pairs if g is None]
    if pairs and not found:
        raise ValueError(f"No gradients provided for any variable: {missing}.")
    if missing:
        logging.warning("Gradients do not exist for variables %s when minimizing the loss.", missing)
    return found

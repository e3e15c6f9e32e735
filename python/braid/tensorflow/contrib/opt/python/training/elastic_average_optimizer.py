"""Elastic averaging SGD (Zhang, Choromanska and LeCun, 2015): workers train copies that a center draws
together.
"""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    control_flow_ops,
    gen_nn_ops,
    math_ops,
    state_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.training import optimizer, saver, session_run_hook
from braid.tensorflow.python.training.saving import saveable_object_util

LOCAL_VARIABLE_NAME = "local_center_variable"
GLOBAL_VARIABLE_NAME = "global_center_variable"
GLOBAL_STEP = "global_step"


class ElasticAverageCustomGetter:
    """A getter for variable scopes: trainable variables are the worker's own, each with a center of all
    workers.

    with tf.variable_scope("", custom_getter=ElasticAverageCustomGetter(worker_device)): ...
    """

    def __init__(self, worker_device):
        self._worker_device = worker_device
        self._local_map = {}  # variable -> its copy of the center on this worker
        self._global_map = {}  # variable -> the center

    def __call__(self, getter, name, trainable, collections, *args, **kwargs):
        if not trainable:
            kwargs.update(trainable=trainable, collections=collections)
            if collections and ops.GraphKeys.LOCAL_VARIABLES in collections:
                with ops.device(self._worker_device):
                    return getter(name, *args, **kwargs)
            return getter(name, *args, **kwargs)
        local_keys = [ops.GraphKeys.LOCAL_VARIABLES]
        with ops.device(self._worker_device):
            variable = getter(name, *args, trainable=True, collections=local_keys, **kwargs)
        if kwargs.get("reuse") is True:
            return variable
        center = getter(
            f"{GLOBAL_VARIABLE_NAME}/{name}",
            *args,
            trainable=False,
            collections=[ops.GraphKeys.GLOBAL_VARIABLES],
            **kwargs,
        )
        with ops.device(self._worker_device):
            copy = getter(
                f"{LOCAL_VARIABLE_NAME}/{name}", *args, trainable=False, collections=local_keys, **kwargs
            )
        if kwargs.get("partitioner") is None:
            self._local_map[variable], self._global_map[variable] = copy, center
        else:
            self._local_map.update(zip(variable, copy))
            self._global_map.update(zip(variable, center))
        return variable


class ElasticAverageOptimizer(optimizer.Optimizer):
    """Trains a worker's variables by another optimizer; every communication_period steps they and the center
    approach.
    """

    BETA = 0.9  # the paper's default of moving_rate * communication_period * num_worker

    def __init__(
        self,
        opt,
        num_worker,
        ea_custom_getter,
        communication_period=10,
        moving_rate=None,
        rho=None,
        use_locking=True,
        synchronous=False,
        name="ElasticAverageOptimizer",
    ):
        """moving_rate: how far they approach. rho: the weight of their distance in the loss."""
        if synchronous:
            raise NotImplementedError(
                "ElasticAverageOptimizer(synchronous=True) is not in Braid. Use synchronous=False, or "
                "tf.train.SyncReplicasOptimizer."
            )
        super().__init__(use_locking, name)
        self._opt = opt
        self._num_worker = num_worker
        self._period = communication_period
        self._local_map = ea_custom_getter._local_map
        self._global_map = ea_custom_getter._global_map
        self._moving_rate = (
            self.BETA / communication_period / num_worker if moving_rate is None else moving_rate
        )
        self._rho = self._moving_rate / self._opt._learning_rate if rho is None else rho
        self._local_step = variable_scope.get_variable(
            initializer=0,
            trainable=False,
            collections=[ops.GraphKeys.LOCAL_VARIABLES],
            name="local_step",
        )
        self._opt._prepare()

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """Gradients of the loss with rho times the squared distance from the center."""
        var_list = var_list or variables.trainable_variables()
        distances = [gen_nn_ops.l2_loss(math_ops.subtract(v, self._local_map[v])) for v in var_list]
        return self._opt.compute_gradients(
            loss + self._rho * math_ops.add_n(distances),
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The op of a step; the global step counts the exchanges with the center."""
        grads_and_vars = list(grads_and_vars)
        update = self._opt.apply_gradients(grads_and_vars)
        with ops.control_dependencies([update]):
            local_update = state_ops.assign_add(self._local_step, 1, name="local_step_update").op
        _make_local(self._opt.variables())
        trained = [v for g, v in grads_and_vars if g is not None]
        with ops.control_dependencies([local_update]):
            is_due = math_ops.equal(math_ops.mod(self._local_step, self._period), 0)
            return control_flow_ops.cond(
                is_due, lambda: self._approach(trained, global_step), control_flow_ops.no_op
            )

    def _approach(self, trained, global_step):
        """The op of an exchange."""
        copies = [self._local_map[v].assign(self._global_map[v]) for v in trained]
        updates = []
        with ops.control_dependencies(copies):
            for v in trained:
                with ops.device(v.device):
                    move = self._moving_rate * math_ops.subtract(v, self._local_map[v])
                    updates.append(state_ops.assign_sub(v, move))
                center = self._global_map[v]
                with ops.device(center.device):
                    updates.append(state_ops.assign_add(center, move))
            if global_step is not None:
                with ops.colocate_with(global_step):
                    updates.append(state_ops.assign_add(global_step, 1))
        return control_flow_ops.group(*updates)

    def get_init_op(self, task_index):
        """The op that makes the worker's variables and copies equal to the center."""
        trained = variables.trainable_variables()
        if not trained or not self._global_map:
            raise ValueError(
                "The lists of local_variables, global_center_variables, local_center_variables should not be empty"
            )
        assigns = []
        for v in trained:
            assigns.append(state_ops.assign(v, self._global_map[v]))
            assigns.append(state_ops.assign(self._local_map[v], self._global_map[v]))
        return control_flow_ops.group(*assigns)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def make_session_run_hook(self, is_chief, task_index):
        """The hook that makes the worker's variables equal to the center in every new session."""
        return _ElasticAverageOptimizerHook(self, is_chief, task_index)

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """A saver of the centers under the names of the variables."""
        if var_list is None:
            var_list = variables.global_variables()
        if not isinstance(var_list, dict):
            var_list = saveable_object_util.op_list_to_dict(var_list)
        prefix = f"{GLOBAL_VARIABLE_NAME}/"
        renamed = {key[len(prefix) :] if key.startswith(prefix) else key: v for key, v in var_list.items()}
        return saver.Saver(renamed, name=name, **kwargs)


class _ElasticAverageOptimizerHook(session_run_hook.SessionRunHook):
    """Begins with the center's values."""

    def __init__(self, ea_optimizer, is_chief, task_index):
        self._ea_optimizer = ea_optimizer
        self._is_chief = is_chief
        self._task_index = task_index

    def begin(self):
        self._variable_init_op = self._ea_optimizer.get_init_op(self._task_index)

    def after_create_session(self, session, coord):
        session.run(self._variable_init_op)


def _make_local(own):
    """Moves an optimizer's variables from the global to the local ones: each worker has its own."""
    graph = ops.get_default_graph()
    names = {v.op.name for v in own}
    collection = graph.get_collection_ref(ops.GraphKeys.GLOBAL_VARIABLES)
    for v in [v for v in collection if v.op.name in names]:
        ops.add_to_collection(ops.GraphKeys.LOCAL_VARIABLES, v)
    collection[:] = [v for v in collection if v.op.name not in names]

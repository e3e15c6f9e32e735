"""Averaging the models of all workers every so many steps."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    control_flow_ops,
    data_flow_ops,
    math_ops,
    state_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.training import optimizer, session_run_hook

GLOBAL_VARIABLE_NAME = "global_center_variable"


class ModelAverageCustomGetter:
    """A getter for variable scopes: trainable variables are the worker's own, each with a global one for averages."""

    def __init__(self, worker_device):
        self._worker_device = worker_device
        self._local_2_global = {}

    def __call__(self, getter, name, trainable, collections, *args, **kwargs):
        if not trainable:
            return getter(name, *args, trainable=trainable, collections=collections, **kwargs)
        with ops.device(self._worker_device):
            variable = getter(
                name, *args, trainable=True, collections=[ops.GraphKeys.LOCAL_VARIABLES], **kwargs
            )
        self._local_2_global[variable] = variable_scope.variable(
            name=f"{GLOBAL_VARIABLE_NAME}/{name}",
            initial_value=variable.initialized_value(),
            trainable=False,
            collections=[ops.GraphKeys.GLOBAL_VARIABLES],
        )
        return variable


class ModelAverageOptimizer(optimizer.Optimizer):
    """Trains a worker's variables by another optimizer; every interval_steps all workers go on with their average."""

    def __init__(
        self,
        opt,
        num_worker,
        is_chief,
        ma_custom_getter,
        interval_steps=100,
        use_locking=True,
        name="ModelAverageOptimizer",
    ):
        super().__init__(use_locking, name)
        self._opt = opt
        self._num_worker = num_worker
        self._is_chief = is_chief
        self._local_2_global = ma_custom_getter._local_2_global
        self._interval_steps = interval_steps
        self._accumulator_list = []
        self._chief_init_op = None
        self._local_step = variable_scope.get_variable(
            initializer=0,
            trainable=False,
            collections=[ops.GraphKeys.LOCAL_VARIABLES],
            name="local_step",
        )
        self._opt._prepare()

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def _local_vars_update(self, var_list):
        """The op that makes the worker's variables equal to the global ones."""
        if not var_list:
            raise ValueError("The list of local_variables should not be empty")
        return control_flow_ops.group(*[state_ops.assign(v, self._local_2_global[v]) for v in var_list])

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The op of a step; the global step counts the averages."""
        if global_step is None:
            raise ValueError("Global step is required")
        grads_and_vars = list(grads_and_vars)
        update = self._opt.apply_gradients(grads_and_vars)
        with ops.control_dependencies([update]):
            local_update = state_ops.assign_add(self._local_step, 1, name="local_step_update").op
        trained = [v for g, v in grads_and_vars if g is not None]
        with ops.control_dependencies([local_update]):
            is_due = math_ops.equal(math_ops.mod(self._local_step, self._interval_steps), 0)
            conditional = control_flow_ops.cond(
                is_due, lambda: self._average(trained, global_step), control_flow_ops.no_op
            )
        init_ops = []
        for accumulator, device in self._accumulator_list:
            with ops.device(device):
                init_ops.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self._chief_init_op = control_flow_ops.group(*init_ops)
        return conditional

    def _average(self, trained, global_step):
        """The op of averaging: hands the variables in, and waits for the chief, which takes the averages."""
        with ops.colocate_with(global_step):
            sync_queue = data_flow_ops.FIFOQueue(-1, [dtypes.bool], shapes=[[]], shared_name="sync_queue")
        applied, averages = [], []
        for v in trained:
            shared = self._local_2_global[v]
            with ops.device(shared.device):
                accumulator = data_flow_ops.ConditionalAccumulator(
                    v.dtype.base_dtype, shape=v.get_shape(), shared_name=f"{shared.name}/var_accum"
                )
                applied.append(accumulator.apply_grad(v.read_value(), local_step=global_step))
                averages.append(accumulator.take_grad(self._num_worker))
                self._accumulator_list.append((accumulator, shared.device))
        with ops.control_dependencies(applied):
            if self._is_chief:
                updates = []
                for v, average in zip(trained, averages):
                    shared = self._local_2_global[v]
                    with ops.device(shared.device):
                        updates.append(state_ops.assign(shared, average))
                with ops.device(global_step.device):
                    updates.append(state_ops.assign_add(global_step, 1))
                with ops.control_dependencies(updates), ops.device(global_step.device):
                    tokens = [sync_queue.enqueue(False) for _ in range(self._num_worker - 1)]
                    sync_op = control_flow_ops.group(*updates, *tokens)
            else:
                with ops.device(global_step.device):
                    sync_op = sync_queue.dequeue()
        with ops.control_dependencies([sync_op]):
            return self._local_vars_update(trained)

    def get_init_op(self):
        """The op that makes the worker's variables equal to the global ones."""
        return self._local_vars_update(variables.trainable_variables())

    def make_session_run_hook(self):
        """The hook that does that in every new session, and initializes the accumulators (the chief's)."""
        return _ModelAverageOptimizerHook(self, self._is_chief)


class _ModelAverageOptimizerHook(session_run_hook.SessionRunHook):
    """Begins with the global values."""

    def __init__(self, ma_optimizer, is_chief):
        self._ma_optimizer = ma_optimizer
        self._is_chief = is_chief

    def begin(self):
        self._local_init_op = self._ma_optimizer.get_init_op()
        if self._is_chief:
            self._chief_init_op = self._ma_optimizer._chief_init_op

    def after_create_session(self, session, coord):
        session.run(self._local_init_op)
        if self._is_chief:
            session.run(self._chief_init_op)

"""Accumulated gradient normalization (Hermans, Spanakis and Möckel, 2017): workers train on their own and
send the mean of their gradients every so many steps."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    math_ops,
    state_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.training import optimizer, session_run_hook

GLOBAL_VARIABLE_NAME = "global_center_variable"
GRAD_VARIABLE_NAME = "grad_variable"


class AGNCustomGetter:
    """A getter for variable scopes: trainable variables are the worker's own, each with a global one and with
    one for the sum of its gradients."""

    def __init__(self, worker_device):
        self._worker_device = worker_device
        self._global_map = {}
        self._grad_map = {}

    def __call__(self, getter, name, trainable, collections, *args, **kwargs):
        if not trainable:
            return getter(name, *args, trainable=trainable, collections=collections, **kwargs)

        def make(prefix, of_worker):
            kind = ops.GraphKeys.LOCAL_VARIABLES if of_worker else ops.GraphKeys.GLOBAL_VARIABLES
            return getter(prefix + name, *args, trainable=not prefix, collections=[kind], **kwargs)

        with ops.device(self._worker_device):
            local = make("", True)
        if kwargs.get("reuse") is True:
            return local
        shared = make(f"{GLOBAL_VARIABLE_NAME}/", False)
        with ops.device(self._worker_device):
            gradient = make(f"{GRAD_VARIABLE_NAME}/", True)
        if kwargs.get("partitioner") is None:
            self._grad_map[local], self._global_map[local] = gradient, shared
        else:
            self._grad_map.update(zip(local, gradient))
            self._global_map.update(zip(local, shared))
        return local


class AGNOptimizer(optimizer.Optimizer):
    """Trains a worker's variables by another optimizer. Every communication_period steps the global variables
    get an update by the mean of the gradients since the last one, and the worker goes on with their
    values."""

    def __init__(
        self,
        optimizer,
        num_worker,
        custom_getter,
        communication_period=10,
        use_locking=True,
        name="AGNOptimizer",
    ):
        super().__init__(use_locking, name)
        self._opt = optimizer
        self._num_worker = num_worker
        self._period = communication_period
        self._global_map = custom_getter._global_map
        self._grad_map = custom_getter._grad_map
        self._local_step = variable_scope.get_variable(
            initializer=0,
            trainable=False,
            collections=[ops.GraphKeys.LOCAL_VARIABLES],
            name="local_step",
        )
        self._opt._prepare()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The op of a step; the global step counts the updates of global variables."""
        grads_and_vars = [(g, v) for g, v in grads_and_vars if g is not None]

        def of_worker(next_creator, collections=None, **kwargs):
            shared, local = ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.LOCAL_VARIABLES
            collections = [c for c in collections or () if c != shared] or [local]
            if local not in collections:
                collections.append(local)
            return next_creator(collections=collections, **kwargs)

        with variable_scope.variable_creator_scope(of_worker):  # slots for the worker's variables are its own
            done = [self._opt.apply_gradients(grads_and_vars)]
        for g, v in grads_and_vars:
            if isinstance(g, ops.IndexedSlices):
                done.append(state_ops.scatter_add(self._grad_map[v], g.indices, g.values))
            else:
                done.append(state_ops.assign_add(self._grad_map[v], g))
        count = state_ops.assign_add(self._local_step, 1, name="local_step_update")
        is_due = math_ops.equal(math_ops.mod(count, self._period), 0)
        with ops.control_dependencies([*done, count]):
            return control_flow_ops.cond(
                is_due,
                lambda: self._communicate([v for _, v in grads_and_vars], global_step),
                control_flow_ops.no_op,
            )

    def _communicate(self, trained, global_step):
        sums = [self._grad_map[v] for v in trained]
        means = [state_ops.assign(s, s / self._period) for s in sums]
        with ops.control_dependencies(means):
            update = self._opt.apply_gradients([(self._grad_map[v], self._global_map[v]) for v in trained])
        with ops.control_dependencies([update]):
            done = [state_ops.assign(v, self._global_map[v].read_value()) for v in trained]
            done += [state_ops.assign(s, array_ops.zeros_like(s)) for s in sums]
            if global_step is not None:
                with ops.colocate_with(global_step):
                    done.append(state_ops.assign_add(global_step, 1))
            return control_flow_ops.group(*done)

    def get_init_op(self, task_index):
        """The op that makes the worker's variables equal to the global ones."""
        trained = variables.trainable_variables()
        if not trained:
            raise ValueError("There are no trainable variables, which AGNCustomGetter makes.")
        return control_flow_ops.group(
            *[state_ops.assign(v, self._global_map[v]) for v in trained],
            *[state_ops.assign(s, array_ops.zeros_like(s)) for s in map(self._grad_map.get, trained)],
        )

    def make_session_run_hook(self, is_chief, task_index):
        """The hook that does that in every new session."""
        return _AGNOptimizerHook(self, task_index)


class _AGNOptimizerHook(session_run_hook.SessionRunHook):
    """Begins with the global values."""

    def __init__(self, agn_optimizer, task_index):
        self._agn_optimizer = agn_optimizer
        self._task_index = task_index

    def begin(self):
        self._variable_init_op = self._agn_optimizer.get_init_op(self._task_index)

    def after_create_session(self, session, coord):
        session.run(self._variable_init_op)

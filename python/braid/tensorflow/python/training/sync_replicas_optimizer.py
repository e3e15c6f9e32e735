"""Synchronous training: the gradients of several workers are averaged before they are applied.

Each worker applies its gradients to accumulators beside the variables, and then waits for a token. A thread
of the chief takes the averages when enough gradients have come, updates the variables and the global step,
and puts tokens with the new step into the queue `sync_token_q`. A gradient whose local step is older than
the global step is dropped.

The end: with the last update there are tokens for all, but one worker may have taken more than its share,
and another one would wait for ever. So a worker that is done puts a few more tokens into the queue, by which
the others see the last step, and closes it when they cannot go on without this one: a step that then waits
for a token gets OutOfRange.
"""

from braid import protos
from braid.tensorflow.python.client import session as session_lib
from braid.tensorflow.python.framework import dtypes, errors, graph_util, importer, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    data_flow_ops,
    state_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import (
    optimizer,
    queue_runner,
    server_lib,
    session_manager,
    session_run_hook,
)
from braid.tensorflow.python.util.tf_export import tf_export


class _UpdatesRunner(queue_runner.QueueRunner):
    """The thread of the chief's updates. It waits for gradients until the session is closed, so nobody waits
    for it.
    """

    def __init__(self, queue, enqueue_ops):
        # The queue of tokens is closed when another worker is done.
        ends = (errors.OutOfRangeError, errors.CancelledError)
        super().__init__(queue, enqueue_ops, queue_closed_exception_types=ends)

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        threads = super().create_threads(sess, coord=coord, daemon=daemon, start=start)
        if coord:
            coord._registered_threads.difference_update(threads[: len(self.enqueue_ops)])
        return threads


_RELEASE_TIMEOUT_MS = 5000  # the parameter servers may be gone


def _filters(server):
    """The device filters of a session that needs the parameter servers and the server's own task alone."""
    definition = server.server_def
    return ["/job:ps", f"/job:{definition.job_name}/task:{definition.task_index}"]


def _read_of(variable):
    """The node that reads a variable."""
    tensor = getattr(variable, "_snapshot", None)
    return (variable._graph_element if tensor is None else tensor).op.name


@tf_export(v1=["train.SyncReplicasOptimizer"])
class SyncReplicasOptimizer(optimizer.Optimizer):
    """Averages the gradients of several workers, and applies them by another optimizer.

    make_session_run_hook() makes the hook that initializes it; without it, a Supervisor gets
    local_step_init_op (or chief_init_op) and ready_for_local_init_op, and the chief runs
    get_init_tokens_op() and starts get_chief_queue_runner().
    """

    def __init__(
        self,
        opt,
        replicas_to_aggregate,
        total_num_replicas=None,
        variable_averages=None,
        variables_to_average=None,
        use_locking=False,
        name="sync_replicas",
    ):
        """opt: the optimizer that applies averages. replicas_to_aggregate: how many gradients make one.

        total_num_replicas: workers; None for replicas_to_aggregate. With more, the last ones' gradients are
        dropped. variable_averages: an ExponentialMovingAverage, updated by the chief for
        variables_to_average.
        """
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        super().__init__(use_locking, name)
        logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate,
            total_num_replicas,
        )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._gradients_applied = False
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._total_num_replicas = total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._global_step = None
        self._sync_token_queue = None
        self._chief_queue_runner = None
        self._accumulator_list = []  # pairs (accumulator, device)
        self._graph = None
        self._has_released = False

    def compute_gradients(self, *args, **kwargs):
        """As the other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The op of a worker's step: hands its gradients in, and waits for a token. ValueError: no global
        step.
        """
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        # An op without a device of its own is on this worker, and the local step is placed with it.
        local_anchor = control_flow_ops.no_op()
        with ops.colocate_with(local_anchor):
            self._local_step = variable_scope.variable(
                initial_value=0,
                trainable=False,
                collections=[ops.GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = state_ops.assign(self._local_step, global_step)
        chief_init_ops = [self.local_step_init_op]
        self.ready_for_local_init_op = variables.report_uninitialized_variables(variables.global_variables())
        with ops.name_scope(None, self._name):
            train_ops, averages = [], []
            for grad, var in grads_and_vars:
                with ops.device(var.device):
                    averages.append((self._accumulate(grad, var, train_ops), var))
            with ops.device(global_step.device), ops.name_scope(""):
                update_op = self._opt.apply_gradients(averages, global_step)
            with ops.device(global_step.device), ops.name_scope(""):
                self._sync_token_queue = data_flow_ops.FIFOQueue(
                    -1,
                    global_step.dtype.base_dtype,
                    shapes=(),
                    name="sync_token_q",
                    shared_name="sync_token_q",
                )
                # The queue runner closes its queue at the end, and other workers still need the one of
                # tokens.
                dummy_queue = data_flow_ops.FIFOQueue(
                    1, dtypes.int32, shapes=(), name="dummy_queue", shared_name="dummy_queue"
                )
            with ops.device(global_step.device), ops.name_scope(""):
                with ops.control_dependencies(train_ops):
                    token = self._sync_token_queue.dequeue()
                train_op = state_ops.assign(self._local_step, token)
                with ops.control_dependencies([update_op]):
                    tokens = array_ops.fill([self._tokens_per_step], global_step)
                    sync_op = self._sync_token_queue.enqueue_many((tokens,))
                if self._variable_averages is not None:
                    with ops.control_dependencies([sync_op]), ops.name_scope(""):
                        sync_op = self._variable_averages.apply(self._variables_to_average)
                self._chief_queue_runner = _UpdatesRunner(dummy_queue, [sync_op])
            for accumulator, device in self._accumulator_list:
                with ops.device(device):
                    chief_init_ops.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = control_flow_ops.group(*chief_init_ops)
            self._gradients_applied = True
            self._graph = ops.get_default_graph()
            server_lib._at_end(lambda server: self._release_others(server.target, _filters(server)))
            return train_op

    def _accumulate(self, grad, var, train_ops):
        """Adds the op that hands a gradient in to train_ops. Returns the average, of the gradient's kind."""
        if grad is None:
            return None
        shared_name = f"{var.name}/grad_accum"
        if isinstance(grad, ops.Tensor):
            accumulator = data_flow_ops.ConditionalAccumulator(
                grad.dtype, shape=var.get_shape(), shared_name=shared_name
            )
            train_ops.append(accumulator.apply_grad(grad, local_step=self._local_step))
            average = accumulator.take_grad(self._replicas_to_aggregate)
        elif isinstance(grad, ops.IndexedSlices):
            accumulator = data_flow_ops.SparseConditionalAccumulator(
                grad.dtype, shape=(), shared_name=shared_name
            )
            train_ops.append(accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step))
            average = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
        else:
            raise ValueError("Unknown grad type!")
        self._accumulator_list.append((accumulator, var.device))
        return average

    def _release_others(self, target, filters):
        """Lets the other workers end, once this one is done. They share the queue on a parameter server."""
        if self._has_released or not self._global_step.device:
            return
        self._has_released = True
        queue = self._sync_token_queue.queue_ref.op.name
        step = _read_of(self._global_step)
        part = graph_util.extract_sub_graph(self._graph.as_graph_def(), [queue, step])
        with ops.Graph().as_default() as graph:
            importer.import_graph_def(part, name="")
            tokens = array_ops.fill([2 * self._total_num_replicas], graph.get_tensor_by_name(f"{step}:0"))
            with ops.device(self._global_step.device):
                dtype = self._global_step.dtype.base_dtype
                shared = data_flow_ops.FIFOQueue(-1, dtype, shapes=(), shared_name="sync_token_q")
                release = shared.enqueue_many((tokens,))
                with ops.control_dependencies([release]):
                    close = shared.close()
            is_needed = self._replicas_to_aggregate >= self._total_num_replicas
            config = protos.ConfigProto(device_filters=filters, operation_timeout_in_ms=_RELEASE_TIMEOUT_MS)
            try:
                with session_lib.Session(target, config=config) as sess:
                    sess.run(close if is_needed else release)
            except (errors.CancelledError, errors.DeadlineExceededError) as e:
                logging.debug("Another worker has ended the training before: %s", e)

    def get_chief_queue_runner(self):
        """The queue runner that the chief starts. ValueError: apply_gradients() was not called yet."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_slot(self, *args, **kwargs):
        """As the other optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self):
        """As the other optimizer's."""
        return self._opt.variables()

    def get_slot_names(self, *args, **kwargs):
        """As the other optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)

    def get_init_tokens_op(self, num_tokens=-1):
        """The op that puts the first tokens into the queue, run once by the chief.

        num_tokens: -1 for replicas_to_aggregate. ValueError: too few for the first step.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return control_flow_ops.no_op(name="no_init_tokens")
        with ops.device(self._global_step.device), ops.name_scope(""):
            tokens = array_ops.fill([num_tokens], self._global_step)
            return self._sync_token_queue.enqueue_many((tokens,))

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        """The hook that initializes the local step and, of the chief, starts to update the variables."""
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(session_run_hook.SessionRunHook):
    """Initializes a SyncReplicasOptimizer in every new session."""

    def __init__(self, sync_optimizer, is_chief, num_tokens):
        self._sync_optimizer = sync_optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self):
        sync = self._sync_optimizer
        if not sync._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._ready_for_local_init_op = sync.ready_for_local_init_op
        if self._is_chief:
            self._local_init_op = sync.chief_init_op
            self._q_runner = sync.get_chief_queue_runner()
            self._init_tokens_op = sync.get_init_tokens_op(self._num_tokens)
        else:
            self._local_init_op = sync.local_step_init_op
            self._q_runner = None
            self._init_tokens_op = None

    def after_create_session(self, session, coord):
        is_ready, message = session_manager._ready(
            self._ready_for_local_init_op,
            session,
            "Model is not ready for SyncReplicasOptimizer local init.",
        )
        if not is_ready:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._local_init_op.name}, error: {message}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)

    def end(self, session):
        config = session._config
        self._sync_optimizer._release_others(session.sess_str, list(config.device_filters) if config else [])

"""Functions of replicas, each in a thread, of which one runs at a time.

A replica's thread runs until its function is done or calls merge_call. When all wait in merge_call, the
function of that call runs once, in the thread that started them, and each gets its part of the result.

Thread states: new -> running -> (waiting -> running)* -> done. The starter resumes a thread and waits until
it is waiting or done; each wait ends, because a thread that is left waiting is stopped by an exception.
"""

import threading

from braid.tensorflow.python.distribute import distribution_strategy_context as context
from braid.tensorflow.python.distribute import values
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import variable_scope


class _Stopped(BaseException):
    """Ends the thread of a replica after another has failed."""


class ReplicaThread(threading.Thread):
    """A replica's function and its state."""

    def __init__(self, strategy, replica, device, created, fn, args, kwargs):
        super().__init__(daemon=True, name=f"replica_{replica}")
        self.strategy, self.replica, self.device, self.created = strategy, replica, device, created
        self.call = fn, args, kwargs
        self.result = self.error = self.merge = self.merged = None
        self.taken = {}  # how many variables of each name it took from `created`
        self.done = self.stopped = False
        self._resumed, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        # The scopes of the starter.
        graph = ops.get_default_graph()
        graph.switch_to_thread_local()
        self._graph, self._scopes = graph, graph._scopes.copy()
        self._name_scope = graph.get_name_scope()
        self._variable_scope = variable_scope.get_variable_scope()
        # How often variable scopes were opened: their names are made unique by it, to the same ones in all.
        self._counts = dict(variable_scope.get_variable_scope_store().variable_scopes_count)

    def run(self):
        self._resumed.acquire()
        try:
            if not self.stopped:
                self.result = self._run()
        except _Stopped:
            pass
        except BaseException as error:  # the starter raises it
            self.error = error
        self.done = True
        self._paused.release()

    def _run(self):
        fn, args, kwargs = self.call
        self._graph._state.own = self._scopes
        context._state.thread = self
        with self._graph.as_default():
            variable_scope.get_variable_scope_store().variable_scopes_count = self._counts
        context._stack().append((self.strategy, ReplicaContext(self.strategy, self.replica)))
        name = self._name_scope + "/" if self._name_scope else ""
        with self._graph.as_default(), ops.name_scope(name):
            with ops.name_scope(f"replica_{self.replica}" if self.replica else name):
                with ops.device(self.device), variable_scope.variable_scope(
                    self._variable_scope, reuse=self.replica > 0 or None, auxiliary_name_scope=False
                ):
                    return fn(*args, **kwargs)

    def resume(self):
        """Runs the thread until it waits or is done. For the starter."""
        self._resumed.release()
        self._paused.acquire()

    def merge_call(self, fn, args, kwargs):
        """Waits until all replicas are here. Returns the part of the result. For the thread itself."""
        graph = ops.get_default_graph()
        self.merge = fn, args, kwargs
        self.merge_scopes = graph._scopes.copy(), graph.get_name_scope()
        self._paused.release()
        self._resumed.acquire()
        if self.stopped:
            raise _Stopped
        return self.merged

    def stop(self):
        if not self.done:
            self.stopped = True
            self.resume()


class ReplicaContext:
    """A replica of several."""

    def __init__(self, strategy, replica):
        self._strategy, self._id = strategy, replica

    strategy = property(lambda self: self._strategy)
    num_replicas_in_sync = property(lambda self: self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self):
        from braid.tensorflow.python.framework import constant_op

        return constant_op.constant(self._id, dtype="int32")

    @property
    def devices(self):
        return (self._strategy.extended.worker_devices[self._id],)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """merge_fn(strategy, *args, **kwargs), once for all replicas; args are PerReplica where they differ."""
        thread = getattr(context._state, "thread", None)
        if thread is None or context._stack()[-1][1] is not self:
            raise RuntimeError("merge_call called from outside of the replica's thread")
        return thread.merge_call(merge_fn, args, kwargs or {})

    def all_reduce(self, reduce_op, value):
        """The sum or mean of the replicas' tensors, in structures."""
        from braid.tensorflow.python.distribute import distribute_lib

        mean = distribute_lib._is_mean(reduce_op)

        def across(strategy, value):
            device = strategy.extended.worker_devices[0]
            return values._map(lambda leaves: values.reduce(leaves[0], mean, device), [value])

        return self.merge_call(across, args=(value,))

    def __enter__(self):
        context._stack().append((self._strategy, self))

    def __exit__(self, *_):
        context._stack().pop()
        return False


def call_for_each_replica(strategy, devices, fn, args, kwargs):
    """The results of fn in each replica, regrouped."""
    created = {}  # variables of replica 0 by name, which the others take over
    threads = [
        ReplicaThread(
            strategy, i, d, created, fn, values.select_replica(i, args), values.select_replica(i, kwargs)
        )
        for i, d in enumerate(devices)
    ]
    for thread in threads:
        thread.start()
    try:
        while True:
            for thread in threads:
                thread.resume()
                if thread.error is not None:
                    raise thread.error
            if all(thread.done for thread in threads):
                variable_scope.get_variable_scope_store().variable_scopes_count = threads[0]._counts
                return values.regroup([thread.result for thread in threads])
            if any(thread.done for thread in threads):
                raise RuntimeError(
                    "Some replicas made a different number of replica_context().merge_call() calls."
                )
            _merge(strategy, threads)
    finally:
        for thread in threads:
            thread.stop()
            thread.join()


def _merge(strategy, threads):
    """Runs the function that all threads wait for, in the scopes of the first one."""
    fn, args, kwargs = threads[0].merge[0], *(
        values.regroup([thread.merge[i] for thread in threads]) for i in (1, 2)
    )
    graph = ops.get_default_graph()
    scopes, name = threads[0].merge_scopes
    controls = [op for thread in threads for c in thread.merge_scopes[0].controls for op in c.control_inputs]
    before, graph._state.own = graph._scopes, scopes.copy()
    graph._state.own.devices, graph._state.own.controls = list(before.devices), list(before.controls)
    context._stack().append((strategy, None))
    try:
        with ops.name_scope(name + "/" if name else ""), ops.control_dependencies(controls):
            merged = fn(strategy, *args, **kwargs)
    finally:
        context._stack().pop()
        graph._state.own = before
    for i, thread in enumerate(threads):
        thread.merged = values.select_replica(i, merged)

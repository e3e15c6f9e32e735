"""Clusters and their servers."""

import atexit
import json
import os
import socket
import sys
import threading

from braid import _native, protos
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


def _servers():
    """The servers that this process has started."""
    return _end.servers if _end is not None and _end.is_of_this_process() else []


def _allow_files(directory):
    """Lets graphs on the servers of this process use the files of a directory, as the program itself does."""
    for server in _servers():
        server._allow_files(directory)


def _make_server_def(server_or_cluster_def, job_name, task_index, protocol, config):
    """The ServerDef of the arguments of Server. ValueError: they do not say which task it is."""
    made = protos.ServerDef()
    given = server_or_cluster_def
    if isinstance(given, protos.ServerDef):
        made.MergeFrom(given)
        if job_name is not None:
            made.job_name = job_name
        if task_index is not None:
            made.task_index = task_index
        if protocol is not None:
            made.protocol = protocol
        if config is not None:
            made.default_session_config.MergeFrom(config)
        if not made.job_name:
            raise ValueError("Must specify an explicit `job_name`.")
        if not made.protocol:
            raise ValueError("Must specify an explicit `protocol`.")
        return made
    made.cluster.MergeFrom(ClusterSpec(given).as_cluster_def())
    jobs = made.cluster.job
    if job_name is None:
        if len(jobs) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        job_name = jobs[0].name
    if task_index is None:
        tasks = next((job.tasks for job in jobs if job.name == job_name), {})
        if len(tasks) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        task_index = next(iter(tasks))
    made.job_name = job_name
    made.task_index = task_index
    made.protocol = protocol or "grpc"
    if config is not None:
        made.default_session_config.MergeFrom(config)
    return made


@tf_export("train.ClusterSpec")
class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks."""

    def __init__(self, cluster):
        """cluster: {job: list of "host:port"}, {job: {task index: "host:port"}}, a ClusterDef or a
        ClusterSpec.
        """
        self._cluster_spec = {}  # job -> {task index: address}
        if isinstance(cluster, dict):
            for job, tasks in cluster.items():
                if isinstance(tasks, (list, tuple)):
                    numbered = dict(enumerate(tasks))
                elif isinstance(tasks, dict):
                    numbered = dict(tasks)
                else:
                    raise TypeError(
                        f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
                    )
                self._cluster_spec[job] = numbered
        elif isinstance(cluster, protos.ClusterDef):
            self._cluster_spec = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, ClusterSpec):
            self._cluster_spec = {job: dict(tasks) for job, tasks in cluster._cluster_spec.items()}
        elif type(cluster).__name__ == "ClusterDef":  # of another copy of the messages
            self._cluster_spec = {job.name: dict(job.tasks) for job in cluster.job}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, "
                "or a `ClusterDef` protocol buffer"
            )
        self._make_cluster_def()

    def __bool__(self):
        return bool(self._cluster_spec)

    def __eq__(self, other):
        return self._cluster_spec == getattr(other, "_cluster_spec", other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __repr__(self):
        jobs = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items()))
        return f"ClusterSpec({{{jobs}}})"

    def as_dict(self):
        """{job: list of addresses}, or {job: {task index: address}} for a job whose indices have gaps."""
        jobs = {}
        for job, tasks in self._cluster_spec.items():
            indices = sorted(tasks)
            is_dense = indices == list(range(len(indices)))
            jobs[job] = [tasks[i] for i in indices] if is_dense else dict(tasks)
        return jobs

    def as_cluster_def(self):
        return self._cluster_def

    @property
    def jobs(self):
        """The names of the jobs."""
        return list(self._cluster_spec)

    def _tasks(self, job_name):
        try:
            return self._cluster_spec[job_name]
        except KeyError:
            raise ValueError(f"No such job in cluster: {job_name!r}") from None

    def num_tasks(self, job_name):
        """The number of tasks of a job. ValueError: there is no such job."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name):
        """The sorted indices of the tasks of a job."""
        return sorted(self._tasks(job_name))

    def task_address(self, job_name, task_index):
        """The address of a task. ValueError: there is no such task."""
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name):
        """The addresses of the tasks of a job by index, None for those that it does not have."""
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def _make_cluster_def(self):
        self._cluster_def = protos.ClusterDef()
        for job, tasks in sorted(self._cluster_spec.items()):
            try:
                name = compat.as_str(job)
            except TypeError:
                raise TypeError(f"Job name {job!r} must be bytes or unicode") from None
            message = self._cluster_def.job.add(name=name)
            for index, address in sorted(tasks.items()):
                try:
                    message.tasks[index] = compat.as_str(address)
                except TypeError:
                    raise TypeError(f"Task address {address!r} must be bytes or unicode") from None


_LOCAL = {"localhost": {"0": "localhost:0"}}  # a cluster of one task on a free port


@tf_export("distribute.Server", v1=["distribute.Server", "train.Server"])
class Server:
    """A task of a cluster, in this process: it executes the parts of graphs that are placed on it.

    At the end of the process it tells the parameter servers that its work is done, unless an error ends the
    process; join() of a parameter server returns when all workers are done.
    """

    def __init__(
        self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True
    ):
        """server_or_cluster_def: a ServerDef, or a cluster in any form that ClusterSpec takes.

        config: a ConfigProto, for the server and for what its sessions do not say in theirs: to their
        device_filters it adds its own, and a flag that it sets, as allow_soft_placement, is set for all.
        start: listen at once, else with start().
        """
        self._server_def = _make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._server = None
        self._only_serves = False  # it has said so
        if start:
            self.start()

    def start(self):
        """Starts to listen. It does not wait for other tasks."""
        if self._server is None:
            try:
                self._server = _call(_start, self._server_def)
            except errors.AlreadyExistsError as error:  # as TensorFlow's, which programs catch
                raise errors.UnknownError(None, None, error.message) from None
            _end_with_process(self)

    def join(self):
        """Blocks until the workers of the cluster are done, and then ends the program (SystemExit).

        TensorFlow's join() never returns, so that programs go on as a worker behind it. A task that calls it
        before it has opened a session only serves the graphs of others, and waits until these have ended.
        When all tasks do so, clients outside the cluster have graphs for it: it serves until it is stopped.
        UnavailableError: workers are gone without having said that they are done.
        """
        self._wait_for_workers()
        raise SystemExit(0)

    def _wait_for_workers(self):
        """Blocks until all workers are done; a worker says here that it is."""
        if self._server_def.job_name != "ps":
            self._await_leaders()
            self._only_serves = session._opened == 0
            if self._only_serves:
                self._server.only_serves()
            else:
                self._server.done()
        _call(self._server.join)

    def _await_leaders(self):
        """Blocks until the tasks answer which note what all others do: the parameter servers, or the first
        task.
        """
        jobs = {job.name: job for job in self._server_def.cluster.job}
        leader = "/job:ps"
        if "ps" not in jobs:
            first = min(jobs)
            leader = f"/job:{first}/task:{min(jobs[first].tasks)}"
        own = f"/job:{self._server_def.job_name}/task:{self._server_def.task_index}"
        with ops.Graph().as_default():
            config = protos.ConfigProto(device_filters=[leader, own])
            session.Session(self.target, config=config).close()
        session._opened -= 1  # it is not the program's

    @property
    def server_def(self):
        return self._server_def

    @property
    def target(self):
        """The target of sessions on this server, "grpc://host:port"."""
        return self._server.target

    @staticmethod
    def create_local_server(config=None, start=True):
        """A server of a cluster of one task in this process, on a free port."""
        return Server(
            {job: list(tasks.values()) for job, tasks in _LOCAL.items()},
            job_name="localhost",
            task_index=0,
            protocol="grpc",
            config=config,
            start=start,
        )

    def _allow_files(self, directory):
        if self._server is not None:
            _call(self._server.allow_files, os.path.abspath(file_io._local(directory)))


def _on_free_port(address):
    """host:0 with a port that nobody has, of a cluster of one task."""
    host = address.rpartition(":")[0]
    with socket.socket() as found:
        found.bind((host, 0))
        return f"{host}:{found.getsockname()[1]}"


def _start(server_def):
    """The engine's server of a ServerDef.

    Without a certificate only processes of this user call it, so that graphs may use all files which these
    may: they could do so themselves. BRAID_FILE_ROOT and BRAID_INSECURE=1 say otherwise.
    """
    insecure = os.environ.get("BRAID_INSECURE") == "1"
    is_ours = not insecure and not os.environ.get("BRAID_TLS_DIR") and "BRAID_FILE_ROOT" not in os.environ
    config = server_def.default_session_config
    options = {
        "inter_op_threads": config.inter_op_parallelism_threads,
        "cpu_devices": dict(config.device_count).get("CPU", 0),
        "insecure": insecure,
        "file_roots": "/" if is_ours else None,
        "operation_timeout_ms": config.operation_timeout_in_ms,
    }
    sessions = session._options(config)  # what they have besides their own
    if sessions:
        options["session_options"] = sessions
    jobs = {job.name: {str(i): address for i, address in job.tasks.items()} for job in server_def.cluster.job}
    if jobs == _LOCAL:
        return _native.Server(**options)
    addresses = [address for tasks in jobs.values() for address in tasks.values()]
    if len(addresses) == 1 and addresses[0].endswith(":0"):
        jobs = {
            job: {i: _on_free_port(address) for i, address in tasks.items()} for job, tasks in jobs.items()
        }
    return _native.Server(json.dumps(jobs), server_def.job_name, server_def.task_index, **options)


def _call(function, *args):
    try:
        return function(*args)
    except _native.Error as error:
        raise ops.error_of(error) from None


# ---- The end of the process ----

_end = None  # of this process


class _End:
    """The end of a process with servers: an error that ends it is not the end of its work."""

    def __init__(self):
        self.servers = []  # that this process has started; they serve until it ends, as in TensorFlow
        self.last_acts = []  # functions of a server
        self.has_failed = False
        self._process = os.getpid()
        self._show = sys.excepthook
        sys.excepthook = self._fail
        process = sys.modules.get("multiprocessing.process")
        if process is None or process.parent_process() is None:
            atexit.register(self._stop)
        else:
            # Children of multiprocessing end without atexit. What they have put into queues goes first (-5).
            sys.modules["multiprocessing.util"].Finalize(None, self._stop_child, exitpriority=-10)

    def is_of_this_process(self):
        """False in a copy of the process, made by fork."""
        return os.getpid() == self._process

    def _fail(self, kind, value, trace):
        self.has_failed = True
        self._show(kind, value, trace)

    def _stop_child(self):
        error = sys.exc_info()[1]  # no hook sees the error that ends a child
        if error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.has_failed = True
        self._stop()

    def _stop(self):
        if not self.is_of_this_process():
            return
        self._show_of_thread = threading.excepthook
        threading.excepthook = self._fail_of_thread
        for server in self.servers:
            if self.has_failed:
                server._server.failed()
            else:
                self._act(server)
                if session._opened > 0 or not server._only_serves:
                    server._server.done()
            server._server.close()

    def _fail_of_thread(self, args):
        """The steps of daemon threads, which nobody waits for, end with the servers: that is no fault."""
        is_step = args.exc_type is not None and issubclass(args.exc_type, errors.OpError)
        if not (is_step and args.thread is not None and args.thread.daemon):
            self._show_of_thread(args)

    def _act(self, server):
        for act in self.last_acts:
            try:
                act(server)
            except Exception as e:
                logging.warning("At the end of the work: %s", e)  # the work itself has succeeded


def _end_with_process(server):
    """Arranges that a server says at the end of the process that its work is done, unless it has failed."""
    global _end
    if _end is None or not _end.is_of_this_process():
        _end = _End()
    _end.servers.append(server)


def _fail():
    """Notes that the work of this process has failed."""
    if _end is not None:
        _end.has_failed = True


def _at_end(act):
    """Calls act(server) at the end of the process, unless it has failed, while the other tasks still
    serve.
    """
    if _end is not None:
        _end.last_acts.append(act)

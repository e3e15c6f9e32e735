# timeout: 180
"""Programs of several processes: parameter servers and workers train together, and each ends by itself."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import support  # noqa: F401, before the others: where the package is
import braid
from free_ports import free_addresses

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(braid.__file__)))
_LIMIT_S = 120  # of a process, on a loaded machine

# argv: job, task, ps hosts, worker hosts, directory, mode
_PROGRAM = """
import sys
import tensorflow as tf

job, task, ps, workers, directory, mode = sys.argv[1:]
task = int(task)
cluster = tf.train.ClusterSpec({"ps": ps.split(","), "worker": workers.split(",")})
server = tf.train.Server(cluster, job_name=job, task_index=task)
if job == "ps":
    server.join()
is_chief = task == 0
device = "/job:worker/task:%d" % task
with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
    loss = tf.reduce_sum(tf.square(w + b - [1.0, 2.0, 3.0]))
    optimizer = tf.train.MomentumOptimizer(0.02, 0.5)
    hooks = [tf.train.StopAtStepHook(last_step=60)]
    if mode == "sync":
        count = len(workers.split(","))
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, count)
        train_op = optimizer.minimize(loss, global_step=step)
        hooks.append(optimizer.make_session_run_hook(is_chief))
    else:
        train_op = optimizer.minimize(loss, global_step=step)
if mode == "killed" and not is_chief:
    hooks.append(tf.train.FinalOpsHook(step))
if mode == "late" and not is_chief:
    sys.stdin.readline()
with tf.train.MonitoredTrainingSession(
    server.target, is_chief, directory if is_chief else None, hooks=hooks,
    config=tf.ConfigProto(device_filters=[] if mode == "late" else ["/job:ps", device]),
) as session:
    print("ready", flush=True)
    if mode == "killed" and task == 1 and not sys.stdin.readline():
        sys.exit(3)
    while not session.should_stop():
        value = session.run([train_op, loss])[1]
print("loss %.3f" % value)
"""

# Worker 0 builds a graph for all workers; the others only serve.
_IN_GRAPH = """
import sys
import tensorflow as tf

job, task, ps, workers, directory, mode = sys.argv[1:]
workers = workers.split(",")
server = tf.train.Server({"ps": ps.split(","), "worker": workers}, job_name=job, task_index=int(task))
if job == "ps" or task != "0":
    server.join()
parts = []
for i in range(len(workers)):
    with tf.device("/job:worker/task:%d" % i):
        parts.append(tf.constant(float(i)))
with tf.Session(server.target) as session:
    print("loss %f" % session.run(tf.add_n(parts)))
for i in range(1, len(workers)):
    print("loss 0")  # of the others
"""


# All tasks serve a client that is no task.
_SERVED = """
import sys
import tensorflow as tf

job, task, ps, workers, directory, mode = sys.argv[1:]
workers = workers.split(",")
if job != "client":
    cluster = {"ps": ps.split(","), "worker": workers} if ps else {"worker": workers}
    tf.train.Server(cluster, job_name=job, task_index=int(task)).join()
with tf.device("/job:ps" if ps else "/job:worker/task:0"):
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
with tf.device("/job:worker/task:1"):
    sum = tf.assign_add(v, 2.0)
with tf.Session("grpc://" + workers[0]) as session:
    session.run(v.initializer)
    print("sum %f" % session.run(sum))
"""


# A thread that nobody stops waits at the parameter server for what never comes.
_WAITING = """
import sys, threading
import tensorflow as tf

job, task, ps, workers, directory, mode = sys.argv[1:]
server = tf.train.Server({"ps": ps.split(","), "worker": workers.split(",")}, job_name=job, task_index=int(task))
if job == "ps":
    server.join()
with tf.device("/job:ps"):
    queue = tf.FIFOQueue(1, tf.float32, shapes=[()])
    waits, size = queue.dequeue(), queue.size()
session = tf.Session(server.target)
threading.Thread(target=session.run, args=(waits,), daemon=True).start()
print("loss %d" % session.run(size))
"""


# The tasks are processes of multiprocessing.
_CHILDREN = """
import multiprocessing, os, sys
import tensorflow as tf

ps, workers, method, mode = sys.argv[1:]
cluster = {"ps": [ps], "worker": workers.split(",")}

def work(job, task):
    if mode == "fails":
        os.environ["BRAID_GRACE_SECONDS"] = "0.1"
    server = tf.train.Server(cluster, job_name=job, task_index=task)
    if job == "ps":
        server.join()
    with tf.device("/job:ps"):
        v = tf.get_variable("v%d" % task, [], initializer=tf.zeros_initializer())
    # A session waits for tasks that have failed, unless it does without them.
    filters = ["/job:ps", "/job:worker/task:%d" % task] if mode == "fails" else []
    with tf.Session(server.target, config=tf.ConfigProto(device_filters=filters)) as session:
        session.run(v.initializer)
    if mode == "fails" and task == 1:
        raise ValueError("no work")

if __name__ == "__main__":
    tasks = [("ps", 0)] + [("worker", i) for i in range(len(cluster["worker"]))]
    context = multiprocessing.get_context(method)
    processes = [context.Process(target=work, args=task) for task in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print(*(process.exitcode for process in processes))
"""


class ClusterTest(unittest.TestCase):
    def start(self, job, task):
        command = [sys.executable, "-m", "braid", self.program, job, str(task)]
        process = subprocess.Popen(
            [*command, ",".join(self.ps), ",".join(self.workers), self.directory, self.mode],
            env={**os.environ, "PYTHONPATH": _PACKAGES, "BRAID_GRACE_SECONDS": "60"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def begin(self, mode, ps, workers, program=_PROGRAM):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.mode = mode
        self.directory = os.path.join(holder.name, "model")
        self.program = os.path.join(holder.name, "program.py")
        with open(self.program, "w", encoding="utf-8") as f:
            f.write(program)
        addresses = free_addresses(ps + workers)
        self.ps, self.workers = addresses[:ps], addresses[ps:]
        return [self.start("ps", i) for i in range(ps)] + [self.start("worker", i) for i in range(workers)]

    def check_ends(self, processes):
        """All processes end without an error; returns the losses that the workers print."""
        losses, self.errors = [], ""
        for process in processes:
            out, err = process.communicate("go\n", timeout=_LIMIT_S)
            self.assertEqual(process.returncode, 0, err)
            self.errors += err
            losses += [float(line.split()[1]) for line in out.splitlines() if line.startswith("loss")]
        self.assertEqual(len(losses), len(self.workers))
        return losses

    def test_asynchronous(self):
        self.check_ends(self.begin("async", 2, 2))
        self.assertTrue(any(name.startswith("model.ckpt-6") for name in os.listdir(self.directory)))

    def test_synchronous(self):
        losses = self.check_ends(self.begin("sync", 1, 3))
        self.assertLess(max(losses), 0.5)

    def test_a_worker_that_fails_does_not_say_that_its_work_is_done(self):
        server, chief, worker = self.begin("killed", 1, 2)
        worker.stdin.close()  # it exits with status 3
        worker.stdin = None
        self.assertEqual(worker.wait(_LIMIT_S), 3)
        self.check_ends([chief, self.start("worker", 1), server])
        self.assertIn("Lost /job:worker/task:1", self.errors)

    def test_a_session_goes_on_without_a_task_that_has_done_its_work(self):
        server, chief, worker = self.begin("late", 1, 2)
        self.assertEqual(chief.wait(_LIMIT_S), 0)
        self.check_ends([chief, worker, server])
        self.assertIn("goes on without /job:worker/task:0", self.errors)

    def test_workers_that_only_serve_end_with_the_others(self):
        self.assertEqual(self.check_ends(self.begin("", 1, 3, _IN_GRAPH)), [3.0, 0.0, 0.0])

    def test_a_cluster_that_only_serves_stays_for_its_clients(self):
        for ps in 1, 0:
            servers = self.begin("", ps, 2, _SERVED)
            for _ in range(2):
                out, err = self.start("client", 0).communicate(timeout=_LIMIT_S)
                self.assertEqual(out, "sum 3.000000\n", err)
            for server in servers:
                self.assertIsNone(server.poll())
                server.kill()

    def test_a_step_of_a_daemon_thread_ends_silently_with_the_process(self):
        self.check_ends(self.begin("", 1, 1, _WAITING))
        self.assertNotIn("Traceback", self.errors)

    def run_children(self, method, mode):
        """What the program of the children prints: exit codes, and its errors."""
        ps, *workers = free_addresses(3)
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, "program.py")
            with open(program, "w", encoding="utf-8") as f:
                f.write(_CHILDREN)
            done = subprocess.run(
                [sys.executable, "-m", "braid", program, ps, ",".join(workers), method, mode],
                env={**os.environ, "PYTHONPATH": _PACKAGES, "BRAID_GRACE_SECONDS": "600"},
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
            )
        return done.stdout, done.stderr

    def test_children_of_multiprocessing_say_that_their_work_is_done(self):
        for method in "fork", "spawn":
            out, err = self.run_children(method, "ends")
            self.assertEqual(out, "0 0 0\n", err)
            self.assertNotIn("Lost", err)

    def test_a_child_of_multiprocessing_that_fails_does_not_say_so(self):
        out, err = self.run_children("fork", "fails")
        self.assertEqual(out, "1 0 1\n", err)
        self.assertIn("Lost /job:worker/task:1", err)

    def test_a_killed_worker_is_started_anew(self):
        server, chief, worker = self.begin("killed", 1, 2)
        self.assertEqual(worker.stdout.readline(), "ready\n")
        worker.send_signal(signal.SIGKILL)
        self.assertEqual(worker.wait(_LIMIT_S), -signal.SIGKILL)
        self.check_ends([chief, self.start("worker", 1), server])


class LocalServerTest(unittest.TestCase):
    def test_a_port_that_is_taken_is_an_unknown_error(self):
        import braid.tensorflow as tf

        server = tf.train.Server.create_local_server()
        with self.assertRaisesRegex(tf.errors.UnknownError, "in use"):
            tf.train.Server({"other": [server.target[len("grpc://") :]]})

    def test_sessions_of_one_server_share_variables(self):
        import braid.tensorflow as tf

        server = tf.train.Server.create_local_server()
        self.assertTrue(server.target.startswith("grpc://"))
        self.assertEqual(server.server_def.job_name, "localhost")
        for expected in (1.0, 2.0):
            with tf.Graph().as_default(), tf.Session(server.target) as session:
                v = tf.get_variable("v", initializer=0.0)
                if expected == 1.0:
                    session.run(v.initializer)
                self.assertEqual(session.run(tf.assign_add(v, 1.0)), expected)

    def test_a_server_limits_the_time_of_runs_of_sessions_that_do_not(self):
        import braid.tensorflow as tf

        server = tf.train.Server.create_local_server(config=tf.ConfigProto(operation_timeout_in_ms=50))
        with tf.Graph().as_default():
            waits = tf.FIFOQueue(1, tf.float32).dequeue()
            with tf.Session(server.target) as sess:
                with self.assertRaises(tf.errors.DeadlineExceededError):
                    sess.run(waits)

    def test_the_configuration_of_a_server_holds_for_its_sessions(self):
        import braid.tensorflow as tf

        spec = {"worker": free_addresses(2)}  # the second task never starts
        config = tf.ConfigProto(allow_soft_placement=True, device_filters=["/job:worker/task:0"])
        server = tf.train.Server(spec, job_name="worker", task_index=0, config=config)
        with tf.Graph().as_default(), tf.device("/job:worker/task:0/gpu:1"):
            y = tf.square(tf.constant(3.0))
            more = tf.ConfigProto(device_filters=["/job:worker/task:0"], operation_timeout_in_ms=20000)
            for asked in (None, more):
                with tf.Session(server.target, config=asked) as session:
                    self.assertEqual(session.run(y), 9.0)
                    self.assertEqual({"/task:0/" in d.name for d in session.list_devices()}, {True})

    def test_a_session_makes_a_cluster_of_local_servers(self):
        import braid.tensorflow as tf

        servers = [tf.train.Server.create_local_server() for _ in range(2)]
        addresses = [server.target[len("grpc://") :] for server in servers]
        config = tf.ConfigProto(cluster_def=tf.train.ClusterSpec({"trainer": addresses}).as_cluster_def())
        with tf.Graph().as_default():
            with tf.device("/job:trainer/task:1"):
                v = tf.get_variable("v", initializer=3.0)
            with tf.device("/job:trainer/task:0"):
                y = tf.square(v)
            with tf.Session(servers[0].target, config=config) as session:
                session.run(v.initializer)
                self.assertEqual(session.run(y), 9.0)
            shared = config.experimental
            with tf.Session(servers[0].target, config=config) as session:
                self.assertFalse(session.run(tf.is_variable_initialized(v)))
            shared.share_session_state_in_clusterspec_propagation = True
            for target in (servers[0].target, servers[1].target):
                with tf.Session(target, config=config) as session:
                    if target == servers[0].target:
                        session.run(v.initializer)
                    self.assertEqual(session.run(y), 9.0)

    def test_a_worker_is_told_when_the_chief_has_made_the_model_ready(self):
        import braid.tensorflow as tf
        from braid.tensorflow.python.training import session_manager

        server = tf.train.Server.create_local_server()
        v = tf.get_variable("told", initializer=2.0)
        manager = tf.train.SessionManager(
            ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=600
        )
        init = tf.global_variables_initializer()
        with tf.Session(server.target) as worker:
            self.assertEqual(list(worker.run(tf.report_uninitialized_variables())), [b"told"])
            news = session_manager._News(worker)
            waiting = threading.Thread(target=news.wait, args=[600], daemon=True)
            waiting.start()
            with manager.prepare_session(server.target, init_op=init):
                waiting.join(_LIMIT_S)
                self.assertFalse(waiting.is_alive())
        with manager.wait_for_session(server.target, max_wait_secs=_LIMIT_S) as session:
            self.assertEqual(session.run(v), 2.0)

    def test_no_member_of_a_broadcast_ends_before_all_have_begun(self):
        import braid.tensorflow as tf
        from braid.tensorflow.python.ops import collective_ops

        spec = {"worker": free_addresses(3)}
        servers = [tf.train.Server(spec, job_name="worker", task_index=i) for i in range(3)]
        sessions, sums, values = [], [], []
        for task, server in enumerate(servers):
            config = tf.ConfigProto(device_filters=["/job:worker/task:%d" % task])
            config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
            with tf.Graph().as_default() as graph, tf.device("/job:worker/task:%d/device:CPU:0" % task):
                sums.append(collective_ops.all_reduce(tf.constant([1.0]), 3, 1, 1, "Add", "Id"))
                if task == 1:
                    sent = tf.constant([7.0])
                    values.append(collective_ops.broadcast_send(sent, [1], tf.float32, 3, 1, 2))
                else:
                    values.append(collective_ops.broadcast_recv([1], tf.float32, 3, 1, 2))
                sessions.append(tf.Session(server.target, config=config, graph=graph))
                self.addCleanup(sessions[-1].close)
        got = {}

        def run(task, fetches):
            got[task] = sessions[task].run(fetches[task]).tolist()

        def start(task, fetches):
            thread = threading.Thread(target=run, args=[task, fetches], daemon=True)
            thread.start()
            return thread

        for thread in [start(task, sums) for task in range(3)]:
            thread.join(_LIMIT_S)
        self.assertEqual(got, {0: [3.0], 1: [3.0], 2: [3.0]})
        got.clear()
        leader, source = start(0, values), start(1, values)
        leader.join(0.3)  # time to end too early: the last one would begin in the next step
        start(2, values).join(_LIMIT_S)
        leader.join(_LIMIT_S)
        source.join(_LIMIT_S)
        self.assertEqual(got, {0: [7.0], 1: [7.0], 2: [7.0]})

    def test_collectives_of_several_devices_of_each_task(self):
        import braid.tensorflow as tf
        from braid.tensorflow.python.ops import collective_ops

        spec = {"worker": free_addresses(2)}
        two_devices = tf.ConfigProto(device_count={"CPU": 2})
        sessions, fetches, got = [], [], {}
        for task in range(2):
            server = tf.train.Server(spec, job_name="worker", task_index=task, config=two_devices)
            config = tf.ConfigProto(device_filters=["/job:worker/task:%d" % task])
            config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
            with tf.Graph().as_default() as graph:
                values = []
                for device in range(2):
                    with tf.device("/job:worker/task:%d/device:CPU:%d" % (task, device)):
                        one = tf.constant([1.0])
                        values.append(collective_ops.all_reduce(one, 4, 1, 1, "Add", "Id"))
                        if (task, device) == (1, 1):
                            values.append(collective_ops.broadcast_send(one, [1], tf.float32, 4, 1, 2))
                        else:
                            values.append(collective_ops.broadcast_recv([1], tf.float32, 4, 1, 2))
                fetches.append(values)
                sessions.append(tf.Session(server.target, config=config, graph=graph))
                self.addCleanup(sessions[-1].close)

        def run(task):
            got[task] = [v.tolist() for v in sessions[task].run(fetches[task])]

        threads = [threading.Thread(target=run, args=[task], daemon=True) for task in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_LIMIT_S)
        self.assertEqual(got, {task: [[4.0], [1.0]] * 2 for task in range(2)})

    def test_which_task_must_be_clear(self):
        import braid.tensorflow as tf

        jobs = {"ps": ["localhost:1", "localhost:3"], "worker": ["localhost:2"]}
        for arguments in ({}, {"job_name": "ps"}):
            with self.assertRaisesRegex(ValueError, "explicit"):
                tf.train.Server(jobs, **arguments)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.train.Server(jobs, job_name="other", task_index=0)


if __name__ == "__main__":
    unittest.main()

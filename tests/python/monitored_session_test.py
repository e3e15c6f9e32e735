"""Monitored sessions and their hooks, the Supervisor, synchronous replicas: order, ends, recovery, errors."""

import json
import os
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
from braid.tensorflow.python.client import timeline
from braid.tensorflow.python.training import evaluation

train = tf.train


class Recorder(train.SessionRunHook):
    """Notes its calls, and may raise an error once."""

    def __init__(self, fetches=None, error=None, at=None):
        self.calls = []
        self._fetches = fetches
        self._error = error
        self._at = at
        self._runs = 0

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("session")

    def before_run(self, run_context):
        self.calls.append("before")
        self._runs += 1
        if self._error is not None and self._runs == self._at:
            raise self._error
        return train.SessionRunArgs(self._fetches)

    def after_run(self, run_context, run_values):
        self.calls.append(run_values.results)

    def end(self, session):
        self.calls.append("end")


class Model(unittest.TestCase):
    """Tests with a new graph that trains w towards 0 from 1, and a directory."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        tf.logging.set_verbosity(tf.logging.ERROR)
        self.build()

    def build(self):
        tf.reset_default_graph()
        self.step = train.get_or_create_global_step()
        self.w = tf.get_variable("w", initializer=1.0)
        self.loss = tf.square(self.w)
        self.op = train.GradientDescentOptimizer(0.25).minimize(self.loss, global_step=self.step)

    def train(self, *hooks, **arguments):
        with train.MonitoredTrainingSession(hooks=hooks, **arguments) as session:
            while not session.should_stop():
                session.run(self.op)


class HooksTest(Model):
    def test_order_of_calls(self):
        hook = Recorder(self.step)
        self.train(hook, train.StopAtStepHook(last_step=2))
        self.assertEqual(hook.calls[:3], ["begin", "session", "before"])
        self.assertEqual(
            [c for c in hook.calls if isinstance(c, str)][3:], ["before", "end"][: len(hook.calls)]
        )
        self.assertFalse(tf.get_default_graph().finalized)

    def test_end_is_not_called_after_an_error(self):
        hook = Recorder()
        with self.assertRaisesRegex(ValueError, "own"):
            with train.MonitoredSession(hooks=[hook]):
                raise ValueError("own")
        self.assertNotIn("end", hook.calls)

    def test_the_end_of_the_input_ends_the_session(self):
        hook = Recorder()
        with train.MonitoredSession(hooks=[hook]):
            raise tf.errors.OutOfRangeError(None, None, "no more")
        self.assertEqual(hook.calls[-1], "end")

    def test_feeds_of_hooks_and_of_the_program(self):
        x = tf.placeholder_with_default(0.0, [])
        with train.MonitoredSession(hooks=[train.FeedFnHook(lambda: {x: 3.0})]) as session:
            self.assertEqual(session.run(x), 3.0)
            with self.assertRaisesRegex(RuntimeError, "fed by a SessionRunHook and user"):
                session.run(x, {x: 4.0})

    def test_a_nan_stops_or_fails(self):
        nan = tf.log(-self.loss)
        with self.assertRaises(train.NanLossDuringTrainingError):
            self.train(train.NanTensorHook(nan))
        hook = Recorder()
        self.train(train.NanTensorHook(nan, fail_on_nan_loss=False), hook)
        self.assertEqual(hook.calls.count("before"), 1)

    def test_logging(self):
        texts = []
        log = train.LoggingTensorHook([self.loss], every_n_iter=2, formatter=lambda v: texts.append(v) or "")
        self.train(log, train.StopAtStepHook(num_steps=5))
        self.assertEqual(len(texts), 3)
        with self.assertRaises(ValueError):
            train.LoggingTensorHook(["w"])

    def test_final_ops(self):
        final = train.FinalOpsHook(self.step)
        self.train(final, train.StopAtStepHook(last_step=3))
        self.assertEqual(final.final_ops_values, 3)

    def test_timer(self):
        timer = train.SecondOrStepTimer(every_steps=3)
        self.assertTrue(timer.should_trigger_for_step(0))
        self.assertEqual(timer.update_last_triggered_step(0), (None, None))
        self.assertEqual([timer.should_trigger_for_step(i) for i in range(4)], [False, False, False, True])
        self.assertEqual(timer.update_last_triggered_step(4)[1], 4)
        with self.assertRaises(ValueError):
            train.SecondOrStepTimer()


class CheckpointTest(Model):
    def test_saves_at_the_start_on_the_way_and_at_the_end_and_goes_on_from_there(self):
        class Listener(train.CheckpointSaverListener):
            def __init__(self):
                self.calls = []

            def after_save(self, session, global_step_value):
                self.calls.append(int(global_step_value))

            def end(self, session, global_step_value):
                self.calls.append("end")

        listener = Listener()
        saver = train.CheckpointSaverHook(self.directory, save_steps=3, listeners=[listener])
        tf.add_to_collection(tf.GraphKeys.SAVERS, train.Saver())
        self.train(saver, train.StopAtStepHook(last_step=7))
        self.assertEqual(listener.calls, [0, 3, 6, 7, "end"])
        self.assertTrue(os.path.exists(os.path.join(self.directory, "graph.pbtxt")))
        with train.MonitoredTrainingSession(checkpoint_dir=self.directory) as session:
            self.assertEqual(session.run(self.step), 7)
        with train.SingularMonitoredSession(checkpoint_dir=self.directory) as session:
            self.assertEqual(session.raw_session().run(self.step), 7)

    def test_summaries_and_the_rate_of_steps(self):
        tf.summary.scalar("loss", self.loss)
        self.train(
            train.StopAtStepHook(last_step=5),
            train.ProfilerHook(save_steps=2, output_dir=self.directory),
            checkpoint_dir=self.directory,
            save_summaries_steps=2,
            log_step_count_steps=2,
        )
        names = os.listdir(self.directory)
        events = [name for name in names if "tfevents" in name]
        found = set()
        for event in train.summary_iterator(os.path.join(self.directory, events[0])):
            found.update((event.step, value.tag) for value in event.summary.value)
        self.assertLessEqual({(3, "loss"), (5, "loss"), (3, "global_step/sec")}, found)
        traces = [name for name in names if name.startswith("timeline-")]
        with open(os.path.join(self.directory, traces[0]), encoding="utf-8") as f:
            regions = [event for event in json.load(f)["traceEvents"] if event["ph"] == "X"]
        self.assertIn("ApplyGradientDescent", {event["name"] for event in regions})

    def test_evaluation(self):
        self.train(train.StopAtStepHook(last_step=2), checkpoint_dir=self.directory)
        self.build()
        count = tf.get_variable("count", initializer=0.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        values = evaluation._evaluate_once(
            train.latest_checkpoint(self.directory),
            eval_ops=tf.assign_add(count, self.w),
            final_ops={"sum": count, "step": self.step},
            hooks=[evaluation._StopAfterNEvalsHook(3)],
        )
        self.assertEqual(values, {"sum": 3 * 0.25, "step": 2})


class RecoveryTest(Model):
    def test_a_lost_task_makes_a_new_session(self):
        for error in (tf.errors.AbortedError, tf.errors.UnavailableError):
            hook = Recorder(self.step, error(None, None, "lost"), at=3)
            self.train(hook, train.StopAtStepHook(last_step=4))
            self.assertEqual(hook.calls.count("session"), 2)
            self.assertEqual(hook.calls.count("begin"), 1)

    def test_a_step_function_gets_the_new_session(self):
        sessions = []
        hook = Recorder(self.step, tf.errors.AbortedError(None, None, "lost"), at=1)

        def step_fn(step_context):
            sessions.append(step_context.session)
            return step_context.run_with_hooks(self.op)

        with train.MonitoredSession(hooks=[hook]) as session:
            session.run_step_fn(step_fn)
            with self.assertRaisesRegex(ValueError, "step_context"):
                session.run_step_fn(lambda other: None)
        self.assertEqual(len(sessions), 2)
        self.assertIsNot(sessions[0], sessions[1])

    def test_errors_of_threads_reach_the_program(self):
        queue = tf.FIFOQueue(2, tf.float32, shapes=[])
        bad = queue.enqueue(tf.check_numerics(tf.log(-self.w), "bad input"))
        train.add_queue_runner(train.QueueRunner(queue, [bad]))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "bad input"):
            with train.MonitoredSession() as session:
                while not session.should_stop():
                    session.run(self.op)


class SessionManagerTest(Model):
    def test_a_worker_waits_for_the_chief(self):
        ready = tf.report_uninitialized_variables()
        manager = train.SessionManager(ready_op=ready, recovery_wait_secs=0.1)
        with self.assertRaises(tf.errors.DeadlineExceededError):
            manager.wait_for_session("", max_wait_secs=0.3)
        with self.assertRaisesRegex(RuntimeError, "Variables not initialized: w"):
            manager.prepare_session("", init_op=self.step.initializer)
        session = manager.prepare_session("", init_op=tf.global_variables_initializer())
        self.assertEqual(session.run(self.w), 1.0)
        session.close()


class SupervisorTest(Model):
    def test_services_and_restoring(self):
        tf.summary.scalar("loss", self.loss)
        sv = train.Supervisor(logdir=self.directory, save_model_secs=0)  # no thread saves step 0
        calls = []
        with sv.managed_session() as session:
            sv.loop(None, lambda: calls.append(1) or sv.request_stop())
            session.run(self.op)
            sv.wait_for_stop()
            sv.saver.save(session, sv.save_path, global_step=sv.global_step)
        self.assertEqual(calls, [1])
        with sv.managed_session() as session:
            self.assertEqual(session.run(self.step), 1)
        self.assertTrue(os.path.exists(os.path.join(self.directory, "graph.pbtxt")))

    def test_errors(self):
        sv = train.Supervisor()
        with self.assertRaisesRegex(ValueError, "own"):
            with sv.managed_session():
                raise ValueError("own")
        with sv.managed_session():
            raise tf.errors.OutOfRangeError(None, None, "the end of the input is no error")
        with self.assertRaisesRegex(ValueError, "must have their device set"):
            train.Supervisor(is_chief=False)


class SyncReplicasTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        cluster = train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": ["c:1", "d:2"]})
        with tf.device(train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:0")):
            self.step = tf.Variable(0, name="global_step", trainable=False)
            w = tf.Variable(tf.ones([2, 3]), name="w")
            loss = tf.reduce_sum(w) + tf.reduce_sum(tf.gather(w, [0]))
            self.sync = train.SyncReplicasOptimizer(train.GradientDescentOptimizer(0.1), 2)
            with self.assertRaisesRegex(ValueError, "Should be called after apply_gradients"):
                self.sync.get_chief_queue_runner()
            with self.assertRaisesRegex(ValueError, "Global step is required"):
                self.sync.minimize(loss)
            self.op = self.sync.minimize(loss, global_step=self.step)

    def test_names_and_places(self):
        graph = tf.get_default_graph()
        token_queue = graph.get_operation_by_name("sync_token_q")
        self.assertEqual(token_queue.device, "/job:ps/task:0")
        self.assertEqual(token_queue.get_attr("shared_name"), b"sync_token_q")
        accumulators = [op for op in graph.get_operations() if op.type == "ConditionalAccumulator"]
        self.assertEqual(
            [op.get_attr("shared_name") for op in accumulators], [b"w:0/grad_accum"] * len(accumulators)
        )
        self.assertEqual([v.name for v in tf.local_variables()], ["sync_rep_local_step:0"])
        self.assertEqual(tf.local_variables()[0].device, "/job:worker/task:0")
        self.assertEqual(self.sync.get_chief_queue_runner().name, "dummy_queue")

    def test_tokens(self):
        self.assertEqual(self.sync.get_init_tokens_op().type, "QueueEnqueueManyV2")
        self.assertEqual(self.sync.get_init_tokens_op(0).name, "no_init_tokens")


class DevicesTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_variables_go_to_parameter_servers_in_turn(self):
        with tf.device(train.replica_device_setter(ps_tasks=2)):
            variables = [tf.Variable(0.0) for _ in range(3)]
            with tf.device("/job:other"):
                elsewhere = tf.Variable(0.0)
            total = tf.add_n(variables)
        self.assertEqual([v.device for v in variables], [f"/job:ps/task:{i}" for i in (0, 1, 0)])
        self.assertEqual(total.device, "/job:worker")
        self.assertEqual(elsewhere.device, "/job:other")
        self.assertIsNone(train.replica_device_setter())
        with self.assertRaises(TypeError):
            train.replica_device_setter(ps_tasks=1, ps_strategy=3)

    def test_the_least_loaded(self):
        greedy = tf.contrib.training.GreedyLoadBalancingStrategy(2, tf.contrib.training.byte_size_load_fn)
        with tf.device(train.replica_device_setter(ps_tasks=2, ps_strategy=greedy)):
            variables = [tf.Variable(tf.zeros([n])) for n in (100, 10, 20)]
        self.assertEqual([v.device[-1] for v in variables], ["0", "1", "1"])


class ClusterSpecTest(unittest.TestCase):
    def test_forms(self):
        dense = train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1", "b:2"]})
        self.assertEqual(dense.as_dict(), {"ps": ["a:1"], "worker": ["b:1", "b:2"]})
        self.assertEqual(train.ClusterSpec(dense.as_cluster_def()), dense)
        self.assertEqual(train.ClusterSpec(dense), dense)
        self.assertEqual(sorted(dense.jobs), ["ps", "worker"])
        sparse = train.ClusterSpec({"worker": {1: "b:2", 3: "b:4"}})
        self.assertEqual(sparse.as_dict(), {"worker": {1: "b:2", 3: "b:4"}})
        self.assertEqual(sparse.task_indices("worker"), [1, 3])
        self.assertEqual(sparse.job_tasks("worker"), [None, "b:2", None, "b:4"])
        self.assertEqual(sparse.num_tasks("worker"), 2)
        self.assertEqual(sparse.task_address("worker", 3), "b:4")
        for call in (lambda: sparse.num_tasks("ps"), lambda: sparse.task_address("worker", 0)):
            with self.assertRaises(ValueError):
                call()
        for wrong in ({"ps": "a:1"}, {"ps": [1]}, ["a:1"]):
            with self.assertRaises(TypeError):
                train.ClusterSpec(wrong)
        self.assertFalse(train.ClusterSpec({}))


class TimelineTest(unittest.TestCase):
    def test_regions_and_arrows(self):
        stats = tf.RunMetadata().step_stats
        device = stats.dev_stats.add(device="/device:CPU:0")
        for name, label, start in (("a", "a = Const()", 1), ("b", "b = Neg(a)", 5)):
            device.node_stats.add(
                node_name=name, timeline_label=label, all_start_micros=start, all_end_rel_micros=3
            )
        events = json.loads(timeline.Timeline(stats).generate_chrome_trace_format())["traceEvents"]
        self.assertEqual([e["ph"] for e in events], ["M", "X", "X", "s", "t"])
        self.assertEqual(events[2]["args"], {"name": "b", "op": "Neg", "input0": "a"})
        self.assertEqual((events[3]["ts"], events[4]["ts"]), (4, 5))


if __name__ == "__main__":
    unittest.main()

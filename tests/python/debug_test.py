"""tfdbg: what watched runs write, the sessions and hooks that watch them, and the command line."""

import contextlib
import glob
import io
import os
import tempfile
import unittest
from unittest import mock

import numpy as np

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
from braid.tensorflow.python import debug as tf_debug
from braid.tensorflow.python.debug.cli import offline_analyzer
from braid.tensorflow.python.debug.cli import readline_ui
from braid.tensorflow.python.debug.examples import debug_fibonacci
from braid.tensorflow.python.debug.lib import debug_gradients


class Case(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.dir = place.name
        home = mock.patch.dict(os.environ, HOME=self.dir)  # settings of the command line
        home.start()
        self.addCleanup(home.stop)

    @contextlib.contextmanager
    def typed(self, *commands):
        """The command line gets the commands. Yields what is printed."""
        left = iter(commands)
        printed = io.StringIO()
        ask = mock.patch.object(readline_ui.ReadlineUI, "_get_user_command", lambda ui: next(left))
        with ask, contextlib.redirect_stdout(printed):
            yield printed
        self.assertEqual(list(left), [])

    def dump_of_only_run(self, root):
        (run,) = glob.glob(os.path.join(root, "run_*"))
        return tf_debug.DebugDumpDir(run)


class DumpTest(Case):
    def test_a_run_is_written_with_its_graph_and_its_names(self):
        x = tf.placeholder(tf.float32, [2], name="x")
        v = tf.Variable([1.0, 2.0], name="v")
        y = tf.multiply(x, v, name="scope/y")
        with tf.Session() as sess:
            sess.run(v.initializer)
            root = os.path.join(self.dir, "runs")
            watching = tf_debug.DumpingDebugWrapperSession(sess, root)
            np.testing.assert_array_equal(watching.run(y, {x: [3, 4]}), [3, 8])
        dump = self.dump_of_only_run(root)
        np.testing.assert_array_equal(dump.get_tensors("scope/y", 0, "DebugIdentity"), [[3, 8]])
        np.testing.assert_array_equal(dump.get_tensors("v", 0, "DebugIdentity"), [[1, 2]])
        self.assertEqual(dump.core_metadata.input_names, ["x:0"])
        self.assertEqual(dump.core_metadata.output_names, ["scope/y:0"])
        self.assertEqual(dump.run_fetches_info, repr(y))
        self.assertEqual(dump.devices(), ["/job:localhost/replica:0/task:0/device:CPU:0"])
        self.assertEqual(dump.find_some_path("v", "scope/y"), ["v", "v/read", "scope/y"])
        self.assertEqual(dump.node_recipients("v/read"), ["scope/y"])
        (graph,) = dump.reconstructed_non_debug_partition_graphs().values()
        self.assertFalse([node.name for node in graph.node if node.name.startswith("__")])

    def test_a_loop_is_written_in_its_order(self):
        loop = tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x / tf.to_float(i)), [0, 1.0])
        run_options = tf.RunOptions(output_partition_graphs=True)
        tf_debug.watch_graph(run_options, tf.get_default_graph(), debug_urls="file://" + self.dir)
        metadata = tf.RunMetadata()
        with tf.Session() as sess:
            sess.run(loop, options=run_options, run_metadata=metadata)
        dump = tf_debug.DebugDumpDir(self.dir, partition_graphs=metadata.partition_graphs)
        np.testing.assert_array_equal(dump.get_tensors("while/Identity", 0, "DebugIdentity"), [0, 1, 2, 3])
        first = dump.find(tf_debug.has_inf_or_nan, first_n=1)[0]
        self.assertEqual(first.node_name, "while/truediv")

    def test_values_that_are_no_arrays(self):
        v = tf.Variable([[1.0, 2.0]], name="v")
        table = tf.get_variable("table", initializer=[1.0], use_resource=True)
        text = tf.constant(["a", "b"], name="text")
        targets = [v.initializer, table.initializer, tf.identity(text)]
        run_options = tf.RunOptions()
        for name in "v", "table", "text":
            tf_debug.add_debug_tensor_watch(run_options, name, debug_urls="file://" + self.dir)
        with tf.Session() as sess:
            sess.run(targets, options=run_options)
        dump = tf_debug.DebugDumpDir(self.dir)
        self.assertFalse(dump.get_tensors("v", 0, "DebugIdentity")[0].initialized)
        self.assertTrue(dump.get_tensors("table", 0, "DebugIdentity")[0].initialized)
        np.testing.assert_array_equal(dump.get_tensors("text", 0, "DebugIdentity")[0], [b"a", b"b"])

    def test_on_a_server_each_task_writes_its_tensors(self):
        server = tf.train.Server.create_local_server()
        x = tf.constant(2.0, name="x")
        y = tf.square(x, name="y")
        root = os.path.join(os.getcwd(), "debug_test_%d" % os.getpid())
        with tf.Session(server.target) as sess:
            watching = tf_debug.DumpingDebugWrapperSession(sess, root, pass_through_operrors=True)
            self.addCleanup(lambda: tf.gfile.DeleteRecursively(root))
            run = watching.make_callable(y)
            self.assertEqual(run(), 4.0)
        dump = self.dump_of_only_run(root)
        self.assertEqual(dump.devices(), ["/job:local/replica:0/task:0/device:CPU:0"])
        self.assertEqual(dump.get_tensors("y", 0, "DebugIdentity"), [4.0])

    def test_a_hook_writes_each_run(self):
        step = tf.train.get_or_create_global_step()
        add = tf.assign_add(step, 1, name="add")
        root = os.path.join(self.dir, "runs")
        watch = lambda fetches, feeds: tf_debug.WatchOptions(node_name_regex_whitelist="add$")
        hooks = [tf.train.StopAtStepHook(2), tf_debug.DumpingDebugHook(root, watch_fn=watch)]
        with tf.train.MonitoredSession(hooks=hooks) as sess:
            while not sess.should_stop():
                sess.run(add)
        runs = sorted(glob.glob(os.path.join(root, "run_*")), key=lambda run: int(run.rpartition("_")[2]))
        values = [tf_debug.DebugDumpDir(run).get_tensors("add", 0, "DebugIdentity") for run in runs]
        self.assertEqual(values, [[1], [2]])

    def test_options_of_the_program_stay_as_they_are(self):
        y, options, root = tf.constant(1.0, name="y"), tf.RunOptions(trace_level=3), self.dir + "/runs"
        with tf.Session() as sess:
            watching = tf_debug.DumpingDebugWrapperSession(sess, root)
            for _ in range(2):
                watching.run(y, options=options)
        self.assertEqual(options, tf.RunOptions(trace_level=3))
        dumps = [tf_debug.DebugDumpDir(run) for run in glob.glob(os.path.join(root, "run_*"))]
        self.assertEqual([dump.get_tensors("y", 0, "DebugIdentity") for dump in dumps], [[1.0]] * 2)

    def test_the_gradient_of_a_tensor_is_found(self):
        self.addCleanup(tf_debug.clear_gradient_debuggers)
        x = tf.Variable(3.0, name="x")
        y = tf.multiply(x, 2.0, name="y")
        z = tf.square(y)
        with tf_debug.GradientsDebugger().watch_gradients_by_tensors(x.graph, y) as debugger:
            grad = tf.gradients(z, x)
        with tf.Session() as sess:
            sess.run(x.initializer)
            self.assertEqual(sess.run([debugger.gradient_tensor("y:0"), grad]), [12.0, [24.0]])
            root = os.path.join(self.dir, "runs")
            tf_debug.DumpingDebugWrapperSession(sess, root).run(grad)
        dump = self.dump_of_only_run(root)
        self.assertEqual(debug_gradients.gradient_values_from_dump(debugger, y, dump), [12.0])

    def test_what_is_not_there_says_what_is(self):
        for name in "TensorBoardDebugWrapperSession", "GrpcDebugHook":
            with self.assertRaisesRegex(NotImplementedError, f"tfdbg.{name}.*DumpingDebugWrapperSession"):
                getattr(tf_debug, name)(None, "localhost:6064")


class CommandLineTest(Case):
    def test_a_run_is_shown_before_and_after_it_ran(self):
        x = tf.placeholder(tf.float32, name="x")
        y = tf.divide(x, [1.0, 0.0], name="y")
        sess = tf_debug.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline")
        commands = ["pf x:0", "run", "pt y:0 -s", "ni -t y", "li -r y", "eval np.max(`y:0`)", "ls", "run"]
        options = np.get_printoptions()
        with self.typed(*commands) as printed:
            value = sess.run(y, {x: 2.0})
        np.testing.assert_array_equal(value, [2, np.inf])
        self.assertEqual(np.get_printoptions(), options)
        text = printed.getvalue()
        self.assertIn("run-start: run #1: 1 fetch (y:0); 1 feed (x:0)", text)
        self.assertIn('Tensor "x:0 (feed)":', text)
        self.assertIn("dumped tensor(s):", text)
        self.assertRegex(text, r"\|\s+\+ \+inf \| total \|")
        self.assertIn('y = tf.divide(x, [1.0, 0.0], name="y")', text)
        self.assertIn('Inputs to node "y" (Depth limit = 20):', text)
        self.assertRegex(text, r"from eval of expression 'np.max\(`y:0`\)'\":\n\ninf\n")
        self.assertIn(os.path.basename(__file__), text)
        self.assertFalse(os.path.exists(sess._dump_root))

    def test_runs_go_on_until_a_filter_passes(self):
        v = tf.Variable(4.0, name="v")
        half = tf.assign(v, v / 2)
        sess = tf_debug.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline")
        sess.add_tensor_filter("is_one", lambda datum, tensor: datum.node_name == "Assign" and tensor == 1)
        with self.typed("run -n", "run -f is_one", "run -t 3", "run -n") as printed:
            sess.run(v.initializer)
            for _ in range(6):
                sess.run(half)
        text = printed.getvalue()
        self.assertIn("run-end: run #3", text)  # 4 -> 2 -> 1
        self.assertIn('dumped tensor(s) passing filter "is_one"', text)
        self.assertNotIn("run-end: run #4", text)
        self.assertIn("run-end: run #6", text)

    def test_the_error_of_a_run_is_shown(self):
        x = tf.placeholder(tf.float32, name="x")
        y = tf.matmul(x, [[1.0], [2.0]], name="y")
        sess = tf_debug.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline")
        with self.typed("run", "run") as printed:
            sess.run(y, {x: [[1.0]]})
        self.assertIn("!!! An error occurred during the run !!!", printed.getvalue())
        self.assertIn("Op name:    y", printed.getvalue())

    def test_a_hook_stops_in_the_command_line(self):
        step = tf.train.get_or_create_global_step()
        add = tf.assign_add(step, 1, name="add")
        hook = tf_debug.LocalCLIDebugHook(ui_type="readline")
        hook.add_tensor_filter("has_inf_or_nan", tf_debug.has_inf_or_nan)
        with self.typed("run", "pt add", "run -p", "run") as printed:
            with tf.train.MonitoredSession(hooks=[hook, tf.train.StopAtStepHook(2)]) as sess:
                while not sess.should_stop():
                    sess.run(add)
        self.assertIn('Tensor "add:0:DebugIdentity":', printed.getvalue())
        self.assertIn("run-end (profiler mode): run #2", printed.getvalue())

    def test_keras_trains_in_the_command_line(self):
        tf.keras.backend.set_session(tf_debug.LocalCLIDebugWrapperSession(tf.Session(), ui_type="readline"))
        self.addCleanup(tf.keras.backend.clear_session)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="dense")])
        model.compile("sgd", "mse")
        with self.typed("run -t 100") as printed:
            model.fit(np.ones([4, 2]), np.ones([4, 1]), epochs=2, verbose=0)
        self.assertIn("run-start: run #1", printed.getvalue())

    def test_a_dump_is_shown_later(self):
        tf.square(tf.constant(3.0), name="y")
        with tf.Session() as sess:
            tf_debug.DumpingDebugWrapperSession(sess, os.path.join(self.dir, "runs")).run("y:0")
        (run,) = glob.glob(os.path.join(self.dir, "runs", "run_*"))
        path = os.path.join(self.dir, "y.txt")
        with self.typed("pt y:0 > " + path, "nothing", "exit") as printed:
            offline_analyzer.main(["--dump_dir", run, "--ui_type", "readline"])
        self.assertIn("y:0", printed.getvalue())
        self.assertIn('ERROR: Invalid command prefix "nothing"', printed.getvalue())
        with open(path) as f:
            self.assertIn("array(9., dtype=float32)", f.read())
        # The directory of all runs has nothing to show itself.
        with self.typed(), self.assertRaisesRegex(SystemExit, "session .1.. Show one: --dump_dir " + run):
            offline_analyzer.main(["--dump_dir", os.path.dirname(run), "--ui_type", "readline"])

    def test_the_example_overflows(self):
        with self.typed("run -f has_negative", "pt node_46", "run") as printed:
            debug_fibonacci.main(["--debug", "--length", "50", "--ui_type", "readline"])
        self.assertIn("[[-1323752223]]", printed.getvalue())


if __name__ == "__main__":
    unittest.main()

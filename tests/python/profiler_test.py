# tf.profiler: parameters, operations, time and memory by scope and by type of op.
import contextlib
import io
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.core.profiler import tfprof_log_pb2
from braid.tensorflow.python.framework import ops

Options = tf.profiler.ProfileOptionBuilder


def quiet(options):
    return Options(options).with_empty_output().build()


def find(node, name):
    """A node at or below another one, or None."""
    return node if node.name == name else next(filter(None, (find(c, name) for c in node.children)), None)


class ProfilerTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(graph.as_default())
        self.x = tf.placeholder(tf.float32, [8, 6, 6, 2], name="x")
        with tf.variable_scope("net"):
            filters = tf.get_variable("w", [3, 3, 2, 4])
            h = tf.nn.conv2d(self.x, filters, [1, 1, 1, 1], "SAME")
            with tf.variable_scope("fc"):
                weights = tf.get_variable("w", [144, 5])
                self.y = tf.matmul(tf.reshape(h, [8, 144]), weights)
        tf.get_variable("fixed", [7], trainable=False)

    def test_parameters_of_what_is_trained_by_scope(self):
        root = tf.profiler.profile(options=quiet(Options.trainable_variables_parameter()))
        self.assertEqual((root.total_parameters, [c.name for c in root.children]), (792, ["net"]))
        fc, w = root.children[0].children
        self.assertEqual((fc.name, fc.parameters, fc.total_parameters), ("net/fc", 0, 720))
        self.assertEqual(
            (w.name, w.parameters, [d.size for d in w.shapes[0].dim]), ("net/w", 72, [3, 3, 2, 4])
        )

    def test_operations_by_type(self):
        root = tf.profiler.profile(cmd="op", options=quiet(Options.float_operation()))
        conv = root.children[0]
        self.assertEqual((conv.name, conv.float_ops), ("Conv2D", 2 * 8 * 6 * 6 * 4 * 3 * 3 * 2))
        matmul = conv.children[0]
        self.assertEqual((matmul.name, matmul.float_ops), ("MatMul", 2 * 8 * 144 * 5))
        self.assertEqual(root.total_float_ops, conv.total_float_ops)
        only = Options(Options.float_operation()).with_accounted_types(["MatMul"]).build()
        self.assertEqual(tf.profiler.profile(options=quiet(only)).total_float_ops, matmul.float_ops)

    def test_time_and_memory_of_a_step(self):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(self.y, {self.x: np.zeros([8, 6, 6, 2])}, options=full, run_metadata=metadata)
        profiler = tf.profiler.Profiler()
        profiler.add_step(0, metadata)
        root = profiler.profile_name_scope(quiet(Options.time_and_memory()))
        self.assertGreater(root.total_exec_micros, 0)
        self.assertGreaterEqual(root.total_requested_bytes, 8 * 6 * 6 * 4 * 4)  # of the convolution
        with contextlib.redirect_stderr(io.StringIO()) as told:  # of a step that was not added
            absent = profiler.profile_operations(dict(quiet(Options.time_and_memory()), step=7))
        self.assertEqual(told.getvalue(), "Options -step=7 not found.\nAvailable steps: 0\n")
        self.assertEqual(len(absent.children), 0)

    def test_a_context_records_steps_and_writes_their_profile(self):
        tfprof, feed = tf.contrib.tfprof, {self.x: np.zeros([8, 6, 6, 2])}
        options = quiet(Options.time_and_memory(min_micros=0, min_bytes=0))
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        with tf.Session() as session:
            with tfprof.ProfileContext(directory.name, trace_steps=[1], dump_steps=[4]) as context:
                context.add_auto_profiling("op", options, [3])
                with self.assertRaisesRegex(NotImplementedError, "cmd='graph' is not in Braid"):
                    context.add_auto_profiling("graph", options, [3])
                with self.assertRaisesRegex(tf.errors.InternalError, "Already in context"):
                    tfprof.ProfileContext(directory.name).__enter__()
                session.run(tf.global_variables_initializer())
                for _ in range(4):
                    session.run(self.y, feed)
                context.trace_next_step()
                session.run(self.y, feed)
                mean = context.profiler.profile_name_scope(options)
            session.run(self.y, feed)
        self.assertEqual(list(context.get_profiles("op")), [3])
        matmul = find(mean, "net/fc/MatMul")
        self.assertEqual(matmul.run_count, 1)
        with open(f"{directory.name}/profile_4", "rb") as file:
            profile = tfprof_log_pb2.ProfileProto.FromString(file.read())
        self.assertEqual(list(profile.steps), [1, 3])  # of step 5 the file knows nothing yet
        nodes = {node.name: node for node in profile.nodes.values()}
        matmul, weights = nodes["net/fc/MatMul"], nodes["net/fc/w"]
        self.assertEqual((matmul.op, matmul.float_ops), ("MatMul", 2 * 8 * 144 * 5))
        self.assertEqual(profile.nodes[matmul.inputs[1]].name, "net/fc/w/read")
        self.assertEqual(list(matmul.output_shapes[0].int64_values), [8, 5])
        self.assertEqual(matmul.canonical_device, "/job:localhost/replica:0/task:0/device:cpu:0")
        self.assertEqual({step: run.run_count for step, run in matmul.execs.items()}, {1: 1, 3: 1})
        ((start, duration),) = (
            t.int64_values for t in matmul.execs[1].cpu_execs[matmul.canonical_device].times
        )
        self.assertEqual(matmul.execs[1].latest_end_micros, start + duration)
        self.assertGreaterEqual(matmul.execs[1].memory_execs[0].output_bytes, 8 * 5 * 4)
        self.assertEqual((list(weights.shape), weights.op_types[0]), ([144, 5], "VariableV2"))
        self.assertIn("_trainable_variables", weights.op_types)

    def test_a_context_records_new_fetches_by_itself(self):
        with tf.Session() as session, tempfile.TemporaryDirectory() as directory:
            x = tf.constant(1.0)
            with tf.contrib.tfprof.ProfileContext(directory) as context:
                for _ in range(13):
                    session.run([x, x])
            self.assertIn(11, context.profiler._steps)
            with tf.contrib.tfprof.ProfileContext(directory, enabled=False) as context:
                session.run(x)
            self.assertIsNone(context.profiler)

    def test_it_is_shown(self):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            tf.profiler.profile()
        self.assertIn("net/fc/w (144x5, 720/720 params)", shown.getvalue())
        self.assertRaises(NotImplementedError, tf.profiler.profile, cmd="code")

    def test_programs_count_operations_of_their_ops(self):
        @ops.RegisterStatistics("Reshape", "flops")
        def reshape(graph, node):
            return ops.OpStats("flops", 11)

        self.addCleanup(ops._statistics.pop, ("Reshape", "flops"))
        only = Options(Options.float_operation()).with_accounted_types(["Reshape"]).build()
        self.assertEqual(tf.profiler.profile(options=quiet(only)).total_float_ops, 11)

    def test_a_benchmark_has_memory_throughput_and_a_timeline(self):
        reported = []

        class Benchmark(tf.test.Benchmark):
            def report_benchmark(self, **values):
                reported.append(dict(values, extras=dict(values["extras"])))

        with tf.Session() as session:
            x = tf.ones([100], name="ones") * tf.placeholder_with_default(2.0, [])
            got = Benchmark().run_op_benchmark(
                session, x, min_iters=3, store_trace=True, name="times", extras={"own": 1}, mbs=2
            )
        self.assertEqual((got["iters"], got["name"], got["extras"]["own"]), (3, "times", 1))
        self.assertAlmostEqual(got["throughput"], 2 / got["wall_time"])
        self.assertIn("traceEvents", got["extras"].pop("full_trace_chrome_format"))
        self.assertEqual([got], reported)
        self.assertTrue(any("allocator_maximum_num_bytes_" in key for key in got["extras"]))
        self.assertEqual((tf.test.Benchmark.is_abstract(), Benchmark.is_abstract()), (True, False))


if __name__ == "__main__":
    unittest.main()

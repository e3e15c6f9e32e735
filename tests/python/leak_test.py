# timeout: 300
"""Nothing is left of graphs, sessions, servers and estimators: no memory, descriptors or threads.

BRAID_LEAK_RUNS=10000 is the long form.
"""

import ctypes
import gc
import os
import shutil
import sys
import tempfile
import threading
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid import _native

# With AddressSanitizer, which has its own malloc, descriptors and threads are what is looked at.
RUNS = int(os.environ.get("BRAID_LEAK_RUNS", 10 if os.environ.get("BRAID_SANITIZE") else 100))
ROUNDS = 10  # caches and pools grow in some, a leak grows in each
# What may be left of a round: bytes of malloc, blocks of Python, descriptors, threads; and of each run.
SLACK, LEAST = (64 << 10, 150, 0, 0), (32, 0.1, 0, 0)


class Mallinfo(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]


def mallinfo():
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)  # glibc 2.33
    if function is None:
        return Mallinfo()
    function.restype = Mallinfo
    return function()


def measure():
    """(bytes of malloc, blocks of Python, descriptors, threads)"""
    for _ in range(3):
        gc.collect()
    info = mallinfo()
    return (
        info.uordblks + info.hblkhd,
        sys.getallocatedblocks(),
        len(os.listdir("/proc/self/fd")),
        len(os.listdir("/proc/self/task")),
    )


def resident_kb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10


def train(session, x, step, count=2):
    session.run(tf.global_variables_initializer())
    for _ in range(count):
        session.run(step, {x: [[1.0, 2.0]]})


def network():
    """A placeholder and a step of training."""
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.layers.dense(tf.layers.dense(x, 4, tf.nn.relu), 1)
    return x, tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y - 1.0)))


class LeakTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def expect_no_leak(self, run, runs=RUNS):
        runs = max(runs, 3)
        limits = [slack + least * runs for slack, least in zip(SLACK, LEAST)]
        for _ in range(3):
            run()
        rounds, before, resident = [], measure(), resident_kb()
        while len(rounds) < ROUNDS and not (rounds and self.is_within(limits, rounds)):
            for _ in range(runs):
                run()
            after = measure()
            rounds.append([b - a for a, b in zip(before, after)])
            before = after
        figures = (
            f"{self.id().split('.')[-1]}: rounds of {runs} runs left (bytes of malloc, blocks of Python, descriptors, "
            f"threads): {rounds}, {resident_kb() - resident:+} KB resident"
        )
        if "BRAID_LEAK_RUNS" in os.environ:
            print(figures, file=sys.stderr)
        self.assertTrue(self.is_within(limits, rounds), figures)

    @staticmethod
    def is_within(limits, rounds):
        return all(min(left) <= limit for left, limit in zip(zip(*rounds), limits))

    def test_graphs_and_sessions(self):
        def run():
            with tf.Graph().as_default(), tf.Session() as session:
                x, step = network()
                train(session, x, step)

        self.expect_no_leak(run)

    def test_sessions_of_one_graph(self):
        with tf.Graph().as_default():
            x, step = network()
            init = tf.global_variables_initializer()

            def run():
                with tf.Session() as session:
                    session.run(init)
                    session.run(step, {x: [[1.0, 2.0]]})

            self.expect_no_leak(run)

    def test_steps_of_one_session(self):
        with tf.Graph().as_default(), tf.Session() as session:
            x, step = network()
            train(session, x, step)
            call = session.make_callable(step, [x])

            def run():
                session.run(step, {x: np.ones([3, 2], "f")}, tf.RunOptions(trace_level=3), tf.RunMetadata())
                session.run(step, {x: np.ones([1 + np.random.randint(9), 2], "f")})
                call(np.ones([3, 2], "f"))

            self.expect_no_leak(run)

    def test_sessions_that_nobody_closes(self):
        def run():
            with tf.Graph().as_default():
                x, step = network()
                train(tf.Session(), x, step, 1)

        self.expect_no_leak(run)

    def test_functions_loops_and_calls_into_python(self):
        def run():
            with tf.Graph().as_default(), tf.Session() as session:
                numbers = tf.data.Dataset.range(4).map(lambda i: i * 2).batch(2)
                element = numbers.make_one_shot_iterator().get_next()
                called = tf.py_func(lambda a: a + 1, [element], tf.int64)
                w = tf.Variable(2.0)
                looped = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * w), [0, w])[1]
                gradient = tf.gradients(tf.cond(looped > 1.0, lambda: looped * 2.0, lambda: w), w)
                session.run(tf.global_variables_initializer())
                session.run([called, gradient])

        self.expect_no_leak(run)

    def test_errors(self):
        def run():
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.placeholder(tf.float32, [None])
                with self.assertRaises(ValueError):
                    tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))
                with self.assertRaises(tf.errors.InvalidArgumentError):
                    session.run(tf.reshape(x, [7]), {x: [1.0]})
                with self.assertRaises(tf.errors.UnknownError):
                    session.run(tf.py_func(lambda: 1 // 0, [], tf.int64))

        self.expect_no_leak(run)

    def test_input_by_queues(self):
        def run():
            with tf.Graph().as_default(), tf.Session() as session:
                batch = tf.train.batch([tf.constant([1.0, 2.0])], 2, num_threads=2)
                coord = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(session, coord)
                session.run(batch)
                coord.request_stop()
                coord.join(threads)

        self.expect_no_leak(run, RUNS // 3)

    def test_savers_and_events(self):
        def run():
            with tf.Graph().as_default(), tf.Session() as session:
                x, step = network()
                summary = tf.summary.scalar("x", tf.reduce_sum(x))
                train(session, x, step, 1)
                path = tf.train.Saver().save(session, self.directory + "/model")
                tf.train.import_meta_graph(path + ".meta").restore(session, path)
                with tf.summary.FileWriter(self.directory, session.graph) as writer:
                    writer.add_summary(session.run(summary, {x: [[1.0, 2.0]]}))
            tf.train.load_checkpoint(path).get_tensor("dense/kernel")
            for name in os.listdir(self.directory):
                os.remove(f"{self.directory}/{name}")

        self.expect_no_leak(run, RUNS // 3)

    def test_sessions_on_a_server(self):
        server = tf.train.Server.create_local_server()
        for of, target in ("in the process", server.target), ("by gRPC", "grpc://" + server.target[7:]):

            def run():
                with tf.Graph().as_default(), tf.Session(target) as session:
                    x, step = network()
                    train(session, x, step)

            with self.subTest(of=of):
                self.expect_no_leak(run)

    def test_servers(self):
        def run():  # one of tf.train lives as long as the process
            server = _native.Server()
            with tf.Graph().as_default(), tf.Session(server.target) as session:
                session.run(tf.constant(1))
            server.close()

        self.expect_no_leak(run, RUNS // 3)

    def test_monitored_sessions(self):
        def run():
            with tf.Graph().as_default():
                x, step = network()
                tf.train.get_or_create_global_step()
                with tf.train.MonitoredTrainingSession() as session:
                    session.run(step, {x: [[1.0, 2.0]]})

        self.expect_no_leak(run, RUNS // 3)

    def test_estimators(self):
        features, labels = {"x": np.ones([8, 2], "f")}, np.zeros([8], "int64")
        inputs = tf.estimator.inputs.numpy_input_fn(features, labels, 4, 1, False)
        columns = [tf.feature_column.numeric_column("x", (2,))]

        def run():
            with tempfile.TemporaryDirectory() as directory:
                estimator = tf.estimator.LinearClassifier(columns, directory)
                estimator.train(inputs)
                estimator.evaluate(inputs)
                next(estimator.predict(inputs))
                tf.summary.FileWriterCache.clear()  # as in TensorFlow, it keeps a writer for each directory

        self.expect_no_leak(run, RUNS // 30)

    def test_threads_that_share_a_session(self):
        with tf.Graph().as_default(), tf.Session() as session:
            x, step = network()
            train(session, x, step)

            def run():
                threads = [
                    threading.Thread(target=session.run, args=(step, {x: [[1.0, 2.0]]})) for _ in range(4)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            self.expect_no_leak(run)


if __name__ == "__main__":
    unittest.main()

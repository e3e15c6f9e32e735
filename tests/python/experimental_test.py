"""Session handles, generators with their state in a variable, scaled losses, and small functions of 1.15."""

import os
import types
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
from braid.tensorflow.python.estimator.canned import kmeans
from braid.tensorflow.python.ops import parallel_for
import numpy as np


class GraphTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)


class HandleTest(GraphTest):
    """tf.get_session_handle."""

    def test_a_tensor_stays_in_the_session(self):
        handle_of = tf.get_session_handle(tf.constant([1.0, 2.0]) * 3)
        with tf.Session() as session:
            handle = session.run(handle_of)
            np.testing.assert_array_equal(handle.eval(), [3.0, 6.0])
            holder, tensor = tf.get_session_tensor(handle.handle, tf.float32)
            np.testing.assert_array_equal(session.run(tensor + 1, {holder: handle}), [4.0, 7.0])
            fed = tf.placeholder(tf.float32, [2])
            np.testing.assert_array_equal(session.run(fed * 2, {fed: handle}), [6.0, 12.0])
            handle.delete()
            with self.assertRaisesRegex(TypeError, "may have already been deleted"):
                handle.eval()

    def test_tensors_go_with_their_handles(self):
        handle_of = tf.get_session_handle(tf.constant(1))
        with tf.Session() as session:
            name = str(session.run(handle_of))  # the handle is gone, its tensor is to be freed
            holder, tensor = tf.get_session_tensor(name, tf.int32)
            self.assertEqual(session.run(tensor, {holder: name}), 1)
            for _ in range(20):
                session.run(handle_of)
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "not in the session store|handle"):
                session.run(tensor, {holder: name})


class GeneratorTest(GraphTest):
    """tf.random.experimental.Generator."""

    def test_numbers_go_on_from_the_state(self):
        make = tf.random.experimental.Generator.from_seed
        one, same = make(1234), make(1234)
        first, second = one.normal([3]), same.normal([3])
        with tf.Session() as session:
            session.run([one.state.initializer, same.state.initializer])
            a, b = session.run(first), session.run(second)
            np.testing.assert_array_equal(a, b)
            self.assertFalse(np.array_equal(session.run(first), a))
            session.run(one.reset_from_seed(1234))
            np.testing.assert_array_equal(session.run(first), a)
            # As TensorFlow 2.15 gives them.
            np.testing.assert_allclose(a, [0.9356609, 1.0854305, -0.93788373], rtol=1e-6)

    def test_ranges(self):
        generator = tf.random.experimental.Generator.from_seed([1, 2, 3], alg=1)
        draws = (
            generator.uniform([1000], 2, 5, dtype=tf.int32),
            generator.truncated_normal([1000], 1.0, 0.5),
            generator.uniform([], 3.0, 4.0),
            generator.make_seeds(2),
        )
        with tf.Session() as session:
            session.run(generator.state.initializer)
            integers, normal, number, seeds = session.run(draws)
        self.assertEqual(set(integers), {2, 3, 4})
        self.assertLessEqual(abs(normal - 1).max(), 1.0)
        self.assertTrue(3 <= number < 4)
        self.assertEqual(seeds[1].tolist(), [0, 0])
        with self.assertRaisesRegex(ValueError, "Must specify maxval"):
            generator.uniform([], dtype=tf.int32)


class LossScaleTest(GraphTest):
    """tf.train.experimental's factors of losses."""

    def test_steps_are_those_of_the_optimizer(self):
        for scale in (8.0, "dynamic"):
            v = tf.Variable([1.0, 2.0])
            optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(
                tf.train.MomentumOptimizer(0.5, 0.9), scale
            )
            step = optimizer.minimize(tf.reduce_sum(v * v))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(step)
                np.testing.assert_allclose(session.run(v), [0.0, 0.0])

    def test_the_factor_follows_the_gradients(self):
        scale = tf.train.experimental.DynamicLossScale(16.0, increment_period=2, multiplier=4.0)
        v, factor = tf.Variable(1.0), tf.placeholder(tf.float32, [])
        optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(
            tf.train.GradientDescentOptimizer(1.0), scale
        )
        step = optimizer.minimize(v * factor)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for value, wanted_scale, wanted_v in (
                (1.0, 16.0, 0.0),
                (1.0, 64.0, -1.0),  # two good steps
                (np.inf, 16.0, -1.0),  # not applied
                (np.nan, 4.0, -1.0),
                (1.0, 4.0, -2.0),
            ):
                session.run(step, {factor: value})
                self.assertEqual(session.run([scale(), v]), [wanted_scale, wanted_v])


class ConfigTest(GraphTest):
    """tf.config: sessions without a ConfigProto have what was set."""

    def setUp(self):
        super().setUp()
        from braid.tensorflow.python.framework import config

        self.addCleanup(config._settings.__init__)

    def test_virtual_devices(self):
        (cpu,) = tf.config.experimental.list_physical_devices("CPU")
        self.assertIsNone(tf.config.experimental.get_virtual_device_configuration(cpu))
        two = [tf.config.experimental.VirtualDeviceConfiguration()] * 2
        tf.config.experimental.set_virtual_device_configuration(cpu, two)
        self.assertEqual(len(tf.config.experimental.list_logical_devices("CPU")), 2)
        with tf.device("/cpu:1"):
            x = tf.constant(3) + 4
        with tf.Session() as session:
            self.assertEqual([d.name for d in session.list_devices()], tf.config.experimental_list_devices())
            self.assertEqual(session.run(x), 7)
        with tf.Session(config=tf.ConfigProto()) as session:  # it has a ConfigProto of its own
            self.assertEqual(len(session.list_devices()), 1)
        limited = tf.config.experimental.VirtualDeviceConfiguration(memory_limit=10)
        with self.assertRaisesRegex(ValueError, "memory limit on CPU"):
            tf.config.experimental.set_virtual_device_configuration(cpu, [limited])

    def test_threads_placement_and_rewrites(self):
        self.assertIsNone(tf.Session()._config)
        tf.config.threading.set_inter_op_parallelism_threads(2)
        tf.config.set_soft_device_placement(True)
        tf.config.optimizer.set_experimental_options({"constant_folding": False})
        self.assertEqual(tf.config.optimizer.get_experimental_options()["constant_folding"], False)
        with tf.device("/gpu:7"):
            x = tf.constant(3) + 4
        with tf.Session() as session:
            self.assertEqual(session.run(x), 7)
            self.assertEqual(session._config.inter_op_parallelism_threads, 2)
        self.assertFalse(tf.config.optimizer.get_jit())
        tf.config.optimizer.set_jit(True)
        self.assertTrue(tf.config.optimizer.get_jit())


class CompiledTest(GraphTest):
    """tf.xla.experimental, tf.contrib.compiler."""

    def attrs(self, op):
        return {
            k: v.b if v.WhichOneof("value") == "b" else v.s
            for k, v in op.node_def.attr.items()
            if k[:4] == "_Xla"
        }

    def test_nodes_of_a_scope_have_its_attributes(self):
        a = tf.constant(1.0)
        with tf.xla.experimental.jit_scope(lambda node: node.op == "Mul", separate_compiled_gradients=True):
            b = a * 2
            with tf.contrib.compiler.jit.experimental_jit_scope():
                c = b + 1
        with tf.xla.experimental.jit_scope():
            d = c - 1
        outer = {"_XlaScope": b"jit_scope_0", "_XlaSeparateCompiledGradients": True}
        self.assertEqual(self.attrs(a.op), {})
        self.assertEqual(self.attrs(b.op), {**outer, "_XlaCompile": True})
        self.assertEqual(self.attrs(b.op.inputs[1].op), {**outer, "_XlaCompile": False})
        self.assertEqual(self.attrs(c.op)["_XlaScope"], b"jit_scope_0")
        self.assertEqual(self.attrs(d.op)["_XlaScope"], b"jit_scope_1")
        with tf.Session() as session:
            self.assertEqual(session.run(d), 2)

    def test_a_cell_in_a_scope_leaves_stateful_nodes_out(self):
        cell = tf.contrib.rnn.CompiledWrapper(tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(3), 0.5))
        cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
        marked = {op.type: op.get_attr("_XlaCompile") for op in self.ops() if "_XlaScope" in op.node_def.attr}
        self.assertEqual((marked["MatMul"], marked["RandomUniform"]), (True, False))

    def ops(self):
        return tf.get_default_graph().get_operations()

    def test_outputs_come_after_the_operations(self):
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), use_resource=True)

        def step(x, pair):
            rate = tf.get_variable("rate", [], initializer=tf.ones_initializer())
            tf.summary.scalar("rate", rate)
            self.assertIsInstance(rate, tf.python.ops.resource_variable_ops.ResourceVariable)
            return x * rate + pair[1], tf.assign_add(count, 1.0).op

        outputs = tf.xla.experimental.compile(step, [3.0, [4.0, 5.0]])
        nested = tf.xla.experimental.compile(lambda: {"a": tf.constant(1), "b": [tf.constant(2)]})
        alone = tf.contrib.compiler.xla.compile(lambda: tf.assign_add(count, 10.0).op)
        self.assertEqual(tf.get_collection(tf.GraphKeys.SUMMARIES), [])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(session.run(outputs), [8.0])
            self.assertEqual(session.run(nested), {"a": 1, "b": [2]})
            self.assertIsNone(session.run(alone))
            self.assertEqual(session.run(count), 11.0)

    def test_outputs_that_are_none(self):
        for outputs, wanted in (
            (lambda: (tf.no_op(), tf.constant(1)), "followed by zero or more Operations"),
            (lambda: {"a": tf.no_op()}, "does not support Operation as return value in non-flat"),
            (lambda: object(), "convertible to Tensors"),
        ):
            with self.assertRaisesRegex(ValueError, wanted):
                tf.xla.experimental.compile(outputs)
        with self.assertRaisesRegex(TypeError, "inputs must be a list"):
            tf.xla.experimental.compile(tf.identity, tf.constant(1))

    def test_a_model_function(self):
        @tf.contrib.compiler.xla.estimator_model_fn
        def model_fn(features, labels, mode, params):
            w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(w * features - labels))
            optimizer = tf.train.GradientDescentOptimizer(params["rate"])
            train_op = optimizer.minimize(loss, tf.train.get_global_step())
            if mode == tf.estimator.ModeKeys.TRAIN:
                return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
            metrics = (lambda w: {"w": tf.metrics.mean(w)}, [tf.identity(w)])
            return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)

        def input_fn():
            return tf.constant([1.0, 2.0]), tf.constant([3.0, 6.0])

        estimator = tf.estimator.Estimator(model_fn, params={"rate": 0.1})
        estimator.train(input_fn, steps=60)
        self.assertAlmostEqual(float(estimator.evaluate(input_fn, steps=1)["w"]), 3.0, places=3)


class SmallFunctionsTest(GraphTest):
    def run_(self, tensor):
        with tf.Session() as session:
            return session.run(tensor)

    def test_pseudo_inverse_and_rank(self):
        a = np.random.RandomState(0).randn(2, 4, 3)
        a[1, :, 2] = a[1, :, 0]
        np.testing.assert_allclose(self.run_(tf.linalg.pinv(a)), np.linalg.pinv(a), atol=1e-10)
        self.assertEqual(self.run_(tf.linalg.matrix_rank(a)).tolist(), [3, 2])

    def test_partitions(self):
        data = tf.constant([[1, 2], [3, 4], [5, 6]])
        for partitions, wanted in (
            ([1, 0, 1], [[[3, 4]], [[1, 2], [5, 6]], []]),
            ([[0, 1], [1, 0], [2, 2]], [[1, 4], [2, 3], [5, 6]]),
        ):
            made = tf.ragged.stack_dynamic_partitions(data, partitions, 3)
            self.assertEqual(self.run_(made).to_list(), wanted)

    def test_gradients_pass(self):
        x = tf.constant([0.4, 1.6])
        (g,) = tf.gradients(tf.grad_pass_through(tf.round)(x) * 3, x)
        self.assertEqual(self.run_(g).tolist(), [3.0, 3.0])

    def test_a_tape_has_the_gradients_of_what_it_recorded(self):
        x, v = tf.constant(3.0), tf.get_variable("v", initializer=2.0, use_resource=True)
        before = x * x
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * v
            z = before * v
            with tape.stop_recording():
                q = y * x
        self.assertEqual([w.name for w in tape.watched_variables()], ["v:0"])
        self.assertIsNone(tape.gradient(z, x))  # before is not recorded
        self.assertIsNone(tape.gradient(q, x))
        made = [tape.gradient(y, [x, v]), tape.gradient([y, q], x), tape.jacobian(y, x)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(session.run(made), [[12.0, 9.0], 12.0, 12.0])

    def test_the_gradient_of_a_variable_by_itself(self):
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
        with tf.GradientTape() as tape:
            pass
        made = tape.gradient(v, v)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(session.run(made), 1.0)

    def test_a_tape_is_used_once(self):
        with tf.GradientTape() as tape:
            v = tf.Variable(2.0)
            y = v * v
        self.assertIsNotNone(tape.gradient(y, v))
        self.assertRaisesRegex(RuntimeError, "only be called once", tape.gradient, y, v)

    def test_losses(self):
        loss = tf.nn.compute_average_loss([1.0, 2.0, 3.0], sample_weight=[1.0, 0.0, 2.0], global_batch_size=7)
        self.assertEqual(self.run_([loss, tf.nn.scale_regularization_loss([1.0, 2.0])]), [1.0, 3.0])

    def test_map_of_other_types(self):
        made = tf.vectorized_map(lambda x: (x[0] > x[1], x[0] * 2), tf.constant([[1, 2], [4, 3]]))
        self.assertEqual([v.tolist() for v in self.run_(made)], [[False, True], [2, 8]])

    def test_jacobians(self):
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        y = tf.reduce_sum(x * x, axis=1, keepdims=True)
        made = self.run_([parallel_for.jacobian(y, x), parallel_for.batch_jacobian(y, x)])
        self.assertEqual(made[0].tolist(), [[[[2.0, 4.0], [0.0, 0.0]]], [[[0.0, 0.0], [6.0, 8.0]]]])
        self.assertEqual(made[1].tolist(), [[[2.0, 4.0]], [[6.0, 8.0]]])

    def test_jacobian_of_a_loop(self):
        x = tf.constant([1.0, 2.0])
        _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])
        self.assertEqual(self.run_(parallel_for.jacobian(y, x)).tolist(), [[4.0, 0.0], [0.0, 32.0]])

    def test_an_iteration_has_results_of_any_kind(self):
        count = tf.Variable(0)

        def body(i):
            places = tf.cast(tf.stack([[i]]), tf.int64)
            return i * 2, None, tf.SparseTensor(places, [i], [3]), count.assign_add(1).op

        doubles, none, sparse, op = parallel_for.pfor(body, 3)
        self.assertIsNone(none)
        with tf.Session() as session:
            session.run(count.initializer)
            self.assertEqual(session.run(doubles).tolist(), [0, 2, 4])
            self.assertEqual(
                session.run(tf.sparse.to_dense(sparse)).tolist(), [[0, 0, 0], [0, 1, 0], [0, 0, 2]]
            )
            session.run(count.initializer)
            session.run(op)
            self.assertEqual(session.run(count), 3)

    def test_iterations_read_an_array_from_outside(self):
        array = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
        self.assertEqual(
            self.run_(parallel_for.pfor(lambda i: array.read(1) + array.read(0), 3)).tolist(), [3.0] * 3
        )

    def test_reductions_over_iterations(self):
        x = tf.constant([1.0, 2.0, 6.0])

        def body(i, pfor_config=None):
            return x[i] - pfor_config.reduce_mean(x[i])

        self.assertEqual(self.run_(parallel_for.pfor(body, 3)).tolist(), [-2.0, -1.0, 3.0])

    def test_the_cluster_of_a_slurm_step(self):
        resolver = tf.distribute.cluster_resolver.SlurmClusterResolver
        step = {
            "SLURM_PROCID": "3",
            "SLURM_NTASKS": "4",
            "SLURM_NTASKS_PER_NODE": "2",
            "CUDA_VISIBLE_DEVICES": "",
        }
        with mock.patch.dict(os.environ, step):
            made = resolver({"worker": 3, "ps": 1}, port_base=70, gpus_per_node=4, gpus_per_task=2)
            with mock.patch.object(made, "_resolve_hostnames", return_value=["a", "b"]):
                cluster = made.cluster_spec().as_dict()
                self.assertEqual(made.master(), "grpc://b:71")
            self.assertEqual(os.environ["CUDA_VISIBLE_DEVICES"], "2,3")
            with self.assertRaisesRegex(RuntimeError, "more tasks"):
                resolver({"worker": 5}, tasks_per_node=1)
        self.assertEqual(cluster, {"ps": ["a:70"], "worker": ["a:71", "b:70", "b:71"]})
        self.assertEqual(made.get_task_info(), ("worker", 2))

    def test_the_cluster_of_pods(self):
        def pods(label_selector):
            phase = "Pending" if label_selector == "late" else "Running"
            names = ["b", "a"]
            items = [
                types.SimpleNamespace(
                    metadata=types.SimpleNamespace(name=name),
                    status=types.SimpleNamespace(phase=phase, host_ip=f"{label_selector}-{name}"),
                )
                for name in names
            ]
            return types.SimpleNamespace(items=items)

        resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver
        client = types.SimpleNamespace(list_pod_for_all_namespaces=pods)
        cluster = resolver({"worker": ["x", "y"]}, tf_server_port=9, override_client=client).cluster_spec()
        self.assertEqual(cluster.as_dict(), {"worker": ["x-a:9", "x-b:9", "y-a:9", "y-b:9"]})
        with self.assertRaisesRegex(RuntimeError, 'Pod "a" is not running; phase: "Pending"'):
            resolver({"worker": ["late"]}, override_client=client).cluster_spec()

    def test_clusters_are_joined(self):
        resolver = tf.distribute.cluster_resolver
        both = resolver.UnionResolver(
            resolver.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["a:1"], "ps": ["p:1"]})),
            resolver.SimpleClusterResolver(tf.train.ClusterSpec({"worker": ["b:1"]})),
        )
        self.assertEqual(both.cluster_spec().as_dict(), {"worker": ["a:1", "b:1"], "ps": ["p:1"]})


class KMeansTest(GraphTest):
    """Two groups of points; the first centers are in one of them."""

    points = np.array([[0.0, 0.0], [0.0, 2.0], [10.0, 0.0], [10.0, 2.0]], np.float32)

    def test_centers_move_to_the_means(self):
        for options in ({}, {"use_mini_batch": True}):
            means = tf.contrib.factorization.KMeans(
                tf.constant(self.points), 2, initial_clusters=self.points[1:3], **options
            )
            scores, indices, _, initialized, init_op, train_op = means.training_graph()
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                while not session.run(initialized):
                    session.run(init_op)
                for _ in range(3):
                    session.run(train_op)
                self.assertEqual(session.run(indices[0]).tolist(), [0, 0, 1, 1])
                self.assertEqual(session.run(scores[0]).shape, (4, 2))

    def test_an_estimator(self):
        means = tf.estimator.experimental.KMeans(
            2, initial_clusters=self.points[1:3], use_mini_batch=False, relative_tolerance=1e-3
        )

        def points():
            return tf.train.limit_epochs(tf.constant(self.points), num_epochs=8)

        means.train(points)
        self.assertAlmostEqual(means.score(points), 4.0, places=4)
        self.assertEqual(np.round(means.cluster_centers(), 3).tolist(), [[0.0, 1.0], [10.0, 1.0]])

    def test_the_estimator_of_contrib_transforms_to_squares(self):
        def points():
            return tf.train.limit_epochs(tf.constant(self.points), num_epochs=1)

        for kind, want in (
            (tf.contrib.factorization.KMeansClustering, [[1, 101], [1, 101]]),
            (tf.estimator.experimental.KMeans, [[1, 101**0.5], [1, 101**0.5]]),
        ):
            means = kind(2, initial_clusters=self.points[1:3], use_mini_batch=False)
            means.train(points, steps=1)
            centers = means.cluster_centers()
            np.testing.assert_allclose(centers, [[0, 1], [10, 1]], atol=1e-5)
            np.testing.assert_allclose(list(means.transform(points))[:2], want, rtol=1e-3)

    def test_workers_wait_for_the_centers(self):
        initialized = tf.Variable(False)
        missing = kmeans._ready_when_initialized(initialized)
        with tf.Session() as session:
            self.assertEqual(session.run(missing).tolist(), [b"Variable"])
            session.run(initialized.initializer)
            self.assertEqual(session.run(missing).tolist(), [b"clusters"])
            session.run(initialized.assign(True))
            self.assertEqual(session.run(missing).tolist(), [])


if __name__ == "__main__":
    unittest.main()

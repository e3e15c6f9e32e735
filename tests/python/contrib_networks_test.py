"""Networks written as expressions or copied, their receptive fields, and rates of change."""

import importlib.util
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib.rate import rate
from braid.tensorflow.contrib.specs import python as specs


class SpecsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_layers_are_put_together(self):
        images = tf.placeholder(tf.float32, [2, 16, 16, 3])
        spec = "C = Cr(_1=[3, 3]); net = (C(_0=4) | Mp([2, 2]))**2 | Flat | Fs(10) + Fl(10)"
        net = specs.create_net(spec, images)
        self.assertEqual(net.shape.as_list(), [2, 10])
        structure = specs.tf_structure(net)
        conv = " variablev2 conv variablev2 biasadd relu maxpool"
        self.assertTrue(structure.startswith(" _" + conv + conv), structure)
        self.assertRegex(structure, "biasadd sig <> variablev2 dot variablev2 biasadd add(v2)?$")
        self.assertEqual(
            specs.tf_num_params(net.op.inputs[0].op), 3 * 9 * 4 + 4 + 4 * 9 * 4 + 4 + 64 * 10 + 10
        )
        lines = []
        specs.tf_parameter_summary(specs.create_net("net = Fr(5) | Fm(2)", tf.ones([1, 3])), lines.append)
        self.assertEqual([line.split()[0] for line in lines], ["0", "20", "12"])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(session.run(net, {images: np.ones([2, 16, 16, 3])}).shape, (2, 10))

    def test_a_shared_layer_has_one_set_of_variables(self):
        net = specs.create_net("f = Shared(Fr(4)); net = f | f | f ** 0", tf.ones([2, 4]))
        self.assertEqual(len(tf.trainable_variables()), 2)
        self.assertEqual(net.shape.as_list(), [2, 4])
        named = specs.create_net("net = Shared(Fr(4), name='twin') | Idx()", tf.ones([2, 4]))
        self.assertTrue(named.name.startswith("twin/"), named.name)

    def test_what_does_not_belong_into_a_specification_is_refused(self):
        with self.assertRaisesRegex(ValueError, "keyword 'import' found in spec"):
            specs.create_net("import os; net = Id", tf.ones([1]))
        with self.assertRaisesRegex(ValueError, "spec failed to create 'net'"):
            specs.create_net("other = Id", tf.ones([1]))
        params = specs.eval_params("x = Ui(3, 5); y = Li(1, 100); z = floor(pi)")
        self.assertTrue(3 <= params["x"] <= 5 and 1 <= params["y"] <= 100 and params["z"] == 3)


class ReceptiveFieldTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_a_network_sees_a_part_of_its_image(self):
        image = tf.placeholder(tf.float32, [1, None, None, 3], name="image")
        net = tf.contrib.slim.conv2d(image, 4, [3, 5], stride=2, padding="VALID")
        net = tf.contrib.slim.max_pool2d(net, [2, 2], stride=2, padding="VALID")
        branch = tf.contrib.slim.conv2d(net, 4, [3, 3], scope="branch")
        out = tf.add(net, branch, name="out")
        graph = tf.get_default_graph()
        compute = tf.contrib.receptive_field.compute_receptive_field_from_graph_def
        field = compute(graph, image, out)
        self.assertEqual(tuple(field), (15, 13, 4, 4, 4, 4))  # x before y
        centers = field.compute_input_center_coordinates([[0, 0], [1, 2]])
        np.testing.assert_array_equal(centers, [[3, 2], [7, 10]])
        np.testing.assert_array_equal(field.compute_feature_coordinates(centers), [[0, 0], [1, 2]])
        alone = compute(graph.as_graph_def(), "image", "out", stop_propagation=["branch"])
        self.assertEqual(tuple(alone), (7, 5, 4, 4, 0, 0))
        infos, _ = tf.contrib.receptive_field.get_compute_order(graph.as_graph_def(), "image", [33, 37])
        self.assertEqual((infos["out"].input_size, infos["out"].output_size), ([8, 8], [8, 8]))
        with self.assertRaisesRegex(ValueError, "Output node was not found"):
            compute(graph, "image", "none")

    def test_branches_have_to_be_aligned(self):
        image = tf.placeholder(tf.float32, [1, 8, 8, 3], name="image")
        with tf.variable_scope("net"):
            left = tf.contrib.slim.conv2d(image, 4, [1, 1], stride=2, padding="VALID")
            right = tf.contrib.slim.conv2d(image, 4, [3, 3], stride=2, padding="SAME")
        tf.add(left, right, name="out")
        compute = tf.contrib.receptive_field.compute_receptive_field_from_graph_def
        with self.assertRaisesRegex(
            ValueError, "center shift from different paths is different in horizontal"
        ):
            compute(tf.get_default_graph(), "image", "out", input_resolution=[8, 8])
        size_x, _, _, _, padding_x, _ = compute(tf.get_default_graph(), "image", "out")
        self.assertEqual((size_x, padding_x), (3, None))  # on which size the padding depends


class RateTest(unittest.TestCase):
    def test_a_rate_is_that_since_the_last_call(self):
        tf.reset_default_graph()
        steps, seconds = tf.placeholder(tf.int64, []), tf.placeholder(tf.float32, [])
        made = rate.Rate("steps per second")
        value = made(steps, seconds)
        self.assertEqual(made.prev_values.name, "steps_per_second_1/prev_values:0")
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            got = [session.run(value, {steps: n, seconds: t}) for n, t in ((4, 2), (10, 3), (20, 3), (22, 7))]
        self.assertEqual(got, [2, 6, 0, 0.5])


class CopyGraphTest(unittest.TestCase):
    def test_a_network_is_copied_with_its_variables(self):
        source, target = tf.Graph(), tf.Graph()
        with source.as_default():
            x = tf.placeholder(tf.float32, [], name="x")
            slope = tf.get_variable("slope", initializer=3.0)
            with tf.control_dependencies([tf.constant(0, name="before")]):
                y = tf.add(slope * x, 1.0, name="y")
            tf.add_to_collection("outputs", y)
            loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        copies = tf.contrib.copy_graph
        moved = copies.copy_variable_to_graph(slope, target, "copy")
        copied = copies.copy_op_to_graph(y, target, [moved], "copy")
        self.assertEqual((copied.name, moved.name), ("copy/y:0", "copy/slope:0"))
        self.assertEqual([op.name for op in copied.op.inputs[0].op.control_inputs], ["copy/before"])
        self.assertEqual(target.get_collection("copy/outputs"), [copied])
        self.assertEqual(target.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES), [moved])
        with tf.Session(graph=target) as session:
            session.run(moved.initializer)
            self.assertEqual(session.run(copied, {copies.get_copied_op(x, target, "copy"): 2.0}), 7)
        with self.assertRaisesRegex(ValueError, "is part of a loop"):
            copies.copy_op_to_graph(loop, target, [])
        with self.assertRaisesRegex(TypeError, "is not a Variable"):
            copies.copy_variable_to_graph(x, target)


class _Problem(tf.contrib.constrained_optimization.ConstrainedMinimizationProblem):
    """The least (x - 3) ** 2 + (y - 3) ** 2 where x + y <= 4 and y <= 1: x = 3, y = 1; or with steps as constraints."""

    def __init__(self, by_steps=False):
        self.at = tf.get_variable("at", [2], initializer=tf.zeros_initializer())
        smooth = tf.stack([tf.reduce_sum(self.at) - 4.0, self.at[1] - 1.0])
        self._constraints, self._proxy = (tf.sign(smooth), smooth) if by_steps else (smooth, None)

    objective = property(lambda self: tf.reduce_sum(tf.square(self.at - 3.0)))
    constraints = property(lambda self: self._constraints)
    proxy_constraints = property(lambda self: self._proxy)


class ConstrainedOptimizationTest(unittest.TestCase):
    def minimum(self, make, steps=600, **arguments):
        tf.reset_default_graph()
        problem, step = _Problem(**arguments), tf.train.get_or_create_global_step()
        train_op = make().minimize(problem, unconstrained_steps=5, global_step=step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            places = []
            for _ in range(steps):
                session.run(train_op)
                places.append(session.run(problem.at))
            self.assertEqual(session.run(step), steps)
        return np.mean(places[-steps // 3 :], axis=0)

    def test_constraints_hold_at_the_minimum(self):
        co, descent = tf.contrib.constrained_optimization, tf.train.GradientDescentOptimizer
        makers = (
            lambda: co.AdditiveExternalRegretOptimizer(descent(0.05)),
            lambda: co.AdditiveExternalRegretOptimizer(
                tf.train.AdamOptimizer(0.05), descent(0.05), maximum_multiplier_radius=10.0
            ),
            lambda: co.AdditiveSwapRegretOptimizer(descent(0.05)),
            lambda: co.MultiplicativeSwapRegretOptimizer(descent(0.05), initial_multiplier_radius=0.5),
        )
        for make in makers:
            np.testing.assert_allclose(self.minimum(make), [3, 1], atol=0.1)
        np.testing.assert_allclose(self.minimum(makers[0], by_steps=True), [3, 1], atol=0.2)

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "they need scipy")
    def test_the_best_of_several_solutions_is_found(self):
        co, objective = tf.contrib.constrained_optimization, np.array([0.0, 1.0, 2.0])
        mixed = co.find_best_candidate_distribution(objective, np.array([[2.0, -1.0, -2.0]]))
        np.testing.assert_allclose(mixed, [1 / 3, 2 / 3, 0], atol=1e-6)
        violated = co.find_best_candidate_distribution(objective, np.array([[2.0, 1.0, 0.5]]), epsilon=1e-6)
        np.testing.assert_allclose(violated, [0, 0, 1], atol=1e-4)
        self.assertEqual(co.find_best_candidate_index(objective, np.array([[2.0, -1.0, -2.0]])), 1)

    def test_what_does_not_fit_is_refused(self):
        co = tf.contrib.constrained_optimization
        optimizer = co.AdditiveExternalRegretOptimizer(tf.train.GradientDescentOptimizer(0.05))
        tf.reset_default_graph()
        with self.assertRaisesRegex(ValueError, "global_step cannot be None if unconstrained_steps"):
            optimizer.minimize(_Problem(), unconstrained_steps=5)
        with self.assertRaisesRegex(ValueError, r"must be in the range \(0,1\)"):
            co.MultiplicativeSwapRegretOptimizer(None, minimum_multiplier_radius=1.0)


class QuantizationTest(unittest.TestCase):
    def test_quantized_numbers_are_multiplied(self):
        tf.reset_default_graph()
        q = tf.contrib.quantization
        x, low, high = q.quantize_v2([[0.0, 1.0], [2.0, 3.0]], 0.0, 3.0, tf.quint8)
        product, *ends = q.quantized_mat_mul(x, x, low, high, low, high, Toutput=tf.qint32)
        with tf.Session() as session:
            got = session.run(q.dequantize(product, *ends))
        np.testing.assert_allclose(got, [[2, 3], [6, 11]], atol=0.1)


if __name__ == "__main__":
    unittest.main()

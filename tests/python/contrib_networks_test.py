"""Networks written as expressions, their receptive fields, and rates of change: tf.contrib.specs and others."""

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

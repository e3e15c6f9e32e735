"""tf.contrib.quantize: batch norms are folded without a change, and what layers give is rounded."""

import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np

_X = np.random.RandomState(0).randn(4, 6, 6, 3).astype(np.float32)
_quantize = tf.contrib.quantize


def _start(shape, dtype=None, partition_info=None):
    return tf.constant(np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape), tf.float32)


def _net(is_training, fused=True):
    """A convolution, a depthwise one and a dense layer, with batch norms. Returns the loss."""
    slim = tf.contrib.slim
    norm = dict(is_training=is_training, fused=fused, decay=0.9, scale=True)
    layers = [slim.conv2d, slim.separable_conv2d]
    with slim.arg_scope(layers, normalizer_fn=slim.batch_norm, normalizer_params=norm):
        with slim.arg_scope(layers, weights_initializer=_start, activation_fn=tf.nn.relu6):
            h = slim.conv2d(tf.constant(_X), 4, [3, 3], scope="conv")
            h = slim.separable_conv2d(h, None, [3, 3], depth_multiplier=1, scope="depthwise")
    h = slim.fully_connected(tf.reduce_mean(h, [1, 2]), 2, None, weights_initializer=_start, scope="dense")
    return tf.reduce_mean(tf.square(h), name="loss")


def _trained(rewrite, steps=3, fused=True):
    """Losses and variables of a few steps of a graph that `rewrite` has changed."""
    with tf.Graph().as_default() as graph:
        loss = _net(True, fused)
        rewrite(graph)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.control_dependencies([loss, step]):
            updates = tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step, updates])[0] for _ in range(steps)]
            return losses, {v.op.name: session.run(v) for v in tf.global_variables()}


class QuantizeTest(unittest.TestCase):
    def test_folded_batch_norms_train_as_before(self):
        losses, values = _trained(lambda graph: None)
        later = lambda graph: _quantize.create_training_graph(graph, quant_delay=100)  # noqa: E731
        folded_losses, folded = _trained(later)
        np.testing.assert_allclose(folded_losses, losses, rtol=1e-4)
        for name, value in values.items():
            np.testing.assert_allclose(folded[name], value, rtol=1e-3, atol=1e-5, err_msg=name)
        self.assertEqual(folded["fake_quantization_step"], 3)

    def test_batch_norms_of_single_ops_are_folded_too(self):
        losses, _ = _trained(lambda graph: None, 1, fused=False)
        later = lambda graph: _quantize.create_training_graph(graph, quant_delay=100)  # noqa: E731
        np.testing.assert_allclose(_trained(later, 1, fused=False)[0], losses, rtol=1e-4)

    def test_batch_norms_that_make_their_updates_first_are_folded(self):
        slim = tf.contrib.slim
        with tf.Graph().as_default() as graph:
            options = dict(fused=False, updates_collections=None, scale=True)
            h = slim.conv2d(
                _X, 4, [3, 3], normalizer_fn=slim.batch_norm, normalizer_params=options, scope="c"
            )
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                whole = session.run(h)
                _quantize.create_training_graph(graph, quant_delay=100)
                session.run(tf.global_variables_initializer())
                self.assertEqual(session.run(h).shape, whole.shape)
            names = [op.name for op in graph.get_operations()]
        identity, factor = names.index("c/BatchNorm/Identity"), names.index("c/BatchNorm/batchnorm_1/mul_1")
        self.assertLess(identity, factor)
        self.assertIn("c/Conv2D_Fold", names)

    def test_a_frozen_batch_norm_keeps_its_averages(self):
        def rewrite(graph):
            _quantize.experimental_create_training_graph(graph, quant_delay=100, freeze_bn_delay=2)

        after_one, after_three = _trained(rewrite, 1)[1], _trained(rewrite, 3)[1]
        name = "conv/BatchNorm/moving_mean"
        self.assertGreater(np.abs(after_one[name]).max(), 0)
        np.testing.assert_array_equal(after_three[name], after_one[name])

    def test_names_of_nodes_are_those_of_tensorflow(self):
        with tf.Graph().as_default() as graph:
            _net(True)
            _quantize.create_training_graph(graph)
            names = {op.name for op in graph.get_operations()}
            # The output of the depthwise activation, of which a mean is taken, is rounded for that mean.
            (rounded,) = {op.inputs[0].op for op in graph.get_operations() if op.name == "Mean"}
        self.assertEqual(rounded.name, "depthwise/act_quant/FakeQuantWithMinMaxVars")
        for name in (
            "conv/BatchNorm_Fold/bias",
            "conv/BatchNorm_Fold/batch_norm_correction/correction_scale",
            "conv/correction_mult",
            "conv/mul_fold",
            "conv/Conv2D_Fold",
            "conv/add_fold",
            "conv/weights_quant/min",
            "conv/weights_quant/AssignMinLast",
            "conv/act_quant/AssignMaxEma",
            "depthwise/BatchNorm_Fold/scale_reshape",
            "depthwise/depthwise_Fold",
            "dense/weights_quant/FakeQuantWithMinMaxVars",
        ):
            self.assertIn(name, names)

    def test_a_graph_to_evaluate_rounds_to_integers_of_few_bits(self):
        with tf.Graph().as_default() as graph:
            _net(False)
            _quantize.experimental_create_eval_graph(graph, weight_bits=4, activation_bits=4)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for name, levels, least, greatest in (
                    ("depthwise/act_quant", 15, 0.0, 6.0),
                    ("conv/weights_quant", 14, -6.0, 6.0),
                ):
                    values = session.run(name + "/FakeQuantWithMinMaxVars:0")
                    steps = (values - least) / ((greatest - least) / levels)
                    np.testing.assert_allclose(steps, np.round(steps), atol=1e-4)

    def test_a_graph_with_an_optimizer_is_refused(self):
        with tf.Graph().as_default() as graph:
            tf.train.GradientDescentOptimizer(0.1).minimize(_net(True))
            with self.assertRaisesRegex(ValueError, "Training op found in graph"):
                _quantize.create_training_graph(graph)


if __name__ == "__main__":
    unittest.main()

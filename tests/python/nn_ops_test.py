"""Layers' mathematics: against plain numpy, names of nodes as TensorFlow 1.15's."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def convolved(x, w, rate=1):
    """The convolution with padding "VALID" of [batch, y, x, in] and [y, x, in, out]."""
    height = x.shape[1] - (w.shape[0] - 1) * rate
    width = x.shape[2] - (w.shape[1] - 1) * rate
    made = np.zeros([x.shape[0], height, width, w.shape[3]])
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            made += x[:, i * rate : i * rate + height, j * rate : j * rate + width] @ w[i, j]
    return made


class NNOpsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.rng = np.random.RandomState(1)

    def run_all(self, tensors, feeds=None):
        with tf.Session() as session:
            return session.run(tensors, feeds)

    def check(self, tensor, expected, **tolerance):
        np.testing.assert_allclose(
            self.run_all(tensor), expected, **{"rtol": 1e-4, "atol": 1e-6, **tolerance}
        )

    def test_softmax_along_any_dimension(self):
        x = self.rng.randn(2, 3, 4).astype(np.float32)
        for axis in (-1, 0, 1, -2):
            made = tf.nn.softmax(tf.constant(x), axis)
            self.assertEqual(made.shape.as_list(), [2, 3, 4])
            self.check(made, softmax(x, axis))
            self.check(tf.nn.log_softmax(x, axis), np.log(softmax(x, axis)))
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.nn.softmax(tf.constant(x), 3)

    def test_the_gradient_of_softmax_of_any_rank(self):
        for shape in ([3], [2, 3], [2, 2, 3], [2, 1, 2, 3]):
            x, w = self.rng.randn(*shape), self.rng.randn(*shape)
            t = tf.constant(x)
            s = softmax(x)
            (got,) = tf.gradients(tf.reduce_sum(tf.nn.softmax(t) * w), t)
            self.check(got, s * (w - (w * s).sum(-1, keepdims=True)))
            (got,) = tf.gradients(tf.reduce_sum(tf.nn.log_softmax(t) * w), t)
            self.check(got, w - s * w.sum(-1, keepdims=True))

    def test_cross_entropies(self):
        x = self.rng.randn(5, 4).astype(np.float32)
        p = softmax(self.rng.randn(5, 4)).astype(np.float32)
        classes = np.array([0, 3, 1, 2, 2])
        self.check(
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=p, logits=x), -(p * np.log(softmax(x))).sum(1)
        )
        self.check(
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=p, logits=x, axis=0),
            -(p * np.log(softmax(x, 0))).sum(0),
        )
        sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=x)
        self.check(sparse, -np.log(softmax(x)[range(5), classes]))
        self.assertEqual(
            sparse.op.name, "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"
        )
        sigmoid = tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=x)
        s = 1 / (1 + np.exp(-x))
        self.check(sigmoid, -p * np.log(s) - (1 - p) * np.log(1 - s))
        self.assertEqual(sigmoid.op.name, "logistic_loss")
        self.check(
            tf.nn.weighted_cross_entropy_with_logits(labels=p, logits=x, pos_weight=3.0),
            -3 * p * np.log(s) - (1 - p) * np.log(1 - s),
        )
        with self.assertRaisesRegex(ValueError, "Rank mismatch"):
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0]], logits=x)
        with self.assertRaisesRegex(ValueError, "named arguments"):
            tf.nn.sigmoid_cross_entropy_with_logits(p, x)

    def test_labels_get_no_gradient_in_the_first_version(self):
        x, p = tf.zeros([2, 3]), tf.ones([2, 3])
        loss = tf.nn.softmax_cross_entropy_with_logits(labels=p, logits=x)
        self.assertIsNone(tf.gradients(loss, p)[0])
        self.assertIsNotNone(tf.gradients(loss, x)[0])

    def test_computed_labels_get_a_gradient_in_the_second_version(self):
        x = tf.constant(self.rng.randn(2, 3))
        entropy = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x), logits=x)
        p = self.run_all(tf.nn.softmax(x))
        expected = -p * (np.log(p) - (p * np.log(p)).sum(1, keepdims=True))
        self.check(tf.gradients(entropy, x)[0], expected)

    def test_labels_that_a_gradient_is_asked_for_get_one_in_the_second_version(self):
        x, labels = self.rng.randn(2, 3), tf.constant([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], tf.float64)
        entropy = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x)
        self.check(tf.gradients(entropy, labels)[0], -np.log(softmax(x)))

    def test_convolutions(self):
        x = self.rng.randn(2, 7, 6, 3).astype(np.float32)
        w = self.rng.randn(3, 2, 3, 4).astype(np.float32)
        self.check(tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"), convolved(x, w), rtol=1e-3, atol=1e-4)
        self.check(
            tf.nn.convolution(x, w, "VALID", dilation_rate=[2, 2]), convolved(x, w, 2), rtol=1e-3, atol=1e-4
        )
        padded = np.pad(x, [[0, 0], [2, 2], [1, 1], [0, 0]], "constant")
        self.check(tf.nn.atrous_conv2d(x, w, 2, "SAME"), convolved(padded, w, 2), rtol=1e-3, atol=1e-4)
        self.check(
            tf.nn.conv1d(x[:, :, 0], w[:, 0], 2, "VALID"),
            convolved(x[:, :, :1], w[:, :1])[:, ::2, 0],
            rtol=1e-3,
            atol=1e-4,
        )
        depthwise = tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID")
        expected = np.concatenate([convolved(x[..., i : i + 1], w[:, :, i : i + 1]) for i in range(3)], -1)
        self.check(depthwise, expected, rtol=1e-3, atol=1e-4)

    def test_volumes_are_sums_over_planes(self):
        x = self.rng.randn(1, 4, 5, 5, 2).astype(np.float32)
        w = self.rng.randn(2, 3, 3, 2, 3).astype(np.float32)
        planes = [convolved(x[:, d], w[0]) + convolved(x[:, d + 1], w[1]) for d in range(3)]
        self.check(tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "VALID"), np.stack(planes, 1), rtol=1e-3, atol=1e-4)
        self.check(tf.nn.convolution(x, w, "VALID"), np.stack(planes, 1), rtol=1e-3, atol=1e-4)
        blocks = x[:, :, :4, :4].reshape(1, 2, 2, 2, 2, 2, 2, 2)
        self.check(tf.nn.max_pool3d(x, 2, 2, "VALID"), blocks.max((2, 4, 6)))
        self.check(tf.nn.avg_pool3d(x, 2, 2, "VALID"), blocks.mean((2, 4, 6)))

    def test_gradients_of_volumes_flow_to_each_maximum(self):
        x = tf.constant(np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 1, 4, 1))
        w = tf.constant(np.ones((1, 1, 1, 1, 1), np.float32))
        pooled = tf.nn.max_pool3d(tf.nn.conv3d(x, w, [1] * 5, "SAME"), [1, 1, 4], [1, 1, 4], "SAME")
        dx, dw = tf.gradients(5 * pooled, [x, w])
        self.check(dx, np.array([0, 5, 5, 0]).reshape(1, 1, 1, 4, 1))
        self.check(dw, np.array([30]).reshape(1, 1, 1, 1, 1))

    def test_quantized_convolution_is_near_that_of_floats(self):
        x = self.rng.rand(2, 5, 5, 3).astype(np.float32)
        w = self.rng.rand(3, 3, 3, 4).astype(np.float32) - 0.5
        qx, qw = tf.quantize(x, 0.0, 1.0, tf.quint8), tf.quantize(w, -0.5, 0.5, tf.quint8)
        made = tf.nn.quantized_conv2d(
            qx.output, qw.output, qx.output_min, qx.output_max, qw.output_min, qw.output_max, [1] * 4, "SAME"
        )
        narrow = tf.raw_ops.QuantizeDownAndShrinkRange(
            input=made.output, input_min=made.min_output, input_max=made.max_output, out_type=tf.quint8
        )
        floats = tf.dequantize(*narrow)
        self.check(floats - tf.nn.conv2d(x, w, [1] * 4, "SAME"), np.zeros((2, 5, 5, 4)), rtol=0, atol=0.1)

    def test_pools(self):
        x = self.rng.randn(1, 4, 6, 2).astype(np.float32)
        blocks = x.reshape(1, 2, 2, 3, 2, 2)
        self.check(tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), blocks.max((2, 4)))
        self.check(tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), blocks.mean((2, 4)))
        self.check(tf.nn.pool(x, [2, 2], "MAX", "VALID", strides=[2, 2]), blocks.max((2, 4)))
        self.check(tf.nn.max_pool1d(x[:, :, 0], 2, 2, "VALID"), x[:, :, 0].reshape(1, 2, 2, 2).max(2))

    def test_dropout_keeps_the_mean(self):
        x = tf.ones([10000])
        kept = tf.nn.dropout(x, keep_prob=0.8, seed=3)
        self.assertEqual(kept.op.name, "dropout/mul_1")
        value = self.run_all(kept)
        self.assertEqual(sorted(set(np.round(value, 5).tolist())), [0.0, 1.25])
        self.assertAlmostEqual(float(value.mean()), 1.0, delta=0.03)
        self.assertIs(tf.nn.dropout(x, rate=0.0), x)
        rows = self.run_all(tf.nn.dropout(tf.ones([50, 3]), rate=0.5, noise_shape=[50, 1]))
        self.assertTrue(all(len(set(row)) == 1 for row in rows.tolist()))
        with self.assertRaisesRegex(ValueError, r"range \[0, 1\)"):
            tf.nn.dropout(x, keep_prob=0.0)

    def test_moments_and_normalization(self):
        x = self.rng.randn(8, 3).astype(np.float32)
        mean, variance = tf.nn.moments(tf.constant(x), [0])
        self.check([mean, variance], [x.mean(0), x.var(0)])
        made = tf.nn.batch_normalization(x, mean, variance, [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], 1e-3)
        self.check(made, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * 2 + [1, 2, 3])
        fused, _, _ = tf.nn.fused_batch_norm(x.reshape(8, 1, 1, 3), [2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
        self.check(tf.reshape(fused, [8, 3]), self.run_all(made), rtol=1e-3)
        w = np.array([[1.0], [3.0]], np.float32)
        mean, _ = tf.nn.weighted_moments(tf.constant(x[:2]), [0], w)
        self.check(mean, (x[:2] * w).sum(0) / 4)

    def test_clipping_by_the_norm_of_all(self):
        clipped, norm = tf.clip_by_global_norm([tf.constant([3.0]), None, tf.constant([4.0])], 1.0)
        self.assertIsNone(clipped[1])
        self.check([clipped[0], clipped[2]], [[0.6], [0.8]])
        self.check(norm, 5.0)
        self.assertEqual(norm.op.name, "global_norm/global_norm")
        infinite, _ = tf.clip_by_global_norm([tf.constant([np.inf])], 1.0)
        self.assertTrue(np.isnan(self.run_all(infinite[0])).all())

    def test_a_sampled_loss_over_all_classes_is_the_whole_one(self):
        w, b = self.rng.randn(4, 3).astype(np.float32), self.rng.randn(4).astype(np.float32)
        x = self.rng.randn(2, 3).astype(np.float32)
        labels = np.array([[1], [3]])
        others = (np.arange(4), np.ones([2, 1], np.float32), np.ones([4], np.float32))
        for partitions in ([w], [w[::2], w[1::2]]):
            loss = tf.nn.sampled_softmax_loss(
                [tf.constant(p) for p in partitions],
                tf.constant(b),
                tf.constant(labels),
                tf.constant(x),
                4,
                4,
                sampled_values=others,
            )
            logits = x @ w.T + b
            self.check(loss, -np.log(softmax(logits)[[0, 1], [1, 3]]))

    def test_embeddings(self):
        table = np.arange(10.0).reshape(5, 2).astype(np.float32)
        ids = np.array([[4, 0], [3, 3]])
        mod = [tf.constant(table[::2]), tf.constant(table[1::2])]
        div = [tf.constant(table[:3]), tf.constant(table[3:])]
        self.check(tf.nn.embedding_lookup(mod, ids), table[ids])
        self.check(tf.nn.embedding_lookup(div, ids, partition_strategy="div"), table[ids])
        one = tf.nn.embedding_lookup(tf.constant(table), ids, name="emb")
        self.assertEqual(one.op.name, "emb/Identity")
        sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 4], tf.int64), [3, 2])
        weights = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 3.0, 2.0], [3, 2])
        self.check(
            tf.nn.safe_embedding_lookup_sparse(tf.constant(table), sparse, weights, combiner="mean"),
            [(table[1] + 3 * table[3]) / 4, [0, 0], table[4]],
        )
        self.check(
            tf.nn.safe_embedding_lookup_sparse(tf.constant(table), sparse, combiner="sum", default_id=2),
            [table[1] + table[3], table[2], table[4]],
        )


if __name__ == "__main__":
    unittest.main()

"""tf.losses and tf.metrics: values (those of TensorFlow), weights, reductions, collections and updates."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np

PREDICTIONS = np.array([[0.1, 0.9], [0.8, 0.3], [0.4, 0.6]], np.float32)
LABELS = np.array([[0, 1], [1, 0], [1, 0]], np.float32)


class LossesTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def evaluate(self, tensors):
        with tf.Session() as session:
            return session.run(tensors)

    def test_values(self):
        losses = {
            "mean_squared_error": np.mean((PREDICTIONS - LABELS) ** 2),
            "absolute_difference": np.mean(abs(PREDICTIONS - LABELS)),
            "log_loss": -np.mean(np.log(np.where(LABELS == 1, PREDICTIONS, 1 - PREDICTIONS))),
            "hinge_loss": np.mean(np.maximum(0, 1 - (2 * LABELS - 1) * PREDICTIONS)),
        }
        made = {name: getattr(tf.losses, name)(LABELS, PREDICTIONS) for name in losses}
        values = self.evaluate(made)
        for name, wanted in losses.items():
            self.assertAlmostEqual(float(values[name]), float(wanted), places=5, msg=name)
        self.assertEqual(tf.losses.get_losses(), list(made.values()))
        self.assertAlmostEqual(
            float(self.evaluate(tf.losses.get_total_loss())), float(sum(losses.values())), places=5
        )

    def test_cross_entropies_agree(self):
        classes = tf.constant([1, 0, 0])
        dense = tf.losses.softmax_cross_entropy(LABELS, PREDICTIONS)
        sparse = tf.losses.sparse_softmax_cross_entropy(classes, PREDICTIONS)
        column = tf.losses.sparse_softmax_cross_entropy(classes[:, None], PREDICTIONS)
        dense, sparse, column = self.evaluate([dense, sparse, column])
        self.assertAlmostEqual(dense, sparse, places=6)
        self.assertAlmostEqual(dense, column, places=6)

    def test_weights_and_reductions(self):
        weights = tf.constant([[1.0], [0.0], [2.0]])
        squares = (PREDICTIONS - LABELS) ** 2
        total = squares[0].sum() + 2 * squares[2].sum()
        reductions = tf.losses.Reduction
        wanted = {
            reductions.SUM: total,
            reductions.MEAN: total / 6,
            reductions.SUM_OVER_BATCH_SIZE: total / 6,
            reductions.SUM_BY_NONZERO_WEIGHTS: total / 4,
        }
        for reduction, value in wanted.items():
            loss = tf.losses.mean_squared_error(LABELS, PREDICTIONS, weights, reduction=reduction)
            self.assertAlmostEqual(float(self.evaluate(loss)), float(value), places=5, msg=reduction)
        self.assertEqual(self.evaluate(tf.losses.mean_squared_error(LABELS, PREDICTIONS, 0.0)), 0)
        with self.assertRaisesRegex(ValueError, "can not be broadcast"):
            tf.losses.mean_squared_error(LABELS, PREDICTIONS, tf.ones([2, 2]))
        with self.assertRaisesRegex(ValueError, r"Can not squeeze dim\[1\]"):
            tf.losses.sparse_softmax_cross_entropy([[0, 1], [2, 3]], tf.ones([4, 4]))

    def test_names(self):
        loss = tf.losses.mean_squared_error(LABELS, tf.placeholder(tf.float32, [None, 2]))
        self.assertEqual(loss.name, "mean_squared_error/value:0")
        loss = tf.losses.softmax_cross_entropy(LABELS, PREDICTIONS)
        self.assertEqual(loss.name, "softmax_cross_entropy_loss/value:0")


class MetricsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def streamed(self, metric, feeds):
        """The value after the updates with each of `feeds`, and what the last update returned."""
        value, update = metric
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            for feed in feeds:
                last = session.run(update, feed)
            return session.run(value), last

    def test_means_over_batches(self):
        x = tf.placeholder(tf.float32, [None])
        weights = tf.placeholder(tf.float32, [None])
        metric = tf.metrics.mean(x, weights)
        feeds = [{x: [1, 2, 3], weights: [1, 0, 1]}, {x: [10], weights: [2]}]
        self.assertEqual(self.streamed(metric, feeds), (6, 6))
        self.assertEqual([v.name for v in tf.local_variables()], ["mean/total:0", "mean/count:0"])
        self.assertEqual(tf.get_collection(tf.GraphKeys.METRIC_VARIABLES), tf.local_variables())
        self.assertEqual((metric[0].name, metric[1].name), ("mean/value:0", "mean/update_op:0"))

    def test_a_value_is_zero_before_the_first_update(self):
        value, _ = tf.metrics.accuracy([1], [1])
        self.assertEqual(self.streamed((value, tf.no_op()), [None])[0], 0)

    def test_classification(self):
        labels, predictions = [0, 1, 0, 1], [0, 1, 1, 0]
        scores = tf.constant([0.1, 0.8, 0.6, 0.4])
        wanted = {
            "accuracy": (tf.metrics.accuracy(labels, predictions), 0.5),
            "precision": (tf.metrics.precision(labels, predictions), 0.5),
            "recall": (tf.metrics.recall(labels, predictions, weights=[1.0, 2.0, 0.0, 1.0]), 2 / 3),
            "false_positives": (tf.metrics.false_positives(labels, predictions), 1),
            "mean_iou": (tf.metrics.mean_iou(tf.constant(labels), tf.constant(predictions), 2), 1 / 3),
            "auc": (tf.metrics.auc(labels, scores), 0.75),
            "specificity": (tf.metrics.specificity_at_sensitivity(labels, scores, 0.6), 1),
        }
        for name, (metric, value) in wanted.items():
            self.assertAlmostEqual(float(self.streamed(metric, [None])[0]), value, places=5, msg=name)
        at = tf.metrics.precision_at_thresholds(labels, scores, [0.3, 0.5])
        np.testing.assert_allclose(self.streamed(at, [None])[0], [2 / 3, 0.5], rtol=1e-5)

    def test_rows_of_labels_may_be_filled_up_with_negative_numbers(self):
        scores = tf.constant([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
        labels = tf.constant([[2, 3], [3, -1]], tf.int64)
        update = tf.metrics.average_precision_at_k(labels, scores, 2)[1]
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            self.assertEqual(session.run(update), 0.5)

    def test_the_best_k(self):
        scores = tf.constant([[0.1, 0.8, 0.6, 0.4], [0.3, 0.2, 0.9, 0.5]])
        labels = tf.constant([[1, 3], [0, 2]], tf.int64)
        for metric, value in (
            (tf.metrics.precision_at_k(labels, scores, 2), 0.5),
            (tf.metrics.recall_at_k(labels, scores, 2), 0.5),
            (tf.metrics.average_precision_at_k(labels, scores, 3), (1 + 2 / 3) / 2),
        ):
            self.assertAlmostEqual(self.streamed(metric, [None])[0], value, places=6)


if __name__ == "__main__":
    unittest.main()

"""Batches of steps that run at the same time, with their gradients."""

import threading
import unittest

import support
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib.batching.python.ops import batch_ops

_HOUR = 3600 * 1000 * 1000  # in microseconds: a batch of these tests ends when it is full


def run_together(session, fetch, feeds):
    """The values of one fetch in steps that run at the same time."""
    values = [None] * len(feeds)

    def run(i):
        values[i] = session.run(fetch, feeds[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return values


class BatchTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_a_function_is_called_once_for_all(self):
        scale = tf.constant(2.0)

        @tf.nondifferentiable_batch_function(1, 4, _HOUR)
        def normalized(x):
            return x * scale - tf.reduce_mean(x)

        x = tf.placeholder(tf.float32, [2])
        (y,) = normalized(x)
        with tf.Session() as session:
            first, second = run_together(session, y, [{x: [1, 2]}, {x: [3, 6]}])
        np.testing.assert_allclose(first, [-1, 1])
        np.testing.assert_allclose(second, [3, 9])
        with self.assertRaisesRegex(ValueError, "must be Tensors"):
            normalized(1)

    def test_gradients_are_those_of_each_step(self):
        x = tf.placeholder(tf.float32, [None, 2])
        rows = []

        @batch_ops.batch_function_v1(1, 3, _HOUR)
        def squares(batched):
            rows.append(tf.shape(batched)[0])
            return batched * batched

        y = squares(x)
        (slope,) = tf.gradients(y, x)
        with tf.Session() as session:
            feeds = [{x: [[1, 2]]}, {x: [[3, 4], [5, 6]]}]
            results = run_together(session, [y, slope, rows[0]], feeds)
        for feed, (value, gradient, _) in zip(feeds, results):
            np.testing.assert_allclose(value, np.square(feed[x]))
            np.testing.assert_allclose(gradient, 2 * np.array(feed[x]))
        self.assertEqual(sorted(result[2] for result in results), [0, 3])


if __name__ == "__main__":
    unittest.main()

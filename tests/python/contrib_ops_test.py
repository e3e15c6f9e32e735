"""Ops of tf.contrib: slices that are joined, periodic resampling, buckets of hash tables, and counts of memory."""

import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np


class ContribOpsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_slices_of_a_batch_are_joined(self):
        """Words of several documents, one behind another, as sums and extremes of documents."""
        words = np.random.RandomState(0).rand(7, 3).astype(np.float32)
        starts = tf.placeholder(tf.int64, [None])
        total = tf.contrib.reduce_slice_ops.reduce_slice_sum(words, starts, 0)
        ends = tf.constant([[0, 3], [3, 100]])
        largest = tf.contrib.reduce_slice_ops.reduce_slice_max(words, ends, 0, name="largest")
        self.assertEqual((total.name, largest.name), ("ReduceSliceSum:0", "largest:0"))
        self.assertEqual((total.shape.as_list(), largest.shape.as_list()), ([None, 3], [2, 3]))
        with tf.Session() as session:
            total, largest = session.run([total, largest], {starts: [0, 2, 2, 7]})
        np.testing.assert_allclose(total, [words[:2].sum(0), [0] * 3, words[2:].sum(0)], rtol=1e-6)
        np.testing.assert_allclose(largest, [words[:3].max(0), words[3:].max(0)])

    def test_a_sub_pixel_convolution_has_a_gradient(self):
        """An image of 4 times the pixels out of 4 channels."""
        channels = tf.constant(np.arange(2 * 2 * 4, dtype=np.float32).reshape(2, 2, 4))
        image = tf.contrib.periodic_resample.periodic_resample(channels, [4, 4, None])
        weights = np.arange(16, dtype=np.float32).reshape(4, 4, 1)
        (grad,) = tf.gradients(image * weights, channels)
        with tf.Session() as session:
            image, grad = session.run([image, grad])
        places = np.arange(16).reshape(2, 2, 2, 2).transpose(0, 2, 3, 1).reshape(2, 2, 4)
        np.testing.assert_array_equal(image[:, :, 0][:2, :2], [[0, 2], [1, 3]])
        np.testing.assert_array_equal(grad, places)

    def test_near_points_are_found_in_buckets(self):
        rng = np.random.RandomState(0)
        planes, points = rng.randn(8, 3 * 6), rng.randn(200, 8)
        near = points + 0.05 * rng.randn(200, 8)
        probes = tf.contrib.nearest_neighbor.hyperplane_lsh_probes
        with tf.Session() as session:
            own, _ = session.run(probes(points @ planes, 3, 6, 3))
            first, _ = session.run(probes(near @ planes, 3, 6, 3))
            looked_up, tables = session.run(probes(near @ planes, 3, 6, 12))
        found = [
            any(own[i, table] == bucket for bucket, table in zip(looked_up[i], tables[i])) for i in range(200)
        ]
        self.assertGreater(np.mean(found), np.mean((own == first).any(1)) - 1e-9)
        self.assertGreater(np.mean(found), 0.95)
        np.testing.assert_array_equal(looked_up[:, :3], first)

    def test_memory_of_a_variable_is_counted(self):
        stats = tf.contrib.memory_stats
        table = tf.get_variable("table", [1 << 20], initializer=tf.zeros_initializer())
        in_use, most, limit = stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()
        with tf.Session() as session:
            before = session.run(in_use)
            session.run(table.initializer)
            after, most, limit = session.run([in_use, most, limit])
        self.assertGreaterEqual(after - before, 4 << 20)
        self.assertGreaterEqual(most, after)
        self.assertEqual(limit, -1)


if __name__ == "__main__":
    unittest.main()

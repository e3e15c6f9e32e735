"""Ragged tensors: rows of different lengths, as nested lists."""

import os
import tempfile
import unittest

import support
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.python.ops.ragged import ragged_conversion_ops


class RaggedTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.rows = [[1, 2], [], [3, 4, 5]]
        self.ragged = tf.ragged.constant(self.rows)

    def lists(self, tensor):
        with tf.Session() as session:
            value = session.run(tensor)
        return value.to_list() if isinstance(value, tf.ragged.RaggedTensorValue) else value.tolist()

    def test_ways_to_say_where_rows_are(self):
        make = tf.RaggedTensor
        for made in (
            make.from_row_splits([1, 2, 3, 4, 5], [0, 2, 2, 5]),
            make.from_row_lengths([1, 2, 3, 4, 5], [2, 0, 3]),
            make.from_value_rowids([1, 2, 3, 4, 5], [0, 0, 2, 2, 2]),
            make.from_row_starts([1, 2, 3, 4, 5], [0, 2, 2]),
            make.from_row_limits([1, 2, 3, 4, 5], [2, 2, 5]),
            make.from_tensor([[1, 2, 0], [0, 0, 0], [3, 4, 5]], padding=0),
            make.from_sparse(self.ragged.to_sparse()),
        ):
            self.assertEqual(self.lists(made), self.rows)
            self.assertEqual(made.shape.as_list()[1:], [None])

    def test_parts_and_other_tensors(self):
        self.assertEqual(self.lists(self.ragged.row_lengths()), [2, 0, 3])
        self.assertEqual(self.lists(self.ragged.value_rowids()), [0, 0, 2, 2, 2])
        self.assertEqual(self.lists(self.ragged.bounding_shape()), [3, 3])
        self.assertEqual(self.lists(self.ragged.to_tensor(9)), [[1, 2, 9], [9, 9, 9], [3, 4, 5]])
        cut = ragged_conversion_ops.ragged_to_dense(self.ragged, shape=tf.constant([2, 1]))
        self.assertEqual((self.lists(cut), cut.shape.as_list()), ([[1], [0]], [2, 1]))
        unknown = tf.placeholder_with_default([2.0, 1.0], None)
        cut = ragged_conversion_ops.ragged_to_dense(self.ragged, shape=unknown)
        self.assertEqual((self.lists(cut), cut.shape.as_list()), ([[1], [0]], [None, None]))
        deep = tf.ragged.constant([[[1], [2, 3]], []])
        self.assertEqual(deep.ragged_rank, 2)
        self.assertEqual(self.lists(deep), [[[1], [2, 3]], []])
        self.assertEqual(self.lists(deep.to_tensor()), [[[1, 0], [2, 3]], [[0, 0], [0, 0]]])

    def test_slices(self):
        self.assertEqual(self.lists(self.ragged[2]), [3, 4, 5])
        self.assertEqual(self.lists(self.ragged[1:]), [[], [3, 4, 5]])
        self.assertEqual(self.lists(self.ragged[:, :1]), [[1], [], [3]])
        self.assertEqual(self.lists(self.ragged[:, -2:]), [[1, 2], [], [4, 5]])
        with self.assertRaisesRegex(ValueError, "inner ragged dimension"):
            self.ragged[:, 0]

    def test_operators_and_reductions(self):
        self.assertEqual(self.lists(2 * self.ragged + 1), [[3, 5], [], [7, 9, 11]])
        self.assertEqual(self.lists(self.ragged * self.ragged), [[1, 4], [], [9, 16, 25]])
        self.assertEqual(
            self.lists(tf.ragged.map_flat_values(tf.square, self.ragged)), [[1, 4], [], [9, 16, 25]]
        )
        self.assertEqual(self.lists(tf.square(tf.cast(self.ragged, "float32"))), [[1, 4], [], [9, 16, 25]])
        self.assertEqual(tf.square(self.ragged, name="squared").values.op.name, "squared")
        self.assertEqual(self.lists(tf.maximum(self.ragged, 3)), [[3, 3], [], [3, 4, 5]])
        self.assertEqual(self.lists(tf.reduce_sum(self.ragged, axis=1)), [3, 0, 12])
        with self.assertRaises(tf.errors.InvalidArgumentError):
            self.lists(self.ragged + tf.ragged.constant([[1, 2, 3], [], [4, 5]]))

    def test_reductions_along_other_dimensions(self):
        self.assertEqual(self.lists(tf.reduce_sum(self.ragged, axis=0)), [4, 6, 5])
        self.assertEqual(self.lists(tf.reduce_max(self.ragged, axis=[0, 1])), 5)
        self.assertEqual(self.lists(tf.reduce_mean(self.ragged)), 3.0)
        self.assertEqual(self.lists(tf.reduce_mean(self.ragged, axis=0)), [2.0, 3.0, 5.0])
        self.assertEqual(self.lists(tf.reduce_sum(self.ragged, axis=1, keepdims=True)), [[3], [0], [12]])
        self.assertEqual(self.lists(tf.reduce_any(self.ragged > 4, axis=1)), [False, False, True])
        self.assertEqual(self.lists(tf.reduce_all(self.ragged > 2, axis=1)), [False, True, True])
        deep = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
        self.assertEqual(self.lists(tf.reduce_sum(deep, axis=2)), [[3], [7, 11]])
        self.assertEqual(self.lists(tf.reduce_sum(deep, axis=[1, 2])), [3, 18])

    def test_feeds(self):
        fed = tf.ragged.placeholder(tf.float32, ragged_rank=1)
        value = tf.ragged.constant_value([[1.0], [2.0, 3.0]], np.float32)
        with tf.Session() as session:
            self.assertEqual(session.run(-fed, {fed: value}).to_list(), [[-1], [-2, -3]])

    def test_strings(self):
        self.assertEqual(
            self.lists(tf.strings.split(["a b", "c"], result_type="RaggedTensor")), [[b"a", b"b"], [b"c"]]
        )
        codes = tf.strings.unicode_decode(["h\u00e9", ""], "UTF-8")
        self.assertEqual(self.lists(codes), [[104, 233], []])
        self.assertEqual(self.lists(tf.strings.unicode_encode(codes, "UTF-8")), ["h\u00e9".encode(), b""])
        words = tf.ragged.constant([["a", "b", "c"], ["d"]])
        self.assertEqual(self.lists(tf.strings.ngrams(words, 2)), [[b"a b", b"b c"], []])
        self.assertEqual(self.lists(tf.strings.ngrams([["a", "b", "c"]] * 2, 2)), [[b"a b", b"b c"]] * 2)
        with self.assertRaisesRegex(ValueError, "pad_values must be provided"):
            tf.strings.ngrams(words, 2, padding_width=1)

    def test_joining_and_choosing_rows(self):
        other = tf.ragged.constant([[6], [7, 8], []])
        pair = [self.ragged, other]
        self.assertEqual(self.lists(tf.concat(pair, 0)), self.rows + [[6], [7, 8], []])
        self.assertEqual(self.lists(tf.concat(pair, 1)), [[1, 2, 6], [7, 8], [3, 4, 5]])
        self.assertEqual(self.lists(tf.stack(pair)), [self.rows, [[6], [7, 8], []]])
        self.assertEqual(self.lists(tf.stack(pair, 1)), [[[1, 2], [6]], [[], [7, 8]], [[3, 4, 5], []]])
        self.assertEqual(self.lists(tf.ragged.stack([[1, 2], [3]])), [[1, 2], [3]])
        self.assertEqual(self.lists(tf.gather(self.ragged, [2, 0, 2])), [[3, 4, 5], [1, 2], [3, 4, 5]])
        self.assertEqual(self.lists(tf.gather([10.0, 20.0, 30.0], other - 6)), [[10.0], [20.0, 30.0], []])
        self.assertEqual(self.lists(tf.gather(self.ragged, tf.ragged.constant([[2], []]))), [[[3, 4, 5]], []])
        self.assertEqual(
            self.lists(tf.ragged.boolean_mask(self.ragged, self.ragged > 1)), [[2], [], [3, 4, 5]]
        )
        self.assertEqual(self.lists(tf.boolean_mask(self.ragged, [True, True, False])), [[1, 2], []])
        self.assertEqual(self.lists(tf.expand_dims(self.ragged, 1)), [[[1, 2]], [[]], [[3, 4, 5]]])

    def test_rows_broadcast(self):
        column = tf.constant([[10], [20], [30]])
        self.assertEqual(self.lists(self.ragged + column), [[11, 12], [], [33, 34, 35]])
        deep = tf.ragged.constant([[[1, 2], [3]], [[4]]])
        self.assertEqual(
            self.lists(deep * tf.ragged.constant([[[10], [20]], [[30]]], ragged_rank=1)),
            [[[10, 20], [60]], [[120]]],
        )
        with self.assertRaises(tf.errors.InvalidArgumentError):
            self.lists(self.ragged + tf.ragged.constant([[1], [2], [3, 4, 5]]))

    def test_functions_of_tensors_take_ragged_ones(self):
        ragged = self.ragged
        self.assertEqual(self.lists(tf.gather(ragged, [2, 0])), [[3, 4, 5], [1, 2]])
        self.assertEqual(self.lists(tf.gather_nd(ragged, [[2, 1], [0, 0]])), [4, 1])
        self.assertEqual(
            self.lists(tf.batch_gather(ragged, tf.ragged.constant([[1], [], [2, 0]]))), [[2], [], [5, 3]]
        )
        self.assertEqual(self.lists(tf.tile(ragged, [1, 2])), [[1, 2, 1, 2], [], [3, 4, 5, 3, 4, 5]])
        self.assertEqual(self.lists(tf.where(ragged > 2)), [[2, 0], [2, 1], [2, 2]])
        self.assertEqual(self.lists(tf.one_hot(ragged, 6, axis=1))[0], np.eye(6)[[1, 2]].tolist())
        self.assertEqual(self.lists(tf.where(ragged > 2, ragged, -ragged)), [[-1, -2], [], [3, 4, 5]])
        self.assertEqual(self.lists(tf.squeeze(tf.expand_dims(ragged, 0), 0)), self.rows)
        self.assertEqual(self.lists([tf.size(ragged), tf.rank(ragged)][0]), 5)
        self.assertEqual(self.lists(tf.unsorted_segment_sum(ragged, [1, 1, 0], 2)), [[3, 4, 5], [1, 2]])
        self.assertEqual(
            self.lists(tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 0, 1], 3)),
            [[b"b"], [b"a", b"c"], []],
        )

    def test_reductions_over_rows(self):
        deep = tf.ragged.constant([[[1, 2], [3]], [[4]]])
        self.assertEqual(self.lists(tf.reduce_sum(deep, axis=0)), [[5, 2], [3]])
        self.assertEqual(self.lists(tf.reduce_sum(deep, axis=1)), [[4, 2], [4]])
        self.assertEqual(self.lists(tf.reduce_max(deep, axis=[1, 2])), [3, 4])

    def test_rows_are_checked(self):
        for bad in ([0, 2, 1, 5], [1, 2, 2, 5], [0, 2, 2, 6]):
            with self.subTest(bad), self.assertRaises((ValueError, tf.errors.InvalidArgumentError)):
                self.lists(tf.RaggedTensor.from_row_splits([1, 2, 3, 4, 5], bad))

    def test_a_gathered_row_has_a_sparse_gradient(self):
        values = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
        ragged = tf.RaggedTensor.from_row_splits(values, [0, 2, 2, 5])
        loss = tf.reduce_sum(tf.gather(ragged, [2, 2]).flat_values)
        (gradient,) = tf.gradients(loss, [values])
        self.assertIsInstance(gradient, tf.IndexedSlices)
        self.assertEqual(self.lists(tf.convert_to_tensor(gradient)), [0, 0, 2, 2, 2])

    def test_signatures_of_saved_models_have_ragged_tensors(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "model")
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.compat.v1.ragged.placeholder(tf.float32, 1, name="x")
                y = tf.ragged.map_flat_values(tf.multiply, x, 2.0)
                tf.saved_model.simple_save(session, path, {"x": x}, {"y": y})
            with tf.Graph().as_default(), tf.Session() as session:
                signature = tf.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
                x, y = (
                    tf.compat.v1.saved_model.get_tensor_from_tensor_info(info)
                    for info in (signature.inputs["x"], signature.outputs["y"])
                )
                self.assertEqual((y.dtype, y.ragged_rank), (tf.float32, 1))
                fed = {x: tf.compat.v1.ragged.constant_value([[1.0, 2.0], [3.0]])}
                self.assertEqual(session.run(y, fed).to_list(), [[2.0, 4.0], [6.0]])


if __name__ == "__main__":
    unittest.main()

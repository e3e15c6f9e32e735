"""Shapes, slices, joining and selection of tensors: values as numpy's, names of nodes as TensorFlow
1.15's."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np


class ArrayOpsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def run_all(self, tensors, feeds=None):
        with tf.Session() as session:
            return session.run(tensors, feeds)

    def names(self):
        return [n.name for n in tf.get_default_graph().as_graph_def().node]

    def test_slices_are_those_of_numpy(self):
        x = np.arange(24).reshape(2, 3, 4)
        t = tf.constant(x)
        one = tf.constant(1)
        cases = [
            (t[1], x[1]),
            (t[-1, 1:], x[-1, 1:]),
            (t[..., 2], x[..., 2]),
            (t[:, ::-1, ::2], x[:, ::-1, ::2]),
            (t[0, tf.newaxis, :, 1:3], x[0, np.newaxis, :, 1:3]),
            (t[one:, one, : one + 1], x[1:, 1, :2]),
            (t[:, tf.constant(2, tf.int64)], x[:, 2]),
            (t[np.int64(0), 0], x[0, 0]),
        ]
        for (tensor, expected), value in zip(cases, self.run_all([c[0] for c in cases])):
            np.testing.assert_array_equal(value, expected)
            self.assertTrue(tensor.shape.is_compatible_with(expected.shape))

    def test_a_slice_is_named_after_the_op_with_its_bounds_below(self):
        x = tf.placeholder(tf.float32, [3, 4], name="x")
        self.assertEqual(x[1, tf.newaxis, ...].shape.as_list(), [1, 4])
        self.assertEqual(
            self.names(),
            ["x", "strided_slice/stack", "strided_slice/stack_1", "strided_slice/stack_2", "strided_slice"],
        )

    def test_what_is_no_index(self):
        x = tf.zeros([3, 4])
        for index in (1.5, "a", tf.constant(1.0), ["b"]):
            with self.assertRaises(TypeError, msg=index):
                x[index]
        with self.assertRaises(ValueError):
            x[0, 0, 0]

    def test_a_list_with_tensors_becomes_one_tensor(self):
        n = tf.placeholder(tf.int32, [], name="n")
        t = tf.reshape(tf.range(6), [n, 2])
        self.assertEqual(t.shape.as_list(), [3, 2])
        self.assertIn("Reshape/shape/1", self.names())
        self.assertEqual(tf.get_default_graph().get_operation_by_name("Reshape/shape").type, "Pack")
        nested = tf.convert_to_tensor([[n, 1], (2, n)])
        np.testing.assert_array_equal(self.run_all(nested, {n: 7}), [[7, 1], [2, 7]])
        with self.assertRaises(TypeError):
            tf.convert_to_tensor([n, tf.constant(1.0)])

    def test_known_shapes_are_constants(self):
        x = tf.placeholder(tf.float32, [2, None])
        y = tf.placeholder(tf.float32, [2, 3])
        kinds = [t.op.type for t in (tf.shape(y), tf.size(y), tf.rank(x), tf.shape(x), tf.size(x))]
        self.assertEqual(kinds, ["Const", "Const", "Const", "Shape", "Size"])
        self.assertEqual([tf.zeros([2, 3]).op.type, tf.zeros([1000]).op.type], ["Const", "Fill"])
        self.assertEqual(tf.zeros_like(x).op.type, "ZerosLike")

    def test_joining_and_taking_apart(self):
        a, b = np.arange(6).reshape(2, 3), np.arange(6, 12).reshape(2, 3)
        got = self.run_all(
            [
                tf.concat([a, b], 1),
                tf.concat([a], 0),
                tf.stack([a, b], axis=-1),
                tf.unstack(tf.constant(a), axis=1),
                tf.split(tf.constant(a), 3, 1),
                tf.split(tf.constant(a), [1, 2], axis=1),
                tf.transpose(a),
                tf.pad(a, [[1, 0], [0, 2]], constant_values=9),
            ]
        )
        np.testing.assert_array_equal(got[0], np.concatenate([a, b], 1))
        np.testing.assert_array_equal(got[1], a)
        np.testing.assert_array_equal(got[2], np.stack([a, b], -1))
        np.testing.assert_array_equal(got[3], a.T)
        np.testing.assert_array_equal(np.concatenate(got[4], 1), a)
        np.testing.assert_array_equal(got[5][1], a[:, 1:])
        np.testing.assert_array_equal(got[6], a.T)
        np.testing.assert_array_equal(got[7], np.pad(a, [[1, 0], [0, 2]], "constant", constant_values=9))
        with self.assertRaisesRegex(ValueError, "Cannot infer num"):
            tf.unstack(tf.placeholder(tf.float32, [None]))
        with self.assertRaisesRegex(ValueError, "Rank-0"):
            tf.split(tf.constant(a), tf.constant(2))

    def test_selection(self):
        x = np.arange(12.0).reshape(3, 4)
        mask = np.array([True, False, True])
        t = tf.constant(x)
        masked = tf.boolean_mask(t, mask)
        self.assertEqual(masked.shape.as_list(), [None, 4])
        got = self.run_all(
            [
                masked,
                tf.boolean_mask(t, [True, False, True, True], axis=1),
                t[t > 5],
                tf.where(t > 9),
                tf.where([True, False], [1, 2], [3, 4]),
                tf.gather(t, [2, 0]),
                tf.gather(t, [[0, 3], [1, 1], [2, 0]], axis=1, batch_dims=1),
                tf.gather_nd(t, [[0, 1], [2, 3]]),
                tf.batch_gather(t, [[0], [1], [2]]),
                tf.one_hot([1, -1], 3, on_value=5, off_value=2),
                tf.sequence_mask([1, 3], 4),
                tf.repeat([1, 2, 3], [2, 0, 1]),
                tf.searchsorted([1, 3, 5], [0, 3, 9], side="right"),
            ]
        )
        expected = [
            x[mask],
            x[:, [True, False, True, True]],
            x[x > 5],
            np.argwhere(x > 9),
            [1, 4],
            x[[2, 0]],
            [[0, 3], [5, 5], [10, 8]],
            [1, 11],
            [[0], [5], [10]],
            [[2, 5, 2], [2, 2, 2]],
            [[1, 0, 0, 0], [1, 1, 1, 0]],
            [1, 1, 3],
            [0, 2, 3],
        ]
        for value, want in zip(got, expected):
            np.testing.assert_array_equal(value, want)

    def test_deprecated_names_of_arguments(self):
        x = tf.zeros([1, 3])
        self.assertEqual(tf.squeeze(x, squeeze_dims=0).shape.as_list(), [3])
        self.assertEqual(tf.expand_dims(x, dim=-1).shape.as_list(), [1, 3, 1])
        with self.assertRaisesRegex(ValueError, "Cannot specify both"):
            tf.expand_dims(x, axis=0, dim=0)

    def test_the_gradient_of_copies_of_many_dimensions_sums_them(self):
        sizes = np.array([2, 1, 3, 1, 2, 1, 2, 2])
        for multiples in ([2, 1, 1, 3, 2, 1, 1, 2], [1, 2, 1, 1, 0, 2, 1]):
            shape = sizes[: len(multiples)]
            x = tf.placeholder(tf.float32, [None] * len(shape))
            copies = np.arange(np.prod(shape * multiples), dtype=np.float32).reshape(shape * multiples)
            gradient = tf.gradients(tf.tile(x, multiples) * copies, x)[0]
            split = copies.reshape(np.stack([multiples, shape], 1).ravel())
            expected = split.sum(tuple(range(0, split.ndim, 2)))
            np.testing.assert_array_equal(self.run_all(gradient, {x: np.zeros(shape)}), expected)


class NodesOf115Test(unittest.TestCase):
    """Seeds of random ops are numbers of nodes, so that functions build the nodes that 1.15 builds."""

    def nodes(self, function):
        with tf.Graph().as_default() as graph:
            size = tf.placeholder(tf.int32, [], name="n")
            function(size)
            return [op.name for op in graph.get_operations()][1:]

    def test_zeros_with_a_tensor_among_the_sizes(self):
        self.assertEqual(
            self.nodes(lambda n: tf.zeros([n, 3])),
            "zeros/mul/y zeros/mul zeros/Less/y zeros/Less zeros/packed/1 zeros/packed zeros/Const zeros".split(),
        )

    def test_one_hot_with_values(self):
        self.assertEqual(
            self.nodes(lambda n: tf.one_hot(n, 3, 1.0, 0.0)),
            "one_hot/Const one_hot/Const_1 one_hot/depth one_hot/on_value one_hot/off_value one_hot".split(),
        )

    def test_sparse_tensors_of_known_shapes(self):
        sparse = lambda: tf.SparseTensor([[0, 0]], [1.0], [2, 6])  # noqa: E731
        made = self.nodes(lambda n: tf.sparse_reshape(sparse(), [-1, 3]).dense_shape)
        self.assertIn("SparseReshape/Const", made)
        made = self.nodes(lambda n: tf.sparse_reorder(sparse()).dense_shape)
        self.assertEqual("SparseTensor_1/dense_shape", made[-1])
        with self.assertRaisesRegex(ValueError, r"12 elements to shape \[5, 2\] \(10 elements\)"):
            tf.sparse_reshape(sparse(), [5, 2])

    def test_weighted_embeddings(self):
        sparse = lambda values: tf.SparseTensor([[0, 0]], values, [2, 6])  # noqa: E731
        made = self.nodes(
            lambda n: tf.nn.embedding_lookup_sparse(
                tf.zeros([5, 2]), sparse(tf.constant([0], tf.int64)), sparse([1.0])
            )
        )
        self.assertIn("embedding_lookup_sparse/Fill", made)

    def test_transpose_of_unknown_rank(self):
        self.assertEqual(
            self.nodes(lambda n: tf.transpose(tf.placeholder(tf.float32, name="x"))),
            "x transpose/Rank transpose/sub/y transpose/sub transpose/Range/start transpose/Range/delta "
            "transpose/Range transpose/sub_1 transpose".split(),
        )


if __name__ == "__main__":
    unittest.main()

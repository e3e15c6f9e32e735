"""Operators, reductions and products: types, values and names of nodes."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np


class MathOpsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def run_all(self, tensors, feeds=None):
        with tf.Session() as session:
            return session.run(tensors, feeds)

    def test_operators_take_the_type_of_the_tensor(self):
        x = np.array([-3.0, 1.5, 2.0], np.float32)
        t = tf.constant(x)
        cases = [
            (t + 1, x + 1, "add"),
            (1 - t, 1 - x, "sub"),
            ([1, 2, 3] * t, [1, 2, 3] * x, "mul"),
            (2 / t, 2 / x, "truediv"),
            (t // 2, x // 2, "floordiv"),
            (t % 2, x % 2, "mod"),
            (t**2, x**2, "pow"),
            (np.float32(2) * t, 2 * x, "mul_1"),
            (np.arange(3) - t, np.arange(3) - x, "sub_1"),
            (-t, -x, "Neg"),
            (abs(t), abs(x), "Abs"),
            (t < 0, x < 0, "Less"),
            (0 < t, x > 0, "Greater"),
            (~(t < 0), ~(x < 0), "LogicalNot"),
            ((t < 0) | (t > 1), (x < 0) | (x > 1), "or"),
        ]
        for (tensor, expected, name), value in zip(cases, self.run_all([c[0] for c in cases])):
            np.testing.assert_allclose(value, expected, err_msg=name)
            self.assertEqual(tensor.op.name, name)
            self.assertIn(tensor.dtype, (tf.float32, tf.bool))

    def test_integers_are_divided_as_float64(self):
        n = tf.constant([7, -7])
        self.assertEqual(
            [(n / 2).dtype, (n // 2).dtype, tf.div(n, 2).dtype], [tf.float64, tf.int32, tf.int32]
        )
        got = self.run_all([n / 2, n // 2, tf.div(n, 2), n % 4, tf.truncatediv(n, 2)])
        np.testing.assert_array_equal(got, [[3.5, -3.5], [3, -4], [3, -4], [3, 1], [3, -3]])

    def test_operands_of_different_types(self):
        with self.assertRaisesRegex(TypeError, "type float32 that does not match type int32"):
            tf.constant(1) + 1.5
        with self.assertRaises(TypeError):
            tf.constant(1) + tf.constant(1.0)
        with self.assertRaisesRegex(TypeError, "same dtype"):
            tf.constant(1) / tf.constant(1.0)

    def test_an_operand_may_know_what_to_do_with_a_tensor(self):
        class Scale:
            def __rmul__(self, tensor):
                return "scaled"

        self.assertEqual(tf.constant(1.0) * Scale(), "scaled")

    def test_equality_is_identity(self):
        a, b = tf.constant(1), tf.constant(1)
        self.assertTrue(a == a)
        self.assertFalse(a == b)
        self.assertEqual(len({a, b}), 2)

    def test_reductions(self):
        x = np.arange(-3.0, 3.0).reshape(2, 3)
        t = tf.constant(x)
        cases = [
            (tf.reduce_sum(t), x.sum(), "Sum"),
            (tf.reduce_mean(t, 0), x.mean(0), "Mean"),
            (tf.reduce_max(t, [0, 1]), x.max(), "Max"),
            (tf.reduce_prod(t, axis=-1, keep_dims=True), x.prod(-1, keepdims=True), "Prod"),
            (tf.reduce_any(t > 1, reduction_indices=1), (x > 1).any(1), "Any"),
            (tf.reduce_logsumexp(t, 1), np.log(np.exp(x).sum(1)), "ReduceLogSumExp/Add"),
            (tf.math.reduce_std(t), x.std(), "reduce_std/Sqrt"),
            (tf.count_nonzero(t, 0), [1, 2, 2], "count_nonzero/Sum"),
            (tf.argmax(t, 1), x.argmax(1), "ArgMax"),
            (tf.cumsum(t, 1, exclusive=True), x.cumsum(1) - x, "Cumsum"),
        ]
        for (tensor, expected, name), value in zip(cases, self.run_all([c[0] for c in cases])):
            np.testing.assert_allclose(value, expected, err_msg=name)
            self.assertEqual(tensor.op.name, name)
        with self.assertRaisesRegex(ValueError, "Cannot specify both"):
            tf.reduce_sum(t, axis=0, reduction_indices=0)

    def test_a_reduction_of_all_dimensions_is_a_scalar_whatever_the_shape(self):
        self.assertEqual(tf.reduce_sum(tf.placeholder(tf.float32, None)).shape.as_list(), [])

    def test_products_of_matrices(self):
        rng = np.random.RandomState(0)
        a, b = rng.randn(2, 3, 4), rng.randn(2, 4, 5)
        z = rng.randn(3, 4) + 1j * rng.randn(3, 4)
        got = self.run_all(
            [
                tf.matmul(a, b),
                tf.matmul(a, b.transpose(0, 2, 1), transpose_b=True),
                tf.matmul(z, z, adjoint_b=True),
                tf.tensordot(a, b, [[0, 2], [0, 1]]),
                tf.einsum("bij,bjk->ik", a, b),
                tf.einsum("ij,kj,lj->ikl", a[0], a[1], a[0]),
                tf.linalg.matvec(a[0], b[0, :, 0]),
            ]
        )
        expected = [
            a @ b,
            a @ b,
            z @ z.conj().T,
            np.tensordot(a, b, [[0, 2], [0, 1]]),
            np.einsum("bij,bjk->ik", a, b),
            np.einsum("ij,kj,lj->ikl", a[0], a[1], a[0]),
            a[0] @ b[0, :, 0],
        ]
        for value, want in zip(got, expected):
            np.testing.assert_allclose(value, want, rtol=1e-6)
        self.assertEqual(tf.matmul(a[0], b[0]).op.type, "MatMul")
        self.assertEqual(tf.matmul(a, b).op.type, "BatchMatMulV2")
        with self.assertRaisesRegex(ValueError, "Only one of transpose_a and adjoint_a"):
            tf.matmul(a, b, transpose_a=True, adjoint_a=True)

    def test_equations_of_einsum(self):
        rng = np.random.RandomState(0)
        a, b, c = (rng.randn(*shape) for shape in ((2, 3, 4), (4, 5), (2, 3, 3)))
        rows = tf.placeholder_with_default(a, [None, None, 4])
        calls = [
            ("...ij,jk", (a, b)),
            ("aij,jk->kia", (rows, b)),
            ("aij,aik->ajk", (rows, c)),
            ("aij,jk->aijk", (rows, b)),
            ("aij->j", (rows,)),
            ("aij,aij,aij->a", (rows, a, a)),
            ("ii", (c[0],)),
        ]
        got = self.run_all([tf.einsum(equation, *factors) for equation, factors in calls])
        for value, (equation, factors) in zip(got, calls):
            factors = [a if x is rows else x for x in factors]
            np.testing.assert_allclose(value, np.einsum(equation, *factors), rtol=1e-6)
        for equation, factors, message in [
            ("ij->ik", (b,), "Invalid equation: ij->ik"),
            ("iii", (c,), "Subscript not supported: an axis appears more than once: iii"),
            ("ii->i", (c[0],), "Subscript not supported: an axis appears more than once: ii"),
            ("ij,jk", (b,), 'Got 1 arguments for equation "ij,jk", expecting 2'),
            ("ij,jk", (a, b), "Tensor t0 of rank 3 does not match einsum reduction of length 2"),
            ("...i.", (b,), 'period "." found outside of ellipsis'),
            ("...ijk", (b,), "Ellipses lengths do not match."),
        ]:
            with self.assertRaises(ValueError) as caught:
                tf.einsum(equation, *factors)
            self.assertEqual(str(caught.exception), message)

    def test_einsum_reads_a_variable_within_the_node_that_takes_it(self):
        v = tf.Variable(np.ones((4, 5)), use_resource=True)
        self.assertEqual(
            tf.einsum("ij,jk->ik", np.ones((3, 4)), v).op.inputs[1].name, "einsum/MatMul/ReadVariableOp:0"
        )
        self.assertIs(tf.einsum("ij->ij", v), v)

    def test_tensordot_of_shapes_that_a_step_knows(self):
        x = tf.placeholder(tf.float32, [None, None, 3])
        made = tf.tensordot(x, tf.ones([3, 2]), [[2], [0]])
        self.assertEqual(made.shape.as_list(), [None, None, 2])
        np.testing.assert_array_equal(self.run_all(made, {x: np.ones([2, 1, 3])}), np.full([2, 1, 2], 3))

    def test_casts(self):
        x = tf.constant([-1000.0, 0.7, 1000.0])
        self.assertIs(tf.cast(x, tf.float32), x)
        got = self.run_all([tf.cast(x, tf.int32), tf.saturate_cast(x, tf.int8), tf.to_int64(x)])
        np.testing.assert_array_equal(got, [[-1000, 0, 1000], [-128, 0, 127], [-1000, 0, 1000]])

    def test_assertions_hold_at_once_or_in_the_step(self):
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.assert_less(2, 1)
        with self.assertRaisesRegex(ValueError, "must have rank 2"):
            tf.assert_rank(tf.zeros([3]), 2)
        with self.assertRaises(TypeError):
            tf.assert_integer(tf.zeros([3]))
        x = tf.placeholder(tf.float32, [None])
        with tf.control_dependencies([tf.assert_positive(x, message="weights")]):
            y = tf.identity(x)
        self.assertEqual(self.run_all(y, {x: [1.0]}), [1.0])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "weights"):
            self.run_all(y, {x: [0.0]})

    def test_shapes_by_symbols(self):
        x, y = tf.ones([3, 2], name="x"), tf.placeholder(tf.float32, [None, 2], name="y")
        tf.debugging.assert_shapes({x: ("n", 2), tf.constant(1): ("one",), tf.ones([1]): "1"})
        for shapes, message in (
            ({x: (4, 2)}, "Specified explicitly.  Tensor x:0 dimension 0 must have size 4.  Received size 3"),
            ({x: "nn"}, "Specified by tensor x:0 dimension 0.  Tensor x:0 dimension 1 must have size 3"),
            ({x: ("n", ..., "m")}, "only allowed as the first entry"),
            ({x: (None,) * 3}, "must have rank 3"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                tf.debugging.assert_shapes(shapes)
        with tf.control_dependencies([tf.debugging.assert_shapes([(x, "nm"), (y, "*nm")])]):
            same = tf.identity(y)
        self.run_all(same, {y: np.ones([3, 2])})
        with self.assertRaisesRegex(
            tf.errors.InvalidArgumentError, "dimension\\] \\[-2\\] \\[must have size\\] \\[3"
        ):
            self.run_all(same, {y: np.ones([4, 2])})

    def test_numbers_become_bfloat16_by_rounding(self):
        fed = tf.placeholder(tf.bfloat16)
        given = [1.0, -2.5, 1.00390625, 1.01171875, 3.0e38, 0.1]
        expected = [1.0, -2.5, 1.0, 1.015625, 3.0040553e38, 0.100097656]
        made = tf.constant(given, tf.bfloat16), tf.constant(np.array(given), tf.bfloat16), fed
        for got in self.run_all([tf.cast(x, tf.float32) for x in made], {fed: given}):
            np.testing.assert_array_equal(got, np.array(expected, np.float32))
        self.assertEqual(self.run_all(tf.cast(tf.ones([], tf.bfloat16), tf.float32)), 1)

    def test_sums_of_embeddings_of_half_precision_are_floats(self):
        ids = tf.SparseTensor([[0, 0], [0, 1]], tf.constant([0, 1], tf.int64), [1, 2])
        for dtype in (tf.float16, tf.bfloat16):
            total = tf.nn.embedding_lookup_sparse(tf.ones([2, 3], dtype), ids, None, combiner="sum")
            self.assertEqual((total.dtype, self.run_all(total).tolist()), (tf.float32, [[2, 2, 2]]))

    def test_sums_of_segments(self):
        x = np.arange(6.0).reshape(3, 2)
        got = self.run_all(
            [
                tf.unsorted_segment_mean(x, [1, 1, 3], 4),
                tf.bincount([1, 2, 2], minlength=4),
                tf.bincount([1, 2, 2], weights=[1.0, 2.0, 4.0]),
                tf.add_n([x, x, x]),
            ]
        )
        np.testing.assert_array_equal(got[0], [[0, 0], [1, 2], [0, 0], [4, 5]])
        np.testing.assert_array_equal(got[1], [0, 1, 2, 0])
        np.testing.assert_array_equal(got[2], [0, 1, 6])
        np.testing.assert_array_equal(got[3], 3 * x)

    def test_gradients_are_those_of_finite_differences(self):
        x = np.array([[0.3, -1.2, 0.8], [1.1, 0.4, -0.6]])
        t = tf.placeholder(tf.float64, x.shape)
        for function in (
            lambda v: tf.nn.l2_normalize(v, 1),
            lambda v: tf.boolean_mask(v, [True, False]) ** 3,
            lambda v: tf.clip_by_norm(v, 0.5),
            lambda v: tf.einsum("ij,kj->ik", v, v),
            lambda v: tf.gather(v, [[0, 1], [1, 2]], axis=1, batch_dims=1) ** 2,
            lambda v: tf.norm(v, axis=1),
            lambda v: tf.sort(v) * [1.0, 2.0, 3.0],
        ):
            y = tf.reduce_sum(function(t))
            (g,) = tf.gradients(y, t)
            numeric = np.zeros_like(x)
            for place in np.ndindex(*x.shape):
                step = np.zeros_like(x)
                step[place] = 1e-5
                above, below = (self.run_all(y, {t: x + s}) for s in (step, -step))
                numeric[place] = (above - below) / 2e-5
            np.testing.assert_allclose(self.run_all(g, {t: x}), numeric, atol=1e-6)


if __name__ == "__main__":
    unittest.main()

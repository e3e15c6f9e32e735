"""Linear algebra: what is decomposed is put together again, gradients are those of finite differences."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np


class LinalgTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        rng = np.random.RandomState(5)
        self.a = rng.randn(4, 3)
        self.b = rng.randn(4, 2)
        self.positive = self.a.T @ self.a + np.eye(3)

    def check(self, tensor, expected):
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(tensor), expected, rtol=1e-6, atol=1e-8)

    def check_gradient(self, function, x):
        t = tf.placeholder(tf.float64, x.shape)
        y = tf.reduce_sum(function(t))
        (g,) = tf.gradients(y, t)
        with tf.Session() as session:
            numeric = np.zeros_like(x)
            for place in np.ndindex(*x.shape):
                step = np.zeros_like(x)
                step[place] = 1e-6
                above, below = (session.run(y, {t: x + s}) for s in (step, -step))
                numeric[place] = (above - below) / 2e-6
            np.testing.assert_allclose(session.run(g, {t: x}), numeric, atol=1e-5, rtol=1e-5)

    def test_the_spectral_norm_of_tensors_of_an_unknown_rank(self):
        x, fed = np.random.RandomState(0).randn(2, 3, 4), tf.placeholder(tf.float64)
        for axis, keepdims in (((0, 1), False), ((-1, 0), True)):
            norm = tf.norm(fed, ord=2, axis=axis, keepdims=keepdims)
            with tf.Session() as session:
                got = session.run(norm, {fed: x})
            np.testing.assert_allclose(got, np.linalg.norm(x, 2, axis, keepdims), rtol=1e-10)

    def test_singular_values(self):
        for x in (self.a, self.a.T):
            s, u, v = tf.svd(tf.constant(x))
            self.check(tf.matmul(u * s, v, adjoint_b=True), x)
            self.check(s, np.linalg.svd(x, compute_uv=False))
            _, u, v = tf.svd(tf.constant(x), full_matrices=True)
            self.assertEqual([u.shape.as_list()[1], v.shape.as_list()[1]], list(x.shape))
            self.check_gradient(lambda t: tf.svd(t, compute_uv=False) * [1.0, 2.0, 3.0], x)
            self.check_gradient(lambda t: tf.svd(t)[1] ** 4, x)
        self.check(tf.norm(self.a, 2, axis=[0, 1]), np.linalg.norm(self.a, 2))

    def test_eigenvalues(self):
        values, vectors = tf.self_adjoint_eig(self.positive)
        self.check(tf.matmul(vectors * values, vectors, adjoint_b=True), self.positive)
        self.check(values, np.linalg.eigvalsh(self.positive))

        def symmetric(t):
            return t + tf.transpose(t)

        x = self.a[:3]
        self.check_gradient(lambda t: tf.self_adjoint_eigvals(symmetric(t)) ** 3, x)
        self.check_gradient(lambda t: tf.self_adjoint_eig(symmetric(t))[1] ** 4 * [1.0, 2.0, 3.0], x)

    def test_least_squares(self):
        wanted = np.linalg.lstsq(self.a, self.b, rcond=None)[0]
        self.check(tf.matrix_solve_ls(self.a, self.b), wanted)
        self.check(tf.matrix_solve_ls(self.a, self.b, fast=False), wanted)
        singular = np.outer(self.a[:, 0], [1.0, 2.0])
        self.check(tf.linalg.lstsq(singular, self.b, fast=False), np.linalg.pinv(singular) @ self.b)
        regular = np.linalg.solve(self.a.T @ self.a + 0.5 * np.eye(3), self.a.T @ self.b)
        self.check(tf.linalg.lstsq(self.a, self.b, l2_regularizer=0.5), regular)

        self.check_gradient(lambda t: tf.matrix_solve_ls(t, self.b, 0.5), self.a)
        t = tf.placeholder(tf.float64)  # whether there are more rows than columns is not known
        (g,) = tf.gradients(tf.matrix_solve_ls(t, self.b[:2]), t)
        known = tf.constant(self.a[:2])
        (wanted,) = tf.gradients(tf.matrix_solve_ls(known, self.b[:2]), known)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(g, {t: self.a[:2]}), session.run(wanted))
            regularized = tf.linalg.lstsq(t, self.b, l2_regularizer=0.5)
            np.testing.assert_allclose(session.run(regularized, {t: self.a}), regular)
        with self.assertRaisesRegex(Exception, "Gradient not defined for fast=False"):
            tf.gradients(tf.matrix_solve_ls(known, self.b[:2], fast=False), known)

    def test_complex_singular_vectors(self):
        x = tf.placeholder(tf.float64, [2, 4, 3])
        # The product does not depend on the vectors' phases.
        s, u, v = tf.svd(tf.complex(x[0], x[1]))
        product = tf.matmul(u * tf.cast(s**3, u.dtype), v, adjoint_b=True)
        y = tf.reduce_sum(tf.real(product) * self.a) + tf.reduce_sum(tf.imag(product) ** 2)
        (g,) = tf.gradients(y, x)
        at = np.random.RandomState(3).randn(2, 4, 3)
        with tf.Session() as session:
            numeric = np.zeros_like(at)
            for place in np.ndindex(*at.shape):
                step = np.zeros_like(at)
                step[place] = 1e-6
                above, below = (session.run(y, {x: at + d}) for d in (step, -step))
                numeric[place] = (above - below) / 2e-6
            np.testing.assert_allclose(session.run(g, {x: at}), numeric, rtol=1e-5, atol=1e-4)

    def test_functions_of_matrices(self):
        root = tf.linalg.sqrtm(self.positive)
        self.check(tf.matmul(root, root), self.positive)
        logarithm = tf.linalg.logm(tf.constant(self.positive, tf.complex128))
        self.check(tf.linalg.expm(tf.real(logarithm)), self.positive)
        self.check_gradient(lambda t: tf.linalg.expm(t) ** 2, self.a[:3] / 2)
        t = tf.placeholder(tf.float64)
        (g,) = tf.gradients(tf.trace(tf.linalg.expm(t)), t)
        with tf.Session() as session:  # of the trace: the transpose of the exponential
            np.testing.assert_allclose(*session.run([g, tf.linalg.expm(tf.transpose(t))], {t: self.a[:3]}))

    def test_solving(self):
        rhs = self.b[:3]
        x = np.linalg.solve(self.positive, rhs)
        chol = tf.cholesky(self.positive)
        self.check(tf.cholesky_solve(chol, rhs), x)
        self.check(tf.matrix_solve(self.positive, rhs), x)
        self.check(tf.linalg.logdet(self.positive), np.log(np.linalg.det(self.positive)))
        three = np.diag([4.0] * 4) + np.diag([1.0, 2.0, 3.0], 1) + np.diag([3.0, 2.0, 1.0], -1)
        for form, diagonals in (
            ("matrix", three),
            ("sequence", [[1.0, 2.0, 3.0], [4.0] * 4, [3.0, 2.0, 1.0]]),
            ("compact", [[1.0, 2.0, 3.0, 0.0], [4.0] * 4, [0.0, 3.0, 2.0, 1.0]]),
        ):
            if form == "sequence":
                diagonals = [tf.constant(d, tf.float64) for d in diagonals]
            else:
                diagonals = tf.constant(diagonals, tf.float64)
            self.check(
                tf.linalg.tridiagonal_solve(diagonals, self.b, diagonals_format=form),
                np.linalg.solve(three, self.b),
            )

    def test_identity_matrices(self):
        self.check(tf.eye(2, 3, [2]), np.tile(np.eye(2, 3), [2, 1, 1]))
        self.assertEqual(tf.eye(tf.constant(2)).dtype, tf.float32)
        rows = tf.shape(tf.placeholder(tf.float32, [None, 2]))[0]
        self.assertEqual(tf.eye(3, batch_shape=[rows]).shape.as_list(), [None, 3, 3])
        with tf.Graph().as_default() as graph:  # TensorFlow's nodes, by whose number random ops are seeded
            tf.eye(2, batch_shape=[3])
            self.assertEqual(["Const", "MatrixDiag"], [op.type for op in graph.get_operations()])

    def test_the_solution_has_all_but_its_columns_from_the_matrix(self):
        right = tf.placeholder(tf.float32)
        self.assertEqual(
            tf.matrix_solve(tf.placeholder(tf.float32, [3, None, 2]), right).shape.as_list(), [3, 2, None]
        )


if __name__ == "__main__":
    unittest.main()

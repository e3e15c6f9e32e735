"""tf.linalg.LinearOperator*: each does what the matrix that it stands for does."""

import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np

linalg = tf.linalg
_RNG = np.random.RandomState(3)
_SQUARE = _RNG.randn(2, 3, 3) + 3 * np.eye(3)
_POSITIVE = _SQUARE @ _SQUARE.swapaxes(-1, -2)
_THIN = _RNG.randn(2, 3, 2)


def _full(matrix, **hints):
    return linalg.LinearOperatorFullMatrix(tf.constant(matrix), **hints)


def _circulant(column):
    """The matrix whose columns are `column`, each turned by one more place."""
    return np.stack([np.roll(column, i) for i in range(len(column))], axis=1)


# name -> (a function that makes the operator, the matrix)
_COLUMN, _ROW = np.array([4.0, 1.0, 0.5]), np.array([4.0, -1.0, 2.0])
_OPERATORS = {
    "Identity": (lambda: linalg.LinearOperatorIdentity(3, [2], tf.float64), np.stack([np.eye(3)] * 2)),
    "ScaledIdentity": (
        lambda: linalg.LinearOperatorScaledIdentity(3, tf.constant([2.0, -1.0], tf.float64)),
        np.stack([2 * np.eye(3), -np.eye(3)]),
    ),
    "Diag": (lambda: linalg.LinearOperatorDiag(tf.constant(_COLUMN)), np.diag(_COLUMN)),
    "FullMatrix": (lambda: _full(_SQUARE), _SQUARE),
    "positive FullMatrix": (
        lambda: _full(_POSITIVE, is_self_adjoint=True, is_positive_definite=True),
        _POSITIVE,
    ),
    "LowerTriangular": (
        lambda: linalg.LinearOperatorLowerTriangular(tf.constant(_SQUARE)),
        np.tril(_SQUARE),
    ),
    "LowRankUpdate": (
        lambda: linalg.LinearOperatorLowRankUpdate(
            _full(_SQUARE), tf.constant(_THIN), diag_update=tf.constant([2.0, 3.0], tf.float64)
        ),
        _SQUARE + _THIN @ np.diag([2.0, 3.0]) @ _THIN.swapaxes(-1, -2),
    ),
    "Composition": (
        lambda: linalg.LinearOperatorComposition([_full(_SQUARE), _full(_POSITIVE)]),
        _SQUARE @ _POSITIVE,
    ),
    "BlockDiag": (
        lambda: linalg.LinearOperatorBlockDiag([_full(_SQUARE[0, :2, :2]), _full(np.array([[5.0]]))]),
        np.block([[_SQUARE[0, :2, :2], np.zeros((2, 1))], [np.zeros((1, 2)), np.array([[5.0]])]]),
    ),
    "Kronecker": (
        lambda: linalg.LinearOperatorKronecker(
            [_full(_SQUARE[0]), _full(_SQUARE[1, :2, :2]), _full(_POSITIVE[0])]
        ),
        np.kron(np.kron(_SQUARE[0], _SQUARE[1, :2, :2]), _POSITIVE[0]),
    ),
    "Circulant": (
        lambda: linalg.LinearOperatorCirculant(tf.constant(np.fft.fft(_COLUMN)), tf.float64),
        _circulant(_COLUMN),
    ),
    "Circulant2D": (
        lambda: linalg.LinearOperatorCirculant2D(
            tf.constant(np.fft.fft2(np.outer(_COLUMN, [3.0, 1.0]))), tf.float64
        ),
        np.kron(_circulant(_COLUMN), _circulant([3.0, 1.0])),
    ),
    "Toeplitz": (
        lambda: linalg.LinearOperatorToeplitz(tf.constant(_COLUMN), tf.constant(_ROW)),
        np.array([[4.0, -1.0, 2.0], [1.0, 4.0, -1.0], [0.5, 1.0, 4.0]]),
    ),
    "Householder": (
        lambda: linalg.LinearOperatorHouseholder(tf.constant([3.0, 0.0, 4.0], tf.float64)),
        np.eye(3) - 2 * np.outer([0.6, 0.0, 0.8], [0.6, 0.0, 0.8]),
    ),
    "Inversion": (lambda: linalg.LinearOperatorInversion(_full(_SQUARE)), np.linalg.inv(_SQUARE)),
    "Adjoint": (lambda: linalg.LinearOperatorAdjoint(_full(_SQUARE)), _SQUARE.swapaxes(-1, -2)),
}


class LinearOperatorTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph().as_default()
        graph.__enter__()
        self.addCleanup(graph.__exit__, None, None, None)

    def check(self, what, expected):
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(what), expected, rtol=1e-7, atol=1e-9)

    def test_operators_do_what_their_matrices_do(self):
        for name, (make, matrix) in _OPERATORS.items():
            with self.subTest(name):
                operator = make()
                self.assertEqual(operator.shape.as_list(), list(matrix.shape))
                size = matrix.shape[-1]
                x = _RNG.randn(size, 4)
                transposed = matrix.swapaxes(-1, -2)
                inverse = np.linalg.inv(matrix)
                sign, logarithm = np.linalg.slogdet(matrix)
                for got, wanted in (
                    (operator.to_dense(), matrix),
                    (operator.matmul(x), matrix @ x),
                    (operator.matmul(x, adjoint=True), transposed @ x),
                    (operator.matmul(x.T, adjoint_arg=True), matrix @ x),
                    (operator.matvec(x[:, 0]), matrix @ x[:, 0]),
                    (operator.solve(x), inverse @ x),
                    (operator.solve(x, adjoint=True), inverse.swapaxes(-1, -2) @ x),
                    (operator.determinant(), sign * np.exp(logarithm)),
                    (operator.log_abs_determinant(), logarithm),
                    (operator.trace(), np.trace(matrix, axis1=-2, axis2=-1)),
                    (operator.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1)),
                    (operator.add_to_tensor(tf.ones_like(matrix)), matrix + 1),
                    (operator.H.to_dense(), transposed),
                    (operator.inverse().matmul(x), inverse @ x),
                    (tf.matmul(operator, x), matrix @ x),
                ):
                    self.check(got, wanted)

    def test_functions_of_linalg_take_operators(self):
        matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
        operator = linalg.LinearOperatorFullMatrix(
            tf.constant(matrix), is_self_adjoint=True, is_positive_definite=True
        )
        inverse = np.linalg.inv(matrix)
        for got, wanted in (
            (linalg.trace(operator), 3.0),
            (linalg.diag_part(operator), [2.0, 1.0]),
            (linalg.det(operator), 1.75),
            (linalg.logdet(operator), np.log(1.75)),
            (linalg.solve(operator, matrix), np.eye(2)),
            (linalg.inv(operator).to_dense(), inverse),
            (linalg.adjoint(operator).to_dense(), matrix),
            (linalg.cholesky(operator).to_dense(), np.linalg.cholesky(matrix)),
        ):
            self.check(got, wanted)

    def test_zeros(self):
        operator = linalg.LinearOperatorZeros(2, 3, [4], is_square=False, is_self_adjoint=False)
        self.check(operator.matmul(tf.ones([3, 5])), np.zeros((4, 2, 5)))
        with self.assertRaisesRegex(NotImplementedError, "expected to be singular"):
            operator.solve(tf.ones([2, 1]))

    def test_products_and_solutions_of_operators(self):
        diagonal = linalg.LinearOperatorDiag(tf.constant(_COLUMN))
        full = _full(_SQUARE)
        triangle = linalg.LinearOperatorLowerTriangular(tf.constant(_SQUARE))
        for got, kind, matrix in (
            (diagonal.matmul(diagonal), linalg.LinearOperatorDiag, np.diag(_COLUMN**2)),
            (diagonal.solve(diagonal), linalg.LinearOperatorDiag, np.eye(3)),
            (
                triangle.matmul(diagonal),
                linalg.LinearOperatorLowerTriangular,
                np.tril(_SQUARE) @ np.diag(_COLUMN),
            ),
            (full.matmul(diagonal), linalg.LinearOperatorComposition, _SQUARE @ np.diag(_COLUMN)),
            (
                full.solve(diagonal),
                linalg.LinearOperatorComposition,
                np.linalg.inv(_SQUARE) @ np.diag(_COLUMN),
            ),
        ):
            self.assertIsInstance(got, kind)
            self.check(got.to_dense(), matrix)

    def test_cholesky(self):
        operator = _full(_POSITIVE, is_self_adjoint=True, is_positive_definite=True).cholesky()
        self.assertIsInstance(operator, linalg.LinearOperatorLowerTriangular)
        self.check(operator.to_dense(), np.linalg.cholesky(_POSITIVE))
        with self.assertRaisesRegex(ValueError, "Not a positive definite self adjoint matrix"):
            _full(_SQUARE).cholesky()

    def test_shapes_that_are_known_late(self):
        matrix = tf.placeholder(tf.float64, [None, None, None])
        operator = linalg.LinearOperatorKronecker(
            [linalg.LinearOperatorFullMatrix(matrix), linalg.LinearOperatorIdentity(2, dtype=tf.float64)]
        )
        x = _RNG.randn(6, 1)
        with tf.Session() as session:
            got = session.run((operator.matmul(x), operator.shape_tensor()), {matrix: _SQUARE})
        np.testing.assert_allclose(got[0], np.stack([np.kron(m, np.eye(2)) @ x for m in _SQUARE]))
        self.assertEqual(got[1].tolist(), [2, 6, 6])

    def test_hints_that_contradict(self):
        for make, message in (
            (lambda: _full(_SQUARE, is_positive_definite=True, is_non_singular=False), "always non-singular"),
            (lambda: linalg.LinearOperatorDiag([1.0], is_self_adjoint=False), "always self adjoint"),
            (lambda: linalg.LinearOperatorIdentity(-1), "must be non-negative"),
            (lambda: _full(np.ones((2, 3))).inverse(), "non square"),
            (
                lambda: linalg.LinearOperatorComposition([_full(_SQUARE), _full(np.ones((2, 2)))]).shape,
                "not compatible",
            ),
        ):
            with self.assertRaisesRegex(ValueError, message):
                make()
        with self.assertRaisesRegex(TypeError, "Expected argument to have dtype"):
            _full(_SQUARE).matmul(tf.ones([3, 1]))

    def test_operators_of_programs_check_their_arguments(self):
        class Right(linalg.LinearOperatorFullMatrix):
            def matmul_right(self, x):
                with self._name_scope("matmul_right"):
                    self._check_input_dtype(x)
                    return tf.matmul(x, self._matrix)

        operator = Right([[1.0, 2.0], [0.0, 1.0]])
        with tf.Session() as session:
            np.testing.assert_array_equal(session.run(operator.matmul_right(tf.ones([1, 2]))), [[1, 3]])
        with self.assertRaisesRegex(TypeError, "Expected argument to have dtype .*float32"):
            operator.matmul_right(tf.ones([1, 2], tf.float64))

    def test_a_program_registers_rules_for_its_own_operators(self):
        from braid.tensorflow.python.ops.linalg import linear_operator_algebra as algebra

        class Own(linalg.LinearOperatorDiag):
            pass

        algebra.RegisterInverse(Own)(lambda operator: "its inverse")
        self.assertEqual(Own([1.0]).inverse(), "its inverse")
        with self.assertRaisesRegex(ValueError, "already been registered"):
            algebra.RegisterInverse(Own)(lambda operator: None)


if __name__ == "__main__":
    unittest.main()

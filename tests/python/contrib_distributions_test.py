"""tf.contrib.distributions: bijectors are inverted and know their determinants, densities sum to 1, and
samples have the moments."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np

ds = tf.contrib.distributions
tfb = ds.bijectors
TRIL = np.array([[1.0, 0.0], [0.5, 2.0]])
X = np.array([[0.3, -0.4], [1.2, 0.7], [-0.9, 0.1]])


class DistributionsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        tf.set_random_seed(1)

    def run_all(self, tensors):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(tensors)


class BijectorTest(DistributionsTest):
    def test_inverses_and_determinants(self):
        """The determinant is that of the Jacobian by gradients."""
        positive = np.abs(X) + 0.1
        flow = tfb.masked_autoregressive_default_template([8], activation=tf.tanh)
        coupling = tfb.real_nvp_default_template([8], activation=tf.tanh)
        for bijector, x in (
            (tfb.Affine(shift=np.array([1.0, 2.0]), scale_tril=TRIL), X),
            (tfb.Affine(scale_diag=np.array([1.0, 2.0]), scale_perturb_factor=np.array([[0.5], [0.3]])), X),
            (tfb.AffineScalar(np.float64(1.0), np.array([2.0, -0.5])), X),
            (tfb.Chain([tfb.Exp(), tfb.AffineScalar(scale=np.float64(2.0))]), X),
            (tfb.Exp(), X),
            (tfb.Gumbel(np.float64(0.1), np.float64(0.5)), X),
            (tfb.Invert(tfb.Exp()), positive),
            (tfb.Kumaraswamy(np.float64(2.0), np.float64(3.0)), positive / 2),
            (tfb.MaskedAutoregressiveFlow(flow), X),
            (tfb.Ordered(), np.sort(X)),
            (tfb.Permute([1, 0]), X),
            (tfb.PowerTransform(0.5), X),
            (tfb.RealNVP(1, coupling), X),
            (tfb.Sigmoid(), X),
            (tfb.SinhArcsinh(np.float64(0.2), np.float64(1.5)), X),
            (tfb.Softplus(hinge_softness=0.3), X),
            (tfb.Softsign(), X),
            (tfb.Square(), positive),
        ):
            with self.subTest(bijector.name):
                x = tf.constant(x)
                y = bijector.forward(x)
                rows = [tf.gradients(y[:, i], x)[0] for i in range(2)]
                expected = tf.log(tf.abs(tf.linalg.det(tf.stack(rows, 1))))
                zero = tf.zeros([3], tf.float64)
                forward = zero + bijector.forward_log_det_jacobian(x, event_ndims=1)
                inverse = zero + bijector.inverse_log_det_jacobian(tf.identity(y), event_ndims=1)
                got = self.run_all([bijector.inverse(tf.identity(y)), x, forward, -inverse, expected])
                np.testing.assert_allclose(got[0], got[1], atol=1e-5)
                np.testing.assert_allclose(got[2], got[4], atol=1e-4)
                np.testing.assert_allclose(got[3], got[4], atol=1e-4)

    def test_one_element_more(self):
        bijector = tfb.SoftmaxCentered()
        y = bijector.forward(tf.constant(X))
        self.assertEqual(bijector.forward_event_shape([2]).as_list(), [3])
        y, x = self.run_all([y, bijector.inverse(tf.identity(y))])
        np.testing.assert_allclose(y.sum(1), 1)
        np.testing.assert_allclose(x, X)

    def test_matrices_from_vectors(self):
        bijector = tfb.Chain([tfb.CholeskyOuterProduct(), tfb.ScaleTriL(diag_shift=None)])
        vector = tf.constant([0.1, 0.2, 0.3])
        matrix = bijector.forward(vector)
        back = bijector.inverse(tf.identity(matrix))
        log_det = bijector.forward_log_det_jacobian(vector, event_ndims=1)
        parts = [tf.gradients(matrix[i, j], vector)[0] for i, j in ((0, 0), (1, 0), (1, 1))]
        matrix, back, log_det, jacobian = self.run_all([matrix, back, log_det, tf.stack(parts)])
        self.assertTrue((np.linalg.eigvalsh(matrix) > 0).all())
        np.testing.assert_allclose(back, [0.1, 0.2, 0.3], atol=1e-5)
        self.assertAlmostEqual(log_det, np.log(np.abs(np.linalg.det(jacobian))), places=4)

    def test_a_tensor_may_be_x_and_y(self):
        x = tf.constant(X)
        bijector = tfb.Exp()
        bijector.forward(x)
        np.testing.assert_allclose(self.run_all(bijector.inverse(tf.exp(x))), X)
        y = bijector.forward(x)
        self.assertIs(bijector.inverse(y), x)
        self.assertIsNot(bijector.inverse(x), x)

    def test_events_of_another_shape(self):
        bijector = tfb.Reshape([2, 1], [-1])
        y = bijector.forward(tf.constant(X))
        self.assertEqual(y.shape.as_list(), [3, 2, 1])
        with self.assertRaisesRegex(ValueError, "does not match"):
            tfb.Reshape([4], [2, 2]).forward(tf.constant(X))

    def test_batches_are_normalized(self):
        bijector = tfb.BatchNormalization()
        x = bijector.inverse(tf.constant(X))
        np.testing.assert_allclose(self.run_all(x).mean(0), 0, atol=1e-6)

    def test_functions_that_are_not_given(self):
        bijector = tfb.Inline(forward_fn=tf.exp, forward_min_event_ndims=0)
        bijector.forward(X)
        with self.assertRaisesRegex(NotImplementedError, "inverse_fn"):
            bijector.inverse(X)


class TransformedTest(DistributionsTest):
    def test_density_and_moments(self):
        """Numbers: the density's integral; vectors: the moments of samples."""
        grid = np.linspace(-20, 20, 40001)
        for d in (
            ds.TransformedDistribution(ds.Normal(*np.float64([0.0, 1.0])), tfb.SinhArcsinh(np.float64(0.3))),
            ds.SinhArcsinh(np.float64(0.5), np.float64(1.0), skewness=np.float64(0.2)),
            ds.Logistic(*np.float64([0.5, 0.7])),
            ds.MixtureSameFamily(
                ds.Categorical(probs=np.array([0.3, 0.7])),
                ds.Normal(np.array([-1.0, 2.0]), np.array([0.5, 1.0])),
            ),
            ds.Mixture(
                ds.Categorical(probs=np.array([0.3, 0.7])),
                [ds.Normal(*np.float64([-1.0, 0.5])), ds.Laplace(*np.float64([2.0, 1.0]))],
            ),
        ):
            with self.subTest(d.name):
                density, samples = self.run_all([d.prob(grid), d.sample(20000, seed=3)])
                self.assertAlmostEqual(density.sum() * 1e-3, 1, places=3)
                mean = (density * grid).sum() * 1e-3
                self.assertAlmostEqual(samples.mean(), mean, delta=0.06)

    def test_counts(self):
        counts = np.arange(200.0)
        for d in (
            ds.Poisson(np.float64(3.5)),
            ds.Geometric(probs=np.float64(0.2)),
            ds.NegativeBinomial(np.float64(4), probs=np.float64(0.3)),
        ):
            with self.subTest(d.name):
                got = self.run_all(
                    [d.prob(counts), d.cdf(counts), d.mean(), d.variance(), d.sample(20000, seed=1)]
                )
                probs, below, mean, variance, samples = got
                np.testing.assert_allclose(np.cumsum(probs), below, atol=1e-6)
                self.assertAlmostEqual((probs * counts).sum(), mean, places=5)
                self.assertAlmostEqual((probs * (counts - mean) ** 2).sum(), variance, places=4)
                self.assertAlmostEqual(samples.mean(), mean, delta=0.1)
        binomial = ds.Binomial(np.float64(5), probs=np.float64(0.3))
        probs, below = self.run_all([binomial.prob(counts[:6]), binomial.cdf(counts[:6])])
        np.testing.assert_allclose(np.cumsum(probs), below)

    def test_vectors(self):
        covariance = TRIL @ TRIL.T
        for d in (
            ds.MultivariateNormalTriL(X[0], TRIL),
            ds.MultivariateNormalFullCovariance(X[0], covariance),
        ):
            samples, mean, got, density, entropy = self.run_all(
                [d.sample(20000, seed=1), d.mean(), d.covariance(), d.log_prob(X), d.entropy()]
            )
            np.testing.assert_allclose(got, covariance, atol=1e-6)
            np.testing.assert_allclose(samples.mean(0), mean, atol=0.06)
            np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.15)
            z = np.linalg.solve(TRIL, (X - X[0]).T)
            expected = -0.5 * (z**2).sum(0) - np.log(2 * np.pi) - np.log(np.linalg.det(TRIL))
            np.testing.assert_allclose(density, expected, atol=1e-6)
            self.assertAlmostEqual(entropy, 1 + np.log(2 * np.pi) + np.log(np.linalg.det(TRIL)), places=5)

    def test_divergence_of_vectors(self):
        a = ds.MultivariateNormalTriL(X[0], TRIL)
        b = ds.MultivariateNormalDiag(X[1], np.array([1.0, 2.0]))
        draws = a.sample(50000, seed=1)
        exact, estimate = self.run_all(
            [ds.kl_divergence(a, b), tf.reduce_mean(a.log_prob(draws) - b.log_prob(draws))]
        )
        self.assertAlmostEqual(exact, estimate, delta=0.05)

    def test_dimensions_of_batches_become_those_of_events(self):
        d = ds.Independent(ds.Normal(X, 1.0 + 0 * X), 1)
        self.assertEqual((d.batch_shape.as_list(), d.event_shape.as_list()), ([3], [2]))
        whole, parts = self.run_all([d.log_prob(X), d.distribution.log_prob(X)])
        np.testing.assert_allclose(whole, parts.sum(1))
        with self.assertRaisesRegex(ValueError, "cannot exceed"):
            ds.Independent(ds.Normal(X, 1.0 + 0 * X), 3)

    def test_events_of_independent_samples(self):
        one = np.float64(1.0)
        d = ds.TransformedDistribution(ds.Normal(X[:, 0], one), tfb.Exp(), event_shape=[2])
        self.assertEqual(d.sample(4).shape.as_list(), [4, 3, 2])
        y = np.abs(X) + 0.1
        got, parts = self.run_all([d.log_prob(y), ds.Normal(X[:, :1], one).log_prob(np.log(y)) - np.log(y)])
        np.testing.assert_allclose(got, parts.sum(1))
        with self.assertRaisesRegex(ValueError, "not scalar"):
            ds.TransformedDistribution(ds.Normal(X, one), event_shape=[2], batch_shape=[2])

    def test_arguments_of_a_conditional_bijector(self):
        class Shift(tfb.ConditionalBijector):
            def __init__(self):
                super().__init__(forward_min_event_ndims=0, name="shift")

            def _forward(self, x, by):
                return x + by

            def _inverse(self, y, by):
                return y - by

            def _forward_log_det_jacobian(self, x, by):
                return tf.zeros([], x.dtype)

        standard = ds.Normal(0.0, 1.0)
        d = ds.ConditionalTransformedDistribution(standard, Shift())
        given = {"bijector_kwargs": {"by": 3.0}}
        got = self.run_all([d.log_prob(3.5, **given), standard.log_prob(0.5), d.cdf(3.0, **given)])
        self.assertAlmostEqual(got[0], got[1], places=5)
        self.assertAlmostEqual(got[2], 0.5)
        self.assertGreater(self.run_all(d.sample(100, seed=1, **given)).mean(), 2)

    def test_auto_correlation_is_that_of_the_moved_sequence(self):
        x = np.array([[1.0, 4.0, 2.0, 8.0, 5.0], [3.0, 1.0, 4.0, 1.0, 5.0]])
        z = x - x.mean(1, keepdims=True)
        rows = [(z[:, : 5 - k] * z[:, k:]).sum(1) / (5 - k) for k in range(5)]
        want = np.stack(rows, 1)
        got = ds.auto_correlation(x, max_lags=2)
        self.assertEqual(got.shape.as_list(), [2, 3])
        np.testing.assert_allclose(self.run_all(got), (want / want[:, :1])[:, :3], rtol=1e-6)
        got = self.run_all(ds.auto_correlation(x.T, axis=0, normalize=False))
        np.testing.assert_allclose(got, want.T, rtol=1e-6, atol=1e-9)

    def test_rounded_numbers(self):
        d = ds.QuantizedDistribution(
            ds.Normal(*np.float64([0.3, 2.0])), low=np.float64(-3), high=np.float64(4)
        )
        probs, samples = self.run_all([d.prob(np.arange(-3.0, 5.0)), d.sample(20000, seed=1)])
        self.assertAlmostEqual(probs.sum(), 1)
        counts = [np.mean(samples == i) for i in range(-3, 5)]
        np.testing.assert_allclose(counts, probs, atol=0.02)

    def test_sums_of_products_of_vectors(self):
        d = ds.WishartCholesky(np.float64(5), TRIL)
        samples, mean, variance = self.run_all([d.sample(20000, seed=1), d.mean(), d.variance()])
        np.testing.assert_allclose(mean, 5 * TRIL @ TRIL.T)
        np.testing.assert_allclose(samples.mean(0), mean, rtol=0.1, atol=0.1)
        np.testing.assert_allclose(samples.var(0), variance, rtol=0.1)

    def test_gradients_go_through_relaxed_samples(self):
        logits = tf.constant([0.2, -0.3])
        d = ds.RelaxedBernoulli(0.5, logits=logits)
        sample = d.sample(seed=1)
        value, gradient = self.run_all([sample, tf.gradients(sample, logits)[0]])
        self.assertTrue(((value > 0) & (value < 1)).all() and (gradient > 0).all())

    def test_percentiles(self):
        x = np.random.RandomState(0).randint(0, 100, [3, 4, 5]).astype(np.float32)
        for method in ("lower", "higher", "nearest"):
            for axis in (None, 1, (0, 2)):
                made = ds.percentile(x, 33.0, axis=axis, interpolation=method, keep_dims=True)
                expected = np.percentile(x, 33.0, axis=axis, method=method, keepdims=True)
                np.testing.assert_allclose(self.run_all(made), expected, err_msg=f"{method} {axis}")

    def test_what_is_left_out_says_so(self):
        with self.assertRaisesRegex(AttributeError, "VectorDiffeomixture is not in Braid"):
            ds.VectorDiffeomixture


class MetricLearningTest(DistributionsTest):
    def test_losses_of_embeddings(self):
        """The values are those of sums over pairs and triplets."""
        losses = tf.contrib.losses.metric_learning
        labels = np.array([0, 1, 1, 0, 2, 2])
        rows = np.random.RandomState(0).randn(6, 4).astype(np.float32)
        others = rows[::-1].copy()
        squares = ((rows[:, None] - rows[None]) ** 2).sum(-1)
        same = labels[:, None] == labels[None]
        pairs = [(i, j) for i in range(6) for j in range(6) if i != j and same[i, j]]

        def negative(i, j):
            far = squares[i][~same[i] & (squares[i] > squares[i, j])]
            return far.min() if far.size else squares[i][~same[i]].max()

        triplets = np.mean([max(1 + squares[i, j] - negative(i, j), 0) for i, j in pairs])
        near = np.exp(1 - np.sqrt(squares)) * ~same
        lifted = [np.log(near[i].sum() + near[j].sum()) + np.sqrt(squares[i, j]) for i, j in pairs]
        lifted = np.mean(np.maximum(lifted, 0) ** 2) / 2
        distances = np.sqrt(((rows - others) ** 2).sum(1))
        apart = np.maximum(3 - distances, 0) ** 2
        contrastive = np.mean(np.where(labels > 0, distances**2, apart))
        products = rows @ others.T
        logs = products - np.log(np.exp(products).sum(1, keepdims=True))
        entropy = -np.mean((logs * same / same.sum(1, keepdims=True)).sum(1))
        npairs = entropy + 0.002 * 0.25 * 2 * (rows**2).sum(1).mean()
        one_hot = [tf.SparseTensor([[label]], [1], [3]) for label in labels]
        x = tf.constant(rows)
        made = [
            losses.triplet_semihard_loss(labels, x),
            losses.lifted_struct_loss(labels, x),
            losses.contrastive_loss(labels > 0, x, others, 3.0),
            losses.npairs_loss(labels, x, others),
            losses.npairs_loss_multilabel(one_hot, x, others),
        ]
        gradients = [tf.gradients(loss, x)[0] for loss in made]
        got, gradients = self.run_all([made, gradients])
        np.testing.assert_allclose(got, [triplets, lifted, contrastive, npairs, npairs], rtol=1e-5)
        self.assertTrue(np.isfinite(gradients).all())


if __name__ == "__main__":
    unittest.main()

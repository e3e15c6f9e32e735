"""Probability distributions: densities sum to 1, samples have the moments, divergences are those of
samples."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np

ds = tf.distributions


class DistributionsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        tf.set_random_seed(1)

    def run_all(self, tensors):
        with tf.Session() as session:
            return session.run(tensors)

    def test_densities_integrate_to_the_cumulative_probability(self):
        x = np.linspace(-30, 30, 60001)
        for d in (
            ds.Normal(*np.float64([0.5, 1.5])),
            ds.Uniform(*np.float64([-1.0, 2.0])),
            ds.Laplace(*np.float64([0.5, 0.7])),
            ds.StudentT(*np.float64([7.0, 0.2, 1.3])),
        ):
            density, below, above = self.run_all([d.prob(x), d.cdf(x), d.survival_function(x)])
            np.testing.assert_allclose(np.cumsum(density) * 1e-3, below, atol=2e-3, err_msg=d.name)
            np.testing.assert_allclose(below + above, 1, atol=1e-6)

    def test_samples_have_the_mean_and_the_variance(self):
        for d in (
            ds.Normal([0.0, 1.0], [1.0, 2.0]),
            ds.Uniform(1.0, 3.0),
            ds.Exponential([0.5, 2.0]),
            ds.Gamma([2.0, 3.0], 2.0),
            ds.Beta(2.0, [1.0, 3.0]),
            ds.Laplace(1.0, 0.5),
            ds.StudentT(9.0, 1.0, 2.0),
            ds.Dirichlet([1.0, 2.0, 3.0]),
            ds.Multinomial(5.0, probs=[0.2, 0.8]),
            ds.DirichletMultinomial(5.0, [1.0, 2.0]),
        ):
            sampled = d.sample(20000)
            self.assertEqual(
                sampled.shape.as_list(), [20000] + d.batch_shape.as_list() + d.event_shape.as_list()
            )
            sampled, mean, variance = self.run_all([sampled, d.mean(), d.variance()])
            np.testing.assert_allclose(sampled.mean(0), mean, rtol=0.05, atol=0.05, err_msg=d.name)
            np.testing.assert_allclose(sampled.var(0), variance, rtol=0.12, atol=0.05, err_msg=d.name)

    def test_divergences_are_means_of_the_logarithms_of_ratios(self):
        pairs = [
            (ds.Normal(0.0, 1.0), ds.Normal(1.0, 2.0)),
            (ds.Bernoulli(probs=0.3), ds.Bernoulli(probs=0.6)),
            (ds.Categorical(logits=[0.0, 1.0, 2.0]), ds.Categorical(logits=[1.0, 1.0, 0.0])),
            (ds.Gamma(2.0, 1.0), ds.Gamma(3.0, 2.0)),
            (ds.Beta(2.0, 3.0), ds.Beta(1.0, 1.0)),
            (ds.Dirichlet([1.0, 2.0]), ds.Dirichlet([2.0, 2.0])),
        ]
        for a, b in pairs:
            x = a.sample(20000)
            ratios, divergence = self.run_all([a.log_prob(x) - b.log_prob(x), ds.kl_divergence(a, b)])
            self.assertAlmostEqual(float(ratios.mean()), float(divergence), delta=0.05, msg=a.name)
        with self.assertRaisesRegex(NotImplementedError, "No KL"):
            ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Uniform())

    def test_methods_that_raise_not_implemented_have_the_next_way(self):
        class Wrapped(tf.distributions.Distribution):
            def __init__(self, inner):
                super().__init__(
                    inner.dtype, inner.reparameterization_type, False, True, graph_parents=[], name="Wrapped"
                )
                self.inner = inner

            def _log_prob(self, value, scale=1.0):
                return scale * self.inner._log_prob(value)

            def _prob(self, value, scale=1.0):
                return scale * self.inner._prob(value)  # which Bernoulli has not

            def _variance(self):
                raise NotImplementedError("variance of Wrapped")

            def _stddev(self):
                return self.inner.stddev()

            def _event_shape(self):
                return tf.TensorShape([2])

            def _is_scalar_helper(self, static_shape, dynamic_shape_fn):
                return static_shape.ndims == 1

        d = Wrapped(tf.distributions.Bernoulli(probs=0.25))
        got = self.run_all([d.prob(1), d._call_log_prob(1, "log_prob", scale=2.0), d.variance()])
        np.testing.assert_allclose(got, [0.25, 2 * np.log(0.25), 0.1875], rtol=1e-5)
        self.assertEqual(self.run_all([d.is_scalar_event(), d.inner.is_scalar_event()]), [True, True])
        with self.assertRaisesRegex(NotImplementedError, "^cdf is not implemented: Wrapped"):
            d.cdf(1)

    def test_classes(self):
        d = ds.Categorical(logits=[[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
        p = np.exp([[0, 1, 2], [3, 0, 0]])
        p /= p.sum(1, keepdims=True)
        got = self.run_all([d.prob([2, 0]), d.entropy(), d.mode(), d.sample(5)])
        np.testing.assert_allclose(got[0], [p[0, 2], p[1, 0]], rtol=1e-5)
        np.testing.assert_allclose(got[1], -(p * np.log(p)).sum(1), rtol=1e-5)
        self.assertEqual(got[2].tolist(), [2, 0])
        self.assertEqual(got[3].shape, (5, 2))

    def test_seeds_give_the_samples_of_tensorflow(self):
        tf.set_random_seed(5)
        made = [ds.Beta(2.0, 3.0), ds.StudentT(3.0, 0.0, 1.0), ds.DirichletMultinomial(4.0, [2.0, 3.0])]
        want = [
            [0.0589137, 0.593173, 0.430397],
            [-2.49873, -0.0212138, -0.153163],
            [2, 2, 2, 2, 0, 4],
        ]
        for got, values in zip(self.run_all([d.sample(3, seed=1) for d in made]), want):
            np.testing.assert_allclose(got.ravel(), values, rtol=1e-4)

    def test_gradients_go_through_samples_to_the_parameters(self):
        loc = tf.constant(0.0)
        self.assertIsNotNone(tf.gradients(ds.Normal(loc, 1.0).sample(3), loc)[0])
        logits = tf.constant(0.0)
        self.assertIsNone(tf.gradients(tf.to_float(ds.Bernoulli(logits).sample(3)), logits)[0])

    def test_arguments_are_checked_on_request(self):
        d = ds.Normal(0.0, -1.0, validate_args=False)
        self.run_all(d.sample())
        with self.assertRaises(tf.errors.InvalidArgumentError):
            self.run_all(ds.Normal(0.0, -1.0, validate_args=True).sample())
        self.assertEqual(d.copy(scale=2.0).parameters["scale"], 2.0)
        for d, value, message in (
            (ds.Beta(1.0, 1.0, validate_args=True), 1.5, "sample must be less than `1`"),
            (ds.Dirichlet([1.0, 1.0], validate_args=True), [0.5, 0.6], "must sum to `1`"),
            (ds.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True), [1.0, 1.0], "counts must sum to"),
            (ds.Multinomial(3.0, probs=[0.5, 0.5], validate_args=True), [1.5, 1.5], "fractional components"),
            (ds.Bernoulli(probs=0.5, validate_args=True), 2, "Elements cannot exceed 1"),
        ):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, message):
                self.run_all(d.prob(value))

    def test_statistics_that_are_not_defined_are_nan_or_an_error(self):
        mode = ds.Beta([1.0, 3.0], 2.0).mode()
        np.testing.assert_allclose(self.run_all(mode), [np.nan, 2.0 / 3.0], rtol=1e-6)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Mode undefined"):
            self.run_all(ds.Beta([1.0, 3.0], 2.0, allow_nan_stats=False).mode())

    def test_densities_are_finite_where_the_concentration_is_1(self):
        x = tf.constant([0.0, 0.5])  # at 1 it is 0 * log(0), NaN, as in TensorFlow
        beta = ds.Beta(1.0, 1.0).log_prob(x)
        np.testing.assert_allclose(self.run_all(beta), 0, atol=1e-6)
        np.testing.assert_allclose(self.run_all(ds.Exponential(2.0).log_prob(0.0)), np.log(2), rtol=1e-6)

    def test_the_tails_of_the_normal_distribution_have_values_and_gradients(self):
        x = tf.constant([-40.0, -20.0, 0.0, 20.0], tf.float64)
        d = ds.Normal(np.float64(0.0), np.float64(1.0))
        values = self.run_all([d.log_cdf(x), tf.gradients(d.log_cdf(x), x)[0]])
        np.testing.assert_allclose(values[0][:3], [-804.60844201, -203.91715537, np.log(0.5)], rtol=1e-7)
        np.testing.assert_allclose(values[1][:3], [40.0249688, 20.0497524, 0.7978846], rtol=1e-5)
        self.assertTrue(np.isfinite(self.run_all(tf.gradients(d.quantile(x), x)[0])).all())

    def test_bijectors_remember_what_they_computed(self):
        from braid.tensorflow.python.ops.distributions import bijector

        class Double(bijector.Bijector):
            def __init__(self):
                super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True)

            def _forward(self, x):
                return 2.0 * x

            def _inverse_log_det_jacobian(self, y):
                return -tf.log(tf.constant(2.0, y.dtype))

        double, x = Double(), tf.constant([1.0, 2.0, 3.0])
        self.assertIs(double.inverse(double.forward(x)), x)
        got = self.run_all([double.forward_log_det_jacobian(x, n) for n in (0, 1)])
        np.testing.assert_allclose(got, [np.log(2), 3 * np.log(2)], rtol=1e-6)
        with self.assertRaisesRegex(ValueError, "Expected scalar event_ndims"):
            double.forward_log_det_jacobian(x, (1, 2))


if __name__ == "__main__":
    unittest.main()

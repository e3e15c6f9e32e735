"""Distributions build TensorFlow's nodes: as many, with the same names. With a graph seed alone, which they
multiply by the number of nodes, they draw TensorFlow's numbers."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np

METHODS = ("sample", "log_prob", "cdf", "entropy", "mean", "stddev", "mode", "covariance", "kl")


def make(case):
    return eval(case, {"d": tf.distributions, "c": tf.contrib.distributions, "tf": tf})


def measure(case):
    """(numbers of nodes after each method, numbers drawn); of a method that there is not, 0 nodes."""
    counts, drawn = [], []
    for method in METHODS:
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.set_random_seed(11)
            distribution = make(case)
            try:
                if method == "sample":
                    samples = [distribution.sample(2), distribution.sample([2, 1], seed=5)]
                    drawn = np.concatenate([np.ravel(s) for s in session.run(samples)])[-8:].tolist()
                elif method in ("log_prob", "cdf"):
                    getattr(distribution, method)(tf.cast(distribution.sample(), distribution.dtype))
                elif method == "kl":
                    tf.distributions.kl_divergence(distribution, make(case))
                else:
                    getattr(distribution, method)()
                counts.append(len(graph.get_operations()))
            except NotImplementedError:
                counts.append(0)
    return counts, drawn


# (what makes the distribution, TensorFlow 1.15's numbers of nodes, numbers that it draws)
ROWS = [
    (
        "d.Normal(0.0, [1.0, 2.0])",
        [45, 33, 43, 11, 8, 8, 8, 0, 22],
        [0.235377, 0.630842, 0.229878, -6.36465, 1.86445, -4.88567, 0.0275616, 3.48478],
    ),
    ("d.Bernoulli(probs=[0.3, 0.6])", [49, 39, 0, 14, 7, 11, 9, 0, 26], [0, 1, 0, 1, 1, 1, 1, 1]),
    (
        "d.Bernoulli(logits=tf.constant(0.4), validate_args=True)",
        [45, 60, 0, 10, 3, 7, 5, 0, 18],
        [0, 1, 1, 1],
    ),
    ("d.Categorical(probs=[0.2, 0.3, 0.5])", [49, 46, 45, 11, 0, 0, 8, 0, 19], [2, 2, 0, 2]),
    (
        "d.Categorical(logits=tf.placeholder_with_default([[1.0, 2.0], [3.0, 4.0]], None), dtype=tf.float32)",
        [62, 91, 74, 22, 0, 0, 19, 0, 41],
        [1, 1, 1, 0, 0, 1, 1, 1],
    ),
    (
        "d.Uniform([1.0, 2.0], 3.0)",
        [49, 43, 41, 6, 7, 7, 0, 0, 0],
        [2.85095, 2.10203, 1.01232, 2.48852, 1.0178, 2.39624, 1.43815, 2.00252],
    ),
    (
        "d.Gamma(2.0, [3.0, 4.0])",
        [37, 30, 22, 13, 5, 6, 13, 0, 26],
        [0.487806, 0.256731, 0.185439, 0.405186, 0.571885, 0.504962, 0.734272, 0.276839],
    ),
    (
        "d.Exponential([2.0, 1.0], validate_args=True)",
        [91, 100, 92, 55, 47, 48, 55, 0, 110],
        [1.05024, 0.581586, 0.0784414, 1.55734, 2.3609, 0.925724, 0.75917, 5.98455],
    ),
    (
        "d.Laplace(1.0, [2.0, 3.0])",
        [57, 38, 43, 9, 6, 8, 6, 0, 0],
        [4.80699, -3.76797, -7.79374, 0.930337, -7.05731, 0.30227, -0.650386, -14.8742],
    ),
    (
        "d.Beta(2.0, [3.0, 4.0])",
        [74, 53, 39, 23, 4, 12, 17, 0, 29],
        [0.365449, 0.306137, 0.786272, 0.196482, 0.742416, 0.435052, 0.585665, 0.161912],
    ),
    (
        "d.Dirichlet([1.0, 2.0, 3.0])",
        [44, 36, 0, 27, 8, 19, 25, 42, 31],
        [0.299853, 0.599678, 0.253494, 0.366577, 0.379929, 0.123139, 0.699611, 0.17725],
    ),
    (
        "d.StudentT(3.0, [0.0, 1.0], 2.0)",
        [81, 73, 61, 51, 18, 38, 7, 0, 0],
        [-0.67516, -0.274108, 0.618188, -0.858936, 7.45779, -5.75796, 0.0580032, 3.47004],
    ),
    ("d.Multinomial(4.0, probs=[0.2, 0.8])", [263, 150, 0, 0, 9, 19, 0, 37, 0], [3, 1, 1, 3, 1, 3, 1, 3]),
    ("d.DirichletMultinomial(4.0, [1.0, 2.0])", [83, 69, 0, 0, 10, 26, 0, 54, 0], [0, 4, 1, 3, 2, 2, 1, 3]),
    (
        "c.HalfNormal([1.0, 2.0])",
        [43, 38, 27, 13, 6, 7, 5, 0, 0],
        [0.714132, 0.869807, 0.361574, 2.00548, 1.86445, 4.88567, 0.0275616, 3.48478],
    ),
    (
        "c.Logistic(1.0, [2.0, 3.0])",
        [57, 40, 33, 11, 8, 12, 8, 0, 0],
        [6.03839, -5.52455, -9.16769, 0.862255, -8.42573, -0.263415, -1.54213, -16.9461],
    ),
    (
        "c.Cauchy(1.0, [2.0, 3.0])",
        [57, 39, 37, 11, 7, 7, 8, 0, 0],
        [9.3859, -8.03638, -102.37, 0.891787, -70.5191, -0.014044, -1.43194, -378.335],
    ),
    (
        "c.InverseGamma([3.0, 1.5], 2.0)",
        [41, 34, 24, 13, 13, 18, 7, 0, 0],
        [0.830823, 3.08839, 1.72323, 1.77256, 0.733001, 1.36434, 0.600322, 2.81399],
    ),
    (
        "c.Chi2([1.0, 2.0])",
        [40, 33, 25, 16, 8, 9, 16, 0, 32],
        [0.857892, 2.08613, 0.0153499, 1.90424, 1.15278, 0.0366329, 0.165813, 0.87439],
    ),
    ("c.Geometric(probs=[0.3, 0.6])", [56, 49, 47, 10, 9, 11, 10, 0, 0], [2, 1, 5, 1, 13, 1, 4, 6]),
    (
        "c.NegativeBinomial(3.0, probs=[0.3, 0.6])",
        [49, 48, 33, 0, 10, 14, 17, 0, 0],
        [3, 6, 0, 6, 2, 5, 2, 5],
    ),
    ("c.Poisson([1.0, 4.0])", [26, 20, 17, 0, 4, 5, 4, 0, 0], [2, 4, 2, 6, 1, 0, 0, 4]),
    ("c.Deterministic([1.0, 2.0])", [36, 24, 22, 6, 4, 5, 4, 0, 0], [1, 2, 1, 2, 1, 2, 1, 2]),
    (
        "c.MultivariateNormalDiag([1.0, 2.0], [1.0, 3.0])",
        [168, 137, 0, 116, 44, 44, 44, 45, 128],
        [2.44893, 4.68263, -0.064296, 8.77776, 2.86445, -5.3285, 1.02756, 7.22717],
    ),
    (
        "c.MultivariateNormalDiag([1.0, 2.0])",
        [162, 133, 0, 110, 44, 45, 44, 46, 123],
        [2.44893, 2.89421, -0.064296, 4.25925, 2.86445, -0.442835, 1.02756, 3.74239],
    ),
    (
        "c.MultivariateNormalTriL([1.0, 2.0], [[1.0, 0.0], [2.0, 3.0]])",
        [169, 138, 0, 115, 43, 51, 43, 49, 127],
        [1.64519, 3.1755, 1.88145, 5.10313, 2.86445, -1.59961, 1.02756, 7.28229],
    ),
    (
        "c.MultivariateNormalFullCovariance([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]])",
        [170, 139, 0, 116, 44, 52, 44, 50, 129],
        [3.0491, 4.11973, -0.505142, 4.01444, 3.63673, 0.326515, 1.03898, 4.15347],
    ),
    (
        "c.VectorLaplaceDiag([1.0, 2.0], [1.0, 3.0])",
        [180, 142, 0, 114, 44, 46, 44, 47, 0],
        [0.243642, -1.38108, -1.42533, 7.89545, -3.02866, 1.30227, 0.174807, -13.8742],
    ),
    (
        "c.Kumaraswamy([2.0, 1.5], 3.0)",
        [118, 126, 92, 56, 61, 88, 55, 0, 0],
        [0.254481, 0.167484, 0.351646, 0.204192, 0.0545456, 0.288316, 0.281283, 0.00890145],
    ),
    (
        "c.OneHotCategorical(probs=[0.2, 0.3, 0.5], dtype=tf.float32)",
        [57, 75, 0, 13, 0, 12, 12, 22, 23],
        [0, 0, 1, 0, 0, 0, 0, 1],
    ),
    (
        "c.RelaxedOneHotCategorical(0.5, probs=[0.2, 0.3, 0.5])",
        [132, 129, 0, 0, 0, 0, 0, 0, 0],
        [0.9978, 0.002192, 0.00833456, 0.487886, 0.50378, 0.00289189, 0.0964721, 0.900636],
    ),
    (
        "c.RelaxedBernoulli(0.5, probs=[0.3, 0.6])",
        [116, 110, 81, 0, 0, 0, 0, 0, 0],
        [0.0213812, 0.099869, 0.357629, 0.320626, 1.4808e-05, 0.492164, 0.0142489, 1.43301e-05],
    ),
    (
        "c.SinhArcsinh([1.0, 2.0], 2.0, skewness=0.5)",
        [123, 169, 104, 0, 0, 0, 0, 0, 0],
        [6.64615, 1.1194, 5.88306, 5.9488, 7.40976, -0.75825, 2.10474, 8.02325],
    ),
    (
        "c.Mixture(d.Categorical(probs=[0.3, 0.7]), [d.Normal(0.0, 1.0), d.Normal(1.0, 2.0)])",
        [281, 185, 322, 0, 29, 74, 0, 0, 0],
        [-3.10533, 2.98522, -1.85626, -2.53337],
    ),
    (
        "c.MixtureSameFamily(d.Categorical(probs=[0.3, 0.7]), d.Normal([0.0, 1.0], [1.0, 2.0]))",
        [178, 132, 201, 0, 40, 93, 0, 0, 0],
        [-1.52563, 1.25495, 2.59785, 3.5411],
    ),
    (
        "c.Independent(d.Normal([[0.0, 1.0], [1.0, 2.0]], [1.0, 2.0]), 1)",
        [66, 46, 0, 14, 9, 9, 9, 0, 26],
        [1.86445, -3.88567, 1.02756, 5.48478, 0.767071, -2.17493, 1.80983, 0.00830233],
    ),
    (
        "c.TransformedDistribution(d.Normal([0.0, 1.0], [1.0, 1.0]), c.bijectors.AffineScalar(1.0, 2.0), event_shape=[3])",
        [118, 116, 0, 75, 0, 0, 0, 0, 0],
        [-0.17493, -1.14743, 1.05512, 2.61965, 1.2216, 6.48478, 1.0083, 2.17502],
    ),
    (
        "c.TransformedDistribution(d.Normal(0.0, 1.0), c.bijectors.Softplus())",
        [95, 94, 82, 0, 0, 0, 0, 0, 0],
        [1.86429, 0.669918, 2.00853, 0.0833425],
    ),
    (
        "c.VectorSinhArcsinhDiag([1.0, 2.0], [1.0, 3.0], tailweight=1.5)",
        [185, 205, 0, 0, 0, 0, 0, 0, 0],
        [4.46849, 0.80264, 1.17356, 4.70713, 2.81653, -5.92947, 1.01922, 6.97089],
    ),
    (
        "c.QuantizedDistribution(d.Normal(0.0, [1.0, 2.0]), low=-2.0, high=3.0)",
        [87, 422, 76, 0, 0, 0, 0, 0, 0],
        [1, 3, 1, 2, 2, -2, 1, 3],
    ),
]


class DistributionsNodesTest(unittest.TestCase):
    def test_nodes_and_numbers_drawn_are_tensorflows(self):
        for case, counts, drawn in ROWS:
            with self.subTest(case):
                got, numbers = measure(case)
                self.assertEqual(dict(zip(METHODS, got)), dict(zip(METHODS, counts)))
                np.testing.assert_allclose(numbers, drawn, rtol=3e-5, atol=1e-5)


if __name__ == "__main__":
    unittest.main()

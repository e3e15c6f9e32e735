"""Dual coordinate ascent: the model, its table in checkpoints, and the estimators that it trains."""

import unittest

import support

import numpy as np

import braid.tensorflow as tf

# Ridge regression has a closed form.
X = np.array([[1, 2], [0.5, -1], [3, 0], [-2, 1]], np.float32)
Y = np.array([1, 2, 0.5, 3], np.float32)
WEIGHTS = np.array([1, 2, 1, 0.5], np.float32)


def ridge(l2):
    a = X.T @ np.diag(WEIGHTS) @ X + l2 * np.eye(2)
    return np.linalg.solve(a, X.T @ (WEIGHTS * Y))


def examples(dense=True):
    """The same features, dense or as sparse ones."""
    result = dict(
        sparse_features=[],
        dense_features=[],
        example_labels=tf.constant(Y),
        example_weights=tf.constant(WEIGHTS),
        example_ids=tf.constant(["a", "b", "c", "d"]),
    )
    if dense:
        result["dense_features"].append(tf.constant(X))
    else:
        rows, columns = np.nonzero(X)
        result["sparse_features"].append(
            tf.contrib.linear_optimizer.SparseFeatureColumn(rows, columns, X[rows, columns])
        )
    return result


def options(**changes):
    return dict(
        dict(loss_type="squared_loss", symmetric_l1_regularization=0.0, symmetric_l2_regularization=2.0),
        **changes,
    )


class SdcaModel(unittest.TestCase):
    def train(self, variables, steps=200, dense=True, **changes):
        kind = "dense" if dense else "sparse"
        other = "sparse" if dense else "dense"
        model = tf.contrib.linear_optimizer.SdcaModel(
            examples(dense),
            {f"{kind}_features_weights": [variables], f"{other}_features_weights": []},
            options(**changes),
        )
        step = model.minimize()
        update = model.update_weights(step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                session.run(step)
            session.run(update)
            return session.run(
                [variables, model.approximate_duality_gap(), model.regularized_loss(examples(dense))]
            )

    def test_weights_become_those_of_ridge_regression(self):
        for dense in (True, False):
            for adaptive in (True, False):
                for shards in (1, 3):
                    with self.subTest(dense=dense, adaptive=adaptive, shards=shards), tf.Graph().as_default():
                        weights, gap, _ = self.train(
                            tf.Variable(tf.zeros([2]), name="w"),
                            dense=dense,
                            adaptive=adaptive,
                            num_table_shards=shards,
                        )
                        np.testing.assert_allclose(weights, ridge(2.0), rtol=1e-4)
                        self.assertAlmostEqual(gap, 0, places=5)

    def test_a_variable_may_have_parts(self):
        for dense in (True, False):
            with self.subTest(dense=dense), tf.Graph().as_default():
                parts = [tf.Variable(tf.zeros([1]), name=f"w{i}") for i in range(2)]
                weights, gap, _ = self.train(parts, dense=dense)
                np.testing.assert_allclose(np.concatenate(weights), ridge(2.0), rtol=1e-4)
                self.assertAlmostEqual(gap, 0, places=5)

    def test_l1_makes_weights_zero(self):
        with tf.Graph().as_default():
            weights, gap, _ = self.train(
                tf.Variable(tf.zeros([2]), name="w"), symmetric_l1_regularization=100.0
            )
        np.testing.assert_array_equal(weights, [0, 0])
        self.assertAlmostEqual(gap, 0, places=5)

    def test_adaptive_is_the_default_of_the_functions(self):
        with tf.Graph().as_default() as graph:
            tf.train.sdca_optimizer(
                [],
                [],
                [],
                [X],
                WEIGHTS,
                Y,
                [],
                [],
                [tf.zeros([2])],
                tf.zeros([4, 4]),
                "squared_loss",
                0,
                1,
                1,
                1,
            )
            self.assertTrue(graph.get_operation_by_name("SdcaOptimizer").get_attr("adaptative"))

    def test_options_are_checked(self):
        for changes, message in (
            ({"loss_type": "other"}, "Unsupported loss_type"),
            ({"symmetric_l1_regularization": -1.0}, "should be non-negative"),
        ):
            with tf.Graph().as_default(), self.assertRaisesRegex(ValueError, message):
                self.train(tf.Variable(tf.zeros([2])), **changes)


class LinearSDCA(unittest.TestCase):
    COLUMNS = staticmethod(
        lambda: [
            tf.feature_column.numeric_column("x", shape=[2]),
            tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b"]),
        ]
    )

    @staticmethod
    def input_fn():
        features = {
            "id": tf.constant(["1", "2", "3", "4"]),
            "x": tf.constant(X),
            # Two of the same, and an unknown one.
            "word": tf.constant([["a", "a"], ["b", "z"], ["b", "a"], ["z", "z"]]),
        }
        return features, tf.constant([[1], [0], [1], [0]])

    def test_estimators_train_by_it(self):
        for sdca in (tf.estimator.experimental.LinearSDCA, tf.contrib.linear_optimizer.SDCAOptimizer):
            for kind, measure, bound in (
                (tf.estimator.LinearClassifier, "average_loss", 0.4),
                (tf.estimator.LinearRegressor, "average_loss", 0.1),
            ):
                with self.subTest(sdca=sdca.__name__, kind=kind.__name__):
                    estimator = kind(self.COLUMNS(), optimizer=sdca("id"))
                    estimator.train(self.input_fn, steps=30)
                    self.assertLess(estimator.evaluate(self.input_fn, steps=1)[measure], bound)
                    # TensorFlow 1.15's names.
                    self.assertIn("ShardedMutableHashTable-1-of-1-keys", estimator.get_variable_names())

    def test_it_refuses_what_it_cannot_train(self):
        sdca = tf.estimator.experimental.LinearSDCA("id")
        for arguments, message in (
            ({"n_classes": 3}, "multi-class"),
            ({"sparse_combiner": "mean"}, 'sparse_combiner must be "sum"'),
        ):
            with self.assertRaisesRegex(ValueError, message):
                tf.estimator.LinearClassifier(self.COLUMNS(), optimizer=sdca, **arguments)
        with self.assertRaisesRegex(ValueError, "one-dimensional"):
            tf.estimator.LinearRegressor(self.COLUMNS(), label_dimension=2, optimizer=sdca)


if __name__ == "__main__":
    unittest.main()

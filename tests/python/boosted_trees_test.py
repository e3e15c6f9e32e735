# timeout: 180
"""Boosted trees: ops' resources in checkpoints, the estimators, importances and explanations.

The values of a trained model are those of TensorFlow 1.15.
"""

import os
import tempfile
import unittest

import support  # noqa: F401
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.core.kernels.boosted_trees import boosted_trees_pb2
from braid.tensorflow.python.estimator.canned import boosted_trees
from braid.tensorflow.python.ops import boosted_trees_ops

fc = tf.feature_column
tf.logging.set_verbosity(tf.logging.ERROR)


def _data(rows=80):
    """Numbers of which the label is a sum, and words."""
    index = np.arange(rows)
    features = {
        "a": (index % 7).astype(np.float32),
        "b": np.stack([index % 3, index % 2], 1).astype(np.float32),
        "c": np.array(["x", "y", "z"])[index % 3],
    }
    return features, (features["a"] + 4 * (features["c"] == "x")).astype(np.float32)[:, None]


def _columns():
    words = fc.categorical_column_with_vocabulary_list("c", ["x", "y", "z"])
    return [fc.numeric_column("a"), fc.numeric_column("b", shape=(2,)), fc.indicator_column(words)]


def _batches(batch_size=20, repeat=None, labels=lambda y: y):
    features, y = _data()
    return lambda: tf.data.Dataset.from_tensor_slices((features, labels(y))).batch(batch_size).repeat(repeat)


def _everything(labels=lambda y: y):
    features, y = _data()
    return lambda: tf.data.Dataset.from_tensors((features, labels(y)))


def _ensemble_of(directory):
    ensemble = boosted_trees_pb2.TreeEnsemble()
    ensemble.ParseFromString(tf.train.load_checkpoint(directory).get_tensor("boosted_trees:0_serialized"))
    return ensemble


class EstimatorsTest(unittest.TestCase):
    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self._scratch.cleanup)
        self.dir = self._scratch.name

    def test_a_regressor_grows_trees_from_batches(self):
        est = tf.estimator.BoostedTreesRegressor(
            _columns(), n_batches_per_layer=4, n_trees=5, max_depth=3, learning_rate=0.5, model_dir=self.dir
        )
        est.train(_batches())
        self.assertLess(est.evaluate(_batches(repeat=1))["average_loss"], 1)
        ensemble = _ensemble_of(self.dir)
        self.assertEqual([t.is_finalized for t in ensemble.tree_metadata], [True] * 5 + [False])
        first = ensemble.trees[0].nodes[0].bucketized_split
        self.assertEqual((first.feature_id, first.threshold), (1, 0))  # b's first number is 0 where c is x

    def test_variables_are_called_as_tensorflow_calls_them(self):
        est = tf.estimator.BoostedTreesRegressor(
            _columns(), n_batches_per_layer=1, n_trees=1, max_depth=1, model_dir=self.dir
        )
        est.train(_batches(), max_steps=4)
        self.assertEqual(
            {name for name, _ in tf.train.list_variables(self.dir)},
            {
                "boosted_trees/QuantileAccumulator:0_bucket_boundaries_0",
                "boosted_trees/QuantileAccumulator:0_bucket_boundaries_1",
                "boosted_trees/QuantileAccumulator:0_bucket_boundaries_2",
                "boosted_trees/are_boundaries_ready",
                "boosted_trees/center_bias_needed",
                "boosted_trees:0_serialized",
                "boosted_trees:0_stamp",
                "global_step",
            },
        )

    def test_training_goes_on_where_it_stopped(self):
        def train(directory, *steps):
            est = tf.estimator.BoostedTreesRegressor(
                _columns(),
                n_batches_per_layer=1,
                n_trees=9,
                max_depth=2,
                model_dir=directory,
                center_bias=True,
            )
            for max_steps in steps:
                est.train(_batches(80), max_steps=max_steps)
            return _ensemble_of(directory)

        once = train(os.path.join(self.dir, "once"), 10)
        self.assertEqual(once, train(os.path.join(self.dir, "twice"), 5, 10))
        self.assertGreater(len(once.trees), 2)

    def test_a_classifier_explains_its_predictions(self):
        labels = lambda y: (y > 5).astype(np.float32)
        est = tf.estimator.BoostedTreesClassifier(
            _columns(), 1, n_trees=4, max_depth=3, center_bias=True, model_dir=self.dir, learning_rate=0.5
        )
        est.train(_batches(80, labels=labels))
        self.assertGreater(est.evaluate(_batches(repeat=1, labels=labels))["accuracy"], 0.9)
        for p in est.experimental_predict_with_explanations(_batches(repeat=1)):
            self.assertEqual(set(p["dfc"]), {"a", "b", "c"})
            self.assertAlmostEqual(p["bias"] + sum(p["dfc"].values()), p["probabilities"][1], places=5)
        importances = est.experimental_feature_importances(normalize=True)
        self.assertEqual(list(importances)[0], "a")
        self.assertAlmostEqual(sum(importances.values()), 1)

    def test_data_in_memory_grows_a_layer_in_each_step(self):
        est = tf.contrib.estimator.boosted_trees_regressor_train_in_memory(
            _everything(), _columns(), n_trees=5, max_depth=3, learning_rate=0.5, model_dir=self.dir
        )
        batches = os.path.join(self.dir, "batches")
        other = tf.estimator.BoostedTreesRegressor(
            _columns(), 1, n_trees=5, max_depth=3, learning_rate=0.5, model_dir=batches
        )
        other.train(_batches(80))
        self.assertAlmostEqual(
            est.evaluate(_batches(repeat=1))["average_loss"],
            other.evaluate(_batches(repeat=1))["average_loss"],
            places=5,
        )

    def test_pruned_trees_have_fewer_splits(self):
        counts = {}
        for mode, complexity in (("none", 0), ("pre", 0.05), ("post", 0.05)):
            directory = os.path.join(self.dir, mode)
            est = tf.estimator.BoostedTreesRegressor(
                _columns(),
                1,
                n_trees=2,
                max_depth=4,
                model_dir=directory,
                pruning_mode=mode,
                tree_complexity=complexity,
            )
            est.train(_batches(80), max_steps=20)
            counts[mode] = sum(len(tree.nodes) for tree in _ensemble_of(directory).trees)
        self.assertLess(counts["pre"], counts["none"])
        self.assertLess(counts["post"], counts["none"])

    def test_quantiles_may_make_more_buckets_than_were_asked_for(self):
        # Most of the weight is in a few large values, the boundaries mostly between the small ones.
        values = np.concatenate([np.linspace(0, 1, 1000), np.repeat(np.arange(2, 12), 200)]).astype(
            np.float32
        )
        labels = (values > 10).astype(np.float32)[:, None]
        est = tf.estimator.BoostedTreesRegressor(
            [fc.numeric_column("a")],
            1,
            n_trees=1,
            max_depth=2,
            model_dir=self.dir,
            quantile_sketch_epsilon=0.1,
        )
        est.train(lambda: tf.data.Dataset.from_tensors(({"a": values}, labels)).repeat())
        boundaries = tf.train.load_checkpoint(self.dir).get_tensor(
            "boosted_trees/QuantileAccumulator:0_bucket_boundaries_0"
        )
        self.assertGreater(len(boundaries), 10)
        self.assertEqual(len(_ensemble_of(self.dir).trees), 2)

    def test_mistakes_are_refused(self):
        for args, message in (
            ({"pruning_mode": "sometimes"}, "pruning_mode mode must be one of: none, post, pre"),
            ({"pruning_mode": "pre"}, "tree_complexity must be positive"),
            ({"tree_complexity": 1.0}, "Tree complexity have no effect"),
        ):
            est = tf.estimator.BoostedTreesRegressor(_columns(), 1, model_dir=self.dir, **args)
            with self.assertRaisesRegex(ValueError, message):
                est.train(_batches())
        words = fc.categorical_column_with_vocabulary_list("c", ["x"])
        with self.assertRaisesRegex(ValueError, "must be wrapped by IndicatorColumn"):
            tf.estimator.BoostedTreesRegressor([words], 1)
        with self.assertRaisesRegex(ValueError, "only binary classification"):
            tf.estimator.BoostedTreesClassifier(_columns(), 1, n_classes=3, pruning_mode=None)
        est = tf.estimator.BoostedTreesRegressor(_columns(), 1, model_dir=self.dir)
        with self.assertRaisesRegex(ValueError, "center_bias must be enabled"):
            next(est.experimental_predict_with_explanations(_batches()))


class ColumnsTest(unittest.TestCase):
    def test_features_are_grouped_by_their_numbers_of_buckets(self):
        columns = [*_columns(), fc.bucketized_column(fc.numeric_column("d"), [0.0, 1.0])]
        columns = sorted(columns, key=lambda column: column.name)
        self.assertEqual(
            boosted_trees._group_features_by_num_buckets(columns, 100),
            ([100, 2, 3], [[0, 1, 2], [3, 4, 5], [6]]),
        )
        self.assertEqual(
            boosted_trees._group_features_by_num_buckets(columns, 3), ([3, 2], [[0, 1, 2, 6], [3, 4, 5]])
        )
        self.assertEqual(
            boosted_trees._generate_feature_col_name_mapping(columns),
            ["a", "b", "b", "c", "c", "c", "d_bucketized"],
        )


class ResourcesTest(unittest.TestCase):
    def test_checkpoints_hold_ensembles_and_boundaries(self):
        ensemble = boosted_trees_pb2.TreeEnsemble(tree_weights=[1])
        ensemble.trees.add().nodes.add().leaf.scalar = 2.5
        ensemble.tree_metadata.add()

        def build(serialized):
            trees = boosted_trees_ops.TreeEnsemble("trees", stamp_token=7, serialized_proto=serialized)
            quantiles = boosted_trees_ops.QuantileAccumulator(0.1, 1, 10, name="quantiles")
            return trees, quantiles, tf.train.Saver()

        with tempfile.TemporaryDirectory() as scratch:
            with tf.Graph().as_default(), tf.Session() as session:
                _, quantiles, saver = build(ensemble.SerializeToString())
                add = quantiles.add_summaries([[3.0, 1.0]], [1.0])
                session.run(tf.initializers.tables_initializer())
                session.run(
                    tf.python.ops.resources.initialize_resources(tf.python.ops.resources.shared_resources())
                )
                session.run(add)
                session.run(quantiles.flush())
                path = saver.save(session, os.path.join(scratch, "model"))
            with tf.Graph().as_default(), tf.Session() as session:
                trees, quantiles, saver = build("")
                saver.restore(session, path)
                stamp, serialized = session.run(trees.serialize())
                self.assertEqual(stamp, 7)
                self.assertEqual(boosted_trees_pb2.TreeEnsemble.FromString(serialized), ensemble)
                np.testing.assert_array_equal(session.run(quantiles.get_bucket_boundaries())[0], [1, 3])

    def test_logits_are_kept_by_an_examples_id(self):
        for ids in ([5, 6], ["a", "b"]):
            with tf.Graph().as_default(), tf.Session() as session:
                cache = boosted_trees._CacheTrainingStatesUsingHashTable(
                    tf.constant(ids, tf.as_dtype(np.array(ids).dtype)), 1
                )
                found = cache.lookup()
                insert = cache.insert(tf.constant([1, 2]), tf.constant([3, 4]), tf.constant([[0.5], [0.75]]))
                trees, nodes, logits = session.run(found)
                self.assertTrue((nodes < 0).all() and not logits.any() and not trees.any())
                session.run(insert)
                trees, nodes, logits = session.run(found)
                self.assertEqual((trees.tolist(), nodes.tolist()), ([1, 2], [3, 4]))
                self.assertEqual(logits.tolist(), [[0.5], [0.75]])


if __name__ == "__main__":
    unittest.main()

# timeout: 180
"""tf.contrib.tensor_forest: trees, their statistics in checkpoints, and the estimators.

Digests and losses are those of TensorFlow 1.15 with one thread.
"""

import hashlib
import os
import tempfile
import types
import unittest

import support  # noqa: F401
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.contrib.decision_trees.proto import generic_tree_model_pb2
from braid.tensorflow.contrib.tensor_forest.client import eval_metrics, random_forest
from braid.tensorflow.contrib.tensor_forest.proto import fertile_stats_pb2
from braid.tensorflow.contrib.tensor_forest.python import tensor_forest
from braid.tensorflow.contrib.tensor_forest.python.ops import data_ops, model_ops, stats_ops
from braid.tensorflow.core.kernels.boosted_trees import boosted_trees_pb2
from braid.tensorflow.python.ops import (
    gen_model_ops,
    gen_stats_ops,
    gen_tensor_forest_ops,
    resources,
    tensor_forest_ops,
)

tf.logging.set_verbosity(tf.logging.ERROR)

ROWS, COLUMNS, CLASSES = 600, 6, 3
_I = np.arange(ROWS)[:, None]
X = ((_I * (7 + 4 * np.arange(COLUMNS)) + _I // 5) % 23).astype(np.float32)
Y = ((X[:, 0] > 9) + (X[:, 2] > 13)).astype(np.int32)
TARGETS = np.stack([X[:, 0] + X[:, 1], X[:, 2]], 1)


def _params(**kwargs):
    values = dict(
        num_features=COLUMNS,
        num_classes=CLASSES,
        num_trees=2,
        max_nodes=61,
        split_after_samples=20,
        base_random_seed=5,
    )
    values.update(kwargs)
    return tensor_forest.ForestHParams(**values).fill()


# Digests of what the trees are after 12 steps, and how they were trained.
DIGESTS = {
    "7042eb88341c": {},
    "54475bed5cc3": {"collate_examples": True},
    "717d14ff14cb": {"use_running_stats_method": True, "split_name": "less"},
    "a7151e59e708": {"split_pruning_name": "half", "prune_every_samples": 6},
    "7cefa9b5e968": {
        "split_pruning_name": "hoeffding",
        "prune_every_samples": 10,
        "num_splits_to_consider": "linear { slope: 2 y_intercept: 4 max_val: 9 }",
    },
    "42f8a0d267e8": {"initialize_average_splits": True},
    "12e978d6fde9": {"regression": True, "num_classes": 2, "labels": TARGETS},
    "0bcf7d273669": {"weighted": True},
    "b8d53f30e9d8": {"mixed": True},
}


class _Forest:
    """A forest in a graph of its own, trained by batches of 100."""

    def __init__(self, params, features=None, labels=Y, weights=None):
        self.features = {"x": X} if features is None else features
        self.labels, self.weights = labels, weights
        self.graph = tf.Graph()
        with self.graph.as_default():
            dtypes = {k: tf.as_dtype(v.dtype) for k, v in self.features.items()}
            self.x = {k: tf.placeholder(dtypes[k], [None, v.shape[1]]) for k, v in self.features.items()}
            self.y = tf.placeholder(labels.dtype, [None, *labels.shape[1:]])
            kwargs = {}
            if weights is not None:
                kwargs["input_weights"] = self.w = tf.placeholder(tf.float32, [None])
            inputs = self.inputs()
            self.forest = tensor_forest.RandomForestGraphs(params)
            self.train = self.forest.training_graph(inputs, self.y, **kwargs)
            self.loss = self.forest.training_loss(inputs, self.y)
            self.infer, self.paths, self.variance = self.forest.inference_graph(inputs)
            variables = [self.forest.variables[i] for i in range(params.num_trees)]
            self.trees = [gen_model_ops.tree_serialize(v.tree) for v in variables]
            self.stats = [
                gen_stats_ops.fertile_stats_serialize(v.stats, params=params.serialized_params_proto)
                for v in variables
            ]
            self.importances = self.forest.feature_importances()
            self.saver = tf.train.Saver()
            self.init = tf.group(
                tf.global_variables_initializer(),
                resources.initialize_resources(resources.shared_resources()),
            )
        self.session = tf.Session(graph=self.graph)
        self.session.run(self.init)

    def inputs(self):
        return self.x["x"] if list(self.x) == ["x"] else self.x

    def feed(self, rows):
        feed = {self.x[k]: v[rows] for k, v in self.features.items()}
        feed[self.y] = self.labels[rows]
        if self.weights is not None:
            feed[self.w] = self.weights[rows]
        return feed

    def fit(self, steps):
        for step in range(steps):
            self.session.run(self.train, self.feed((np.arange(100) + 100 * step) % ROWS))
        return self

    def digest(self):
        return hashlib.sha1(b"".join(self.session.run(self.trees))).hexdigest()[:12]


class TreesTest(unittest.TestCase):
    def test_trees_are_those_of_tensorflow(self):
        weights = (np.arange(ROWS) % 3 + 1).astype(np.float32)
        mixed = {
            "a": X[:, :3],
            "b": X[:, 3:5].astype(np.int64),
            "c": np.array([["w%d" % v] for v in X[:, 5] % 4], dtype=object),
        }
        for want, kwargs in DIGESTS.items():
            kwargs = dict(kwargs)
            more = {name: kwargs.pop(name) for name in ("labels",) if name in kwargs}
            if kwargs.pop("weighted", False):
                more["weights"] = weights
            if kwargs.pop("mixed", False):
                more["features"] = mixed
            with self.subTest(kwargs=kwargs, **{k: True for k in more}):
                self.assertEqual(_Forest(_params(**kwargs), **more).fit(12).digest(), want)

    def test_inference_gives_probabilities_and_ways(self):
        forest = _Forest(_params(inference_tree_paths=True)).fit(12)
        infer, paths, variance, importances = forest.session.run(
            [forest.infer, forest.paths, forest.variance, forest.importances], forest.feed(np.arange(50))
        )
        self.assertEqual((infer.shape, paths.shape, variance.shape), ((50, 3), (50, 2), (50, 3)))
        np.testing.assert_allclose(infer.sum(1), 1, rtol=1e-6)
        self.assertGreater((infer.argmax(1) == Y[:50]).mean(), 0.8)
        self.assertAlmostEqual(importances.sum(), 1, 6)
        way = fertile_stats_pb2.TreePath.FromString(paths[0, 1]).nodes_visited
        self.assertTrue(way[-1].HasField("leaf"))
        self.assertTrue(all(node.HasField("binary_node") for node in way[:-1]))

    def test_a_forest_goes_on_from_a_checkpoint(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "forest")
            first = _Forest(_params(checkpoint_stats=True)).fit(5)
            first.saver.save(first.session, path)
            names = dict(tf.train.list_variables(path))
            for name in ("tree-0:0", "tree-1:0", "stats-0:0", "stats-1:0"):
                self.assertEqual(names[name], [])
            second = _Forest(_params(checkpoint_stats=True))
            second.saver.restore(second.session, path)
            self.assertEqual(second.digest(), first.digest())
            self.assertEqual(second.session.run(second.stats), first.session.run(first.stats))
            self.assertEqual(second.fit(3).digest(), first.fit(3).digest())
            tree = generic_tree_model_pb2.Model.FromString(
                tf.train.load_checkpoint(path).get_tensor("tree-0:0")
            )
            self.assertGreater(len(tree.decision_tree.nodes), 1)

    def test_a_forest_begins_with_trees_that_are_given(self):
        trained = _Forest(_params()).fit(6)
        trees = trained.session.run(trained.trees)
        with tf.Graph().as_default(), tf.Session() as session:
            forest = tensor_forest.RandomForestGraphs(_params(), tree_configs=trees, training=False)
            infer, _, _ = forest.inference_graph(tf.constant(X[:20]))
            session.run(resources.initialize_resources(resources.shared_resources()))
            want = trained.session.run(trained.infer, trained.feed(np.arange(20)))
            self.assertEqual(session.run(infer).tolist(), want.tolist())

    def test_columns_of_a_dict_are_sorted_and_joined(self):
        with tf.Graph().as_default(), tf.Session() as session:
            dense, sparse, spec = data_ops.ParseDataTensorOrDict(
                {
                    "b": tf.constant([[1], [2]]),
                    "a": tf.constant([[0.5], [1.5]]),
                    "c": tf.SparseTensor([[0, 1]], tf.constant([7], tf.int64), [2, 3]),
                }
            )
            self.assertEqual(session.run(dense).tolist(), [[0.5, 1], [1.5, 2]])
            self.assertEqual(session.run(sparse).values.tolist(), [7])
            self.assertEqual(
                spec.SerializeToString(),
                "dense_features_size: 2 dense: [{name: a original_type: 0 size: 1}{name: b original_type: 1 "
                "size: 1}] sparse: [{name: all_sparse original_type: 1 size: -1}]",
            )

    def test_parts_of_batches_and_of_features_are_drawn_for_each_tree(self):
        forest = _Forest(_params(bagging_fraction=0.5, feature_bagging_fraction=0.5)).fit(20)
        self.assertLess(forest.session.run(forest.loss), -2)
        infer = forest.session.run(forest.infer, forest.feed(np.arange(50)))
        np.testing.assert_allclose(infer.sum(1), 1, rtol=1e-6)

    def test_settings_that_no_forest_has_say_so(self):
        with self.assertRaisesRegex(
            tf.errors.InvalidArgumentError, "dominate_fraction and min_split_samples required"
        ):
            _Forest(_params(split_finish_name="hoeffding"))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Unknown grow stats type: 3"):
            _Forest(_params(model_name="sparse_then_dense"))
        with self.assertRaisesRegex(ValueError, "Must specify prune_every_samples"):
            _params(split_pruning_name="half", split_after_samples="linear { slope: 1 }")
        with self.assertRaises(AttributeError):
            tensor_forest.ForestHParams(num_features=3).fill()
        with self.assertRaisesRegex(ImportError, "tf.contrib.tensor_forest.hybrid is not in Braid"):
            import braid.tensorflow.contrib.tensor_forest.hybrid  # noqa: F401
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Got label [345], but"):
            _Forest(_params(), labels=Y + 3).fit(1)

    def test_trees_grow_by_ops(self):
        self.assertIs(tf.contrib.tensor_forest.model_ops, model_ops)
        self.assertIs(tf.contrib.tensor_forest.stats_ops, stats_ops)
        self.assertTrue(callable(stats_ops.finalize_tree) and callable(model_ops.traverse_tree_v4))


class DenseTreesTest(unittest.TestCase):
    def test_trees_of_dense_splits_predict(self):
        tree = boosted_trees_pb2.Tree()
        tree.nodes.add().dense_split.CopyFrom(
            boosted_trees_pb2.DenseSplit(feature_id=1, threshold=2, left_id=1, right_id=2)
        )
        tree.nodes.add().leaf.vector.value.extend([1, 2])
        tree.nodes.add().leaf.vector.value.extend([3, 4])
        params = types.SimpleNamespace(n_trees=2)
        with tempfile.TemporaryDirectory() as scratch, tf.Graph().as_default(), tf.Session() as session:
            forest = tensor_forest_ops.ForestVariables(params, [tree.SerializeToString(), ""])
            logits = [
                gen_tensor_forest_ops.tensor_forest_tree_predict(
                    forest[i], [[9.0, 2.0], [0.0, 2.5]], logits_dimension=2
                )
                for i in range(2)
            ]
            session.run(resources.initialize_resources(resources.shared_resources()))
            want = [[[1, 2], [3, 4]], [[0, 0], [0, 0]]]
            self.assertEqual([x.tolist() for x in session.run(logits)], want)
            saver = tf.train.Saver()
            path = saver.save(session, os.path.join(scratch, "forest"))
            self.assertEqual(tf.train.load_checkpoint(path).get_tensor("tree-0/"), tree.SerializeToString())
            session.run(gen_tensor_forest_ops.tensor_forest_tree_deserialize(forest[0], ""))
            self.assertEqual(session.run(logits[0]).tolist(), want[1])
            saver.restore(session, path)
            self.assertEqual(session.run(logits[0]).tolist(), want[0])


class EstimatorsTest(unittest.TestCase):
    def setUp(self):
        self._scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self._scratch.cleanup)

    @staticmethod
    def _input(labels=Y, epochs=None, **features):
        x = dict(features, x=X) if features else X
        return tf.estimator.inputs.numpy_input_fn(
            x=x, y=labels, batch_size=ROWS, num_epochs=epochs, shuffle=False
        )

    def test_a_forest_of_contrib_learn(self):
        forest = random_forest.TensorForestEstimator(
            _params(num_trees=5), model_dir=self._scratch.name, report_feature_importances=True
        )
        forest.fit(input_fn=self._input(), steps=60)
        found = forest.evaluate(input_fn=self._input(), steps=1)
        self.assertGreater(found["accuracy"], 0.95)
        self.assertGreater(found["loss"], 0.55)  # a cross entropy of probabilities, taken for logits
        first = next(iter(forest.predict(input_fn=self._input(None, 1))))
        self.assertEqual(first["classes"], Y[0])
        self.assertEqual(first["probabilities"].shape, (3,))
        self.assertEqual(first["prediction_variance"].shape, (3,))

    def test_two_classes_have_logits(self):
        forest = random_forest.TensorForestEstimator(_params(num_classes=2, num_trees=3))
        labels = (Y > 0).astype(np.int32)
        forest.fit(input_fn=self._input(labels), steps=40)
        found = forest.evaluate(input_fn=self._input(labels), steps=1)
        self.assertGreater(found["auc"], 0.95)
        self.assertGreater(found["accuracy/threshold_0.500000_mean"], 0.9)

    def test_keys_weights_and_ways_are_predictions(self):
        keys = np.arange(ROWS).reshape(-1, 1)
        weights = np.ones([ROWS], np.float32)
        for estimator in (random_forest.TensorForestEstimator, random_forest.CoreTensorForestEstimator):
            forest = estimator(
                _params(inference_tree_paths=True),
                keys_column="keys",
                weight_column="w",
                include_all_in_serving=True,
            )
            data = self._input(Y[:, None], keys=keys, w=weights)
            getattr(forest, "fit", forest.train)(input_fn=data, steps=3)
            first = next(iter(forest.predict(input_fn=self._input(None, 1, keys=keys, w=weights))))
            self.assertEqual(first["keys"], [0])
            self.assertEqual(first["tree_paths"].shape, (2,))

    def test_a_regression_of_tf_estimator_ends_when_it_has_learnt(self):
        forest = random_forest.CoreTensorForestEstimator(
            _params(num_classes=1, num_trees=5, regression=True, max_nodes=1000),
            early_stopping_rounds=2,
            early_stopping_loss_threshold=0.3,
            model_dir=self._scratch.name,
        )
        targets = X[:, :1]
        forest.train(input_fn=self._input(targets), steps=200)
        self.assertLess(forest.get_variable_value("global_step"), 60)
        self.assertLess(forest.evaluate(input_fn=self._input(targets), steps=1)["loss"], 40)

    def test_a_forest_for_each_column_of_the_labels(self):
        labels = np.stack([Y, (X[:, 1] > 11).astype(np.int32)], 1)
        forest = random_forest.MultiForestMultiHeadEstimator([_params(), _params(num_classes=4)])
        forest.fit(input_fn=self._input(labels), steps=20)
        first = next(iter(forest.predict(input_fn=self._input(None, 1))))
        self.assertEqual(first["probabilities"].shape, (3 + 4,))
        self.assertEqual(first["classes"].shape, (2,))

    def test_metrics_have_names(self):
        self.assertEqual(eval_metrics.get_prediction_key("r2"), "scores")
        with tf.Graph().as_default(), tf.Session() as session:
            probabilities = tf.constant([[0.1, 0.9], [0.8, 0.2]])
            value, update = eval_metrics.get_metric("classification_log_loss")(
                probabilities, tf.constant([[1], [1]])
            )
            session.run(tf.local_variables_initializer())
            session.run(update)
            want = -np.mean(np.log([[0.9, 0.9], [0.2, 0.2]]))
            self.assertAlmostEqual(session.run(value), want, 4)


if __name__ == "__main__":
    unittest.main()

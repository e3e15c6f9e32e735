# timeout: 180
"""tf.contrib.boosted_trees: ensembles and accumulators in checkpoints, and growing trees.

Numbers are those of TensorFlow 1.15.
"""

import os
import tempfile
import unittest

import support  # noqa: F401
import numpy as np

import braid.as_tensorflow  # noqa: F401
import braid.tensorflow as tf
from braid.tensorflow.contrib.boosted_trees.estimator_batch import estimator
from braid.tensorflow.contrib.boosted_trees.proto import learner_pb2, tree_config_pb2
from braid.tensorflow.contrib.boosted_trees.python.ops import (
    batch_ops_utils,
    model_ops,
    prediction_ops,
    quantile_ops,
    stats_accumulator_ops,
)
from braid.tensorflow.contrib.boosted_trees.python.training.functions import gbdt_batch
from braid.tensorflow.contrib.learn import ModeKeys
from braid.tensorflow.python.ops import resources

tf.logging.set_verbosity(tf.logging.ERROR)


def _ensemble(value):
    config = tree_config_pb2.DecisionTreeEnsembleConfig(tree_weights=[1])
    config.trees.add().nodes.add().leaf.vector.value.append(value)
    config.tree_metadata.add(num_layers_grown=1, is_finalized=True)
    return config.SerializeToString()


class Resources(unittest.TestCase):
    def test_checkpoints_hold_ensembles_and_accumulators(self):
        directory = tempfile.mkdtemp()
        path = os.path.join(directory, "c")
        for is_restored in False, True:
            with tf.Graph().as_default(), tf.Session() as session:
                config = _ensemble(1.0 if is_restored else 2.5)
                ensemble = model_ops.tree_ensemble_variable(3, config, "e")
                shape = tf.TensorShape([])
                stats = stats_accumulator_ops.StatsAccumulator(0, shape, shape, name="Stats")
                quantiles = quantile_ops.QuantileAccumulator(0, 0.1, 3, name="Q")
                predictions, _ = prediction_ops.gradient_trees_prediction(
                    ensemble,
                    0,
                    [tf.constant([[1.0], [2.0]])],
                    [],
                    [],
                    [],
                    [],
                    [],
                    [],
                    learner_config=learner_pb2.LearnerConfig(num_classes=2).SerializeToString(),
                    apply_dropout=False,
                    apply_averaging=False,
                    center_bias=False,
                    reduce_dim=True,
                )
                saver = tf.train.Saver()
                resources.initialize_resources(resources.shared_resources()).run()
                if is_restored:
                    saver.restore(session, path)
                else:
                    column = tf.constant([[3.0], [1.0], [2.0], [1.0]])
                    session.run(quantiles.add_summary(0, column, tf.ones([4, 1])))
                    session.run(quantiles.flush(0, 1))
                    session.run(stats.add(0, [1, 1], [[2, 0], [2, 0]], [0.5, 0.25], [1.0, 2.0]))
                    saver.save(session, path)
                self.assertEqual([[2.5], [2.5]], session.run(predictions).tolist())
                ready, buckets = session.run(quantiles.get_buckets(1))
                self.assertEqual((True, [1, 2, 3]), (ready, buckets.tolist()))
                updates, partitions, features, gradients, hessians = session.run(stats.flush(0, 1))
                self.assertEqual(
                    (1, [1], [[2, 0]], [0.75], [3.0]),
                    (updates, partitions.tolist(), features.tolist(), gradients.tolist(), hessians.tolist()),
                )

    def test_modules_of_ops_give_their_functions_to_import_of_all(self):
        package, names = "braid.tensorflow.contrib.boosted_trees.python.ops.", {}
        for module in "quantile_ops", "training_ops", "gen_stats_accumulator_ops":
            exec(f"from {package}{module} import *", names)
        exec("from braid.tensorflow.python.ops.data_flow_ops import *", names)
        for name in "QuantileAccumulator", "quantiles", "grow_tree_ensemble", "CreateStatsAccumulatorScalar":
            self.assertIn(name, names)
        self.assertIn("FIFOQueue", names)

    def test_ops_of_one_device_run_as_one(self):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            accumulators = [quantile_ops.QuantileAccumulator(0, 0.1, 3, name=f"Q{i}") for i in range(3)]
            resources.initialize_resources(resources.shared_resources()).run()
            reads = {a: [a.schedule_get_buckets()] for a in accumulators}
            results = batch_ops_utils.run_handler_scheduled_ops(reads, 0, None)
            types = [op.type for op in graph.get_operations()]
            self.assertEqual(1, types.count("QuantileAccumulatorGetBuckets"))
            ready = session.run([results[a][0][0] for a in accumulators])
            self.assertEqual([False] * 3, np.array(ready).tolist())


class Estimators(unittest.TestCase):
    def test_a_classifier_has_the_loss_of_tensorflow(self):
        x = np.random.RandomState(0).rand(200, 3).astype(np.float32)
        y = ((x[:, 0] > 0.5) + (x[:, 1] > 0.3)).astype(np.int32)
        config = learner_pb2.LearnerConfig()
        config.learning_rate_tuner.fixed.learning_rate = 0.3
        config.regularization.l2 = 0.01
        config.constraints.max_tree_depth = 3
        classifier = estimator.GradientBoostedDecisionTreeClassifier(
            config, 100, n_classes=3, num_trees=3, center_bias=False
        )

        def input_fn():
            return {"x": tf.constant(x)}, tf.constant(y)

        classifier.fit(input_fn=input_fn, max_steps=40)
        result = classifier.evaluate(input_fn=input_fn, steps=1)
        self.assertAlmostEqual(0.454620897769928, float(result["loss"]), 5)
        self.assertEqual((1, 40), (float(result["accuracy"]), result["global_step"]))

    def test_features_share_the_functions_of_the_library(self):
        """The graph of a model of many features has few nodes of each."""

        def nodes(features):
            with tf.Graph().as_default() as graph:
                config = learner_pb2.LearnerConfig(num_classes=2)
                ensemble = model_ops.tree_ensemble_variable(0, "", name="trees")
                names = [f"x{i}" for i in range(features)]
                model = gbdt_batch.GradientBoostedDecisionTreeModel(
                    True, 0, ensemble, True, 1, config, {name: tf.ones([4, 1]) for name in names}, 1
                )
                predictions = model.predict(ModeKeys.TRAIN)
                labels = tf.ones([4, 1])
                loss = tf.reduce_mean(tf.square(predictions["predictions"] - labels))
                model.train(loss, predictions, labels)
                return len(graph.get_operations())

        self.assertLess((nodes(20) - nodes(10)) / 10, 40)

    def test_what_is_not_there_is_refused_by_name(self):
        from tensorflow.contrib.boosted_trees.estimator_batch import custom_export_strategy, distillation_loss
        from tensorflow.contrib.boosted_trees.estimator_batch.dnn_tree_combined_estimator import (
            DNNBoostedTreeCombinedClassifier,
        )

        for refused, name in (
            (custom_export_strategy.make_custom_export_strategy, "custom_export_strategy"),
            (distillation_loss.create_dnn_to_tree_squared_loss_fn, "distillation_loss"),
            (DNNBoostedTreeCombinedClassifier, "dnn_tree_combined_estimator"),
        ):
            with self.assertRaisesRegex(NotImplementedError, f"{name}.* is not in Braid. "):
                refused()


if __name__ == "__main__":
    unittest.main()

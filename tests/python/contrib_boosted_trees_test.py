# timeout: 180
"""tf.contrib.boosted_trees: ensembles and accumulators in checkpoints, and growing trees.

Numbers are those of TensorFlow 1.15.
"""

import os
import tempfile
import unittest

import support  # noqa: F401
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.contrib.boosted_trees.proto import learner_pb2, tree_config_pb2
from braid.tensorflow.contrib.boosted_trees.python.ops import (
    batch_ops_utils,
    model_ops,
    prediction_ops,
    quantile_ops,
    stats_accumulator_ops,
)
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


if __name__ == "__main__":
    unittest.main()

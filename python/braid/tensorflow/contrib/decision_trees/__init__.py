"""tf.contrib.decision_trees: the messages of decision trees (decision_trees.proto)."""

"""tf.contrib.boosted_trees."""

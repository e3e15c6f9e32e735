"""tf.contrib.feature_column."""

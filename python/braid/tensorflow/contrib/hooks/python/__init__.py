"""tf.contrib.hooks."""

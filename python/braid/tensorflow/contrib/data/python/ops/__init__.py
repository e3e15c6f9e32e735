"""tf.contrib.data."""

"""tf.contrib.metrics."""

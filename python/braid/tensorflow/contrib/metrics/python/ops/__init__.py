"""The ops of tf.contrib.metrics."""

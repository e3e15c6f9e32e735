"""Inner modules of tf.contrib.checkpoint."""

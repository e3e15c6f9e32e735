"""Inner modules of tf.contrib.eager."""

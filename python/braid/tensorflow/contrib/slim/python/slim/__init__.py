"""The modules of tf.contrib.slim."""

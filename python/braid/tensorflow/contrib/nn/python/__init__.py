"""tf.contrib.nn."""

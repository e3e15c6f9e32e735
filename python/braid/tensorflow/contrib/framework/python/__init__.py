"""tf.contrib.framework."""

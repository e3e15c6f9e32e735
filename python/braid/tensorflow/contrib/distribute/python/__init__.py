"""tf.contrib.distribute."""

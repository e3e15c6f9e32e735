"""tf.distribute."""

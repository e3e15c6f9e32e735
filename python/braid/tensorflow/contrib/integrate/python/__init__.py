"""tf.contrib.integrate."""

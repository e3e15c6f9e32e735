"""tf.contrib.losses."""

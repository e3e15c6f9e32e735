"""tf.contrib.proto."""

"""tf.contrib.kernel_methods."""

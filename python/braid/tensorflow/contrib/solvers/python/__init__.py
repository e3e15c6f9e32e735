"""tf.contrib.solvers."""

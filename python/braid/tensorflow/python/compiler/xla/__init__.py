"""tf.xla.experimental: computations that TensorFlow may compile. Braid runs the same nodes one by one."""

"""Linear algebra (tf.linalg)."""

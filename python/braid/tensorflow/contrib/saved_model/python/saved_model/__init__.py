"""tf.contrib.saved_model."""

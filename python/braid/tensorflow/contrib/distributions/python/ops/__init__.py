"""Parts of tf.contrib.distributions, where TensorFlow has them."""

"""The ops of tf.contrib.layers."""

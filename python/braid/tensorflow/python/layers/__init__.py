"""The layers of tf.layers."""

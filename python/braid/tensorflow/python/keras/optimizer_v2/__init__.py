"""The optimizers of tf.keras."""

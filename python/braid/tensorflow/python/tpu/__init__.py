"""Modules of tf.tpu."""

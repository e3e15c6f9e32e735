"""Modules of tf.contrib.tpu."""

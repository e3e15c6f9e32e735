"""Pipelines of input (tf.data)."""

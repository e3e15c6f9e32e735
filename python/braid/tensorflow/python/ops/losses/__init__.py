"""Losses (tf.losses)."""
